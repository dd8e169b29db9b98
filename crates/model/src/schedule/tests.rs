//! Tests schedules as lists: counts and times that follow by arithmetic.

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Segments {
    Segments::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn uniform(text: &str) -> Vec<u64> {
    parse(text).due_times(Arrivals::Uniform).map(|due| due.0).collect()
}

/// Whole milliseconds, rounded down, as Yandex Tank writes them into its traffic.
fn millis(text: &str) -> Vec<u64> {
    uniform(text).iter().map(|due| due / 1_000_000).collect()
}

#[test]
fn request_counts_match_published_ones() {
    for (text, requests) in [
        ("line(1,100,60s) const(100,540s)", 57_030),
        ("line(1,500,60s) const(500,540s)", 285_030),
        ("line(1,1000,60s) const(1000,60s)", 90_030),
        ("line(1,10000,30s) const(10000,30s)", 450_015),
        ("line(1, 1000, 10m)", 300_300),
        // Levels 5, 10 … 100 for 10 s each: 10 · 1 050.
        ("step(5, 100, 5, 10s) const(100, 2m30s)", 10_500 + 15_000),
    ] {
        let segments = parse(text);
        assert_eq!(segments.planned(), requests, "{text}");
        assert_eq!(segments.due_times(Arrivals::Uniform).remaining(), requests);
        if requests < 100_000 {
            assert_eq!(segments.due_times(Arrivals::Uniform).count() as u64, requests, "{text}");
        }
    }
}

#[test]
fn times_by_hand() {
    assert_eq!(uniform("const(4,1s)"), [0, 250_000_000, 500_000_000, 750_000_000]);
    assert_eq!(uniform("const(3,1s)"), [0, 333_333_333, 666_666_667]);
    // N(t) = t² / 2 · 2: request n at √n.
    assert_eq!(uniform("line(0,4,2s)"), [0, 1_000_000_000, 1_414_213_562, 1_732_050_808]);
    // 5t − t² = n: t = (5 − √(25 − 4n)) / 2.
    assert_eq!(millis("line(5,1,2s)"), [0, 208, 438, 697, 1000, 1381]);
    // t + t² = n: t = (√(1 + 4n) − 1) / 2.
    assert_eq!(millis("line(1,5,2s)"), [0, 618, 1000, 1302, 1561, 1791]);
    assert_eq!(millis("const(1,2s) const(2,2s)"), [0, 1000, 2000, 2500, 3000, 3500]);
}

#[test]
fn a_line_down_to_zero_keeps_its_precision() {
    // Seen from the end: m requests are left √m s before it (slope 2 per s²).
    let due = uniform("line(200,0,100s)");
    assert_eq!(due.len(), 10_000);
    for left in [1_u64, 2, 100, 2_500] {
        let expected = 100e9 - (left as f64).sqrt() * 1e9;
        assert_eq!(due[10_000 - left as usize], expected.round() as u64, "{left} left");
    }
}

#[test]
fn steps_as_yandex_tank_defines_them() {
    // Each level lasts; the last level is added where the steps do not reach it exactly.
    assert_eq!(parse("step(1,5,1,5s)").length(), Nanos::from_secs(25));
    assert_eq!(parse("step(1,5,1,5s)").planned(), 75);
    assert_eq!(parse("step(0,1000,50,3s)").planned(), 31_500);
    let uneven = parse("step(1.2,5.7,1.1,5s)"); // 1.2 2.3 3.4 4.5 5.6 5.7
    assert_eq!(uneven.length(), Nanos::from_secs(30));
    assert_eq!(uneven.rate_at(Nanos::from_secs(22)), 5.6);
    assert_eq!(uneven.rate_at(Nanos::from_secs(27)), 5.7);
    let down = parse("step(10,1,4,1s)"); // 10 6 2 1
    assert_eq!(down.planned(), 19);
    assert_eq!(down.rate_at(Nanos::from_millis(2_500)), 2.0);
    assert_eq!(parse("step(5,5,1,2s)").length(), Nanos::from_secs(2));
    assert_eq!(
        millis("step(1,5,1,5s)")[..10],
        [0, 1000, 2000, 3000, 4000, 5000, 5500, 6000, 6500, 7000]
    );
}

#[test]
fn nothing_is_rounded_where_segments_meet() {
    // 1.5 + 1.5 + 1.5 + 1.5 requests: rounded one by one they would make 4.
    let due = uniform("const(1.5,1s) const(1.5,1s) const(1.5,1s) const(1.5,1s)");
    assert_eq!(due, uniform("const(1.5,4s)"));
    assert_eq!(due.len(), 6);
}

#[test]
fn a_pause_holds_the_next_request_until_it_is_over() {
    let second = 1_000_000_000;
    assert_eq!(uniform("const(1,2s) const(0,5s) const(1,2s)"), [0, second, 7 * second, 8 * second]);
    assert_eq!(uniform("const(0,5s) const(1,1s)"), [5 * second]);
    assert_eq!(parse("const(0,5s) const(1,1s)").rate_at(Nanos::from_secs(4)), 0.0);
}

#[test]
fn no_drift_in_an_hour_at_3000() {
    let segments = parse("const(3000,1h)");
    assert_eq!(segments.planned(), 10_800_000);
    for (request, due) in segments.due_times(Arrivals::Uniform).enumerate().step_by(997) {
        let exact = (request as u128 * 1_000_000_000 + 1_500) / 3_000;
        assert_eq!(u128::from(due.0), exact, "request {request}");
    }
}

#[test]
fn no_drift_on_a_line_after_a_million_requests() {
    // t + 5t² = n, by integer square root: t ns = (√(1e18 + 20·n·1e18) − 1e9) / 10.
    let line = parse("line(1,10001,1000s)");
    let mut seen = 0;
    for (request, due) in line.due_times(Arrivals::Uniform).enumerate().step_by(99_991) {
        let root = (1_000_000_000_000_000_000 * (1 + 20 * request as u128)).isqrt();
        let exact = (root - 1_000_000_000) / 10;
        assert!(u128::from(due.0).abs_diff(exact) <= 1, "request {request}: {due:?}, not {exact}");
        seen += 1;
    }
    assert_eq!(seen, 5_001_000 / 99_991 + 1);
}

#[test]
fn rates_and_lengths() {
    let segments = parse("line(0,100,10s) const(100,5s) line(100,0,10s)");
    assert_eq!(segments.length(), Nanos::from_secs(25));
    assert_eq!(segments.max_rate(), 100.0);
    for (at, rate) in [(0, 0.0), (5, 50.0), (10, 100.0), (12, 100.0), (20, 50.0), (25, 0.0)] {
        assert_eq!(segments.rate_at(Nanos::from_secs(at)), rate, "at {at} s");
    }
    assert_eq!(segments.scaled(0.1).to_string(), "line(0,100,1s) const(100,500ms) line(100,0,1s)");
    assert_eq!(segments.scaled(f64::NAN).length(), Nanos(3));
    assert_eq!(segments.scaled(f64::INFINITY).length(), Nanos(3 * LONGEST.0));
}

#[test]
fn poisson_counts_and_gaps_are_those_of_the_schedule() {
    let segments = parse("line(0,1000,10s) const(1000,10s)"); // 5 000, then 10 000
    let due: Vec<Nanos> = segments.due_times(Arrivals::Poisson { seed: 1 }).collect();
    let again: Vec<Nanos> = segments.due_times(Arrivals::Poisson { seed: 1 }).collect();
    let other: Vec<Nanos> = segments.due_times(Arrivals::Poisson { seed: 2 }).collect();
    assert_eq!(due, again);
    assert_ne!(due, other);
    assert!(due.is_sorted());
    // Five standard deviations: √5 000 = 71, √10 000 = 100.
    let rising = due.iter().filter(|due| due.0 < 10_000_000_000).count();
    assert!(rising.abs_diff(5_000) < 355, "{rising}");
    assert!((due.len() - rising).abs_diff(10_000) < 500, "{}", due.len());
    // A tenth of the requests of the first half are due by √0.1 of its time.
    let early = due.iter().filter(|due| due.as_secs_f64() < 10.0 * 0.1_f64.sqrt()).count();
    assert!(early.abs_diff(500) < 112, "{early}");
    // Exponential gaps: a share of 1/e is longer than the mean.
    let flat = &due[rising..];
    let long = flat.windows(2).filter(|pair| pair[1].since(pair[0]).0 > 1_000_000).count();
    assert!((long as f64 / flat.len() as f64 - 0.3679).abs() < 0.025, "{long}");
    assert_eq!(segments.due_times(Arrivals::Poisson { seed: 1 }).remaining(), due.len() as u64);
}

/// 2 160 million requests, so the count must not iterate over them.
#[test]
fn the_rest_of_a_long_schedule_is_counted_without_iterating() {
    let segments = parse("line(1,100000,12h)");
    let quarter = Nanos::from_secs(6 * 3_600);
    let uniform = segments.due_times(Arrivals::Uniform);
    assert_eq!(uniform.remaining(), 2_160_021_600);
    // N(t) = t + (99 999 / 43 200) · t² / 2, and the first is due at 0.
    assert_eq!(uniform.due_by(quarter), 540_016_200 + 1);
    // As many on average; the standard deviation is some 46 000 of 2 160 million.
    let random = segments.due_times(Arrivals::Poisson { seed: 1 });
    for (counted, expected) in
        [(random.remaining(), 2_160_021_600), (random.due_by(quarter), 540_016_200)]
    {
        assert!(u64::abs_diff(counted, expected) < 250_000, "{counted}");
    }
    assert_eq!(random.due_by(Nanos(0)), 0);
}

#[test]
fn blanks_and_commas_are_free() {
    let expected = parse("line(1,100,60s) const(100,540s)");
    for text in [
        "line(1,100,60s), const(100,540s)",
        " line ( 1 , 100 , 1m )\n const(100.0, 9m) ",
        "line(1,100,60s)const(100,540s)",
        "line(1,100,60),const(100,540),",
    ] {
        assert_eq!(parse(text), expected, "{text}");
    }
}

/// Message, position and expectation for every mistake, as people see them.
#[test]
fn mistakes_are_shown_where_they_are() {
    let mut seen = String::new();
    for text in [
        "",
        "  ",
        "100",
        "-",
        "lin(1,100,60s)",
        "const(100,60s) stpe(1,2,1,1s)",
        "wurst(1)",
        "const",
        "const 100",
        "line(1,100,60s",
        "line(1,100)",
        "const()",
        "const(1,2s,3)",
        "const(fast,60s)",
        "const(,60s)",
        "const(99999999,60s)",
        "const(100,60x)",
        "const(100,0s)",
        "const(100,8d)",
        "step(1,10,0,5s)",
        "step(0,10000000,1,1s)",
        "const(1,4d) const(1,4d)",
        " const(0,10s) ",
        "const(0.05,10s)",
        "const(ü,1s)",
    ] {
        let error = Segments::parse(text).expect_err(text);
        let marks = "^".repeat(text[error.offset..][..error.length].chars().count().max(1));
        let blanks = " ".repeat(text[..error.offset].chars().count());
        seen += &format!("  {text}\n  {blanks}{marks} {error}\n  expected {}", error.expected());
        if let Some(nearest) = error.nearest() {
            seen += &format!("; nearest: {nearest}");
        }
        seen += "\n\n";
    }
    insta::assert_snapshot!(seen);
}

fn segment() -> impl Strategy<Value = String> {
    let rate = || (0_u64..2_000_000).prop_map(|milli| (milli as f64 / 1e3).to_string());
    let length = || (1_u64..20_000).prop_map(|milli| format!("{milli}ms"));
    prop_oneof![
        (rate(), length()).prop_map(|(r, l)| format!("const({r},{l})")),
        (rate(), rate(), length()).prop_map(|(a, b, l)| format!("line({a},{b},{l})")),
        (0_u64..500, 0_u64..500, 1_u64..200, 1_u64..900)
            .prop_map(|(a, b, by, l)| format!("step({a},{b},{by},{l}ms)")),
    ]
}

/// The arrivals of all parts together have the schedule's rate, and the gaps of a Poisson process:
/// their standard deviation is their mean. Parts that had something in common would not.
#[test]
fn poisson_parts_add_up_to_a_poisson_process() {
    let segments = parse("const(1000,100s)");
    for of in [2_u32, 7] {
        let parts = Part::all(of).map(|part| {
            let own: Vec<Nanos> =
                segments.due_times_of(Arrivals::Poisson { seed: 3 }, part).collect();
            let expected = 100_000.0 / f64::from(of);
            // Five standard deviations of a count.
            assert!((own.len() as f64 - expected).abs() < 5.0 * expected.sqrt(), "{}", own.len());
            own
        });
        let mut all: Vec<Nanos> = parts.flatten().collect();
        all.sort_unstable();
        let gaps: Vec<f64> =
            all.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64() * 1e3).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{variance}");
    }
}

#[test]
fn a_serialised_schedule_has_units_and_obeys_the_grammar() {
    let data = serde_json::to_value(parse("line(0.5,100,10s) step(1,3,1,2s)")).unwrap();
    let line = serde_json::json!({"kind": "line", "from_per_second": 0.5, "to_per_second": 100.0,
                                  "length_ns": 10_000_000_000_u64});
    let step = serde_json::json!({"kind": "step", "from_per_second": 1.0, "to_per_second": 3.0,
                                  "by_per_second": 1.0, "length_ns": 2_000_000_000_u64});
    assert_eq!(data, serde_json::json!([line, step]));
    let second = Nanos::SECOND;
    let rate = MicroRate::ONE;
    for (segments, problem) in [
        (vec![], Problem::Empty),
        (vec![Segment::Const { rate: MicroRate(1), length: second }], Problem::NoRequest),
        (
            vec![Segment::Const { rate, length: Nanos(0) }],
            Problem::LengthOutOfRange { found: "0".to_owned() },
        ),
        (vec![Segment::Const { rate, length: LONGEST }; 2], Problem::TooLong),
        (
            vec![Segment::Step { from: rate, to: rate, by: MicroRate(0), length: second }],
            Problem::StepByZero,
        ),
        (
            vec![Segment::Const { rate: MicroRate(u64::MAX), length: second }],
            Problem::RateOutOfRange { found: "18446744073709.551615".to_owned() },
        ),
        (
            vec![Segment::Const { rate, length: second }; Segments::PIECES_MAX + 1],
            Problem::TooManyPieces,
        ),
    ] {
        assert_eq!(Segments::new(segments), Err(problem));
    }
    for data in [
        r#"[{"kind": "const", "rate_per_second": -1, "length_ns": 1000}]"#,
        r#"[{"kind": "const", "rate_per_second": 1e9, "length_ns": 1000}]"#,
        r#"[{"kind": "sine", "rate_per_second": 10, "length_ns": 1000}]"#,
    ] {
        assert!(serde_json::from_str::<Segments>(data).is_err(), "{data}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn due_times_never_decrease_and_end_in_time(
        parts in proptest::collection::vec(segment(), 1..5),
        seed in proptest::option::of(any::<u64>()),
    ) {
        let Ok(segments) = Segments::parse(&parts.join(" ")) else { return Ok(()) };
        let arrivals = seed.map_or(Arrivals::Uniform, |seed| Arrivals::Poisson { seed });
        let due: Vec<Nanos> = segments.due_times(arrivals).collect();
        prop_assert!(due.is_sorted());
        prop_assert!(due.last().is_none_or(|last| *last <= segments.length()));
        if seed.is_none() {
            prop_assert_eq!(due.len() as u64, segments.planned());
        }
    }

    #[test]
    fn counting_remaining_requests_equals_iterating_over_them(
        parts in proptest::collection::vec(segment(), 1..5),
        seed in proptest::option::of(any::<u64>()),
        (taken, until) in (0_usize..20_000, 0.0..1.1_f64),
        (index, of) in (0_u32..4, 4_u32..6),
        is_whole in any::<bool>(),
    ) {
        let Ok(segments) = Segments::parse(&parts.join(" ")) else { return Ok(()) };
        let arrivals = seed.map_or(Arrivals::Uniform, |seed| Arrivals::Poisson { seed });
        let part = if is_whole { Part::WHOLE } else { Part::new(index, of).unwrap() };
        let mut due = segments.due_times_of(arrivals, part);
        let until = Nanos((segments.length().0 as f64 * until) as u64);
        due.by_ref().take(taken).for_each(drop);
        let counted = [due.due_by(until), due.remaining()];
        let nth = due.clone().nth(taken);
        let rest: Vec<Nanos> = due.collect();
        prop_assert_eq!(nth, rest.get(taken).copied());
        let walked = rest.iter().take_while(|due| **due <= until).count();
        prop_assert_eq!(counted, [walked as u64, rest.len() as u64]);
    }

    #[test]
    fn uniform_parts_are_dealt_in_turn(
        parts in proptest::collection::vec(segment(), 1..5),
        of in 1_u32..6,
    ) {
        let Ok(segments) = Segments::parse(&parts.join(" ")) else { return Ok(()) };
        let whole: Vec<Nanos> = segments.due_times(Arrivals::Uniform).collect();
        for part in Part::all(of) {
            let own: Vec<Nanos> = segments.due_times_of(Arrivals::Uniform, part).collect();
            prop_assert_eq!(own.len() as u64, part.share(whole.len() as u64));
            let dealt = whole.iter().copied().skip(part.index() as usize).step_by(of as usize);
            prop_assert_eq!(own, dealt.collect::<Vec<_>>());
        }
    }

    #[test]
    fn due_times_invert_the_cumulative_count(parts in proptest::collection::vec(segment(), 1..4)) {
        let Ok(segments) = Segments::parse(&parts.join(" ")) else { return Ok(()) };
        // By trapezoids, independent of the inversion: N(due of request n) is n.
        let mut count = 0.0;
        let (mut at, mut pieces) = (0.0, segments.segments().iter().flat_map(|s| s.pieces()));
        let mut piece = pieces.next();
        for (request, due) in segments.due_times(Arrivals::Uniform).enumerate() {
            while let Some((from, to, length)) = piece {
                let (a, b, seconds) = (from.per_second(), to.per_second(), length.as_secs_f64());
                if due.as_secs_f64() < at + seconds {
                    let inside = due.as_secs_f64() - at;
                    let n = count + (a + (a + (b - a) * inside / seconds)) / 2.0 * inside;
                    prop_assert!((n - request as f64).abs() < 1e-3, "request {} at N = {}", request, n);
                    break;
                }
                (at, count) = (at + seconds, count + (a + b) / 2.0 * seconds);
                piece = pieces.next();
            }
        }
    }

    #[test]
    fn written_schedules_read_back(parts in proptest::collection::vec(segment(), 1..5)) {
        let Ok(segments) = Segments::parse(&parts.join(", ")) else { return Ok(()) };
        let written = segments.to_string();
        prop_assert_eq!(&parse(&written), &segments);
        prop_assert_eq!(parse(&written).to_string(), written);
        let data = serde_json::to_string(&segments).unwrap();
        prop_assert_eq!(serde_json::from_str::<Segments>(&data).unwrap(), segments, "{}", data);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        if let Err(error) = Segments::parse(&text) {
            prop_assert!(text.get(error.offset..error.offset + error.length).is_some());
        }
    }

    #[test]
    fn no_near_miss_panics(text in "((line|const|step|lin)?[(),.0-9smhd µ-]{0,12}){0,6}") {
        if let Err(error) = Segments::parse(&text) {
            prop_assert!(text.get(error.offset..error.offset + error.length).is_some());
            prop_assert!(!error.expected().is_empty());
        }
    }
}
