//! Tests of reading scripts of other load generators.

use std::path::Path;

use proptest::prelude::*;
use stampede_model::load::Until;
use stampede_model::time::Nanos;

use super::*;

mod rows;

fn read_as(tool: Tool, text: &str) -> Result<ImportedLoad, ImportError> {
    parse(tool, text, Path::new("script"))
}

fn k6(text: &str) -> ImportedLoad {
    read_as(Tool::K6, text).expect("a load")
}

/// `METHOD host path` of each request.
fn lines(load: &ImportedLoad) -> Vec<String> {
    let line = |ImportedRequest { spec, .. }: &ImportedRequest| {
        format!("{} {} {}", spec.method, spec.site.as_deref().unwrap_or("-"), spec.path)
    };
    load.requests.iter().map(line).collect()
}

fn left_out(load: &ImportedLoad) -> Vec<(usize, String)> {
    load.left_out.iter().map(|one| (one.line, one.what.to_string())).collect()
}

fn proposed(load: &ImportedLoad) -> String {
    load.load.as_ref().map_or_else(String::new, ToString::to_string)
}

#[test]
fn tools_are_recognised_by_content() {
    for (text, tool) in [
        ("import http from 'k6/http';", Some(Tool::K6)),
        ("// a test\nimport {\n  check\n} from \"k6\";", Some(Tool::K6)),
        ("const http = require('k6/http');", Some(Tool::K6)),
        ("<?xml version=\"1.0\"?>\n<jmeterTestPlan version=\"1.2\">", Some(Tool::Jmeter)),
        ("package a\n\nimport io.gatling.core.Predef._", Some(Tool::Gatling)),
        ("import static io.gatling.javaapi.core.CoreDsl.*;", Some(Tool::Gatling)),
        ("import { simulation } from \"@gatling.io/core\";", Some(Tool::Gatling)),
        ("from locust import HttpUser, task", Some(Tool::Locust)),
        ("import locust", Some(Tool::Locust)),
        ("<html>", None),
        ("/a\n/k6/http\n", None),
        ("{\"path\": \"/a\", \"body\": \"import http from 'k6/http'\"}", None),
        ("1.2.3.4 - - [x] \"GET / HTTP/1.1\" 200 0 \"-\" \"k6/0.4\"", None),
        ("", None),
    ] {
        assert_eq!(Tool::of(text.as_bytes()), tool, "{text}");
    }
}

#[test]
fn programs_are_answered_in_a_sentence() {
    for tool in [Tool::Gatling, Tool::Locust] {
        let error = read_as(tool, "").expect_err("a program");
        assert!(matches!(error, ImportError::IsProgram { .. }));
        assert!(error.to_string().contains(tool.name()) && !error.hint().is_empty());
    }
}

#[test]
fn literal_requests_of_k6_are_taken_in_their_order() {
    let load = k6(r#"import http from 'k6/http';
import { check, sleep } from 'k6';
const BASE = __ENV.BASE || 'http://shop.test:8080';
const params = { headers: { 'Content-Type': 'application/json', 'X-N': 1 } };
export const options = { vus: 10, duration: '1m30s' };
function cart(id) {
  const body = JSON.stringify({ a: 1, b: [true, null, "x\n"] });
  http.post(`${BASE}/cart?x=a b`, body, params);
  http.get(`${BASE}/cart/${id}`);
}
function unused() { http.get('http://shop.test:8080/unused'); }
export default function () {
  const res = http.get('http://shop.test:8080/');
  check(res, { ok: (r) => r.status === 200 });
  cart(1);
  http.put(BASE + '/form', { q: 'Tom & Jerry', n: 2 });
  http.request('patch', BASE + '/p', 'raw');
  http.batch([
    ['GET', BASE + '/one'],
    { method: 'DELETE', url: BASE + '/two' },
    `${BASE}/three`,
  ]);
  http.get('https://cdn.test/x.js');
  sleep(1);
}
"#);
    assert_eq!(
        lines(&load),
        [
            "GET shop.test:8080 /",
            "POST shop.test:8080 /cart?x=a%20b",
            "PUT shop.test:8080 /form",
            "PATCH shop.test:8080 /p",
            "GET shop.test:8080 /one",
            "DELETE shop.test:8080 /two",
            "GET shop.test:8080 /three",
        ]
    );
    let posted = &load.requests[1].spec;
    assert_eq!(posted.body, br#"{"a":1,"b":[true,null,"x\n"]}"#);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(posted.headers, [header("Content-Type", "application/json"), header("X-N", "1")]);
    let form = &load.requests[2].spec;
    assert_eq!(form.body, b"q=Tom+%26+Jerry&n=2");
    assert_eq!(form.headers, [header("Content-Type", "application/x-www-form-urlencoded")]);
    assert_eq!(load.requests[3].spec.body, b"raw");
    assert_eq!(proposed(&load), "--concurrency 10 --for 90s");
    let expected = [
        (9, "a request, for its URL"),
        (14, "`check`"),
        (23, "a request to `cdn.test`"),
        (24, "`sleep`"),
    ];
    let expected = expected.map(|(line, what)| (line, what.to_owned()));
    assert_eq!(left_out(&load), expected);
}

#[test]
fn what_only_a_run_would_tell_is_left_out_with_its_line() {
    let load = k6("import http from 'k6/http';
import { helper } from './helper.js';
export function setup() { http.get('/setup'); }
export default function (data) {
  http.get(`${__ENV.HOST}/own`);
  http.get(__ENV.URL);
  http.post('http://a.test/', { id: data.id });
  http.post('http://a.test/', '', { headers: { Authorization: `Bearer ${data.token}` } });
  http.get('http://a.test/', { tags: { name: 'a' }, timeout: '5s' });
  for (const id of [1, 2]) { http.get('http://a.test/loop'); }
  helper();
  let once = 'http://a.test/once';
  http.get(once);
  let twice = 'http://a.test/1';
  twice = 'http://a.test/2';
  http.get(twice);
}
");
    assert_eq!(
        lines(&load),
        ["GET - /own", "GET a.test /", "GET a.test /loop", "GET a.test /once"]
    );
    let expected = [
        (2, "the module `./helper.js`"),
        (3, "`setup`"),
        (6, "a request, for its URL"),
        (7, "a request, for its body"),
        (8, "a request, for its headers"),
        (9, "`tags`"),
        (9, "`timeout`"),
        (10, "`for`"),
        (11, "`helper`"),
        (16, "a request, for its URL"),
    ];
    assert_eq!(left_out(&load), expected.map(|(line, what)| (line, what.to_owned())));
    assert_eq!(load.load, None);
}

#[test]
fn names_are_those_of_their_block() {
    let load = k6("import http from 'k6/http';
const url = 'http://a.test/top';
function one() { const url = 'http://a.test/one'; http.get(url); }
function two() { const url = 'http://a.test/two'; http.get(url); }
export default () => { one(); http.get(url); two(); one(); };
");
    assert_eq!(lines(&load), ["GET a.test /one", "GET a.test /top", "GET a.test /two"]);
}

#[test]
fn options_of_k6_become_a_load() {
    let of = |options: &str| {
        let text = format!(
            "import http from 'k6/http';\nexport const options = {options};\n\
             export default function () {{ http.get('http://a/1'); http.get('http://a/2'); }}\n\
             export function other() {{ http.get('http://a/3'); }}\n"
        );
        let load = k6(&text);
        (proposed(&load), load.requests.len(), left_out(&load))
    };
    let cases = [
        ("{ vus: 5, iterations: 20 }", "--concurrency 5 --requests 40"),
        ("{ iterations: 3 }", "--concurrency 1 --requests 6"),
        ("{ vus: 1 + 2, duration: 1500 }", "--concurrency 3 --for 1s500ms"),
        (
            "{ scenarios: { a: { executor: 'constant-arrival-rate', rate: 30, timeUnit: '1m', duration: '2m', preAllocatedVUs: 5 } } }",
            "--schedule 'const(1,120s)'",
        ),
        (
            "{ scenarios: { a: { executor: 'ramping-arrival-rate', startRate: 10, stages: [{ target: 10, duration: '10s' }, { target: 50, duration: '1m' }, { target: 0, duration: 5000 }] } } }",
            "--schedule 'const(20,10s) line(20,100,60s) line(100,0,5s)'",
        ),
        (
            "{ scenarios: { a: { executor: 'per-vu-iterations', vus: 4, iterations: 5 } } }",
            "--concurrency 4 --requests 40",
        ),
        (
            "{ scenarios: { a: { executor: 'shared-iterations', vus: 4, iterations: 5 } } }",
            "--concurrency 4 --requests 10",
        ),
    ];
    for (options, load) in cases {
        assert_eq!(of(options), (load.to_owned(), 2, Vec::new()), "{options}");
    }
    let named = |line, what: &str| (line, what.to_owned());
    let stages = "{ stages: [{ duration: '10s', target: 5 }, { duration: '20s', target: 9 }], thresholds: {} }";
    let expected = (
        "--concurrency 9 --for 30s".to_owned(),
        2,
        vec![named(2, "`thresholds`"), named(2, "`stages`")],
    );
    assert_eq!(of(stages), expected);
    let two = "{ scenarios: { a: { executor: 'constant-vus', vus: 2, duration: '5s' }, b: { executor: 'constant-vus', vus: 3, duration: '5s', exec: 'other' } } }";
    assert_eq!(of(two), ("--concurrency 2 --for 5s".to_owned(), 3, vec![named(2, "`b`")]));
    assert_eq!(of("make()"), (String::new(), 2, vec![named(2, "`options`")]));
}

/// A plan of JMeter with these elements below its thread group.
fn plan(variables: &str, below: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2"><hashTree><TestPlan>
<elementProp name="TestPlan.user_defined_variables" elementType="Arguments"><collectionProp name="Arguments.arguments">{variables}</collectionProp></elementProp>
</TestPlan><hashTree><ThreadGroup testname="Users" enabled="true">
<elementProp name="ThreadGroup.main_controller" elementType="LoopController"><stringProp name="LoopController.loops">${{__P(loops,3)}}</stringProp></elementProp>
<stringProp name="ThreadGroup.num_threads">${{users}}</stringProp>
<stringProp name="ThreadGroup.ramp_time">5</stringProp>
<boolProp name="ThreadGroup.scheduler">false</boolProp>
</ThreadGroup><hashTree>
{below}
</hashTree></hashTree></hashTree></jmeterTestPlan>
"#
    )
}

fn variable(name: &str, value: &str) -> String {
    format!(
        r#"<elementProp name="{name}" elementType="Argument"><stringProp name="Argument.name">{name}</stringProp><stringProp name="Argument.value">{value}</stringProp></elementProp>"#
    )
}

fn sampler(properties: &[(&str, &str)], arguments: &str, below: &str) -> String {
    let properties: String = properties
        .iter()
        .map(|(name, value)| {
            format!(r#"<stringProp name="HTTPSampler.{name}">{value}</stringProp>"#)
        })
        .collect();
    format!(
        r#"<HTTPSamplerProxy enabled="true">{properties}<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">{arguments}</collectionProp></elementProp></HTTPSamplerProxy><hashTree>{below}</hashTree>"#
    )
}

fn argument(name: &str, value: &str, encode: &str) -> String {
    format!(
        r#"<elementProp name="{name}" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">{encode}</boolProp><stringProp name="Argument.name">{name}</stringProp><stringProp name="Argument.value">{value}</stringProp></elementProp>"#
    )
}

fn headers(headers: &[(&str, &str)]) -> String {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!(r#"<elementProp name="" elementType="Header"><stringProp name="Header.name">{name}</stringProp><stringProp name="Header.value">{value}</stringProp></elementProp>"#))
        .collect();
    format!(
        r#"<HeaderManager><collectionProp name="HeaderManager.headers">{headers}</collectionProp></HeaderManager><hashTree/>"#
    )
}

#[test]
fn samplers_of_jmeter_are_taken_with_their_defaults() {
    let defaults = r#"<ConfigTestElement><stringProp name="HTTPSampler.domain">${host}</stringProp><stringProp name="HTTPSampler.port">8080</stringProp></ConfigTestElement><hashTree/>"#;
    let raw = r#"<HTTPSamplerProxy><boolProp name="HTTPSampler.postBodyRaw">true</boolProp><elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments"><elementProp name="" elementType="HTTPArgument"><stringProp name="Argument.value">{&quot;a&quot;: 1}</stringProp></elementProp></collectionProp></elementProp><stringProp name="HTTPSampler.path">/json</stringProp><stringProp name="HTTPSampler.method">POST</stringProp></HTTPSamplerProxy><hashTree/>"#;
    let below = [
        defaults.to_owned(),
        headers(&[("Accept", "text/html"), ("X-A", "1")]),
        sampler(&[("path", "/"), ("method", "GET")], &argument("q", "a b&amp;c", "true"), ""),
        sampler(&[("path", "cart"), ("method", "POST")], &(argument("id", "1", "false") + &argument("n", "%41", "false")), &headers(&[("X-A", "2")])),
        raw.to_owned(),
        sampler(&[("path", "https://cdn.test/x"), ("method", "GET")], "", ""),
        sampler(&[("path", "/off")], "", "").replace("enabled=\"true\"", "enabled=\"false\""),
        sampler(&[("path", "/${id}")], "", "<RegexExtractor/><hashTree/>"),
        "<ConstantTimer/><hashTree/>\n<IfController/><hashTree>".to_owned() + &sampler(&[("path", "/if")], "", "<ResponseAssertion/><hashTree/>") + "</hashTree>",
        r#"<CSVDataSet><stringProp name="filename">users.csv</stringProp><stringProp name="variableNames">id</stringProp></CSVDataSet><hashTree/>"#.to_owned(),
    ]
    .join("\n");
    let variables = variable("users", "7") + &variable("host", "shop.test");
    let load = read_as(Tool::Jmeter, &plan(&variables, &below)).expect("a load");
    assert_eq!(
        lines(&load),
        [
            "GET shop.test:8080 /?q=a+b%26c",
            "POST shop.test:8080 /cart",
            "POST shop.test:8080 /json",
            "GET shop.test:8080 /if",
        ]
    );
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let form = header("Content-Type", "application/x-www-form-urlencoded");
    assert_eq!(load.requests[0].spec.headers, [header("Accept", "text/html"), header("X-A", "1")]);
    assert_eq!(
        load.requests[1].spec.headers,
        [header("Accept", "text/html"), header("X-A", "2"), form]
    );
    assert_eq!(load.requests[1].spec.body, b"id=1&n=%41");
    assert_eq!(load.requests[2].spec.body, br#"{"a": 1}"#);
    // Seven users, three loops, and the five requests that the group has before the hosts are known.
    assert_eq!(proposed(&load), "--concurrency 7 --requests 105");
    let what: Vec<String> = left_out(&load).into_iter().map(|(_, what)| what).collect();
    assert_eq!(
        what,
        [
            "`ThreadGroup.ramp_time`",
            "a request to `cdn.test`",
            "a request, for its URL",
            "`RegexExtractor`",
            "`ConstantTimer`",
            "`IfController`",
            "`ResponseAssertion`",
            "`CSVDataSet users.csv: id`",
        ]
    );
    assert!(load.left_out.iter().all(|one| one.line >= 5), "{:?}", load.left_out);
}

#[test]
fn a_host_that_only_a_run_would_tell_is_the_target() {
    let below = sampler(&[("domain", "${__P(host)}"), ("path", "/a")], "", "");
    let load =
        read_as(Tool::Jmeter, &plan(&variable("users", "${users}"), &below)).expect("a load");
    assert_eq!(lines(&load), ["GET - /a"]);
    assert_eq!(load.load, None);
    assert!(left_out(&load).contains(&(4, "`ThreadGroup`".to_owned())), "{:?}", load.left_out);
}

/// `Referer` says where a person came from; `Authorization` is a part of what is asked.
#[test]
fn only_a_header_that_is_needed_keeps_a_request_from_being_sent() {
    let get = |path: &str, below: &str| sampler(&[("domain", "a"), ("path", path)], "", below);
    let below = headers(&[("Referer", "${url}/login"), ("origin", "${__P(url,)}"), ("X-A", "1")])
        + &get("/a", "")
        + &get("/b", &headers(&[("Authorization", "Bearer ${token}")]))
        + &get("/c", &headers(&[("X-${n}", "1")]));
    let load = read_as(Tool::Jmeter, &plan(&variable("users", "2"), &below)).expect("a load");
    assert_eq!(lines(&load), ["GET a /a"]);
    assert_eq!(load.requests[0].spec.headers, [("X-A".to_owned(), "1".to_owned())]);
    let what: HashSet<String> = left_out(&load).into_iter().map(|(_, what)| what).collect();
    for one in ["the header `Referer`", "the header `origin`", "a request, for its headers"] {
        assert!(what.contains(one), "{one}: {what:?}");
    }
}

#[test]
fn a_group_with_a_length_ends_by_it() {
    let text = plan(&variable("users", "2"), &sampler(&[("domain", "a"), ("path", "/")], "", ""));
    let text = text.replace(
        r#"<boolProp name="ThreadGroup.scheduler">false</boolProp>"#,
        r#"<boolProp name="ThreadGroup.scheduler">true</boolProp><stringProp name="ThreadGroup.duration">90</stringProp>"#,
    );
    let load = read_as(Tool::Jmeter, &text).expect("a load").load;
    let until = Some(Until::For(Nanos::from_secs(90)));
    assert_eq!(load, Some(ProposedLoad::Users { users: 2, until }));
}

#[test]
fn what_is_no_plan_is_refused() {
    let error = read_as(Tool::Jmeter, "<jmeterTestPlan><hashTree>").expect_err("no XML");
    assert!(matches!(error, ImportError::Xml { .. }));
    let error = read_as(Tool::Jmeter, "<jmeterTestPlan/>").expect_err("no request");
    assert!(matches!(error, ImportError::NoRequest { .. }));
    let deep = format!("<jmeterTestPlan>{}", "<hashTree>".repeat(100_000));
    assert!(matches!(read_as(Tool::Jmeter, &deep), Err(ImportError::Xml { .. })));
    let deep = format!("import http from 'k6/http';{}", "(".repeat(10_000));
    assert!(matches!(read_as(Tool::K6, &deep), Err(ImportError::TooDeep { .. })));
    // Before all else, the requests.
    let text = "import http from 'k6/http';\nsleep(1);\nsleep(2);\ncheck(1);\nhttp.get(a());";
    let error = read_as(Tool::K6, text).expect_err("none");
    let ImportError::NoRequest { left_out, .. } = &error else { panic!("{error:?}") };
    assert_eq!(left_out[0].what, Omission::Request { part: RequestPart::Url });
    assert_eq!((left_out[0].line, left_out.len()), (5, 4), "{left_out:?}");
}

/// Names that double a text again and again would fill the memory.
#[test]
fn a_text_that_doubles_is_left_out() {
    let doubled: String =
        (1..60).map(|n| format!("const a{n} = a{} + a{};\n", n - 1, n - 1)).collect();
    let text = format!(
        "import http from 'k6/http';\nconst a0 = 'x';\n{doubled}http.get(a59);\nhttp.get('http://a/');\n"
    );
    assert_eq!(lines(&k6(&text)), ["GET a /"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_script_panics(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("import http from 'k6/http';\n"), Just("export default function () {"),
                Just("http.get("), Just("http.post("), Just("http.batch(["), Just("'http://a/b'"),
                Just("`${x}/y`"), Just("`"), Just("'"), Just(")"), Just("}"), Just("]"), Just(","),
                Just("const x = "), Just("x"), Just("+"), Just("{ headers: { A: 1 } }"),
                Just("export const options = {"), Just("vus: 1,"), Just("stages: [{"),
                Just("target: 1, duration: '1s'"), Just("\\u"), Just("\u{e9}"), Just(";\n"),
                Just("...x"), Just("function f(x) {"), Just("f()"), Just("||"), Just("1e999"),
            ],
            0..30,
        ),
    ) {
        let _ = read_as(Tool::K6, &parts.concat());
    }

    #[test]
    fn no_plan_panics(
        name in "[A-Za-z]{0,12}", value in "[${}_P(),a-z0-9:/ ]{0,24}",
        property in prop_oneof![
            Just("path"), Just("domain"), Just("port"), Just("protocol"), Just("method"),
        ],
    ) {
        let below = sampler(&[("path", "/a"), (property, &value)], &argument(&name, &value, "true"), "");
        let text = plan(&(variable("users", &value) + &variable(&name, &value)), &below);
        if let Ok(load) = read_as(Tool::Jmeter, &text) {
            prop_assert!(load.requests.iter().all(|request| request.spec.path.starts_with('/')));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        let _ = Tool::of(text.as_bytes());
        let _ = read_as(Tool::K6, &text);
        let _ = read_as(Tool::Jmeter, &text);
    }
}

#[test]
fn a_host_that_is_named_is_the_one_that_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.js");
    let script = "import http from 'k6/http';\nexport default function () {\n\
                  http.get('https://a.test/1');\nhttp.get('https://a.test/2');\nhttp.get('https://B.test:444/3');\n}\n";
    std::fs::write(&path, script).unwrap();
    let paths = |host: Option<&str>| {
        let read = read_for(&path, host).map(Option::unwrap);
        read.map(|load| load.requests.into_iter().map(|one| one.spec.path).collect::<Vec<_>>())
    };
    assert_eq!(paths(None).unwrap(), ["/1", "/2"]);
    assert_eq!(paths(Some("b.test")).unwrap(), ["/3"]);
    let error = paths(Some("c.test")).unwrap_err();
    assert!(matches!(&error, ImportError::NoRequest { left_out, .. } if left_out.len() == 3));
}
