//! Renders JUnit's XML, which systems for continuous integration read. It has a test suite for each
//! app and load, with a test case for each case and for each of its expectations.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use stampede_model::words;

use crate::summary::Summary;
use crate::summary::model::{CaseSummary, CaseVerdict, ExpectedOutcome, Found, Group, Validity};

/// Renders a run. The results follow the exit code of `compare`: an error stands for code 3, a
/// failure for code 1. The exception is a refused case: it counts as skipped, because its plan
/// allows that.
pub fn junit(summary: &Summary) -> String {
    let mut report = Report::new(format!("stampede {}", summary.run));
    for group in &summary.groups {
        report.add_test_suite(suite(summary, group));
    }
    report.set_time(report.test_suites.iter().filter_map(|suite| suite.time).sum());
    let xml = report.to_string().expect("XML is written to memory, and all text is UTF-8");
    // Control characters are already removed. These two are not control characters, but XML 1.0
    // cannot contain them either.
    xml.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn suite(summary: &Summary, group: &Group) -> TestSuite {
    let mut suite = TestSuite::new(format!("{} · {}", group.app, group.load));
    suite.add_property(("load", group.load_text.as_str()));
    suite.add_property(("run", summary.run.as_str()));
    if summary.rounds > 0 {
        // An overlay of several runs has no single seed.
        suite.add_property(("seed", summary.seed.to_string().as_str()));
    }
    suite.set_system_out(&group.sentence);
    let mut time = Duration::ZERO;
    for row in summary.cases_of(group) {
        time += length(row);
        suite.add_test_case(measured(group, row));
        let expected = row.expectations.iter();
        suite.add_test_cases(expected.map(|judged| expectation(group, row, judged)));
    }
    suite.set_time(time);
    suite
}

/// The test case that says whether a case was measured.
fn measured(group: &Group, row: &CaseSummary) -> TestCase {
    let reasons: Vec<String> = row.reasons.iter().map(ToString::to_string).collect();
    let missing = row.trials_missing;
    let trials = words::number_of(missing, "trial");
    let status = match row.verdict {
        CaseVerdict::Refused => skipped(or(&reasons, "refused")),
        CaseVerdict::Missing => error("missing", or(&reasons, "no trial of it is there")),
        CaseVerdict::Invalid => error("invalid", or(&reasons, "no trial counts")),
        CaseVerdict::Valid | CaseVerdict::Suspect if missing > 0 => {
            error("missing", format!("{trials} of the plan did not take place"))
        }
        CaseVerdict::Valid | CaseVerdict::Suspect => TestCaseStatus::success(),
    };
    let mut case = case(group, row, "measured", status);
    case.set_time(length(row));
    let counts = matches!(row.verdict, CaseVerdict::Valid | CaseVerdict::Suspect);
    if counts && !reasons.is_empty() {
        case.set_system_out(reasons.join("\n"));
    }
    case
}

/// The test case that says whether an expectation was met.
fn expectation(group: &Group, row: &CaseSummary, judged: &Validity) -> TestCase {
    let status = match &judged.outcome {
        ExpectedOutcome::Met => TestCaseStatus::success(),
        ExpectedOutcome::NotMet { figure } => {
            let found = match figure.known() {
                Some(Found::Failed {}) => {
                    "but the request at that rank has no correct answer".to_owned()
                }
                Some(Found::Change { is_shown: false, .. }) => figure.to_string(),
                _ => format!("found {figure}"),
            };
            fails("not met", format!("expected {}, {found}", judged.text))
        }
        ExpectedOutcome::Unknown { .. } if judged.is_about_another_run() => {
            skipped("it is about another run".to_owned())
        }
        ExpectedOutcome::Unknown { figure } if row.trials_counted > 0 => {
            let known = figure.as_ref().map_or(String::new(), |figure| format!(": {figure}"));
            fails("not shown", format!("expected {}, which could not be shown{known}", judged.text))
        }
        ExpectedOutcome::Unknown { .. } => skipped("nothing was measured".to_owned()),
    };
    case(group, row, &judged.text, status)
}

fn case(group: &Group, row: &CaseSummary, what: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(format!("{}: {what}", row.runtime), status);
    case.set_classname(format!("{} · {}", group.app, group.load));
    case
}

fn skipped(why: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(why);
    status
}

fn error(kind: &str, why: String) -> TestCaseStatus {
    not_fine(NonSuccessKind::Error, kind, why)
}

fn fails(kind: &str, why: String) -> TestCaseStatus {
    not_fine(NonSuccessKind::Failure, kind, why)
}

fn not_fine(kind: NonSuccessKind, named: &str, why: String) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(kind);
    // Some readers show the message, others the description.
    status.set_type(named).set_message(&why).set_description(why);
    status
}

fn or(reasons: &[String], otherwise: &str) -> String {
    if reasons.is_empty() { otherwise.to_owned() } else { reasons.join("\n") }
}

/// The total time of all its trials, from start to stop.
fn length(row: &CaseSummary) -> Duration {
    Duration::from_nanos(row.trials.iter().map(|trial| trial.lasted_ns).sum())
}
