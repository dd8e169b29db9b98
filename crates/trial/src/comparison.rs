//! Prepares a whole run: checks everything and starts nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use stampede_keeper::{self, CpuSplit};
use stampede_linux::clock::now;
use stampede_load::{Generator, LoadError};
use stampede_mask::mask_secrets;
use stampede_model::cpus::CpuCount;
use stampede_model::expectation::Expectation;
use stampede_model::fact::{self, Fact, Notice};
use stampede_model::machine::MachineFacts;
use stampede_model::record::expectations::{Expectations, WrittenExpectation};
use stampede_model::record::{
    CaseRecord, Closed, ControlRecord, LoadModel, PublishedRecord, RESULTS, RunRecord, TrialRecord,
};
use stampede_model::time::Nanos;
use stampede_plan::model::{AppChoice, AppPlace, Budget, Control, LoadChoice, Plan, RuntimeSource};
use stampede_plan::parts::StackPlan;
use stampede_published::TablesError;
use stampede_results::store::{self, run_id};
use stampede_stack::external::External;
use stampede_stack::{App, Catalogue, Placement, Provider, Providers, RuntimeTraits, env_notices};

use super::cases::{self, Case};
use super::refusal::{
    Refusal, apps, find_external_runtimes, nothing_to_measure, provider_notices,
    refuse_unavailable, skip_missing, traits,
};
use super::today::{otherwise_notice, take_over_today};
use super::{TrialContext, budget, executor, senders, sent};

/// A plan that can run on this machine: every name is known, every program found, nothing started.
pub struct Comparison {
    pub(super) plan: Plan,
    pub(super) seams: Seams,
    pub(super) apps: Vec<App>,
    pub(super) cases: Vec<Case>,
    pub(super) places: CpuPlacements,
    pub(super) record: RunRecord,
    clock_source: String,
    machine_cpus: u32,
}

/// What is exchangeable in a run: what starts the stacks, and what sends the loads.
pub struct Seams {
    /// Starts the stacks.
    pub provider: Box<dyn Provider>,
    /// Sends the loads.
    pub generator: Box<dyn Generator>,
    /// Whether threads of this process send. It is then pinned to the CPUs of the load.
    pub sends_here: bool,
}

impl Seams {
    /// Processes of this machine and servers that already run; threads of this process, or agents.
    pub fn real(catalogue: Catalogue, plan: &Plan) -> Seams {
        let from = &plan.load_from;
        Seams {
            provider: Box::new(Providers::new(catalogue)),
            generator: senders::generator(from, plan.stack.listen.map(IpAddr::from)),
            sends_here: from.agents.is_empty(),
        }
    }
}

impl Comparison {
    /// Checks the plan against the catalogue and this machine. Starts nothing.
    ///
    /// # Errors
    /// An unknown runtime, setting or app, a missing program, an app that the runtime cannot serve.
    pub fn new(
        plan: Plan,
        catalogue: Catalogue,
        facts: &MachineFacts,
    ) -> Result<Comparison, Refusal> {
        let seams = Seams::real(catalogue.clone(), &plan);
        Comparison::with(plan, &catalogue, seams, facts)
    }

    /// Starts agents, if the plan has them, so that one that does not answer is found before a stack
    /// is started.
    ///
    /// # Errors
    /// An agent does not answer, or refuses.
    pub fn prepare(&self) -> Result<(), LoadError> {
        let from = &self.plan.load_from;
        senders::prepare(self.seams.generator.as_ref(), from, &self.plan.stack)
    }

    /// As [`Comparison::new`], with what starts the stacks and what sends the loads.
    ///
    /// # Errors
    /// As [`Comparison::new`].
    pub fn with(
        mut plan: Plan,
        catalogue: &Catalogue,
        seams: Seams,
        facts: &MachineFacts,
    ) -> Result<Comparison, Refusal> {
        let lacking = budget::fit(&mut plan.stack, facts)?;
        let apps = apps(&plan.stack.apps, catalogue)?;
        let today = take_over_today(&mut plan.stack, catalogue, &apps)?;
        let skipped = skip_missing(&mut plan, catalogue, &apps)?;
        let traits = traits(&plan.stack, seams.provider.as_ref(), catalogue, &apps)?;
        let mut cases = cases::cases(&plan);
        refuse_unavailable(&plan.stack, catalogue, &apps, &mut cases);
        let directories = catalogue.directories_of(&plan.stack.runtimes);
        let mut notices: Vec<Notice> =
            apps.iter().flat_map(|app| app.notices(&directories)).collect();
        notices.append(&mut plan.notices);
        notices.extend(today);
        notices.extend(otherwise_notice(&plan.stack, catalogue, &apps)?);
        notices.extend(cases::settle_keep_alive(&mut plan, &mut cases, &traits));
        notices.extend(find_external_runtimes(&plan.stack)?.iter().flat_map(External::notices));
        notices.extend(skipped);
        let provider = seams.provider.as_ref();
        notices.splice(0..0, provider_notices(&plan.stack, provider, &apps)?);
        let ours = plan.stack.runtimes.iter().filter(|choice| !choice.is_external());
        for choice in ours {
            notices.extend(apps.iter().flat_map(|app| env_notices(catalogue, app, choice)));
        }
        notices.extend(cases::recorded_sites_notice(
            plan.loads.iter().flat_map(|load| &load.requests),
        ));
        notices.extend(cases::request_file_notices(plan.loads.iter().map(|load| &load.file)));
        notices.extend(cases::scaling_notice(&plan));
        notices.extend(cases::start_shared_notice(&plan));
        notices.extend(executor::auto_rounds_notice(plan.rounds));
        notices.extend(clock_notice(plan.out.as_deref()));
        notices.extend(lacking);
        let places = assign_cpus(&plan.stack);
        notices.extend(budget::sharing_notice(places.split.shared));
        notices.extend(budget::memory_notices(&plan.stack, facts, &traits));
        // Two versions of an app mostly give the same notices.
        let notices = fact::unique(notices);
        let published = plan.published.as_deref().map(published).transpose()?;
        let record =
            RunRecord { published, ..run_record(&plan, &apps, &cases, &traits, facts, notices) };
        nothing_to_measure(&plan, &record.cases)?;
        Ok(Comparison {
            plan,
            seams,
            apps,
            cases,
            places,
            record,
            clock_source: facts.clock_source.clone(),
            machine_cpus: facts.cpus_logical,
        })
    }

    /// The record as it will be written to `run.json`.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The number of trials of the run.
    pub fn trials(&self) -> u32 {
        u32::try_from(self.record.trials()).unwrap_or(u32::MAX)
    }

    /// The catalogue's runtimes that the plan names, each once, without external ones.
    pub fn catalogue_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for choice in &self.plan.stack.runtimes {
            match &choice.source {
                RuntimeSource::Catalogue(name) if !names.contains(&name.as_str()) => {
                    names.push(name)
                }
                _ => {}
            }
        }
        names
    }

    /// The first app, written as command-line flags.
    pub fn app(&self) -> Vec<String> {
        let AppChoice { place, settings, .. } = &self.plan.stack.apps.choices[0];
        let app = match place {
            AppPlace::Named(name) => name.clone(),
            AppPlace::Directory(path) => directory_text(path),
            AppPlace::Provided => return Vec::new(),
        };
        let mut flags = vec!["--app".to_owned(), app];
        if let Some(kind) = settings.kind {
            flags.extend(["--kind".to_owned(), kind.name().to_owned()]);
        }
        for (flag, value) in [("--docroot", &settings.docroot), ("--index", &settings.index)] {
            flags.extend(value.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        flags
    }

    /// The length of each trial's discarded warm-up load.
    pub fn warm_up(&self) -> Nanos {
        self.plan.begin.warm_up()
    }

    pub(super) fn ctx<'a>(&'a self, placement: &'a Placement) -> TrialContext<'a> {
        TrialContext {
            provider: self.seams.provider.as_ref(),
            placement,
            generator: self.seams.generator.as_ref(),
            load_cpus: &self.places.load_cpus,
            begin: self.plan.begin,
            clock_source: &self.clock_source,
            machine_cpus: self.machine_cpus,
        }
    }

    pub(super) fn empty_record(&self, number: u32, round: u32, case: usize) -> TrialRecord {
        let runtime = &self.plan.stack.runtimes[self.cases[case].runtime];
        TrialRecord {
            started_at: now(),
            budget_cpus: self.places.placements[self.cases[case].cpus].budget_cpus(),
            budget_unequal: matches!(self.plan.stack.budget, Budget::ByRole { .. })
                || runtime.is_external(),
            ..TrialRecord::empty(number, round, case)
        }
    }
}

/// A directory's path in a form that cannot be mistaken for a name of the catalogue.
fn directory_text(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains('/') || shown.starts_with('.') { shown } else { format!("./{shown}") }
}

/// The CPUs of the stacks and of the load.
#[derive(Clone, Debug)]
pub struct CpuPlacements {
    /// The CPUs of the largest stack and of the load. The load's are the same beside every stack.
    pub split: CpuSplit,
    /// The CPUs of the load threads, one each: a single one, or as many as a budget by role gives
    /// to `load`.
    pub load_cpus: Vec<usize>,
    /// The placement of the stack for each number of CPUs of the budget.
    pub placements: Vec<Placement>,
}

/// Chooses CPUs for the stacks and for the load.
pub fn assign_cpus(stack: &StackPlan) -> CpuPlacements {
    let budget = &stack.budget;
    let counts = budget.cpu_counts();
    let most = counts.iter().map(|count| count.needed()).max().unwrap_or(0);
    let split = stampede_keeper::split_cpus(most);
    let (memory_bytes, cpus_by_role) = match budget {
        Budget::Shared { memory_bytes, .. } => (*memory_bytes, BTreeMap::new()),
        Budget::ByRole { cpus, memory_bytes } => (*memory_bytes, by_role(cpus, &split.stack)),
    };
    let threads = match budget {
        Budget::ByRole { cpus, .. } => cpus.get("load").map_or(1, |&count| count as usize),
        Budget::Shared { .. } => 1,
    };
    let (load_cpus, beside) = split.load.split_at(threads.min(split.load.len()));
    // CPUs that the load shares with the stack are not free for others.
    let beside: Vec<usize> =
        beside.iter().copied().filter(|cpu| !split.stack.contains(cpu)).collect();
    let placement = |count: &CpuCount| Placement {
        // The CPUs of a smaller stack are a part of those of a larger one.
        cpus: stampede_keeper::split_cpus(count.needed()).stack,
        cpus_by_role: cpus_by_role.clone(),
        cpu_quota: count.quota(),
        beside: beside.clone(),
        memory_bytes,
        listen: stack.listen,
        port: None,
        watch: None,
        ask: None,
    };
    let load_cpus = load_cpus.to_vec();
    CpuPlacements { placements: counts.iter().map(placement).collect(), load_cpus, split }
}

/// Gives each role the next CPUs of the stack. Where the stack has fewer than asked for, the roles
/// share CPUs from the first one again.
fn by_role(cpus: &BTreeMap<String, u32>, stack: &[usize]) -> BTreeMap<String, Vec<usize>> {
    let mut next = stack.iter().copied().cycle();
    let roles = cpus.iter().filter(|(role, _)| *role != "load");
    roles
        .map(|(role, &count)| {
            let count = (count as usize).min(stack.len());
            (role.clone(), next.by_ref().take(count).collect())
        })
        .collect()
}

fn run_record(
    plan: &Plan,
    apps: &[App],
    cases: &[Case],
    traits: &[RuntimeTraits],
    facts: &MachineFacts,
    notices: Vec<Notice>,
) -> RunRecord {
    let (rounds, auto) = executor::first_rounds(plan.rounds);
    let written = plan.stack.written();
    let (id, stampede) = (run_id(&jiff::Zoned::now()), env!("CARGO_PKG_VERSION").to_owned());
    RunRecord {
        plan_text: mask_secrets(&written.text),
        flags: written.flags.iter().map(|flag| mask_secrets(flag)).collect(),
        seed: plan.seed,
        rounds,
        auto,
        baseline: baseline(plan, cases, traits),
        control: control(plan, cases, traits),
        peak: plan.peak.clone(),
        starts: plan.starts,
        cases: cases.iter().map(|case| case_record(plan, apps, case, traits)).collect(),
        order: cases::order(cases, rounds, plan.seed, plan.starts),
        expect: expectations(&plan.expect, &plan.loads),
        machine: serde_json::to_value(facts).unwrap_or_default(),
        notices: notices.into_iter().map(Fact::from).collect(),
        against: plan.against.as_ref().map(|against| against.record.clone()),
        working_tree: plan.working_tree.clone(),
        ..RunRecord::empty(id, stampede, now())
    }
}

/// The tables of a file, which must be readable before anything is measured.
fn published(path: &Path) -> Result<PublishedRecord, TablesError> {
    let text = stampede_published::text_of(path)?;
    stampede_published::parse(&text, &path.display().to_string())?;
    let file =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(PublishedRecord { file, text })
}

/// The expectations of the run, and those of the loads that have some of their own.
fn expectations(of_run: &[Expectation], loads: &[LoadChoice]) -> Expectations {
    let written = |all: &[Expectation]| all.iter().cloned().map(WrittenExpectation::Read).collect();
    let own = loads.iter().filter(|load| !load.expect.is_empty());
    Expectations {
        of_run: written(of_run),
        by_load: own.map(|load| (load.name.clone(), written(&load.expect))).collect(),
    }
}

/// The name of the row of the plan's baseline. With two versions of an app it is the older one.
fn baseline(plan: &Plan, cases: &[Case], traits: &[RuntimeTraits]) -> Option<String> {
    let is_it = |case: &&Case| plan.stack.runtimes[case.runtime].name == plan.baseline;
    let is_old = |case: &&Case| match &plan.against {
        Some(against) => against.of.contains_key(&case.app),
        None => true,
    };
    let mut own = cases.iter().filter(is_it);
    let case = own.clone().find(is_old).or_else(|| own.next())?;
    Some(row_name(plan, case, traits))
}

/// The name of the row of the plan's control. With two versions of an app it is the newer one, as in
/// runs with one version.
fn control(plan: &Plan, cases: &[Case], traits: &[RuntimeTraits]) -> Option<ControlRecord> {
    let Control { runtime, app } = plan.control.as_ref()?;
    let case = cases.iter().find(|case| plan.stack.runtimes[case.runtime].name == *runtime)?;
    Some(ControlRecord { runtime: row_name(plan, case, traits), app: app.clone() })
}

/// A row's name: the runtime's name with what tells the row apart.
fn row_name(plan: &Plan, case: &Case, traits: &[RuntimeTraits]) -> String {
    let counts = plan.stack.budget.cpu_counts();
    let runtime = &plan.stack.runtimes[case.runtime];
    let mut name = runtime.name.clone();
    name += traits[case.runtime].mark();
    if counts.len() > 1 && !runtime.is_external() {
        name += &format!(" cpus={}", counts[case.cpus]);
    }
    match &plan.against {
        Some(against) if against.again.contains(&case.app) => against.record.name_of_again(&name),
        Some(against) if against.of.contains_key(&case.app) => against.record.name_of(&name),
        _ => name,
    }
}

fn case_record(plan: &Plan, apps: &[App], case: &Case, traits: &[RuntimeTraits]) -> CaseRecord {
    let load = &plan.loads[case.load];
    let of = plan.against.as_ref().and_then(|against| against.of.get(&case.app));
    let app = of.copied().unwrap_or(case.app);
    CaseRecord {
        runtime: row_name(plan, case, traits),
        app: cases::app_name(&plan.stack.apps.choices[app]),
        load: load.name.clone(),
        model: LoadModel::from(&load.model),
        load_text: cases::load_words(load),
        schedule: cases::schedule(&load.model),
        closed: Closed::of(&load.model),
        refused: case.refused.clone(),
        sent: Some(sent::sent(load, &apps[app])),
    }
}

/// That the clock was set back since an earlier run, in the directory that this run will be in.
fn clock_notice(out: Option<&Path>) -> Option<Notice> {
    let results = out.map_or(Some(Path::new(RESULTS)), Path::parent)?;
    let results = if results.as_os_str().is_empty() { Path::new(".") } else { results };
    let (run, started_at) = store::begun_after(results, &now())?;
    Some(Notice::ClockSetBack { run, started_at })
}
