//! Tests of access logs as files: what is sent of them, what is skipped, and their times.

use std::io::Write as _;

use stampede_model::load::Arrivals;
use stampede_model::schedule::{Problem, Schedule as _};
use stampede_model::time::Nanos;

use super::*;
use crate::recorded_rate::{Factor, FactorError, RecordedRate, RecordedRateError};

/// A log whose requests are at these seconds after 10:20:30, with these methods, paths and statuses.
fn log(lines: &[(u64, &str, &str, u16)]) -> String {
    let line = |(second, method, path, status): &(u64, &str, &str, u16)| {
        let (minute, second) = (20 + (30 + second) / 60, (30 + second) % 60);
        format!(
            "10.1.2.3 - - [10/Jan/2024:10:{minute:02}:{second:02} +0000] \"{method} {path} HTTP/1.1\" {status} 5\n"
        )
    };
    lines.iter().map(line).collect()
}

fn read_as(bytes: &[u8], file: &TrafficFile) -> (Vec<String>, TrafficNotes) {
    let (requests, notes) = read_all(bytes, file, HABITS).unwrap();
    let first = |request: &Request| {
        let text = String::from_utf8_lossy(&text_of(request)).into_owned();
        let host = text.lines().find(|line| line.starts_with("Host: ")).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        format!("{} {host}", line.trim_end_matches(" HTTP/1.1"))
    };
    (requests.iter().map(first).collect(), notes)
}

fn with(log: LogSelection) -> TrafficFile {
    TrafficFile { log, ..file(None) }
}

fn skipped(notes: &TrafficNotes) -> Vec<(Skip, u64)> {
    notes.skipped.iter().map(|(why, count)| (why.clone(), *count)).collect()
}

#[test]
fn lines_of_other_logs_between_are_skipped_and_counted() {
    let text = format!(
        "2024/01/10 10:20:30 [notice] 1#1: start worker processes\n# rotated\n{}\
         2024/01/10 10:20:31 [error] 7#7: *1 failed, request: \"GET /b HTTP/1.1\", host: \"x\"\n\
         PHP Warning:  x in /a.php on line 3\n\n{}10.1.2.3 - - [10/Jan/2024:10:20:3",
        log(&[(0, "GET", "/a", 200), (1, "POST", "/p", 200)]),
        log(&[(2, "HEAD", "/c", 200)]),
    );
    let (requests, notes) = read_as(text.as_bytes(), &file(None));
    assert_eq!(requests, ["GET /a Host: target", "HEAD /c Host: target"]);
    let post = Skip::Method { method: "POST".to_owned() };
    let expected = [(post, 1), (Skip::ErrorLog {}, 2), (Skip::NotLogged {}, 2)];
    assert_eq!((skipped(&notes), notes.broken), (expected.to_vec(), 0));
}

#[test]
fn an_error_log_is_called_that() {
    let text = "2024/01/10 10:20:30 [warn] 2#2: 512 workers\n2024/01/10 10:20:31 [error] 7#7: *1 open() failed\n";
    let error = read_all(text.as_bytes(), &file(None), HABITS).unwrap_err();
    let TrafficError::Empty { skipped, .. } = error else { panic!("{error}") };
    assert_eq!(skipped, [(Skip::ErrorLog {}, 2)]);
}

#[test]
fn errors_of_the_log_are_sent_or_not_as_asked() {
    let lines = [
        (0, "GET", "/a", 200),
        (0, "GET", "/b", 404),
        (0, "GET", "/c", 503),
        (0, "GET", "/d", 301),
    ];
    let text = log(&lines);
    assert_eq!(read_as(text.as_bytes(), &file(None)).0.len(), 4);
    let without =
        with(LogSelection { answers: LoggedAnswers::WithoutErrors, ..LogSelection::default() });
    let (requests, notes) = read_as(text.as_bytes(), &without);
    assert_eq!(requests, ["GET /a Host: target", "GET /d Host: target"]);
    let expected = [(Skip::LoggedStatus { class: 4 }, 1), (Skip::LoggedStatus { class: 5 }, 1)];
    assert_eq!(skipped(&notes), expected);
}

#[test]
fn methods_and_hosts_are_those_that_are_asked_for() {
    let text = "{\"method\":\"PUT\",\"uri\":\"/a\",\"host\":\"a.test\",\"status\":200}\n\
                {\"method\":\"GET\",\"url\":\"https://b.test/b\",\"status\":200}\n";
    let methods = vec!["PUT".to_owned(), "GET".to_owned()];
    let of_target = LogSelection { methods, ..LogSelection::default() };
    let logged = LogSelection { host: LoggedHost::Logged, ..of_target.clone() };
    let expected = ["PUT /a Host: target", "GET /b Host: target"];
    assert_eq!(read_as(text.as_bytes(), &with(of_target)).0, expected);
    let (requests, notes) = read_as(text.as_bytes(), &with(logged));
    assert_eq!(requests, ["PUT /a Host: a.test", "GET /b Host: b.test"]);
    assert_eq!(notes.other_host.as_deref(), Some("a.test"));
}

#[test]
fn a_format_that_is_given_is_taken() {
    let format = Some("$request_method~$request_uri~$status".parse().unwrap());
    let given = with(LogSelection { format, ..LogSelection::default() });
    let (requests, notes) = read_as(b"GET~/a b~200\n/other\nPOST~/b~200\n", &given);
    assert_eq!(requests, ["GET /a%20b Host: target"]);
    assert_eq!(notes.format.as_deref(), Some("access.log"));
    assert_eq!(skipped(&notes).len(), 2);
}

#[test]
fn our_own_objects_are_no_log() {
    let own = b"{\"path\":\"/a\",\"method\":\"GET\",\"host\":\"b\"}\n";
    assert_eq!(read_as(own, &file(None)).1.format.as_deref(), Some("jsonl"));
    let logged = b"{\"msg\":\"start\"}\n{\"path\":\"/a\",\"method\":\"GET\",\"status\":200}\n";
    assert_eq!(read_as(logged, &file(None)).1.format.as_deref(), Some("access.log"));
    let misspelt = b"{\"path\":\"/a\",\"method\":\"GET\",\"tga\":\"x\"}\n";
    assert!(matches!(
        read_all(misspelt, &file(None), HABITS),
        Err(TrafficError::Broken { line: 1, .. })
    ));
}

/// Applications log what they answer, with no status or time that is known.
#[test]
fn logs_of_applications_are_logs_though_they_have_no_status() {
    let of = |text: &str| read_as(text.as_bytes(), &file(None));
    for text in [
        "{\"level\":\"info\",\"msg\":\"hello\"}\n{\"level\":\"info\",\"msg\":\"in\",\"method\":\"GET\",\"url\":\"/y?x=1\"}\n",
        "{\"method\":\"GET\",\"path\":\"/y?x=1\",\"controller\":\"A\"}\n{\"method\":\"POST\",\"path\":\"/z\",\"controller\":\"A\"}\n",
        "{\"severity\":\"INFO\",\"http\":{\"method\":\"GET\",\"url\":\"https://a.test/y?x=1\"}}\n",
        "{\"level\":\"info\",\"message\":\"GET /y?x=1\",\"timestamp\":\"2024-10-25T02:31:39.452Z\"}\n",
        "app-1  | {\"message\":\"in\",\"request\":{\"method\":\"GET\",\"uri\":\"/y?x=1\"}}\n",
    ] {
        let (requests, notes) = of(text);
        assert_eq!(notes.format.as_deref(), Some("access.log"), "{text}");
        assert_eq!(requests, ["GET /y?x=1 Host: target"], "{text}");
    }
    // A document over several lines is neither a log nor requests.
    let document =
        read_all(b"{\n  \"ip\": \"::1\",\n  \"method\": \"GET\"\n}\n", &file(None), HABITS);
    assert!(matches!(document, Err(TrafficError::UnknownFormat { .. })), "{document:?}");
    // A log without any request is called that.
    let none =
        b"{\"level\":\"info\",\"msg\":\"a\"}\n{\"level\":\"info\",\"msg\":\"b\",\"url\":\"--\"}\n";
    match read_all(none, &file(None), HABITS) {
        Err(TrafficError::Empty { skipped, .. }) => {
            assert_eq!(skipped, [(Skip::NotLogged {}, 2)]);
        }
        other => panic!("{other:?}"),
    }
}

/// Each pass unpacks the file again, and the share that was read is that of the packed file.
#[test]
fn a_compressed_log_is_read_as_what_is_in_it() {
    let text = log(&[(0, "GET", "/a", 200), (1, "GET", "/b", 200)]).repeat(2_000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        text.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    for packed in [gzip.finish().unwrap(), zstd] {
        assert!(packed.len() < text.len() / 4);
        let mut reading = reading(&packed, None, &Tags::new()).unwrap();
        let mut request = Request::default();
        for _ in 0..2 {
            let mut count = 0;
            while reading.next(&mut request).unwrap() == Entry::Request {
                count += 1;
            }
            assert_eq!((count, reading.share_read()), (4_000, Some(1.0)));
            reading.again().unwrap();
        }
    }
}

fn rate(
    text: &str,
    answers: LoggedAnswers,
    factor: &str,
) -> Result<RecordedRate, RecordedRateError> {
    let (open, length) = opening(text.as_bytes());
    let file = with(LogSelection { answers, ..LogSelection::default() });
    let reading = TrafficReader::new(&file, open, length, HABITS, &Tags::new()).unwrap();
    RecordedRate::read(reading, factor.parse().unwrap())
}

fn schedule(text: &str, factor: &str) -> String {
    rate(text, LoggedAnswers::All, factor).unwrap().schedule.to_string()
}

#[test]
fn the_recorded_rate_is_that_of_what_is_sent() {
    let lines = [
        (0, "GET", "/a", 200),
        (0, "POST", "/skipped", 200),
        (0, "GET", "/b", 404),
        (0, "GET", "/c", 200),
        (1, "GET", "/d", 200),
        (3, "GET", "/e", 200),
        (2, "GET", "/before", 200),
        (5, "GET", "/f", 200),
    ];
    // The one that is logged late counts as made with the one above it.
    let all = "const(3,1s) const(1,1s) const(0,1s) const(2,1s) const(0,1s) const(1,1s)";
    assert_eq!(schedule(&log(&lines), "1"), all);
    let fast =
        "const(6,500ms) const(2,500ms) const(0,500ms) const(4,500ms) const(0,500ms) const(2,500ms)";
    assert_eq!(schedule(&log(&lines), "2x"), fast);
    let without = rate(&log(&lines), LoggedAnswers::WithoutErrors, "1").unwrap();
    assert_eq!(without.schedule.planned(), 6);
    let exact = "{\"ts\":1704882030.25,\"method\":\"GET\",\"uri\":\"/a\",\"status\":200}\n\
                 {\"method\":\"GET\",\"uri\":\"/b\",\"status\":200}\n\
                 {\"ts\":1704882031.75,\"method\":\"GET\",\"uri\":\"/c\",\"status\":200}\n";
    let rate = rate(exact, LoggedAnswers::All, "1").unwrap();
    assert_eq!(
        (rate.schedule.to_string().as_str(), rate.without_time),
        ("const(2,1s) const(1,1s)", 1)
    );
}

#[test]
fn what_makes_no_schedule_is_said() {
    let of = |text: &str| rate(text, LoggedAnswers::All, "1").unwrap_err();
    assert!(matches!(of("/a\n/b\n"), RecordedRateError::NoTimes(_)));
    let newest_first: Vec<_> = (0..5).rev().map(|n| (n * 100, "GET", "/", 200)).collect();
    assert!(matches!(of(&log(&newest_first)), RecordedRateError::Backwards(_)));
    let long = "{\"ts\":1704882030,\"method\":\"GET\",\"uri\":\"/a\",\"status\":200}\n\
                {\"ts\":1714882030,\"method\":\"GET\",\"uri\":\"/c\",\"status\":200}\n";
    let too_long = of(long);
    assert!(matches!(too_long, RecordedRateError::NoSchedule { problem: Problem::TooLong, .. }));
    assert!(too_long.hint().contains("--speed"));
    assert_eq!(rate(long, LoggedAnswers::All, "1000x").unwrap().schedule.planned(), 2);
    let (open, _) = opening(b"[10/Jan/2024:10:20:30] \"GET / HTTP/1.1\" 200\n");
    let pipe = TrafficReader::new(&file(None), open, None, HABITS, &Tags::new());
    let pipe = RecordedRate::read(pipe.unwrap(), Factor::RECORDED);
    assert!(matches!(pipe, Err(RecordedRateError::Pipe(_))));
}

#[test]
fn a_factor_is_a_number() {
    assert_eq!("2x".parse::<Factor>().unwrap().to_string(), "2x");
    assert_eq!("1".parse(), Ok(Factor::RECORDED));
    assert_eq!("0.5X".parse::<Factor>().unwrap().to_string(), "0.5x");
    for text in ["", "x", "0", "-1", "2xx", "NaN", "inf", "1001"] {
        assert_eq!(text.parse::<Factor>(), Err(FactorError), "{text}");
    }
}

proptest! {
    /// As many requests as there are, each due within the step in which it was made.
    #[test]
    fn each_request_is_due_in_its_step(
        gaps in proptest::collection::vec(0_u64..400, 1..60),
        factor in proptest::sample::select(vec!["1", "2x", "3x", "0.3x"]),
    ) {
        let seconds: Vec<u64> =
            gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let line = |second: &u64| {
            format!("{{\"ts\":{},\"method\":\"GET\",\"uri\":\"/\",\"status\":200}}\n", 1_704_882_030 + second)
        };
        let text: String = seconds.iter().map(line).collect();
        let rate = rate(&text, LoggedAnswers::All, factor).unwrap();
        let mut due_times = rate.schedule.due_times(Arrivals::Uniform);
        let due: Vec<f64> =
            std::iter::from_fn(|| due_times.next_due()).map(Nanos::as_secs_f64).collect();
        prop_assert_eq!(due.len(), seconds.len());
        let factor: f64 = factor.trim_end_matches('x').parse().unwrap();
        let step = rate.step.as_secs_f64() / factor;
        for (second, due) in seconds.iter().zip(due) {
            let begin = ((*second - seconds[0]) as f64 / rate.step.as_secs_f64()).floor() * step;
            prop_assert!((begin - 0.01..=begin + step + 0.01).contains(&due), "{} {}", begin, due);
        }
    }
}
