//! Snapshots of a check's text, as people read it.

use stampede_model::fact::Fact;
use stampede_php::{CodeScan, SuspectKind};

use super::*;
use crate::kinds::FindingKind;
use crate::model::{CodeLocation, SkippedRequest};
use crate::sample;

fn of(runtimes: Vec<RuntimeResult>) -> CheckReport {
    CheckReport { runtimes, ..sample::report() }
}

fn text_of(report: &CheckReport) -> String {
    text(report, "stampede check --of out")
}

fn place(what: &str, is_named: bool) -> CodeLocation {
    CodeLocation { file: "src/Visitor.php".to_owned(), line: 14, what: what.to_owned(), is_named }
}

/// Returns one finding of each kind, as a check finds them.
fn findings() -> Vec<Finding> {
    let all = [
        (
            FindingKind::Leak,
            "the answer to GET /account shows user A what belongs to user B: the cookie `stampede_user`",
            "  + You are stmpd0123456789ab",
            vec![sample::step(1, "/account"), sample::step(0, "/account")],
        ),
        (
            FindingKind::Death,
            "GET /thanks ends the worker before it is done",
            "  the client saw 502, instead of 200 under nginx-fpm",
            vec![sample::step(0, "/thanks")],
        ),
        (
            FindingKind::Answer,
            "the answer to GET / differs from that under nginx-fpm",
            "- 12:00 UTC\n+ 13:00 CET",
            (0..7).map(|at| sample::step(at % 2, &format!("/{at}"))).collect(),
        ),
        (
            FindingKind::Kept,
            "after GET /account the worker keeps what belongs to user A in App\\Visitor::$name",
            "  App\\Visitor::$name: the header `X-Stampede-User`, `stmpd0123456789ab`",
            vec![sample::step(0, "/account")],
        ),
        (
            FindingKind::State,
            "GET / begins with the timezone of an earlier request: `Europe/Berlin` instead of `UTC`",
            "  timezone: `UTC` → `Europe/Berlin`",
            vec![sample::step(0, "/berlin"), sample::step(1, "/")],
        ),
        (
            FindingKind::Growth,
            "PHP's memory grows: 2.50 KiB with each GET /search",
            "  1.20 MiB → 6.10 MiB over 2 000 requests: 2.50 KiB each (95 %: 2.49 KiB to 2.51 KiB)",
            vec![sample::step(0, "/search")],
        ),
    ];
    let mut number = 0;
    let all = all.into_iter().map(|(kind, what, evidence, steps)| {
        number += 1;
        let (what, evidence) = (what.to_owned(), evidence.to_owned());
        Finding { number, kind, what, evidence, steps, ..sample::finding() }
    });
    let mut all: Vec<Finding> = all.collect();
    all[0].places = vec![place("App\\Visitor::$name", false)];
    all[3].places = vec![place("App\\Visitor::$name", true)];
    all[1].is_accepted = true;
    all[4].is_repeatable = false;
    all
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn each_kind_of_finding_says_what_to_do() {
    let mut report = of(vec![RuntimeResult {
        verdict: Verdict::NotSafe,
        findings: findings(),
        growth: vec![
            Growth { grows: false, ..sample::growth(GrowthOf::Descriptors, None) },
            sample::growth(GrowthOf::Heap, Some(50_000)),
        ],
        workers_lost: 3,
        not_again: 1,
        ..sample::checked("roadrunner")
    }]);
    let suspect = |line: u32| Suspect {
        kind: SuspectKind::Exit,
        file: "src/Sorry.php".to_owned(),
        line,
        what: "die".to_owned(),
        within: String::new(),
    };
    report.code =
        CodeScan { suspects: (1..=12).map(suspect).collect(), files: 40, ..CodeScan::default() };
    let skipped = |at: u32| SkippedRequest {
        request: format!("GET /user/{at}/delete"),
        why: Fact::bare("it may delete something".to_owned()),
    };
    report.skipped = (0..10).map(skipped).collect();
    insta::assert_snapshot!(text_of(&report));
}

#[test]
fn every_verdict_is_beside_what_was_tried() {
    let checked = sample::checked;
    let grown = |runtime| RuntimeResult { growth_sent: 20_000, ..checked(runtime) };
    let problem = |why: &str| Some(why.to_owned());
    let is_accepted = |finding: Finding| Finding { is_accepted: true, ..finding };
    let accepted: Vec<Finding> = findings().into_iter().take(2).map(is_accepted).collect();
    let verdicts = [
        grown("safe"),
        RuntimeResult { not_again: 2, ..checked("safe-by-chance") },
        RuntimeResult { not_again: 1, not_compared: 3, ..checked("safe-with-long-answers") },
        RuntimeResult { findings: accepted.clone(), ..checked("accepted") },
        RuntimeResult { verdict: Verdict::SafeWith { max_requests: 50_000 }, ..grown("safe-with") },
        RuntimeResult {
            verdict: Verdict::NotSafe,
            findings: findings(),
            workers_lost: 1,
            ..checked("not-safe")
        },
        RuntimeResult {
            verdict: Verdict::NotSafe,
            findings: findings(),
            problem: problem("ended early"),
            ..checked("not-safe-ended-early")
        },
        RuntimeResult {
            verdict: Verdict::NotChecked,
            sent: 0,
            problem: problem("runtime `swoole` did not answer on port 8081 within 10 s"),
            ..checked("not-started")
        },
        RuntimeResult {
            verdict: Verdict::NotChecked,
            problem: problem("ended early"),
            ..checked("ended-early")
        },
        RuntimeResult {
            verdict: Verdict::NotChecked,
            findings: accepted,
            problem: problem("its workers wrote no record of their state for 120 requests"),
            ..checked("unwatched")
        },
    ];
    let report = of(verdicts.into_iter().collect());
    let lines =
        report.runtimes.iter().map(|one| format!("{}: {}", one.runtime, answer(&report, one)));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_safe_app_is_told_what_was_tried_and_that_it_is_no_proof() {
    let text =
        text_of(&of(vec![RuntimeResult { growth_sent: 20_000, ..sample::checked("swoole") }]));
    insta::assert_snapshot!(text);
    assert!(text.contains(NO_PROOF));
}

#[test]
fn a_check_that_was_ended_early_says_so() {
    let mut report = of(vec![]);
    report.interrupted = true;
    report.tried.seconds = 250.0;
    insta::assert_snapshot!(text_of(&report));
}
