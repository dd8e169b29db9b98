//! Tests which connections count as never answered: those that wait while others are served.

use super::*;

#[test]
fn connections_that_starve_behind_pinned_workers_are_counted() {
    // Keep-alive where a connection occupies its worker: 4 of 16 are served. 12 never are, however
    // often they connect again: at 0, 3, 6 and 9 s.
    let mut case = closed(16, Until::For(ms(10_000)));
    case.timeout = ms(3_000);
    case.script.service_time = ms(100);
    let served = std::iter::repeat_n(ConnectFate::Accept, 4);
    case.script.connects = served.chain([ConnectFate::Starve; 48]).collect();
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, failed(&result)), (400, vec![("net:timeout", 48)]));
    assert_eq!((result.connections.never_answered, result.connections.opened), (48, 52));
}

#[test]
fn no_connection_counts_as_starved_after_the_server_stops_answering() {
    // It answers for 200 ms, then never again. Connections that were opened later did not wait
    // because of others.
    let mut case = Case { timeout: ms(1_000), ..open(every(ms(20), 75), 100) };
    let answers = std::iter::repeat_n(RequestFate::Answer, 10);
    case.script.requests = answers.chain(vec![RequestFate::Never; 65]).collect();
    let (result, _) = load_result(&case);
    assert_eq!((result.counts.ok, failed(&result)), (10, vec![("net:timeout", 65)]));
    assert_eq!(result.connections.never_answered, 0);
}

/// Each connection is reset after half of an answer, or closed without a byte of one.
#[test]
fn half_an_answer_is_one_and_an_end_without_a_byte_is_none() {
    let never_answered = |fate| {
        let mut case = closed(1, Until::For(ms(100)));
        case.script.service_time = ms(10);
        case.script.requests = vec![fate];
        let (result, _) = load_result(&case);
        assert_eq!(result.counts.ok, 0);
        (result.connections.never_answered, result.connections.opened)
    };
    assert_eq!(never_answered(RequestFate::ResetHalfway).0, 0);
    let (never, opened) = never_answered(RequestFate::CloseUnanswered);
    assert!(never == opened && opened > 5, "{never} of {opened}");
}

#[test]
fn a_short_wait_is_no_starvation() {
    let never_answered = |due| {
        let mut case = open(due, 1);
        case.script.requests = vec![RequestFate::CloseUnanswered];
        load_result(&case).0.connections.never_answered
    };
    // 1 ms of 100 ms, and a load that is over at once.
    assert_eq!(never_answered(vec![ms(0), ms(100)]), 0);
    assert_eq!(never_answered(vec![ms(0)]), 0);
}

/// A connect call hangs for 60 ms. Then a connection waits for 40 of 100 ms.
#[test]
fn a_connect_that_hangs_is_no_wait_on_a_connection() {
    let mut case = Case { timeout: ms(60), ..closed(1, Until::For(ms(100))) };
    case.script.connects = vec![ConnectFate::Hang, ConnectFate::Starve];
    let (result, _) = load_result(&case);
    assert_eq!((result.connections.opened, result.connections.never_answered), (1, 0));
}
