//! Computes the summary of one case from its trials.

use stampede_model::cpus::CpuCount;
use stampede_model::fact::{Fact, Observation, Reason, Server};
use stampede_model::lag::LagMark;
use stampede_model::record::expectations::WrittenExpectation;
use stampede_model::record::{CaseRecord, ProviderKind, Validity};
use stampede_model::stat::Stat;

use super::agents::AgentFigures;
use super::breaking::{self, Rising};
use super::in_flight::InFlight;
use super::input::{RunData, TrialData};
use super::judge::judge;
use super::kept_up::KeptUp;
use super::model::{
    self, CaseCounts, CaseReason, CaseSummary, CaseVerdict, ExpectedOutcome, Figure, Figures,
    LoadModel, RoleFigures, TimeFigures, TrialSummary,
};
use super::pages::Pages;
use super::{exhausted, over_time, trial, why};

/// Computes the case with this index in `RunRecord::cases`.
pub fn summarize(run: &RunData, index: usize) -> CaseSummary {
    let record = &run.record.cases[index];
    let on_disk: Vec<&TrialData> =
        run.trials.iter().filter(|trial| trial.record.case == index).collect();
    let model = record.model;
    let expect: Vec<&WrittenExpectation> = run.record.expect.of_load(&record.load).collect();
    let rising = Rising::of(record, expect.iter().filter_map(|one| one.read()));
    let of = (&run.record, record);
    let trials: Vec<TrialSummary> =
        on_disk.iter().map(|trial| trial::summarize(trial, of, rising.as_ref())).collect();
    let mut case = of_trials(record, model, trials);
    case.breaking =
        rising.map(|rising| breaking::over(&case, &rising)).filter(|one| one.trials > 0);
    case.errors_over_time = over_time::errors_of(&case);
    case.pages = Pages::of(&on_disk);
    let against = run.record.against.as_ref();
    case.is_noise = against.is_some_and(|against| against.again_of(&record.runtime).is_some());
    case.trials_missing = match record.refused {
        Some(_) => 0,
        None => planned(run, index).saturating_sub(case.trials.len() as u32),
    };
    for trial in &on_disk {
        describe(&mut case, trial);
    }
    for written in expect {
        let (bound, outcome) = match written {
            WrittenExpectation::Read(expectation) => {
                (Some(expectation.bound), judge(&case, &on_disk, expectation))
            }
            // A later version wrote this expectation, so it cannot be judged here.
            WrittenExpectation::Unread(_) => (None, ExpectedOutcome::Unknown { figure: None }),
        };
        let text = written.text().to_owned();
        case.expectations.push(model::Validity { text, bound, outcome });
    }
    case
}

/// How many times the case occurs in the run's order.
fn planned(run: &RunData, index: usize) -> u32 {
    let in_order = run.record.order.iter().flatten().filter(|case| **case == index).count();
    u32::try_from(in_order).unwrap_or(u32::MAX)
}

fn of_trials(record: &CaseRecord, model: LoadModel, trials: Vec<TrialSummary>) -> CaseSummary {
    let counted: Vec<&TrialSummary> =
        trials.iter().filter(|trial| trial.verdict != Validity::Invalid).collect();
    let mut counts = CaseCounts::default();
    counted.iter().for_each(|trial| counts.add(&trial.counts));
    let figures: Vec<&Figures> = counted.iter().map(|trial| &trial.figures).collect();
    let (verdict, reasons) = verdict(record, &trials);
    CaseSummary {
        runtime: record.runtime.clone(),
        is_noise: false,
        app: record.app.clone(),
        load: record.load.clone(),
        model,
        verdict,
        reasons,
        not_comparable: Vec::new(),
        asked: Vec::new(),
        forced: Vec::new(),
        kept: Vec::new(),
        differs: Vec::new(),
        provider: ProviderKind::default(),
        title: String::new(),
        mode: String::new(),
        versions: Default::default(),
        php_version: String::new(),
        extensions_missing: Vec::new(),
        workers: None,
        budget_cpus: CpuCount::default(),
        budget_memory_bytes: 0,
        budget_unequal: false,
        timeout_ns: 0,
        stretched_max: 1.0,
        trials_counted: counted.len() as u32,
        trials_invalid: (trials.len() - counted.len()) as u32,
        trials_missing: 0,
        why: match counted.is_empty() {
            true => why::of_case(trials.iter().map(|trial| &trial.why)),
            false => why::of_case(counted.iter().map(|trial| &trial.why)),
        },
        exhausted: exhausted::over(&trials),
        kept_up: KeptUp::over(&trials),
        agents: AgentFigures::over(&trials),
        in_flight: InFlight::over(&trials),
        pages: Pages::default(),
        figures: over(&figures),
        counts,
        trials,
        significance_groups: String::new(),
        drift: None,
        expectations: Vec::new(),
        breaking: None,
        errors_over_time: Default::default(),
    }
}

/// The worst verdict among the trials that count, and the reasons and notes of all trials. A reason
/// that several trials share is given once, with their numbers.
fn verdict(record: &CaseRecord, trials: &[TrialSummary]) -> (CaseVerdict, Vec<CaseReason>) {
    let of_case = |reason: Fact<Reason>| vec![CaseReason::of(None, Vec::new(), vec![reason])];
    if let Some(why) = &record.refused {
        return (CaseVerdict::Refused, of_case(why.clone()));
    }
    if trials.is_empty() {
        return (CaseVerdict::Missing, of_case(Server::NoTrial {}.into()));
    }
    let counted = trials.iter().map(|trial| trial.verdict).filter(|one| *one != Validity::Invalid);
    let worst = match counted.max() {
        Some(Validity::Valid) => CaseVerdict::Valid,
        Some(_) => CaseVerdict::Suspect,
        None => CaseVerdict::Invalid,
    };
    (worst, reasons(trials))
}

/// Each reason with its trials, in the trials' order. Reasons that the same trials share form one
/// entry.
fn reasons(trials: &[TrialSummary]) -> Vec<CaseReason> {
    let mut each: Vec<(Validity, &Fact<Reason>, Vec<u32>)> = Vec::new();
    for trial in trials {
        let weighing = trial.reasons.iter().map(|reason| (trial.verdict, reason));
        let notes = trial.notes.iter().map(|note| (Validity::Valid, note));
        for (judged, reason) in weighing.chain(notes) {
            // Reasons whose sentences are equal count as equal, even if their figures differ
            // slightly.
            let is_it = |one: &&mut (Validity, &Fact<Reason>, Vec<u32>)| {
                one.0 == judged && (one.1 == reason || one.1.sentence() == reason.sentence())
            };
            match each.iter_mut().find(is_it) {
                Some((_, _, numbers)) => numbers.push(trial.number),
                None => each.push((judged, reason, vec![trial.number])),
            }
        }
    }
    let mut lines: Vec<(Validity, Vec<u32>, Vec<Fact<Reason>>)> = Vec::new();
    for (judged, reason, numbers) in each {
        match lines.iter_mut().find(|line| line.0 == judged && line.1 == numbers) {
            Some((_, _, reasons)) => reasons.push(reason.clone()),
            None => lines.push((judged, numbers, vec![reason.clone()])),
        }
    }
    let line = |(judged, trials, reasons)| CaseReason::of(Some(judged), trials, reasons);
    lines.into_iter().map(line).collect()
}

/// Copies the circumstances of a trial into the case. A later trial overrides an earlier one: all
/// trials of a case are started in the same way.
fn describe(case: &mut CaseSummary, trial: &TrialData) {
    let record = &trial.record;
    if !record.runtime.title.is_empty() {
        case.provider = record.runtime.given.provider;
        case.title.clone_from(&record.runtime.title);
        case.mode.clone_from(&record.runtime.mode);
        case.versions.clone_from(&record.runtime.versions);
        case.differs.clone_from(&record.runtime.differs);
    }
    if let Some(observed) = &record.runtime.before {
        case.php_version.clone_from(&observed.php_version);
        case.workers = Some(observed.workers).filter(|workers| *workers > 0);
        let missing = observed.notices.iter().filter_map(|notice| match notice.known() {
            Some(Observation::ExtensionMissing { extension }) => Some(extension.clone()),
            _ => None,
        });
        case.extensions_missing = missing.collect();
    }
    case.budget_cpus = record.budget_cpus;
    case.budget_memory_bytes = record.isolation.memory_bytes;
    case.budget_unequal |= record.budget_unequal;
    if let Some(load) = &record.load {
        case.timeout_ns = load.timeout_ns;
        case.stretched_max = case.stretched_max.max(load.stretched);
    }
}

/// Each figure combined over trials.
fn over(trials: &[&Figures]) -> Figures {
    let one =
        |figure: fn(&Figures) -> Figure| Figure::over(trials.iter().map(|figures| figure(figures)));
    let times = |set: fn(&Figures) -> &TimeFigures| {
        TimeFigures::build(|stat| Figure::over(trials.iter().map(|trial| set(trial).get(stat))))
    };
    let response_time_ns = times(|figures| &figures.response_time_ns);
    let without_lag = times(|figures| &figures.response_time_without_lag_ns);
    let service_time_ns = times(|figures| &figures.service_time_ns);
    let lower_bound_ns = times(|figures| &figures.lower_bound_ns);
    let lag = |stat| {
        LagMark::of(stat, response_time_ns.get(stat).value()?, without_lag.get(stat).value()?)
    };
    let possible = |stat| {
        let shown = response_time_ns.get(stat).value().or(service_time_ns.get(stat).value())?;
        LagMark::possible(stat, shown, lower_bound_ns.get(stat).value()?)
    };
    let mark = |stat| lag(stat).or_else(|| possible(stat));
    Figures {
        lag_marks: Stat::ALL.into_iter().filter_map(mark).collect(),
        lower_bound_ns,
        response_time_without_lag_ns: without_lag,
        response_time_ns,
        response_time_ns_ok: times(|figures| &figures.response_time_ns_ok),
        service_time_ns,
        service_time_ns_ok: times(|figures| &figures.service_time_ns_ok),
        connection_wait_ns_p99: one(|figures| figures.connection_wait_ns_p99),
        schedule_lag_ns_p99: one(|figures| figures.schedule_lag_ns_p99),
        first_answer_ns: one(|figures| figures.first_answer_ns),
        first_request_ns: one(|figures| figures.first_request_ns),
        ok_share: one(|figures| figures.ok_share),
        offered_per_second: one(|figures| figures.offered_per_second),
        throughput_per_second: one(|figures| figures.throughput_per_second),
        received_bytes_per_second: one(|figures| figures.received_bytes_per_second),
        sent_bytes_per_second: one(|figures| figures.sent_bytes_per_second),
        cpu_percent_median: one(|figures| figures.cpu_percent_median),
        cpu_percent_max: one(|figures| figures.cpu_percent_max),
        cpu_cost_us: one(|figures| figures.cpu_cost_us),
        engine_cost_us: one(|figures| figures.engine_cost_us),
        memory_bytes_median: one(|figures| figures.memory_bytes_median),
        memory_bytes_max: one(|figures| figures.memory_bytes_max),
        roles: roles_over(trials),
    }
}

fn roles_over(trials: &[&Figures]) -> std::collections::BTreeMap<String, RoleFigures> {
    let names = trials.iter().flat_map(|trial| trial.roles.keys());
    names
        .map(|name| {
            let one = |figure: fn(&RoleFigures) -> Figure| {
                Figure::over(trials.iter().filter_map(|trial| trial.roles.get(name)).map(figure))
            };
            let role = RoleFigures {
                cpu_percent_median: one(|role| role.cpu_percent_median),
                cpu_percent_max: one(|role| role.cpu_percent_max),
                cpu_cost_us: one(|role| role.cpu_cost_us),
                memory_bytes_median: one(|role| role.memory_bytes_median),
                memory_bytes_max: one(|role| role.memory_bytes_max),
            };
            (name.clone(), role)
        })
        .collect()
}
