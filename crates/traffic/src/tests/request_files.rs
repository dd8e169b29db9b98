//! Tests of the request files of other tools.

use super::*;
use crate::detect;

const POSTMAN: &str = r#"{"info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
 "variable": [{"key": "id", "value": "7"}],
 "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "t{{id}}"}]},
 "item": [{"name": "cart", "item": [
   {"name": "add", "request": {"method": "POST", "url": {"raw": "{{base}}/cart/:n?x={{id}}", "variable": [{"key": "n", "value": "3"}]},
    "header": [{"key": "X-A", "value": "{{id}}"}, {"key": "X-B", "value": "no", "disabled": true}],
    "body": {"mode": "raw", "raw": "{\"n\": {{id}}}", "options": {"raw": {"language": "json"}}}}},
   {"name": "form", "request": {"auth": {"type": "noauth"}, "method": "POST", "url": "http://a.test/f",
    "body": {"mode": "urlencoded", "urlencoded": [{"key": "q", "value": "a b"}, {"key": "z", "value": "1", "disabled": true}]}}}]},
  {"name": "token", "request": {"method": "GET", "url": "http://a.test/{{secret}}"}},
  {"name": "aws", "request": {"method": "GET", "url": "http://a.test/", "auth": {"type": "awsv4"}}},
  {"name": "plain", "request": "http://a.test/p"}]}"#;

const OPENAPI: &str = "openapi: 3.0.3
info: {title: Shop, version: '1'}
servers: [{url: 'https://{zone}.a.test/v1', variables: {zone: {default: eu}}}]
paths:
  /items:
    get:
      operationId: items
      parameters:
        - {name: page, in: query, schema: {type: integer, default: 1}}
        - {name: free, in: query, schema: {type: string}}
        - {name: tags, in: query, example: [a b, c]}
    post: {}
  /items/{id}:
    parameters: [{$ref: '#/components/parameters/Id'}]
    get: {}
  /orders/{order}:
    get: {parameters: [{name: order, in: path, required: true, schema: {type: string}}]}
components:
  parameters:
    Id: {name: id, in: path, required: true, schema: {$ref: '#/components/schemas/Id'}}
  schemas:
    Id: {type: string, enum: [x/y, z]}
";

const EDITOR: &str = "@host = http://a.test
@id=7

### Add to the cart
# @name add
POST {{host}}/cart?x=1
    &y=2 HTTP/1.1
Content-Type: application/json
# a comment
X-Id: {{id}}

{\"n\": {{id}}}

> {% client.test() %}

###
GET {{unknown}}/list
Authorization: Basic me secret

### a token
GET http://a.test/{{login.response.body.token}}
###
WEBSOCKET ws://a.test/
";

const SITEMAP: &str = "<?xml version=\"1.0\"?>
<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">
 <url><loc> http://a.test/a?b=1&amp;c=&#50; </loc><priority>1</priority>
  <image:image><image:loc>http://a.test/i.png</image:loc></image:image></url>
 <url><loc><![CDATA[http://a.test/ä]]></loc></url>
</urlset>";

#[test]
fn targets_of_vegeta() {
    let text = b"# shop\r\nGET http://a.test/a\r\nX-A: 1\r\nX-A: 2\r\n\r\nPOST http://a.test/b\nHEAD http://a.test/c\n";
    assert_eq!(
        lines(text),
        [
            "[] GET /a HTTP/1.1|X-A: 1|X-A: 2|Host: a.test||",
            "[] POST /b HTTP/1.1|Content-Length: 0|Host: a.test||",
            "[] (no body) HEAD /c HTTP/1.1|Host: a.test||",
        ]
    );
    let json = br#"{"method":"POST","url":"http://a.test/b","header":{"X-A":["1"]},"body":"aGk="}"#;
    assert_eq!(lines(json), ["[] POST /b HTTP/1.1|Content-Length: 2|X-A: 1|Host: a.test||hi"]);
    let named = file(Some(Format::Vegeta));
    let error = read_all(b"GET http://a/\nno header\n", &named, HABITS).unwrap_err();
    let TrafficError::Broken { line: 2, what, .. } = error else { panic!("{error}") };
    assert_eq!(what, EntryError::NoHeader { line: "no header".to_owned() });
}

#[test]
fn files_that_requests_name_are_read_beside_the_request_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("requests");
    std::fs::write(directory.path().join("body"), "a=\n1").unwrap();
    std::fs::write(&path, "http://a/\n").unwrap();
    assert_eq!(named_files(&TrafficFile { path: path.clone(), ..file(None) }), BTreeMap::new());
    for (text, body) in [
        ("POST http://a/\n@body\n@gone\n", None),
        ("POST http://a/\n@body\n", Some("a=\n1")),
        ("http://a/ POST <body\n", Some("a=\n1")),
        ("curl http://a/ -d @body\n", Some("a=1")),
        ("curl http://a/ --data-binary @body\n", Some("a=\n1")),
        ("curl http://a/ -T body\n", Some("a=\n1")),
        ("### x\nPOST http://a/\n\n< body\n", Some("a=\n1")),
    ] {
        let file = TrafficFile { path: path.clone(), ..file(None) };
        let read = read_all(text.as_bytes(), &file, HABITS);
        let sent =
            read.as_ref().map(|(requests, _)| String::from_utf8(text_of(&requests[0])).unwrap());
        let sent_here = sent.as_ref().ok().cloned();
        match body {
            Some(body) => assert!(
                sent.as_ref().unwrap().ends_with(&format!("\r\n\r\n{body}")),
                "{text} {sent:?}"
            ),
            None => {
                assert!(read.unwrap_err().to_string().contains("`gone` cannot be read"), "{text}")
            }
        }
        // A copy on another machine reads nothing of that machine.
        let others = OtherFiles::Copies(BTreeMap::new());
        let alone = TrafficFile { others, ..file };
        assert!(read_all(text.as_bytes(), &alone, HABITS).is_err(), "{text}");
        // With the copies that were named before, it reads the same.
        std::fs::write(&path, text).unwrap();
        let named = named_files(&TrafficFile { path: path.clone(), ..self::file(None) });
        assert_eq!(named, [("body".to_owned(), directory.path().join("body"))].into(), "{text}");
        let elsewhere = tempfile::tempdir().unwrap();
        let copy = elsewhere.path().join("7");
        std::fs::copy(&named["body"], &copy).unwrap();
        let others = OtherFiles::Copies([("body".to_owned(), copy)].into());
        let copied = TrafficFile { path: elsewhere.path().join("8"), others, ..alone };
        let read = read_all(text.as_bytes(), &copied, HABITS).ok().map(|(requests, _)| requests);
        assert_eq!(
            read.map(|requests| String::from_utf8(text_of(&requests[0])).unwrap()),
            sent_here
        );
    }
}

#[test]
fn the_list_of_siege() {
    let text = b"# shop\nHOST = a.test\nhttp://$(HOST)/a\nhttp://${HOST}/b POST q=1&r=2 3\nhttp://$(NO)/c\nhttp://a.test/d x\n";
    let form = "Content-Type: application/x-www-form-urlencoded";
    assert_eq!(
        lines(text),
        [
            "[] GET /a HTTP/1.1|Host: a.test||".to_owned(),
            format!("[] POST /b HTTP/1.1|Content-Length: 9|{form}|Host: a.test||q=1&r=2 3"),
            "[] GET /d%20x HTTP/1.1|Host: a.test||".to_owned(),
        ]
    );
    let skipped = read(text).unwrap().1.skipped;
    assert_eq!(skipped.into_keys().collect::<Vec<_>>(), [Skip::Variable { name: "NO".to_owned() }]);
}

/// Lists of siege are often started with the variable of the host on the command line.
#[test]
fn the_target_stands_for_a_variable_of_siege_without_a_value() {
    let text = b"$(API)/a POST {\"x\":1}\n${API}/b\n$(API)/c/$(ID)\n$(API)x/d\n";
    let (requests, notes) = read(text).unwrap();
    assert_eq!(requests.len(), 2, "{requests:?}");
    assert!(requests[0].starts_with("[] POST /a ") && requests[1].starts_with("[] GET /b "));
    assert_eq!(notes.target_variable.as_deref(), Some("API"));
    let names = ["API", "ID"].map(|name| Skip::Variable { name: name.to_owned() });
    assert_eq!(notes.skipped.into_keys().collect::<Vec<_>>(), names);
}

#[test]
fn a_blank_in_a_plain_list_is_a_part_of_the_url() {
    assert_eq!(
        lines(b"/search?q=red shoes\n"),
        ["[] GET /search?q=red%20shoes HTTP/1.1|Host: target||"]
    );
    assert_eq!(lines(b"# all\n/a\n/search?q=red shoes and more\n").len(), 2);
    // Tags, since lines share them, or since there are headers.
    assert!(lines(b"/?a=1 buy\n/?a=2 buy\n")[0].starts_with("[buy] GET /?a=1 "));
    assert!(lines(b"[X: 1]\n/?a=1 buy\n/\n")[0].starts_with("[buy] GET /?a=1 "));
    assert!(lines(b"/a\n/b buy\n")[1].starts_with("[buy] GET /b "));
}

#[test]
fn commands_of_curl() {
    let text = br#"# shop
$ curl 'http://a.test/a?b=1' -H 'X-A: it''s' --compressed -sSL -o /dev/null | jq .
curl -XPOST a.test/b \
  -H "Content-Type: application/json" \
  --data-raw $'{"n": "it\'s"}'
curl -G https://a.test/c -d q=1 --data-urlencode 'r=a b' -u me:secret
curl -I a.test; echo done
curl a.test/d -F 'n=1' -F 'm=a;type=text/html'
curl --json '{}' "$BASE/e"
curl a.test/$ID
curl --frob a.test
export X=1
"#;
    let texts = lines(text);
    let multipart = "--stampede-form|Content-Disposition: form-data; name=\"n\"||1|--stampede-form|Content-Disposition: form-data; name=\"m\"|Content-Type: text/html||a|--stampede-form--|";
    assert_eq!(
        texts,
        [
            "[] GET /a?b=1 HTTP/1.1|X-A: its|Host: a.test||".to_owned(),
            "[] POST /b HTTP/1.1|Content-Length: 13|Content-Type: application/json|Host: a.test||{\"n\": \"it's\"}".to_owned(),
            "[] GET /c?q=1&r=a%20b HTTP/1.1|Authorization: Basic bWU6c2VjcmV0|Host: a.test||".to_owned(),
            "[] (no body) HEAD / HTTP/1.1|Host: a.test||".to_owned(),
            format!("[] POST /d HTTP/1.1|Content-Length: {}|Content-Type: multipart/form-data; boundary=stampede-form|Host: a.test||{multipart}", multipart.len() + multipart.matches('|').count()),
            "[] POST /e HTTP/1.1|User-Agent: stampede/V|Content-Length: 2|Host: target|Content-Type: application/json|Accept: application/json||{}".to_owned(),
        ]
    );
    let notes = read(text).unwrap().1;
    let skipped: Vec<String> = notes.skipped.keys().map(ToString::to_string).collect();
    let mut expected = ["no HTTP request", "variable `ID` has no value", "option `--frob` of curl"];
    expected.sort_by_key(|text| skipped.iter().position(|known| known == text));
    assert_eq!(skipped, expected);
    assert_eq!(notes.target_variable.as_deref(), Some("BASE"));
}

#[test]
fn request_files_of_editors() {
    let texts = lines(EDITOR.as_bytes());
    assert_eq!(
        texts,
        [
            "[add] POST /cart?x=1&y=2 HTTP/1.1|Content-Length: 8|Content-Type: application/json|X-Id: 7|Host: a.test||{\"n\": 7}",
            "[] GET /list HTTP/1.1|Host: target|Authorization: Basic bWU6c2VjcmV0||",
        ]
    );
    let crlf = EDITOR.replace('\n', "\r\n");
    assert_eq!(lines(format!("\u{feff}{crlf}").as_bytes()), texts);
    let notes = read(EDITOR.as_bytes()).unwrap().1;
    let variable = Skip::Variable { name: "login.response.body.token".to_owned() };
    assert_eq!(notes.skipped.get(&variable), Some(&1));
    assert_eq!(notes.skipped.get(&Skip::WebSocket {}), Some(&1));
    assert_eq!(notes.target_variable.as_deref(), Some("unknown"));
}

#[test]
fn collections_of_postman() {
    let texts = lines(POSTMAN.as_bytes());
    assert_eq!(
        texts,
        [
            "[cart/add] POST /cart/3?x=7 HTTP/1.1|Content-Length: 8|Host: target|X-A: 7|Content-Type: application/json|Authorization: Bearer t7||{\"n\": 7}",
            "[cart/form] POST /f HTTP/1.1|Content-Length: 5|Content-Type: application/x-www-form-urlencoded|Host: a.test||q=a+b",
            "[plain] GET /p HTTP/1.1|Authorization: Bearer t7|Host: a.test||",
        ]
    );
    let notes = read(POSTMAN.as_bytes()).unwrap().1;
    let skipped: Vec<String> = notes.skipped.keys().map(ToString::to_string).collect();
    assert!(skipped.contains(&"authentication by `awsv4`".to_owned()), "{skipped:?}");
    assert!(skipped.contains(&"variable `secret` has no value".to_owned()), "{skipped:?}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("environment.json");
    let values = r#"{"values": [{"key": "secret", "value": "s"}, {"key": "base", "value": "http://b.test/v2"}, {"key": "id", "value": "8", "enabled": false}]}"#;
    for text in [values, r#"{"secret": "s", "base": "http://b.test/v2"}"#] {
        std::fs::write(&path, text).unwrap();
        let file = TrafficFile { environment: Some(path.clone()), ..file(None) };
        let (requests, _) = read_all(POSTMAN.as_bytes(), &file, HABITS).unwrap();
        let texts: Vec<String> =
            requests.iter().map(|one| String::from_utf8(text_of(one)).unwrap()).collect();
        assert!(
            texts[0].starts_with("POST /v2/cart/3?x=7 ") && texts[2].starts_with("GET /s "),
            "{texts:?}"
        );
    }
    std::fs::write(&path, "[]").unwrap();
    let file = TrafficFile { environment: Some(path), ..file(None) };
    let error = read_all(POSTMAN.as_bytes(), &file, HABITS).unwrap_err();
    assert!(matches!(error, TrafficError::Environment { .. }), "{error}");
}

/// What a test of a collection would see: its requests and the reasons for the rest.
fn of_postman(item: &str) -> (Vec<String>, Vec<String>) {
    let text = format!(
        r#"{{"info": {{"name": "a", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"}},
        "event": [{{"listen": "prerequest", "script": {{"exec": ["pm.variables.set('a', 1)"]}}}}, {{"listen": "test", "script": {{"exec": [""]}}}}],
        "item": [{{"name": "one", "request": "http://a.test/1", "event": [{{"listen": "test", "script": {{"exec": ["", "x()"]}}}}]}}, {item}]}}"#
    );
    let (texts, notes) = read(text.as_bytes()).unwrap();
    (texts, notes.skipped.iter().map(|(why, count)| format!("{count} {why}")).collect())
}

#[test]
fn scripts_of_postman_are_not_run_and_named() {
    let (texts, skipped) = of_postman(r#"{"name": "two", "request": "http://a.test/2"}"#);
    assert_eq!(texts.len(), 2);
    let expected = ["1 script `prerequest`, which is not run", "1 script `test`, which is not run"];
    assert_eq!(skipped, expected);
}

#[test]
fn bodies_of_postman_are_made_or_named() {
    let body = |body: &str| {
        let item = format!(
            r#"{{"request": {{"method": "POST", "url": "http://a.test/b", "body": {body}}}}}"#
        );
        let (texts, skipped) = of_postman(&item);
        let made =
            texts.get(1).map(|text| text.rsplit("\r\n\r\n").next().unwrap_or_default().to_owned());
        let why = skipped.iter().find(|why| !why.contains("script")).cloned();
        made.or(why).unwrap_or_default()
    };
    assert_eq!(body(r#"{"mode": "file"}"#), "1 its body is a file that it does not name");
    assert_eq!(body(r#"{"mode": "file", "file": {"content": "abc"}}"#), "abc");
    assert_eq!(body(r#"{"mode": "strange"}"#), "1 a body of kind `strange` that cannot be made");
    let graph = r#"{"mode": "graphql", "graphql": {"query": "{a}", "operationName": "A", "variables": "VALUES"}}"#;
    let with = |values: &str| body(&graph.replace("VALUES", values));
    assert_eq!(with("{"), "1 a body of kind `graphql` that cannot be made");
    // The order of members is the library's.
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let of = |variables: serde_json::Value| serde_json::json!({"operationName": "A", "query": "{a}", "variables": variables});
    assert_eq!(json(&with("")), of(serde_json::Value::Null));
    assert_eq!(json(&with(r#"{\"b\":1}"#)), of(serde_json::json!({"b": 1})));
}

#[test]
fn a_field_of_postman_has_all_its_files() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.txt", "b.txt"] {
        std::fs::write(directory.path().join(name), name).unwrap();
    }
    let text = r#"{"info": {"name": "a"}, "item": [{"request": {"method": "POST", "url": "http://a.test/f",
        "body": {"mode": "formdata", "formdata": [{"key": "f", "type": "file", "src": ["a.txt", "b.txt"]}]}}}]}"#;
    let file = TrafficFile::new(directory.path().join("a.postman_collection.json"));
    let (requests, _) = read_all(text.as_bytes(), &file, HABITS).unwrap();
    let sent = String::from_utf8(text_of(&requests[0])).unwrap();
    for name in ["filename=\"a.txt\"", "filename=\"b.txt\""] {
        assert!(sent.contains(name), "{sent}");
    }
}

#[test]
fn text_in_utf16_is_read_in_all_formats() {
    let texts = [
        "# a\n/a\n/b x\n",
        EDITOR,
        POSTMAN,
        OPENAPI,
        SITEMAP,
        LOGS[1],
        "curl 'http://a.test/\u{e4}'\n",
    ];
    for text in texts {
        let marked = format!("\u{feff}{text}");
        let little: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = marked.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            assert_eq!(lines(&bytes), lines(text.as_bytes()), "{text}");
        }
    }
}

#[test]
fn what_curl_or_a_shell_would_fill_in_is_named() {
    let skipped = |command: &str| {
        let text = format!("curl http://a.test/1\n{command}\n");
        let (texts, notes) = read(text.as_bytes()).unwrap();
        let why = notes.skipped.keys().next().map(ToString::to_string);
        why.unwrap_or_else(|| texts.last().cloned().unwrap_or_default())
    };
    let expected = "`[1-3]` in its URL, which stands for several";
    assert_eq!(skipped("curl 'http://a.test/[1-3]'"), expected);
    assert_eq!(skipped("curl http://a.test/{b,c}"), "`{b,c}` in its URL, which stands for several");
    assert!(skipped("curl -g 'http://a.test/[1-3]'").contains("GET /[1-3] "));
    assert!(skipped("curl 'http://[::1]:80/x'").contains("GET /x "));
    assert_eq!(skipped("curl \"http://a.test/$(date)\""), "`$(date)`, which a shell would fill in");
}

#[test]
fn a_command_that_was_copied_for_windows_is_read() {
    let text = "curl ^\"http://a.test/w?x=1^&y=2^\" ^\r\n  -H ^\"X-A: b^\" ^\r\n  --data-raw ^\"^{^\\^\"a^\\^\":1^}^\"\r\n";
    let expected = "[] POST /w?x=1&y=2 HTTP/1.1|Content-Length: 7|X-A: b|Content-Type: application/x-www-form-urlencoded|Host: a.test||{\"a\":1}";
    assert_eq!(lines(text.as_bytes()), [expected]);
}

#[test]
fn a_url_of_siege_may_leave_its_scheme_out() {
    let text = b"HOST = a.test\nhttp://$(HOST)/1\n$(HOST)/2 POST a=1\n";
    let texts = lines(text);
    assert!(texts[1].starts_with("[] POST /2 ") && texts[1].contains("|Host: a.test"), "{texts:?}");
}

#[test]
fn a_configuration_of_tank_is_no_request_file_and_the_hint_says_so() {
    for text in ["phantom:\n  address: a\n", "[phantom]\naddress=a\n", "pools:\n  - id: a\n"] {
        let error = read(text.as_bytes()).unwrap_err();
        assert!(error.hint().contains("fire --tank"), "{text}: {error}");
    }
    assert!(!read(b"phantoms\n").unwrap_err().hint().contains("tank"));
}

#[test]
fn descriptions_by_openapi() {
    let expected = [
        "[items] GET /v1/items?page=1&tags=a%20b&tags=c HTTP/1.1|Host: eu.a.test||",
        "[] GET /v1/items/x%2Fy HTTP/1.1|Host: eu.a.test||",
    ];
    assert_eq!(lines(OPENAPI.as_bytes()), expected);
    let skipped = read(OPENAPI.as_bytes()).unwrap().1.skipped;
    assert_eq!(skipped.get(&Skip::Method { method: "POST".to_owned() }), Some(&1));
    assert_eq!(skipped.get(&Skip::Parameter { name: "order".to_owned() }), Some(&1));
    let swagger = br#"{"swagger": "2.0", "basePath": "/api/", "paths": {"/a": {"get": {"parameters": [
        {"name": "ids", "in": "query", "type": "array", "items": {"type": "string", "enum": ["n"]}, "default": ["1", "2"]}]}}}}"#;
    assert_eq!(lines(swagger), ["[] GET /api/a?ids=1%2C2 HTTP/1.1|Host: target||"]);
}

#[test]
fn sitemaps() {
    let pages =
        ["[] GET /a?b=1&c=2 HTTP/1.1|Host: a.test||", "[] GET /%C3%A4 HTTP/1.1|Host: a.test||"];
    assert_eq!(lines(SITEMAP.as_bytes()), pages);
    let cut = SITEMAP.find("<![CDATA").unwrap();
    let (texts, notes) = read(&SITEMAP.as_bytes()[..cut]).unwrap();
    assert_eq!((texts.len(), notes.skipped.get(&Skip::CutOff {})), (1, Some(&1)));
    let none = SITEMAP.replace("http://a.test/a?b=1&amp;c=&#50;", "None");
    let (texts, notes) = read(none.as_bytes()).unwrap();
    assert_eq!((texts.len(), notes.skipped.get(&Skip::NoPath {})), (1, Some(&1)));
    let index = b"<sitemapindex><sitemap><loc>http://a.test/1.xml</loc></sitemap></sitemapindex>";
    let error = read(index).unwrap_err().to_string();
    assert!(error.contains("1 × another sitemap"), "{error}");
}

/// Beginnings of access logs.
const LOGS: [&str; 8] = [
    "{\"log\":{\"level\":\"info\"},\"http\":{\"request\":{\"method\":\"GET\"},\"response\":{\"status_code\":200}},\"url\":{\"original\":\"/\"}}\n",
    "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.0\" 200 1\n",
    "[10/Oct/2000:13:55:36 +0000] - 200 200 - GET https a.test \"/\"\n",
    "/run.sh: start\n/run.sh: end\n[10/Oct/2000:13:55:36] \"GET / HTTP/1.0\" 200\n",
    "{\"log\":\"[10/Oct/2000:13:55:36] \\\"GET / HTTP/1.0\\\" 200\"}\n",
    "{\"method\":\"GET\",\"uri\":\"/\",\"status\":200}\n",
    "#Fields: cs-method cs-uri-stem\n",
    "GET /a 200 1.2 ms - 12\nGET /b 404 0.9 ms - 9\n",
];

/// One file of each format.
fn samples() -> Vec<(Format, String)> {
    let text = |text: &str| text.to_owned();
    let mut samples = vec![
        (Format::Uri, text("/\n")),
        (Format::Uri, text("https://example.org/a\n/b\n")),
        (Format::Uri, text("[Host: a]\n[X: 1]\n/x\n")),
        (Format::Uri, text("[Host: a]\n")),
        (Format::Uri, text("### shop ###\n/a\n/b\n")),
        (Format::Urls, text("/a\n/search?q=red shoes\n")),
        (Format::Urls, text("/a\n/b?q=\"GET /x HTTP/1.1\" 200\n")),
        (Format::Uri, text("/a\n/b status=200&method=GET&path=/a\n/c\n")),
        (Format::UriPost, text("[Host: a]\n5 /x tag\nclass\n")),
        (Format::UriPost, text("0 /x\n\n")),
        (Format::Request, text("73 good\nGET / HTTP/1.0\r\nHost: x\r\n\r\n")),
        (Format::Request, text("73 /good\r\nGET / HTTP/1.0\r\nHost: x\r\n\r\n")),
        (Format::JsonLines, text("{\"path\": \"/\"}\n{\"path\": \"/log\"}\n")),
        (
            Format::JsonLines,
            text("{\"method\": \"POST\", \"url\": \"http://a/\", \"body\": \"test\"}\n"),
        ),
        (
            Format::Har,
            text(
                "{\n  \"log\" : {\"version\": \"1.2\", \"entries\": [{\"request\": {\"openapi\": 1}}]}}",
            ),
        ),
        (Format::Har, text("{\"comment\": \"x\", \"log\":{\"entries\":[]}}")),
        (Format::Vegeta, text("GET http://a/\nX-A: b\n\nPOST http://a/\n@body.json\n")),
        (Format::Vegeta, text("GET http://a/\nGET http://b/\n")),
        (
            Format::VegetaJson,
            text("{\"method\": \"GET\", \"url\": \"http://a/\", \"header\": {}}\n"),
        ),
        (
            Format::VegetaJson,
            text("{\"method\": \"POST\", \"url\": \"http://a/\", \"body\": \"aGk=\"}\n"),
        ),
        (Format::Siege, text("http://a/\nhttp://a/ POST a=1\n")),
        (Format::Siege, text("HOST=a.test\nhttp://$(HOST)/\n$(HOST)/b\n")),
        (Format::Curl, text("curl http://a/\n")),
        (Format::Curl, text("$ curl http://a/ -d '\n### x\nGET http://b/\n'\n")),
        (Format::Editor, text(EDITOR)),
        (
            Format::Editor,
            text(
                "POST http://a/\n\n{\"method\":\"GET\",\"path\":\"/\",\"status\":200}\n\nGET /b\n",
            ),
        ),
        (Format::Editor, text("### x\nhttps://a.test/\nAccept: a/b\n")),
        (Format::Editor, text("GET https://a.test/\nAccept: a/b\n\n###\n")),
        (Format::Editor, text("GET {{host}}/a HTTP/1.1\n")),
        (Format::Editor, text("POST http://a/ HTTP/1.1\nContent-Type: a/b\n\n{\"path\": \"/\"}\n")),
        (Format::Postman, text(POSTMAN)),
        (Format::OpenApi, text(OPENAPI)),
        (
            Format::OpenApi,
            text("{\"info\": {\"title\": \"x\"}, \"paths\": {}, \"swagger\": \"2.0\"}"),
        ),
        (Format::Sitemap, text(SITEMAP)),
    ];
    samples.extend(LOGS.map(|log| (Format::AccessLog, text(log))));
    samples
}

#[test]
fn no_file_of_one_format_is_taken_for_another() {
    for (format, text) in samples() {
        for text in [
            text.clone(),
            format!("\u{feff}{text}"),
            text.replace('\n', "\r\n"),
            format!("\n\n{text}"),
        ] {
            assert_eq!(detect::format(text.as_bytes()), Ok(format), "{text}");
        }
        let is_json = text.starts_with('{');
        if !matches!(format, Format::Request | Format::Sitemap) && !is_json {
            let commented = format!("# shop\n{text}");
            assert_eq!(detect::format(commented.as_bytes()), Ok(format), "{commented}");
        }
    }
    let known: std::collections::BTreeSet<&str> =
        samples().iter().map(|(format, _)| format.name()).collect();
    assert_eq!(known.len(), Format::ALL.len(), "there is a sample of each format");
    assert_eq!(detect::format(b" \n\n"), Err(detect::Unknown::Empty));
    for odd in ["12", "12 tag", "<html>", "hello world", "[{\"a\": 1}, 2"] {
        assert!(detect::format(odd.as_bytes()).is_err() || odd.starts_with('['), "{odd}");
    }
}

#[test]
fn what_is_written_reads_back_to_the_same_requests() {
    for (format, text) in samples() {
        let plain = TrafficFile { headers: Vec::new(), ..file(Some(format)) };
        let Ok((requests, _)) = read_all(text.as_bytes(), &plain, HABITS) else { continue };
        let lines: Vec<String> =
            requests.iter().map(|request| write::json_line(request, "")).collect();
        let (again, _) = read_all(lines.join("\n").as_bytes(), &plain_lines(), HABITS).unwrap();
        let texts = |list: &[Request]| list.iter().map(text_of).collect::<Vec<_>>();
        assert_eq!(texts(&again), texts(&requests), "{lines:?}");
    }
}

fn plain_lines() -> TrafficFile {
    TrafficFile { headers: Vec::new(), ..file(Some(Format::JsonLines)) }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any request that can be built comes back from its line, byte for byte, with its tag.
    #[test]
    fn any_request_comes_back_from_its_line(
        method in "[A-Z]{1,6}", path in "/[a-zé%?=&]{0,12}", tag in ".{0,8}",
        headers in proptest::collection::vec(("[A-Za-z-]{1,3}", "[^\r\n\0]{0,8}"), 0..5),
        body in proptest::collection::vec(any::<u8>(), 0..12), is_raw in any::<bool>(),
    ) {
        let built = Request::build(&method, &path, &headers, &body, HABITS, None);
        let Ok(built) = built else { return Ok(()) };
        let request = if is_raw { Request::encoded(&text_of(&built)) } else { built };
        let line = write::json_line(&request, &tag);
        prop_assert!(!line.contains('\n'));
        let (again, _) = read_all(line.as_bytes(), &plain_lines(), HABITS).expect("it is a line");
        prop_assert_eq!(text_of(&again[0]), text_of(&request), "{}", line);
    }
}
