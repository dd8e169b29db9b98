//! Tests records of single requests, figures by tag, and the end of the traffic.

use super::*;

#[test]
fn a_record_has_the_time_of_each_step() {
    // Connecting takes 2 ms, the work 5 ms; due at 0 and 20 ms.
    let mut case = Case { records: true, ..open(every(ms(20), 2), 10) };
    (case.script.connect_time, case.script.service_time) = (ms(2), ms(5));
    let (result, reported) = load_result_in_detail(&case);
    let sent = result.counts.bytes_sent / 2;
    let received = result.counts.bytes_received / 2;
    let first = RequestRecord {
        due: ms(0),
        started: ms(0),
        connected: Some(ms(2)),
        sent: ms(2),
        first_byte: Some(ms(7)),
        done: ms(7),
        bytes_sent: sent,
        bytes_received: received,
        tag: Tag::NONE,
        outcome: Outcome::Ok,
        status: Some(200),
    };
    let second = RequestRecord {
        due: ms(20),
        started: ms(20),
        connected: None,
        sent: ms(20),
        first_byte: Some(ms(25)),
        done: ms(25),
        ..first
    };
    assert_eq!(reported.requests, [first, second]);
    assert_eq!(result.counts.answer_bytes, result.counts.bytes_received, "both are whole");
}

#[test]
fn steps_that_never_happened_get_the_end_time_of_the_request() {
    // The first request has no connection, the second no answer, the third half of one.
    use RequestFate::{CutShort, Never};
    let mut case = Case { records: true, timeout: ms(5), ..open(every(ms(10), 3), 10) };
    case.script.connects = vec![ConnectFate::Hang, ConnectFate::Accept, ConnectFate::Accept];
    case.script.requests = vec![Never, CutShort];
    let (result, reported) = load_result_in_detail(&case);
    let outcomes: Vec<Outcome> = reported.requests.iter().map(|request| request.outcome).collect();
    let timeout = Outcome::Net(Net::Timeout);
    assert_eq!(outcomes, [timeout, timeout, Outcome::Net(Net::CutShort)]);
    assert!(reported.requests.iter().all(|request| request.status.is_none()), "none was whole");
    let [hung, silent, cut] = reported.requests[..] else { panic!("three requests") };
    assert_eq!((hung.connected, hung.sent, hung.done), (Some(ms(5)), ms(5), ms(5)));
    assert_eq!((hung.first_byte, hung.bytes_sent, hung.bytes_received), (None, 0, 0));
    assert_eq!((silent.connected, silent.sent, silent.done), (Some(ms(10)), ms(10), ms(15)));
    assert_eq!((silent.first_byte, silent.bytes_received), (None, 0));
    assert!(silent.bytes_sent > 0 && cut.bytes_received > 0);
    assert_eq!((result.counts.answer_bytes, result.counts.bytes_received), (0, cut.bytes_received));
    // The close comes 1 µs after the bytes.
    assert_eq!((cut.first_byte, cut.done), (Some(ms(21)), Nanos(21_001_000)));
}

#[test]
fn records_beyond_one_buffer_arrive_in_order() {
    let mut case = Case { records: true, ..closed(3, Until::Requests(5_000)) };
    case.script.service_time = Nanos(500_000);
    let (result, reported) = load_result_in_detail(&case);
    assert_eq!((result.records_lost, reported.requests.len()), (0, 5_000));
    assert!(reported.requests.is_sorted_by_key(|request| request.done));
}

#[test]
fn a_listener_that_never_reads_loses_records_but_no_request() {
    let (to_us, messages) = mpsc::channel();
    let (_back, empty) = mpsc::channel();
    let mut recorder = Recorder::new(0, MeasuredTimes::ServiceTime, to_us, empty).with_records();
    let zero = Nanos(0);
    let request = RequestRecord {
        due: zero,
        started: zero,
        connected: None,
        sent: zero,
        first_byte: None,
        done: zero,
        bytes_sent: 0,
        bytes_received: 0,
        tag: Tag::NONE,
        outcome: Outcome::Ok,
        status: Some(200),
    };
    (0..300_000).for_each(|_| recorder.record(request));
    recorder.finish(zero);
    let mut reported = ReportedSeconds::default();
    let collected = collect(&messages, &[mpsc::channel().0], &[], &Check::default(), &mut reported);
    // 256 buffers of 1 024 records each exist. One of them cannot be replaced when it is full.
    assert_eq!(reported.requests.len(), 255 * 1_024);
    assert_eq!(collected.records_lost, 300_000 - 255 * 1_024);
}

#[test]
fn tags_are_counted_separately() {
    // With three tags in turn, the second one gets wrong answers, 4 times in 12.
    use RequestFate::{Answer, CutShort};
    let mut case = Case { tags: 3, ..open(every(ms(10), 12), 1) };
    case.script.requests = vec![Answer, CutShort, Answer];
    case.script.service_time = ms(2);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, result.counts.failed_total()), (8, 4));
}

#[test]
fn an_open_load_ends_with_its_traffic_and_missing_requests_were_not_planned() {
    for when_full in [WhenFull::Queue, WhenFull::Drop, WhenFull::Stretch] {
        let case = Case { traffic: Some(25), when_full, ..open(every(ms(10), 100), 10) };
        let (result, _) = load_result(&case);
        let counts = &result.counts;
        assert_eq!((counts.planned, counts.ok, counts.dropped), (25, 25, 0), "{when_full:?}");
        // Request 25 would have been due at 250 ms.
        assert_eq!((result.end, result.scheduled), (End::Complete, ms(250)));
        assert_eq!((result.lasted, result.ok_inside), (ms(241), 25));
    }
}

#[test]
fn no_request_is_dropped_if_the_traffic_ends_while_some_wait() {
    // Each takes 25 ms, due every 10 ms, one at a time: at 100 ms ten are due, four started.
    let mut case = Case { traffic: Some(5), ..open(every(ms(10), 100), 1) };
    case.script.service_time = ms(25);
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.planned, result.counts.ok, result.counts.dropped), (5, 5, 0));
    assert_eq!(result.lasted, ms(125));
}

#[test]
fn a_closed_load_ends_with_its_traffic() {
    for until in [Until::For(ms(1_000)), Until::Requests(100)] {
        let mut case = Case { traffic: Some(7), ..closed(3, until) };
        case.script.service_time = ms(10);
        let (result, _) = load_result(&case);
        assert_eq!((result.counts.planned, result.counts.ok), (7, 7));
        assert_eq!((result.end, result.scheduled, result.lasted), (End::Complete, ms(30), ms(30)));
        assert_eq!(result.ok_inside, 7);
    }
}

#[test]
fn more_traffic_than_requests_changes_nothing() {
    let case = Case { traffic: Some(1_000), ..open(every(ms(10), 100), 10) };
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.planned, result.counts.ok, result.scheduled), (100, 100, ms(990)));
}

/// Bodies have two bytes.
#[test]
fn right_answers_of_an_unusual_length_are_counted() {
    let unusual = |least, most, fate| {
        let lengths = BodyLengths { least, most };
        let mut case = Case { lengths, ..open(every(ms(10), 5), 1) };
        case.script.requests = vec![fate];
        let unusual = load_result(&case).0.unusual;
        (unusual.answers, unusual.first.map(|first| (first.at, first.body_bytes)))
    };
    assert_eq!(unusual(0, 2, RequestFate::Answer), (0, None));
    assert_eq!(unusual(3, 9, RequestFate::Answer), (5, Some((ms(1), 2))));
    assert_eq!(unusual(3, 9, RequestFate::CutShort), (0, None));
}

#[test]
fn an_example_of_a_failed_check_shows_what_was_found() {
    let mut case = open(every(ms(10), 3), 1);
    case.check.rules = vec!["header content-length == 3".to_owned().try_into().unwrap()];
    let (result, _) = load_result(&case);
    assert_eq!(failed(&result), [("check:header content-length == 3", 3)]);
    let [example] = result.examples.as_slice() else { panic!("{:?}", result.examples) };
    assert_eq!((example.at, example.status), (ms(1), Some(200)));
    assert!(example.found.contains("`2`"), "{}", example.found);
}
