//! The command `stampede check`: is an app safe in a worker that keeps it in memory?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stampede_check::gather::{GatherError, GatheredRequests, RequestSource, gather};
use stampede_check::harness::Harness;
use stampede_check::model::{CheckReport, Verdict};
use stampede_check::requests::{Credentials, PAGES, Policy};
use stampede_check::spill_file::SpillFile;
use stampede_check::{grow, orders, places, text, work};
use stampede_linux::interrupt;
use stampede_mask::mask_secrets;
use stampede_model::causes::chain;
use stampede_model::fact;
use stampede_model::quantity::{parse_length, parse_size};
use stampede_model::record::RESULTS;
use stampede_model::words;
use stampede_monitor::machine;
use stampede_plan::app_settings::LoginSettings;
use stampede_plan::model::{RuntimeChoice, RuntimeSource};
use stampede_plan::{self, AppFlags, Overrides};
use stampede_results::store::run_id;
use stampede_stack::{App, Catalogue, Providers, SearchPaths};

use super::args_check::CheckArgs;
use super::check_again::{again, command};
use super::check_database::{from_reference, with_own_database};
use super::check_error::CheckError;
use super::check_file::{PAGE, baseline, json, without_secrets, write};
use super::check_flags::Flags;
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use stampede_trial::{budget, comparison, refusal};

/// Runs a check, or sends one finding's requests again.
pub fn run(args: &CheckArgs) -> Result<Outcome, Failure> {
    match args.finding {
        Some(number) => again(args, number),
        None => check(args),
    }
}

fn check(args: &CheckArgs) -> Result<Outcome, Failure> {
    let (growth, passes) = (growth(args)?, passes(&args.passes)?);
    let baseline = baseline(args.baseline.as_deref())?;
    let out = out(args)?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1 << 53));
    let asked = Flags::typed()?.with("seed", seed).storable().words();
    let app = args.app.clone().unwrap_or_default();
    let subject = CheckSubject {
        app: &app,
        kind: args.kind.clone(),
        reference: &args.reference,
        runtimes: args.runtime.as_deref().unwrap_or_default(),
        users: args.users,
        seed,
    };
    let setup = CheckSetup::find(args, subject)?;
    let policy = Policy::new(&args.methods, &args.skip)?;
    let source = match args.file()? {
        Some(file) => RequestSource::File(Box::new(file), args.limit.unwrap_or(OF_FILE)),
        None => {
            RequestSource::Links { from: args.path.clone(), limit: args.limit.unwrap_or(PAGES) }
        }
    };
    let mut print_message = print_message;
    print_message("looking for requests");
    let gathered = gather(&setup.harness, &setup.reference, &source, &policy)
        .map_err(|error| from_gather(error, &setup.harness.app))?;
    report_requests(&gathered, &args.reference, &mut print_message)?;
    let options = work::CheckOptions {
        name: out.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        app,
        kind: setup.harness.app.manifest.kind.name().to_owned(),
        requests: gathered.requests.into_iter().map(Arc::new).collect(),
        skipped: gathered.skipped,
        growth,
        passes,
        baseline,
    };
    if work::passes(&setup.harness, &setup.runtimes, &options).is_empty() {
        return Err(CheckError::NoPass { passes: args.passes.clone() }.into());
    }
    let mut report = work::check(
        &setup.harness,
        &setup.reference,
        &setup.runtimes,
        options,
        &mut print_message,
    )?;
    if let Some(directory) = &setup.directory {
        report.code = stampede_php::scan(directory, setup.harness.app.manifest.kind);
    }
    places::attach(&mut report);
    report.asked = asked;
    let report = without_secrets(report);
    write(&out, &report)?;
    match args.json {
        true => print(json(&report)?.as_bytes())?,
        false => print(
            format!(
                "{}\nResult: {}\nReport: {}\n",
                mask_secrets(&text::text(&report, &command(args.out.as_deref()))),
                out.display(),
                out.join(PAGE).display()
            )
            .as_bytes(),
        )?,
    };
    Ok(outcome(&report))
}

/// The runtimes of a check, and what is needed to start them.
pub struct CheckSetup {
    /// Starts the runtimes.
    pub harness: Harness,
    /// The reference, which forgets everything after each request.
    pub reference: RuntimeChoice,
    /// The runtimes that are checked.
    pub runtimes: Vec<RuntimeChoice>,
    directory: Option<PathBuf>,
}

/// The subject of a check, from the flags or from an earlier check.
pub struct CheckSubject<'a> {
    /// The app: a directory, or a name in the catalogue.
    pub app: &'a str,
    /// Kind of the app; `None`: it is detected.
    pub kind: Option<String>,
    /// The reference, which forgets everything after each request.
    pub reference: &'a str,
    /// The runtimes that are checked, separated by commas.
    pub runtimes: &'a str,
    /// Number of users.
    pub users: u32,
    /// Seed of orders and tokens.
    pub seed: u64,
}

impl CheckSetup {
    /// Finds the runtimes, and refuses those that must not be started.
    pub fn find(args: &CheckArgs, subject: CheckSubject<'_>) -> Result<CheckSetup, Failure> {
        let seed = subject.seed;
        let overrides = Overrides {
            app: Some(subject.app.to_owned()),
            app_flags: AppFlags { env: Vec::new(), ..args.app_flags() },
            kind: subject.kind,
            runtimes: Some(format!("{},{}", subject.reference, subject.runtimes)),
            workers: Some("1".to_owned()),
            ..Overrides::default()
        };
        let mut stack = stampede_plan::stack_from_flags(&overrides, None)?;
        let facts = machine::facts();
        budget::fit(&mut stack, &facts)?;
        let catalogue = Catalogue::load(SearchPaths::from_env());
        let app = refusal::apps(&stack.apps, &catalogue)?.swap_remove(0);
        for notice in app.notices(&catalogue.directories_of(&stack.runtimes)) {
            print_message(&format!("note: {}", fact::sentence(&notice)));
        }
        check_memory_modes(&catalogue, &stack.runtimes)?;
        let mut env = environment(&args.about_app.env)?;
        let app = with_own_database(&catalogue, app, &stack.runtimes[0], &mut env, args)?;
        stack.runtimes.iter_mut().for_each(|choice| choice.env.extend(env.clone()));
        for choice in &stack.runtimes {
            catalogue.check(choice, &app)?;
        }
        let directory = stack.apps.choices[0].path().map(Path::to_path_buf);
        let placement = comparison::assign_cpus(&stack).placements.swap_remove(0);
        stampede_keeper::sweep().map_err(|error| Failure::new(&error))?;
        interrupt::listen().map_err(|error| Failure::new(&error))?;
        let mut choices = stack.runtimes;
        let reference = choices.remove(0);
        let credentials = Credentials::read(&args.basic_auth(), &args.cookies)?;
        let count = (subject.users as usize).max(credentials.users());
        let headers = |user| app.manifest.headers_with(&user_headers(&credentials, user));
        let users = (0..count).map(headers).collect();
        let logins = logins(&app, &args.login_field, count);
        let timeout =
            parse_length(&args.timeout).map_err(|source| CheckError::Timeout { source })?;
        let timeout = Duration::from_nanos(timeout.0);
        let spill_file = SpillFile::on_disk();
        let provider = Providers::new(catalogue);
        let harness =
            Harness { provider, app, placement, seed, users, logins, timeout, spill_file };
        Ok(CheckSetup { harness, reference, runtimes: choices, directory })
    }
}

/// How each user logs in; empty: nobody does. A field of the form that is given again is that of
/// the next user.
fn logins(app: &App, fields: &[String], count: usize) -> Vec<LoginSettings> {
    let Some(login) = &app.manifest.settings.login else { return Vec::new() };
    let pairs = || fields.iter().filter_map(|field| field.split_once('='));
    let of_user = |user: usize| {
        let mut login = login.clone();
        for (name, value) in &mut login.form {
            let all: Vec<&str> =
                pairs().filter(|(known, _)| known.trim() == name).map(|(_, value)| value).collect();
            if let Some(own) = all.get(user % all.len().max(1)) {
                own.trim().clone_into(value);
            }
        }
        login
    };
    (0..count).map(of_user).collect()
}

/// Parses variables, each `NAME=VALUE`.
fn environment(asked: &[String]) -> Result<BTreeMap<String, String>, CheckError> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err(CheckError::NotAVariable),
    };
    asked.iter().map(pair).collect()
}

/// Checks that the reference forgets and the checked runtimes do not. Otherwise nothing is
/// compared.
fn check_memory_modes(catalogue: &Catalogue, choices: &[RuntimeChoice]) -> Result<(), Failure> {
    for (at, choice) in choices.iter().enumerate() {
        let RuntimeSource::Catalogue(name) = &choice.source else { continue };
        let directory = catalogue.runtime(name)?;
        let keeps = directory.manifest.mode.keeps_memory();
        let runtime = choice.name.clone();
        match (at, keeps) {
            (0, true) => return Err(CheckError::ReferenceKeeps { runtime }.into()),
            (1.., false) => return Err(CheckError::RuntimeForgets { runtime }.into()),
            _ => {}
        }
    }
    Ok(())
}

/// Parses names of passes, which people write with hyphens.
fn passes(asked: &[String]) -> Result<Vec<String>, CheckError> {
    let known: Vec<&'static str> = orders::passes(2, 2, 0).iter().map(|pass| pass.name).collect();
    let named = asked.iter().map(|one| one.trim().replace('-', " "));
    named
        .map(|pass| match known.contains(&pass.as_str()) {
            true => Ok(pass),
            false => Err(CheckError::UnknownPass { pass, known: known.clone() }),
        })
        .collect()
}

fn growth(args: &CheckArgs) -> Result<Option<grow::GrowthOptions>, CheckError> {
    let Ok(memory_bytes) = parse_size(&args.worker_memory) else {
        return Err(CheckError::NotASize { value: args.worker_memory.clone() });
    };
    let options = grow::GrowthOptions { requests: args.growth, memory_bytes };
    Ok((args.growth > 0).then_some(options))
}

fn from_gather(error: GatherError, app: &App) -> Failure {
    match error {
        GatherError::Reference(error) => from_reference(error, app),
        GatherError::List(error) => error.into(),
    }
}

/// Returns a user's own headers.
fn user_headers(credentials: &Credentials, user: usize) -> Vec<(String, String)> {
    let mut headers = credentials.headers(user);
    let cookies = credentials.cookies(user).iter();
    let cookies: Vec<String> = cookies.map(|(name, value)| format!("{name}={value}")).collect();
    if !cookies.is_empty() {
        headers.push(("Cookie".to_owned(), cookies.join("; ")));
    }
    headers.iter().for_each(|(name, value)| stampede_mask::header(name, value));
    headers
}

/// Reports what the user should know about the requests before they are sent.
fn report_requests(
    gathered: &GatheredRequests,
    reference: &str,
    print_message: &mut dyn FnMut(&str),
) -> Result<(), CheckError> {
    if gathered.requests.is_empty() {
        let skipped = gathered.skipped.iter().take(SHOWN).cloned().collect();
        return Err(CheckError::NoRequest { skipped });
    }
    if let Some(broken) = gathered.broken.clone() {
        return Err(CheckError::FailsAlready { reference: reference.to_owned(), broken });
    }
    match &gathered.router {
        Some(Ok(routes)) => {
            print_message(&format!("the app's router lists {routes} paths that can be requested"))
        }
        Some(Err(error)) => print_message(&format!(
            "note: stampede follows only links, because it cannot read the router's list: {}",
            chain(error)
        )),
        None => {}
    }
    let count = gathered.requests.len();
    let skipped = gathered.skipped.len();
    print_message(&format!(
        "{} to send, {skipped} skipped",
        words::number_of(count as u32, "request")
    ));
    for bad in &gathered.bad {
        print_message(&format!("note: {bad}"));
    }
    if gathered.logins * 2 > count {
        print_message(&format!(
            "note: {} of {count} requests lead to a login: `--login PATH --login-field NAME=VALUE`, \
             `--basic-auth NAME:PASSWORD` or `--cookies FILE` lets a user in",
            gathered.logins
        ));
    }
    Ok(())
}

fn out(args: &CheckArgs) -> Result<PathBuf, CheckError> {
    let id = run_id(&jiff::Zoned::now());
    let out = args.out.clone().unwrap_or_else(|| Path::new(RESULTS).join(id));
    match out.exists() {
        true => Err(CheckError::OutExists { path: out }),
        false => Ok(out),
    }
}

/// Returns the JSON Schema of `check.json`.
#[cfg(debug_assertions)]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(CheckReport).into()
}

fn outcome(report: &CheckReport) -> Outcome {
    let mut open = report.runtimes.iter().flat_map(|one| &one.findings);
    if open.any(|finding| !finding.is_accepted) {
        return Outcome::NotMet;
    }
    let is_whole = report.runtimes.iter().all(|one| one.verdict != Verdict::NotChecked);
    if is_whole && !report.interrupted { Outcome::Fine } else { Outcome::Incomplete }
}

/// Default limit of requests from a file. An access log has those of a whole day.
const OF_FILE: usize = 500;
/// Number of skipped requests in an error message.
const SHOWN: usize = 5;
