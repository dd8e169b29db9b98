//! Tests of request files: each format, each mistake, endless files, and random bytes.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

pub mod encoded;
mod files;
mod har;
mod logs;
mod request_files;
mod tank;

use stampede_model::entry::RequestError;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::part::Part;
use stampede_model::stop::Stop;

use super::feed::{FeedStatus, Origin};
use super::read::{Entry, TrafficReader};
use super::supply::{PreparedTraffic, Supply, read_beginning, supply_of};
use super::*;
use crate::request::Content;

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

type Open = Box<dyn FnMut() -> io::Result<Box<dyn Read + Send>> + Send>;

fn file(format: Option<Format>) -> TrafficFile {
    let headers = vec![("Host".to_owned(), "target".to_owned())];
    TrafficFile { format, headers, ..TrafficFile::new("traffic.txt") }
}

fn opening(bytes: &[u8]) -> (Open, Option<u64>) {
    let (bytes, length) = (bytes.to_vec(), bytes.len() as u64);
    let open = move || Ok(Box::new(io::Cursor::new(bytes.clone())) as Box<dyn Read + Send>);
    (Box::new(open), Some(length))
}

fn reading(
    bytes: &[u8],
    format: Option<Format>,
    tags: &Tags,
) -> Result<TrafficReader, TrafficError> {
    let (open, length) = opening(bytes);
    TrafficReader::new(&file(format), open, length, HABITS, tags)
}

fn text_of(request: &Request) -> Vec<u8> {
    encoded::text(request, HABITS)
}

/// Everything read from a file: each request as text, with its tag, and the notes.
fn read(bytes: &[u8]) -> Result<(Vec<String>, TrafficNotes), TrafficError> {
    let (tags, mut notes) = (Tags::new(), TrafficNotes::default());
    let prepared = read_beginning(reading(bytes, None, &tags)?, Passes::Times(1), &mut notes)?;
    let PreparedTraffic::List(list) = prepared else { panic!("it fits into memory") };
    let version = concat!("stampede/", env!("CARGO_PKG_VERSION"));
    let text = |request: &Request| {
        let text = String::from_utf8_lossy(&text_of(request)).replace(version, "stampede/V");
        let shape = if request.answer == AnswerShape::NoBody { " (no body)" } else { "" };
        let last = if request.closes { " (closes)" } else { "" };
        format!("[{}]{shape}{last} {text}", tags.name(request.tag))
    };
    Ok((list.iter().map(text).collect(), notes))
}

/// The parts of requests in which those of one file differ.
fn lines(bytes: &[u8]) -> Vec<String> {
    let common = "Accept: */*\r\nUser-Agent: stampede/V\r\n";
    let texts = read(bytes).unwrap().0;
    let short = texts.iter().map(|text| text.replace(common, "").replace("\r\n", "|"));
    short.collect()
}

#[test]
fn uris_with_tags_and_headers_that_change() {
    let traffic = b"[Connection: close] \n[Cookie: None]\r\n/?drg tag1\n/\n\n/buy tag2 \n\
                 [cookie: test]\n[Host: shop]\n/buy/?a=0&b=9\nhttps://me@cdn:8080?x#top\n";
    assert_eq!(
        lines(traffic),
        [
            "[tag1] (closes) GET /?drg HTTP/1.1|Host: target|Connection: close|Cookie: None||",
            "[] (closes) GET / HTTP/1.1|Host: target|Connection: close|Cookie: None||",
            "[tag2] (closes) GET /buy HTTP/1.1|Host: target|Connection: close|Cookie: None||",
            "[] (closes) GET /buy/?a=0&b=9 HTTP/1.1|Connection: close|Cookie: test|Host: shop||",
            "[] (closes) GET /?x HTTP/1.1|Connection: close|Cookie: test|Host: shop||",
        ]
    );
    // The URL's own host, unless a header says another.
    assert_eq!(lines(b"http://a.example/b"), ["[] GET /b HTTP/1.1|Host: a.example||"]);
}

#[test]
fn posts_with_their_lengths() {
    let traffic = b"[Host: example.org]\n5 /route/?a=b\nclass\n10 /r buy\nhello!\ncla\n\n\
                 [X: 1]\r\n0 /empty\r\n7 /last tag\nuripost";
    assert_eq!(
        lines(traffic),
        [
            "[] POST /route/?a=b HTTP/1.1|Content-Length: 5|Host: example.org||class",
            "[buy] POST /r HTTP/1.1|Content-Length: 10|Host: example.org||hello!\ncla",
            "[] POST /empty HTTP/1.1|Content-Length: 0|Host: example.org|X: 1||",
            "[tag] POST /last HTTP/1.1|Content-Length: 7|Host: example.org|X: 1||uripost",
        ]
    );
}

#[test]
fn whole_requests_go_out_as_they_are() {
    let traffic = b"33 good\nGET / HTTP/1.0\r\nHost: xxx.tanks\r\n\r\n\n\
                 20\nHEAD /a b HTTP/1.0\r\n\r\n\r\n24 post\nPOST / HTTP/1.0\r\nA:\r\n\r\nxy";
    // The length of the second is one byte too small, so the next entry is not where it should be.
    assert!(read(traffic).is_err());
    let traffic = b"35 good\nGET / HTTP/1.0\r\nHost: xxx.tanks\r\n\r\n\n\
                 22\nHEAD /a b HTTP/1.0\r\n\r\n\r\n25 post\nPOST / HTTP/1.0\r\nA:\r\n\r\nxy\r\n0\n";
    assert_eq!(
        lines(traffic),
        [
            "[good] (closes) GET / HTTP/1.0|Host: xxx.tanks||",
            "[] (no body) (closes) HEAD /a b HTTP/1.0||",
            "[post] (closes) POST / HTTP/1.0|A:||xy",
        ]
    );
}

#[test]
fn an_access_log_gives_the_requests_that_can_be_sent_again() {
    let traffic = br#"127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326
::1 - - [x] "HEAD /h?q=\"x\" HTTP/1.1" 200 0 "http://ref/" "Mozilla \"5\""
1.1.1.1 - - [x] "POST /buy HTTP/1.1" 200 0
1.1.1.1 - - [x] "POST /buy HTTP/1.1" 200 0

1.1.1.1 - - [10/Oct/2000:13:55:36 -0700] "\x16\x03\x01" 400 0
1.1.1.1 - - [10/Oct/2000:13:55:36 -0700] "-" 408 0
1.1.1.1 - - [x] "GET /a b\xd0\xb6 HTTP/1.1" 200 0
1.1.1.1 - - [x] "GET http://proxy.example/p HTTP/1.1" 200 0
"#;
    let (texts, notes) = read(traffic).unwrap();
    let firsts: Vec<&str> = texts.iter().filter_map(|text| text.lines().next()).collect();
    assert_eq!(
        firsts,
        [
            "[] GET /a.gif HTTP/1.1",
            "[] (no body) HEAD /h?q=\"x\" HTTP/1.1",
            "[] GET /a%20b%D0%B6 HTTP/1.1",
            "[] GET /p HTTP/1.1",
        ]
    );
    let skipped: Vec<_> = notes.skipped.iter().map(|(why, n)| (why.clone(), *n)).collect();
    let post = Skip::Method { method: "POST".to_owned() };
    assert_eq!(skipped, [(post, 2), (Skip::NotHttp {}, 2)]);
    assert_eq!((notes.requests, notes.broken, notes.format.as_deref()), (4, 0, Some("access.log")));
}

#[test]
fn objects_a_line() {
    let traffic = br#"{"path": "/"}

{"method": "PUT", "path": "/b", "headers": {"X-A": "1", "Accept": ["a", "b"]}, "body": "c", "tag": "t"}
{"tag": "", "uri": "/00", "host": "example.com", "body": "x"}
"#;
    let (texts, _) = read(traffic).unwrap();
    insta::assert_snapshot!(texts.join("\n---\n").replace('\r', ""));
}

#[test]
fn a_file_is_sent_to_fastcgi_too() {
    let script = Script::new("/srv/index.php");
    let file = TrafficFile { script: Some(script.clone()), ..file(None) };
    let entry = |bytes: &[u8]| {
        let (open, length) = opening(bytes);
        let mut reading = TrafficReader::new(&file, open, length, HABITS, &Tags::new()).unwrap();
        let mut request = Request::default();
        (reading.next(&mut request).unwrap(), request)
    };
    let (entry_of_uri, request) = entry(b"[X: 1]\n/a?b=c tag\n");
    assert_eq!((entry_of_uri, request.tag), (Entry::Request, Tag(1)));
    let Content::Message(message) = request.content() else { panic!("it has parts") };
    assert_eq!((message.method, message.path), (&b"GET"[..], &b"/a?b=c"[..]));
    assert_eq!((message.script, message.header("host")), (Some(&script), Some(&b"target"[..])));
    let (raw, _) = entry(b"18 tag\nGET / HTTP/1.0\r\n\r\n\n");
    assert!(matches!(raw, Entry::Broken(broken) if broken.what == EntryError::WholeRequest {}));
}

#[test]
fn every_mistake_says_where_it_is_and_what_to_do() {
    let cases: [&[u8]; 31] = [
        b"",
        b"\n \n",
        b"\xfd7zXZ\0\0",
        b"<html>\n<body>\n",
        b"[X: 1]\n/a\n/b c d\n",
        b"/a\nb.php\n",
        b"/a\n[no header]\n",
        b"[Host: only]\n",
        b"/a\n[X y: 1]\n/b\n",
        b"/a\n/\xff\n",
        b"5 /a\nclass\nno number\n",
        b"50 /a\nclass\n",
        b"99999999999 /a\nclass\n",
        b"4 /a\nclass\n5 /b\nclass\n",
        b"18 tag\nGET / HTTP/1.0\r\n\r\n\n12\nGET / HTTP/1.0\r\n\r\n",
        b"18 tag\nGET / HTTP/1.0\r\n\r\n\n4\n\r\n\r\n\n",
        b"1.1.1.1 - - [x] \"POST / HTTP/1.1\" 200 0\n1.1.1.1 - - [x] \"-\" 200 0\n",
        b"{\"path\": \"/\"}\n{\"path\": \"/\", \"pat\": 1}\n",
        b"{\"log\": {\"entries\": [\n{\"request\": {\"method\": \"GET\"}}]}}",
        b"{\"log\": {\"entries\": [\n{\"request\": 5,}]}}",
        b"{\"log\": {\"entries\": [\n{\"request\":\n{\"method\": \"G T\", \"url\": \"http://a/\"}}]}}",
        b"{\"log\": {}}",
        b"{\"log\":\n{\"pages\": [1, 2], \"x\": 5}}",
        b"{\"log\": {\"entries\": 5}}",
        b"curl http://a/ -d 'open\n",
        b"openapi: 3.0.0\npaths: [\n",
        b"<urlset><url",
        b"{\"info\": {\"name\": \"a\"}, \"item\": 5}",
        b"{\"openapi\": \"3.0.0\", \"info\": {}}",
        b"{\"path\": \"/\", \"body_base64\": \"*\"}",
        b"{\"raw\": \"GET / HTTP/1.1\"}",
    ];
    let errors = cases.iter().map(|traffic| match read(traffic) {
        Ok((texts, notes)) => panic!("{texts:?} {notes:?}"),
        Err(error) => {
            format!("{}\nerror: {error}\nhint: {}\n", traffic.escape_ascii(), error.hint())
        }
    });
    insta::assert_snapshot!(errors.collect::<Vec<_>>().join("\n"));
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let read = |path: &str| {
        let (traffic, tags) = (TrafficFile::new(path), Tags::new());
        let error = TrafficReader::of(&traffic, HABITS, &tags).err().expect("it cannot be read");
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", cause.unwrap_or_default())
    };
    assert_eq!(
        read("/nowhere/traffic.txt"),
        "cannot read request file `/nowhere/traffic.txt`: No such file or directory (os error 2)"
    );
    assert_eq!(read("/"), "cannot read request file `/`: Is a directory (os error 21)");
}

/// Beyond the first MiB, invalid entries are counted, and what follows is sent.
#[test]
fn broken_entries_after_the_beginning_are_counted() {
    let good = "/0123456789012345678901234567890123456789012345678901234567890123456789\n";
    let mut traffic = good.repeat(20_000);
    traffic.push_str("broken\n/a b c\n/last\n");
    let (texts, notes) = read(traffic.as_bytes()).unwrap();
    assert_eq!((texts.len(), notes.requests, notes.broken), (20_001, 20_001, 2));
    let error = RequestError::Path { path: "broken".to_owned() };
    assert_eq!(notes.broken_first, Some((20_001, EntryError::NoRequest { error })));
    // After a wrong length, the next entry is searched for.
    let good = format!("1000 /a\n{}\n", "x".repeat(1_000));
    let mut traffic = good.repeat(1_100);
    traffic.push_str("3 /b\nclass\nж\n5 /c tag\nclass\n");
    let (texts, notes) = read(traffic.as_bytes()).unwrap();
    assert_eq!((texts.len(), notes.broken), (1_102, 1), "{:?}", notes.broken_first);
    assert!(texts[1_101].starts_with("[tag] POST /c "));
}

/// What all threads of a supply send, in the order of each thread.
fn load_result(supply: &mut Supply, most: usize) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new(); supply.feeds.len()];
    let mut count = 0;
    while count < most {
        let before = count;
        for (feed, result) in supply.feeds.iter_mut().zip(&mut all) {
            if feed.poll() == FeedStatus::Ready && count < most {
                let request = String::from_utf8_lossy(&text_of(feed.take())).into_owned();
                result.push(request.split(' ').nth(1).unwrap_or_default().to_owned());
                count += 1;
            }
        }
        if before == count {
            if supply.feeds.iter_mut().all(|feed| feed.poll() == FeedStatus::Ended) {
                break;
            }
            std::thread::yield_now();
        }
    }
    all
}

fn over_list(order: Order, passes: Passes, limit: Option<u64>, threads: usize) -> Vec<Vec<String>> {
    let build = |n| Request::build("GET", &format!("/{n}"), &[], b"", HABITS, None).unwrap();
    let list: Vec<Request> = (0..5).map(build).collect();
    let traffic = LoadTraffic { order, passes, limit, ..LoadTraffic::from(list) };
    let mut supply = supply(&traffic, HABITS, Part::WHOLE, threads, &Stop::default()).unwrap();
    load_result(&mut supply, 1_000)
}

#[test]
fn a_list_is_sent_for_the_given_number_of_passes() {
    let once = over_list(Order::InTurn, Passes::Times(1), None, 2);
    assert_eq!(once, [vec!["/0", "/2", "/4"], vec!["/1", "/3"]]);
    let twice = over_list(Order::InTurn, Passes::Times(2), Some(7), 1);
    assert_eq!(twice, [["/0", "/1", "/2", "/3", "/4", "/0", "/1"]]);
    let endless = over_list(Order::InTurn, Passes::Endless, None, 3);
    assert_eq!(endless.iter().map(Vec::len).sum::<usize>(), 1_000);
}

#[test]
fn random_order_has_each_request_once_per_pass_and_follows_the_seed() {
    let order = Order::Random { seed: 7 };
    let [three] = &over_list(order, Passes::Times(3), None, 1)[..] else { panic!("one thread") };
    for pass in three.chunks(5) {
        let mut pass = pass.to_vec();
        pass.sort();
        assert_eq!(pass, ["/0", "/1", "/2", "/3", "/4"]);
    }
    assert_ne!(three[..5], three[5..10]);
    assert_eq!(over_list(order, Passes::Times(3), None, 1)[0], *three);
    let limited = over_list(order, Passes::Endless, Some(12), 2);
    assert_eq!(limited.iter().map(Vec::len).collect::<Vec<_>>(), [6, 6]);
}

/// A file without an end: `/0`, `/1` and so on. Counts how much of it was read.
struct Numbers {
    next: u64,
    end: u64,
    left: Vec<u8>,
    read: Arc<AtomicU64>,
}

impl Read for Numbers {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.left.len() < out.len() && self.next < self.end {
            self.left.extend_from_slice(format!("/{}\n", self.next).as_bytes());
            self.next += 1;
        }
        let count = out.len().min(self.left.len());
        out[..count].copy_from_slice(&self.left[..count]);
        self.left.drain(..count);
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// A supply of this many numbers, and how many bytes of them were read.
fn numbers(
    part: Part,
    end: u64,
    traffic: &LoadTraffic,
    threads: usize,
) -> (Supply, Arc<AtomicU64>) {
    let read = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&read);
    let open: Open = Box::new(move || {
        let read = Arc::clone(&counted);
        Ok(Box::new(Numbers { next: 0, end, left: Vec::new(), read }) as Box<dyn Read + Send>)
    });
    // A file as large as it claims to be does not fit into memory.
    let length = Some(u64::MAX >> 8);
    let reading = TrafficReader::new(&file(None), open, length, HABITS, &traffic.tags).unwrap();
    let notes = Arc::new(Mutex::new(TrafficNotes::default()));
    let prepared = read_beginning(reading, traffic.passes, &mut notes.lock().unwrap()).unwrap();
    assert!(matches!(prepared, PreparedTraffic::File { .. }));
    (supply_of(prepared, traffic, part, threads, notes, &Stop::default()).unwrap(), read)
}

fn file_traffic() -> LoadTraffic {
    LoadTraffic::file(file(None))
}

#[test]
fn an_endless_file_is_read_no_further_than_it_is_sent() {
    let (mut supply, read) = numbers(Part::WHOLE, u64::MAX, &file_traffic(), 2);
    let shares: Vec<Vec<String>> = load_result(&mut supply, 200_000);
    // They take turns as long as both have room.
    assert_eq!(shares[0][..3], ["/0", "/2", "/4"]);
    assert_eq!(shares[1][..3], ["/1", "/3", "/5"]);
    std::thread::sleep(std::time::Duration::from_millis(50));
    // The batches of two threads, a buffer, and the beginning that was examined.
    let sent_bytes = 200_000 * 8;
    let ahead = 2 * 9 * 256 * 8 + (128 << 10) + (1 << 20);
    let read = read.load(Ordering::Relaxed);
    assert!(read <= sent_bytes + ahead, "{read}");
    supply.feeds.clear();
    assert_eq!(supply.notes().unwrap().broken, 0);
}

#[test]
fn a_large_file_ends_when_all_of_it_is_sent() {
    let once = LoadTraffic { passes: Passes::Times(1), ..file_traffic() };
    let (mut supply, _) = numbers(Part::WHOLE, 150_000, &once, 3);
    let mut all: Vec<String> = load_result(&mut supply, usize::MAX).concat();
    assert!(supply.feeds.iter_mut().all(|feed| feed.poll() == FeedStatus::Ended));
    all.sort_by_key(|path| path[1..].parse::<u64>().unwrap());
    assert_eq!(all, (0..150_000).map(|number| format!("/{number}")).collect::<Vec<_>>());
    supply.feeds.clear();
    assert_eq!(supply.notes().unwrap().requests, 150_000);
    let twice = LoadTraffic { passes: Passes::Times(2), limit: Some(290_000), ..file_traffic() };
    let (mut supply, _) = numbers(Part::WHOLE, 150_000, &twice, 1);
    let all = load_result(&mut supply, usize::MAX).concat();
    assert_eq!((all.len(), all[150_000].as_str()), (290_000, "/0"));
}

#[test]
fn a_large_file_is_shuffled_within_a_window() {
    let order = Order::Random { seed: 1 };
    let once = LoadTraffic { order, passes: Passes::Times(1), ..file_traffic() };
    let (mut supply, _) = numbers(Part::WHOLE, 300_000, &once, 1);
    let all = load_result(&mut supply, usize::MAX).concat();
    let numbers: Vec<u64> = all.iter().map(|path| path[1..].parse().unwrap()).collect();
    supply.feeds.clear();
    let window = supply.notes().unwrap().shuffled_within.unwrap();
    assert!((10_000..300_000).contains(&window), "{window}");
    assert!(!numbers[..1_000].is_sorted());
    // No request is sent before the window that contains it was read.
    let early = numbers.iter().enumerate().all(|(at, number)| *number <= at as u64 + window);
    assert!(early);
    let mut sorted = numbers;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..300_000).collect::<Vec<_>>());
}

#[test]
fn a_file_that_fails_in_the_middle_ends_the_load_and_says_so() {
    struct Failing(u64);
    impl Read for Failing {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 200 {
                return Err(io::Error::from_raw_os_error(5));
            }
            let lines = b"/0123456789012345\n".repeat(out.len() / 18);
            out[..lines.len()].copy_from_slice(&lines);
            Ok(lines.len())
        }
    }
    let open: Open = Box::new(|| Ok(Box::new(Failing(0)) as Box<dyn Read + Send>));
    let traffic = file_traffic();
    let reading =
        TrafficReader::new(&file(None), open, Some(1 << 40), HABITS, &traffic.tags).unwrap();
    let notes = Arc::new(Mutex::new(TrafficNotes::default()));
    let prepared = read_beginning(reading, traffic.passes, &mut notes.lock().unwrap()).unwrap();
    let mut supply =
        supply_of(prepared, &traffic, Part::WHOLE, 1, notes, &Stop::default()).unwrap();
    let all = load_result(&mut supply, usize::MAX).concat();
    supply.feeds.clear();
    let notes = supply.notes().unwrap();
    assert_eq!(all.len() as u64, notes.requests);
    let os_error = "Input/output error (os error 5)".to_owned();
    let failed = ReadFailure::Unreadable { path: "traffic.txt".into(), os_error };
    assert_eq!(notes.failed, Some(failed));
}

#[test]
fn a_pipe_is_read_once() {
    let once = Passes::Times(1);
    let look_at = |bytes: &[u8], passes| {
        let (open, _) = opening(bytes);
        let reading = TrafficReader::new(&file(None), open, None, HABITS, &Tags::new()).unwrap();
        read_beginning(reading, passes, &mut TrafficNotes::default())
    };
    assert!(matches!(look_at(b"/a\n/b\n", Passes::Endless), Ok(PreparedTraffic::List(_))));
    let large = b"/0123456789012345678901234567890123456789\n".repeat(400_000);
    assert!(matches!(look_at(&large, once), Ok(PreparedTraffic::File { .. })));
    assert!(matches!(look_at(&large, Passes::Endless), Err(TrafficError::OnlyOnce(_))));
}

/// Lines without an end take no memory: a line has a bound, and the first longer one is an error.
#[test]
fn an_endless_line_is_an_error() {
    struct Endless;
    impl Read for Endless {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            out.fill(b'/');
            Ok(out.len())
        }
    }
    for format in Format::ALL {
        let open: Open = Box::new(|| Ok(Box::new(Endless) as Box<dyn Read + Send>));
        let reading =
            TrafficReader::new(&file(Some(format)), open, None, HABITS, &Tags::new()).unwrap();
        let looked = read_beginning(reading, Passes::Times(1), &mut TrafficNotes::default());
        assert!(matches!(looked, Err(TrafficError::Broken { .. })), "{format:?}");
    }
}

#[test]
fn figures_are_reported_by_tag_name() {
    use stampede_model::counts::TimeSet;

    use crate::tag::TagFigures;
    let figures = |ok| Some(Box::new(TagFigures { ok, ..TagFigures::new() }));
    let tags = Tags::new();
    let requests = [tags.tag("buy"), tags.tag("other"), Tag::NONE]
        .map(|tag| Request::build("GET", "/", &[], b"", HABITS, Some(tag)).unwrap());
    let ok_by_name = |list: &[Request], counted: &[Option<Box<TagFigures>>]| {
        let traffic = LoadTraffic::list(list, tags.clone());
        let supply = supply(&traffic, HABITS, Part::WHOLE, 1, &Stop::default()).unwrap();
        let figures = supply.figures(counted, (9, 1, &TimeSet::empty()));
        let ok_by_name = figures.iter().map(|(name, figures)| (name.clone(), figures.ok));
        ok_by_name.collect::<BTreeMap<String, u64>>()
    };
    let mut counted = vec![figures(1), figures(2), figures(4)];
    counted.resize_with(Tag::OTHER.index(), || None);
    counted.push(figures(8));
    let named = |name: &str, ok| (name.to_owned(), ok);
    let apart = BTreeMap::from([named("", 1), named("buy", 2), named("other", 12)]);
    assert_eq!(ok_by_name(&requests, &counted), apart);
    // One tag: the totals are its figures, and nothing was counted separately.
    assert_eq!(ok_by_name(&requests[..1], &[]), BTreeMap::from([named("buy", 9)]));
    // No tag: there are no figures by tag.
    assert!(ok_by_name(&requests[2..], &[]).is_empty());
}

fn any_format() -> impl Strategy<Value = Option<Format>> {
    prop_oneof![Just(None), (0..Format::ALL.len()).prop_map(|n| Some(Format::ALL[n]))]
}

/// Pieces that formats consist of, in any order.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known: [&[u8]; 38] = [
        b"GET http://a/\n",
        b"@no-such-file\n",
        b"### title\n",
        b"@a = {{a}}{{b}}\n",
        b"GET {{a}}/x HTTP/1.1\n",
        b"curl -X POST 'http://a/' -d \"b\" \\\n",
        b"$'\\u00",
        b"HOST=a\n",
        b"$(HOST)/ POST b\n",
        b"openapi: 3.0.0\npaths:\n  /a:\n    get: {}\n",
        b"{\"info\": {\"name\": \"a\"}, \"item\": [{\"request\": \"http://a/\"}]}",
        b"<urlset><url><loc>http://a/&amp;</loc></url></urlset>",
        b"{\"method\": \"GET\", \"url\": \"http://a/\", \"header\": {}}\n",
        b"{\"raw\": \"GET / HTTP/1.0\\r\\n\\r\\n\"}\n",
        b"# comment\n",
        b"null",
        b"\n",
        b"\r\n",
        b" ",
        b"/path",
        b" tag",
        b"[Host: x]\n",
        b"[",
        b"5 /a\nclass\n",
        b"18 t\nGET / HTTP/1.0\r\n\r\n\n",
        b"18446744073709551616 /\n",
        b"9\n",
        b"0\n",
        b"1.1.1.1 - - [x] \"GET / HTTP/1.1\" 200 0\n",
        b"\"\\x4",
        b"{\"path\": \"/\"}\n",
        b"{\"path\": \"/\", \"headers\": {\"a\": [\"b\"]}, \"body\": \"\"}\n",
        b"{\"log\": {\"entries\": [",
        b"{\"request\": {\"method\": \"GET\", \"url\": \"http://a/\"}}",
        b"]}}",
        b"\xef\xbb\xbf",
        b"http://",
        b"\x00",
    ];
    prop_oneof![
        4 => (0..known.len()).prop_map(move |n| known[n].to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Any bytes give an error or requests, never a panic, and every pass ends.
    #[test]
    fn reading_any_bytes_terminates(
        pieces in proptest::collection::vec(piece(), 0..40), format in any_format(),
    ) {
        let (bytes, tags) = (pieces.concat(), Tags::new());
        let Ok(mut reading) = reading(&bytes, format, &tags) else { return Ok(()) };
        let mut request = Request::default();
        let mut entries = 0;
        for _ in 0..2 {
            loop {
                entries += 1;
                prop_assert!(entries <= 4 * bytes.len() + 16, "it does not end");
                match reading.next(&mut request).expect("memory can be read") {
                    Entry::Request => prop_assert!(!request.bytes.is_empty()),
                    Entry::Broken(broken) => prop_assert!(broken.line <= bytes.len() as u64 + 1),
                    Entry::Skipped(_) => {}
                    Entry::End => break,
                }
            }
            reading.again().expect("memory can be read again");
        }
        // The same through the public function.
        let _ = read_all(&bytes, &file(format), HABITS);
    }
}
