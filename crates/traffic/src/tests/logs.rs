//! Tests of access logs as files: what is sent of them, what is skipped, and their times.

use std::io::Write as _;

use super::*;
use crate::recorded::RecordedTimes;

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
fn errors_of_the_log_are_sent_or_not_as_asked() {
    let lines = [
        (0, "GET", "/a", 200),
        (0, "GET", "/b", 404),
        (0, "GET", "/c", 503),
        (0, "GET", "/d", 301),
    ];
    let text = log(&lines);
    assert_eq!(read_as(text.as_bytes(), &file(None)).0.len(), 4);
    let without = TrafficFile { log_answers: LoggedAnswers::WithoutErrors, ..file(None) };
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
    let all = TrafficFile { log_methods: methods, ..TrafficFile::new("a.log") };
    let all = TrafficFile { headers: vec![("Host".to_owned(), "target".to_owned())], ..all };
    let expected = ["PUT /a Host: target", "GET /b Host: target"];
    assert_eq!(read_as(text.as_bytes(), &all).0, expected);
    let logged = TrafficFile { log_host: LoggedHost::Logged, ..all };
    let (requests, notes) = read_as(text.as_bytes(), &logged);
    assert_eq!(requests, ["PUT /a Host: a.test", "GET /b Host: b.test"]);
    assert_eq!(notes.other_host.as_deref(), Some("a.test"));
}

#[test]
fn a_format_that_is_given_is_taken() {
    let log_format = Some("$request_method~$request_uri~$status".parse().unwrap());
    let given = TrafficFile { log_format, ..file(None) };
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

fn times(text: &str, answers: LoggedAnswers) -> (Vec<u64>, u64) {
    let (open, length) = opening(text.as_bytes());
    let file = TrafficFile { log_answers: answers, ..file(None) };
    let reading = TrafficReader::new(&file, open, length, HABITS, &Tags::new()).unwrap();
    let mut recorded = RecordedTimes::new(reading);
    let offsets = recorded.by_ref().map(|offset| offset.unwrap().0 / 1_000_000).collect();
    (offsets, recorded.without_time())
}

#[test]
fn recorded_times_are_offsets_of_what_is_sent() {
    let lines = [
        (0, "GET", "/a", 200),
        (0, "POST", "/skipped", 200),
        (0, "GET", "/b", 404),
        (0, "GET", "/c", 200),
        (0, "GET", "/d", 200),
        (3, "GET", "/e", 200),
        (2, "GET", "/before", 200),
        (61, "GET", "/f", 200),
    ];
    // Four of the first second, and two that count as of the fourth.
    let all = vec![0, 250, 500, 750, 3_000, 3_500, 61_000];
    assert_eq!(times(&log(&lines), LoggedAnswers::All), (all, 0));
    let without = [0, 333, 666, 3_000, 3_500, 61_000].to_vec();
    assert_eq!(times(&log(&lines), LoggedAnswers::WithoutErrors), (without, 0));
    let exact = "{\"ts\":1704882030.25,\"method\":\"GET\",\"uri\":\"/a\",\"status\":200}\n\
                 {\"method\":\"GET\",\"uri\":\"/b\",\"status\":200}\n\
                 {\"ts\":1704882030.75,\"method\":\"GET\",\"uri\":\"/c\",\"status\":200}\n";
    assert_eq!(times(exact, LoggedAnswers::All), (vec![0, 0, 500], 1));
    assert_eq!(times("/a\n/b\n", LoggedAnswers::All), (vec![0, 0], 2));
}

proptest! {
    /// One offset per request, none before the one above, whatever the times are.
    #[test]
    fn recorded_times_never_go_back(seconds in proptest::collection::vec(0_u64..200, 1..40)) {
        let lines: Vec<_> = seconds.iter().map(|second| (*second, "GET", "/", 200)).collect();
        let (offsets, without_time) = times(&log(&lines), LoggedAnswers::All);
        prop_assert_eq!((offsets.len(), without_time), (seconds.len(), 0));
        prop_assert!(offsets.is_sorted());
        let latest = seconds.iter().max().unwrap().saturating_sub(seconds[0]);
        let last = *offsets.last().unwrap();
        prop_assert!((latest * 1_000..(latest + 1) * 1_000).contains(&last), "{} {}", last, latest);
    }
}
