//! The command `stampede check --finding N`: sends one finding's requests again.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_check::analyze::name;
use stampede_check::model::{CheckReport, CheckRequest, Finding, RuntimeResult};
use stampede_check::{replay, requests};
use stampede_mask::{MASK, mask_secrets};
use stampede_model::record::RESULTS;
use stampede_model::words;
use stampede_traffic::TrafficFile;

use super::args_check::CheckArgs;
use super::check::{CheckSetup, CheckSubject};
use super::check_file::{last, masked, read};
use super::check_flags::{Flags, MissingFlag, Secret};
use super::fail::CommandError;
use super::shell::{print, print_message};
use super::{Failure, Outcome};

/// Why a finding's requests cannot be sent again.
#[derive(Debug, thiserror::Error)]
pub enum CheckAgainError {
    /// The check has no finding of this number.
    #[error("check `{check}` has no finding {number}: {}", has(*.count))]
    NoFinding {
        /// Name of the check.
        check: String,
        /// The number.
        number: u32,
        /// Number of the check's findings.
        count: u32,
    },
    /// The check had flags with secrets, and they were not typed again.
    #[error("it was checked with {}, and {} are not kept", quoted(.missing), secrets(.missing))]
    SecretsMissing {
        /// The flags.
        missing: Vec<MissingFlag>,
        /// The command that was typed, without those flags.
        command: String,
    },
    /// A part of a request is a secret, and no list of requests has it.
    #[error("{request} cannot be sent again: {part} is a secret, and was not kept")]
    SecretNotKept {
        /// Method and target of the request, without secrets.
        request: String,
        /// The secret part.
        part: SecretPart,
        /// The file that lists the requests; `None`: no file was given.
        urls: Option<PathBuf>,
    },
}

impl CommandError for CheckAgainError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            CheckAgainError::NoFinding { .. } => {
                "`--of` names another check's directory".to_owned()
            }
            CheckAgainError::SecretsMissing { missing, command } => {
                let typed: Vec<String> = missing.iter().map(ToString::to_string).collect();
                format!("give them again: `{command} {}`", typed.join(" "))
            }
            CheckAgainError::SecretNotKept { urls, .. } => {
                let urls = urls.clone().unwrap_or_else(|| PathBuf::from("FILE"));
                format!(
                    "`--traffic {}` has to list the request as it was sent; a user's own secrets belong into \
                     `--basic-auth`, `--login-field` or `--cookies`",
                    shell_words::quote(&urls.display().to_string())
                )
            }
        })
    }
}

fn has(count: u32) -> String {
    match count {
        0 => "it has none".to_owned(),
        count => format!("it has {}", words::number_of(count, "finding")),
    }
}

/// Lists flags in backticks.
fn quoted(flags: &[MissingFlag]) -> String {
    words::list(&flags.iter().map(|flag| format!("`{flag}`")).collect::<Vec<_>>())
}

/// Names the kinds of secrets of flags.
fn secrets(flags: &[MissingFlag]) -> &'static str {
    match flags.iter().all(|flag| matches!(flag.secret, Secret::Login | Secret::BasicAuth)) {
        true => "passwords",
        false => "passwords and values",
    }
}

/// The part of a request that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPart {
    /// A header.
    Header {
        /// The header's name.
        name: String,
    },
    /// A part of the query.
    Query,
    /// A part of the body.
    Body,
}

impl fmt::Display for SecretPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretPart::Header { name } => write!(f, "its header `{name}`"),
            SecretPart::Query => f.write_str("a part of its query"),
            SecretPart::Body => f.write_str("a part of its body"),
        }
    }
}

/// Sends the steps of a finding again, to its runtime and to the reference.
pub fn again(typed: &CheckArgs, number: u32) -> Result<Outcome, Failure> {
    let path = match &typed.of {
        Some(path) => path.clone(),
        None => last(Path::new(RESULTS))?,
    };
    let report = read(&path)?;
    let (checked, finding) = found(&report, number)?;
    let flags =
        stored_flags(&report)?.overridden_by(Flags::typed()?).with("runtime", &checked.runtime);
    complete(&flags, &format!("{} --finding {number}", command(typed.of.as_deref())))?;
    let args = flags.args()?;
    let finding = unmasked(finding, args.file()?.as_ref())?;
    let meant = CheckSubject {
        app: args.app.as_deref().unwrap_or(&report.app),
        kind: args.kind.clone(),
        reference: &args.reference,
        runtimes: &checked.runtime,
        users: args.users,
        seed: args.seed.unwrap_or(report.seed),
    };
    print_message(&format!("finding {number} of check {}", report.name));
    let setup = CheckSetup::find(&args, meant)?;
    let replayed = replay::replay(&setup.harness, &setup.reference, &setup.runtimes[0], &finding)?;
    print(mask_secrets(&replayed.text).as_bytes())?;
    Ok(if replayed.shows { Outcome::NotMet } else { Outcome::Fine })
}

/// Returns the command that sends a finding again, without `--finding N`. `out` is the check's
/// directory, if the user gave one.
pub fn command(out: Option<&Path>) -> String {
    let of = out.map(|out| format!(" --of {}", shell_words::quote(&out.display().to_string())));
    format!("stampede check{}", of.unwrap_or_default())
}

fn found(report: &CheckReport, number: u32) -> Result<(&RuntimeResult, &Finding), CheckAgainError> {
    let mut all =
        report.runtimes.iter().flat_map(|one| one.findings.iter().map(move |each| (one, each)));
    let count = all.clone().count() as u32;
    all.find(|(_, finding)| finding.number == number).ok_or_else(|| CheckAgainError::NoFinding {
        check: report.name.clone(),
        number,
        count,
    })
}

/// Returns the flags of the check. Flags that an older check did not keep have their defaults.
fn stored_flags(report: &CheckReport) -> Result<Flags, Failure> {
    if !report.asked.is_empty() {
        return Flags::read(&report.asked);
    }
    let runtimes: Vec<&str> = report.runtimes.iter().map(|one| one.runtime.as_str()).collect();
    let flags = Flags::default().with("app", &report.app).with("runtime", runtimes.join(","));
    let flags = flags.with("reference", &report.reference).with("users", report.tried.users);
    Ok(flags.with("seed", report.seed))
}

/// Checks that the flags have every value that a check does not keep. `command` is the command that
/// was typed, without those flags.
fn complete(flags: &Flags, command: &str) -> Result<(), CheckAgainError> {
    let missing = flags.missing();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(CheckAgainError::SecretsMissing { missing, command: command.to_owned() }),
    }
}

/// Returns the finding with its requests as they were sent. Masked parts come from the file that
/// listed the requests.
fn unmasked(finding: &Finding, file: Option<&TrafficFile>) -> Result<Finding, CheckAgainError> {
    let mut finding = finding.clone();
    let mut listed: Option<Vec<CheckRequest>> = None;
    for step in &mut finding.steps {
        let Some(part) = hidden(&step.request) else { continue };
        let all = listed.get_or_insert_with(|| {
            let listed = file.and_then(|file| requests::read(file).ok());
            listed.map(|listed| listed.requests).unwrap_or_default()
        });
        let own = all.iter().find(|asked| masked(asked) == *step.request);
        let own = own.cloned().ok_or_else(|| CheckAgainError::SecretNotKept {
            request: mask_secrets(&name(&step.request)),
            part,
            urls: file.map(|file| file.path.clone()),
        })?;
        // The subject of the finding was masked together with the request.
        finding.subject = finding.subject.restored(&step.request, &own);
        finding.about = finding.subject.to_string();
        step.request = Arc::new(own);
    }
    Ok(finding)
}

/// Returns the part of a request that was not kept; `None`: all was kept.
fn hidden(asked: &CheckRequest) -> Option<SecretPart> {
    let header = asked.headers.iter().find(|(_, value)| value.contains(MASK));
    match header {
        Some((name, _)) => Some(SecretPart::Header { name: name.clone() }),
        None if asked.target.contains(MASK) => Some(SecretPart::Query),
        None => asked.body.contains(MASK).then_some(SecretPart::Body),
    }
}

#[cfg(test)]
mod tests {
    use stampede_check::sample;
    use stampede_check::subject::Subject;

    use super::*;

    const AGAIN: &str = "stampede check --of out --finding 2";

    fn report(asked: &[&str], findings: Vec<Finding>) -> CheckReport {
        let asked = asked.iter().map(|word| (*word).to_owned()).collect();
        let runtimes = vec![RuntimeResult { findings, ..sample::checked("swoole") }];
        CheckReport { asked, runtimes, ..sample::report() }
    }

    fn args(report: &CheckReport) -> CheckArgs {
        let flags = stored_flags(report).and_then(|flags| flags.args());
        flags.unwrap_or_else(|failure| panic!("{}", failure.text()))
    }

    #[test]
    fn a_check_is_repeated_with_its_own_flags() {
        let report = report(
            &[
                "--app",
                "/srv/shop",
                "--runtime",
                "swoole",
                "--reference",
                "apache-modphp",
                "--users",
                "3",
                "--timeout",
                "2s",
                "--kind",
                "script",
                "--own-database",
                "--seed",
                "9",
            ],
            vec![],
        );
        let args = args(&report);
        assert_eq!((args.reference.as_str(), args.users, args.seed), ("apache-modphp", 3, Some(9)));
        assert_eq!((args.timeout.as_str(), args.kind.as_deref()), ("2s", Some("script")));
        assert!(args.own_database);
    }

    #[test]
    fn an_older_check_is_repeated_with_its_recorded_values() {
        let old = CheckReport { format: 1, reference: "php-cgi".to_owned(), ..report(&[], vec![]) };
        let args = args(&old);
        assert_eq!(args.app.as_deref(), Some("/srv/shop"));
        assert_eq!((args.reference.as_str(), args.users, args.seed), ("php-cgi", 2, Some(7)));
    }

    fn completed(words: &[&str]) -> Result<(), CheckAgainError> {
        let base = ["--app", "/srv/shop", "--runtime", "swoole"];
        complete(&Flags::read(base.iter().chain(words)).expect("flags"), AGAIN)
    }

    fn not_found(findings: Vec<Finding>) -> CheckAgainError {
        found(&report(&["--app", "x"], findings), 4).map(|_| ()).expect_err("no finding 4")
    }

    #[test]
    fn what_is_lacking_is_an_error() {
        let both = completed(&["--env", "DATABASE_URL", "--login", "ann", "--login", "bob:x"]);
        let Err(CheckAgainError::SecretsMissing { missing, .. }) = both else {
            panic!("{both:?}");
        };
        let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
        assert_eq!(missing, ["--login ann:PASSWORD", "--env DATABASE_URL=VALUE"]);
        assert!(completed(&["--login", "ann:x"]).is_ok());
        let none = not_found(vec![]);
        assert!(matches!(none, CheckAgainError::NoFinding { count: 0, .. }), "{none:?}");
        let one = not_found(vec![sample::finding()]);
        assert!(matches!(one, CheckAgainError::NoFinding { count: 1, .. }), "{one:?}");
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn what_is_lacking_is_said_by_its_flags() {
        let errors = [
            completed(&["--login", "ann", "--login", "o'hara"]).unwrap_err(),
            completed(&["--env", "DATABASE_URL", "--login", "ann"]).unwrap_err(),
            not_found(vec![]),
            not_found(vec![sample::finding()]),
        ];
        let errors = errors.map(|error| Failure::from(error).text());
        insta::assert_snapshot!(errors.join("\n"));
    }

    /// A finding whose second request has a masked query. `urls` becomes the list of its requests.
    fn masked_finding(urls: &Path) -> Finding {
        std::fs::write(urls, "/a\n/reset?token=hunter2\n").expect("written");
        let listed = requests::read(&TrafficFile::new(urls)).expect("a list").requests;
        let mut finding = sample::finding();
        finding.subject = Subject::request(&sample::step(1, "/reset?token=***").request);
        finding.about = finding.subject.to_string();
        finding.steps = vec![sample::step(0, "/a"), sample::step(1, "/reset?token=***")];
        for (step, listed) in finding.steps.iter_mut().zip(&listed) {
            step.request = Arc::new(masked(listed));
        }
        finding
    }

    /// The errors about a masked query without a list, and a masked header that is not in the list.
    fn refusals(finding: Finding) -> [CheckAgainError; 2] {
        let mut header = finding.clone();
        header.steps[1] = sample::step(1, "/api");
        Arc::make_mut(&mut header.steps[1].request).headers =
            vec![("X-Api-Key".to_owned(), "***".to_owned())];
        [unmasked(&finding, None), unmasked(&header, Some(&TrafficFile::new("my urls.txt")))]
            .map(|refused| refused.map(|_| ()).unwrap_err())
    }

    #[test]
    fn a_masked_request_comes_from_its_list() {
        let directory = tempfile::tempdir().expect("a directory");
        let urls = directory.path().join("urls.txt");
        let finding = masked_finding(&urls);
        let sent = unmasked(&finding, Some(&TrafficFile::new(&urls))).expect("a finding");
        assert_eq!(sent.steps[1].request.target, "/reset?token=hunter2");
        assert_eq!(sent.about, "GET /reset?token=hunter2", "by it the finding is known again");
        let parts = refusals(finding).map(|error| match error {
            CheckAgainError::SecretNotKept { part, .. } => part,
            error => panic!("{error:?}"),
        });
        assert_eq!(parts, [SecretPart::Query, SecretPart::Header { name: "X-Api-Key".to_owned() }]);
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn a_masked_request_comes_from_its_list_or_is_not_sent() {
        let directory = tempfile::tempdir().expect("a directory");
        let finding = masked_finding(&directory.path().join("urls.txt"));
        let errors = refusals(finding).map(|error| Failure::from(error).text());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn the_command_works_as_printed() {
        assert_eq!(command(None), "stampede check");
        assert_eq!(command(Some(Path::new("out"))), "stampede check --of out");
        assert_eq!(command(Some(Path::new("it's here"))), "stampede check --of 'it'\\''s here'");
    }
}
