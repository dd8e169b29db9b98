//! Prepares and measures trials whose load is not known beforehand: a search asks for one trial
//! after the other. As in a comparison, each trial has a fresh runtime and a directory of its own
//! in the run.

use std::net::IpAddr;

use stampede_linux::clock::now;
use stampede_load::{Generator, LoadError};
use stampede_mask::mask_secrets;
use stampede_model::causes::chain;
use stampede_model::cpus::CpuCount;
use stampede_model::event::{Event, EventListener, RemainingTime, RemainingUntil};
use stampede_model::fact::{self, Fact, Reason};
use stampede_model::load::Model;
use stampede_model::machine::MachineFacts;
use stampede_model::record::expectations::{Expectations, WrittenExpectation};
use stampede_model::record::{CaseRecord, Closed, LoadModel, RunRecord, TrialRecord, Validity};
use stampede_model::time::Nanos;
use stampede_plan::model::{Budget, LoadChoice, RuntimeChoice};
use stampede_plan::parts::{SearchPlan, StackPlan};
use stampede_results::store::{RunDirectory, RunState, StoreError, StoredRun, StoredTrial, run_id};
use stampede_results::summary::model::CaseSummary;
use stampede_results::summary::{RunData, summarize};
use stampede_stack::{App, Catalogue, Providers, RuntimeTraits, env_notices};

use super::cases::{self, Case};
use super::comparison::{CpuPlacements, assign_cpus};
use super::refusal::{self, Refusal};
use super::today::take_over_today;
use super::{SharedStart, Subject, TrialContext, budget, senders, sent, trial};

/// A search on one app that can run on this machine. Every name is known, nothing is
/// started.
pub struct SearchContext {
    /// The plan with its settled values: memory, CPUs, `keep_alive`.
    pub plan: SearchPlan,
    /// For each runtime of the plan, why it is not measured; `None`: it is measured.
    pub refused: Vec<Option<Fact<Reason>>>,
    provider: Providers,
    generator: Box<dyn Generator>,
    app: App,
    traits: Vec<RuntimeTraits>,
    places: CpuPlacements,
    facts: MachineFacts,
}

/// A trial that was measured and judged.
pub struct TrialResult {
    /// The trial's record as it is on disk.
    pub record: TrialRecord,
    /// The trial's figures, with each expectation judged, even if the trial does not count.
    pub case: CaseSummary,
}

impl SearchContext {
    /// Checks the plan against the catalogue and this machine. Starts nothing.
    ///
    /// # Errors
    /// As [`super::comparison::Comparison::new`].
    pub fn new(
        mut plan: SearchPlan,
        catalogue: Catalogue,
        facts: MachineFacts,
    ) -> Result<SearchContext, Refusal> {
        plan.stack.apps.choices.truncate(1);
        let mut notices = std::mem::take(&mut plan.notices);
        notices.extend(budget::fit(&mut plan.stack, &facts)?);
        let provider = Providers::new(catalogue);
        let catalogue = provider.catalogue();
        let apps = refusal::apps(&plan.stack.apps, catalogue)?;
        notices.extend(take_over_today(&mut plan.stack, catalogue, &apps)?);
        notices.extend(refusal::skip_missing_runtimes(&mut plan.stack, catalogue, &apps)?);
        let traits = refusal::traits(&plan.stack, &provider, catalogue, &apps)?;
        notices.splice(0..0, refusal::provider_notices(&plan.stack, &provider, &apps)?);
        let mut cases: Vec<Case> = (0..plan.stack.runtimes.len())
            .map(|runtime| Case { runtime, app: 0, load: 0, cpus: 0, refused: None })
            .collect();
        refusal::refuse_unavailable(&plan.stack, catalogue, &apps, &mut cases);
        notices.extend(cases::settle_keep_alive_of_search(&mut plan, &mut cases, &traits));
        notices.extend(
            refusal::find_external_runtimes(&plan.stack)?
                .iter()
                .flat_map(stampede_stack::external::External::notices),
        );
        let app = apps.into_iter().next().expect("a plan has an app");
        notices.extend(app.notices(&catalogue.directories_of(&plan.stack.runtimes)));
        let ours = plan.stack.runtimes.iter().filter(|choice| !choice.is_external());
        notices.extend(ours.flat_map(|choice| env_notices(catalogue, &app, choice)));
        notices.extend(cases::recorded_sites_notice(&plan.load.requests));
        notices.extend(cases::request_file_notices([&plan.load.file]));
        let places = assign_cpus(&plan.stack);
        notices.extend(budget::sharing_notice(places.split.shared));
        notices.extend(budget::memory_notices(&plan.stack, &facts, &traits));
        plan.notices = fact::unique(notices);
        let refused = cases.into_iter().map(|case| case.refused).collect();
        let generator = senders::generator(&plan.load_from, plan.stack.listen.map(IpAddr::from));
        Ok(SearchContext { plan, refused, provider, generator, app, traits, places, facts })
    }

    /// Starts agents, if the plan has them.
    ///
    /// # Errors
    /// An agent does not answer, or refuses.
    pub fn prepare(&self) -> Result<(), LoadError> {
        senders::prepare(self.generator.as_ref(), &self.plan.load_from, &self.plan.stack)
    }

    /// The app's name in tables.
    pub fn app_name(&self) -> String {
        cases::app_name(&self.plan.stack.apps.choices[0])
    }

    /// The CPUs of the stack's budget.
    pub fn budget_cpus(&self) -> CpuCount {
        self.places.placements[0].budget_cpus()
    }

    /// The memory limit of the stack in bytes; 0: no limit.
    pub fn budget_memory_bytes(&self) -> u64 {
        self.places.placements[0].memory_bytes
    }

    /// The runtime's name in tables.
    pub fn name(&self, runtime: usize) -> String {
        self.plan.stack.runtimes[runtime].name.clone() + self.traits[runtime].mark()
    }

    /// Checks that the runtime takes the settings of `choice`, for this app.
    ///
    /// # Errors
    /// [`Refusal::Plan`], [`Refusal::Runtime`].
    pub fn check(&self, choice: &RuntimeChoice) -> Result<(), Refusal> {
        let stack = StackPlan { runtimes: vec![choice.clone()], ..self.plan.stack.clone() };
        let (provider, apps) = (&self.provider, std::slice::from_ref(&self.app));
        refusal::traits(&stack, provider, provider.catalogue(), apps).map(|_| ())
    }

    /// The content of `run.json` before the first trial.
    pub fn run_record(&self) -> RunRecord {
        let plan = &self.plan;
        let written = plan.stack.written();
        let (id, stampede) = (run_id(&jiff::Zoned::now()), env!("CARGO_PKG_VERSION").to_owned());
        RunRecord {
            plan_text: mask_secrets(&written.text),
            flags: written.flags.iter().map(|flag| mask_secrets(flag)).collect(),
            seed: plan.seed,
            expect: Expectations {
                of_run: plan.expect.iter().cloned().map(WrittenExpectation::Read).collect(),
                ..Expectations::default()
            },
            machine: serde_json::to_value(&self.facts).unwrap_or_default(),
            notices: plan.notices.iter().cloned().map(Fact::from).collect(),
            ..RunRecord::empty(id, stampede, now())
        }
    }

    /// Reports the plan's notices, and pins this process to the CPUs of the load.
    pub fn begin(&self, listener: &mut dyn EventListener) {
        for notice in &self.plan.notices {
            listener.event(&Event::Notice(&fact::sentence(notice)));
        }
        if let Err(error) = stampede_keeper::place_self(&self.places.split.load) {
            listener.event(&Event::Notice(&chain(&error)));
        }
    }

    /// The load of a trial.
    pub fn load(&self, name: String, model: Model) -> LoadChoice {
        self.plan.load.with(name, model)
    }

    /// Measures one trial in the run's directory, on a runtime that is started for it and ends with
    /// it. This trial and those that follow take `left` at most.
    ///
    /// # Errors
    /// Only when results cannot be written.
    pub fn measure(
        &self,
        run: &mut SearchRun<'_>,
        choice: &RuntimeChoice,
        load: &LoadChoice,
        left: Nanos,
    ) -> Result<TrialResult, StoreError> {
        let named = CaseRecord {
            runtime: choice.name.clone(),
            app: self.app_name(),
            load: load.name.clone(),
            model: LoadModel::from(&load.model),
            load_text: cases::load_text(&load.model),
            schedule: cases::schedule(&load.model),
            closed: Closed::of(&load.model),
            refused: None,
            sent: Some(sent::sent(load, &self.app)),
        };
        let (case, round) = run.add(named.clone())?;
        run.listener.event(&Event::TrialStarted {
            number: run.number,
            trials: 0,
            round,
            case: &named,
            budget_cpus: self.budget_cpus(),
            left: RemainingTime { trial: left, after: Nanos(0), until: RemainingUntil::Budget },
        });
        let mut record = self.empty_record(choice, run.number, round, case);
        let name = format!("{}-{}-{}", named.runtime, named.app, named.load);
        let mut directory = run.directory.trial(&record, &name)?;
        let subject = Subject { runtime: choice, app: &self.app, load, others: Vec::new() };
        let ctx = TrialContext {
            provider: &self.provider,
            placement: &self.places.placements[0],
            generator: self.generator.as_ref(),
            load_cpus: &self.places.load_cpus,
            begin: self.plan.begin,
            clock_source: &self.facts.clock_source,
            machine_cpus: self.facts.cpus_logical,
        };
        let sent = trial(&ctx, &subject, &mut run.start, &mut record, &mut directory, run.listener);
        let path = directory.finish(&record, sent.as_ref().ok().map(|sent| &sent.times))?;
        run.listener.event(&Event::TrialEnded { record: &record, case: &named });
        let case =
            self.judge_trial(run, StoredTrial { record: record.clone(), directory: path }, named)?;
        Ok(TrialResult { record, case })
    }

    /// Judges a trial as the table would, by the same rules: reads the stored files and computes
    /// the figures. A trial that does not count is judged too, since a runtime that breaks under
    /// load makes its trial invalid.
    fn judge_trial(
        &self,
        run: &SearchRun<'_>,
        mut trial: StoredTrial,
        case: CaseRecord,
    ) -> Result<CaseSummary, StoreError> {
        trial.record.case = 0;
        trial.record.verdict.judged = Validity::Valid;
        let stored = StoredRun {
            record: RunRecord { cases: vec![case], order: vec![vec![0]], ..run.record.clone() },
            directory: run.directory.path().to_owned(),
            trials: vec![trial],
            unfinished: Vec::new(),
            damaged: Vec::new(),
            state: RunState::Ended,
        };
        Ok(summarize(&RunData::read(&stored)?).cases.remove(0))
    }

    fn empty_record(
        &self,
        choice: &RuntimeChoice,
        number: u32,
        round: u32,
        case: usize,
    ) -> TrialRecord {
        TrialRecord {
            started_at: now(),
            budget_cpus: self.budget_cpus(),
            budget_unequal: matches!(self.plan.stack.budget, Budget::ByRole { .. })
                || choice.is_external(),
            ..TrialRecord::empty(number, round, case)
        }
    }
}

/// The run to which trials are added.
pub struct SearchRun<'a> {
    /// The content of `run.json` so far.
    pub record: RunRecord,
    /// The run's directory on disk.
    pub directory: RunDirectory,
    /// The listener that receives the events.
    pub listener: &'a mut dyn EventListener,
    number: u32,
    /// Keeps no stack, but knows the pages that were asked.
    start: SharedStart,
}

impl<'a> SearchRun<'a> {
    /// A run before its first trial.
    pub fn new(
        record: RunRecord,
        directory: RunDirectory,
        listener: &'a mut dyn EventListener,
    ) -> SearchRun<'a> {
        SearchRun { record, directory, listener, number: 0, start: SharedStart::default() }
    }

    /// Adds a trial of a case. Returns the case's index in the record, and how many trials the case
    /// then has.
    fn add(&mut self, case: CaseRecord) -> Result<(usize, u32), StoreError> {
        self.number += 1;
        let record = &mut self.record;
        let same = |known: &CaseRecord| {
            (&known.runtime, &known.load, known.shape())
                == (&case.runtime, &case.load, case.shape())
        };
        let index = record.cases.iter().position(same).unwrap_or_else(|| {
            record.cases.push(case);
            record.cases.len() - 1
        });
        let round = record.order.iter().take_while(|round| round.contains(&index)).count();
        match record.order.get_mut(round) {
            Some(cases) => cases.push(index),
            None => record.order.push(vec![index]),
        }
        record.rounds = record.order.len() as u32;
        self.directory.rewrite(record)?;
        Ok((index, round as u32 + 1))
    }
}

/// The total length of a trial.
pub fn trial_length(record: &TrialRecord) -> Nanos {
    Nanos(record.phases.last().map_or(0, |phase| phase.end_ns))
}
