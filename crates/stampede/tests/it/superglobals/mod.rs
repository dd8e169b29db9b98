//! Sends the raw requests of `php/tests/conformance/requests.json` to every installed runtime, and
//! holds what PHP made of them, and what came back, against nginx and PHP-FPM.

mod corpus;
mod told;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::ProcessStack;

use crate::bench_support::Bench;
use corpus::{Corpus, RawRequest};
use told::{Told, ask};

/// The runtime that says what is right.
const REFERENCE: &str = "nginx-fpm";
/// The most lines of one runtime that are shown.
const LINES_SHOWN: usize = 40;

/// What a runtime does in another way than the reference: `runtimes/NAME/requests.yaml`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Differences {
    differs: Vec<Difference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// A sentence for the README.
    because: String,
    /// Names of requests; `*` stands for any letters.
    requests: Vec<String>,
    /// What may differ: `status`, `body`, `header x-twice`, `get`, `server CONTENT_LENGTH` …; `*`
    /// as above.
    what: Vec<String>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Differences {
    fn of(runtime: &str) -> Differences {
        let path = repository().join("runtimes").join(runtime).join("requests.yaml");
        let Ok(text) = std::fs::read_to_string(&path) else { return Differences::default() };
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    fn allow(&self, request: &str, what: &str) -> bool {
        let any = |patterns: &[String], text: &str| patterns.iter().any(|one| fits(one, text));
        self.differs
            .iter()
            .any(|difference| any(&difference.requests, request) && any(&difference.what, what))
    }
}

/// Whether a text is like a pattern, in which `*` stands for any letters.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => {
            let Some(rest) = text.strip_prefix(before) else { return false };
            let ends = (0..=rest.len()).filter(|end| rest.is_char_boundary(*end));
            ends.into_iter().any(|end| fits(after, &rest[end..]))
        }
    }
}

fn bench(corpus: &Corpus) -> Bench {
    let app = repository().join("php/tests/conformance/app");
    let mut bench = Bench::new(&AppChoice::directory(app));
    bench.php_ini = corpus.php_ini.clone();
    bench
}

fn all_told(running: &ProcessStack, requests: &[RawRequest]) -> Vec<Told> {
    requests.iter().map(|request| ask(&running.url(), request)).collect()
}

/// A line for each difference that the runtime's list does not have.
fn unlisted(
    requests: &[RawRequest],
    (right, told): (&[Told], &[Told]),
    listed: &Differences,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (request, (right, told)) in requests.iter().zip(right.iter().zip(told)) {
        for what in right.keys().chain(told.keys()).collect::<std::collections::BTreeSet<_>>() {
            let (wanted, found) = (right.get(what), told.get(what));
            if wanted != found && !listed.allow(&request.name, what) {
                lines.push(format!("{}: {what} is {found:?}, not {wanted:?}", request.name));
            }
        }
    }
    lines
}

#[test]
fn a_request_means_the_same_on_every_runtime() {
    let corpus = Corpus::read();
    assert!(corpus.requests.len() >= 120, "{}", corpus.requests.len());
    let bench = bench(&corpus);
    let settings = [("workers", Scalar::Int(2))];
    let Some(reference) = bench.start(REFERENCE, &settings) else { return };
    let right = all_told(&reference, &corpus.requests);
    reference.stop().expect("stop");
    let mut found = String::new();
    bench.each(&settings, |name, running| {
        let told = all_told(running, &corpus.requests);
        let lines = unlisted(&corpus.requests, (&right, &told), &Differences::of(name));
        eprintln!("{name}: {} unlisted", lines.len());
        if !lines.is_empty() {
            let shown = &lines[..lines.len().min(LINES_SHOWN)];
            let _ = writeln!(found, "\n{name} ({}):\n  {}", lines.len(), shown.join("\n  "));
        }
    });
    assert!(found.is_empty(), "{found}");
}

/// A difference is data for the tests, and a sentence for people.
#[test]
fn every_difference_of_requests_is_in_the_readme() {
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let corpus = Corpus::read();
    for entry in std::fs::read_dir(repository().join("runtimes")).expect("runtimes").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        for difference in Differences::of(&name).differs {
            let readme = std::fs::read_to_string(entry.path().join("README.md")).expect("README");
            let because = one_line(&difference.because);
            assert!(one_line(&readme).contains(&because), "README.md of {name}: {because}");
            for pattern in &difference.requests {
                let is_used = corpus.requests.iter().any(|request| fits(pattern, &request.name));
                assert!(is_used, "{name}: no request is called `{pattern}`");
            }
        }
    }
}

#[test]
fn a_pattern_fits_what_it_describes() {
    for (pattern, text, does) in [
        ("status", "status", true),
        ("status", "state", false),
        ("header *", "header x-twice", true),
        ("*", "", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abde", false),
        ("*ü", "xü", true),
    ] {
        assert_eq!(fits(pattern, text), does, "{pattern} {text}");
    }
}

/// The map of a runtime's differences would hide everything if nothing were compared.
#[test]
fn an_unlisted_difference_is_told() {
    let corpus = Corpus::read();
    let requests = &corpus.requests[..1];
    let right = [BTreeMap::from([("get".to_owned(), "1".to_owned())])];
    let told = [BTreeMap::from([("status".to_owned(), "500".to_owned())])];
    let lines = unlisted(requests, (&right, &told), &Differences::default());
    assert_eq!(lines.len(), 2, "{lines:?}");
    let listed = Difference {
        because: String::new(),
        requests: vec!["*".into()],
        what: vec!["status".into()],
    };
    let listed = Differences { differs: vec![listed] };
    assert_eq!(unlisted(requests, (&right, &told), &listed).len(), 1);
}
