//! Sends the raw requests of `php/tests/conformance/requests.json` to every installed runtime, and
//! holds what PHP made of them, and what came back, against nginx and PHP-FPM.

mod corpus;
mod differences;
mod told;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use stampede_plan::model::{AppChoice, Scalar};
use stampede_stack::ProcessStack;

use crate::bench_support::Bench;
use crate::paths_support::reasons::{assert_told, runtimes};
use corpus::{Corpus, RawRequest};
use differences::{Differences, compared, fits, lines};
use told::{Server, Told};

/// The runtime that says what is right.
const REFERENCE: &str = "nginx-fpm";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn bench(corpus: &Corpus) -> Bench {
    let app = repository().join("php/tests/conformance/app");
    let mut bench = Bench::new(&AppChoice::directory(app));
    bench.php_ini = corpus.php_ini.clone();
    bench
}

fn all_told(running: &ProcessStack, requests: &[RawRequest]) -> Vec<Told> {
    let server = Server::new(&running.url(), running.dir());
    requests.iter().map(|request| server.ask(request)).collect()
}

/// What the runtime does in another way than its list says, a line for each.
fn wrong(name: &str, requests: &[RawRequest], (right, told): (&[Told], &[Told])) -> Vec<String> {
    let found = compared(requests, right, told);
    let listed = Differences::of(name);
    let stale = listed.stale(&found).into_iter();
    let stale = stale.map(|line| format!("it does what is right there: {line}"));
    lines(&listed.unlisted(&found)).into_iter().chain(stale).collect()
}

/// Asks these runtimes and the reference, and holds one against the other.
fn check(is_meant: impl Fn(&str) -> bool) {
    let corpus = Corpus::read();
    assert!(corpus.requests.len() >= 120, "{}", corpus.requests.len());
    let bench = bench(&corpus);
    let settings = [("workers", Scalar::Int(2))];
    let Some(reference) = bench.start(REFERENCE, &settings) else { return };
    let right = all_told(&reference, &corpus.requests);
    reference.stop().expect("stop");
    let mut found = String::new();
    bench.each_of(is_meant, &settings, |name, running| {
        let told = all_told(running, &corpus.requests);
        let lines = wrong(name, &corpus.requests, (&right, &told));
        if !lines.is_empty() {
            let _ = writeln!(found, "\n{name}:\n  {}", lines.join("\n  "));
        }
    });
    assert!(found.is_empty(), "{found}");
}

#[test]
fn a_request_means_the_same_with_apache_and_in_a_worker() {
    check(|name| ["apache-modphp", "roadrunner"].contains(&name));
}

/// `STAMPEDE_TEST_RUNTIMES` names the only runtimes to ask, with commas between them.
#[test]
#[ignore = "long: 60 s"]
fn a_request_means_the_same_on_every_runtime() {
    let only = std::env::var("STAMPEDE_TEST_RUNTIMES").ok();
    check(|name| only.as_ref().is_none_or(|names| names.split(',').any(|one| one == name)));
}

#[test]
fn every_difference_of_requests_is_in_the_readme_and_on_the_page() {
    let all = runtimes().map(|name| (Differences::of(&name), name));
    let all = all.map(|(differences, name)| {
        (name, differences.reasons().map(str::to_owned).collect::<Vec<_>>())
    });
    assert_told("requests.md", all);
}

#[test]
fn a_difference_is_of_requests_that_there_are() {
    let corpus = Corpus::read();
    for name in runtimes() {
        for pattern in Differences::of(&name).differs.iter().flat_map(|one| &one.requests) {
            let is_used = corpus.requests.iter().any(|request| fits(pattern, &request.name));
            assert!(is_used, "{name}: no request is called `{pattern}`");
        }
    }
}
