//! The command `stampede check --finding N`: sends one finding's requests again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args_check::CheckArgs;
use super::check::{CheckSetup, CheckSubject};
use super::check_file::{last, masked, read};
use super::check_flags::{Flags, Secret};
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use crate::check::analyze::name;
use crate::check::model::{CheckReport, CheckRequest, Finding, RuntimeResult};
use crate::check::{replay, requests};
use crate::store::{MASK, RESULTS, mask_secrets};
use crate::summary::words;

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
    let finding = unmasked(finding, args.urls.as_deref())?;
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
    let replayed = replay::replay(&setup.harness, &setup.reference, &setup.runtimes[0], &finding)
        .map_err(|error| Failure::from_runtime(&error))?;
    print(mask_secrets(&replayed.text).as_bytes())?;
    Ok(if replayed.shows { Outcome::NotMet } else { Outcome::Fine })
}

/// Returns the command that sends a finding again, without `--finding N`. `out` is the check's
/// directory, if the user gave one.
pub fn command(out: Option<&Path>) -> String {
    let of = out.map(|out| format!(" --of {}", shell_words::quote(&out.display().to_string())));
    format!("stampede check{}", of.unwrap_or_default())
}

fn found(report: &CheckReport, number: u32) -> Result<(&RuntimeResult, &Finding), Failure> {
    let mut all =
        report.runtimes.iter().flat_map(|one| one.findings.iter().map(move |each| (one, each)));
    let count = all.clone().count() as u32;
    all.find(|(_, finding)| finding.number == number).ok_or_else(|| {
        let has = match count {
            0 => "it has none".to_owned(),
            count => format!("it has {}", words::number_of(count, "finding")),
        };
        Failure::rendered(format!("check `{}` has no finding {number}: {has}", report.name))
            .hint("`--of` names another check's directory")
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
fn complete(flags: &Flags, command: &str) -> Result<(), Failure> {
    let missing = flags.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let what = match missing.iter().all(|flag| flag.secret == Secret::Login) {
        true => "passwords are not kept",
        false => "passwords and values of the environment are not kept",
    };
    let typed: Vec<String> = missing.iter().map(ToString::to_string).collect();
    Err(Failure::rendered(format!(
        "it was checked with {}, and {what}",
        words::list(&typed.iter().map(|flag| format!("`{flag}`")).collect::<Vec<_>>())
    ))
    .hint(format!("give them again: `{command} {}`", typed.join(" "))))
}

/// Returns the finding with its requests as they were sent. Masked parts come from the file that
/// listed the requests.
fn unmasked(finding: &Finding, urls: Option<&Path>) -> Result<Finding, Failure> {
    let mut finding = finding.clone();
    let mut listed: Option<Vec<CheckRequest>> = None;
    for step in &mut finding.steps {
        let Some(what) = hidden(&step.request) else { continue };
        let all = listed.get_or_insert_with(|| {
            let listed = urls.and_then(|urls| requests::read(urls).ok());
            listed.map(|listed| listed.requests).unwrap_or_default()
        });
        let own = all.iter().find(|asked| masked(asked) == *step.request);
        let own = own.cloned().ok_or_else(|| unknown(&step.request, &what, urls))?;
        // The subject of the finding was masked together with the request.
        finding.subject = finding.subject.restored(&step.request, &own);
        finding.about = finding.subject.to_string();
        step.request = Arc::new(own);
    }
    Ok(finding)
}

fn unknown(asked: &CheckRequest, what: &str, urls: Option<&Path>) -> Failure {
    let urls = urls.map(Path::to_path_buf).unwrap_or_else(|| PathBuf::from("FILE"));
    Failure::rendered(format!(
        "{} cannot be sent again: {what} is a secret, and was not kept",
        mask_secrets(&name(asked))
    ))
    .hint(format!(
        "`--traffic {}` has to list the request as it was sent; a user's own secrets belong into `--login` \
         or `--cookies`",
        shell_words::quote(&urls.display().to_string())
    ))
}

/// Names the part of a request that was not kept; `None`: all was kept.
fn hidden(asked: &CheckRequest) -> Option<String> {
    let header = asked.headers.iter().find(|(_, value)| value.contains(MASK));
    match header {
        Some((name, _)) => Some(format!("its header `{name}`")),
        None if asked.target.contains(MASK) => Some("a part of its query".to_owned()),
        None => asked.body.contains(MASK).then(|| "a part of its body".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::sample;
    use crate::check::subject::Subject;

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

    #[test]
    fn what_is_lacking_is_said_by_its_flags() {
        let text = |failure: Failure| failure.text();
        let flags_of = |words: &[&str]| {
            let base = ["--app", "/srv/shop", "--runtime", "swoole"];
            Flags::read(base.iter().chain(words)).expect("flags")
        };
        let logins =
            complete(&flags_of(&["--login", "ann", "--login", "o'hara"]), AGAIN).unwrap_err();
        let both =
            complete(&flags_of(&["--env", "DATABASE_URL", "--login", "ann"]), AGAIN).unwrap_err();
        let none = report(&["--app", "x"], vec![]);
        let one = report(&["--app", "x"], vec![sample::finding()]);
        insta::assert_snapshot!(
            [
                text(logins),
                text(both),
                text(found(&none, 4).unwrap_err()),
                text(found(&one, 4).unwrap_err()),
            ]
            .join("\n")
        );
        assert!(complete(&flags_of(&["--login", "ann:x"]), AGAIN).is_ok());
    }

    #[test]
    fn a_masked_request_comes_from_its_list_or_is_not_sent() {
        let directory = tempfile::tempdir().expect("a directory");
        let urls = directory.path().join("urls.txt");
        std::fs::write(&urls, "/a\n/reset?token=hunter2\n").expect("written");
        let listed = requests::read(&urls).expect("a list").requests;
        let mut finding = sample::finding();
        finding.subject = Subject::request(&sample::step(1, "/reset?token=***").request);
        finding.about = finding.subject.to_string();
        finding.steps = vec![sample::step(0, "/a"), sample::step(1, "/reset?token=***")];
        for (step, listed) in finding.steps.iter_mut().zip(&listed) {
            step.request = Arc::new(masked(listed));
        }
        let sent =
            unmasked(&finding, Some(&urls)).unwrap_or_else(|failure| panic!("{}", failure.text()));
        assert_eq!(sent.steps[1].request.target, "/reset?token=hunter2");
        assert_eq!(sent.about, "GET /reset?token=hunter2", "by it the finding is known again");

        let mut header = finding.clone();
        header.steps[1] = sample::step(1, "/api");
        Arc::make_mut(&mut header.steps[1].request).headers =
            vec![("X-Api-Key".to_owned(), "***".to_owned())];
        let errors = [unmasked(&finding, None), unmasked(&header, Some(Path::new("my urls.txt")))]
            .map(|refused| refused.map(|_| ()).unwrap_err().text());
        insta::assert_snapshot!(errors.join("\n"));
    }

    #[test]
    fn the_command_works_as_printed() {
        assert_eq!(command(None), "stampede check");
        assert_eq!(command(Some(Path::new("out"))), "stampede check --of out");
        assert_eq!(command(Some(Path::new("it's here"))), "stampede check --of 'it'\\''s here'");
    }
}
