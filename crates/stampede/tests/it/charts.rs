//! Tests `report --format svg` and `--format junit`: they write well-formed XML, and text from a
//! run never becomes markup.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event as Xml;
use stampede_model::fact::Fact;
use stampede_model::record::Validity;
use stampede_results::report::page::Page;
use stampede_results::report::page::model::{
    Curve, Evidence, FORMAT, Number, Resources, Series, Times,
};
use stampede_results::report::{junit, svg};
use stampede_results::summary::{RunData, summarize};

use crate::report_fixture as fixture;
use crate::report_fixture::{MS, Requests, add, case, closed, open, spread, troubled};
use crate::words::code_or;
use crate::written;

/// Text that would be markup if it were not escaped, and characters that XML cannot contain.
const PLANTED: &str =
    "</script><img src=x onerror=alert(1)>\" onload='x' ]]>&amp;\u{0}\u{1b}[31m\u{ffff}\n--> end";

/// The elements and attributes that charts may have.
const ELEMENTS: [&str; 10] =
    ["svg", "title", "desc", "g", "rect", "line", "path", "circle", "polygon", "text"];
const ATTRIBUTES: [&str; 32] = [
    "xmlns",
    "viewBox",
    "width",
    "height",
    "font-family",
    "font-size",
    "font-weight",
    "role",
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linejoin",
    "paint-order",
    "opacity",
    "transform",
    "text-anchor",
    "x",
    "y",
    "x1",
    "x2",
    "y1",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "d",
    "points",
    "class",
    "id",
];

/// The contents of a file: its elements, its attributes with their values, and all its text.
#[derive(Default)]
struct ParsedXml {
    elements: BTreeSet<String>,
    attributes: Vec<(String, String)>,
    text: String,
}

/// Parses XML to its end and checks that each element is closed.
fn parsed(xml: &str) -> ParsedXml {
    let mut reader = Reader::from_str(xml);
    let (mut found, mut depth) = (ParsedXml::default(), 0);
    loop {
        let event = reader.read_event().unwrap_or_else(|error| panic!("{error}: {xml}"));
        match event {
            Xml::Start(element) => {
                depth += 1;
                found.element(&element);
            }
            Xml::Empty(element) => found.element(&element),
            Xml::End(_) => depth -= 1,
            Xml::Text(text) => found.text += &text.xml10_content().expect("text"),
            Xml::GeneralRef(name) => found.reference(&name.decode().expect("a name")),
            Xml::Decl(_) => {}
            Xml::Eof => break,
            other => panic!("{other:?} does not belong: {xml}"),
        }
    }
    assert_eq!(depth, 0, "{xml}");
    found
}

impl ParsedXml {
    fn element(&mut self, element: &quick_xml::events::BytesStart<'_>) {
        self.elements.insert(String::from_utf8_lossy(element.name().as_ref()).into_owned());
        for attribute in element.attributes() {
            let attribute = attribute.expect("an attribute");
            let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
            let value = String::from_utf8_lossy(&attribute.value).into_owned();
            self.attributes.push((name, value));
        }
    }

    fn reference(&mut self, name: &str) {
        self.text += match name {
            "lt" => "<",
            "gt" => ">",
            "amp" => "&",
            "quot" => "\"",
            "apos" => "'",
            other => panic!("&{other}; is not known"),
        };
    }
}

/// Checks that a chart has only the allowed elements, and that every length is a number.
fn sound(svg: &str) -> ParsedXml {
    let found = parsed(svg);
    for element in &found.elements {
        assert!(ELEMENTS.contains(&element.as_str()), "{element}: {svg}");
    }
    for (name, value) in &found.attributes {
        assert!(ATTRIBUTES.contains(&name.as_str()), "{name}: {svg}");
        let lower = value.to_lowercase();
        assert!(!lower.contains("nan") && !lower.contains("inf"), "{name}={value}");
        assert!(!value.contains("://") || name == "xmlns", "{name}={value}");
    }
    assert!(svg.chars().all(|letter| letter == '\n' || !letter.is_control()), "{svg}");
    found
}

fn report(run: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stampede"))
        .arg("report")
        .arg(run)
        .args(args)
        .output()
        .expect("the binary starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_chart_of_a_run_is_a_file_that_names_its_runtimes() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = written::write(directory.path(), &open(), 130);
    let output = report(&run, &["--format", "svg"]);
    assert!(output.status.success(), "{}", err(&output));
    assert_eq!(err(&output), "");
    let paths = out(&output);
    let names: Vec<&str> =
        paths.lines().map(|path| path.rsplit('/').next().expect("a name")).collect();
    let expected: Vec<String> = [
        "response-time-p95",
        "response-time-p50",
        "response-time-p99",
        "response-time-max",
        "response-time-mean",
        "throughput",
        "errors",
        "in-flight",
        "cpu",
        "cpu-php",
        "cpu-web",
        "memory",
        "memory-php",
        "memory-web",
        "percentiles",
        "trials-p95",
        "trials-p50",
        "trials-mean",
        "trials-p99",
        "trials-throughput",
        "trials-cpu-cost",
        "trials-memory",
    ]
    .map(|chart| format!("hello-day-{chart}.svg"))
    .into();
    assert_eq!(names, expected);
    for path in paths.lines() {
        assert!(Path::new(path).starts_with(run.join("charts")), "{path}");
        let text = sound(&std::fs::read_to_string(path).expect("it is there")).text;
        for runtime in ["apache-modphp", "nginx-fpm", "php-builtin"] {
            // The errors chart shows only cases that have errors.
            assert!(text.contains(runtime) || path.contains("errors"), "{path}: {runtime}");
        }
        assert!(text.contains("hello · day: const(200,10s)"), "{path}");
    }
    let again = report(&run, &["--format", "svg"]);
    let charts = run.join("charts");
    assert_eq!(err(&again), format!("note: 22 files of `{}` overwritten\n", charts.display()));
    assert_eq!(out(&again), paths);
}

#[test]
fn out_is_a_directory_that_is_made_or_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = written::write(directory.path(), &closed(), 5);
    let there = directory.path().join("a/b");
    let there = there.display().to_string();
    let output = report(&run, &["--format", "svg", "--out", &there]);
    assert!(output.status.success(), "{}", err(&output));
    assert!(out(&output).lines().all(|path| path.starts_with(&there)), "{}", out(&output));
    assert!(
        out(&output).contains("hello-4-at-a-time-10s-service-time-p95.svg"),
        "{}",
        out(&output)
    );

    let taken = run.join("run.json/charts");
    let output = report(&run, &["--format", "svg", "--out", &taken.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let failure = err(&output).replace(&directory.path().display().to_string(), "");
    assert_words!("out_cannot_be_made", failure);
    let output = report(&run, &["--format", "csv", "--out", &there]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""));
    assert_words!("out_without_svg", err(&output));
}

#[test]
fn a_run_without_a_load_has_test_cases_but_no_charts() {
    let directory = tempfile::tempdir().expect("a directory");
    let run = fixture::run(vec![case("nginx-fpm", "day", "open", "const(5,10s)")], 2);
    let run = written::write(directory.path(), &run, 0);
    let output = report(&run, &["--format", "svg"]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""));
    assert_words!("nothing_to_draw", err(&output));
    let output = report(&run, &["--format", "junit"]);
    assert!(output.status.success());
    assert!(out(&output).contains("<error message="), "{}", out(&output));
}

#[test]
fn values_of_a_run_are_never_markup() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut run = fixture::run(vec![case(PLANTED, PLANTED, "open", "const(5,10s)")], 2);
    run.record.cases[0].app = PLANTED.to_owned();
    run.record.expect.of_run.push(PLANTED.into());
    for judged in [Validity::Invalid, Validity::Suspect] {
        let answered_ns = spread(500, MS);
        let requests =
            Requests { answered_ns, verdict: (judged, vec![PLANTED]), ..Requests::default() };
        add(&mut run, 0, requests).record.verdict.reasons.push(Fact::bare(PLANTED.to_owned()));
    }
    let run = written::write(directory.path(), &run, 3);
    let output = report(&run, &["--format", "svg"]);
    assert!(output.status.success(), "{}", err(&output));
    for path in out(&output).lines() {
        let name = Path::new(path).file_name().expect("a name").to_string_lossy().into_owned();
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
        assert!(name.chars().all(plain), "{name}");
        let text = sound(&std::fs::read_to_string(path).expect("it is there")).text;
        assert!(text.contains("</script><img src=x onerror=alert(1)>"), "as text: {text}");
    }
    let xml = out(&report(&run, &["--format", "junit"]));
    let found = parsed(&xml);
    let known = [
        "testsuites",
        "testsuite",
        "properties",
        "property",
        "testcase",
        "system-out",
        "failure",
        "error",
        "skipped",
    ];
    assert!(found.elements.iter().all(|one| known.contains(&one.as_str())), "{xml}");
    assert!(xml.chars().all(|letter| letter == '\n' || !letter.is_control()), "{xml:?}");
    assert!(!xml.contains('\u{ffff}'), "{xml:?}");
}

#[test]
fn junit_for_continuous_integration() {
    let mut run = troubled();
    let expect = ["p95 < 5ms", "p99.99 < 1s", "max < 20s", "ok >= 99.9%", "p95 worse < 10%"];
    run.record.expect.of_run = expect.map(Into::into).into();
    let xml = junit(&summarize(&run));
    parsed(&xml);
    assert_words!("junit_troubled", xml);
    insta::assert_snapshot!("junit_closed", junit(&summarize(&closed())));
}

/// The exit code of `compare` and the JUnit test cases must give the same judgement.
#[test]
fn junit_judges_as_the_exit_code_does() {
    let expectations = ["p95 < 1s", "p95 < 1ms", "p99.99 < 1s", "p95 worse < 10%"];
    for (make, expect) in [open, closed, troubled]
        .into_iter()
        .flat_map(|make: fn() -> RunData| expectations.map(|expect| (make, expect)))
    {
        let mut run = make();
        run.record.expect.of_run = vec![expect.into()];
        let summary = summarize(&run);
        let xml = junit(&summary);
        assert_eq!(xml.contains("<failure"), summary.breaks_an_expectation(), "{expect}: {xml}");
        let whole = !xml.contains("<error") && !xml.contains("<skipped message=\"4 workers");
        assert_eq!(whole, summary.is_whole(), "{expect}: {xml}");
    }
}

#[test]
fn a_chart_matches_its_snapshot() {
    let mut page = page_of(&open(), Vec::new());
    let columns = |first: Option<f64>| Series {
        times: Times {
            p95: numbers(&[first, None, Some(3_000.0), Some(2_500.0)]),
            ..Times::default()
        },
        ok: whole(&[200.0, 0.0, 199.0, 200.0]),
        offered: whole(&[200.0; 4]),
        step: 1.0,
        ..Series::default()
    };
    page.series = vec![
        Series { case: 0, trial: 2, ..columns(Some(2_000.0)) },
        Series { case: 1, trial: 1, ..columns(None) },
    ];
    let charts = svg::charts(&page);
    let (name, text) = &charts[0];
    assert_eq!(name, "hello-day-response-time-p95.svg");
    sound(text);
    insta::assert_snapshot!("response_time_svg", text);
}

/// An invalid trial is drawn faintly if its case has no other. So is an unfinished trial if its
/// case has nothing else. The chart says both.
#[test]
fn an_invalid_trial_is_faint_and_has_a_note() {
    let drawn = |verdict: &[Validity], unfinished: &[bool]| {
        let mut run = fixture::run(vec![case("nginx-fpm", "day", "open", "const(200,10s)")], 2);
        for judged in verdict {
            let verdict = (*judged, vec!["p99 schedule lag 12 ms"]);
            add(
                &mut run,
                0,
                Requests { answered_ns: spread(2_000, MS), verdict, ..Requests::default() },
            );
        }
        let trials = unfinished.iter().zip(1..).map(|(unfinished, trial)| Series {
            trial,
            unfinished: *unfinished,
            times: Times { p95: numbers(&[Some(f64::from(trial)); 9]), ..Times::default() },
            step: 1.0,
            ..Series::default()
        });
        svg::charts(&page_of(&run, trials.collect())).remove(0).1
    };
    let valid = drawn(&[Validity::Invalid, Validity::Valid], &[false, false]);
    assert!(!valid.contains("opacity=\"0.35\"") && !valid.contains("(invalid)"), "{valid}");
    let valid = drawn(&[Validity::Valid], &[false, true]);
    assert!(!valid.contains("opacity=\"0.35\"") && !valid.contains("unfinished"), "{valid}");
    let invalid = drawn(&[Validity::Invalid], &[false, true]);
    assert!(invalid.contains("nginx-fpm (invalid)"), "{invalid}");
    let why = code_or("text", "p99 schedule lag 12 ms");
    assert!(invalid.contains(&format!("trial 1 is invalid, its line is faint: {why}.")));
    assert!(invalid.contains("opacity=\"0.35\""), "{invalid}");
    let unfinished = drawn(&[], &[true]);
    assert!(unfinished.contains("nginx-fpm (unfinished)"), "{unfinished}");
    assert!(unfinished.contains("trial 1 has not ended, its line is faint."), "{unfinished}");
}

/// As on the page: the colour stands for the runtime, dash and marker stand for the run.
#[test]
fn overlaid_runs_share_their_colours() {
    let directory = tempfile::tempdir().expect("a directory");
    let runs = ["one", "two"].map(|name| {
        let place = directory.path().join(name);
        std::fs::create_dir(&place).expect("a directory");
        let mut run = open();
        run.record.id = name.to_owned();
        written::write(&place, &run, 20)
    });
    let second = runs[1].display().to_string();
    let output = report(&runs[0], &[&second, "--format", "svg"]);
    assert!(output.status.success(), "{}", err(&output));
    let files = out(&output);
    let first = files.lines().next().expect("a file");
    let charts = directory.path().join("one/one+two-charts/hello-day-response-time-p95.svg");
    assert_eq!(first, charts.display().to_string());
    let svg = std::fs::read_to_string(first).expect("it is there");
    assert!(sound(&svg).text.contains("nginx-fpm (B)"), "{svg}");
    let strokes = sound(&svg).attributes.into_iter().filter(|(name, _)| name == "stroke");
    let colours: BTreeSet<String> = strokes.map(|(_, colour)| colour).collect();
    // Colours of three runtimes, the background, the grid and its axis.
    assert_eq!(colours.len(), 6, "{colours:?}");
}

/// Every choice that the page offers (a role, a kind of failure) is a file of its own here.
#[test]
fn every_view_of_a_chart_is_a_file_of_its_own() {
    let mut page = page_of(&open(), Vec::new());
    let roles = |names: &[&str]| -> BTreeMap<String, Vec<Option<Number>>> {
        names.iter().map(|name| ((*name).to_owned(), numbers(&[Some(1.0), Some(2.0)]))).collect()
    };
    let series = |case, names: &[&str]| Series {
        case,
        trial: 1,
        step: 1.0,
        times: Times { max: numbers(&[Some(7_000.0)]), ..Times::default() },
        dropped: whole(&[0.0, 3.0]),
        failed: [("http:502".to_owned(), whole(&[2.0, 0.0]))].into(),
        resources: Resources {
            at: whole(&[1.0, 2.0]),
            cpu_percent: roles(names),
            memory_mib: BTreeMap::new(),
            ..Resources::default()
        },
        ..Series::default()
    };
    page.series = vec![series(0, &["php", PLANTED]), series(1, &["php"])];
    let charts: BTreeMap<String, String> = svg::charts(&page).into_iter().collect();
    let over_time = |name: &&String| !name.contains("trials");
    let names: Vec<&str> = charts.keys().filter(over_time).map(String::as_str).collect();
    let planted = "hello-day-cpu-script-img-src-x-onerror-alert-1-onload-x-amp-31m-end.svg";
    let expected = [
        "hello-day-cpu-php.svg",
        planted,
        "hello-day-cpu.svg",
        "hello-day-errors-dropped.svg",
        "hello-day-errors-http-502.svg",
        "hello-day-errors.svg",
        "hello-day-response-time-max.svg",
    ];
    assert_eq!(names, expected);
    charts.values().for_each(|chart| {
        sound(chart);
    });
    assert!(
        charts["hello-day-errors-dropped.svg"]
            .contains("Requests without a correct answer: dropped")
    );
    assert!(charts["hello-day-cpu-php.svg"].contains("CPU of role php"));
    assert!(charts[planted].contains("Without this role: "), "{}", charts[planted]);
    assert!(!charts["hello-day-cpu-php.svg"].contains("Without this role"));
}

/// A load of only one run is a point without a line, and the chart says so. A line continues past a
/// load that its run does not have.
#[test]
fn a_load_that_some_runs_lack_has_a_note() {
    let of = |id: &str, rates: &[(&str, u64)]| {
        let cases = rates.iter().map(|(load, _)| case("slow", load, "open", "const(200,10s)"));
        let mut data = fixture::run(cases.collect(), 1);
        data.record.id = id.to_owned();
        for (index, (_, requests)) in rates.iter().enumerate() {
            add(
                &mut data,
                index,
                Requests { answered_ns: spread(*requests, MS), ..Requests::default() },
            );
        }
        data
    };
    let draw = |one: &RunData, two: &RunData| -> Option<String> {
        let directory = tempfile::tempdir().expect("a directory");
        let paths = [one, two].map(|run| {
            let place = directory.path().join(&run.record.id);
            std::fs::create_dir(&place).expect("a directory");
            written::write(&place, run, 20)
        });
        let output = report(&paths[0], &[&paths[1].display().to_string(), "--format", "svg"]);
        assert!(output.status.success(), "{}", err(&output));
        let files = out(&output);
        let path = files.lines().find(|path| path.contains("across-loads-p95"))?;
        Some(std::fs::read_to_string(path).expect("it is there"))
    };
    let all = of("one", &[("a", 1_000), ("b", 2_000), ("c", 3_000)]);
    let chart = draw(&all, &of("two", &[("a", 1_000), ("c", 3_000)])).expect("it is drawn");
    assert!(sound(&chart).text.contains("Not in every run: b in A only."), "{chart}");
    // One line over three loads and one over two loads, without a gap.
    let lines = || chart.lines().filter(|line| line.contains("<path") && line.contains('L'));
    assert_eq!(lines().filter(|line| line.matches('L').count() == 2).count(), 1, "{chart}");
    assert_eq!(lines().filter(|line| line.matches('L').count() == 1).count(), 1, "{chart}");
    // The two runs have no load in common.
    let apart = draw(&of("one", &[("a", 1_000)]), &of("two", &[("b", 2_000)]));
    assert_eq!(apart, None);
}

#[test]
fn several_loads_are_drawn_side_by_side() {
    let cases = ["slow", "light", "heavy"]
        .iter()
        .flat_map(|runtime| ["a", "b"].map(|load| case(runtime, load, "open", "const(200,10s)")));
    let mut run = fixture::run(cases.collect(), 1);
    for index in 0..6 {
        // Two different rates, so that the loads have different positions.
        let answered_ns = spread(1_000 * (2 - index % 2), MS * (1 + index / 2));
        add(&mut run, index as usize, Requests { answered_ns, ..Requests::default() });
    }
    let charts: BTreeMap<String, String> =
        svg::charts(&page_of(&run, Vec::new())).into_iter().collect();
    let names: Vec<&str> = charts.keys().map(String::as_str).collect();
    let across = ["cpu", "memory", "p95-without-slowest", "p95"]
        .map(|kind| format!("hello-across-loads-{kind}.svg"));
    assert_eq!(names, across);
    charts.values().for_each(|chart| {
        sound(chart);
    });
    assert!(charts["hello-across-loads-p95-without-slowest.svg"].contains("without heavy"));
    assert!(!charts["hello-across-loads-p95-without-slowest.svg"].contains(">heavy<"));
}

fn numbers(values: &[Option<f64>]) -> Vec<Option<Number>> {
    values.iter().map(|value| value.map(Number)).collect()
}

fn whole(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

/// A page that contains nothing but these series.
fn page_of(run: &RunData, series: Vec<Series>) -> Page {
    Page {
        headlines: Vec::new(),
        format: FORMAT,
        stampede: "0.1.0".to_owned(),
        runs: Vec::new(),
        names: BTreeMap::new(),
        summary: summarize(run),
        versions: None,
        series,
        curves: Vec::new(),
        evidence: Evidence::default(),
        downloads: Vec::new(),
        progress: None,
        served: None,
    }
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e9_f64, any::<f64>(), Just(f64::NAN), Just(1.0)]
}

fn any_column() -> impl Strategy<Value = Vec<Option<f64>>> {
    prop::collection::vec(prop::option::of(any_number()), 0..40)
}

fn any_series() -> impl Strategy<Value = Series> {
    let columns = prop::collection::vec(any_column(), 5);
    (0..4_usize, 1..20_u32, any::<bool>(), columns).prop_map(
        |(case, trial, unfinished, columns)| {
            let whole = |column: &[Option<f64>]| {
                column.iter().map(|value| Number(value.unwrap_or(0.0))).collect::<Vec<_>>()
            };
            Series {
                case,
                trial,
                round: 1,
                unfinished,
                step: f64::from(trial % 3),
                times: Times { p95: numbers(&columns[0]), ..Times::default() },
                offered: whole(&columns[1]),
                ok: whole(&columns[2]),
                dropped: whole(&columns[3]),
                failed: [("http:502".to_owned(), whole(&columns[4]))].into(),
                in_flight: whole(&columns[2]),
                resources: Resources {
                    at: whole(&columns[1]),
                    cpu_percent: [("php".to_owned(), numbers(&columns[0]))].into(),
                    memory_mib: [("php".to_owned(), numbers(&columns[3]))].into(),
                    ..Resources::default()
                },
            }
        },
    )
}

fn any_curve() -> impl Strategy<Value = Curve> {
    let points = prop::collection::vec((0.0..=100.0_f64, any_number().prop_map(Number)), 0..20);
    (0..4_usize, points, prop::option::of(0.0..100.0_f64))
        .prop_map(|(case, points, failed_from)| Curve { case, points, failed_from })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_was_measured_is_drawn_with_numbers(
        series in prop::collection::vec(any_series(), 0..6),
        curves in prop::collection::vec(any_curve(), 0..4),
    ) {
        let mut page = page_of(&open(), series);
        page.curves = curves;
        for (_, chart) in svg::charts(&page) {
            sound(&chart);
        }
    }
}
