//! Tests criteria on hand-made seconds.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use proptest::prelude::*;
use stampede_load::report::Listener;
use stampede_load::spec::{Check, Load};
use stampede_model::counts::{Counts, Second, TimeSet};
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::{MicroRate, Segments};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_stats::histogram::Times;
use stampede_traffic::Request;

use super::*;

const MS: u64 = 1_000_000;

/// A second with `ok` answers that took `took_ms` each, and failed requests.
fn second(index: u32, ok: u64, took_ms: u64, failed: &[(&str, u64)]) -> Second {
    let failed: BTreeMap<String, u64> =
        failed.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    let mut times = Times::new();
    times.record_many(took_ms * MS, ok);
    let times = TimeSet { response_time: times.clone(), service_time: times, ..TimeSet::empty() };
    let counts = Counts { planned: ok, started: ok, ok, failed, ..Counts::default() };
    Second { index, counts, times, in_flight_max: 1, busy: Nanos(0) }
}

fn load(statuses: &[u16]) -> Load {
    let model = Model::Open {
        schedule: Segments::constant(MicroRate(1_000_000), Nanos::SECOND),
        arrivals: Arrivals::Uniform,
        max_in_flight: 200,
        when_full: WhenFull::Queue,
    };
    let target = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 1)));
    let check = Check { statuses: statuses.to_vec(), ..Check::default() };
    let traffic: Vec<Request> = Vec::new();
    Load { check, timeout: Nanos::from_secs(2), ..Load::new(target, model, traffic) }
}

/// The index of the second that met a criterion, and the reason.
fn met(criteria: &str, seconds: &[Second]) -> Option<(u32, String)> {
    let autostop = Autostop::parse(criteria).expect(criteria);
    let mut judge = Judge::new(&autostop, &load(&[])).expect(criteria);
    seconds.iter().find_map(|second| Some((second.index, judge.second(second)?)))
}

fn at(criteria: &str, seconds: &[Second]) -> Option<u32> {
    met(criteria, seconds).map(|(index, _)| index)
}

/// Seconds in which this many of 100 answers fail as `kind`.
fn failing(kind: &str, counts: &[u64]) -> Vec<Second> {
    let second = |(index, count): (usize, &u64)| {
        let failed = [(kind, *count)];
        second(index as u32, 100 - count, 10, if *count > 0 { &failed } else { &[] })
    };
    counts.iter().enumerate().map(second).collect()
}

#[test]
fn time_needs_consecutive_slow_seconds() {
    let took = [5, 20, 20, 5, 20, 20, 20];
    let seconds: Vec<Second> =
        (0..).zip(took).map(|(index, ms)| second(index, 10, ms, &[])).collect();
    assert_eq!(at("time(10ms,2s)", &seconds), Some(2));
    assert_eq!(at("time(10,3s)", &seconds), Some(6), "a number alone is milliseconds");
    assert_eq!(at("time(20ms,1s)", &seconds), None, "above it, not at it");
    assert_eq!(at("time(10ms,4s)", &seconds), None);
}

#[test]
fn a_hanging_server_counts_as_slow_without_any_answer() {
    // Timeouts of 2 s; then one timeout among 9 answers of 10 ms: (9 × 10 + 2 000) ÷ 10 = 209 ms.
    let seconds = [second(0, 0, 0, &[("net:timeout", 5)]), second(1, 9, 10, &[("net:timeout", 1)])];
    assert_eq!(at("time(1999ms,1s)", &seconds), Some(0));
    assert_eq!(at("time(200ms,2s)", &seconds), Some(1));
    assert_eq!(at("time(210ms,2s)", &seconds), None);
    let refused = [second(0, 0, 0, &[("net:refused", 5)])];
    assert_eq!(at("time(1ms,1s)", &refused), None, "nothing is known of how long they took");
}

#[test]
fn a_second_without_an_answer_is_skipped() {
    let seconds =
        [second(0, 5, 50, &[]), second(1, 0, 0, &[]), second(2, 5, 50, &[]), second(3, 0, 0, &[])];
    assert_eq!(at("time(10ms,2s)", &seconds), Some(2));
    assert_eq!(at("total_time(10ms,50%,2s)", &seconds), Some(2));
    assert_eq!(at("limit(4s)", &seconds), Some(3));
}

#[test]
fn quantile_ranks_failed_requests_slowest() {
    let seconds = [second(0, 95, 10, &[("http:500", 5)]), second(1, 94, 10, &[("http:500", 6)])];
    assert_eq!(at("quantile(95,10ms,1s)", &seconds), Some(1));
    assert_eq!(at("quantile(95,9ms,1s)", &seconds), Some(0));
    assert_eq!(at("quantile(50,10ms,1s)", &seconds), None);
    assert_eq!(at("quantile(100,11ms,1s)", &seconds), Some(0));
    let said = met("quantile(95,10ms,1s)", &seconds).map(|(_, reason)| reason);
    let expected = "quantile(95,10ms,1s): p95 was that of a failed request, for 1 s";
    assert_eq!(said.as_deref(), Some(expected));
}

#[test]
fn http_counts_answers_that_match_the_mask() {
    let seconds = failing("http:503", &[9, 10, 10, 9, 30, 10, 10]);
    assert_eq!(at("http(5xx,10%,2s)", &seconds), Some(2));
    assert_eq!(at("http(5xx,10%,3s)", &seconds), Some(6));
    assert_eq!(at("http(503,30,1s)", &seconds), Some(4));
    assert_eq!(at("http(504,1,1s)", &seconds), None);
    assert_eq!(at("http(4xx,1,1s) http(5xx,9,1s)", &seconds), Some(0), "any of them");
    assert_eq!(at("http(2xx,91%,1s)", &seconds), Some(0), "correct answers have a status too");
}

#[test]
fn net_counts_requests_without_a_whole_answer() {
    let refused = failing("net:refused", &[0, 5, 5]);
    for mask in ["xx", "111", "11x", "xxx", "x"] {
        assert_eq!(at(&format!("net({mask},5,2s)"), &refused), Some(2), "{mask}");
    }
    assert_eq!(at("net(110,1,1s)", &refused), None);
    assert_eq!(at("http(0,5%,1s)", &refused), Some(1), "they have status 0");
    assert_eq!(at("net(xx,1,1s)", &failing("http:500", &[50])), None);
    assert_eq!(at("net(xx,1,1s)", &failing("check", &[50])), None);
}

#[test]
fn totals_need_a_full_window() {
    let seconds = failing("http:500", &[30, 0, 0, 0, 30, 0]);
    assert_eq!(at("total_http(5xx,10%,3s)", &seconds), Some(2), "(30 + 0 + 0) ÷ 3");
    assert_eq!(at("total_http(5xx,11%,3s)", &seconds), None);
    assert_eq!(at("total_http(5xx,30,3s)", &seconds), Some(2));
    assert_eq!(at("total_http(5xx,60,5s)", &seconds), Some(4));
    assert_eq!(at("negative_http(2xx,10%,3s)", &seconds), Some(2));
    assert_eq!(at("negative_http(5xx,90%,3s)", &seconds), Some(2));
    let refused = failing("net:refused", &[10, 10, 10]);
    assert_eq!(at("total_net(11x,10%,2s)", &refused), Some(1));
    assert_eq!(at("negative_net(0,10%,3s)", &refused), Some(2));
    assert_eq!(at("negative_net(111,90%,3s)", &refused), Some(2));
}

#[test]
fn a_share_of_a_window_is_the_mean_of_its_seconds() {
    // 1 of 1 and 0 of 100: a mean of one half, although it is only one answer of 101.
    let seconds = [second(0, 0, 0, &[("http:500", 1)]), second(1, 100, 1, &[])];
    assert_eq!(at("total_http(5xx,50%,2s)", &seconds), Some(1));
    // For times, Tank takes all of the window together: 1 of 101.
    assert_eq!(at("total_time(500ms,50%,2s)", &seconds), None);
}

#[test]
fn total_time_is_a_share_of_all_requests_of_the_window() {
    let seconds = [second(0, 30, 100, &[]), second(1, 60, 400, &[]), second(2, 10, 400, &[])];
    assert_eq!(at("total_time(300ms,70%,3s)", &seconds), Some(2));
    assert_eq!(at("total_time(300ms,71%,3s)", &seconds), None);
    assert_eq!(at("total_time(400ms,1%,3s)", &seconds), None, "slower, not as slow");
}

#[test]
fn instances_are_requests_in_flight() {
    let busy = |index, in_flight_max| Second { in_flight_max, ..second(index, 1, 1, &[]) };
    let seconds = [busy(0, 181), busy(1, 180), busy(2, 200), busy(3, 200)];
    assert_eq!(at("instances(90%,1s)", &seconds), Some(0), "181 of 200");
    assert_eq!(at("instances(90%,2s)", &seconds), Some(3));
    assert_eq!(at("instances(180,1)", &seconds), Some(0));
    assert_eq!(at("instances(200,1)", &seconds), None);
    let hanging = Second { in_flight_max: 200, ..second(0, 0, 0, &[]) };
    assert_eq!(at("instances(90%,1s)", &[hanging]), Some(0), "nothing ends where all hang");
}

#[test]
fn limit_is_reached_with_the_second_that_completes_it() {
    let seconds: Vec<Second> = (0..5).map(|index| second(index, 1, 1, &[])).collect();
    assert_eq!(at("limit(3s)", &seconds), Some(2));
    assert_eq!(at("limit(2500ms)", &seconds), Some(2));
    assert_eq!(at("limit(5m)", &seconds), None);
}

#[test]
fn steady_percentiles_need_consecutive_seconds() {
    // From second 1 on the median of all is 10 ms; from second 2 on the maximum is 90 ms.
    let took = [10, 10, 90, 10, 10, 10];
    let seconds: Vec<Second> =
        (0..).zip(took).map(|(index, ms)| second(index, 100, ms, &[])).collect();
    assert_eq!(at("steady_cumulative(50,5s)", &seconds), Some(5));
    assert_eq!(at("steady_cumulative(100,3s)", &seconds), Some(5));
    assert_eq!(at("steady_cumulative(6s)", &seconds), None);
    let refused = failing("net:refused", &[100, 100]);
    assert_eq!(at("steady_cumulative(1s)", &refused), Some(1), "of no answer, and no panic");
}

#[test]
fn a_falling_trend_must_exceed_its_standard_error() {
    let counts = [100, 100, 100, 80, 60, 40];
    let seconds: Vec<Second> =
        (0..).zip(counts).map(|(index, ok)| second(index, ok, 1, &[])).collect();
    // Changes of the last 3 s: 0, 0, −20: mean −6.67, error 6.67. Then 0, −20, −20: −13.3 ± 6.67.
    assert_eq!(at("http_trend(2xx,3s)", &seconds), Some(4));
    assert_eq!(at("http_trend(2xx,1s)", &seconds), Some(3));
    assert_eq!(at("http_trend(5xx,3s)", &seconds), None);
    let rising: Vec<Second> =
        (0..9).map(|index| second(index, 10 + index as u64, 1, &[])).collect();
    assert_eq!(at("http_trend(2xx,3s)", &rising), None);
}

#[test]
fn correct_answers_of_unknown_status_are_refused() {
    let judge = |statuses: &[u16], criteria: &str| {
        Judge::new(&Autostop::parse(criteria).expect(criteria), &load(statuses)).map(|_| ())
    };
    assert_eq!(judge(&[], "http(2xx,1,1s) http(xxx,1,1s) http(404,1,1s)"), Ok(()));
    assert_eq!(judge(&[200], "negative_http(200,10%,1s)"), Ok(()));
    assert_eq!(
        judge(&[200, 404], "http(404,1,1s)").map_err(|unsupported| unsupported.mask),
        Err("404".into())
    );
    let unsupported = judge(&[], "http_trend(200,10s)").expect_err("200 to 299 are correct");
    insta::assert_snapshot!(format!("{unsupported}\nhint: {}", unsupported.hint()));
}

#[test]
fn reasons_say_what_was_found() {
    let slow: Vec<Second> = (0..3).map(|index| second(index, 10, 1_500, &[])).collect();
    let bad = failing("http:503", &[25, 25, 25]);
    let refused = failing("net:refused", &[25, 25, 25]);
    let fewer: Vec<Second> =
        (0..6).map(|index| second(index, 100 - 10 * u64::from(index), 1, &[])).collect();
    let table = [
        ("time(1s,3s)", &slow),
        ("quantile(95,100ms,2s)", &slow),
        ("total_time(300ms,70%,3s)", &slow),
        ("instances(0.1%,2s)", &slow),
        ("limit(2s)", &slow),
        ("steady_cumulative(95,2s)", &slow),
        ("http(5xx,10%,3s)", &bad),
        ("http(503,25,1s)", &bad),
        ("total_http(5xx,10%,3s)", &bad),
        ("negative_http(2xx,50,2s)", &bad),
        ("net(xx,5,2s)", &refused),
        ("negative_net(0,10%,2s)", &refused),
        ("http_trend(2xx,3s)", &fewer),
    ];
    let reasons = table.map(|(criteria, seconds)| {
        let (index, reason) = met(criteria, seconds).expect(criteria);
        format!("{index}: {reason}")
    });
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn a_guard_stops_once_and_passes_every_second_on() {
    struct SeenSeconds(Vec<u32>);
    impl Listener for SeenSeconds {
        fn second(&mut self, second: &Second) {
            self.0.push(second.index);
        }
    }
    let autostop = Autostop::parse("limit(2s)").expect("a criterion");
    let judge = || Judge::new(&autostop, &load(&[])).expect("a judge");
    let (stop, mut listener) = (Stop::default(), SeenSeconds(Vec::new()));
    let mut guard = Guard::new(judge(), stop.clone(), &mut listener);
    (0..4).for_each(|index| guard.second(&second(index, 1, 1, &[])));
    assert_eq!(guard.reason(), Some("limit(2s): 2s are over"));
    assert_eq!(guard.judge().met(), Some(&Criterion::Limit { length: Nanos::from_secs(2) }));
    assert!(stop.is_asked());
    assert_eq!(listener.0, [0, 1, 2, 3]);

    let (stop, mut listener) = (Stop::default(), SeenSeconds(Vec::new()));
    let mut guard = Guard::new(judge(), stop.clone(), &mut listener);
    stop.ask();
    (0..4).for_each(|index| guard.second(&second(index, 1, 1, &[])));
    assert_eq!(guard.reason(), None, "somebody else asked before");
}

#[test]
fn concurrency_is_the_in_flight_limit_of_a_closed_load() {
    let model = Model::Closed { concurrency: 4, until: Until::Requests(1) };
    let load = Load { model, ..load(&[]) };
    let autostop = Autostop::parse("instances(50%,1s) time(1ms,1s)").expect("criteria");
    let mut judge = Judge::new(&autostop, &load).expect("a judge");
    let quick = Second { in_flight_max: 2, ..second(0, 1, 1, &[]) };
    assert_eq!(judge.second(&quick), None);
    let busy = Second { in_flight_max: 3, ..second(1, 1, 1, &[]) };
    assert_eq!(
        judge.second(&busy).as_deref(),
        Some("instances(50%,1s): 3 of 4 requests were under way, for 1 s")
    );
}

#[test]
fn examples_of_tanks_documentation_are_parsed() {
    for text in [
        "time(1s500ms, 30s) time(50,15)",
        "http(404,10,15) http(5xx, 10%, 1m)",
        "quantile (95,100ms,10s)",
        "instances(80%, 30) instances(50,1m)",
        "steady_cumulative(1m)",
        "limit(1m)",
        "total_time(300ms, 70%, 3s)",
        "total_http(5xx,10%,10s) total_http(3xx,40%,10s)",
        "total_net(79,10%,10s) total_net(11x,50%,15s)",
        "negative_http(2xx,10%,10s)",
        "negative_net(0,10%,10s)",
        "http_trend(2xx,10s)",
        "HTTP(5XX,10%,5s),Net(xx,5,10s)\ntime(1s,10s)",
    ] {
        let read = Autostop::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(Autostop::parse(&read.to_string()), Ok(read), "{text}");
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let mut report = String::new();
    for text in [
        "",
        "  ",
        "5xx",
        "htpp(5xx,10%,5s)",
        "time(1s,10s) quantil(95,1s,1s)",
        "wurst(1)",
        "-",
        "metric_lower(127.0.0.1,Memory_free,500,10)",
        "time",
        "time 1s",
        "time(1s,10s",
        "time()",
        "time(1s)",
        "time(1s,10s,/tag)",
        "limit(1m,2m)",
        "http(5xx,10%)",
        "http(5yy,10%,5s)",
        "http(,10%,5s)",
        "http(5xx,ten,5s)",
        "http(5xx,0,5s)",
        "http(5xx,101%,5s)",
        "net(xx,5,500ms)",
        "net(xx,5,0s)",
        "net(xx,5,2d)",
        "time(fast,10s)",
        "time(0ms,10s)",
        "quantile(0,1s,1s)",
        "quantile(100.1,1s,1s)",
        "total_time(300ms,70,3s)",
        "http(ü,1,1s)",
    ] {
        let error = Autostop::parse(text).expect_err(text);
        let column = text[..error.offset].chars().count();
        let width = text[error.offset..error.offset + error.length].chars().count().max(1);
        let marks = format!("{}{}", " ".repeat(column), "^".repeat(width));
        report += &format!("{text}\n{marks} {error}\n");
        let expected = error.expected();
        let short = expected.split("; there are").next().unwrap_or_default();
        report += &format!("expected {short}");
        report += &error.nearest().map_or(String::new(), |nearest| format!("; nearest: {nearest}"));
        report += "\n\n";
    }
    report += &Autostop::parse("").expect_err("nothing").expected();
    insta::assert_snapshot!(report);
}

fn percents() -> impl Strategy<Value = Percent> {
    (1..=Percent::WHOLE.0).prop_map(Percent)
}

fn levels() -> impl Strategy<Value = Level> {
    prop_oneof![(1..=u32::MAX).prop_map(Level::Count), percents().prop_map(Level::Share)]
}

fn masks() -> impl Strategy<Value = Mask> {
    "[0-9x]{1,3}".prop_map(|text| Mask::parse(&text).expect("a mask"))
}

fn lengths() -> impl Strategy<Value = Nanos> {
    (1..=stampede_model::quantity::LONGEST.0).prop_map(Nanos)
}

fn all_criteria() -> impl Strategy<Value = Criterion> {
    let seconds = || 1..=86_400_u32;
    let of = prop_oneof![Just(Codes::Http), Just(Codes::Net)];
    let over = prop_oneof![Just(Over::Each), Just(Over::Total), Just(Over::Negative)];
    prop_oneof![
        (lengths(), seconds()).prop_map(|(above, seconds)| Criterion::Time { above, seconds }),
        (percents(), lengths(), seconds()).prop_map(|(percentile, above, seconds)| {
            Criterion::Quantile { percentile, above, seconds }
        }),
        (of, over, masks(), levels(), seconds()).prop_map(|(of, over, mask, level, seconds)| {
            Criterion::Codes { of, over, mask, level, seconds }
        }),
        (levels(), seconds()).prop_map(|(level, seconds)| Criterion::Instances { level, seconds }),
        lengths().prop_map(|length| Criterion::Limit { length }),
        (proptest::option::of(percents()), seconds()).prop_map(|(percentile, seconds)| {
            Criterion::SteadyCumulative { percentile, seconds }
        }),
        (lengths(), percents(), seconds())
            .prop_map(|(above, share, seconds)| { Criterion::TotalTime { above, share, seconds } }),
        (masks(), seconds()).prop_map(|(mask, seconds)| Criterion::HttpTrend { mask, seconds }),
    ]
}

proptest! {
    #[test]
    fn printed_criteria_parse_back(criteria in proptest::collection::vec(all_criteria(), 1..5)) {
        let autostop = Autostop { criteria };
        prop_assert_eq!(Autostop::parse(&autostop.to_string()), Ok(autostop));
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = Autostop::parse(&text);
    }

    #[test]
    fn no_near_miss_panics(text in "(time|http|net|limit|quantile|instances)?[(),0-9x%sm. ]{0,30}") {
        if let Err(error) = Autostop::parse(&text) {
            prop_assert!(text.is_char_boundary(error.offset));
            prop_assert!(text.is_char_boundary(error.offset + error.length));
        }
    }
}
