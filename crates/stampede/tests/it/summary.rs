//! Tests summaries of runs whose figures are all known beforehand.

use stampede_model::cpus::CpuCount;
use stampede_model::event::{Event, EventListener};
use stampede_model::expectation as asked;
use stampede_model::expectation::{Bound, Expectation, Relation};
use stampede_model::fact::{Mismatch, Notice};
use stampede_model::primary::Primary;
use stampede_model::record::Validity;
use stampede_results::store::{RunDirectory, read_below};
use stampede_results::summary::judge::judge;
use stampede_results::summary::model::{CaseVerdict, ExpectedOutcome, Figure, Stat, Summary};
use stampede_results::summary::{RunData, TrialData, summarize};
use stampede_stats::baseline::Relation as CompareRelation;

use crate::report_fixture::{MS, Requests, SECOND, add, case, closed, open, run, troubled};
use crate::words::code_or;

const NOT_KNOWN: ExpectedOutcome = ExpectedOutcome::Unknown { figure: None };

fn one(requests: Requests) -> Summary {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(10,10s)")], 1);
    add(&mut run, 0, requests);
    summarize(&run)
}

/// Asserts equality within the histogram's three digits.
fn close(figure: Figure, expected: f64) {
    let value = figure.value().unwrap_or_else(|| panic!("{figure:?}, not {expected}"));
    assert!((value / expected - 1.0).abs() <= 0.001, "{value}, not {expected}");
}

#[test]
fn a_trial_with_known_times_and_counters_gives_known_figures() {
    // 1 … 100 ms; 100 requests in 10 s; 0.6 CPU for 10 s = 6 s of CPU = 60 ms a request.
    let answered_ns = (1..=100).map(|ms| ms * MS).collect();
    let summary = one(Requests { answered_ns, ok_inside: Some(95), ..Requests::default() });
    let figures = &summary.cases[0].figures;
    close(figures.response_time_ns.mean, 50.5e6);
    close(figures.response_time_ns.p50, 50e6);
    close(figures.response_time_ns.p75, 75e6);
    close(figures.response_time_ns.p90, 90e6);
    assert_eq!(figures.response_time_ns.p95, Figure::TooFew);
    close(figures.response_time_ns.max, 100e6);
    close(figures.offered_per_second, 10.0);
    // All 100 requests of the schedule got an answer, though five came after its end.
    close(figures.throughput_per_second, 10.0);
    close(figures.received_bytes_per_second, 10_240.0);
    close(figures.sent_bytes_per_second, 1_000.0);
    close(figures.cpu_percent_median, 60.0);
    close(figures.cpu_percent_max, 60.0);
    close(figures.cpu_cost_us, 60_000.0);
    close(figures.roles["php"].cpu_cost_us, 50_000.0);
    close(figures.roles["web"].cpu_percent_median, 10.0);
    close(figures.memory_bytes_median, (72 << 20) as f64);
    close(figures.first_answer_ns, 250e6);
    assert_eq!(summary.cases[0].counts.context_switches, 20_000);
}

#[test]
fn cpu_is_a_share_of_the_whole_budget_and_idle_drain_is_left_out() {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(10,10s)")], 1);
    let spent = [vec![(0.8, 0.0, 1, 1); 10], vec![(0.0, 0.0, 9, 1); 10]].concat();
    let trial =
        add(&mut run, 0, Requests { answered_ns: vec![MS; 100], spent, ..Requests::default() });
    trial.record.budget_cpus = CpuCount::whole(2);
    let summary = summarize(&run);
    close(summary.cases[0].figures.cpu_percent_median, 40.0);
    // Memory is read to the end: memory held during the drain counts.
    close(summary.cases[0].figures.memory_bytes_max, 10.0);
}

#[test]
fn memory_that_was_not_read_is_not_taken_for_zero() {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(10,10s)")], 1);
    let spent = vec![(0.1, 0.1, 30, 10); 3];
    let trial =
        add(&mut run, 0, Requests { answered_ns: vec![MS; 100], spent, ..Requests::default() });
    for sample in &mut trial.resources[1..] {
        for role in sample.roles.values_mut() {
            (role.memory_bytes, role.memory_read) = (0, false);
        }
    }
    close(summarize(&run).cases[0].figures.memory_bytes_median, 40.0);
}

#[test]
fn a_request_without_a_correct_answer_ranks_slowest() {
    // 900 answers and 100 error pages: p90 is an answer, p95 is not.
    let summary = one(Requests {
        answered_ns: vec![5 * MS; 900],
        failed: vec![("http:502", 100)],
        ..Requests::default()
    });
    let figures = &summary.cases[0].figures;
    close(figures.response_time_ns.p90, 5e6);
    assert_eq!(figures.response_time_ns.p95, Figure::Failed);
    assert_eq!(figures.response_time_ns.max, Figure::Failed);
    close(figures.response_time_ns_ok.p95, 5e6);
    close(figures.ok_share, 0.9);
}

#[test]
fn a_timeout_bounds_mean_and_maximum() {
    // 99 answers of 1 ms, one cut off at 11 s: (0.099 + 11) s ÷ 100 = 110.99 ms.
    let summary = one(Requests {
        answered_ns: vec![MS; 99],
        failed: vec![("net:timeout", 1)],
        ..Requests::default()
    });
    let figures = &summary.cases[0].figures;
    assert!(matches!(figures.response_time_ns.mean, Figure::AtLeast(_)));
    close(figures.response_time_ns.mean, 110.99e6);
    close(figures.response_time_ns.max, 11e9);
    close(figures.response_time_ns_ok.max, 1e6);
}

#[test]
fn zero_ok_requests_have_no_times_and_no_cost() {
    let summary = one(Requests { failed: vec![("net:refused", 1_000)], ..Requests::default() });
    let case = &summary.cases[0];
    assert_eq!(case.figures.response_time_ns.p50, Figure::Failed);
    assert_eq!(case.figures.response_time_ns_ok.p50, Figure::None);
    assert_eq!(case.figures.cpu_cost_us, Figure::None);
    assert_eq!(case.figures.throughput_per_second.value(), Some(0.0));
    assert!(summary.groups[0].comparisons.is_empty());
    assert_eq!(summary.groups[0].sentence, "nginx-fpm gave no correct answer.");
}

#[test]
fn over_trials_the_geometric_mean_counts_and_invalid_trials_do_not() {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(100,10s)")], 3);
    let requests = |ms: u64, verdict| Requests {
        answered_ns: vec![ms * MS; 1_000],
        verdict,
        notes: vec!["a process was started"],
        ..Requests::default()
    };
    add(&mut run, 0, requests(2, (Validity::Valid, vec![])));
    add(&mut run, 0, requests(8, (Validity::Suspect, vec!["steal time 3 %"])));
    add(
        &mut run,
        0,
        requests(900, (Validity::Invalid, vec!["p99 schedule lag 12 ms", "steal time 9 %"])),
    );
    let summary = summarize(&run);
    let case = &summary.cases[0];
    close(case.figures.response_time_ns.p95, 4e6);
    assert_eq!((case.trials_counted, case.trials_invalid, case.counts.planned), (2, 1, 2_000));
    assert_eq!(case.verdict, CaseVerdict::Suspect, "the worst of those that count");
    let reasons: Vec<String> = case.reasons.iter().map(ToString::to_string).collect();
    assert_eq!(
        reasons,
        [
            format!("trials 1, 2 and 3: {}", code_or("text", "a process was started")),
            format!("trial 2 suspect: {}", code_or("text", "steal time 3 %")),
            format!(
                "trial 3 invalid, not counted: {}",
                code_or("text; text", "p99 schedule lag 12 ms; steal time 9 %")
            ),
        ],
        "a note weighs nothing, whatever else its trial has"
    );
    close(case.trials[2].figures.response_time_ns.p95, 900e6);
    assert!(summary.is_whole(), "two trials count");
}

#[test]
fn three_rounds_and_more_are_compared_within_rounds() {
    let summary = summarize(&open());
    let group = &summary.groups[0];
    assert_eq!(group.baseline.as_deref(), Some("nginx-fpm"));
    assert_eq!(group.primary, Primary::ResponseTimeP95);
    let other = &group.comparisons[0];
    assert_eq!(
        (other.runtime.as_str(), other.relation),
        ("apache-modphp", Some(CompareRelation::Higher))
    );
    let ratio = other.ratio.expect("every round has both");
    // Round by round (2.48 + 0.06 r) ÷ (2 + 0.03 r): 1.24, 1.2512, 1.2621, 1.2727, 1.2830.
    assert!((ratio.value - 1.2617).abs() < 0.003, "{}", ratio.value);
    assert_eq!(ratio.trials, 5);
    let order: Vec<&str> = summary.cases.iter().map(|case| case.runtime.as_str()).collect();
    assert_eq!(order, ["nginx-fpm", "apache-modphp", "php-builtin"]);
    assert!(summary.is_whole());
}

#[test]
fn one_or_two_rounds_are_a_hint() {
    let summary = summarize(&closed());
    let group = &summary.groups[0];
    assert_eq!(
        (group.primary, group.baseline.as_deref()),
        (Primary::Throughput, Some("nginx-fpm"))
    );
    assert_eq!(group.comparisons[0].relation, Some(CompareRelation::TooFewRounds));
    assert!(group.sentence.starts_with("Two rounds: a first impression."), "{}", group.sentence);
    let figures = &summary.cases[0].figures;
    assert_eq!(figures.response_time_ns.p95, Figure::None);
    assert_eq!(figures.offered_per_second, Figure::None);
    close(figures.throughput_per_second, 2_015.0);
}

#[test]
fn ties_are_called_ties() {
    let named = |runtime| case(runtime, "day", "open", "const(200,10s)");
    let mut same = run(vec![named("a"), named("b")], 4);
    let mut close_by = same.clone();
    for round in 0..4 {
        let requests = |ns: u64| Requests { answered_ns: vec![ns; 1_000], ..Requests::default() };
        add(&mut same, 0, requests(10 * MS));
        add(&mut same, 1, requests(10 * MS + 20_000));
        add(&mut close_by, 0, requests(10 * MS));
        add(&mut close_by, 1, requests([8, 13, 10, 14][round] * MS));
    }
    let sentence = |run: &RunData| summarize(run).groups[0].sentence.clone();
    assert!(
        sentence(&same).starts_with("b is about the same as a (within 3 %)"),
        "{}",
        sentence(&same)
    );
    let close_by = sentence(&close_by);
    assert!(close_by.starts_with("No runtime is clearly ahead of a"), "{close_by}");
}

#[test]
fn few_requests_are_compared_by_what_they_have() {
    let summary = one(Requests { answered_ns: vec![MS; 100], ..Requests::default() });
    assert_eq!(summary.groups[0].primary, Primary::ResponseTimeP50);
    let summary = one(Requests { answered_ns: vec![MS; 5], ..Requests::default() });
    assert_eq!(summary.groups[0].primary, Primary::ResponseTimeMean);
}

#[test]
fn a_generator_at_its_limit_gives_a_lower_bound() {
    let mut run = run(vec![case("swoole", "4 users 10s", "closed", "4 users 10s")], 1);
    add(
        &mut run,
        0,
        Requests { answered_ns: vec![MS; 1_000], busy_share_max: 0.97, ..Requests::default() },
    );
    assert!(matches!(summarize(&run).cases[0].figures.throughput_per_second, Figure::AtLeast(_)));
}

#[test]
fn every_problem_has_its_verdict() {
    let summary = summarize(&troubled());
    let verdict = |name: &str| {
        summary.cases.iter().find(|case| case.runtime.starts_with(name)).map(|case| case.verdict)
    };
    assert_eq!(verdict("nginx-fpm-with"), Some(CaseVerdict::Suspect));
    assert_eq!(verdict("apache-modphp"), Some(CaseVerdict::Refused));
    assert_eq!(verdict("roadrunner"), Some(CaseVerdict::Invalid));
    assert_eq!(verdict("frankenphp"), Some(CaseVerdict::Missing));
    let long = &summary.cases[1];
    let (version, reference) = ("8.4.13".into(), "8.2.29".into());
    assert_eq!(long.not_comparable, [Mismatch::PhpVersion { version, reference }.into()]);
    assert_eq!(long.figures.cpu_cost_us, Figure::None);
    assert!(!summary.is_whole());
}

#[test]
fn a_run_without_trials_says_so() {
    let mut run = open();
    run.trials.clear();
    let summary = summarize(&run);
    assert!(summary.groups[0].sentence.starts_with("Nothing was measured"));
    assert!(summary.cases.iter().all(|case| case.verdict == CaseVerdict::Missing));
}

fn expectation(figure: &str, relation: &str, bound: f64) -> Expectation {
    let relation = Relation::ALL.into_iter().find(|one| one.sign() == relation);
    Expectation {
        text: format!("{figure} {relation:?} {bound}"),
        bound: Bound {
            figure: asked::Figure::named(figure).expect(figure),
            worse: false,
            relation: relation.expect("a relation"),
            limit: bound,
        },
    }
}

#[test]
fn expectations_are_met_broken_or_unknown() {
    // 900 answers of 5 ms, 100 timeouts: p90 5 ms, p95 failed, the longest at least 11 s.
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(10,10s)")], 1);
    add(
        &mut run,
        0,
        Requests {
            answered_ns: vec![5 * MS; 900],
            failed: vec![("net:timeout", 100)],
            ..Requests::default()
        },
    );
    let summary = summarize(&run);
    let trials: Vec<&TrialData> = run.trials.iter().collect();
    let judged = |figure: &str, relation: &str, bound: f64| match judge(
        &summary.cases[0],
        &trials,
        &expectation(figure, relation, bound),
    ) {
        ExpectedOutcome::Met => "met".to_owned(),
        ExpectedOutcome::NotMet { figure } => figure.sentence(),
        ExpectedOutcome::Unknown { figure: Some(figure) } => {
            format!("unknown: {}", figure.sentence())
        }
        ExpectedOutcome::Unknown { figure: None } => "unknown".to_owned(),
    };
    let not_met = str::to_owned;
    let known = |figure: &str| format!("unknown: {figure}");
    assert_eq!(judged("p90", "<", 6e6), "met");
    assert_eq!(judged("p90", "<", 4e6), not_met("5.00 ms"));
    assert_eq!(judged("p95", "<", 60e9), not_met("failed"));
    assert_eq!(judged("p99.9", "<", 60e9), not_met("failed"), "what is above p95 has failed too");
    // Not among the summary's figures: computed from the trial's own times, 900 of 1000 answered.
    assert_eq!(judged("p89.9", "<", 6e6), "met");
    assert_eq!(judged("p42", "<", 4e6), not_met("5.00 ms"));
    assert_eq!(judged("p97", "<", 60e9), not_met("failed"));
    assert_eq!(judged("p99.5", "<", 60e9), not_met("failed"));
    assert_eq!(judged("p99.5", ">", 1e6), known("failed"));
    assert_eq!(judged("max", "<", 10e9), not_met("at least 11.0 s"));
    assert_eq!(judged("max", "<", 12e9), known("at least 11.0 s"));
    assert_eq!(judged("ok", ">=", 0.9), "met");
    assert_eq!(judged("ok", ">=", 0.999), not_met("90 %"));
    assert_eq!(judged("throughput", ">=", 90.0), "met");
    assert_eq!(judged("memory", "<", 1.0), not_met("72.0 MiB"));
    // 6 s of CPU for 900 answers: 6.67 ms.
    assert_eq!(judged("cpu_cost", "<", 1e6), not_met("6.67 ms"));
    let mut worse = expectation("p95", "<", 0.05);
    worse.bound.worse = true;
    assert_eq!(judge(&summary.cases[0], &trials, &worse), NOT_KNOWN);
}

#[test]
fn a_percentile_with_too_few_requests_is_not_above_the_longest() {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(10,10s)")], 1);
    add(&mut run, 0, Requests { answered_ns: vec![5 * MS; 100], ..Requests::default() });
    let summary = summarize(&run);
    let trials: Vec<&TrialData> = run.trials.iter().collect();
    let judged = |bound: f64| judge(&summary.cases[0], &trials, &expectation("p99.9", "<", bound));
    assert_eq!(judged(6e6), ExpectedOutcome::Met);
    assert_eq!(judged(4e6), NOT_KNOWN, "some are above, and it may be one of them");
}

#[test]
fn expectations_of_a_load_are_noted_in_its_cases() {
    let mut run = open();
    run.record.expect.by_load.insert("another".into(), vec!["p95 < 1us".into()]);
    assert!(!summarize(&run).breaks_an_expectation());
    run.record.expect.by_load.insert("day".into(), vec!["p97 < 20ms".into()]);
    run.record.expect.of_run = vec!["ok >= 1%".into(), "from the future".into()];
    let summary = summarize(&run);
    assert!(summary.breaks_an_expectation());
    let met = |at: usize| {
        let judged = summary.cases[at].expectations.iter();
        judged.map(|one| one.outcome == ExpectedOutcome::Met).collect::<Vec<_>>()
    };
    let texts: Vec<&str> =
        summary.cases[0].expectations.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["ok >= 1%", "from the future", "p97 < 20ms"]);
    assert_eq!(met(0), [true, false, true]);
    assert_eq!(met(2), [true, false, false]);
    assert_eq!(summary.cases[0].expectations[1].outcome, NOT_KNOWN);
}

#[test]
fn a_summary_survives_its_file() {
    for run in [open(), closed(), troubled()] {
        let summary = summarize(&run);
        let text = stampede_results::report::json(&summary);
        let read: Summary = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(stampede_results::report::json(&read), text);
    }
}

#[test]
fn names_of_figures_are_those_of_the_plan() {
    assert_eq!(Stat::percentile(99.9), Some(Stat::Percentile(999)));
    assert_eq!(Stat::percentile(97.0), None);
    assert_eq!(
        Stat::ALL.map(|stat| stat.to_string()).join(" "),
        "mean p50 p75 p80 p85 p90 p95 p98 p99 p99.9 max"
    );
    assert_eq!(SECOND, 1_000 * MS);
}

/// A run written and read by the store gives the same summary, to the last digit. Then the same for
/// a run with a lost record, and for a run that ended early.
#[test]
fn the_summary_is_the_same_from_disk_and_from_memory() {
    let results = tempfile::tempdir().expect("a directory");
    let run = open();
    let written = RunDirectory::create(Some(&results.path().join("a")), &run.record).expect("new");
    for trial in &run.trials {
        let mut directory = written.trial(&trial.record, "x").expect("new");
        for sample in &trial.resources {
            directory.event(&Event::Resources(sample));
        }
        directory.finish(&trial.record, trial.times.as_ref()).expect("written");
    }
    written.close();
    let read = || RunData::read(&read_below(results.path(), "a").expect("read")).expect("read");
    let json = |run: &RunData| stampede_results::report::json(&summarize(run));
    assert_eq!(json(&read()), json(&run));

    let last = read_below(results.path(), "a").expect("read").trials.pop().expect("15 of them");
    std::fs::remove_file(last.directory.join("trial.json")).expect("removed");
    let summary = summarize(&read());
    assert_eq!((summary.cases[2].trials_counted, summary.cases[2].trials_missing), (4, 1));
    let [early, unfinished] = summary.notices.as_slice() else { panic!("{:?}", summary.notices) };
    assert_eq!(early.known(), Some(&Notice::EndedEarly { planned: 15, ended: 14 }));
    assert_eq!(unfinished.code(), "trial_unfinished");
}

#[test]
fn an_expectation_that_cannot_be_confirmed_does_not_pass() {
    let mut run = open();
    // Ten requests beyond the 99.9999th percentile need ten million requests.
    run.record.expect.of_run = vec!["p99.9999 < 1ms".into()];
    assert!(summarize(&run).breaks_an_expectation());
    run.record.expect.of_run = vec!["p95 worse < 5%".into()];
    assert!(!summarize(&run).breaks_an_expectation(), "another run's to answer");
}
