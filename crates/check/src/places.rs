//! Finds lines of the app's code that match a finding.

use stampede_php::{Suspect, SuspectKind};

use super::kinds::Suspects;
use super::model::{CheckReport, CodeLocation, Finding};
use super::subject::{StateGroup, Subject};

/// Most lines of one finding: with more, nobody knows where to begin.
const PLACES_MAX: usize = 3;
/// Fewest letters of a word in a path that can indicate code: `/cart`, but not `/en` or `/v2`.
const TELLING: usize = 4;

/// Adds the matching lines to each finding.
pub fn attach(report: &mut CheckReport) {
    let suspects = &report.code.suspects;
    for checked in &mut report.runtimes {
        let kept = checked.findings.iter().filter(|one| one.kind.row().names_causes);
        let kept: Vec<Finding> = kept.cloned().collect();
        for finding in &mut checked.findings {
            finding.places = matching_locations(finding, &kept, suspects);
        }
    }
}

/// Returns the suspects that the finding names. Without any, it returns suspects of a kind that can
/// cause it, which then only may be the cause. Preferred are those that the worker keeps for the
/// same requests, then those named like the requests.
fn matching_locations(
    finding: &Finding,
    kept: &[Finding],
    suspects: &[Suspect],
) -> Vec<CodeLocation> {
    let kinds = kinds(finding);
    let can: Vec<&Suspect> = suspects.iter().filter(|one| kinds.contains(&one.kind)).collect();
    let only = |is: &dyn Fn(&Suspect) -> bool| -> Vec<&Suspect> {
        can.iter().copied().filter(|suspect| is(suspect)).collect()
    };
    let of_same = kept.iter().filter(|one| {
        one.steps.iter().any(|step| finding.steps.iter().any(|own| own.request == step.request))
    });
    let of_same: Vec<&Finding> = of_same.collect();
    let paths = paths(finding);
    let named = only(&|suspect| names(finding, suspect));
    let ranks = [
        only(&|suspect| of_same.iter().any(|one| names(one, suspect))),
        only(&|suspect| paths.iter().any(|word| has_name(suspect, word))),
        can.clone(),
    ];
    let is_named = !named.is_empty();
    let fit = if is_named { named } else { first_non_empty(ranks) };
    let place = |suspect: &Suspect| CodeLocation {
        file: suspect.file.clone(),
        line: suspect.line,
        what: suspect.what.clone(),
        is_named,
    };
    fit.into_iter().take(PLACES_MAX).map(place).collect()
}

/// Returns the first rank that is not empty.
fn first_non_empty(ranks: [Vec<&Suspect>; 3]) -> Vec<&Suspect> {
    ranks.into_iter().find(|rank| !rank.is_empty()).unwrap_or_default()
}

/// Returns whether the finding names the suspect: as code does (`App\Cart::$user`), or as a
/// setting.
fn names(finding: &Finding, suspect: &Suspect) -> bool {
    let name = name(&suspect.what);
    let is_of_code = name.contains("::") || (name.starts_with('$') && name.len() > 1);
    let is_in = |text: &str| is_of_code && has_word(text, name);
    let is_setting = |setting: &str| {
        // Matches `'SHOP_STAGE'` and `putenv('SHOP_STAGE=x')`, not `'SHOP_STAGE_2'`.
        let ends = ["'", "\"", "="];
        let is_named = |quote: &str| {
            let begun = format!("{quote}{setting}");
            ends.iter().any(|end| suspect.what.contains(&format!("{begun}{end}")))
        };
        !setting.is_empty() && (is_named("'") || is_named("\""))
    };
    let is_about = match &finding.subject {
        Subject::Kept { place } => is_in(place),
        // For a connection, the name is the place in the code that keeps it.
        Subject::State { state } => is_in(&state.name) || is_setting(&state.name),
        Subject::Request(_) | Subject::AnyRequest | Subject::Left { .. } => false,
    };
    is_about || is_in(&finding.evidence)
}

/// Returns whether a text contains the name, and not only as the beginning of a longer name.
fn has_word(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
        !text[at + name.len()..].starts_with(is_of_name)
    })
}

/// Returns words of the paths of the finding's requests, those of the last request first.
fn paths(finding: &Finding) -> Vec<String> {
    let targets = finding.steps.iter().rev().map(|step| step.request.target.split('?').next());
    let words = targets.flatten().flat_map(|path| path.split(|c: char| !c.is_alphabetic()));
    words.filter(|word| word.len() >= TELLING).map(str::to_lowercase).collect()
}

/// Returns whether a file, class or method has this name: `/account` and
/// `App\AccountController::show`.
fn has_name(suspect: &Suspect, word: &str) -> bool {
    // A plural matches the singular: `/products` and `ProductController`.
    let word = word.strip_suffix('s').filter(|one| one.len() >= TELLING).unwrap_or(word);
    [&suspect.file, &suspect.within].iter().any(|text| text.to_lowercase().contains(word))
}

/// Returns the name without what is done to it: `App\Log::$lines` of `App\Log::$lines[] (grows)`.
fn name(what: &str) -> &str {
    what.split([' ', '[']).next().unwrap_or(what)
}

/// Returns the kinds of suspect that can cause the finding.
fn kinds(finding: &Finding) -> &'static [SuspectKind] {
    match finding.kind.row().suspects {
        Suspects::Of(kinds) => kinds,
        Suspects::OfState => match &finding.subject {
            Subject::State { state } | Subject::Left { state, .. } => kinds_for_state(&state.group),
            Subject::Request(_) | Subject::AnyRequest | Subject::Kept { .. } => &[],
        },
    }
}

fn kinds_for_state(group: &StateGroup) -> &'static [SuspectKind] {
    use SuspectKind as Kind;
    match group {
        StateGroup::Locale => &[Kind::Setlocale],
        StateGroup::Timezone => &[Kind::Timezone],
        StateGroup::Ini | StateGroup::ErrorReporting | StateGroup::LibxmlErrors => &[Kind::IniSet],
        StateGroup::ErrorHandler | StateGroup::ExceptionHandler => &[Kind::Handler],
        StateGroup::OutputBuffers => &[Kind::OutputBuffer],
        StateGroup::WorkingDirectory => &[Kind::Chdir],
        StateGroup::Umask => &[Kind::Umask],
        StateGroup::Env | StateGroup::EnvArray | StateGroup::Server => &[Kind::Putenv],
        StateGroup::Globals => &[Kind::Global],
        StateGroup::Headers => &[Kind::Header],
        StateGroup::Constants => &[Kind::Constant],
        StateGroup::Session => &[Kind::Session],
        StateGroup::Database | StateGroup::Other(_) => &[Kind::Transaction, Kind::DatabaseSession],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::FindingKind;
    use crate::sample;

    fn suspect(kind: SuspectKind, what: &str, line: u32, within: &str) -> Suspect {
        let (file, what, within) = ("src/a.php".to_owned(), what.to_owned(), within.to_owned());
        Suspect { kind, file, line, what, within }
    }

    fn finding(kind: FindingKind, about: &str, targets: &[&str]) -> Finding {
        let steps = targets.iter().map(|target| sample::step(0, target)).collect();
        let (subject, about) = (Subject::of_text(kind, about), about.to_owned());
        Finding { kind, about, subject, steps, ..sample::finding() }
    }

    fn suspects() -> Vec<Suspect> {
        vec![
            suspect(SuspectKind::StaticWritten, "App\\Cart::$items", 3, "App\\Cart::add"),
            suspect(
                SuspectKind::StaticWritten,
                "App\\Cart::$user[] (grows)",
                4,
                "App\\Cart::login",
            ),
            suspect(SuspectKind::Setlocale, "setlocale()", 5, "App\\Lang::set"),
            suspect(SuspectKind::Exit, "exit", 6, "App\\Thanks::show"),
            suspect(SuspectKind::IniSet, "ini_set('precision')", 7, ""),
            suspect(SuspectKind::IniSet, "ini_set('memory_limit')", 8, ""),
            suspect(SuspectKind::StaticWritten, "App\\Log::$lines", 9, "App\\Log::write"),
            suspect(SuspectKind::StaticWritten, "App\\Log::$line", 10, "App\\Log::write"),
        ]
    }

    /// Returns the lines, and whether the finding names them.
    fn lines(finding: &Finding, kept: &[Finding]) -> (Vec<u32>, bool) {
        let places = matching_locations(finding, kept, &suspects());
        let is_named = places.iter().any(|place| place.is_named);
        assert!(places.iter().all(|place| place.is_named == is_named), "{places:?}");
        (places.iter().map(|place| place.line).collect(), is_named)
    }

    #[test]
    fn a_name_in_the_evidence_gives_its_line() {
        let kept = |about: &str| lines(&finding(FindingKind::Kept, about, &[]), &[]);
        assert_eq!(kept("App\\Cart::$user"), (vec![4], true));
        assert_eq!(kept("App\\Log::$lines"), (vec![9], true), "a longer name is another");
        let grows = Finding {
            evidence: "  1 B\n  App\\Log::$lines holds 9, half way 3".to_owned(),
            ..finding(FindingKind::Growth, "GET /", &["/"])
        };
        assert_eq!(lines(&grows, &[]), (vec![9], true));
        let ini = finding(FindingKind::State, "ini:precision", &["/"]);
        assert_eq!(lines(&ini, &[]), (vec![7], true));
    }

    #[test]
    fn a_line_of_a_fitting_kind_is_only_a_possible_cause() {
        assert_eq!(lines(&finding(FindingKind::State, "locale", &["/"]), &[]), (vec![5], false));
        assert_eq!(lines(&finding(FindingKind::State, "umask", &["/"]), &[]), (vec![], false));
        let death = finding(FindingKind::Death, "GET /exit", &["/exit"]);
        assert_eq!(lines(&death, &[]), (vec![6], false), "a request's path names no code");
        let leak = finding(FindingKind::Leak, "GET /", &["/"]);
        assert_eq!(lines(&leak, &[]), (vec![3, 4, 9], false), "three at most");
    }

    #[test]
    fn lines_of_the_same_requests_come_first() {
        let leak = finding(FindingKind::Leak, "GET /me", &["/login", "/me"]);
        let kept = |about: &str, target: &str| finding(FindingKind::Kept, about, &[target]);
        assert_eq!(lines(&leak, &[kept("App\\Cart::$user", "/login")]), (vec![4], false));
        let elsewhere = [kept("App\\Cart::$user", "/other")];
        assert_eq!(lines(&leak, &elsewhere), (vec![4], false), "`login` is in its method's name");
        let logs = finding(FindingKind::Answer, "GET /logs/7", &["/logs/7"]);
        assert_eq!(lines(&logs, &[]), (vec![3, 4, 9], false), "`log` is too short to tell");
        let carts = finding(FindingKind::Answer, "GET /carts/7", &["/en/carts/7"]);
        assert_eq!(lines(&carts, &[]), (vec![3, 4], false));
    }
}
