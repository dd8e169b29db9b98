//! Tests `report --format bmf` and `--format github-action-benchmark`: the figures of a run for
//! tools that keep them.

use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;
use serde_json::Value;
use stampede_model::record::Validity;
use stampede_results::report::export::{bmf, export, github_action_benchmark};
use stampede_results::summary::{RunData, summarize};

use crate::report_fixture as fixture;
use crate::report_fixture::{
    MS, Requests, add, case, closed, open, spread, steady_and_peak, troubled,
};
use crate::written;

fn of_bencher(run: &RunData) -> Value {
    serde_json::from_str(&bmf(&export(&summarize(run)))).expect("JSON")
}

fn of_github(run: &RunData) -> Value {
    let summary = summarize(run);
    serde_json::from_str(&github_action_benchmark(&summary, &export(&summary))).expect("JSON")
}

fn left_out(run: &RunData) -> Vec<String> {
    export(&summarize(run)).left_out.iter().map(ToString::to_string).collect()
}

fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(entries) => {
            entries.iter().filter_map(|entry| entry["name"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn what_the_tools_read() {
    insta::assert_snapshot!("bmf", bmf(&export(&summarize(&open()))));
    let summary = summarize(&closed());
    let text = github_action_benchmark(&summary, &export(&summary));
    insta::assert_snapshot!("github_action_benchmark", text);
    assert_words!("left_out", left_out(&troubled()).join("\n"));
}

/// Bencher's schema: names with measures, and each with a number and perhaps two bounds.
#[test]
fn bmf_is_a_map_of_maps_of_numbers() {
    for run in [open(), closed(), troubled(), steady_and_peak()] {
        let value = of_bencher(&run);
        let measures = value.as_object().expect("a map").values();
        for (name, metric) in measures.flat_map(|one| one.as_object().expect("a map")) {
            assert!(name.len() <= 64, "{name}");
            let known = ["lower_value", "upper_value", "value"];
            assert!(metric.as_object().expect("a map").keys().all(|key| known.contains(&&**key)));
            let number = |key: &str| metric[key].as_f64();
            let value = number("value").expect("a number");
            let (low, high) = (number("lower_value"), number("upper_value"));
            assert!(low.unwrap_or(value) <= value && value <= high.unwrap_or(value), "{metric}");
            assert_eq!(low.is_some(), high.is_some());
        }
    }
}

/// Three rounds of 800, 1 000 and 1 250 answers in 10 s: the geometric mean is 100 /s.
#[test]
fn values_are_those_of_the_report_and_turned_round_where_more_is_better() {
    let mut run = fixture::run(vec![case("nginx-fpm", "day", "closed", "4 at a time")], 3);
    for answers in [800, 1_000, 1_250] {
        let answered_ns = vec![2 * MS; answers];
        add(&mut run, 0, Requests { answered_ns, ..Requests::default() });
    }
    let bencher = of_bencher(&run);
    let metric = &bencher["nginx-fpm · hello · day"]["correct-answers-per-second"];
    let number = |value: &Value| value.as_f64().expect("a number");
    assert!((number(&metric["value"]) - 100.0).abs() < 1e-4, "{metric}");
    let github = of_github(&run);
    let named = |end: &str| {
        let mut entries = github.as_array().expect("a list").iter();
        entries.find(|entry| entry["name"].as_str().is_some_and(|name| name.ends_with(end)))
    };
    let entry = named("time per correct answer (1 ÷ throughput)").expect("an entry");
    assert!((number(&entry["value"]) - 10.0).abs() < 1e-5, "{entry}");
    let range = entry["range"].as_str().expect("a range");
    let (low, high) = range.split_once(" to ").expect("two bounds");
    let (low, high): (f64, f64) = (low.parse().expect("a number"), high.parse().expect("one"));
    assert!(low < 10.0 && 10.0 < high, "{range}");
    let entry = named("requests without a correct answer").expect("an entry");
    assert_eq!((&entry["unit"], number(&entry["value"])), (&"%".into(), 0.0));
}

#[test]
fn names_are_the_same_in_the_next_run() {
    let mut next = open();
    next.record.id = "20261201-101500-0000".to_owned();
    next.record.started_at = "2026-12-01T10:15:00+00:00".to_owned();
    next.record.seed = 7;
    next.trials.reverse();
    for of in [of_bencher, of_github] {
        assert!(!names(&of(&open())).is_empty());
        assert_eq!(names(&of(&open())), names(&of(&next)));
    }
}

#[test]
fn what_does_not_count_is_left_out_and_said() {
    let said = left_out(&troubled());
    for (of, present) in [
        (names(&of_bencher(&troubled())), "nginx-fpm · hello · day"),
        (names(&of_github(&troubled())), "nginx-fpm · hello · day · CPU/request"),
    ] {
        assert!(of.iter().any(|name| name == present), "{of:?}");
        for gone in ["apache-modphp", "roadrunner", "frankenphp-worker"] {
            assert!(!of.iter().any(|name| name.starts_with(gone)), "{gone}: {of:?}");
            let line = format!("left out: {gone} · hello · day: no trial counts");
            assert!(said.iter().any(|said| said.starts_with(&line)), "{line}: {said:?}");
        }
    }
    // All its requests failed: a time of failures would be a fine time.
    let failed = &of_bencher(&troubled())["php-builtin · hello · day"];
    assert_eq!(failed["correct-answers-share"]["value"], 0.0);
    assert!(failed.get("response-time-p95-ns").is_none(), "{failed}");
}

fn report(runs: &[&Path], format: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
    command.arg("report").args(runs).args(["--format", format]).output().expect("it starts")
}

#[test]
fn the_command_prints_figures_to_stdout_and_what_is_missing_to_stderr() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = ["one", "two"].map(|name| {
        let place = directory.path().join(name);
        std::fs::create_dir(&place).expect("a directory");
        let mut run = troubled();
        run.record.id = name.to_owned();
        written::write(&place, &run, 20)
    });
    for format in ["bmf", "github-action-benchmark"] {
        let output = report(&[&runs[0]], format);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        let value: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
        assert!(!names(&value).is_empty());
        assert!(errors.contains("left out: roadrunner"), "{errors}");
        let both = report(&[&runs[0], &runs[1]], format);
        assert_eq!(both.status.code(), Some(2));
        assert!(both.stdout.is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happened in a run, an invalid trial adds nothing and no entry is without a number.
    #[test]
    fn an_invalid_trial_never_looks_valid(
        trials in prop::collection::vec((0_u8..3, 1_u64..3_000, 0_u64..3_000), 1..6)
    ) {
        let cases = vec![case("nginx-fpm", "day", "open", "const(200,10s)")];
        let mut all = fixture::run(cases.clone(), trials.len() as u32);
        let mut counted = fixture::run(cases, trials.len() as u32);
        for (judged, answers, failed) in trials {
            let judged = [Validity::Valid, Validity::Suspect, Validity::Invalid][judged as usize];
            let requests = || Requests {
                answered_ns: spread(answers, 2 * MS),
                failed: vec![("http:502", failed)],
                verdict: (judged, vec!["why"]),
                ..Requests::default()
            };
            add(&mut all, 0, requests());
            if judged != Validity::Invalid {
                add(&mut counted, 0, requests());
            }
        }
        prop_assert_eq!(of_bencher(&all), of_bencher(&counted));
        prop_assert_eq!(of_bencher(&all) == serde_json::json!({}), counted.trials.is_empty());
        for entry in of_github(&all).as_array().expect("a list") {
            prop_assert!(entry["value"].is_f64() || entry["value"].is_u64(), "{}", entry);
        }
    }
}

/// 0.6 CPUs for 10 s and 2 000 answers: 3 ms each, so that one CPU serves 333.3 /s and, at 60 %,
/// 200 /s. A million takes 5 000 s, 1.389 hours.
#[test]
fn a_million_requests_cost_what_arithmetic_says() {
    use stampede_results::summary::price::{Prices, cost};
    let mut run = fixture::run(
        vec![
            case("open", "day", "open", "const(200,10s)"),
            case("peak", "all", "closed", "4 users"),
        ],
        1,
    );
    for index in 0..2 {
        let spent = vec![(0.5, 0.1, 1 << 29, 1 << 29); 10];
        add(
            &mut run,
            index,
            Requests { answered_ns: spread(2_000, MS), spent, ..Requests::default() },
        );
    }
    let mut summary = summarize(&run);
    let one_cpu = stampede_model::cpus::CpuCount::whole(1);
    summary.cases.iter_mut().for_each(|case| case.budget_cpus = one_cpu);
    let prices: Prices = "cpu=0.72,memory=0.36,rate=1000".parse().expect("prices");
    let of = |runtime: &str| {
        let case = summary.cases.iter().find(|case| case.runtime == runtime).expect("a row");
        cost(case, &prices).expect("a cost")
    };
    let by_cpu = of("open");
    assert!((by_cpu.rate_per_server / 200.0 - 1.0).abs() < 0.02, "{by_cpu:?}");
    assert!((by_cpu.million / (1.08 * 5_000.0 / 3_600.0) - 1.0).abs() < 0.02, "{by_cpu:?}");
    assert!([5.0, 6.0].contains(&by_cpu.servers.expect("servers")), "{by_cpu:?}");
    // Under the closed load it answered 200 /s with CPU to spare: 60 % of that.
    let by_peak = of("peak");
    assert!((by_peak.rate_per_server / 120.0 - 1.0).abs() < 0.02, "{by_peak:?}");
    assert_eq!(by_peak.servers, Some(9.0));
}

#[test]
fn prices_are_printed_below_the_answer_or_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = written::write(directory.path(), &open(), 20);
    let price = |price: &str, format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
        command.arg("report").arg(&run).args(["--price", price, "--format", format]);
        command.output().expect("it starts")
    };
    let printed = price("cpu=0.03,memory=0.004,rate=2000,EUR", "text");
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let (_, costs) = text.split_once("\n\nhello").expect("a table below the answer");
    assert_words!("price", costs);
    for (parts, format) in [("cpu=x", "text"), ("EUR", "text"), ("cpu=1", "csv")] {
        let refused = price(parts, format);
        assert_eq!(refused.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.stdout.is_empty() && errors.contains("\nhint: "), "{errors}");
    }
}
