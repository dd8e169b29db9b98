//! What people read of a comparison: text and Markdown, from figures that are written down.

use std::collections::BTreeMap;

use stampede_published::{
    BeforeBreaking, Budget, ClaimOutcome, Figure, Measured, MeasuredCase, MeasuredFigure,
    OrderVerdict, PairOutcome, PublishedComparison, RoundValue, compare, markdown, parse, text,
};

/// Columns of a terminal.
const WIDTH: usize = 120;

const TABLES: &str = r#"
article: "007"
title: Six servers
source: https://example.com/six
tables:
  - title: "1 000 rps: response time"
    load: "1000"
    columns:
      - {name: p95, unit: ms}
      - {name: p50, unit: ms}
      - {name: ok, unit: "%"}
      - {name: ok_count, unit: responses}
      - {name: memory_max, unit: MB}
    rows:
      - {runtime: a, label: "nginx + a", values: [10, 5, 100, 90030, 100]}
      - {runtime: b, values: [20, 6, 100, 90030, 200]}
      - {runtime: c, values: [30, 7, 100, 90030, 300]}
      - {runtime: d, values: [40, 8, 99.996, 90026, 400]}
      - {runtime: e, values: [11050, 9, 80.67, 72627, 500]}
      - {runtime: gone, values: [50, 10, 100, null, 600]}
  - title: Rising
    note: A star says that the server did not stand the load.
    load: rising
    columns: [{name: p95, unit: ms}]
    rows:
      - {runtime: a, values: [9]}
      - {runtime: b, starred: true, until_rps: 600, values: [12]}
      - {runtime: c, values: [900]}
      - {runtime: c, starred: true, until_rps: 400, values: [15]}
claims:
  - {runtime: a, against: [b], load: "1000", times: "~2", text: about twice the requests of b}
  - {runtime: a, against: [c], load: "1000", times: ">10", text: more than ten times c}
  - {runtime: a, against: [d], load: "1000", times: "~3", text: three times d}
  - {runtime: b, against: [e], load: "1000", times: "2-3", text: two or three times e}
  - {runtime: a, against: [gone], times: "2", text: twice as fast as gone}
"#;

/// A figure whose rounds differ by 1 %.
fn figure(value: f64, rounds: usize) -> MeasuredFigure {
    let noise = [0.99, 1.0, 1.01];
    MeasuredFigure::of_values(noise[..rounds].iter().map(|noise| value * noise))
}

/// A case under 1 000 requests a second: p95 and p50 in ms, the share of correct answers, memory in
/// MB, and throughput.
fn case(runtime: &str, figures: [f64; 5], rounds: usize) -> MeasuredCase {
    let [p95, p50, ok, memory, throughput] = figures;
    let exactly = |value| MeasuredFigure::of_values(vec![value; rounds]);
    MeasuredCase {
        runtime: runtime.to_owned(),
        app: "hello".to_owned(),
        load: "1000".to_owned(),
        figures: BTreeMap::from([
            (Figure::Percentile(950), figure(p95 * 1e6, rounds)),
            (Figure::Percentile(500), figure(p50 * 1e6, rounds)),
            (Figure::OkShare, exactly(ok)),
            (Figure::OkCount, exactly(90_000.0 * ok)),
            (Figure::MemoryMax, figure(memory * 1e6, rounds)),
            (Figure::Throughput, figure(throughput, rounds)),
        ]),
        ..MeasuredCase::default()
    }
}

/// Under a rising load: p95 of all, and before the breaking point.
fn rising(runtime: &str, p95: f64, before: Option<(f64, f64)>, rounds: usize) -> MeasuredCase {
    let figures = |p95: f64| BTreeMap::from([(Figure::Percentile(950), figure(p95 * 1e6, rounds))]);
    MeasuredCase {
        runtime: runtime.to_owned(),
        app: "hello".to_owned(),
        load: "rising".to_owned(),
        figures: figures(p95),
        before_breaking: before.map(|(until_per_second, p95)| BeforeBreaking {
            until_per_second,
            figures: figures(p95),
        }),
        ..MeasuredCase::default()
    }
}

fn measured(rounds: usize) -> Measured {
    let mut cases = vec![
        case("a", [2.0, 1.0, 1.0, 50.0, 4000.0], rounds),
        case("b", [4.0, 1.2, 1.0, 61.3, 2000.0], rounds),
        case("c", [7.0, 1.2, 1.0, 61.3, 1000.0], rounds),
        case("d", [6.0, 1.2, 1.0, 61.3, 800.0], rounds),
        case("e", [9.0, 1.2, 0.75, 90.0, 2500.0], rounds),
        rising("a", 3.0, None, rounds),
        rising("b", 80.0, Some((1234.0, 5.0)), rounds),
        rising("c", 90.0, None, rounds),
    ];
    cases[2].limit = Some("was CPU-bound (98 % of its CPUs)".to_owned());
    cases[3].differences = vec!["had 16 workers, not 8".to_owned()];
    cases[3].budget = Budget::Unequal;
    let failed = MeasuredFigure { rounds: vec![Some(RoundValue::Failed); rounds] };
    cases[4].figures.insert(Figure::Percentile(950), failed);
    Measured { rounds: u32::try_from(rounds).expect("few"), time_scale: None, cases }
}

fn compared(rounds: usize) -> PublishedComparison {
    compare(&parse(TABLES, "007.yaml").expect("tables"), &measured(rounds))
}

#[test]
fn three_rounds_are_judged() {
    let comparison = compared(3);
    let columns = &comparison.tables[0].columns;
    let p95 = &columns[0].orders[0];
    assert_eq!((p95.verdict, p95.counts.agree, p95.counts.disagree), (OrderVerdict::Agrees, 9, 1));
    assert!((p95.tau.expect("ten pairs") - 0.8).abs() < 1e-12);
    // b, c, d and e have equal p50: four of ten pairs are told apart.
    let p50 = columns[1].orders[0].verdict;
    assert_eq!(p50, OrderVerdict::CannotBeJudged { told_apart: 4, pairs: 10 });
    // Of the shares, only 80.67 % is no tie.
    assert_eq!(columns[2].orders[0].verdict, OrderVerdict::TooFewPairs);
    assert!(columns[3].better.is_none() && columns[3].orders.is_empty());
    let ratio = columns[0].entries[0].ratio.expect("both values");
    assert!((ratio - 0.2).abs() < 0.001, "2 ms beside 10 ms: {ratio}");
    let outcomes: Vec<ClaimOutcome> = comparison
        .claims
        .iter()
        .flat_map(|claim| claim.checks.iter().map(|check| check.outcome))
        .collect();
    use ClaimOutcome::{Larger, Smaller, Survives};
    assert_eq!(outcomes, [Survives, Smaller, Larger, Smaller]);
    insta::assert_snapshot!("text", text(&comparison, WIDTH));
    insta::assert_snapshot!("markdown", markdown(&comparison));
}

#[test]
fn a_row_that_was_cut_off_has_the_figures_before_the_breaking_point_beside_it() {
    let table = &compared(3).tables[1];
    let order = &table.columns[0].orders[0];
    // Three cases, each once: c with its whole row. 3 and 5 and 90 ms.
    assert_eq!((order.pairs.len(), order.counts.agree), (3, 3));
    let rows: Vec<_> = order.pairs.iter().map(|pair| (pair.better, pair.worse)).collect();
    assert_eq!(rows, [(0, 1), (0, 2), (1, 2)]);
    let breaking = table.rows[1].breaking.expect("starred");
    assert_eq!(breaking.measured_per_second, Some(1234.0));
    assert_eq!(table.rows[3].missing, Some(stampede_published::MissingRow::DidNotBreak));
}

#[test]
fn one_round_says_that_differences_cannot_be_told_from_noise() {
    let comparison = compared(1);
    let orders = comparison.tables.iter().flat_map(|table| &table.columns);
    for order in orders.flat_map(|column| &column.orders) {
        assert!(matches!(order.verdict, OrderVerdict::CannotBeJudged { told_apart: 0, .. }));
        let judged = |outcome| matches!(outcome, PairOutcome::Agree | PairOutcome::Disagree);
        assert!(!order.pairs.iter().any(|pair| judged(pair.outcome)));
    }
    insta::assert_snapshot!("one_round", text(&comparison, WIDTH));
}

#[test]
fn nothing_measured_is_no_agreement() {
    let comparison = compare(&parse(TABLES, "007.yaml").expect("tables"), &Measured::default());
    assert_eq!(comparison.sentence, "Nothing of article 007 can be compared with this run.");
    assert!(comparison.claims.iter().all(|claim| claim.checks.is_empty()));
}

#[test]
fn several_apps_need_a_name() {
    let mut several = measured(3);
    let mut other = several.cases[0].clone();
    other.app = "other".to_owned();
    several.cases.push(other);
    let comparison = compare(&parse(TABLES, "007.yaml").expect("tables"), &several);
    let row = &comparison.tables[0].rows[0];
    assert_eq!(row.missing, Some(stampede_published::MissingRow::SeveralCases));
    let tables = TABLES.replacen("load: \"1000\"", "load: \"1000\"\n    app: hello", 1);
    let comparison = compare(&parse(&tables, "007.yaml").expect("tables"), &several);
    assert_eq!(comparison.tables[0].rows[0].missing, None);
}

#[test]
fn json_is_read_back_as_it_was_written() {
    let comparison = compared(3);
    let json = serde_json::to_string(&comparison).expect("JSON");
    assert_eq!(serde_json::from_str::<PublishedComparison>(&json).expect("the same"), comparison);
    let schema =
        serde_json::to_value(schemars::schema_for!(PublishedComparison)).expect("a schema");
    assert!(schema["properties"]["tables"].is_object());
}

/// The rows of the text fit a terminal of the given width; sentences may be longer.
#[test]
fn tables_are_as_wide_as_the_terminal() {
    for width in [80, 120] {
        let text = text(&compared(3), width);
        let rows = text.lines().filter(|line| line.contains('×') && !line.contains("times"));
        assert!(rows.clone().count() > 9);
        for row in rows {
            assert!(row.chars().count() <= width, "{width}: {row}");
        }
    }
}

/// A shortened load has fewer answers: what was counted is scaled to the whole load, and that is said.
#[test]
fn counts_of_a_shortened_load_are_those_of_the_whole_one() {
    let mut measured = measured(3);
    for case in &mut measured.cases {
        let count = case.figures.get_mut(&Figure::OkCount);
        let Some(count) = count else { continue };
        *count = MeasuredFigure::of_values([4500.0, 4500.0, 4500.0]);
    }
    let tables = parse(TABLES, "007.yaml").expect("tables");
    let whole = compare(&tables, &measured);
    measured.time_scale = Some(0.05);
    let short = compare(&tables, &measured);
    let ratio = short.tables[0].columns[3].entries[0].ratio.expect("both values");
    assert!((ratio - 90_000.0 / 90_030.0).abs() < 1e-9, "{ratio}");
    assert_eq!(short.tables[0].columns[0], whole.tables[0].columns[0], "times stay as they are");
    let added: Vec<&String> = short.tables[0].notes.iter().collect();
    let added: Vec<_> =
        added.into_iter().filter(|one| !whole.tables[0].notes.contains(one)).collect();
    assert_eq!(
        added,
        [
            "the loads had 5 % of their length, so these figures are what was counted × 20.0: ok count"
        ]
    );
    assert_eq!(short.tables[1].notes, whole.tables[1].notes, "that table has no counts");
}

/// A setting of the plan limits every row. It is no reason why one is behind another.
#[test]
fn what_limits_both_rows_is_no_reason() {
    let reason = |of_d: Option<&str>| {
        let mut measured = measured(3);
        let opcache = "was limited here: OPcache is off";
        measured.cases[2].limit = Some(opcache.to_owned());
        measured.cases[3] = MeasuredCase {
            limit: of_d.map(str::to_owned),
            differences: Vec::new(),
            budget: Budget::Equal,
            ..measured.cases[3].clone()
        };
        let compared = compare(&parse(TABLES, "007.yaml").expect("tables"), &measured);
        let pairs = &compared.tables[0].columns[0].orders[0].pairs;
        let pair = pairs.iter().find(|pair| pair.outcome == PairOutcome::Disagree);
        pair.expect("c and d disagree").reason.clone()
    };
    assert_eq!(reason(Some("was limited here: OPcache is off")), None, "both");
    let alone = Some("c was limited here: OPcache is off".to_owned());
    assert_eq!(reason(None), alone, "c alone");
    assert_eq!(reason(Some("was CPU-bound")), alone, "d by something else");
}

/// A ratio of times is how many times as short they are.
#[test]
fn a_claim_may_be_about_times() {
    let claim = "  - {runtime: a, against: [b], load: \"1000\", figure: p50, times: \"~1.2\", text: faster}\n";
    let tables = TABLES.to_owned() + claim;
    let comparison = compare(&parse(&tables, "007.yaml").expect("tables"), &measured(3));
    let check = &comparison.claims[5].checks[0];
    assert!((check.ratio.expect("both") - 1.2).abs() < 0.001, "1.2 ms beside 1 ms: {check:?}");
    assert_eq!(check.outcome, ClaimOutcome::Survives);
    let said = &comparison.claims[5].sentences[0];
    assert!(said.contains("the p50 of b is 1.20 times that of a"), "{said}");
    let wrong = tables.replace("figure: p50", "figure: concurrency");
    assert!(parse(&wrong, "007.yaml").is_err(), "it is neither better nor worse");
}

/// A case whose trials do not count is neither absent nor one that did not break.
#[test]
fn a_row_of_which_no_trial_counts_is_said() {
    let mut measured = measured(3);
    measured.cases[6].figures.clear();
    measured.cases[6].before_breaking = None;
    let comparison = compare(&parse(TABLES, "007.yaml").expect("tables"), &measured);
    let shown = text(&comparison, WIDTH);
    assert!(shown.contains("no trial counts: b *"), "{shown}");
    assert!(shown.contains("b: broke at 600/s there, not measured here"), "{shown}");
    assert!(comparison.tables[1].notes.iter().all(|note| shown.contains(note)), "{shown}");
}
