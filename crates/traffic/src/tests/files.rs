//! Tests of files by name, and of the hosts in them.

use super::*;

#[test]
fn a_named_file_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("uris");
    std::fs::write(&path, "/a\n/b tag\n").unwrap();
    let traffic = LoadTraffic::file(TrafficFile::new(&path));
    let mut supply = supply(&traffic, HABITS, Part::WHOLE, 1, &Stop::default()).unwrap();
    assert_eq!(load_result(&mut supply, 3), [["/a", "/b", "/a"]]);
    assert_eq!(&*traffic.tags.name(Tag(1)), "tag");
    assert!(
        matches!(supply.feeds[0].origin, Origin::List(_)),
        "no thread reads what fits into memory"
    );
}

#[test]
fn urls_of_another_host_are_reported() {
    let other = |bytes: &[u8]| {
        let headers = vec![("Host".to_owned(), "shop.example".to_owned())];
        let (open, length) = opening(bytes);
        let file = TrafficFile { headers, ..file(Some(Format::Uri)) };
        let reading = TrafficReader::new(&file, open, length, HABITS, &Tags::new()).unwrap();
        let mut notes = TrafficNotes::default();
        read_beginning(reading, Passes::Times(1), &mut notes).unwrap();
        notes.other_host
    };
    assert_eq!(other(b"/a\nhttp://shop.example/b\n"), None);
    let text = b"http://shop.example/a\nhttp://b.example:81/b\nhttp://c.example/\n";
    assert_eq!(other(text).as_deref(), Some("b.example:81"), "the first");
    assert_eq!(other(b"[Host: b.example]\nhttp://c.example/\n"), None, "the file says who");
}

/// The limit counts the requests of all parts, and each part goes on where the last pass ended.
#[test]
fn parts_of_a_large_file_are_dealt_in_turn_over_its_passes() {
    const LENGTH: u64 = 400_000;
    let traffic = LoadTraffic { passes: Passes::Times(2), limit: Some(600_001), ..file_traffic() };
    for part in Part::all(3) {
        let (mut supply, _) = numbers(part, LENGTH, &traffic, 1);
        let sent = load_result(&mut supply, usize::MAX).remove(0);
        let dealt = (0..600_001).filter(|number| part.has(*number));
        let expected: Vec<String> = dealt.map(|number| format!("/{}", number % LENGTH)).collect();
        assert!(sent == expected, "{part:?}: {} of {}", sent.len(), expected.len());
    }
}
