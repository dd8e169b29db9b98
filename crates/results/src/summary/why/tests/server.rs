//! Causes around the web server.

use super::*;

#[test]
fn drops_of_a_listen_queue_are_a_backlog() {
    let listener = |backlog, queued_max, drops| {
        why(move |trial| {
            let one = ListenerSample { backlog, queued_max, drops };
            every(trial, |row| {
                row.listeners.insert("127.0.0.1:80".to_owned(), one.clone());
            });
            every(trial, |row| row.host.listen_drops = u64::from(backlog == 1) * drops);
        })
    };
    let dropped = listener(1, 2, 5);
    let words =
        "backlog: the queue of 127.0.0.1:80 (listen backlog 1) was full, 50 connections dropped";
    assert_eq!(line(&dropped), words);
    assert!(line(&listener(1, 2, 0)).ends_with("(listen backlog 1) was full"));
    assert_eq!(listener(1, 1, 0), [], "one that waits in a queue of one has room");
    assert_eq!(listener(4096, 100, 0), []);
    assert_eq!(listener(4096, 8, 5), [], "put off until it says something (TCP_DEFER_ACCEPT)");
    let elsewhere = why(|trial| {
        let one = ListenerSample { backlog: 4096, queued_max: 8, drops: 5 };
        every(trial, |row| {
            row.listeners.insert("127.0.0.1:80".to_owned(), one.clone());
            row.host.listen_drops = 5;
        });
    });
    assert_eq!(elsewhere, [], "put off, while another program's queue was full");
}

#[test]
fn counters_of_the_whole_machine_are_used_if_there_are_no_others() {
    let machine = |listeners: BTreeMap<String, ListenerSample>| {
        causes(move |trial| {
            trial.resources[0].host.listen_overflows = 3;
            trial.resources[0].listeners.clone_from(&listeners);
        })
    };
    assert_eq!(machine(BTreeMap::new()), [Cause::Backlog]);
    let own = BTreeMap::from([(
        "fpm.sock".to_owned(),
        ListenerSample { backlog: 9, ..Default::default() },
    )]);
    assert_eq!(machine(own), [], "another program's");
    let nobody_waits = causes(|trial| {
        load(trial).in_flight_max = 2;
        every(trial, |row| row.workers = None);
        trial.resources[0].host.listen_overflows = 3;
    });
    assert_eq!(nobody_waits, [], "another program's, too");
}

#[test]
fn a_web_server_at_its_limit_is_recognised_by_its_log() {
    let limit = |in_flight_max: u32| {
        why(move |trial| {
            load(trial).in_flight_max = in_flight_max;
            every(trial, |row| row.workers = None);
            let first = "50 worker_connections are not enough";
            trial.record.runtime.said = vec![log_entry(LogSignal::WebServerLimit, first)];
        })
    };
    let words = "web server's limit: nginx said 31 times: 50 worker_connections are not enough";
    assert_eq!(line(&limit(10)), words);
    assert_eq!(limit(4), [], "Apache says so with a process to spare for each request");
}

/// Tests two lines that are no cause. Apache may log that no worker is idle while no request waits,
/// and an app's 404 is the app's own.
#[test]
fn a_logged_limit_without_effect_is_no_cause() {
    let full = |means: LogSignal, in_flight_max: u32, kind: &'static str| {
        causes(move |trial| {
            load(trial).in_flight_max = in_flight_max;
            load(trial).counts.failed.insert(kind.to_owned(), 12);
            every(trial, |row| row.workers = None);
            trial.record.runtime.said = vec![log_entry(means, "server reached MaxRequestWorkers")];
        })
    };
    for means in [LogSignal::WebServerFull, LogSignal::WebServerLimit, LogSignal::Backlog] {
        assert_eq!(full(means, 2, "http:404"), [Cause::App], "{means:?}");
    }
    assert_eq!(full(LogSignal::WebServerFull, 2, "http:503"), [], "the app's own, by two of four");
    assert_eq!(full(LogSignal::WebServerFull, 4, "http:503"), [Cause::WebServer]);
    assert_eq!(full(LogSignal::WebServerFull, 4, "net:timeout"), [Cause::WebServer]);
    assert_eq!(full(LogSignal::WebServerFull, 5, "http:404"), [Cause::WebServer, Cause::App]);
    assert_eq!(full(LogSignal::WebServerLimit, 2, "net:reset"), [Cause::WebServer]);
    assert_eq!(full(LogSignal::WebServerLimit, 2, "http:500"), [Cause::WebServer]);
}

#[test]
fn failures_that_the_app_answers_are_its_own() {
    let answers = |failed: &[(&str, u64)], means: Option<LogSignal>| {
        why(|trial| {
            let failed = failed.iter().map(|(kind, count)| ((*kind).to_owned(), *count));
            load(trial).counts.failed.extend(failed);
            trial.record.runtime.said =
                means.map(|means| log_entry(means, "…")).into_iter().collect();
        })
    };
    let found = answers(&[("http:404", 12), ("http:500", 3), ("net:reset", 1)], None);
    let text = "the app itself answered with status 404 (12 times) and 500 (3 times)";
    assert_eq!(line(&found), text);
    assert!(found[0].evidence.is_empty(), "{found:#?}");
    let found =
        answers(&[("http:404", 9), ("http:403", 1), ("http:302", 5), ("http:500", 3)], None);
    let text = "the app itself answered with status 404 (9 times), 302 (5 times) and 500 (3 times)";
    assert_eq!(line(&found), text);
    assert_eq!(found[0].evidence, ["403 (once)"]);
    assert_eq!(found[0].proof.as_deref(), Some("403 (once)"));
    let memory = answers(&[("http:500", 3)], Some(LogSignal::PhpMemory));
    assert_eq!(memory[0].cause, Cause::Memory);
    assert_eq!(memory.len(), 1, "{memory:#?}");
    assert_eq!(answers(&[("http:503", 3), ("net:reset", 1)], None), [], "whose is not known");
    let few = answers(&[("http:503", 400)], Some(LogSignal::UpstreamGone));
    assert_eq!(few, [], "31 lines tell of a few of them");
}

#[test]
fn a_failing_status_of_the_front_quotes_its_log_line() {
    let status = |status: u16, means: LogSignal| {
        why(move |trial| {
            load(trial).counts.failed.insert(format!("http:{status}"), 12);
            trial.record.runtime.said = vec![log_entry(means, "upstream …")];
        })
    };
    let found = status(502, LogSignal::UpstreamGone);
    assert_eq!(line(&found), "502 12 times: nginx said: upstream …");
    assert_eq!(
        line(&status(504, LogSignal::UpstreamTimeout)),
        "504 12 times: nginx said: upstream …"
    );
    let own = status(500, LogSignal::UpstreamGone);
    assert_eq!(own[0].cause, Cause::App, "PHP's own answer");
    let found = status(500, LogSignal::UpstreamGone500);
    assert_eq!(line(&found), "500 12 times: nginx said: upstream …");
    let silent = |trial: &mut TrialData| {
        load(trial).counts.failed.insert("http:502".to_owned(), 12);
    };
    assert_eq!(why(silent), [], "no log says why");
    let fine = |trial: &mut TrialData| {
        trial.record.runtime.said =
            vec![log_entry(LogSignal::UpstreamGone, "after the last request")];
    };
    assert_eq!(why(fine), [], "every answer was correct");
}
