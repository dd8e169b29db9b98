//! What trials are measured on whose load is not known beforehand: a search asks for one after the other.
//! Each has a fresh runtime and a folder of the run, as those of a comparison.

use stampede_load::spec::Model;
use stampede_load::time::Nanos;

use super::cells::{self, Cell};
use super::comparison::{Places, now, place};
use super::refusal::{self, Refusal};
use super::{Ctx, Subject, budget, fired, trial};
use crate::causes::chain;
use crate::event::{Event, Left, Listen, Until};
use crate::fact::{self, Fact, Reason};
use crate::keeper;
use crate::machine::MachineFacts;
use crate::plan::model::{Budget, LoadChoice, Plan, RuntimeChoice};
use crate::runtime::{App, Catalogue, Traits, env_notices};
use crate::store::expectations::{Expectations, WrittenExpectation};
use crate::store::record::{CellRecord, Closed, FORMAT, Judged, LoadModel, RunRecord, TrialRecord};
use crate::store::{RunFolder, RunState, StoreError, StoredRun, StoredTrial, mask_secrets, run_id};
use crate::summary::model::CellSummary;
use crate::summary::{RunData, summarize};

/// A plan of one app and one load that can run here: every name known, nothing started.
pub struct Ground {
    /// With what was settled: memory, CPUs, `keep_alive`.
    pub plan: Plan,
    /// Of each runtime of the plan: why it is not measured.
    pub refused: Vec<Option<Fact<Reason>>>,
    catalogue: Catalogue,
    app: App,
    traits: Vec<Traits>,
    places: Places,
    facts: MachineFacts,
}

/// A trial as measured and judged.
pub struct Look {
    /// As on disk.
    pub record: TrialRecord,
    /// Its figures, and each expectation judged, also of a trial that does not count.
    pub cell: CellSummary,
}

impl Ground {
    /// Checks the plan against the catalogue and this machine. Starts nothing.
    ///
    /// # Errors
    /// As [`super::comparison::Comparison::new`].
    pub fn new(
        mut plan: Plan,
        catalogue: Catalogue,
        facts: MachineFacts,
    ) -> Result<Ground, Refusal> {
        plan.loads.truncate(1);
        plan.apps.truncate(1);
        let mut notices = std::mem::take(&mut plan.notices);
        notices.extend(budget::fit(&mut plan, &facts)?);
        let apps = refusal::apps(&plan, &catalogue)?;
        notices.extend(refusal::skip_missing(&mut plan, &catalogue, &apps)?);
        let traits = refusal::traits(&plan, &catalogue, &apps)?;
        let mut cells: Vec<Cell> = (0..plan.runtimes.len())
            .map(|runtime| Cell { runtime, app: 0, load: 0, cpus: 0, refused: None })
            .collect();
        refusal::refuse_lacking(&plan, &catalogue, &apps, &mut cells);
        notices.extend(cells::settle_keep_alive(&mut plan, &mut cells, &traits));
        notices.extend(refusal::found(&plan)?.iter().flat_map(crate::live::Live::notices));
        let app = apps.into_iter().next().expect("a plan has an app");
        notices.extend(app.notice());
        let ours = plan.runtimes.iter().filter(|choice| !choice.is_live());
        notices.extend(ours.flat_map(|choice| env_notices(&app, choice)));
        notices.extend(cells::sites(&plan));
        let places = place(&plan.budget);
        notices.extend(budget::shared(places.split.shared));
        notices.extend(budget::crowded(&plan, &facts, &traits));
        plan.notices = fact::unique(notices);
        let refused = cells.into_iter().map(|cell| cell.refused).collect();
        Ok(Ground { plan, refused, catalogue, app, traits, places, facts })
    }

    /// The app's name in tables.
    pub fn app_name(&self) -> String {
        cells::app_name(&self.plan.apps[0])
    }

    /// CPUs of the stack.
    pub fn budget_cpus(&self) -> u32 {
        self.places.placements[0].cpus.len() as u32
    }

    /// Bytes of the stack; 0: no limit.
    pub fn budget_memory_bytes(&self) -> u64 {
        self.places.placements[0].memory_bytes
    }

    /// A runtime's name in tables.
    pub fn name(&self, runtime: usize) -> String {
        self.plan.runtimes[runtime].name.clone() + self.traits[runtime].mark()
    }

    /// A setting's value is one that the runtime takes, for this app.
    ///
    /// # Errors
    /// [`Refusal::Plan`], [`Refusal::Runtime`].
    pub fn check(&self, choice: &RuntimeChoice) -> Result<(), Refusal> {
        let plan = Plan { runtimes: vec![choice.clone()], ..self.plan.clone() };
        refusal::traits(&plan, &self.catalogue, std::slice::from_ref(&self.app)).map(|_| ())
    }

    /// `run.json` before the first trial.
    pub fn run_record(&self) -> RunRecord {
        let plan = &self.plan;
        RunRecord {
            format: FORMAT,
            id: run_id(&jiff::Zoned::now()),
            stampede: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now(),
            plan_text: mask_secrets(&plan.text),
            flags: plan.flags.iter().map(|flag| mask_secrets(flag)).collect(),
            seed: plan.seed,
            rounds: 1,
            auto: None,
            against: None,
            cells: Vec::new(),
            order: Vec::new(),
            expect: Expectations {
                of_run: plan.expect.iter().cloned().map(WrittenExpectation::Read).collect(),
                ..Expectations::default()
            },
            machine: serde_json::to_value(&self.facts).unwrap_or_default(),
            notices: plan.notices.iter().cloned().map(Fact::from).collect(),
        }
    }

    /// The load's threads go to their CPUs; what is to be known is said.
    pub fn begin(&self, listener: &mut dyn Listen) {
        for notice in &self.plan.notices {
            listener.event(&Event::Notice(&fact::told(notice)));
        }
        if let Err(error) = keeper::place_self(&self.places.split.load) {
            listener.event(&Event::Notice(&chain(&error)));
        }
    }

    /// The plan's load with another model.
    pub fn load(&self, name: String, model: Model) -> LoadChoice {
        LoadChoice { name, model, ..self.plan.loads[0].clone() }
    }

    /// One trial, on a runtime that is started for it and ends with it, in the run's folder. It and
    /// those that follow take `left` at most.
    ///
    /// # Errors
    /// Only when results cannot be written.
    pub fn measure(
        &self,
        run: &mut Run<'_>,
        choice: &RuntimeChoice,
        load: &LoadChoice,
        left: Nanos,
    ) -> Result<Look, StoreError> {
        let named = CellRecord {
            runtime: choice.name.clone(),
            app: self.app_name(),
            load: load.name.clone(),
            model: LoadModel::from(&load.model),
            load_text: cells::load_text(&load.model),
            schedule: cells::schedule(&load.model),
            closed: Closed::of(&load.model),
            refused: None,
            fired: Some(fired::fired(load, &self.app)),
        };
        let (cell, round) = run.add(named.clone())?;
        run.listener.event(&Event::TrialStarted {
            number: run.number,
            trials: 0,
            round,
            cell: &named,
            budget_cpus: self.budget_cpus(),
            left: Left { trial: left, after: Nanos(0), until: Until::Budget },
        });
        let mut record = self.empty_record(choice, run.number, round, cell);
        let name = format!("{}-{}-{}", named.runtime, named.app, named.load);
        let mut folder = run.folder.trial(&record, &name)?;
        let subject = Subject { runtime: choice, app: &self.app, load };
        let ctx = Ctx {
            catalogue: &self.catalogue,
            placement: &self.places.placements[0],
            load_cpus: &self.places.load_cpus,
            begin: self.plan.begin,
            clock_source: &self.facts.clock_source,
            machine_cpus: self.facts.cpus_logical,
        };
        let fired = trial(&ctx, &subject, &mut record, &mut folder, run.listener);
        let path = folder.finish(&record, fired.as_ref().ok().map(|fired| &fired.times))?;
        run.listener.event(&Event::TrialEnded { record: &record, cell: &named });
        let cell = self.judged(run, StoredTrial { record: record.clone(), folder: path }, named)?;
        Ok(Look { record, cell })
    }

    /// As the table would show it, by the same rules: what lies on disk is read and computed. A trial
    /// that does not count is judged too: a runtime that breaks under load breaks its trial.
    fn judged(
        &self,
        run: &Run<'_>,
        mut trial: StoredTrial,
        cell: CellRecord,
    ) -> Result<CellSummary, StoreError> {
        trial.record.cell = 0;
        trial.record.verdict.judged = Judged::Valid;
        let stored = StoredRun {
            record: RunRecord { cells: vec![cell], order: vec![vec![0]], ..run.record.clone() },
            folder: run.folder.path().to_owned(),
            trials: vec![trial],
            unfinished: Vec::new(),
            damaged: Vec::new(),
            state: RunState::Ended,
        };
        Ok(summarize(&RunData::read(&stored)?).cells.remove(0))
    }

    fn empty_record(
        &self,
        choice: &RuntimeChoice,
        number: u32,
        round: u32,
        cell: usize,
    ) -> TrialRecord {
        TrialRecord {
            started_at: now(),
            budget_cpus: self.budget_cpus(),
            budget_unequal: matches!(self.plan.budget, Budget::ByRole { .. }) || choice.is_live(),
            ..TrialRecord::empty(number, round, cell)
        }
    }
}

/// The run that trials are added to.
pub struct Run<'a> {
    /// `run.json`, as far as it has come.
    pub record: RunRecord,
    /// Where it is.
    pub folder: RunFolder,
    /// Who is told.
    pub listener: &'a mut dyn Listen,
    number: u32,
}

impl<'a> Run<'a> {
    /// Before its first trial.
    pub fn new(record: RunRecord, folder: RunFolder, listener: &'a mut dyn Listen) -> Run<'a> {
        Run { record, folder, listener, number: 0 }
    }

    /// Adds a trial of a cell: where the cell is in the record, and the how-many-th trial it is.
    fn add(&mut self, cell: CellRecord) -> Result<(usize, u32), StoreError> {
        self.number += 1;
        let record = &mut self.record;
        let same = |known: &CellRecord| {
            (&known.runtime, &known.load, known.shape())
                == (&cell.runtime, &cell.load, cell.shape())
        };
        let index = record.cells.iter().position(same).unwrap_or_else(|| {
            record.cells.push(cell);
            record.cells.len() - 1
        });
        let round = record.order.iter().take_while(|round| round.contains(&index)).count();
        match record.order.get_mut(round) {
            Some(cells) => cells.push(index),
            None => record.order.push(vec![index]),
        }
        record.rounds = record.order.len() as u32;
        self.folder.rewrite(record)?;
        Ok((index, round as u32 + 1))
    }
}

/// How long a trial took in all.
pub fn lasted(record: &TrialRecord) -> Nanos {
    Nanos(record.phases.last().map_or(0, |phase| phase.end_ns))
}
