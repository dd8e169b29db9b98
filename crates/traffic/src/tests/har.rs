//! Tests of HTTP archives.

use super::*;

#[test]
fn an_archive_gives_the_requests_to_its_host() {
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
    assert_eq!(skipped, [(other_host, 1), (Skip::Scheme { scheme: "data".to_owned() }, 1)]);
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

/// An archive of these entries: each is a whole object.
fn archive(entries: &[String]) -> String {
    format!(r#"{{"log": {{"version": "1.2", "entries": [{}]}}}}"#, entries.join(",\n"))
}

fn get(url: &str) -> String {
    format!(r#"{{"request": {{"method": "GET", "url": "{url}"}}}}"#)
}

/// Host and path of each request, and the reasons why others are not sent.
fn sent(text: &str) -> (Vec<String>, Vec<(Skip, u64)>) {
    let (texts, notes) = read(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"));
    let of = |text: &String| {
        let host = text.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or_default();
        format!("{host}{}", text.split(' ').nth(2).unwrap_or_default())
    };
    (texts.iter().map(of).collect(), notes.skipped.into_iter().collect())
}

#[test]
fn scheme_port_case_and_www_make_no_other_host() {
    let pages = ["/b", "/c", "/d", "/e"].map(|path| get(&format!("https://www.shop.test{path}")));
    let first = [get("http://shop.test/a")];
    let (paths, skipped) = sent(&archive(&[&first[..], &pages[..]].concat()));
    assert_eq!((paths.len(), skipped), (5, Vec::new()));
    let urls = [
        "http://shop.test/",
        "https://SHOP.test:443/",
        "HTTP://shop.test:80/",
        "http://me@shop.test/",
    ];
    assert_eq!(sent(&archive(&urls.map(get))).0.len(), 4);
}

#[test]
fn the_host_of_most_entries_is_sent_whatever_comes_first() {
    let connect =
        r#"{"request": {"method": "CONNECT", "url": "http://stats.test:443"}}"#.to_owned();
    let pages = [get("https://shop.test/a"), get("https://shop.test/b")];
    let (paths, skipped) =
        sent(&archive(&[&[connect, get("https://stats.test/p.gif")][..], &pages[..]].concat()));
    assert_eq!(paths, ["shop.test/a", "shop.test/b"]);
    let other = Skip::OtherHost { host: "shop.test".to_owned() };
    assert_eq!(skipped, [(other, 1), (Skip::Connect {}, 1)]);
}

#[test]
fn where_most_entries_are_for_others_the_host_has_to_be_named() {
    let urls = [
        "http://a.test/1",
        "http://b.test/",
        "http://a.test/2",
        "http://c.test/",
        "http://d.test/",
    ];
    let text = archive(&urls.map(get));
    let error = read(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "request file `traffic.txt` has 2 requests to `a.test`, and more to other hosts: \
         1 × `b.test`, 1 × `c.test`, 1 × `d.test`"
    );
    let named =
        TrafficFile { headers: vec![("host".to_owned(), "C.test:8080".to_owned())], ..file(None) };
    let (requests, notes) = read_all(text.as_bytes(), &named, HABITS).unwrap();
    let other = Skip::OtherHost { host: "c.test".to_owned() };
    assert_eq!((requests.len(), notes.skipped.get(&other)), (1, Some(&4)));
}

#[test]
fn what_is_no_request_with_one_answer_is_skipped_by_name() {
    let with = |url: &str, more: &str| {
        format!(r#"{{"request": {{"method": "GET", "url": "{url}"}}, {more}}}"#)
    };
    let entries = [
        get("http://a/"),
        get("ws://a/"),
        get("blob:http://a/1"),
        get("chrome-extension://a/b"),
        with("http://a/", r#""_resourceType": "websocket""#),
        with("http://a/", r#""response": {"status": 101}"#),
        with(
            "http://a/",
            r#""response": {"content": {"mimeType": "text/event-stream; charset=utf-8"}}"#,
        ),
        with("http://a/", r#""_resourceType": "eventsource""#),
        r#"{"request": null}"#.to_owned(),
        "null".to_owned(),
    ];
    let (paths, skipped) = sent(&archive(&entries));
    assert_eq!(paths, ["a/"]);
    let scheme = |scheme: &str| Skip::Scheme { scheme: scheme.to_owned() };
    let mut expected = [
        (Skip::NotHttp {}, 2),
        (Skip::EventStream {}, 2),
        (Skip::WebSocket {}, 3),
        (scheme("blob"), 1),
        (scheme("chrome-extension"), 1),
    ];
    expected.sort();
    assert_eq!(skipped, expected);
}

#[test]
fn null_stands_for_what_a_recorder_does_not_know() {
    for member in ["headers", "postData", "queryString", "cookies"] {
        let entry = format!(
            r#"{{"time": null, "response": null, "request": {{"method": "GET", "url": "http://a/", "{member}": null}}}}"#
        );
        assert_eq!(sent(&archive(&[entry])).0, ["a/"], "{member}");
    }
    let nulls = r#"{"request": {"method": "POST", "url": "http://a/", "headers": [{"name": "X-A", "value": null}, null],
        "postData": {"mimeType": null, "text": null, "params": null}}}"#;
    let (texts, _) = read(archive(&[nulls.to_owned()]).as_bytes()).unwrap();
    assert!(
        texts[0].contains("X-A: \r\n") && texts[0].contains("Content-Length: 0"),
        "{}",
        texts[0]
    );
}

/// What is sent for a POST with these members of `postData`.
fn posted(headers: &str, data: &str) -> Result<String, Skip> {
    let entry = format!(
        r#"{{"request": {{"method": "POST", "url": "http://a/", "headers": [{headers}], "postData": {{{data}}}}}}}"#
    );
    let (texts, notes) = read(archive(&[get("http://a/"), entry]).as_bytes()).unwrap();
    match texts.get(1) {
        Some(text) => Ok(text.clone()),
        None => Err(notes.skipped.into_keys().next().expect("a reason")),
    }
}

#[test]
fn forms_are_encoded_and_multipart_is_rebuilt() {
    let form = posted(
        "",
        r#""mimeType": "application/x-www-form-urlencoded", "params": [{"name": "q", "value": "Tom & Jerry=1"}]"#,
    );
    let form = form.unwrap();
    assert!(form.ends_with("\r\n\r\nq=Tom+%26+Jerry%3D1"), "{form}");
    assert!(form.contains("Content-Type: application/x-www-form-urlencoded\r\n"), "{form}");
    let header = r#"{"name": "Content-Type", "value": "multipart/form-data; boundary=x"}"#;
    let fields = r#""params": [{"name": "a", "value": "1"}, {"name": "f", "fileName": "b.txt", "contentType": "text/plain", "value": "hi"}]"#;
    let form = posted(header, fields).unwrap();
    let body = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x\r\n\
        Content-Disposition: form-data; name=\"f\"; filename=\"b.txt\"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--x--\r\n";
    assert!(form.ends_with(body) && form.matches("Content-Type: multipart").count() == 1, "{form}");
    let lost = posted(
        header,
        r#""params": [{"name": "a", "value": "1"}, {"name": "f", "fileName": "b.txt"}]"#,
    );
    assert_eq!(lost, Err(Skip::FormFile { field: "f".to_owned() }));
    assert!(posted("", r#""encoding": "base64", "text": "aGk=""#).unwrap().ends_with("\r\n\r\nhi"));
    assert_eq!(posted("", r#""encoding": "base64", "text": "*""#), Err(Skip::Base64Body {}));
}

#[test]
fn conditions_of_a_warm_browser_are_dropped() {
    let names = [
        "If-None-Match",
        "if-modified-since",
        "If-Range",
        "Range",
        "Cookie",
        "Authorization",
        ":method",
    ];
    let header = |name: &&str| format!(r#"{{"name": "{name}", "value": "v"}}"#);
    let text = |names: &[&str]| {
        let headers = names.iter().map(header).collect::<Vec<_>>().join(",");
        let entry = format!(
            r#"{{"request": {{"method": "GET", "url": "http://a/", "headers": [{headers}]}}}}"#
        );
        read(archive(&[entry]).as_bytes()).unwrap().0.remove(0)
    };
    let all = text(&names);
    let kept = |text: &str, name: &str| {
        text.to_ascii_lowercase().contains(&format!("\n{}: v", name.to_ascii_lowercase()))
    };
    let left: Vec<&str> = names.into_iter().filter(|name| kept(&all, name)).collect();
    assert_eq!(left, ["Cookie", "Authorization"], "{all}");
    assert!(kept(&text(&["Range"]), "Range"), "a range of its own is what was wanted");
}

/// Some programs record what no client can send.
#[test]
fn a_header_that_cannot_be_sent_is_left_out_and_counted() {
    let pair = |name: &str, value: &str| format!(r#"{{"name": "{name}", "value": "{value}"}}"#);
    let headers = [
        pair("Content-Length;something", "1"),
        pair("X A", "1"),
        pair("X-Lines", r"a\r\nb"),
        pair("X-Kept", "1"),
        pair(":path", "/"),
    ];
    let entry = format!(
        r#"{{"request": {{"method": "GET", "url": "http://a/", "headers": [{}]}}}}"#,
        headers.join(",")
    );
    let (texts, notes) = read(archive(&[entry.clone(), entry]).as_bytes()).unwrap();
    let sent = texts[0].as_str();
    assert!(sent.contains("X-Kept: 1") && !sent.contains("Lines") && !sent.contains("omething"));
    let counted = [("Content-Length;something", 2), ("X A", 2), ("X-Lines", 2)];
    let counted = counted.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(notes.left_out_headers.into_iter().collect::<Vec<_>>(), counted);
}

#[test]
fn an_archive_that_is_cut_off_is_read_as_far_as_it_goes() {
    let whole = archive(&[get("http://a/1"), get("http://a/2"), get("http://a/3")]);
    let first = whole.find("},").unwrap() + 1;
    for end in first..whole.len() - 4 {
        let (paths, skipped) = sent(&whole[..end]);
        let is_complete = skipped.is_empty();
        assert!((1..=3).contains(&paths.len()), "{}", &whole[..end]);
        assert_eq!(is_complete, whole[..end].contains("]"), "{}", &whole[..end]);
        assert!(is_complete || skipped == [(Skip::CutOff {}, 1)], "{skipped:?}");
    }
}
