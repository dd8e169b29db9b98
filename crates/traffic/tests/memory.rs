//! Tests that a file of any length is read with the memory of a short one, in each format of lines,
//! compressed or not. It is alone in its program, because the allocator belongs to the process.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_testing::allocator::{CountingAllocator, most_bytes};
use stampede_traffic::overview::read_each;
use stampede_traffic::{TrafficError, TrafficFile};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Buffers may grow a little.
const ROOM_BYTES: i64 = 1 << 20;
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

/// The most bytes that reading the file takes at once, and its requests.
fn reading_takes(path: &Path) -> (i64, u64) {
    most_bytes(|| {
        let notes = read_each::<TrafficError>(&TrafficFile::new(path), HABITS, |_, _| Ok(()));
        notes.expect("a file with requests").requests
    })
}

/// An entry of a format, by its number. Entries differ, as those of real files do.
type Entry = fn(u64) -> String;

const LINES: [(&str, Entry); 8] = [
    ("access.log", |n| {
        format!(
            "::1 - - [10/Oct/2024:13:55:36 +0000] \"GET /a/{n}?x={n} HTTP/1.1\" 200 5 \"-\" \"agent\"\n"
        )
    }),
    ("json.log", |n| {
        format!(
            "{{\"request\":{{\"method\":\"GET\",\"uri\":\"/a/{n}\",\"host\":\"a.test\"}},\"status\":200}}\n"
        )
    }),
    ("lines.jsonl", |n| {
        format!("{{\"method\":\"POST\",\"path\":\"/a/{n}\",\"body\":\"b={n}\"}}\n")
    }),
    ("vegeta.jsonl", |n| {
        format!(
            "{{\"method\":\"GET\",\"url\":\"http://a.test/{n}\",\"header\":{{\"X-A\":[\"b\"]}}}}\n"
        )
    }),
    ("vegeta.txt", |n| format!("GET http://a.test/{n}\nX-A: b\n\n")),
    ("siege.txt", |n| format!("http://a.test/{n} POST a={n}\n")),
    ("curl.sh", |n| format!("curl 'http://a.test/{n}' \\\n  -H 'X-A: b'\n")),
    ("uris.txt", |n| format!("/a/{n}?x={n}\n")),
];

fn write(out: impl Write, entry: Entry, entries: u64) {
    let mut out = BufWriter::new(out);
    for number in 0..entries {
        out.write_all(entry(number).as_bytes()).expect("room for a file");
    }
    out.flush().expect("room for a file");
}

/// One test, because all tests of a program share its allocator.
#[test]
fn memory_does_not_grow_with_the_file() {
    const SHORT: u64 = 20_000;
    const LONG: u64 = 400_000;
    let directory = tempfile::tempdir().expect("a directory");
    for (name, entry) in LINES {
        let takes = |entries: u64| {
            let path = directory.path().join(name);
            write(File::create(&path).expect("a file"), entry, entries);
            let (bytes, requests) = reading_takes(&path);
            assert_eq!(requests, entries, "{name}");
            bytes
        };
        let (short, long) = (takes(SHORT), takes(LONG));
        assert!(long < short + ROOM_BYTES, "{name}: {short} bytes, then {long}");
    }
    of_compressed_log(LONG);
}

/// The same for what a compressed log contains.
fn of_compressed_log(long: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let (_, entry) = LINES[0];
    let takes = |entries: u64| {
        let path = directory.path().join("access.log.gz");
        let file = File::create(&path).expect("a file");
        let gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        write(gzip, entry, entries);
        let (bytes, requests) = reading_takes(&path);
        assert_eq!(requests, entries);
        bytes
    };
    let (few, many) = (takes(20_000), takes(long));
    assert!(many < few + ROOM_BYTES, "{few} bytes, then {many}");
}

#[test]
#[ignore = "long: reads a gigabyte"]
fn memory_does_not_grow_with_a_compressed_log_of_a_gigabyte() {
    of_compressed_log(12_000_000);
}
