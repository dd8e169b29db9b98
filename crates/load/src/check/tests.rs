//! Tests rules on answers over HTTP/1.1, and the words for answers that break them.

use proptest::prelude::*;
use serde_json::{Value, json};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use super::json::{Expected, JsonMatch, Path};
use super::*;
use crate::protocol::http1::Http1;
use crate::protocol::{AnswerEnd, Checked, Excerpt, Protocol, RequestId};
use stampede_traffic::{AnswerShape, Request};

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

fn rules(texts: &[&str]) -> Check {
    let rules = texts.iter().map(|text| Rule::parse(text).unwrap()).collect();
    Check { rules, ..Check::default() }
}

fn request(answer: AnswerShape) -> Request {
    Request { bytes: b"GET / HTTP/1.1\r\n\r\n".to_vec(), answer, ..Request::default() }
}

/// How a whole answer in `pieces` ends, and the excerpt that is kept of it then.
fn ended(http: &mut Http1, shape: AnswerShape, pieces: &[&[u8]]) -> (Checked, Excerpt) {
    http.start(RequestId(0), &request(shape), &mut Vec::new());
    let mut ends = Vec::new();
    for piece in pieces {
        http.received(piece, Nanos(1), &mut |answer| ends.push(answer.end));
    }
    let [AnswerEnd::Whole { check, .. }] = ends[..] else { panic!("{ends:?}") };
    let failed = match check {
        Checked::Wrong(failed) => Some(failed),
        Checked::Right => None,
    };
    (check, http.excerpt(RequestId(0), failed))
}

fn checked(check: &Check, answer: &str) -> (Checked, Excerpt) {
    let mut http = Http1::new(check, HABITS);
    ended(&mut http, AnswerShape::ByHeaders, &[answer.as_bytes()])
}

/// An answer with a few headers, chunked, so that its body is never seen together with framing.
fn answer(body: &str) -> String {
    let mut answer = String::from(
        "HTTP/1.1 103 E\r\nX-Early: yes\r\n\r\nHTTP/1.1 200 OK\r\nX-Cache: MISS\r\nEmpty:\r\n\
         content-TYPE: \t application/json; charset=utf-8 \r\nTransfer-Encoding: chunked\r\n\
         Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n",
    );
    for chunk in body.as_bytes().chunks(3) {
        answer += &format!("{:x}\r\n{}\r\n", chunk.len(), String::from_utf8_lossy(chunk));
    }
    answer + "0\r\nX-Trailer: yes\r\n\r\n"
}

const ORDER: &str = r#"{"ok": true, "n": 12, "price": 9.90, "name": "a \"b\"", "none": null,
    "items": [{"id": 1}, {"id": 2, "id": 3}], "a b": {"c.d": [[]]}, "big": 18446744073709551615}"#;

#[test]
fn rules_that_hold_pass() {
    let table = [
        "header x-cache",
        "header X-CACHE == MISS",
        "header x-cache=MISS",
        "header content-type contains json",
        "header content-type == application/json; charset=utf-8",
        "header empty",
        "header set-cookie == b=2",
        "body contains price",
        "body contains \"n\": 12",
        "body ~ /\"n\": [0-9]+,/",
        "body ~ /OK.*price/i",
        "body ~ /^ *\"items\"/m",
        "body ~ /price.*items/s",
        "body ~ /a/b|price/",
        "body ~ / \" n \" : /x",
        "json $.ok",
        "json ok == true",
        "json $.ok==true",
        "json $.n == 12",
        "json $.n == 12.0",
        "json $.price == 9.9",
        "json $.name == \"a \\\"b\\\"\"",
        "json $.name == a \"b\"",
        "json $.none",
        "json $.none == null",
        "json $.items[0].id == 1",
        "json $.items[1].id == 3",
        "json $.items == [{\"id\": 1.0}, {\"id\": 3}]",
        "json $[\"a b\"][\"c.d\"][0] == []",
        "json $.big == 18446744073709551615",
        "json $",
        "size > 100",
        "size < 1KiB",
        "size <= 1.5kB",
        "time < 1ns",
    ];
    for text in table {
        assert_eq!(checked(&rules(&[text]), &answer(ORDER)).0, Checked::Right, "{text}");
    }
    let exact = format!("size == {}", ORDER.len());
    assert_eq!(checked(&rules(&[&exact]), &answer(ORDER)).0, Checked::Right);
}

#[test]
fn what_breaks_says_what_there_was() {
    let table = [
        "header x-early",
        "header x-trailer",
        "header cache",
        "header x-cache == HIT",
        "header x-cache == miss",
        "header set-cookie contains c=",
        "body contains prices",
        "body contains yes",
        "body ~ /^price/",
        "json $.gone",
        "json $.ok == false",
        "json $.ok == \"true\"",
        "json $.n == 13",
        "json $.name == a",
        "json $.none == 0",
        "json $.items[2]",
        "json $.items.id",
        "json $.n[0]",
        "json $.items[0] == {\"id\": 2}",
        "json $[0]",
        "size == 3",
        "size >= 1MB",
    ];
    let mut lines = String::new();
    for text in table {
        let (checked, excerpt) = checked(&rules(&[text]), &answer(ORDER));
        assert_eq!(checked, Checked::Wrong(Failed(1)), "{text}");
        lines += &format!("{text}\n    {}\n", excerpt.found);
    }
    let (_, excerpt) = checked(&rules(&["json $.ok"]), &answer("<html>\u{1b}[31m"));
    lines += &format!("json $.ok\n    {}\n", excerpt.found);
    let page = "HTTP/1.1 200 OK\r\nX: \u{1b}[31m\u{9b}1m\u{e9}\r\nContent-Length: 0\r\n\r\n";
    let page = page.replace('\u{1b}', "");
    let (_, excerpt) = checked(&rules(&["header x == a"]), &page);
    lines += &format!("header x == a\n    {}\n", excerpt.found);
    insta::assert_snapshot!(lines);
}

#[test]
fn the_first_broken_rule_names_the_failure() {
    let mut check = rules(&["header x-cache", "size > 9999", "header gone", "body contains gone"]);
    assert_eq!(checked(&check, &answer("hello")).0, Checked::Wrong(Failed(2)));
    check.body_contains = b"gone".to_vec();
    assert_eq!(checked(&check, &answer("hello")).0, Checked::Wrong(Failed::CONTAINS));
    let keys: Vec<String> =
        [Failed::CONTAINS, Failed(2), Failed(4), Failed::TOO_LARGE].map(|it| check.key(it)).into();
    let expected = ["check", "check:size > 9999", "check:body contains gone"];
    assert_eq!(keys, [&expected[..], &["check:body-too-large"]].concat());
}

#[test]
fn only_header_rules_apply_to_an_answer_to_head() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let of_body = ["body contains x", "body ~ /x/", "json $.x", "size > 5"];
    let mut http = Http1::new(&rules(&of_body), HABITS);
    assert_eq!(ended(&mut http, AnswerShape::NoBody, &[bytes]).0, Checked::Right);
    let mut http = Http1::new(&rules(&["size > 5", "header x-cache"]), HABITS);
    assert_eq!(ended(&mut http, AnswerShape::NoBody, &[bytes]).0, Checked::Wrong(Failed(2)));
}

#[test]
fn an_answer_without_a_body_is_checked_as_an_empty_body() {
    let nothing = "HTTP/1.1 204 No Content\r\n\r\n";
    assert_eq!(checked(&rules(&["size == 0", "body ~ /^$/"]), nothing).0, Checked::Right);
    assert_eq!(checked(&rules(&["body contains x"]), nothing).0, Checked::Wrong(Failed(1)));
    assert_eq!(checked(&rules(&["json $"]), nothing).0, Checked::Wrong(Failed(1)));
}

#[test]
fn with_a_wrong_status_no_rule_is_checked() {
    let wrong = "HTTP/1.1 500 No\r\nContent-Length: 5\r\n\r\noops!";
    let (checked, excerpt) = checked(&rules(&["header gone", "json $.ok"]), wrong);
    assert_eq!(checked, Checked::Right);
    let parts = (excerpt.status, excerpt.body.as_slice(), excerpt.found.as_str());
    assert_eq!(parts, (Some(500), &b"oops!"[..], ""));
}

#[test]
fn a_body_above_the_limit_fails_as_too_large() {
    let body = "x".repeat(BODY_BYTES_MAX + 1);
    let page =
        |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    for rule in ["body ~ /x/", "json $"] {
        let (checked, excerpt) = checked(&rules(&["size > 1", rule]), &page(&body));
        assert_eq!(checked, Checked::Wrong(Failed::TOO_LARGE), "{rule}");
        assert_eq!(
            excerpt.found,
            "the body has 1048577 bytes, a pattern or JSON is looked for in 1 MiB at most"
        );
    }
    // Rules that do not need the whole body have no limit.
    let of_parts = rules(&["body contains xxx", "size > 1MiB"]);
    assert_eq!(checked(&of_parts, &page(&body)).0, Checked::Right);
    let whole = rules(&["body ~ /^x+$/"]);
    assert_eq!(checked(&whole, &page(&body[1..])).0, Checked::Right);
}

#[test]
fn no_state_of_one_answer_remains_for_the_next() {
    let check = rules(&["body ~ /^ab$/", "body contains b", "size == 2", "header x"]);
    let mut http = Http1::new(&check, HABITS);
    let right: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\n\r\na", b"b"];
    let without: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"];
    let wrong: &[&[u8]] = &[b"HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 2\r\n\r\nxa"];
    for _ in 0..2 {
        for (pieces, expected) in [
            (right, Checked::Right),
            (without, Checked::Wrong(Failed(4))),
            (wrong, Checked::Wrong(Failed(1))),
        ] {
            let (checked, excerpt) = ended(&mut http, AnswerShape::ByHeaders, pieces);
            assert_eq!(checked, expected);
            // The kept beginning of a correct answer is released.
            assert_eq!(excerpt.head.is_empty(), checked == Checked::Right);
        }
    }
}

#[test]
fn an_example_is_the_same_however_reads_split_it() {
    let check = rules(&["body ~ /items.*\\[/", "json $.ok == false"]);
    let bytes = answer(ORDER);
    let bytes = bytes.as_bytes();
    let whole = ended(&mut Http1::new(&check, HABITS), AnswerShape::ByHeaders, &[bytes]);
    assert_eq!(whole.0, Checked::Wrong(Failed(2)));
    assert!(
        whole.1.head.starts_with(b"HTTP/1.1 200 OK\r\n") && whole.1.head.ends_with(b"\r\n\r\n")
    );
    assert_eq!((whole.1.status, whole.1.body.as_slice()), (Some(200), ORDER.as_bytes()));
    let mut http = Http1::new(&check, HABITS);
    for at in 1..bytes.len() {
        let (left, right) = bytes.split_at(at);
        assert_eq!(ended(&mut http, AnswerShape::ByHeaders, &[left, right]), whole, "{at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(ended(&mut http, AnswerShape::ByHeaders, &single), whole);
}

#[test]
fn an_example_has_a_limited_size() {
    let head = "x".repeat(7_000);
    let page = format!(
        "HTTP/1.1 500 No\r\nX: {head}\r\nContent-Length: 9000\r\n\r\n{}",
        "y".repeat(9_000)
    );
    let (_, excerpt) = checked(&Check::default(), &page);
    assert_eq!((excerpt.head.len(), excerpt.status), (4096, Some(500)));
    let page = format!("HTTP/1.1 500 No\r\nContent-Length: 9000\r\n\r\n{}", "y".repeat(9_000));
    assert_eq!(checked(&Check::default(), &page).1.body.len(), 2048);
}

#[test]
fn an_example_of_an_unfinished_answer_has_the_bytes_that_arrived() {
    let mut http = Http1::new(&Check::default(), HABITS);
    for (bytes, status, head, body) in [
        ("HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 O", None, "HTTP/1.1 200 O", ""),
        ("HTTP/1.1 200 O\r\n\r\nfirst", Some(200), "HTTP/1.1 200 O\r\n\r\n", "first"),
    ] {
        http.start(RequestId(0), &request(AnswerShape::ByHeaders), &mut Vec::new());
        http.received(bytes.as_bytes(), Nanos(1), &mut |answer| panic!("{answer:?}"));
        let excerpt = http.excerpt(RequestId(0), None);
        assert_eq!(excerpt.status, status);
        assert_eq!((&excerpt.head[..], &excerpt.body[..]), (head.as_bytes(), body.as_bytes()));
        http.reset();
    }
    assert_eq!(http.excerpt(RequestId(0), None), Excerpt::default());
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let table = [
        "",
        "  ",
        "heder x",
        "x-cache == HIT",
        "status == 200",
        "header",
        "header x-cache: HIT",
        "header x-cache is HIT",
        "header x-cache ==",
        "header x-cache ~ /HIT/",
        "body",
        "body hello",
        "body == hello",
        "body contains ",
        "body ~ hello",
        "body ~ //",
        "body ~ /hel(lo/",
        "body ~ /hello/ig",
        "json",
        "json == true",
        "json $..a",
        "json $.a[*] == 1",
        "json $.a[-1]",
        "json $.a != 1",
        "json $.a is 1",
        "json $.a == {\"b\"",
        "size 100",
        "size != 100",
        "size > many",
        "size > 1.5 PB",
        "time > 1s",
        "time < soon",
        "time < 0s",
    ];
    let mut lines = String::new();
    for text in table {
        let error = Rule::parse(text).unwrap_err();
        let place = " ".repeat(text[..error.offset].chars().count());
        let marks = "^".repeat(text[error.offset..error.offset + error.length].chars().count());
        let near = error.nearest().map(|near| format!(" (`{near}`?)")).unwrap_or_default();
        lines += &format!(
            "|{text}|\n {place}{}\n{error}{near}\nexpected: {}\n\n",
            if marks.is_empty() { "^" } else { &marks },
            error.expected()
        );
    }
    insta::assert_snapshot!(lines);
}

#[test]
fn a_rule_is_named_by_its_text() {
    let rule = Rule::parse("  header x-cache == HIT ").unwrap();
    assert_eq!(rule.name(), "header x-cache == HIT");
    assert_eq!(rule, Rule::parse(rule.name()).unwrap());
    assert_ne!(rule, Rule::parse("header x-cache == MISS").unwrap());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ab\"\\\\é\u{1}]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let names = prop_oneof![Just("a"), Just("b"), Just("é\"")];
        let object = proptest::collection::vec((names, inner), 0..4).prop_map(|entries| {
            Value::Object(
                entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            )
        });
        prop_oneof![list, object]
    })
}

/// A path, and the same path as a JSON pointer.
fn any_path() -> impl Strategy<Value = (String, String)> {
    let step = prop_oneof![
        Just((".a".to_owned(), "/a".to_owned())),
        Just(("[\"b\"]".to_owned(), "/b".to_owned())),
        Just(("[\"é\\\"\"]".to_owned(), "/é\"".to_owned())),
        (0..3_u8).prop_map(|at| (format!("[{at}]"), format!("/{at}"))),
    ];
    proptest::collection::vec(step, 0..4).prop_map(|steps| {
        let (path, pointer): (Vec<_>, Vec<_>) = steps.into_iter().unzip();
        (format!("${}", path.concat()), pointer.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_path_finds_what_a_pointer_finds(value in any_json(), (path, pointer) in any_path()) {
        let text = value.to_string();
        let path = Path::parse(&path).unwrap();
        let there = value.pointer(&pointer);
        let expected = if there.is_some() { JsonMatch::Found } else { JsonMatch::Missing };
        prop_assert_eq!(path.match_in(text.as_bytes(), None), expected);
        prop_assert_eq!(path.value(text.as_bytes()), there.map(Value::to_string));
        for wanted in [there.cloned().unwrap_or_default(), json!("other"), json!([7])] {
            let expected = match there {
                None => JsonMatch::Missing,
                Some(there) if *there == wanted => JsonMatch::Found,
                Some(_) => JsonMatch::Different,
            };
            let wanted = Expected::parse(&wanted.to_string()).unwrap();
            prop_assert_eq!(path.match_in(text.as_bytes(), Some(&wanted)), expected);
        }
    }

    #[test]
    fn any_text_is_a_rule_or_an_error(text in "(header|body|json|size|time)?[ ~=<>/a\"$.0-9é\\[\\]]{0,24}") {
        match Rule::parse(&text) {
            Ok(rule) => prop_assert_eq!(&rule, &Rule::parse(rule.name()).unwrap()),
            Err(error) => prop_assert!(text.get(error.offset..error.offset + error.length).is_some()),
        }
    }

    #[test]
    fn any_body_is_inspected_without_panic(body in "[{}\\[\\]\",:a0-9e. \\\\u+-]{0,40}") {
        let mut check = rules(&["json $.a[0] == 1", "body ~ /a+/"]);
        check.rules.rotate_left(usize::from(body.len() % 2 == 0));
        let _ = checked(&check, &answer(&body));
    }
}
