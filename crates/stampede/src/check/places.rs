//! Lines of the app's code that fit what its run has shown.

use super::code::{Suspect, SuspectKind};
use super::model::{CheckReport, Finding, FindingKind, Place};

/// Lines that one finding names.
const PLACES_MAX: usize = 4;

/// Gives each finding the lines that fit it.
pub fn attach(report: &mut CheckReport) {
    let suspects = &report.code.suspects;
    for finding in report.runtimes.iter_mut().flat_map(|one| &mut one.findings) {
        finding.places = fitting(finding, suspects);
    }
}

/// Those that name the same thing; else those of a kind that can do it.
fn fitting(finding: &Finding, suspects: &[Suspect]) -> Vec<Place> {
    let is_named = |suspect: &&Suspect| {
        let name = name(&suspect.what);
        finding.about.contains(name) || finding.evidence.contains(name)
    };
    let kinds = kinds(finding);
    let can = |suspect: &&Suspect| kinds.contains(&suspect.kind);
    let named: Vec<&Suspect> = suspects.iter().filter(can).filter(is_named).collect();
    let fit = if named.is_empty() { suspects.iter().filter(can).collect() } else { named };
    fit.into_iter().take(PLACES_MAX).map(place).collect()
}

/// What it is, without what is done to it: `App\Log::$lines[] (grows)`.
fn name(what: &str) -> &str {
    what.split([' ', '[']).next().unwrap_or(what)
}

fn place(suspect: &Suspect) -> Place {
    Place { file: suspect.file.clone(), line: suspect.line, what: suspect.what.clone() }
}

/// What in code can do this.
fn kinds(finding: &Finding) -> &'static [SuspectKind] {
    use SuspectKind as Kind;
    match finding.kind {
        FindingKind::Leak | FindingKind::Kept => &[
            Kind::KeepsRequest,
            Kind::StaticWritten,
            Kind::StaticVariable,
            Kind::Global,
            Kind::Session,
        ],
        FindingKind::Answer => &[
            Kind::KeepsRequest,
            Kind::StaticWritten,
            Kind::StaticVariable,
            Kind::Global,
            Kind::Header,
            Kind::Output,
            Kind::Superglobal,
            Kind::Session,
            Kind::Sapi,
            Kind::Transaction,
            Kind::DatabaseSession,
        ],
        FindingKind::Death => &[Kind::Exit],
        FindingKind::Growth => {
            &[Kind::StaticWritten, Kind::StaticVariable, Kind::FileHandle, Kind::Handler]
        }
        FindingKind::State => of_state(&finding.about),
    }
}

fn of_state(about: &str) -> &'static [SuspectKind] {
    use SuspectKind as Kind;
    let name = about.split([':', ' ']).next().unwrap_or_default();
    match name {
        "locale" => &[Kind::Setlocale],
        "timezone" => &[Kind::Timezone],
        "ini" | "error_reporting" | "libxml_errors" => &[Kind::IniSet],
        "error_handler" | "exception_handler" => &[Kind::Handler],
        "ob_level" => &[Kind::OutputBuffer],
        "cwd" => &[Kind::Chdir],
        "umask" => &[Kind::Umask],
        "env" | "_ENV" | "server" => &[Kind::Putenv],
        "globals" => &[Kind::Global],
        "headers" => &[Kind::Header],
        "constants" => &[Kind::Constant],
        "session" => &[Kind::Session],
        _ => &[Kind::Transaction, Kind::DatabaseSession],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(kind: SuspectKind, what: &str, line: u32) -> Suspect {
        let (file, within) = ("src/a.php".to_owned(), String::new());
        Suspect { kind, file, line, what: what.to_owned(), within }
    }

    fn finding(kind: FindingKind, about: &str) -> Finding {
        Finding {
            number: 1,
            kind,
            about: about.to_owned(),
            what: String::new(),
            evidence: String::new(),
            steps: Vec::new(),
            is_repeatable: true,
            places: Vec::new(),
            fingerprint: String::new(),
            is_accepted: false,
        }
    }

    #[test]
    fn a_finding_names_the_lines_that_fit_it() {
        let suspects = [
            suspect(SuspectKind::StaticWritten, "App\\Cart::$items", 3),
            suspect(SuspectKind::StaticWritten, "App\\Cart::$user[] (grows)", 4),
            suspect(SuspectKind::Setlocale, "setlocale()", 5),
            suspect(SuspectKind::Exit, "exit", 6),
        ];
        let lines = |kind, about| -> Vec<u32> {
            fitting(&finding(kind, about), &suspects).iter().map(|place| place.line).collect()
        };
        assert_eq!(lines(FindingKind::Kept, "App\\Cart::$user"), [4]);
        assert_eq!(lines(FindingKind::Leak, "GET /"), [3, 4]);
        assert_eq!(lines(FindingKind::State, "locale"), [5]);
        assert_eq!(lines(FindingKind::State, "umask"), [0; 0]);
        assert_eq!(lines(FindingKind::Death, "GET /thanks"), [6]);
    }
}
