//! Tests of access logs: lines as many servers write them, and what is none.

mod lines;

use proptest::prelude::*;

use super::record::Record;
use super::*;

/// What a line says, in short: method, target, host, status, and the second of its time in its day.
fn short(line: &str) -> String {
    shown(line::read(line.as_bytes()))
}

fn shown(line: Line) -> String {
    match line {
        Line::Request(Record { method, target, host, status, time_ns }) => {
            let target = String::from_utf8_lossy(&target).into_owned();
            let host = if host.is_empty() { String::new() } else { format!(" {host}") };
            let status = status.map_or(String::new(), |status| format!(" {status}"));
            let time = time_ns.map(|time| time / 1_000_000_000 % 86_400);
            let time = time.map_or(String::new(), |time| format!(" @{time}"));
            format!("{method} {target}{host}{status}{time}")
        }
        Line::NotHttp => "not http".to_owned(),
        Line::Error => "error log".to_owned(),
        Line::Other => "other".to_owned(),
    }
}

fn is_log(begin: &[u8]) -> bool {
    crate::detect::format(begin) == Ok(crate::Format::AccessLog)
}

fn check(cases: &[(&str, &str, &str)]) {
    for (name, line, expected) in cases {
        assert_eq!(short(line), *expected, "{name}: {line}");
    }
}

/// Request lines in quotes. 10 January 2024, 10:20:30 UTC is second 37230 of its day.
#[test]
fn the_first_quoted_request_line_is_found_wherever_it_stands() {
    check(lines::QUOTED);
}

#[test]
fn escapes_and_quotes_in_a_request_line_are_undone() {
    let cases = [
        (r#"GET /a\"b HTTP/1.1"#, "/a\"b"),
        (r#"GET /a\x22b\x5Cc HTTP/1.1"#, "/a\"b\\c"),
        (r#"GET /a\\ HTTP/1.1"#, "/a\\"),
        (r#"GET /a b HTTP/1.1"#, "/a b"),
        (r#"GET /\xd0\xb6 HTTP/1.1"#, "/ж"),
        (r#"GET /?q="x y"&z HTTP/1.1"#, "/?q=\"x y\"&z"),
        (r#"GET /c:\dir HTTP/1.1"#, "/c:\\dir"),
        (r#"GET /\xZZ HTTP/1.1"#, "/\\xZZ"),
        (r#"GET  /a  HTTP/1.1"#, "/a"),
    ];
    for (request, target) in cases {
        let line = format!("::1 - - [10/Jan/2024:10:20:30 +0000] \"{request}\" 200 1 \"-\"");
        assert_eq!(short(&line), format!("GET {target} 200 @37230"), "{line}");
    }
}

#[test]
fn objects_of_json_are_read_by_the_names_of_their_members() {
    check(lines::OBJECTS);
}

#[test]
fn pairs_and_words_are_read_too() {
    check(lines::PAIRS_AND_WORDS);
}

#[test]
fn lines_of_an_error_log_are_none_of_the_access_log() {
    let nginx = r#"2024/01/10 10:20:30 [error] 7#7: *1 open() "/srv/x" failed (2: No such file or directory), client: 10.1.2.3, server: , request: "GET /x HTTP/1.1", host: "a.test""#;
    let info = r#"2024/01/10 10:20:30 [info] 7#7: *1 client closed, request: "GET /x HTTP/1.1""#;
    let apache = "[Wed Jan 10 10:20:30.123456 2024] [core:error] [pid 1:tid 2] [client 10.1.2.3:1] AH00126: Invalid URI in request GET /../x HTTP/1.1";
    let debug = r#"[Wed Jan 10 10:20:30 2024] [http:debug] [pid 1] "GET /x HTTP/1.1""#;
    let old = "[Wed Jan 10 10:20:30 2024] [error] [client 10.1.2.3] File does not exist: /srv/x";
    for line in [nginx, info, apache, debug, old] {
        assert_eq!(short(line), "error log", "{line}");
    }
    // Only what is before the request says so.
    let line =
        r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /x?[error] HTTP/1.1" 200 1 "-" "[warn]""#;
    assert_eq!(short(line), "GET /x?[error] 200 @37230");
    for line in [
        "PHP Warning:  Undefined variable $x in /a.php on line 3",
        "#0 {main}",
        "}",
        "\"",
        "a \"b",
        "",
    ] {
        assert_eq!(short(line), "other", "{line}");
    }
}

#[test]
fn columns_have_the_names_of_the_line_before() {
    let read = |header: &str, line: &str| {
        let columns = Columns::of(header.as_bytes()).expect("it names columns");
        shown(columns.read(line.as_bytes()))
    };
    let iis = "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status time-taken";
    assert_eq!(
        read(iis, "2024-01-10 10:20:30 10.0.0.1 GET /x y=1 80 - 10.1.2.3 Agent+1 200 15"),
        "GET /x?y=1 200 @37230"
    );
    assert_eq!(
        read(iis, "2024-01-10 10:20:30 10.0.0.1 GET /x - 80 - 10.1.2.3 - 404 15"),
        "GET /x 404 @37230"
    );
    assert_eq!(read(iis, "2024-01-10 10:20:30 10.0.0.1 - - - 80 - 10.1.2.3 - 400 15"), "not http");
    assert_eq!(read(iis, "2024-01-10 10:20:30 10.0.0.1 GET /x"), "other");
    let without = "#Fields: c-ip date cs-uri-stem c-status cs(User-Agent) time";
    assert_eq!(read(without, "10.1.2.3 2024-01-10 /x 200 Agent 10:20:30"), "GET /x 200 @37230");
    let cloudfront = "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs-uri-query";
    let line = "2024-01-10\t10:20:30\tFRA2\t182\t10.1.2.3\tGET\td1.test\t/x\t200\t-\ty%20z";
    assert_eq!(read(cloudfront, line), "GET /x?y%20z d1.test 200 @37230");
    let whole = "#fields\tts\tmethod\thost\turi\tstatus_code";
    assert_eq!(read(whole, "1704882030.1\tGET\ta.test\t/x?y\t200"), "GET /x?y a.test 200 @37230");
    let quoted = "#Fields: time c-ip cs-method cs-uri cs(User-Agent) sc-status";
    assert_eq!(read(quoted, r#"10:20:30 10.1.2.3 GET /x?y "Agent 1" 200"#), "GET /x?y 200");
    let named = "#Fields: date time cs-uri cs-method cs-uri-query sc-status";
    let line = r#""2024-01-10" "10:20:30" "a.test/x" "GET" "y=1" """#;
    assert_eq!(read(named, line), "GET http://a.test/x?y=1 @37230");
    assert!(Columns::of(b"# a comment").is_none() && Columns::of(b"Fields: a").is_none());
}

#[test]
fn a_log_is_recognised_after_other_lines() {
    let good = r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 12"#;
    let begins = [
        "",
        "# rotated\n\n",
        "2024/01/10 10:20:30 [notice] 1#1: start worker processes\n",
        "[Wed Jan 10 10:20:30 2024] [notice] Apache configured\n",
        "/docker-entrypoint.sh: Launching\n",
        "PHP Warning:  x in /a.php on line 3\nStack trace:\n#0 {main}\n",
    ];
    for begin in begins {
        assert!(is_log(format!("{begin}{good}\n").as_bytes()), "{begin}");
    }
    assert!(is_log(b"\n   # x\n   #Fields: date cs-method cs-uri-stem\n"));
    assert!(is_log(b"#Software: x\n#Version: 1.0\n#Fields: date time cs-method cs-uri-stem\n"));
    let none = [
        "GET http://a.test/x\nX-A: b\n",
        "GET http://a.test/x HTTP/1.1\nHost: b\n\n###\n",
        "curl -H 'A: \"GET /\"' http://a.test/\n",
        "{\"method\":\"GET\",\"path\":\"/x\",\"body\":\"a\"}\n",
        "{\"method\":\"GET\",\"url\":\"http://a.test/x\",\"header\":{\"A\":[\"b\"]}}\n",
        "<a href=\"/x\" id=\"200\">GET /x</a>\n",
        "paths:\n  \"GET /x\": 1\n",
        "# a list\n/a\n/b\n",
    ];
    for text in none {
        assert!(!is_log(text.as_bytes()), "{text}");
    }
}

/// Lines of a format, and what they say.
fn formatted(format: &str, line: &str) -> String {
    let format: LogFormat = format.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        serde_json::from_str::<LogFormat>(&serde_json::to_string(&format).unwrap()).unwrap(),
        format
    );
    shown(format.read(line.as_bytes()))
}

#[test]
fn formats_of_nginx_and_apache_are_read() {
    let cases = [
        (
            "$remote_addr [$time_local] $host \"$request_uri\" $request_method $status",
            r#"10.1.2.3 [10/Jan/2024:10:20:30 +0000] a.test "/x?y=\x22" GET 200"#,
            "GET /x?y=\" a.test 200 @37230",
        ),
        (
            "log_format main '$remote_addr|${time_iso8601}|'\n  \"$request|$status\";",
            "10.1.2.3|2024-01-10T10:20:30+00:00|GET /x HTTP/1.1|200",
            "GET /x 200 @37230",
        ),
        (
            "log_format a escape=json '{\"u\":\"$scheme://$host$request_uri\",\"m\":\"$request_method\"}'",
            r#"{"u":"https://a.test/x?y","m":"GET"}"#,
            "GET /x?y a.test",
        ),
        (
            "$request_method $uri$is_args$args $status $msec",
            "GET /x?y 404 1704882030.5",
            "GET /x?y 404 @37230",
        ),
        (
            r#"LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined"#,
            r#"a.test:443 10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /x\"y HTTP/1.1" 200 5 "-" "z""#,
            "GET /x\"y a.test 200 @37230",
        ),
        (
            "%t %{Host}i %m %U%q %!200,304s 100%%",
            "[10/Jan/2024:10:20:30 +0000] a.test GET /x?y 404 100%",
            "GET /x?y a.test 404 @37230",
        ),
        ("%a %{%s}t %^FU %m %U", "10.1.2.3 1704882030 5 HEAD /x", "HEAD /x @37230"),
        ("$remote_addr \"$request\" $status", "another line", "other"),
        ("$remote_addr \"$request\" $status", "10.1.2.3 \"-\" 400", "not http"),
    ];
    for (format, line, expected) in cases {
        assert_eq!(formatted(format, line), expected, "{format}");
    }
}

#[test]
fn a_wrong_format_says_what_is_wrong_and_where() {
    let cases = [
        ("$remote_addr $ x", "no variable follows `$` at column 14"),
        ("%h %", "no variable follows `%` at column 4"),
        ("%h %{Host", "`{` is not closed at column 5"),
        ("ж ${host", "`{` is not closed at column 3"),
        (
            "$remote_addr$request",
            "nothing is between the variables `remote_addr` and `request` at column 13",
        ),
        ("%h %r%s", "nothing is between the variables `request` and `status` at column 6"),
        ("log_format a '$request", "the quote is not closed at column 14"),
        ("$remote_addr $status", "the request is missing at column 21"),
        ("%m %s", "the request is missing at column 6"),
        ("", "the request is missing at column 1"),
    ];
    for (format, expected) in cases {
        let error = format.parse::<LogFormat>().expect_err(format);
        assert_eq!(error.to_string(), format!("log format `{format}`: {expected}"));
        assert!(!error.hint().is_empty());
    }
}

/// A request target as a client may send it: no blanks and no control characters.
fn target() -> impl Strategy<Value = String> {
    "/[!-~ж]{0,24}".prop_filter("no request line in the target", |text| !text.contains("HTTP/"))
}

/// A text in quotes as nginx writes it.
fn nginx_quoted(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | 0x7f.. => format!("\\x{byte:02X}"),
        _ => char::from(byte).to_string(),
    });
    escaped.collect()
}

fn apache_quoted(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(byte)),
        0x7f.. => format!("\\x{byte:02x}"),
        _ => char::from(byte).to_string(),
    });
    escaped.collect()
}

proptest! {
    #[test]
    fn what_is_written_comes_back(target in target(), method in "GET|HEAD|POST", status in 100_u16..600) {
        let expected = format!("{method} {target} {status} @37230");
        for escaped in [nginx_quoted(&target), apache_quoted(&target)] {
            let line = format!(
                "1.2.3.4 - - [10/Jan/2024:10:20:30 +0000] \"{method} {escaped} HTTP/1.1\" {status} 1 \"-\" \"x\""
            );
            prop_assert_eq!(short(&line), &*expected);
            prop_assert_eq!(short(&format!("\"{line}\"")), &*expected);
            let format: LogFormat =
                "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"".parse().unwrap();
            prop_assert_eq!(shown(format.read(line.as_bytes())), &*expected);
        }
        let object = serde_json::json!({
            "ts": 1_704_882_030, "request": {"method": method, "uri": target}, "status": status,
        });
        prop_assert_eq!(short(&object.to_string()), &*expected);
        prop_assert_eq!(short(&format!("web-1 | {object}")), &*expected);
        let columns = Columns::of(b"#Fields: date time cs-method cs-uri sc-status").unwrap();
        let line = format!("2024-01-10\t10:20:30\t{method}\t{target}\t{status}");
        prop_assert_eq!(shown(columns.read(line.as_bytes())), expected);
    }

    #[test]
    fn no_line_panics(line in "[GET HOST/\"\\\\x0-9a-f\\[\\]{}:=,\t.#Fields\\-ж]{0,80}") {
        let _ = (line::read(line.as_bytes()), is_log(line.as_bytes()));
        let columns = Columns(vec!["cs-method".to_owned(), "cs-uri".to_owned()]);
        let _ = columns.read(line.as_bytes());
        if let Ok(format) = line.parse::<LogFormat>() {
            let _ = format.read(line.as_bytes());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = (line::read(&bytes), is_log(&bytes));
    }
}
