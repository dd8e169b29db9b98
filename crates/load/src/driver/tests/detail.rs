//! What is known of single shots and of tags, and the end of the ammo.

use super::*;

#[test]
fn a_record_says_when_each_step_was() {
    // A connection that takes 2 ms, then 5 ms of work; due at 0 and 20 ms.
    let mut case = Case { records: true, ..open(every(ms(20), 2), 10) };
    (case.script.connect_time, case.script.service_time) = (ms(2), ms(5));
    let (fired, heard) = fired_in_detail(&case);
    let sent = fired.counts.bytes_sent / 2;
    let received = fired.counts.bytes_received / 2;
    let first = ShotRecord {
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
    let second = ShotRecord {
        due: ms(20),
        started: ms(20),
        connected: None,
        sent: ms(20),
        first_byte: Some(ms(25)),
        done: ms(25),
        ..first
    };
    assert_eq!(heard.shots, [first, second]);
    assert_eq!(fired.counts.answer_bytes, fired.counts.bytes_received, "both are whole");
}

#[test]
fn a_record_of_what_never_was_ends_with_the_shot() {
    // The first has no connection, the second no answer, the third half of one.
    use RequestFate::{CutShort, Never};
    let mut case = Case { records: true, timeout: ms(5), ..open(every(ms(10), 3), 10) };
    case.script.connects = vec![ConnectFate::Hang, ConnectFate::Accept, ConnectFate::Accept];
    case.script.requests = vec![Never, CutShort];
    let (fired, heard) = fired_in_detail(&case);
    let outcomes: Vec<Outcome> = heard.shots.iter().map(|shot| shot.outcome).collect();
    let timeout = Outcome::Net(Net::Timeout);
    assert_eq!(outcomes, [timeout, timeout, Outcome::Net(Net::CutShort)]);
    assert!(heard.shots.iter().all(|shot| shot.status.is_none()), "none was whole");
    let [hung, silent, cut] = heard.shots[..] else { panic!("three shots") };
    assert_eq!((hung.connected, hung.sent, hung.done), (Some(ms(5)), ms(5), ms(5)));
    assert_eq!((hung.first_byte, hung.bytes_sent, hung.bytes_received), (None, 0, 0));
    assert_eq!((silent.connected, silent.sent, silent.done), (Some(ms(10)), ms(10), ms(15)));
    assert_eq!((silent.first_byte, silent.bytes_received), (None, 0));
    assert!(silent.bytes_sent > 0 && cut.bytes_received > 0);
    assert_eq!((fired.counts.answer_bytes, fired.counts.bytes_received), (0, cut.bytes_received));
    // The close is 1 µs behind the bytes.
    assert_eq!((cut.first_byte, cut.done), (Some(ms(21)), Nanos(21_001_000)));
}

#[test]
fn more_records_than_a_buffer_holds_come_in_order() {
    let mut case = Case { records: true, ..closed(3, Until::Requests(5_000)) };
    case.script.service_time = Nanos(500_000);
    let (fired, heard) = fired_in_detail(&case);
    assert_eq!((fired.records_lost, heard.shots.len()), (0, 5_000));
    assert!(heard.shots.is_sorted_by_key(|shot| shot.done));
}

#[test]
fn a_listener_that_never_comes_loses_records_and_no_shot() {
    let (to_us, messages) = mpsc::channel();
    let (_back, empty) = mpsc::channel();
    let mut recorder = Recorder::new(0, Headline::ServiceTime, to_us, empty).with_records();
    let zero = Nanos(0);
    let shot = ShotRecord {
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
    (0..300_000).for_each(|_| recorder.record(shot));
    recorder.finish(zero);
    let mut heard = Heard::default();
    let collected = collect(&messages, &[mpsc::channel().0], &Check::default(), &mut heard);
    // 256 buffers exist of 1 024 records each; one of them has nothing to be replaced by.
    assert_eq!(heard.shots.len(), 255 * 1_024);
    assert_eq!(collected.records_lost, 300_000 - 255 * 1_024);
}

#[test]
fn tags_are_counted_apart() {
    // Of three tags in turn the second is answered wrongly, 4 times in 12.
    use RequestFate::{Answer, CutShort};
    let mut case = Case { tags: 3, ..open(every(ms(10), 12), 1) };
    case.script.requests = vec![Answer, CutShort, Answer];
    case.script.service_time = ms(2);
    let (fired, _) = fired(&case);
    assert_eq!((fired.counts.ok, fired.counts.failed_total()), (8, 4));
}

#[test]
fn the_ammo_ends_an_open_load_and_what_was_not_there_was_not_planned() {
    for when_full in [WhenFull::Queue, WhenFull::Drop, WhenFull::Stretch] {
        let case = Case { ammo: Some(25), when_full, ..open(every(ms(10), 100), 10) };
        let (fired, _) = fired(&case);
        let counts = &fired.counts;
        assert_eq!((counts.planned, counts.ok, counts.dropped), (25, 25, 0), "{when_full:?}");
        // Shot 25 would have been due at 250 ms.
        assert_eq!((fired.end, fired.scheduled), (End::Complete, ms(250)));
        assert_eq!((fired.lasted, fired.ok_inside), (ms(241), 25));
    }
}

#[test]
fn ammo_that_ends_while_shots_wait_drops_none() {
    // Each takes 25 ms, due each 10 ms, one at a time: at 100 ms ten are due, four started.
    let mut case = Case { ammo: Some(5), ..open(every(ms(10), 100), 1) };
    case.script.service_time = ms(25);
    let (fired, _) = fired(&case);
    assert_eq!((fired.counts.planned, fired.counts.ok, fired.counts.dropped), (5, 5, 0));
    assert_eq!(fired.lasted, ms(125));
}

#[test]
fn the_ammo_ends_a_closed_load() {
    for until in [Until::For(ms(1_000)), Until::Requests(100)] {
        let mut case = Case { ammo: Some(7), ..closed(3, until) };
        case.script.service_time = ms(10);
        let (fired, _) = fired(&case);
        assert_eq!((fired.counts.planned, fired.counts.ok), (7, 7));
        assert_eq!((fired.end, fired.scheduled, fired.lasted), (End::Complete, ms(30), ms(30)));
        assert_eq!(fired.ok_inside, 7);
    }
}

#[test]
fn more_ammo_than_shots_changes_nothing() {
    let case = Case { ammo: Some(1_000), ..open(every(ms(10), 100), 10) };
    let (fired, _) = fired(&case);
    assert_eq!((fired.counts.planned, fired.counts.ok, fired.scheduled), (100, 100, ms(990)));
}
