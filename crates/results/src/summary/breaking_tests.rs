use proptest::prelude::*;
use stampede_model::record::LoadModel;

use super::*;

const MS: u64 = 1_000_000;
const TIMEOUT: u64 = 2_000_000_000;

/// One second with correct answers, the time that each took, and requests that failed with
/// `http:502`.
fn second(ok: u64, took_ns: u64, failed: u64) -> DueSecond {
    let mut lost = BTreeMap::new();
    if failed > 0 {
        lost.insert("http:502".to_owned(), failed);
    }
    let answered = if ok > 0 { vec![(took_ns, ok)] } else { Vec::new() };
    DueSecond { planned: ok + failed, answered, lost }
}

fn expected(text: &str) -> SecondExpectation {
    SecondExpectation::of(&text.parse().expect("an expectation")).expect("one of seconds")
}

fn point(text: &str, due: &[DueSecond]) -> Option<usize> {
    lost_for_good(&expected(text), due, TIMEOUT)
}

#[test]
fn the_breaking_point_is_the_first_second_from_which_all_are_bad() {
    let mut due: Vec<DueSecond> = (1..=38).map(|rate| second(rate * 10, 5 * MS, 0)).collect();
    due.extend((0..22).map(|_| second(100, 5 * MS, 300)));
    assert_eq!(point("ok >= 99%", &due), Some(38));
    // A quarter was answered, so p20 is an answer's time and p50 is not.
    assert_eq!(point("p20 < 100ms", &due), None);
    assert_eq!(point("p50 < 100ms", &due), Some(38));
    assert_eq!(point("max < 1s", &due), Some(38));
    // (100 + 300) × 5 ms ÷ 400: each failed request counts with the longest answer's time.
    assert_eq!(point("mean < 5ms", &due), Some(0));
    assert_eq!(point("mean < 6ms", &due), None);
}

#[test]
fn slow_answers_break_a_percentile_and_a_mean_but_not_ok() {
    let due: Vec<DueSecond> =
        (0..30).map(|at| second(100, if at < 20 { 10 } else { 500 } * MS, 0)).collect();
    assert_eq!(point("p95 < 100ms", &due), Some(20));
    assert_eq!(point("mean <= 100ms", &due), Some(20));
    assert_eq!(point("ok >= 99%", &due), None);
}

#[test]
fn a_single_bad_second_is_no_breaking_point() {
    for bad in 0..20 {
        let due: Vec<DueSecond> = (0..20)
            .map(|at| if at == bad { second(0, 0, 900) } else { second(100, MS, 0) })
            .collect();
        for text in ["ok >= 99%", "p95 < 100ms", "mean < 100ms", "max < 1s"] {
            assert_eq!(point(text, &due), None, "{text}, second {bad}");
        }
    }
}

#[test]
fn a_load_that_recovers_has_no_breaking_point() {
    let mut due = vec![second(100, MS, 0); 10];
    due.extend(vec![second(0, 0, 100); 10]);
    due.extend(vec![second(100, MS, 0); 10]);
    assert_eq!(point("ok >= 99%", &due), None);
}

#[test]
fn a_breaking_point_needs_more_than_one_second() {
    let due = [second(10, MS, 0), second(0, 0, 20), second(0, 0, 30)];
    assert_eq!(point("ok >= 99%", &due), Some(1));
    assert_eq!(point("ok >= 99%", &due[1..2]), None);
    assert_eq!(point("ok >= 99%", &[]), None);
}

fn case(load_text: &str, model: LoadModel) -> CaseRecord {
    CaseRecord {
        runtime: "a".to_owned(),
        app: "hello".to_owned(),
        load: "x".to_owned(),
        model,
        load_text: load_text.to_owned(),
        schedule: Segments::parse(load_text).ok(),
        closed: None,
        refused: None,
        sent: None,
    }
}

#[test]
fn only_an_open_load_with_a_growing_rate_rises() {
    let rises = |text: &str| rising_schedule(&case(text, LoadModel::Open)).is_some();
    assert!(rises("line(1,100,10s) const(100,90s)"));
    assert!(rises("step(50,500,50,5s)"));
    assert!(rises("const(10,10s) const(20,10s)"));
    assert!(!rises("const(100,60s)"));
    assert!(!rises("line(100,1,10s)"));
    assert!(rising_schedule(&case("50 users for 60 s", LoadModel::Closed)).is_none());
}

#[test]
fn the_fall_after_the_top_is_not_judged() {
    // 10 s at 5/s on average, then 10 s at 10/s.
    let rise = |text: &str| rise(&Segments::parse(text).expect("a schedule"));
    assert_eq!(rise("line(0,10,10s) const(10,10s)"), None);
    assert_eq!(rise("line(0,10,10s) const(10,10s) line(10,1,10s)"), Some(150));
    assert_eq!(rise("line(0,10,10s) const(5,10s)"), Some(50));
}

#[test]
fn without_an_expectation_that_seconds_can_answer_the_ok_share_is_used() {
    let read = |text: &&str| text.parse::<Expectation>().expect(text);
    let judged = |expect: &[&str]| {
        let expect: Vec<Expectation> = expect.iter().map(read).collect();
        let rising =
            Rising::of(&case("line(1,100,10s)", LoadModel::Open), &expect).expect("it rises");
        rising.expected.iter().map(|one| one.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(judged(&[]), ["ok >= 99%"]);
    assert_eq!(judged(&["memory < 1GiB", "p95 worse < 5%", "p95 > 1ms"]), ["ok >= 99%"]);
    assert_eq!(judged(&["throughput > 5", "p95 < 1s", "ok > 50%"]), ["p95 < 1s", "ok > 50%"]);
}

proptest! {
    /// The breaking point is never before the first failed request, and exists only if at least two
    /// seconds have failures. It always exists if all requests fail from some second on.
    #[test]
    fn never_before_the_first_failure(
        seconds in prop::collection::vec((1_u64..200, prop_oneof![3 => Just(0_u64), 1 => 1_u64..300]), 0..60),
        tail in 0_usize..20,
    ) {
        let mut due: Vec<DueSecond> =
            seconds.iter().map(|(ok, failed)| second(*ok, MS, *failed)).collect();
        due.extend((0..tail).map(|_| second(0, 0, 50)));
        let bad: Vec<usize> =
            (0..due.len()).filter(|at| !due[*at].lost.is_empty()).collect();
        let found = point("ok >= 99%", &due);
        if let Some(found) = found {
            prop_assert!(bad.len() >= 2 && found >= bad[0], "{} {:?}", found, bad);
            prop_assert!(bad.contains(&found));
        }
        if tail >= 5 {
            let found = found.expect("all is lost at the end");
            prop_assert!(found <= seconds.len());
        }
    }
}
