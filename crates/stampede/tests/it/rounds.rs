//! Tests rounds from the outside: rounds until the result is precise, and repeated trials.

use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Workers};
use stampede_model::fact::{Fact, IntervalOf};
use stampede_model::record::{AutoCheckRecord, AutoEnd, AutoRecord, Validity};
use stampede_results::report::{self, Style};
use stampede_results::summary::steady::{self, Steady};
use stampede_results::summary::{RunData, Summary, narrow, summarize};

use crate::common::{Sandbox, finish, stderr, stdout};
use crate::report_fixture;
use crate::report_fixture::{MS, Requests, SECOND, add, case, run};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(120);

/// A server that answers like the app `hello` after 10 ms, so that the figures do not depend on
/// this machine.
fn server(workers: Workers) -> KnownServer {
    let body = include_str!("../../../../apps/hello/expected.json").replace(": ", ":");
    let answer = Answer::new(200, body).field("Content-Type", "application/json");
    let behaviour =
        Behaviour { workers, ..Behaviour::answering_after(Duration::from_millis(10), answer) };
    KnownServer::start(behaviour).expect("a known server")
}

fn compare(sandbox: &Sandbox, server: &KnownServer, plan: &str) -> Output {
    let external =
        format!("app: hello\nruntimes:\n  - external: {{url: \"http://{}\"}}\n", server.address());
    sandbox.write("plan.yaml", &format!("{external}warm_up: 0s\n{plan}"));
    finish(sandbox.stampede(&["compare", "plan.yaml"]), LIMIT)
}

fn record(sandbox: &Sandbox, name: &str) -> Value {
    let text = std::fs::read_to_string(sandbox.run().join(name)).expect(name);
    serde_json::from_str(&text).expect("JSON")
}

fn lengths(run: &Value) -> Vec<usize> {
    let rounds = run["order"].as_array().expect("an order").iter();
    rounds.map(|round| round.as_array().expect("a round").len()).collect()
}

#[test]
#[ignore = "long: 13 s"]
fn auto_checks_after_five_rounds_and_ends_when_the_interval_is_narrow() {
    let (sandbox, server) = (Sandbox::new(), server(Workers::Unlimited));
    let plan = "load: [{concurrency: 2, for: 300ms}]\nrounds: auto\nprecision: 100%\n";
    let output = compare(&sandbox, &server, plan);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    let run = record(&sandbox, "run.json");
    // Every answer takes 10 ms, so the interval is narrow on any working machine.
    assert_eq!(run["auto"]["ended"], "precision", "{run:#}");
    assert_eq!((lengths(&run), &run["rounds"]), (vec![1; 5], &Value::from(5)));
    let found = &run["auto"]["looks"][0]["found"];
    assert_eq!(
        (&found["code"], &found["rounds"]),
        (&"precise_enough".into(), &5.into()),
        "{run:#}"
    );
    assert_eq!(found["widest"]["of"]["figure"], "throughput", "{run:#}");
    let text = found["text"].as_str().unwrap_or_default();
    assert!(stderr(&output).contains(text), "told as it happens: {}", stderr(&output));
    assert!(stdout(&output).contains(text), "{}", stdout(&output));
    // A later report says the same.
    let again = finish(sandbox.stampede(&["report", "last", "--format", "json"]), LIMIT);
    let summary: Value = serde_json::from_str(&stdout(&again)).expect("JSON");
    assert_eq!(summary["auto"], run["auto"]);
    assert_eq!(summary["cases"][0]["trials_missing"], 0);
}

#[test]
fn auto_begins_no_round_that_would_end_after_max_time() {
    let (sandbox, server) = (Sandbox::new(), server(Workers::Unlimited));
    let plan =
        "load: [{concurrency: 2, for: 700ms}]\nrounds: auto\nprecision: 0.1%\nmax_time: 1s\n";
    let output = compare(&sandbox, &server, plan);
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stdout(&output), stderr(&output));
    let run = record(&sandbox, "run.json");
    assert_eq!(run["auto"]["ended"], "max_time", "{run:#}");
    assert_eq!(lengths(&run), [1], "another 0.7 s do not fit into one second");
    let why = &run["auto"]["looks"][0]["found"]["text"];
    assert!(stdout(&output).contains(why.as_str().expect("a text")), "{}", stdout(&output));
    assert!(!stdout(&output).contains("ended early"), "nothing is missing: {}", stdout(&output));
}

/// One worker, held by a connection: one of two users is starved in every trial.
#[test]
#[ignore = "long: 14 s"]
fn an_invalid_trial_is_repeated_a_limited_number_of_times() {
    let (sandbox, server) = (Sandbox::new(), server(Workers::PerConnection(1)));
    let load = "load: [{concurrency: 2, for: 500ms, keep_alive: true, timeout: 300ms}]\n";
    let output = compare(&sandbox, &server, &format!("{load}rounds: 3\nrepeat_invalid: 2\n"));
    let run = record(&sandbox, "run.json");
    let summary = record(&sandbox, "summary.json");
    let case = &summary["cases"][0];
    assert_eq!(case["verdict"], "invalid", "{case:#}");
    // Two repetitions in the first round. After that it is known not to be chance.
    assert_eq!(lengths(&run), [3, 1, 1]);
    assert_eq!((&case["trials_invalid"], &case["trials_counted"]), (&5.into(), &0.into()));
    assert_eq!(case["trials_missing"], 0);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
}

#[test]
fn nothing_is_repeated_if_the_plan_forbids_it() {
    let (sandbox, server) = (Sandbox::new(), server(Workers::PerConnection(1)));
    let load = "load: [{concurrency: 2, for: 500ms, keep_alive: true, timeout: 300ms}]\n";
    compare(&sandbox, &server, &format!("{load}repeat_invalid: 0\n"));
    assert_eq!(lengths(&record(&sandbox, "run.json")), [1]);
}

#[test]
fn precision_without_auto_is_a_mistake_and_fixed_rounds_as_a_flag_win() {
    let (sandbox, server) = (Sandbox::new(), server(Workers::Unlimited));
    let load = "load: [{concurrency: 1, for: 200ms}]\n";
    let output = compare(&sandbox, &server, &format!("{load}precision: 5%\n"));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("`precision` without `rounds: auto`"), "{}", stderr(&output));
    sandbox.write(
        "auto.yaml",
        &format!(
            "app: hello\nruntimes:\n  - external: {{url: \"http://{}\"}}\n{load}rounds: auto\nprecision: 5%\n",
            server.address()
        ),
    );
    let dry =
        finish(sandbox.stampede(&["compare", "auto.yaml", "--rounds", "2", "--dry-run"]), LIMIT);
    assert_eq!(dry.status.code(), Some(0), "{}", stderr(&dry));
    assert!(
        stdout(&dry).contains("round 2") && !stdout(&dry).contains("round 3"),
        "{}",
        stdout(&dry)
    );
}

/// Cases whose requests all take the given time in each round, in ms.
fn measured(cases: &[(&str, &[f64])]) -> RunData {
    let rounds = cases[0].1.len() as u32;
    let records = cases.iter().map(|(name, _)| case(name, "day", "open", "const(40,10s)"));
    let mut run = run(records.collect(), rounds);
    for (index, (_, ms)) in cases.iter().enumerate() {
        for ms in *ms {
            let answered_ns = vec![(ms * MS as f64) as u64; 400];
            add(&mut run, index, Requests { answered_ns, ..Requests::default() });
        }
    }
    run
}

fn text(summary: &Summary) -> String {
    report::text(summary, &Style::plain(120))
}

fn groups(summary: &Summary) -> Vec<(&str, &str)> {
    let cases = summary.cases.iter();
    cases.map(|case| (case.runtime.as_str(), case.significance_groups.as_str())).collect()
}

#[test]
fn significance_groups_are_of_all_pairs_and_rounds_cancel_out() {
    let summary = summarize(&measured(&[
        ("far", &[13.0, 26.2, 39.0, 13.1, 26.0]),
        ("best", &[10.0, 20.1, 30.0, 10.1, 20.0]),
        ("like-it", &[10.1, 20.0, 30.2, 10.0, 20.1]),
    ]));
    assert_eq!(groups(&summary), [("best", "a"), ("like-it", "a"), ("far", "b")]);
    let page = text(&summary).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("best is faster than far: its p95 is "), "{page}");
    assert!(page.contains("like-it: its p95 is 0.77 × as long"), "{page}");
    let csv = report::csv(&summary);
    let head = csv.lines().next().unwrap_or_default();
    let at = head.split(',').position(|name| name == "standing").expect("a column");
    // The only comma inside an earlier field is in the load.
    let fields = csv.lines().skip(1).filter_map(|row| row.split(',').nth(at + 1));
    let column: Vec<&str> = fields.collect();
    assert_eq!(column, ["faster", "faster", ""]);
    assert!(report::markdown(&summary).contains("**baseline**"), "{}", report::markdown(&summary));
}

#[test]
fn two_rounds_have_neither_groups_nor_intervals_and_the_table_says_so() {
    let summary = summarize(&measured(&[("a", &[10.0, 10.1]), ("b", &[20.0, 20.2])]));
    assert_eq!(groups(&summary), [("a", ""), ("b", "")]);
    let page = text(&summary);
    assert!(
        page.contains("Two rounds: a first impression.") && page.contains("`--rounds 3`"),
        "{page}"
    );
    assert!(!page.contains("95 %"), "{page}");
}

#[test]
fn a_single_runtime_has_an_interval_in_the_sentence_and_the_table() {
    for rounds in [1, 2, 5] {
        let ms = &[10.0, 10.4, 9.8, 10.1, 10.2][..rounds];
        let summary = summarize(&measured(&[("alone", ms)]));
        let both = format!("{}\n---\n{}", text(&summary), report::markdown(&summary));
        assert_words!(format!("alone_{rounds}"), both);
    }
}

/// `981 ms` ends in the letter `s`, the unit of `1.02 s`, but has another unit.
#[test]
fn a_unit_is_left_out_only_if_both_ends_of_an_interval_have_it() {
    let summary = summarize(&measured(&[("alone", &[981.0, 1_000.0, 1_020.0, 1_000.0])]));
    let page = text(&summary);
    assert!(page.contains(" (95 % interval 975 ms – 1.03 s)"), "{page}");
}

fn sentence(summary: &Summary) -> &str {
    &summary.groups[0].sentence
}

#[test]
fn each_other_has_its_own_verdict_where_the_sentence_begins_with_another() {
    let best = ("best", &[10.0, 10.0, 10.0, 10.0, 10.0][..]);
    let like_it = ("like-it", &[10.1, 10.0, 10.2, 10.0, 10.1][..]);
    let noisy = ("noisy", &[11.1, 9.7, 10.9, 9.8, 10.9][..]);
    let far = ("far", &[20.0, 20.1, 20.2, 20.0, 20.1][..]);
    let of = |cases: &[(&str, &[f64])]| sentence(&summarize(&measured(cases))).to_owned();
    assert_words!(
        "verdicts",
        [
            of(&[best, like_it, noisy, far]),
            of(&[best, noisy, far]),
            of(&[best, like_it]),
            of(&[best, far]),
        ]
        .join("\n")
    );
}

/// Of five rounds, three trials of one case do not count.
#[test]
fn a_pair_with_two_rounds_in_common_is_a_hint_whatever_the_others_have() {
    let best = ("best", &[10.0, 10.1, 10.0, 10.1, 10.0][..]);
    let few = ("few", &[14.0, 14.2, 14.0, 14.1, 14.0][..]);
    let far = ("far", &[20.0, 20.1, 20.2, 20.0, 20.1][..]);
    let mut run = measured(&[best, few, far]);
    for trial in run.trials.iter_mut().filter(|trial| trial.record.case == 1) {
        if trial.record.round > 2 {
            trial.record.verdict.judged = Validity::Invalid;
        }
    }
    let summary = summarize(&run);
    let claim = sentence(&summary);
    assert!(claim.contains("few: fewer than three rounds, a first impression only."), "{claim}");
    assert!(
        claim.contains("far is slower than best: its p95 is 2.00 × as long (1.98 – 2.02)."),
        "{claim}"
    );
    for trial in run.trials.iter_mut().filter(|trial| trial.record.case == 2) {
        if trial.record.round > 2 {
            trial.record.verdict.judged = Validity::Invalid;
        }
    }
    let summary = summarize(&run);
    let claim = sentence(&summary);
    assert!(
        claim.starts_with("Only 2 of 5 rounds count, so this is a first impression."),
        "{claim}"
    );
}

#[test]
fn an_inconclusive_comparison_names_the_rounds_that_would_settle_it() {
    let summary = summarize(&measured(&[
        ("a", &[10.0, 10.0, 10.0, 10.0, 10.0]),
        ("b", &[10.6, 10.9, 10.2, 11.4, 10.0]),
    ]));
    let needed = summary.groups[0].comparisons[0].rounds_needed.expect("it is inconclusive");
    let page = text(&summary);
    assert!(page.contains(&format!("b: about {needed} rounds would settle it")), "{page}");
    let headline = format!("About {needed} rounds would settle it (`--rounds {needed}`).");
    assert!(sentence(&summary).ends_with(&headline), "{}", sentence(&summary));
}

#[test]
fn an_invalid_trial_is_shown_and_the_repeated_one_counts_in_its_round() {
    let mut run = measured(&[("a", &[10.0, 20.0, 30.0]), ("b", &[20.0, 40.2, 60.0])]);
    // The trial of `a` in the second round was 100 times too slow and was repeated.
    run.record.order[1].push(0);
    run.trials[1].record.verdict.judged = Validity::Invalid;
    let slow = vec![2_000 * MS; 400];
    run.trials[1].times.as_mut().expect("times").response_time = report_fixture::times(&slow);
    let repeated =
        add(&mut run, 0, Requests { answered_ns: vec![20 * MS; 400], ..Requests::default() });
    repeated.record.round = 2;
    let summary = summarize(&run);
    let best = &summary.cases[0];
    assert_eq!((best.runtime.as_str(), best.trials_counted, best.trials_invalid), ("a", 3, 1));
    assert_eq!(best.trials_missing, 0);
    let ratio = summary.groups[0].comparisons[0].ratio.expect("a ratio");
    assert!((ratio.value - 2.0).abs() < 0.01 && ratio.trials == 3, "{ratio:?}");
    assert!(text(&summary).contains("a !"), "{}", text(&summary));
}

#[test]
fn a_drift_over_the_rounds_is_reported() {
    let summary = summarize(&measured(&[
        ("leaks", &[10.0, 11.1, 11.9, 13.0, 14.1, 15.0]),
        ("even", &[8.0, 8.1, 7.9, 8.0, 8.1, 8.0]),
    ]));
    let drift = |name: &str| {
        summary.cases.iter().find(|case| case.runtime == name).and_then(|case| case.drift)
    };
    let leaks = drift("leaks").expect("it drifts");
    assert!((1.45..1.55).contains(&leaks.ratio) && leaks.chance < 0.001, "{leaks:?}");
    assert_eq!(drift("even"), None);
    let page = text(&summary);
    assert!(
        page.contains(
            "p95 of response time drifted between the first and the last round: leaks 1.5"
        ),
        "{page}"
    );
}

#[test]
fn a_constant_load_of_a_minute_is_steady_or_not_and_a_rising_one_is_neither() {
    let of = |load: &str, seconds: Vec<Option<f64>>| {
        let mut run = run(vec![case("a", "day", "open", load)], 1);
        let requests = Requests {
            answered_ns: vec![10 * MS; 400],
            scheduled_ns: 90 * SECOND,
            ..Requests::default()
        };
        add(&mut run, 0, requests).service = seconds;
        summarize(&run)
    };
    let slow_start: Vec<Option<f64>> =
        (0..90).map(|second| Some(if second < 30 { 11e6 } else { 10e6 })).collect();
    let moved = of("const(4,90s)", slow_start.clone());
    assert_eq!(steady::word(&moved.cases[0]), Some("no"));
    let page = text(&moved);
    let claim = "a: not stable over time: the median service time in trial 1 was 11.0 ms, then 10.0 ms from \
                second 30 on";
    assert!(page.contains(claim), "{page}");
    let even = of("const(4,90s)", vec![Some(1e7); 90]);
    assert_eq!(even.cases[0].trials[0].steady, Some(Steady::Steady));
    let short = of("const(4,30s)", Vec::new());
    assert_eq!(steady::word(&short.cases[0]), Some("too short"));
    assert!(!text(&short).contains("stable"), "{}", text(&short));
    assert_eq!(steady::word(&of("line(1,10,90s)", slow_start).cases[0]), None);
}

#[test]
fn auto_checks_the_intervals_of_figures_and_of_ratios() {
    // The rounds differ a lot, the ratios do not: the ratio is certain, the figures are not.
    let moody =
        measured(&[("a", &[10.0, 12.0, 9.0, 11.0, 10.0]), ("b", &[20.0, 24.0, 18.0, 22.0, 20.0])]);
    let seen = narrow::widest(&summarize(&moody), 0.05);
    assert!(!seen.is_narrow() && matches!(seen.of, Some(IntervalOf::Figure { .. })), "{seen:?}");
    // The opposite: each figure is certain, but a ratio has the noise of both.
    let quiet =
        measured(&[("a", &[10.0, 10.2, 10.0, 10.2, 10.1]), ("b", &[20.4, 20.0, 20.4, 20.0, 20.2])]);
    let quiet = summarize(&quiet);
    let seen = narrow::widest(&quiet, 0.035);
    assert!(
        !seen.is_narrow()
            && matches!(&seen.of, Some(IntervalOf::Ratio { runtime, .. }) if runtime == "b"),
        "{seen:?}"
    );
    assert!(narrow::widest(&quiet, 0.06).is_narrow());
    // A case that failed becomes no narrower.
    let mut failed = measured(&[("a", &[10.0, 10.0, 10.0])]);
    failed.trials.iter_mut().for_each(|trial| {
        let load = trial.record.load.as_mut().expect("a load");
        load.counts.planned *= 2;
    });
    assert!(narrow::widest(&summarize(&failed), 0.05).is_narrow());
}

#[test]
fn a_run_with_auto_rounds_is_complete_only_after_its_decision() {
    let mut run = measured(&[("a", &[10.0; 5])]);
    assert!(run.record.is_whole(5) && !run.record.is_whole(4));
    let auto = AutoRecord { precision_share: 0.05, max_time_ns: 1, looks: vec![], ended: None };
    run.record.auto = Some(auto);
    assert!(!run.record.is_whole(5), "it may go on to 8");
    if let Some(auto) = &mut run.record.auto {
        auto.ended = Some(AutoEnd::Precision);
        auto.looks.push(AutoCheckRecord {
            rounds: 5,
            found: Fact::bare("after 5 rounds: enough".to_owned()),
        });
    }
    assert!(run.record.is_whole(5));
    let look = code_or("rounds_look text", "`rounds: auto`: after 5 rounds: enough");
    assert!(text(&summarize(&run)).contains(look));
}
