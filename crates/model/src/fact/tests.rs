//! Tests that facts are written with a code, figures and a sentence, and can be read again.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use super::*;
use crate::agents::Loss;
use crate::entry::{EntryError, Skip};
use crate::kept::KeptLimit;
use crate::lag::LagMark;
use crate::stat::Stat;

fn read<T: Kind>(value: Value) -> Fact<T> {
    serde_json::from_value(value).expect("a fact")
}

#[test]
fn a_reason_has_a_code_figures_and_a_sentence() {
    let mark =
        |figure, time_ns, without_lag_ns| LagMark { figure, time_ns, without_lag_ns, may: false };
    let figures = vec![
        mark(Stat::Mean, 1_000_000, 900_000),
        mark(Stat::Percentile(990), 5_000_000, 3_760_000),
    ];
    let reason: Fact<Reason> = Generator::Lag { figures }.into();
    let text = "the generator was late: p99 5.00 ms, of which 1.24 ms is the generator's own delay \
                (more than 5 % of mean too)";
    let written = json!({
        "code": "generator_lag",
        "figures": [
            { "figure": "mean", "time_ns": 1_000_000, "without_lag_ns": 900_000 },
            { "figure": "p99", "time_ns": 5_000_000, "without_lag_ns": 3_760_000 },
        ],
        "text": reason.to_string(),
    });
    assert_eq!(serde_json::to_value(&reason).expect("JSON"), written);
    assert_eq!(read::<Reason>(written), reason);
    assert_eq!(reason.code(), "generator_lag");
    if cfg!(not(feature = "codes-for-text")) {
        assert_eq!(reason.to_string(), text);
    }
}

/// The generator's lag had a bound of its own in earlier versions.
#[test]
fn a_reason_of_an_earlier_version_is_shown_as_it_was() {
    let text = "the generator was late: p99 schedule lag 1.24 ms, allowed 1.00 ms";
    let written = json!({"code": "generator_late", "p99_lag_ns": 1_240_000, "limit_ns": 1_000_000, "text": text});
    let reason = read::<Reason>(written);
    assert_eq!((reason.known(), reason.code().as_str()), (None, "generator_late"));
    assert_eq!(reason.sentence(), text);
}

#[test]
fn a_nested_fact_survives_a_round_trip() {
    let difference = Mismatch::PhpVersion { version: "8.4.1".into(), reference: "8.2.1".into() };
    let reason: Fact<Reason> = Server::Changed { difference }.into();
    let inner: Fact<Notice> = Notice::TimeScale { scale: 0.5 }.into();
    let notice: Fact<Notice> = Notice::of_run("A".into(), &inner).into();
    let text = serde_json::to_string(&(&reason, &notice)).expect("JSON");
    let again: (Fact<Reason>, Fact<Notice>) = serde_json::from_str(&text).expect("facts");
    assert_eq!(again, (reason, notice));
}

#[test]
fn a_sentence_of_format_1_is_shown_as_it_was() {
    let reason = read::<Reason>(json!("the generator was late: p99 schedule lag 9 ms"));
    assert_eq!(reason.known(), None, "nothing is decided by a sentence");
    let Fact::Other(other) = &reason else { panic!("{reason:?}") };
    assert!(other.is_bare() && other.text.starts_with("the generator was late"));
    let written = serde_json::to_value(&reason).expect("JSON");
    assert_eq!(written["code"], "text");
    if cfg!(not(feature = "codes-for-text")) {
        assert_eq!(read::<Reason>(written), reason);
    }
}

#[test]
fn leaks_in_a_run_of_format_1_are_parsed() {
    #[derive(Deserialize)]
    struct Seen {
        #[serde(deserialize_with = "observation::read")]
        notices: Vec<Fact<Observation>>,
    }
    let text = r#"{"notices": ["class of one request is visible in a later one", "else"]}"#;
    let seen: Seen = serde_json::from_str(text).expect("JSON");
    assert_eq!(seen.notices[0].known(), Some(&Observation::Visible { what: "class".into() }));
    assert_eq!(seen.notices[1].known(), None);
}

#[test]
fn a_reason_of_a_later_version_is_kept_whole() {
    for written in [
        json!({"code": "moon_phase", "phase": 0.5, "text": "the moon was in the way"}),
        json!({"code": "steal", "share_percent": 1, "text": "the host took 1 %"}),
    ] {
        let reason = read::<Reason>(written.clone());
        assert_eq!(reason.known(), None);
        assert_eq!(reason.code(), written["code"]);
        if cfg!(not(feature = "codes-for-text")) {
            assert_eq!(reason.to_string(), written["text"]);
            assert_eq!(serde_json::to_value(&reason).expect("JSON"), written);
        }
    }
    let newer = json!({"code": "steal", "share": 0.25, "of": "two CPUs", "text": ""});
    assert_eq!(
        read::<Reason>(newer).known(),
        Some(&Reason::Machine(Machine::Steal { share: 0.25 }))
    );
}

fn codes<T: Kind>() -> Vec<String> {
    let schema = <Fact<T>>::json_schema(&mut SchemaGenerator::default()).to_value();
    let of = |code: &Value| code["properties"][CODE]["const"].as_str().map(str::to_owned);
    let listed = schema["oneOf"].as_array().expect("codes");
    let fields =
        listed.iter().flat_map(|code| code["properties"].as_object().expect("fields").keys());
    for field in fields {
        assert!(!stampede_mask::is_secret_name(field), "`{field}` would be masked in a file");
    }
    let mut codes: Vec<String> = listed.iter().filter_map(of).collect();
    assert_eq!(codes.len(), listed.len(), "each has a code");
    assert_eq!(codes.pop().as_deref(), Some(BARE));
    for code in listed {
        assert_eq!(code["properties"][TEXT]["type"], "string", "{code}");
        assert!(code["required"].as_array().expect("required").contains(&json!(TEXT)), "{code}");
    }
    codes
}

fn assert_well_formed(codes: &[String], least: usize) {
    let own: BTreeSet<&String> = codes.iter().collect();
    assert_eq!(own.len(), codes.len(), "each is one thing: {codes:?}");
    assert!(codes.len() >= least, "{codes:?}");
    for code in codes {
        assert!(code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{code}");
    }
}

#[test]
fn schemas_list_every_code_once() {
    assert_well_formed(&codes::<Reason>(), 60);
    assert_well_formed(&codes::<Notice>(), 30);
    assert_well_formed(&codes::<Mismatch>(), 15);
    assert_well_formed(&codes::<Observation>(), 4);
    assert_well_formed(&codes::<Php>(), 4);
    assert_well_formed(&codes::<LimitFound>(), 25);
}

#[test]
fn the_schema_in_the_docs_is_the_schema() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/facts.schema.json");
    let written: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("a schema")).expect("JSON");
    assert_eq!(written, schema(), "write it again: stampede schema facts > docs/facts.schema.json");
}

fn agent_lost(loss: Loss) -> Fact<Reason> {
    Generator::AgentLost { agent: "load2".into(), loss }.into()
}

fn miscounted(expected: Option<u64>) -> Fact<Reason> {
    Generator::AgentMiscounted { agent: "load2".into(), planned: 499, expected }.into()
}

/// Facts of agents.
fn of_agents() -> Vec<String> {
    let of = |reason: Fact<Reason>| reason.sentence();
    vec![
        of(agent_lost(Loss::Silent { for_ms: 3_012 })),
        of(agent_lost(Loss::Closed { said: String::new() })),
        of(agent_lost(Loss::Closed { said: "client_loop: send disconnect".into() })),
        of(agent_lost(Loss::Failed { message: "thread `load 0` panicked".into() })),
        of(agent_lost(Loss::Disorder {})),
        of(miscounted(Some(500))),
        of(miscounted(None)),
        of(Generator::AgentsDiffer {
            slowest: "load2".into(),
            slowest_median_ns: 2_400_000,
            fastest: "load1".into(),
            fastest_median_ns: 1_200_000,
        }
        .into()),
        of(Generator::AgentStart { agent: "load2".into(), error_ns: 4_100_000 }.into()),
        of(Generator::AgentMachine {
            agent: "load2".into(),
            steal_share: Some(0.123),
            throttled_ns: Some(41_000_000),
            slow_clock: Some("hpet".into()),
        }
        .into()),
    ]
}

/// Facts of the generator and the machine.
fn of_machine() -> Vec<String> {
    let of = |reason: Fact<Reason>| reason.sentence();
    vec![
        of(Generator::Short { sent_share: 0.981 }.into()),
        of(Generator::Limit { rate_per_s: 12_345.0, busy_share: 0.97 }.into()),
        of(Machine::OutOfMemory { kills: 1, limit_bytes: 1 << 30 }.into()),
        of(Machine::OutOfMemory { kills: 3, limit_bytes: 1 << 30 }.into()),
        of(Machine::MemoryFull { peak_bytes: 1_000 << 20, limit_bytes: 1 << 30 }.into()),
        of(Machine::PortsExhausted { addresses: 3 }.into()),
    ]
}

/// Facts of the server.
fn of_server() -> Vec<String> {
    let of = |reason: Fact<Reason>| reason.sentence();
    vec![
        of(Server::PhpErrors {
            lines: 2,
            failed: 1,
            first: "PHP Fatal error: x in a.php:1".into(),
        }
        .into()),
        of(Server::PhpMessages {
            messages: 300,
            per_request: 3.0,
            first: "PHP Warning: x in a.php:1".into(),
        }
        .into()),
        of(Server::PhpMessages { messages: 1, per_request: 0.001, first: "PHP Notice: x".into() }
            .into()),
        of(Traffic::Failed {
            kind: "http:503".into(),
            requests: 12,
            first: "GET /shop?id=3".into(),
            found: "status 503 instead of 200".into(),
        }
        .into()),
        of(Traffic::UnusualLengths {
            answers: 32,
            correct: 1_000,
            first: "GET /".into(),
            body_bytes: 4,
        }
        .into()),
        of(Traffic::FileHeader { name: "Content-Length;x".into(), requests: 2 }.into()),
        of(Traffic::LoggedIn { path: "/login".into(), times: 20 }.into()),
        of(Server::MailCaught { mails: 1_203 }.into()),
        of(Server::SessionsUnseen {}.into()),
        of(Server::SessionLock { looks: 50, waiting: 41, requests_max: 7 }.into()),
        of(Server::PermissionDenied { lines: 2, paths: vec!["cache/page.html".into()] }.into()),
        of(Server::DiskFull { at: "/var/lib".into() }.into()),
        of(Server::Replaced {
            started: 1,
            threads: false,
            is_asked: false,
            log: vec!["a".into(), "b".into()],
        }
        .into()),
        of(Server::Replaced { started: 2, threads: true, is_asked: true, log: vec![] }.into()),
        of(Server::ProcessEnded {
            role: "php".into(),
            signal: Some(11),
            exit_code: None,
            is_before_load: false,
        }
        .into()),
        of(Server::ProcessEnded {
            role: "web".into(),
            signal: None,
            exit_code: Some(1),
            is_before_load: true,
        }
        .into()),
        of(Server::Cold {
            opcache: Some(ColdOpcache::Empty),
            emptied: vec!["var/cache".into(), "tmp".into()],
        }
        .into()),
        of(Server::Changed { difference: Mismatch::WorkersChanged { workers: 3, before: 4 } }
            .into()),
    ]
}

/// Facts of what was answered.
fn of_answers() -> Vec<String> {
    let of = |reason: Fact<Reason>| reason.sentence();
    vec![
        of(Traffic::NoAnswer {
            failed: [("net:refused".to_owned(), 1_200), ("net:reset".to_owned(), 3)].into(),
        }
        .into()),
        of(Traffic::Starved { connections: 12, opened: 16, failure: None }.into()),
        of(Traffic::Starved {
            connections: 2,
            opened: 16,
            failure: Some(Failure { kind: "net:reset".into(), requests: 9 }),
        }
        .into()),
        of(Traffic::OddHeaders { kind: "folded".into(), answers: 1_200 }.into()),
        of(Traffic::OddHeaders { kind: "no-field".into(), answers: 1 }.into()),
        of(Traffic::OddHeaders { kind: "bare-lf".into(), answers: 2 }.into()),
        of(Traffic::OddHeaders { kind: "identity".into(), answers: 2 }.into()),
        of(Traffic::OddHeaders { kind: "repeated-length".into(), answers: 2 }.into()),
        of(Traffic::OddHeaders { kind: "status-line".into(), answers: 2 }.into()),
        of(Traffic::BytesAfterAnswers { answers: 1, requests: 0 }.into()),
        of(Traffic::BytesAfterAnswers { answers: 1_200, requests: 3 }.into()),
        of(Traffic::ErrorStream { bytes: 26 }.into()),
        of(Traffic::ConnectionsClosed { requests: 3, limit: None }.into()),
        of(Traffic::ConnectionsClosed {
            requests: 3,
            limit: Some(KeptLimit::Answers { answers: 1_000 }),
        }
        .into()),
        of(Traffic::ConnectionsClosed {
            requests: 3,
            limit: Some(KeptLimit::Idle { answered_ns: 4_900_000_000, closed_ns: 5_200_000_000 }),
        }
        .into()),
        of(Traffic::ConnectionsClosed {
            requests: 3,
            limit: Some(KeptLimit::Idle { answered_ns: 0, closed_ns: 60_000_000_000 }),
        }
        .into()),
    ]
}

/// Facts of what was sent.
fn of_load() -> Vec<String> {
    let of = |reason: Fact<Reason>| reason.sentence();
    vec![
        of(Traffic::NotCompared { requests: 5_000, compared: 1_200 }.into()),
        of(Traffic::NotMet { expectation: "p95 < 100ms".into(), found: None }.into()),
        of(Traffic::FellBehind {
            why: Behind::Growing { in_flight_at_half: 120, in_flight_at_end: 2_400 },
        }
        .into()),
        of(Traffic::FellBehind { why: Behind::Lost { requests: 40, planned: 1_000 } }.into()),
        of(Traffic::FellBehind { why: Behind::Stretched { factor: 1.25 } }.into()),
        of(Traffic::FileBroken {
            entries: 1,
            line: 3,
            error: EntryError::HeadersWithoutEnd { bytes: 9 },
        }
        .into()),
        of(Traffic::FileSkipped { entries: 1, why: Skip::NoPath {} }.into()),
        of(Traffic::FileSkipped { entries: 5, why: Skip::NoPath {} }.into()),
        of(Traffic::RequestsOver { requests: 3, after_ns: 20_000_000 }.into()),
        of_request_file(1, Vec::new(), None),
        of_request_file(
            128,
            vec![
                SkippedEntries { why: Skip::Method { method: "POST".into() }, entries: 1_200 },
                SkippedEntries { why: Skip::NotHttp {}, entries: 1 },
            ],
            Some(BrokenEntries {
                entries: 2,
                line: 31,
                error: EntryError::HeadersWithoutEnd { bytes: 9 },
            }),
        ),
    ]
}

fn of_request_file(
    every: u64,
    skipped: Vec<SkippedEntries>,
    broken: Option<BrokenEntries>,
) -> String {
    let requests = 9_409 * every;
    let file = RequestFile {
        file: "access.log".to_owned(),
        format: "access.log".to_owned(),
        requests,
        sent: 9_409,
        every,
        skipped,
        broken,
        left_out: Vec::new(),
    };
    let notice: Fact<Notice> = Notice::RequestFile(file).into();
    notice.sentence()
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn parts_of_a_script_that_are_not_taken_over_are_named_with_their_lines() {
    let part = |what: &str, lines: Vec<u64>| LeftOutPart {
        what: what.to_owned(),
        lines,
        instead: "nothing is run".to_owned(),
    };
    let mut left_out = vec![part("a request, for its URL", vec![7])];
    left_out.extend((0..11).map(|number| part(&format!("`f{number}`"), (1..=12).collect())));
    let file = RequestFile {
        file: "k6.js".to_owned(),
        format: "k6".to_owned(),
        requests: 2,
        sent: 2,
        every: 1,
        skipped: Vec::new(),
        broken: None,
        left_out,
    };
    let sentence = file.to_string();
    let begin = "`k6.js` (k6): 2 requests; not taken over: a request, for its URL in line 7 (nothing \
                 is run), `f0` in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, … (nothing is run), ";
    assert!(sentence.starts_with(begin) && sentence.ends_with(" and 2 more"), "{sentence}");
}

#[test]
fn lines_that_are_not_applied_are_named_with_their_place() {
    let line = |file: &str, line, text: &str| DirectoryLine {
        file: file.to_owned(),
        line,
        text: text.to_owned(),
        why: Some(LineReason::OutsideApp),
        not_by: Vec::new(),
    };
    let lines = vec![
        DirectoryLine {
            why: Some(LineReason::ServerLacks),
            not_by: vec!["lighttpd".to_owned()],
            ..line("public/.htaccess", 3, "RewriteRule ^a$ - [F]")
        },
        line(".user.ini", 1, "auto_prepend_file=/opt/waf.php"),
    ];
    let mut files = DirectoryFiles {
        app: "shop".to_owned(),
        rules: 3,
        settings: 1,
        count: 5,
        lines,
        applied_by: vec!["nginx-fpm".to_owned(), "lighttpd-fcgi".to_owned()],
        ignored_by: Vec::new(),
    };
    let notice: Fact<Notice> = Notice::DirectoryFiles(files.clone()).into();
    insta::assert_snapshot!(notice.sentence());
    files.ignored_by = vec!["h2o".to_owned(), "roadrunner".to_owned()];
    (files.count, files.lines) = (0, Vec::new());
    insta::assert_snapshot!(files.to_string(), @"app `shop`, its `.htaccess` and `.user.ini`: 3 rules for paths are applied by `nginx-fpm` and `lighttpd-fcgi`, not by `h2o` and `roadrunner`; 1 setting of PHP is applied by every runtime; load only paths that do not need what is not applied");
    (files.applied_by, files.rules, files.settings) = (Vec::new(), 1, 0);
    insta::assert_snapshot!(files.to_string(), @"app `shop`, its `.htaccess` and `.user.ini`: 1 rule for paths is not applied by `h2o` and `roadrunner`; load only paths that do not need what is not applied");
}

/// One fact of each shape, as printed for a user.
#[test]
fn sentences_are_as_they_were() {
    let text = [of_machine(), of_server(), of_answers(), of_load(), of_agents()].concat();
    insta::assert_snapshot!(text.join("\n").replace('\u{202f}', " "));
}

/// A stored code keeps its meaning for ever. Removing or renaming one would break the readers of
/// stored results.
#[test]
fn codes_are_never_renamed() {
    let all = [
        codes::<Reason>(),
        codes::<Notice>(),
        codes::<Mismatch>(),
        codes::<Observation>(),
        codes::<Php>(),
        codes::<LimitFound>(),
    ];
    insta::assert_snapshot!(all.map(|codes| codes.join("\n")).join("\n\n"));
}
