//! Tests a load thread that the host stops: an answer may be seen long after it arrived.

use super::*;

/// 1 000 requests, one every 10 ms, of 1 ms of work. The load's thread stands still for 105 ms from
/// 2.0005 s on.
fn stopped(timestamps: Timestamps) -> Case {
    let mut case = Case { records: true, ..open(every(ms(10), 1_000), 100) };
    let from = Nanos(2_000_500_000);
    case.script.stops = vec![Freeze { from, until: from.plus(ms(105)) }];
    case.script.timestamps = timestamps;
    case
}

fn service_times(reported: &ReportedSeconds) -> Vec<u64> {
    reported.requests.iter().map(|request| request.done.since(request.started).0).collect()
}

#[test]
fn service_time_uses_the_kernel_timestamp_however_late_we_read() {
    let (result, reported) = load_result_in_detail(&stopped(Timestamps::Kernel));
    assert!(service_times(&reported).iter().all(|time| *time == 1_000_000));
    // Due at 2.01, 2.02 … 2.1 s, and started at 2.1055 s: this is our schedule lag.
    let late: Vec<u64> = reported
        .requests
        .iter()
        .map(|request| request.started.since(request.due).0 / 100_000)
        .collect();
    let ours: Vec<u64> = late.into_iter().filter(|late| *late > 0).collect();
    assert_eq!(ours, [955, 855, 755, 655, 555, 455, 355, 255, 155, 55]);
    let longest = reported.requests.iter().map(|request| request.done.since(request.due)).max();
    assert_eq!(longest, Some(Nanos(95_500_000 + 1_000_000)));
    assert_eq!(result.counts.ok, 1_000);
}

#[test]
fn without_timestamps_service_time_lasts_until_the_read() {
    let (_, reported) = load_result_in_detail(&stopped(Timestamps::Userspace));
    let times = service_times(&reported);
    // The request of 2 s, whose end was seen at 2.1055 s.
    let long: Vec<u64> = times.into_iter().filter(|time| *time > 1_000_000).collect();
    assert_eq!(long, [105_500_000]);
}

/// One connection, 5 ms of work, one request every 10 ms; stopped from 12 to 42 ms.
fn one_at_a_time(when_full: WhenFull) -> (LoadResult, Vec<u64>) {
    let mut case = Case { when_full, records: true, ..open(every(ms(10), 8), 1) };
    case.script.service_time = ms(5);
    case.script.stops = vec![Freeze { from: ms(12), until: ms(42) }];
    case.script.timestamps = Timestamps::Kernel;
    let (result, reported) = load_result_in_detail(&case);
    assert!(service_times(&reported).iter().all(|time| *time == 5_000_000), "{when_full:?}");
    let after_due =
        reported.requests.iter().map(|request| request.started.since(request.due).0 / 1_000_000);
    (result, after_due.collect())
}

fn max_ms(times: &Times) -> f64 {
    (times.max() as f64 / 1e6).round()
}

#[test]
fn a_connection_is_ready_when_its_answer_arrived_and_later_delay_is_schedule_lag() {
    // The request of 10 ms is answered at 15 ms. That of 20 ms starts at 42 ms only because of our
    // own stop, that of 30 ms at 47 ms because of the one before.
    let (result, after_due) = one_at_a_time(WhenFull::Queue);
    assert_eq!(after_due, [0, 0, 22, 17, 12, 7, 2, 0]);
    assert_eq!(
        (max_ms(&result.times.schedule_lag), max_ms(&result.times.connection_wait)),
        (22.0, 17.0)
    );
    // Without lag the request of 20 ms takes 5 ms. That of 30 ms waits for it until 47 ms: lag is
    // not passed on to requests that wait for a connection.
    let times = &result.times;
    assert_eq!(
        (max_ms(&times.response_time), max_ms(&times.response_time_without_lag)),
        (27.0, 22.0)
    );
    // In a stretched schedule, the request of 30 ms is due when it can start.
    let (result, after_due) = one_at_a_time(WhenFull::Stretch);
    assert_eq!(after_due, [0, 0, 22, 0, 0, 0, 0, 0]);
    assert_eq!(
        (max_ms(&result.times.schedule_lag), max_ms(&result.times.connection_wait)),
        (22.0, 0.0)
    );
}

#[test]
fn an_answer_counts_in_the_second_in_which_it_was_read() {
    // Due at 990 ms, answered at 991 ms, seen at 1 010 ms.
    let mut case = Case { records: true, ..open(every(ms(10), 200), 100) };
    case.script.stops = vec![Freeze { from: Nanos(990_500_000), until: ms(1_010) }];
    case.script.timestamps = Timestamps::Kernel;
    let (result, reported) = load_result_in_detail(&case);
    let ok: Vec<u64> = reported.seconds.iter().map(|second| second.counts.ok).collect();
    assert_eq!(ok, [99, 101]);
    assert_eq!((result.ok_inside, result.lasted), (199, Nanos(1_991_000_000)));
    assert!(service_times(&reported).iter().all(|time| *time == 1_000_000));
}

/// The second request is sent from 999 to 1 001 ms. Meanwhile, at 1 000.5 ms, the first is answered,
/// and that is reported before the driver has seen that a second is over.
#[test]
fn an_answer_that_is_read_while_a_request_starts_counts_in_the_next_second() {
    let mut case = Case { records: true, ..open(vec![ms(0), ms(999)], 2) };
    case.script.send_time = ms(2);
    case.script.service_time = Nanos(998_500_000);
    case.script.timestamps = Timestamps::Kernel;
    case.script.prompt = true;
    let (_, reported) = load_result_in_detail(&case);
    let ended: Vec<Nanos> = reported.requests.iter().map(|request| request.done).collect();
    assert_eq!(ended, [Nanos(1_000_500_000), Nanos(1_999_500_000)]);
    let ok: Vec<u64> = reported.seconds.iter().map(|second| second.counts.ok).collect();
    assert_eq!(ok, [0, 2]);
}

/// Stopped from 12 to 42 ms, so the answer of 15 ms is seen at 42 ms, in both models.
#[test]
fn without_stamps_a_lower_bound_says_for_how_long_an_answer_may_have_been_there() {
    let mut case = open(every(ms(10), 2), 1);
    case.script.service_time = ms(5);
    case.script.stops = vec![Freeze { from: ms(12), until: ms(42) }];
    case.script.timestamps = Timestamps::Userspace;
    let (result, _) = load_result(&case);
    let times = &result.times;
    assert_eq!((max_ms(&times.response_time), max_ms(&times.lower_bound)), (32.0, 5.0));
    case.script.timestamps = Timestamps::Kernel;
    let (result, _) = load_result(&case);
    assert!(result.times.lower_bound.is_empty());
}

/// More answers than are taken at once, all of them seen after their timeout.
#[test]
fn an_answer_that_arrived_in_time_is_no_timeout() {
    let mut case = Case { timeout: ms(20), ..open(vec![ms(0); 1_000], 1_000) };
    case.script.service_time = ms(10);
    case.script.stops = vec![Freeze { from: ms(5), until: ms(90) }];
    case.script.timestamps = Timestamps::Kernel;
    let (of_kernel, _) = load_result(&case);
    assert_eq!((of_kernel.counts.ok, of_kernel.counts.failed_total()), (1_000, 0));
    case.script.timestamps = Timestamps::Userspace;
    let (of_ours, _) = load_result(&case);
    assert_eq!(of_ours.counts.failed["net:timeout"], 1_000, "90 ms, for all we know");
}

/// It takes the whole timeout, and is read 10 ms later.
#[test]
fn an_answer_at_the_end_of_the_timeout_is_none_that_is_too_late() {
    for (timeout, expected) in
        [(ms(20), (1, vec![])), (Nanos(19_999_999), (0, vec![("net:timeout", 1)]))]
    {
        let mut case = Case { timeout, ..open(vec![ms(0)], 1) };
        case.script.service_time = ms(20);
        case.script.stops = vec![Freeze { from: ms(15), until: ms(30) }];
        case.script.timestamps = Timestamps::Kernel;
        let (result, _) = load_result(&case);
        assert_eq!((result.counts.ok, failed(&result)), expected);
    }
}

#[test]
fn an_answer_that_arrived_too_late_is_a_timeout_even_if_read_before_the_timeout_check() {
    // Stopped from 5 to 50 ms; the answer arrives at 30 ms.
    let mut case = Case { timeout: ms(20), ..open(vec![ms(0)], 1) };
    case.script.service_time = ms(30);
    case.script.stops = vec![Freeze { from: ms(5), until: ms(50) }];
    case.script.timestamps = Timestamps::Kernel;
    let (result, _) = load_result(&case);
    assert_eq!(result.counts.failed["net:timeout"], 1);
}

/// 25 ms of work and a timeout of 30 ms. In a batch where the first one is late, all others must be
/// seen too.
#[test]
fn a_late_answer_does_not_time_out_an_answer_that_arrived_in_time() {
    let mut case = Case { timeout: ms(30), ..open(every(Nanos(50_000), 400), 1_000) };
    case.script.service_time = ms(25);
    case.script.requests = vec![RequestFate::Never];
    case.script.requests.resize(400, RequestFate::Answer);
    case.script.stops = vec![Freeze { from: ms(24), until: ms(200) }];
    case.script.timestamps = Timestamps::Kernel;
    let (result, _) = load_result(&case);
    assert_eq!(result.counts.failed, [("net:timeout".to_owned(), 1)].into());
    assert_eq!(result.counts.ok, 399);
}

/// Stopped from 1.95 to 602 s. The seconds between are reported one by one, with what was planned
/// in each.
#[test]
fn a_stop_of_ten_minutes_is_ten_minutes_of_empty_seconds() {
    let mut case = open(every(ms(100), 6_100), 10_000);
    case.script.stops = vec![Freeze { from: ms(1_950), until: ms(602_000) }];
    case.script.timestamps = Timestamps::Kernel;
    let (result, seconds) = load_result(&case);
    assert_eq!((result.counts.ok, seconds.len()), (6_100, 610));
    assert!(seconds.iter().all(|second| second.counts.planned == 10));
    let started: Vec<u64> = seconds.iter().map(|second| second.counts.started).collect();
    let expected = [vec![10; 2], vec![0; 600], vec![6_010], vec![10; 7]].concat();
    assert_eq!(started, expected);
}
