//! What happens where the server does not take what is sent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stampede_model::causes::chain;
use stampede_model::event::{Event, EventListener};
use stampede_remote_write::{Pace, RemoteWriter, SendError, Sent, Settings, WithRemoteWrite};

use crate::scripted::{Answer, Request, Server};
use crate::trial::{begin, second, settings, writer};

/// A load of three seconds, sent to a server; what arrived and what the writer says of it.
fn three_seconds(settings: Settings) -> Sent {
    let mut writer = writer(settings);
    begin(&mut writer);
    (0..3).for_each(|index| writer.second(&second(index, 10)));
    writer.finish()
}

/// The samples of the same load, where nothing fails.
fn samples_of_three_seconds() -> u64 {
    let server = Server::start([], Answer::of(204));
    let sent = three_seconds(settings(server.address()));
    assert!(sent.is_whole() && sent.last_error.is_none(), "{sent:?}");
    let arrived: u64 = server.requests().iter().map(Request::samples).sum();
    assert_eq!(sent.samples, arrived);
    assert!(sent.series > 20 && sent.samples > 3 * 20, "{sent:?}");
    sent.samples
}

/// The labels of a series, a time and the bits of a value.
type OneSample = (Vec<(String, String)>, i64, u64);

/// How often each sample is in requests that were taken.
fn taken(requests: &[Request]) -> BTreeMap<OneSample, u32> {
    let mut all = BTreeMap::new();
    for series in requests.iter().filter(|one| one.is_taken()).flat_map(|one| &one.series) {
        for (bits, at) in &series.samples {
            *all.entry((series.labels.clone(), *at, *bits)).or_default() += 1;
        }
    }
    all
}

#[test]
fn a_request_is_what_the_specification_asks_for() {
    let server = Server::start([], Answer::of(204));
    let address = server.address().replace("//", "//ann:pw@");
    three_seconds(settings(&address));
    let request = server.wait_for(1)[0].clone();
    assert!(request.series.iter().all(|series| series.label("load") == "const(10,2s)"));
    let head = request.head;
    assert_eq!(head[0], "POST /api/v1/write HTTP/1.1");
    for expected in [
        "content-type: application/x-protobuf",
        "content-encoding: snappy",
        "x-prometheus-remote-write-version: 0.1.0",
        "authorization: Basic YW5uOnB3",
        concat!("user-agent: stampede/", env!("CARGO_PKG_VERSION")),
    ] {
        assert!(head.iter().any(|line| line == expected), "{expected}: {head:?}");
    }
}

#[test]
fn what_failed_for_the_moment_is_sent_again_and_arrives_once() {
    let all = samples_of_three_seconds();
    let busy = Answer::Status(429, "retry-after: 0\r\n", "slow down");
    for script in [
        vec![Answer::of(500), Answer::of(503)],
        vec![busy.clone(), busy],
        vec![Answer::Close, Answer::of(500)],
        vec![Answer::Hang],
    ] {
        let tries = script.len() + 1;
        let server = Server::start(script.clone(), Answer::of(204));
        let mut writer = writer(settings(server.address()));
        begin(&mut writer);
        (0..3).for_each(|index| writer.second(&second(index, 10)));
        let requests = server.wait_for(tries);
        // A later attempt begins with what failed, in the same order.
        let (first, last) = (&requests[0], &requests[tries - 1]);
        for (one, again) in first.series.iter().zip(&last.series) {
            assert_eq!(one.labels, again.labels, "{script:?}");
            assert!(again.samples.starts_with(&one.samples), "{script:?}");
        }
        let trouble = writer.take_trouble().expect("the first failure");
        assert!(writer.take_trouble().is_none(), "it is told once");
        assert!(trouble.error.is_passing(), "{trouble:?}");
        let sent = writer.finish();
        assert!(sent.is_whole(), "{script:?}: {sent:?}");
        assert_eq!(sent.samples, all, "{script:?}");
        let taken = taken(&server.requests());
        assert_eq!(taken.len() as u64, all, "{script:?}");
        assert!(taken.values().all(|times| *times == 1), "{script:?}: {taken:?}");
    }
}

#[test]
fn what_is_refused_is_not_sent_again() {
    let all = samples_of_three_seconds();
    for status in [400, 401, 404, 307] {
        let server = Server::start([Answer::Status(status, "", "no\nmore")], Answer::of(204));
        let mut writer = writer(settings(server.address()));
        begin(&mut writer);
        (0..2).for_each(|index| writer.second(&second(index, 10)));
        let refused = server.wait_for(1)[0].samples();
        writer.second(&second(2, 10));
        let sent = writer.finish();
        assert_eq!(
            (sent.failed, sent.dropped, sent.samples),
            (refused, 0, all - refused),
            "{status}"
        );
        let Some(SendError::Answered { status: last, answer, .. }) = sent.last_error else {
            panic!("{status}: another error");
        };
        assert_eq!((last, answer.as_str()), (status, "no"));
        let requests = server.requests();
        let first = &requests[0].series[0];
        let again = requests[1..].iter().flat_map(|one| &one.series);
        let mut again = again.filter(|one| one.labels == first.labels);
        assert!(again.all(|one| one.samples.iter().all(|sample| !first.samples.contains(sample))));
    }
}

#[test]
fn a_full_queue_loses_the_oldest_and_counts_them() {
    let all = samples_of_three_seconds();
    let server = Server::start([], Answer::of(503));
    let mut slow = settings(server.address());
    slow.pace = Pace { waiting_max: 30, flush: Duration::from_millis(100), ..slow.pace };
    let sent = three_seconds(slow);
    assert_eq!((sent.samples, sent.failed, sent.dropped), (0, 30, all - 30), "{sent:?}");
    // The marks of the ends are the newest samples.
    let last = server.requests().pop().expect("a request");
    let stale = 0x7ff0_0000_0000_0002;
    let is_end = |bits: &u64| *bits == stale;
    let ends = last.series.iter().flat_map(|one| &one.samples).filter(|(bits, _)| is_end(bits));
    assert!(ends.count() > 10);
}

#[test]
fn a_server_that_never_answers_holds_up_nobody() {
    let server = Server::start([], Answer::Hang);
    let mut patient = settings(server.address());
    let flush = Duration::from_millis(200);
    patient.pace = Pace { timeout: Duration::from_secs(600), flush, ..patient.pace };
    let mut writer = writer(patient);
    begin(&mut writer);
    writer.second(&second(0, 10));
    server.wait_for(1);
    // The thread now waits for ten minutes. None of these calls does.
    (1..2_000).for_each(|index| writer.second(&second(index, 1)));
    let begun = Instant::now();
    let sent = writer.finish();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert_eq!(sent.samples, 0);
    // The five quantiles of two times, and more than ten other figures of each second.
    assert!(sent.failed > 2_000 * 20, "{sent:?}");
}

#[test]
fn without_a_server_the_listener_gets_one_notice() {
    struct Notices(Vec<String>);
    impl EventListener for Notices {
        fn event(&mut self, event: &Event<'_>) {
            if let Event::Notice(text) = event {
                self.0.push((*text).to_owned());
            }
        }
    }
    // A port that nobody listens on and nobody else gets: our own end of a connection has it.
    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = other.local_addr().expect("its address");
    let held = std::net::TcpStream::connect(to).expect("a connection");
    let port = held.local_addr().expect("its address").port();
    let address = format!("http://ann:s3cret-31@127.0.0.1:{port}/api/v1/write");
    let mut short = settings(&address);
    short.pace.flush = Duration::from_millis(100);
    let mut writer = writer(short);
    begin(&mut writer);
    let mut notices = Notices(Vec::new());
    let begun = Instant::now();
    let mut index = 0;
    while notices.0.is_empty() && begun.elapsed() < Duration::from_secs(30) {
        let mut both = WithRemoteWrite { listener: &mut notices, writer: Some(&mut writer) };
        both.event(&Event::Second(&second(index, 1)));
        index += 1;
        std::thread::sleep(Duration::from_millis(5));
    }
    (0..20).for_each(|more| {
        let mut both = WithRemoteWrite { listener: &mut notices, writer: Some(&mut writer) };
        both.event(&Event::Second(&second(index + more, 1)));
    });
    let said = notices.0.join("\n").replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(said);
    let sent = writer.finish();
    assert_eq!(sent.samples, 0);
    let last = chain(sent.last_error.as_ref().expect("an error"));
    assert!(!format!("{sent:?} {sent} {last} {said}").contains("s3cret-31"));
}

#[test]
fn what_arrived_is_said_in_one_line() {
    let error = SendError::Answered {
        status: 400,
        answer: "out of order sample".to_owned(),
        retry_after: None,
    };
    let whole = Sent { series: 48, samples: 4_512, ..Sent::default() };
    let after_trouble = Sent { last_error: Some(error), ..whole.clone() };
    let lossy = Sent { dropped: 12, failed: 3, ..after_trouble.clone() };
    insta::assert_snapshot!([whole, after_trouble, lossy].map(|sent| sent.to_string()).join("\n"));
}

#[test]
fn a_writer_that_is_dropped_ends_its_thread() {
    let server = Server::start([], Answer::of(204));
    let mut writer: RemoteWriter = writer(settings(server.address()));
    begin(&mut writer);
    drop(writer);
    let sent = three_seconds(settings(server.address()));
    assert!(sent.is_whole());
}
