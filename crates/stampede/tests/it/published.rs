//! Tests that the published plans run here, and that their tables have the numbers of the articles.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Reply, Workers};
use stampede_plan::{Overrides, read};

use crate::common::{
    Sandbox, assert_measured, finish, skipped, stderr, stdout, summary, without_runtimes,
};
use crate::words::{CODES, code_or};

const LIMIT: Duration = Duration::from_secs(90);

/// The name of the plan and of its tables, and the article's text, of each publication.
const PUBLISHED: [(&str, &str); 4] = [
    ("symfony-2019", "000_9c7a8e72a2afc923.txt"),
    ("laravel-octane", "001_2d8c0c301f11d04c.txt"),
    ("apache-or-nginx", "002_834ce90bd18290b2.txt"),
    ("symfony-twig", "004_9633e54681a91191.txt"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn plan_path(name: &str) -> PathBuf {
    root().join(format!("plans/published/{name}.yaml"))
}

fn data(article: &str) -> Value {
    let path = plan_path(&format!("{article}.tables"));
    let text = std::fs::read_to_string(path).expect("tables");
    serde_saphyr::from_str(&text).expect("YAML")
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// All numbers of the data's rows, in order; `until_rps` comes first, as in a printed row's name.
fn numbers(data: &Value) -> Vec<f64> {
    let rows = array(data, "tables").iter().flat_map(|table| array(table, "rows"));
    rows.flat_map(|row| {
        let until = row["until_rps"].as_f64();
        until.into_iter().chain(array(row, "values").iter().filter_map(Value::as_f64))
    })
    .collect()
}

/// The article's text. `None`: it is not beside the project, which is printed.
fn article(file: &str) -> Option<String> {
    let directory = root().join("../shared/articles"); // tidy: these are the paths
    let text = std::fs::read_to_string(directory.join(file)).ok();
    if text.is_none() {
        println!("SKIPPED: the text of {file} is not here");
    }
    text
}

/// Parses a number as the articles print it: with commas between thousands. Three numbers are
/// words, because a translation made them so.
fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "eight" => Some(8.0),
        "eleven" => Some(11.0),
        "nineteen" => Some(19.0),
        text => text.replace(',', "").parse().ok(),
    }
}

/// The entries of lines such as `php-fpm | 9.9 | 6.3 |`.
fn piped(text: &str) -> Vec<f64> {
    let rows = text.lines().filter(|line| line.trim_end().ends_with('|') && !line.contains("---"));
    let rows = rows.filter(|line| !line.contains('%'));
    rows.flat_map(|line| {
        let cases: Vec<&str> = line.trim_end().trim_end_matches('|').split('|').skip(1).collect();
        cases
            .into_iter()
            .map(move |case| number(case).unwrap_or_else(|| panic!("{case} in {line}")))
    })
    .collect()
}

/// Numbers that stand alone on a line, after each heading of a table.
fn lines_alone(text: &str) -> Vec<f64> {
    let tables = text.split("\nHTTP OK %\n").skip(1);
    tables
        .flat_map(|table| {
            let end = ["\nПрофиль нагрузки", "\nВыводы"].iter().filter_map(|end| table.find(end));
            let table = &table[..end.min().expect("an end")];
            table.lines().filter_map(|line| {
                let rate = line.trim().strip_prefix('~').and_then(|rest| rest.strip_suffix(" rps"));
                number(rate.unwrap_or(line))
            })
        })
        .collect()
}

/// Extracts all numbers of the tables in an article's text.
type Parse = fn(&str) -> Vec<f64>;

/// The values of the lines that ab prints, in ab's order.
fn ab(text: &str) -> Vec<f64> {
    const NAMES: [&str; 11] = [
        "Document Length:",
        "Concurrency Level:",
        "Time taken for tests:",
        "Complete requests:",
        "Failed requests:",
        "Write errors:",
        "Total transferred:",
        "HTML transferred:",
        "Requests per second:",
        "Time per request:",
        "Transfer rate:",
    ];
    let value = |line: &str| {
        let rest = NAMES.iter().find_map(|name| line.trim().strip_prefix(name))?;
        number(rest.split_whitespace().next()?)
    };
    text.lines().filter_map(value).collect()
}

#[test]
fn every_number_of_every_table_is_in_the_data_and_no_other() {
    let count = |article: &str| numbers(&data(article)).len();
    assert_eq!(PUBLISHED.map(|(name, _)| count(name)), [300, 99, 84, 0]);
    let texts: [Parse; 3] = [piped, lines_alone, ab];
    for ((name, file), printed) in PUBLISHED.iter().zip(texts) {
        if let Some(text) = article(file) {
            assert_eq!(printed(&text), numbers(&data(name)), "{name}");
        }
    }
    if let Some(text) = article("003_f0482166c20e8f0b.txt") {
        assert_eq!(piped(&text), numbers(&data("symfony-2019")), "003 is 000");
    }
}

/// Claims are quoted word for word. A number is in the quotation; that two are alike is said in words.
#[test]
fn claims_are_in_the_words_of_the_articles() {
    for (name, file) in PUBLISHED {
        let Some(text) = article(file) else { continue };
        let text = text.replace("&amp;", "&").replace("&gt;", ">").replace('\u{a0}', " ");
        for claim in array(&data(name), "claims") {
            let claimed = claim["text"].as_str().expect("a text");
            assert!(text.contains(claimed), "{name}: {claimed}");
            let times = claim["times"].as_str().expect("a number");
            let digits = times.trim_start_matches(['~', '>', '<']);
            assert!(digits == "1" || claimed.contains(digits), "{name}: {claim}");
        }
    }
}

#[test]
fn rows_are_whole_and_are_of_runtimes_of_the_plan() {
    for (name, _) in PUBLISHED {
        let data = data(name);
        let plan = read(&plan_path(name), &Overrides::default()).expect("a plan");
        let known = |row: &str| plan.stack.runtimes.iter().any(|choice| choice.name == row);
        for table in array(&data, "tables") {
            let columns = array(table, "columns");
            assert!(columns.iter().all(|column| column["unit"].is_string()), "{table}");
            for row in array(table, "rows") {
                let values = array(row, "values");
                assert_eq!(values.len(), columns.len(), "{name}: {row}");
                assert!(known(row["runtime"].as_str().expect("a name")), "{name}: {row}");
                assert_eq!(row["starred"].is_boolean(), row["until_rps"].is_u64(), "{row}");
                let percentiles = columns.iter().zip(values).filter_map(|(column, value)| {
                    column["name"].as_str()?.strip_prefix('p')?.parse::<u32>().ok()?;
                    value.as_f64()
                });
                // From high to low, as all articles print them.
                let percentiles: Vec<f64> = percentiles.collect();
                assert!(percentiles.windows(2).all(|pair| pair[0] >= pair[1]), "{name}: {row}");
            }
        }
        for claim in array(&data, "claims") {
            let against = array(claim, "against").iter().chain([&claim["runtime"]]);
            for row in against {
                assert!(known(row.as_str().expect("a name")), "{name}: {claim}");
            }
        }
    }
}

#[test]
fn every_published_plan_says_what_it_would_do_and_what_it_leaves_out() {
    let sandbox = Sandbox::new();
    let mut shown = String::new();
    for (plan, _) in PUBLISHED {
        let path = plan_path(plan).display().to_string();
        let args = ["compare", &path, "--time-scale", "0.02", "--dry-run"];
        let output = finish(sandbox.stampede(&args), LIMIT);
        if stderr(&output).contains("which neither a vendor directory of its own") {
            return println!("SKIPPED: {}", stderr(&output));
        }
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        let notes = text.lines().filter(|line| {
            // The installed runtimes and the size of this machine are no part of the plan.
            line.contains("time scale")
        });
        shown += &format!("{plan}\n{}\n\n", notes.collect::<Vec<_>>().join("\n"));
    }
    assert_words!("published_notes", shown);
}

/// The plans with equal budgets differ from the published ones in nothing else.
#[test]
fn plans_with_equal_budgets_have_another_budget_alone() {
    for name in ["laravel-octane", "symfony-twig"] {
        let read = |name: &str| {
            let text = std::fs::read_to_string(plan_path(name)).expect("a plan");
            let mut plan: Value = serde_saphyr::from_str(&text).expect("YAML");
            let budget = plan["budget"].take();
            (plan, budget)
        };
        let (published, unequal) = read(name);
        let (beside, equal) = read(&format!("{name}-equal"));
        assert_eq!(published, beside, "{name}");
        assert!(unequal["web"].is_u64() && equal["web"].is_null(), "{name}: {equal}");
        assert!(equal["cpus"].is_u64(), "{name}: {equal}");
    }
}

#[test]
fn what_is_missing_is_refused_or_skipped_and_a_typo_is_a_mistake() {
    let sandbox = Sandbox::new();
    let rest = "app: hello\nload: [{concurrency: 1, for: 1s}]\n";
    let gone = "title: it is gone\nmode: per-request\napp_kinds: [callable]\n\
        worker_held_by: request\nneeds: { gone: { programs: [no-such-program] } }\n\
        processes: [{ role: php, run: gone, stop: { signal: TERM, grace: 1s } }]\n\
        ready: { within: 1s }\neffective_workers: { processes: { role: php } }\n\
        install: { debian: { note: build it } }\n";
    sandbox.write("runtimes/gone/runtime.yaml", gone);
    let mut shown = String::new();
    for lines in [
        "runtimes: [gone]",
        "runtimes: [gnoe]\nmissing: skip",
        "runtimes: [gone, {other: {use: gone}}, octane-swoole]\nmissing: skip",
        "runtimes: [gone]\nmissing: skp",
        "runtimes: [gone]\nphp_ini: article-005",
    ] {
        sandbox.write("plan.yaml", &format!("{rest}{lines}\n"));
        let mut command = sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        let output = finish(command, LIMIT);
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        shown += &(stderr(&output) + "\n");
    }
    without_runtimes(&["gone"], &[]).bind(|| assert_words!("missing", shown));
}

#[test]
fn a_runtime_without_its_programs_is_skipped_with_the_load_that_is_for_it() {
    let sandbox = Sandbox::new();
    let runtime = |program: &str| {
        format!(
            "title: one\nmode: per-request\napp_kinds: [callable]\nworker_held_by: request\n\
             needs: {{ {program}: {{ programs: [{program}], version: \"true\" }} }}\n\
             common: [workers]\nfiles: []\nprocesses:\n  - {{ role: php, run: \"{program}\", \
             stop: {{ signal: TERM, grace: 1s }} }}\nready: {{ within: 1s }}\n\
             effective_workers: {{ processes: {{ role: php }} }}\n"
        )
    };
    sandbox.write("runtimes/there/runtime.yaml", &runtime("sh"));
    sandbox.write("runtimes/gone/runtime.yaml", &runtime("no-such-program"));
    sandbox.write(
        "plan.yaml",
        "app: hello
missing: skip
runtimes: [there, gone]
load: {all: \"const(5,1s)\", one: {concurrency: 1, for: 1s, only: [gone]}}
",
    );
    let mut command = sandbox.stampede(&["compare", "plan.yaml", "--dry-run"]);
    command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
    let output = finish(command, LIMIT);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        text.contains(code_or(
            "note: runtime_skipped",
            "note: skipped: `gone`: runtime `gone` needs `no-such-program`"
        )),
        "{text}"
    );
    let load = "note: skipped: load `one`: none of its runtimes is available";
    assert!(text.contains(code_or("note: load_skipped", load)), "{text}");
    assert!(text.contains("there · hello · all"), "{text}");
    assert!(!text.contains("gone · hello"), "{text}");
}

/// Article 001: Octane serves Laravel but not Lumen.
#[test]
fn a_runtime_that_serves_one_of_two_apps_is_left_out_for_the_other() {
    let sandbox = Sandbox::new();
    let runtime = "title: one\nmode: per-request\napp_kinds: [callable]\nworker_held_by: request\n\
                   needs: { sh: { programs: [sh], version: \"true\" } }\ncommon: [workers]\n\
                   files: []\nprocesses:\n  - { role: php, run: \"sh\", stop: { signal: TERM, \
                   grace: 1s } }\nready: { within: 1s }\n\
                   effective_workers: { processes: { role: php } }\n";
    let any = runtime.replace("[callable]", "[callable, script]");
    sandbox.write("runtimes/some/runtime.yaml", runtime);
    sandbox.write("runtimes/any/runtime.yaml", &any);
    sandbox.write("scripts/index.php", "<?php");
    let plan =
        "apps: [hello, ./scripts]\nmissing: skip\nruntimes: [some, any]\nload: \"const(5,1s)\"\n";
    sandbox.write("plan.yaml", plan);
    sandbox.write("strict.yaml", &plan.replace("skip", "refuse"));
    let compare = |plan: &str| {
        let mut command = sandbox.stampede(&["compare", plan, "--dry-run"]);
        command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
        finish(command, LIMIT)
    };
    let output = compare("plan.yaml");
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for words in ["some · hello", "any · hello", "any · scripts", "not measured: some · scripts"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(text.matches("some · scripts").count(), 1, "{text}");
    assert_eq!(compare("strict.yaml").status.code(), Some(2));
}

/// Article 000 at 10 000 requests a second. A server that cannot answer that many has 1 000
/// requests in flight and no more. So a request takes 1 000 ÷ throughput, whatever rate was
/// offered.
#[test]
fn tank_far_above_what_a_server_can_do_is_capped_by_its_thousand_in_flight() {
    // 40 workers with 20 ms per request: at most 2 000 a second, on any machine.
    let server = KnownServer::start(Behaviour {
        reply: Reply { service_time: Duration::from_millis(20), answer: Answer::ok() },
        workers: Workers::PerRequest(40),
        ..Behaviour::default()
    })
    .expect("a server");
    let sandbox = Sandbox::new();
    let url = format!("http://{}/", server.address());
    let schedule = "line(1, 10000, 100ms) const(10000, 500ms)";
    let args = ["fire", &url, "--client", "tank", "--schedule", schedule, "--json"];
    let output = finish(sandbox.stampede(&args), LIMIT);
    let summary: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let number = |field: &str| summary[field].as_f64().unwrap_or_else(|| panic!("{summary:#}"));
    assert_eq!(summary["requests_planned"], 5_500, "{summary:#}");
    assert_eq!(summary["requests_ok"], 5_500, "{summary:#}");
    assert_eq!(summary["in_flight_max"], 1_000, "{summary:#}");
    assert!(number("stretched") > 2.0, "5 500 at 2 000 a second take 2.75 s: {summary:#}");
    let throughput = 5_500.0 / number("lasted_s");
    assert!(throughput <= 2_000.0, "{throughput}");
    let mean = summary["service_time_ns"]["mean"].as_f64().expect("a time") / 1e9;
    // A little less, because the first and the last thousand requests share the server with fewer
    // others.
    let capped = 1_000.0 / throughput;
    assert!((0.6..=1.2).contains(&(mean / capped)), "{mean} s beside {capped} s");
}

/// A table of somebody else beside a run: each figure twice, and no order after one round.
#[test]
fn a_table_of_ones_own_is_set_beside_the_run() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let table = "title: Two servers\ntables:\n  - title: A load\n    load: day\n    columns:\n      \
                 - {name: p50, unit: ms}\n      - {name: requests_per_second, unit: 1/s}\n    rows:\n      \
                 - {runtime: one, values: [12.5, 80]}\n      - {runtime: two, values: [1000, null]}\n\
                 claims:\n  - {runtime: one, against: [two], times: '~2', text: twice as many}\n";
    sandbox.write("plans/two.tables.yaml", table);
    let plan = "app: hello\nwarm_up: 0s\nworkers: 2\nload: {day: {concurrency: 2, for: 1s}}\n\
                published: two.tables.yaml\nruntimes: [{one: {use: php-builtin}}, {two: {use: php-builtin}}]\n";
    sandbox.write("plans/plan.yaml", plan);
    let output = finish(sandbox.stampede(&["compare", "plans/plan.yaml"]), LIMIT);
    assert_measured(&sandbox, &output);
    let text = stdout(&output);
    assert!(text.contains("Published beside measured: Two servers"), "{text}");
    assert!(text.contains("twice as many"), "{text}");
    let found = summary(&sandbox)["published"].clone();
    let columns = array(&found["tables"][0], "columns");
    for column in columns {
        for cell in array(column, "entries") {
            let is_told =
                cell["measured"]["state"] == "exact" || cell["measured"]["state"] == "none";
            assert!(is_told, "{cell:#}");
        }
    }
    let first = &columns[0]["entries"][0];
    assert_eq!(first["published"], 12.5);
    let (here, ratio) = (first["measured"]["value"].as_f64(), first["ratio"].as_f64());
    assert!(here.zip(ratio).is_some_and(|(here, ratio)| (here / 12.5 - ratio).abs() < 1e-9));
    // The report of the stored run says the same, also as Markdown, and also without the file.
    std::fs::remove_file(sandbox.path().join("plans/two.tables.yaml")).expect("the file");
    for format in [&["report", "last"][..], &["report", "last", "--format", "markdown"]] {
        let text = stdout(&finish(sandbox.stampede(format), LIMIT));
        assert!(text.contains("Two servers"), "{text}");
    }

    // A mistake in the table is found before anything is measured.
    sandbox.write("plans/two.tables.yaml", &table.replace("unit: ms", "unit: furlongs"));
    let output = finish(sandbox.stampede(&["compare", "plans/plan.yaml", "--dry-run"]), LIMIT);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(CODES || stderr(&output).contains("line 6"), "{}", stderr(&output));
}
