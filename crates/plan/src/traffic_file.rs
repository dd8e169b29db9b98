//! Reads `traffic: FILE` of a load: a list of paths and URLs, a script of another tool, or any other
//! request file that `stampede-traffic` reads.
//!
//! A file of any length becomes at most [`REQUESTS_MAX`] requests in memory: of a longer one, one
//! request in two, four, eight … is taken, so that their mix is that of the whole file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stampede_model::entry::{EntryError, Skip};
use stampede_model::fact::{BrokenEntries, RequestFile, SkippedEntries};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_traffic::overview::read_each;
use stampede_traffic::{
    Format, LogFormat, LogSelection, LoggedAnswers, PlainRequest, Request, TrafficError,
    TrafficFile, TrafficNotes, is_plain_list,
};

use super::error::{Help, Mistake, PlanError, one_of};
use super::keys::TRAFFIC_FILE;
use super::model::RequestSpec;
use super::requests::{REQUESTS_MAX, requests_of, requests_of_script};
use super::tree::{Node, Value};
use super::urls;
use super::value::{Fields, not_a, text, texts, value_of};

/// What a load sends in turn.
#[derive(Default)]
pub(super) struct Requests {
    /// Empty: the requests that each app declares.
    pub requests: Vec<RequestSpec>,
    /// The file that they are from, where the user should know what was taken of it.
    pub file: Option<RequestFile>,
}

impl From<Vec<RequestSpec>> for Requests {
    fn from(requests: Vec<RequestSpec>) -> Requests {
        Requests { requests, file: None }
    }
}

/// Values of `log_errors`: what becomes of requests that a log says were answered with 4xx or 5xx.
pub(super) const LOG_ERRORS: [&str; 2] = ["keep", "drop"];

const EXPECTED: &str = "a request file, as `fire --traffic` takes it: docs/traffic.md";

/// Reads the file that `node` names. Where its requests have no header of that name, they get those
/// of `base`; a list of paths has everything else of `base` too.
pub(super) fn read(node: &Node, base: RequestSpec) -> Result<Requests, PlanError> {
    let mut name = node;
    let mut file = TrafficFile::new("");
    if let Value::Map(_) = node.value {
        let fields = Fields::of(node, &TRAFFIC_FILE)?;
        let Some(named) = fields.get("file") else {
            return Err(node.place.wrong(Mistake::Missing("file"), EXPECTED));
        };
        (name, file) = (named, described(&fields)?);
    }
    file.path = name.place.source.base.join(text(name, "a file", EXPECTED)?);
    file.headers.clone_from(&base.headers);
    let is_described = file.format.is_some() || file.log.format.is_some();
    if !is_described {
        if let Some(requests) = requests_of_script(name, &base)? {
            return Ok(requests);
        }
        if !file.path.is_file() || is_plain_list(&file).map_err(|error| refused(name, error))? {
            let (paths, site) = urls::read(name)?;
            return Ok(requests_of(&paths, name, &RequestSpec { site, ..base })?.into());
        }
    }
    of_file(&file, name)
}

/// What the keys of a map say about the file.
fn described(fields: &Fields<'_>) -> Result<TrafficFile, PlanError> {
    let format = fields.get("format").map(|node| {
        let known = node.text().and_then(Format::named);
        known.ok_or_else(|| not_a(node, "a format", one_of(Format::ALL.map(Format::name))))
    });
    let log_format = fields.get("log_format").map(|node| {
        let written = text(node, "a format", LOG_FORMAT)?;
        let read: Result<LogFormat, _> = written.parse();
        read.map_err(|error| node.place.wrong(Mistake::refused(error), LOG_FORMAT))
    });
    let errors = fields.get("log_errors");
    let answers = match errors.map(|node| value_of(node, "log_errors", &LOG_ERRORS)).transpose()? {
        Some("drop") => LoggedAnswers::WithoutErrors,
        _ => LoggedAnswers::All,
    };
    let default = LogSelection::default();
    let methods = fields.get("methods").map(methods).transpose()?;
    let environment = fields
        .get("environment")
        .map(|node| Ok(node.place.source.base.join(text(node, "a file", ENVIRONMENT)?)));
    let environment: Option<PathBuf> = environment.transpose()?;
    Ok(TrafficFile {
        format: format.transpose()?,
        environment,
        log: LogSelection {
            methods: methods.unwrap_or(default.methods),
            answers,
            host: default.host,
            format: log_format.transpose()?,
        },
        ..TrafficFile::new("")
    })
}

/// Methods, as a list or with commas between them.
fn methods(node: &Node) -> Result<Vec<String>, PlanError> {
    let mut all = Vec::new();
    for item in texts(node, METHODS)? {
        let written = item.text().unwrap_or_default().split(',').map(str::trim);
        all.extend(written.map(str::to_ascii_uppercase));
    }
    let is_method =
        |word: &String| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    if all.iter().all(is_method) { Ok(all) } else { Err(not_a(node, "a list of methods", METHODS)) }
}

const LOG_FORMAT: &str = "the value of nginx's `log_format` or Apache's `LogFormat`";
const METHODS: &str = "methods to take of an access log, such as `GET,HEAD,POST`";
const ENVIRONMENT: &str = "a file with values of variables, as Postman exports it";

fn of_file(file: &TrafficFile, node: &Node) -> Result<Requests, PlanError> {
    stampede_mask::requests_file(&file.path);
    if let Some(environment) = &file.environment {
        stampede_mask::requests_file(environment);
    }
    let mut taken = Taken::default();
    let notes = read_each::<TrafficError>(file, HABITS, |request, _| {
        taken.add(request);
        Ok(())
    });
    let notes = notes.map_err(|error| refused(node, error))?;
    if let Some(failure) = &notes.failed {
        return Err(node.place.wrong(Mistake::refused(failure.clone()), EXPECTED));
    }
    if taken.spread.kept.is_empty() {
        let mistake = Mistake::NotA { found: node.found(), wanted: "a file with requests to send" };
        return Err(node.place.wrong(mistake, Help::todo(SHOWN_BY)));
    }
    Ok(taken.finish(file, notes))
}

const SHOWN_BY: &str = "`stampede traffic FILE` shows what is in it, and why the rest is not sent";

fn refused(node: &Node, error: TrafficError) -> PlanError {
    node.place.wrong(Mistake::refused(error), EXPECTED)
}

/// What is taken of a file while it is read.
#[derive(Default)]
struct Taken {
    spread: Spread,
    /// The host of the first request that has one. Requests of other hosts are left out.
    host: Option<String>,
    skipped: BTreeMap<Skip, u64>,
}

impl Taken {
    fn add(&mut self, request: &Request) {
        let spec = request.plain().and_then(|plain| self.of_one_host(plain));
        match spec {
            Ok(spec) => self.spread.add(spec),
            Err(why) => *self.skipped.entry(why).or_default() += 1,
        }
    }

    fn of_one_host(&mut self, plain: PlainRequest) -> Result<RequestSpec, Skip> {
        let PlainRequest { method, path, host, headers, body } = plain;
        if let Some(host) = &host {
            let first = self.host.get_or_insert_with(|| host.clone());
            if !first.eq_ignore_ascii_case(host) {
                return Err(Skip::OtherHost { host: first.clone() });
            }
        }
        Ok(RequestSpec { method, path, headers, body, site: host })
    }

    fn finish(mut self, file: &TrafficFile, notes: TrafficNotes) -> Requests {
        for (why, entries) in notes.skipped {
            *self.skipped.entry(why).or_default() += entries;
        }
        for request in &self.spread.kept {
            request.headers.iter().for_each(|(name, value)| stampede_mask::header(name, value));
            stampede_mask::text(&request.path);
        }
        let broken = |(line, error): (u64, EntryError)| {
            let entries = notes.broken;
            BrokenEntries { entries, line, error }
        };
        let Spread { kept, every, seen, .. } = self.spread;
        let read = RequestFile {
            file: file.path.display().to_string(),
            format: notes.format.unwrap_or_default(),
            requests: seen,
            sent: kept.len() as u64,
            every,
            skipped: self
                .skipped
                .into_iter()
                .map(|(why, entries)| SkippedEntries { why, entries })
                .collect(),
            broken: notes.broken_first.map(broken),
            left_out: Vec::new(),
        };
        Requests { requests: kept, file: Some(read) }
    }
}

/// Requests that are spread evenly over a file, whose length is not known before its end.
struct Spread {
    kept: Vec<RequestSpec>,
    /// Bytes of the kept requests.
    bytes: usize,
    /// Every how many requests one is kept.
    every: u64,
    /// Requests so far.
    seen: u64,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { kept: Vec::new(), bytes: 0, every: 1, seen: 0 }
    }
}

impl Spread {
    fn add(&mut self, request: RequestSpec) {
        if self.seen.is_multiple_of(self.every) {
            self.bytes += size(&request);
            self.kept.push(request);
            while self.kept.len() > REQUESTS_MAX || (self.bytes > BYTES_MAX && self.kept.len() > 1)
            {
                self.halve();
            }
        }
        self.seen += 1;
    }

    fn halve(&mut self) {
        let mut number = 0;
        self.kept.retain(|_| {
            number += 1;
            number % 2 == 1
        });
        self.bytes = self.kept.iter().map(size).sum();
        self.every *= 2;
    }
}

fn size(request: &RequestSpec) -> usize {
    let headers = request.headers.iter().map(|(name, value)| name.len() + value.len());
    request.path.len() + request.body.len() + headers.sum::<usize>()
}

/// Most bytes of all requests of a load together.
const BYTES_MAX: usize = 64 << 20;

/// How the requests are sent does not change what is read.
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::flags::Overrides;
    use super::super::mistakes::with;
    use super::super::tests::read_text;
    use super::*;

    /// The first load of a plan whose `traffic` is this; `DIR` stands for a directory with these
    /// files.
    fn read_plan(
        files: &[(&str, &[u8])],
        traffic: &str,
    ) -> Result<(Vec<String>, Option<RequestFile>), String> {
        let directory = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            std::fs::write(directory.path().join(name), bytes).unwrap();
        }
        let at = directory.path().display().to_string();
        let traffic = traffic.replace("DIR", &at);
        let text = with(&format!("load: [{{rate: 5, for: 1s, traffic: {traffic}}}]"));
        let mut plan = read_text(&text, &Overrides::default())
            .map_err(|error| error.to_string().replace(&at, "DIR"))?;
        let load = plan.loads.remove(0);
        let shown = |spec: &RequestSpec| {
            let RequestSpec { method, path, headers, body, site } = spec;
            let body = String::from_utf8_lossy(body);
            let site = site.as_deref().unwrap_or("-");
            format!("{method} {path} {headers:?} {body:?} {site}")
        };
        Ok((load.requests.iter().map(shown).collect(), load.file))
    }

    const LOG: &[u8] = b"::1 - - [10/Oct/2024:13:55:36 +0000] \"GET /a?x=1 HTTP/1.1\" 200 5\n\
        ::1 - - [10/Oct/2024:13:55:37 +0000] \"POST /b HTTP/1.1\" 200 5\n\
        ::1 - - [10/Oct/2024:13:55:38 +0000] \"GET /c HTTP/1.1\" 404 5\n";

    #[test]
    fn an_access_log_is_read_and_what_is_left_out_is_counted() {
        let (requests, file) = read_plan(&[("log", LOG)], "DIR/log").unwrap();
        assert_eq!(requests, ["GET /a?x=1 [] \"\" -", "GET /c [] \"\" -"]);
        let file = file.unwrap();
        let post = SkippedEntries { why: Skip::Method { method: "POST".into() }, entries: 1 };
        assert_eq!(
            (file.format.as_str(), file.requests, file.sent, file.every),
            ("access.log", 2, 2, 1)
        );
        assert_eq!(file.skipped, [post]);
        let said = "{file: DIR/log, methods: [GET, post], log_errors: drop}";
        let (requests, _) = read_plan(&[("log", LOG)], said).unwrap();
        assert_eq!(requests, ["GET /a?x=1 [] \"\" -", "POST /b [] \"\" -"]);
    }

    #[test]
    fn a_log_of_a_given_format_is_read() {
        let own = b"7 ms|/x|GET\n9 ms|/y|GET\n";
        let said = r#"{file: DIR/own, log_format: "$request_time ms|$uri|$request_method"}"#;
        let (requests, _) = read_plan(&[("own", own)], said).unwrap();
        assert_eq!(requests, ["GET /x [] \"\" -", "GET /y [] \"\" -"]);
    }

    #[test]
    fn a_script_is_sent_without_what_only_a_run_would_make_and_that_is_told() {
        let script = b"import http from 'k6/http';\nexport default function () {\n  \
            http.get('http://a.test/x');\n  http.get(url());\n}\n";
        let (requests, file) = read_plan(&[("k6.js", script)], "DIR/k6.js").unwrap();
        assert_eq!(requests, ["GET /x [] \"\" a.test"]);
        let file = file.unwrap();
        assert_eq!((file.format.as_str(), file.requests, file.sent), ("k6", 1, 1));
        assert_eq!(file.left_out[0].lines, [4], "{:?}", file.left_out);
        let whole = b"import http from 'k6/http';\nhttp.get('http://a.test/x');\n";
        let (_, file) = read_plan(&[("k6.js", whole)], "DIR/k6.js").unwrap();
        assert_eq!(file, None);
    }

    #[test]
    fn a_recording_gives_its_bodies_and_one_host() {
        let har = br#"{"log": {"version": "1.2", "entries": [
            {"request": {"method": "POST", "url": "https://shop.test/buy", "headers": [
                {"name": "Host", "value": "shop.test"}, {"name": "Cookie", "value": "a=b"},
                {"name": "Content-Length", "value": "3"}], "postData": {"text": "x=1"}}},
            {"request": {"method": "GET", "url": "https://shop.test/", "headers": []}},
            {"request": {"method": "GET", "url": "https://cdn.test/x.js", "headers": []}}]}}"#;
        let (requests, file) = read_plan(&[("shop.har", har)], "DIR/shop.har").unwrap();
        assert_eq!(requests[0], r#"POST /buy [("Cookie", "a=b")] "x=1" shop.test"#);
        assert_eq!(requests.len(), 2, "{requests:?}");
        assert_eq!(file.unwrap().skipped.iter().map(|one| one.entries).sum::<u64>(), 1);
    }

    #[test]
    fn headers_of_the_load_are_added_where_the_file_has_none() {
        let lines = b"{\"path\": \"/a\", \"headers\": {\"Accept\": \"b\"}}\n{\"path\": \"/c\"}\n";
        let text = "DIR/lines.jsonl, headers: {Accept: text/html}";
        let (requests, _) = read_plan(&[("lines.jsonl", lines)], text).unwrap();
        assert_eq!(requests[0], r#"GET /a [("Accept", "b")] "" -"#);
        assert_eq!(requests[1], r#"GET /c [("Accept", "text/html")] "" -"#);
    }

    #[test]
    fn a_list_of_paths_stays_one_and_is_not_told() {
        for text in ["/a\n\n# b\n/c\n", "https://a.test/a\nhttps://a.test/c\n"] {
            let (requests, file) = read_plan(&[("list", text.as_bytes())], "DIR/list").unwrap();
            assert_eq!((requests.len(), file), (2, None), "{requests:?}");
        }
        let (requests, _) =
            read_plan(&[("list", b"/a buy\n/c sell\n/d buy\n")], "DIR/list").unwrap();
        assert_eq!(requests[1], "GET /c [] \"\" -");
    }

    #[test]
    fn what_has_no_request_is_refused() {
        let none = b"::1 - - [10/Oct/2024:13:55:37 +0000] \"POST /b HTTP/1.1\" 200 5\n";
        for (bytes, traffic) in [
            (&none[..], "DIR/log"),
            (b"", "DIR/log"),
            (b"\x7fELF\x02", "DIR/log"),
            (LOG, "DIR/nowhere"),
            (LOG, "{file: DIR/log, format: table}"),
            (LOG, "{file: DIR/log, methods: \"GET;POST\"}"),
            (LOG, "{file: DIR/log, log_errors: some}"),
            (LOG, "{methods: GET}"),
        ] {
            let error = read_plan(&[("log", bytes)], traffic).expect_err(traffic);
            assert!(!error.is_empty());
        }
    }

    fn get(path: String, body: Vec<u8>) -> RequestSpec {
        RequestSpec { method: "GET".to_owned(), path, headers: Vec::new(), body, site: None }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_spread_evenly(requests in 1_u64..60_000) {
            let mut spread = Spread::default();
            (0..requests).for_each(|number| spread.add(get(format!("/{number}"), Vec::new())));
            prop_assert_eq!(spread.seen, requests);
            prop_assert!(spread.kept.len() <= REQUESTS_MAX);
            prop_assert!(spread.kept.len() * 2 >= REQUESTS_MAX.min(requests as usize));
            for (place, request) in (0..).zip(&spread.kept) {
                prop_assert_eq!(&request.path, &format!("/{}", place * spread.every));
            }
        }
    }

    #[test]
    fn large_bodies_are_bounded_too_and_one_always_stays() {
        let mut spread = Spread::default();
        (0..10).for_each(|number| spread.add(get(format!("/{number}"), vec![0; 16 << 20])));
        assert_eq!((spread.kept.len(), spread.every), (3, 4));
        let mut spread = Spread::default();
        (0..3).for_each(|number| spread.add(get(format!("/{number}"), vec![0; 80 << 20])));
        assert_eq!(spread.kept.len(), 1);
    }
}
