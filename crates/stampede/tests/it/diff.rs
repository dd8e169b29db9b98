//! Tests `stampede diff`: the comparison of two runs, what it refuses, and its exit codes.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use stampede_model::cpus::CpuCount;
use stampede_model::fact::{ChangeFound, Fact, Found};
use stampede_model::record::{AgainstRecord, FORMAT, SentRecord, Spread, Validity};
use stampede_results::report::page::versions as versions_on_page;
use stampede_results::store::RunDirectory;
use stampede_results::summary::model::ExpectedOutcome;
use stampede_results::summary::{RunData, summarize};

use crate::report_fixture as fixture;
use crate::report_fixture::{Requests, add, case, spread};
use crate::words::code_or;

/// A run of these runtimes under one open load, with a trial per round that takes a few µs more.
fn run(id: &str, rounds: u32, runtimes: &[(&str, u64)]) -> RunData {
    let named = |(runtime, _): &(&str, u64)| case(runtime, "day", "open", "const(200,10s)");
    let mut run = fixture::run(runtimes.iter().map(named).collect(), rounds);
    run.record.id = id.to_owned();
    for round in 0..u64::from(rounds) {
        for (index, (_, middle_us)) in runtimes.iter().enumerate() {
            let middle_ns = middle_us * 1_000 * (1_000 + 2 * round) / 1_000;
            let answered_ns = spread(2_000, middle_ns);
            add(&mut run, index, Requests { answered_ns, ..Requests::default() });
        }
    }
    run
}

fn write(directory: &Path, run: &RunData) {
    let written = RunDirectory::create(Some(&directory.join(&run.record.id)), &run.record)
        .expect("a run's directory");
    for trial in &run.trials {
        let mut ended = written.trial(&trial.record, "x").expect("a directory");
        for sample in &trial.resources {
            use stampede_model::event::{Event, EventListener};
            ended.event(&Event::Resources(sample));
        }
        ended.finish(&trial.record, trial.times.as_ref()).expect("written");
    }
}

/// Runs `stampede diff a b …` in a directory that contains the runs.
fn diff(runs: &[&RunData], arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    runs.iter().for_each(|run| write(directory.path(), run));
    let names = runs.iter().map(|run| run.record.id.as_str());
    Command::new(env!("CARGO_BIN_EXE_stampede"))
        .arg("diff")
        .args(names)
        .args(arguments)
        .current_dir(directory.path())
        .output()
        .expect("the binary starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn before() -> RunData {
    run("before", 5, &[("nginx-fpm", 2_000), ("apache-modphp", 2_000), ("gone", 2_000)])
}

fn after() -> RunData {
    let mut run = run("after", 5, &[("nginx-fpm", 2_480), ("apache-modphp", 2_000)]);
    let (case, failed) = (1, vec![("http:502", 40)]);
    let last = Requests { answered_ns: spread(1_960, 2_004_000), failed, ..Requests::default() };
    run.trials.retain(|trial| (trial.record.case, trial.record.round) != (1, 5));
    let trial = add(&mut run, case, last);
    trial.record.number = 10;
    trial.record.verdict.judged = Validity::Suspect;
    trial.record.verdict.reasons = vec![Fact::bare("a load thread was 85 % busy".to_owned())];
    run
}

#[test]
fn every_format_says_which_is_slower_and_how_sure_that_is() {
    let runs = [&before(), &after()];
    let text = diff(&runs, &["--expect", "p95 worse < 5%", "--expect", "memory worse < 5%"]);
    assert_eq!(text.status.code(), Some(1), "{}", stderr(&text));
    assert_eq!(stderr(&text), "");
    assert_words!("text", stdout(&text));
    let markdown = diff(&runs, &["--format", "markdown", "--expect", "p95 worse < 5%"]);
    assert_words!("markdown", stdout(&markdown));
    let json = diff(&runs, &["--json"]);
    assert_eq!(json.status.code(), Some(0), "{}", stderr(&json));
    let json: Value = serde_json::from_str(&stdout(&json)).expect("JSON");
    assert_eq!(json["format"], 2);
    let cases = json["diffs"][0]["cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["runtime"] == "nginx-fpm").expect("its case");
    let p95 = &case["figures"][1];
    assert_eq!((&p95["figure"], &p95["judged"]), (&"p95".into(), &"worse".into()));
    let share = p95["worse"]["share"].as_f64().expect("a share");
    // The histogram keeps three digits.
    assert!((share - 0.24).abs() < 0.002, "{share}");
    assert_eq!(json["diffs"][0]["pairing"], "between_runs");
    assert_eq!(json["diffs"][0]["only"][0]["runtime"], "gone");
}

#[test]
fn several_runs_are_each_held_against_the_first() {
    let third = run("third", 5, &[("nginx-fpm", 1_000)]);
    let json = diff(&[&before(), &after(), &third], &["--json"]);
    let json: Value = serde_json::from_str(&stdout(&json)).expect("JSON");
    let diffs = json["diffs"].as_array().expect("diffs");
    let labels: Vec<[&str; 2]> = diffs
        .iter()
        .map(|diff| ["base", "other"].map(|side| diff[side]["label"].as_str().expect("a label")))
        .collect();
    assert_eq!(labels, [["A", "B"], ["A", "C"]]);
    assert_eq!(diffs[1]["cases"][0]["figures"][1]["judged"], "better");
}

/// The exit code and the judgement of `p95 worse < 5%`, for a runtime with this median in µs.
fn judged(rounds: u32, after_us: u64) -> (Option<i32>, String) {
    let before = run("before", rounds, &[("nginx-fpm", 2_000)]);
    let after = run("after", rounds, &[("nginx-fpm", after_us)]);
    let output = diff(&[&before, &after], &["--expect", "p95 worse < 5%"]);
    let all = stdout(&output);
    let line = all.lines().find(|line| line.starts_with("p95 worse")).unwrap_or_default();
    (output.status.code(), line.split(": ").nth(1).unwrap_or_default().to_owned())
}

#[test]
fn an_expectation_gives_the_exit_code() {
    let outcome = |code, text: &str| (Some(code), text.to_owned());
    assert_eq!(judged(5, 2_000), outcome(0, "met"));
    assert_eq!(judged(5, 1_000), outcome(0, "met"));
    assert_eq!(judged(5, 2_480), outcome(1, "not met"));
    // An interval of about ±0.6 % around 4.8 %.
    assert_eq!(judged(5, 2_096), outcome(1, "not proven"));
    // Two trials give no interval, so they cannot show that nothing changed.
    assert_eq!(judged(2, 2_000), outcome(1, "not proven"));
}

#[test]
fn expectations_of_the_plan_are_judged_where_none_is_named() {
    let mut after = after();
    after.record.expect.of_run = vec!["p95 < 1s".into(), "p95 worse < 5%".into()];
    let output = diff(&[&before(), &after], &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("\np95 worse < 5%: not met: "), "{}", stdout(&output));
    assert!(!stdout(&output).contains("p95 < 1s"));
}

#[test]
fn a_percentile_that_no_summary_keeps_is_computed() {
    let before = run("before", 3, &[("nginx-fpm", 2_000)]);
    let after = run("after", 3, &[("nginx-fpm", 2_480)]);
    let output = diff(&[&before, &after], &["--json", "--expect", "p97 worse < 30%"]);
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let expected = &json["diffs"][0]["cases"][0]["expectations"][0];
    assert_eq!(
        (&expected["text"], &expected["outcome"]),
        (&"p97 worse < 30%".into(), &"met".into())
    );
}

#[test]
fn a_case_without_a_trial_that_counts_is_exit_code_3() {
    let mut after = after();
    for trial in after.trials.iter_mut().filter(|trial| trial.record.case == 0) {
        trial.record.verdict.judged = Validity::Invalid;
        trial.record.verdict.reasons = vec![Fact::bare("p99 schedule lag 12.3 ms".to_owned())];
    }
    let output = diff(&[&before(), &after], &["--expect", "p95 worse < 5%"]);
    assert_eq!(output.status.code(), Some(3));
    let why = code_or("no_counted_trial", "no trial of B counts");
    assert!(stdout(&output).contains(why), "{}", stdout(&output));
}

/// A run that differs in many facts; the report shows both values of each.
fn unlike() -> RunData {
    let mut run = after();
    run.record.machine =
        serde_json::json!({"cpu_model": "Another", "cpus_logical": 8, "kernel": "7.0"});
    run.record.cases[0].load_text = "const(300,10s)".to_owned();
    for trial in &mut run.trials {
        let record = &mut trial.record;
        record.budget_cpus = CpuCount::whole(2);
        record.isolation.memory_bytes = 0;
        record.runtime.settings.insert("workers".into(), 8.into());
        record.runtime.versions.insert("php-fpm".into(), "8.3.1".into());
        let shown = record.runtime.before.as_mut().expect("it showed itself");
        shown.php_version = "8.3.1".into();
        shown.opcache = false;
        shown.extensions.push("xdebug".into());
        shown.ini.insert("memory_limit".into(), "1G".into());
        shown.answer_sha256 = "another".into();
    }
    run
}

fn beside(mut run: RunData) -> RunData {
    run.record.machine =
        serde_json::json!({"cpu_model": "One", "cpus_logical": 4, "kernel": "6.1"});
    for trial in &mut run.trials {
        let record = &mut trial.record;
        record.runtime.settings.insert("workers".into(), 4.into());
        record.runtime.versions.insert("php-fpm".into(), "8.2.29".into());
        let shown = record.runtime.before.as_mut().expect("it showed itself");
        shown.ini.insert("memory_limit".into(), "256M".into());
    }
    run
}

#[test]
fn what_is_not_comparable_is_refused_with_both_values_unless_told_to() {
    let runs = [&beside(before()), &unlike()];
    let refused = diff(&runs, &[]);
    assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), String::new()));
    assert_words!("refused", stderr(&refused));
    let anyway = diff(&runs, &["--anyway"]);
    assert_eq!(anyway.status.code(), Some(0), "{}", stderr(&anyway));
    let text = stdout(&anyway);
    for wanted in [
        "compared although not alike: PHP: `8.2.29` in A, `8.3.1` in B (apache-modphp and",
        code_or("answers_differ", "the app's answer differs in B: apache-modphp and nginx-fpm"),
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
}

fn sent(app_kind: &str, requests: &str, arrivals: Spread) -> Option<SentRecord> {
    Some(SentRecord {
        app_kind: app_kind.to_owned(),
        requests: requests.to_owned(),
        arrivals: Some(arrivals),
    })
}

/// A run of one runtime in three rounds, whose record has the given facts about what was sent.
fn sending(id: &str, sent: Option<SentRecord>) -> RunData {
    let mut run = run(id, 3, &[("nginx-fpm", 2_000)]);
    run.record.cases[0].sent = sent;
    run
}

#[test]
fn the_same_schedule_with_other_requests_arrivals_or_kind_of_app_is_another_load() {
    let before = sending("before", sent("script", "GET /?ms=10", Spread::Uniform));
    for (after, wanted) in [
        (
            sent("script", "GET /?ms=50", Spread::Uniform),
            "requests: `GET /?ms=10` in A, `GET /?ms=50` in B (nginx-fpm)",
        ),
        (
            sent("script", "2 requests, SHA-256 0123456789ab…", Spread::Uniform),
            "requests: `GET /?ms=10` in A, `2 requests, SHA-256 0123456789ab…` in B (nginx-fpm)",
        ),
        (
            sent("script", "GET /?ms=10", Spread::Poisson),
            "arrivals: `uniform` in A, `poisson` in B (nginx-fpm)",
        ),
        (
            sent("symfony", "GET /?ms=10", Spread::Uniform),
            "app's kind: `script` in A, `symfony` in B (nginx-fpm)",
        ),
    ] {
        let after = sending("after", after);
        let refused = diff(&[&before, &after], &[]);
        assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), String::new()));
        let message = stderr(&refused);
        assert!(message.contains(code_or("not_comparable", "are not comparable")), "{message}");
        assert!(message.contains(code_or("not_comparable", wanted)), "{message}");
        let anyway = diff(&[&before, &after], &["--anyway"]);
        assert_eq!(anyway.status.code(), Some(0), "{}", stderr(&anyway));
        let text = stdout(&anyway);
        assert!(text.contains(&format!("compared although not alike: {wanted}")), "{text}");
    }
    let alike = sending("alike", before.record.cases[0].sent.clone());
    assert_eq!(diff(&[&before, &alike], &[]).status.code(), Some(0));
}

/// Runs of versions that did not record this remain comparable with each other and with new runs.
#[test]
fn what_a_run_does_not_say_it_sent_is_no_difference() {
    let old = sending("old", None);
    let new = sending("new", sent("script", "GET /?ms=10", Spread::Uniform));
    for runs in [[&old, &new], [&new, &old]] {
        let output = diff(&runs, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn another_app_is_refused_by_both_names_and_compared_when_told_to() {
    let before = run("before", 3, &[("nginx-fpm", 2_000)]);
    let mut after = run("after", 3, &[("nginx-fpm", 2_480)]);
    after.record.cases[0].app = "shop".to_owned();
    let refused = diff(&[&before, &after], &[]);
    assert_eq!((refused.status.code(), stdout(&refused)), (Some(2), String::new()));
    let message = stderr(&refused);
    let why = code_or("not_comparable", "app: `hello` in A, `shop` in B (nginx-fpm)");
    assert!(message.contains(why), "{message}");
    let hint = code_or("hint: not_comparable", "hint: `--anyway` compares them");
    assert!(message.contains(hint), "{message}");
    let anyway = diff(&[&before, &after], &["--anyway"]);
    assert_eq!(anyway.status.code(), Some(0), "{}", stderr(&anyway));
    let text = stdout(&anyway);
    assert!(text.contains("compared although not alike: app: `hello` in A, `shop` in B"), "{text}");
    assert!(text.contains("B is slower than A: p95 of response time 1.24 ×"), "{text}");
    assert!(!text.contains("only in"), "{text}");
}

/// With several apps, nobody can tell which app of one run corresponds to which of the other.
#[test]
fn of_several_apps_only_those_of_one_name_are_compared() {
    let before = run("before", 3, &[("nginx-fpm", 2_000)]);
    let mut after = run("after", 3, &[("nginx-fpm", 2_000), ("apache-modphp", 2_000)]);
    after.record.cases[0].app = "shop".to_owned();
    after.record.cases[1].app = "blog".to_owned();
    let output = diff(&[&before, &after], &["--anyway"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
    let why = code_or("no_common_case", "have no case in common");
    assert!(stderr(&output).contains(why), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_compared_is_said_with_what_to_do() {
    let other = run("other", 3, &[("roadrunner", 2_000)]);
    let mut newer = after();
    newer.record.format = FORMAT + 1;
    let messages = [
        diff(&[&before()], &[]),
        diff(&[&before(), &before_again()], &["--expect", "p95 < 5ms"]),
        diff(&[&before(), &before_again()], &["--expect", "p95 worse < 5ms"]),
        diff(&[&before(), &other], &[]),
        diff(&[&before(), &newer], &[]),
        diff(&[&before()], &["befroe"]),
        diff(&[&before()], &["before"]),
    ]
    .map(|output| {
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), String::new()));
        stderr(&output)
    });
    assert_words!("mistakes", messages.join("\n---\n"));
}

fn before_again() -> RunData {
    let mut run = before();
    run.record.id = "again".to_owned();
    run
}

/// All trials of one run are trials of the other: nothing is found, and nothing differs.
#[test]
fn the_same_trials_are_the_same() {
    let output = diff(&[&before(), &before_again()], &["--json"]);
    let json: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    for case in json["diffs"][0]["cases"].as_array().expect("cases") {
        for figure in case["figures"].as_array().expect("figures") {
            assert_eq!(figure["judged"], "equivalent", "{figure:#}");
        }
    }
}

/// Two versions in five rounds. The machine's level changes from round to round, and the working
/// tree takes 10 % longer.
fn versions() -> RunData {
    let named = |runtime| case(runtime, "day", "open", "const(200,10s)");
    let mut run = fixture::run(vec![named("nginx-fpm"), named("nginx-fpm @main")], 5);
    run.record.id = "versions".to_owned();
    run.record.against = Some(AgainstRecord {
        twice: false,
        label: "@main".to_owned(),
        rev: "main".to_owned(),
        commit: "0123456789abcdef".to_owned(),
        head: "0123456".to_owned(),
        changed: 1,
        brought: vec!["vendor/".to_owned()],
        prepare: String::new(),
    });
    for mood in [1_000, 1_400, 800, 1_200, 900] {
        for (case, us) in [(0, 2_200), (1, 2_000)] {
            let answered_ns = spread(2_000, us * mood);
            add(&mut run, case, Requests { answered_ns, ..Requests::default() });
        }
    }
    // Different versions give different answers.
    for trial in run.trials.iter_mut().filter(|trial| trial.record.case == 1) {
        let shown = trial.record.runtime.before.as_mut().expect("it showed itself");
        shown.answer_sha256 = "another".into();
    }
    run
}

/// A round's effect on both versions cancels out, so the machine's changes cast no doubt on the
/// result.
#[test]
fn versions_of_one_run_are_compared_within_its_rounds() {
    let mut run = versions();
    run.record.expect.of_run = vec!["p95 < 1s".into(), "p95 worse < 5%".into()];
    let output = diff(&[&run], &[]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_words!("versions", stdout(&output));
    let kept = diff(&[&run], &["--expect", "p95 worse < 12%"]);
    assert_eq!(kept.status.code(), Some(0), "{}", stdout(&kept));
}

/// The page has both versions side by side. What measures the noise is beside the change, and in no
/// ranking.
#[test]
fn the_page_shows_both_versions_with_the_noise_of_the_day() {
    let mut run = versions();
    let once = page_of_versions(&run);
    assert_eq!(once.noise, Vec::<String>::new());
    assert!(once.cases[0].figures.iter().all(|one| one.noise.is_none()), "{once:#?}");

    run.record.cases.push(case("nginx-fpm @main again", "day", "open", "const(200,10s)"));
    run.record.order.iter_mut().for_each(|round| round.push(2));
    run.record.against.as_mut().expect("another version").twice = true;
    for mood in [1_000, 1_400, 800, 1_200, 900] {
        let answered_ns = spread(2_000, 2_020 * mood);
        add(&mut run, 2, Requests { answered_ns, ..Requests::default() });
    }
    let twice = page_of_versions(&run);
    let [only] = twice.cases.as_slice() else { panic!("one case: {twice:#?}") };
    let p95 = only.figures.iter().find(|one| one.is_primary).expect("the figure of the sentence");
    assert_eq!(
        (twice.base.as_str(), p95.title.as_str(), p95.result.as_str()),
        ("@main", "p95", "slower")
    );
    let value = |of: &Option<stampede_stats::estimate::Estimate>| of.expect("a ratio").value;
    assert!((value(&p95.ratio) - 1.1).abs() < 1e-3, "{p95:#?}");
    assert!((value(&p95.noise) - 1.01).abs() < 1e-3, "{p95:#?}");
    assert!(p95.noise_text.starts_with("1.01 × ("), "{p95:#?}");
    assert_eq!(twice.noise.len(), 2, "a heading and a case");
    let summary = summarize(&run);
    let ranked: Vec<&str> =
        summary.cases_of(&summary.groups[0]).map(|case| case.runtime.as_str()).collect();
    assert_eq!(ranked, ["nginx-fpm @main", "nginx-fpm"]);
    let one = before();
    assert_eq!(versions_on_page::of_run(&one, &summarize(&one)), None, "it has one version");
}

fn page_of_versions(run: &RunData) -> versions_on_page::ComparedVersions {
    versions_on_page::of_run(run, &summarize(run)).expect("two versions")
}

/// The exit code, the table and the JUnit file of the run itself report the change.
#[test]
fn a_change_is_judged_in_the_working_tree_s_cases_and_nothing_is_expected_of_the_other_version() {
    let mut run = versions();
    run.record.expect.of_run = vec!["p95 < 1ms".into(), "p95 worse < 5%".into()];
    let summary = summarize(&run);
    let of = |runtime: &str| {
        let case = summary.cases.iter().find(|case| case.runtime == runtime).expect(runtime);
        assert!(case.not_comparable.is_empty(), "{:?}", case.not_comparable);
        &case.expectations
    };
    assert!(of("nginx-fpm @main").is_empty());
    let [absolute, change] = of("nginx-fpm").as_slice() else { panic!("two expectations") };
    assert!(matches!(absolute.outcome, ExpectedOutcome::NotMet { .. }));
    let ExpectedOutcome::NotMet { figure } = &change.outcome else { panic!("{change:?}") };
    let Some(Found::Change { is_shown: true, found }) = figure.known() else {
        panic!("{figure:?}")
    };
    let Some(ChangeFound::WorseBy { worse, .. }) = found.known() else { panic!("{found:?}") };
    assert!((worse - 0.1).abs() < 1e-3, "{worse}");
    assert!(summary.breaks_an_expectation());
    run.record.expect.of_run = vec!["p95 worse < 12%".into()];
    assert!(!summarize(&run).breaks_an_expectation());
}

/// The same trials as two separate runs: the changes between rounds are noise and hide the change.
#[test]
fn the_same_trials_unpaired_show_less() {
    let versions = versions();
    let alone = |case: usize, id: &str| {
        let mut run = versions.clone();
        run.record.against = None;
        run.record.id = id.to_owned();
        run.record.cases = vec![versions.record.cases[0].clone()];
        run.record.order = vec![vec![0]; 5];
        run.trials.retain(|trial| trial.record.case == case);
        run.trials.iter_mut().for_each(|trial| trial.record.case = 0);
        run
    };
    let output = diff(&[&alone(1, "main"), &alone(0, "tree")], &[]);
    let text = stdout(&output);
    assert!(
        text.contains("B: too close to call against A: p95 of response time 1.10 × ("),
        "{text}"
    );
}
