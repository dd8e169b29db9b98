//! Tests of HTTP archives.

use super::*;

#[test]
fn an_archive_gives_the_requests_to_its_first_host() {
    let traffic = br#"{"log": {"version": "1.2", "entries": [
        {"time": 5, "request": {"method": "GET", "url": "https://shop.example/a?b=c#d",
         "headers": [{"name": ":authority", "value": "x"}, {"name": "Connection", "value": "k"},
                     {"name": "Cookie", "value": "s=1"}]},
         "response": {"status": 200, "content": {"text": "long"}}},
        {"request": {"method": "GET", "url": "https://cdn.example/x.js"}},
        {"request": {"method": "GET", "url": "data:image/png,x"}},
        {"request": {"method": "POST", "url": "https://shop.example/buy", "headers": [],
         "postData": {"mimeType": "application/json", "text": "{}"}}},
        {"request": {"method": "POST", "url": "https://shop.example/form", "postData":
         {"mimeType": "application/x-www-form-urlencoded",
          "params": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}}}]}}"#;
    let (texts, notes) = read(traffic).unwrap();
    insta::assert_snapshot!(texts.join("\n---\n").replace('\r', ""));
    let skipped: Vec<_> = notes.skipped.iter().map(|(why, n)| (why.clone(), *n)).collect();
    let other_host = Skip::OtherHost { host: "shop.example".to_owned() };
    assert_eq!(skipped, [(Skip::NotHttp {}, 1), (other_host, 1)]);
}

#[test]
fn an_archive_is_read_entry_by_entry_whatever_surrounds_them() {
    let urls = |traffic: &str| {
        let (texts, _) =
            read(traffic.as_bytes()).unwrap_or_else(|error| panic!("{traffic}: {error}"));
        texts.iter().map(|text| text.split(' ').nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let entry = |path: &str| format!(r#"{{"request":{{"method":"GET","url":"http://a{path}"}}}}"#);
    let (a, b) = (entry("/a"), entry("/b"));
    for around in [
        "{\"log\":{\"entries\":[A,B]}}",
        "\u{feff}{\"log\" : { \"entries\"\n:\n[ A\n,\tB ] } }",
        "{\"log\":{\"version\":1.2e+3,\"pages\":[{\"n\":-1}],\"t\":true,\"s\":\"]}\",\"entries\":[A,B],\"x\":1}}",
        // What follows the entries is not read.
        "{\"log\":{\"n\":null,\"entries\":[A,B]",
    ] {
        let traffic = around.replace('A', &a).replace('B', &b);
        assert_eq!(urls(&traffic), ["/a", "/b"], "{traffic}");
    }
}

/// Gigabytes of it: what was read is not kept.
#[test]
fn an_archive_of_any_size_is_streamed() {
    const ENTRY: &[u8] =
        br#"{"request":{"method":"GET","url":"http://a/b"},"response":{"content":"c"}},"#;
    struct Again(std::iter::Cycle<std::slice::Iter<'static, u8>>);
    impl Read for Again {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            out.iter_mut().zip(&mut self.0).for_each(|(to, from)| *to = *from);
            Ok(out.len())
        }
    }
    let open = || {
        let begin: &[u8] = b"{\"log\":{\"entries\":[";
        Ok(Box::new(begin.chain(Again(ENTRY.iter().cycle()))) as Box<dyn Read + Send>)
    };
    let (tags, mut notes) = (Tags::new(), TrafficNotes::default());
    let reading =
        TrafficReader::new(&file(None), Box::new(open), Some(10 << 30), HABITS, &tags).unwrap();
    let prepared = read_beginning(reading, Passes::Times(1), &mut notes).unwrap();
    let PreparedTraffic::File { held, mut reading } = prepared else {
        panic!("10 GiB are no list")
    };
    assert!(held.len() < 100_000, "{} were held", held.len());
    let mut request = Request::default();
    assert!((0..1_000).all(|_| reading.next(&mut request).unwrap() == Entry::Request));
}
