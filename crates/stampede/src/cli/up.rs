//! The command `stampede up`: runs one runtime alone until Ctrl-C.

use std::time::Duration;

use stampede_linux::interrupt;
use stampede_linux::proc::Proc;
use stampede_mask::{mask_foreign, mask_json, mask_secrets};
use stampede_model::causes::chain;
use stampede_model::fact;
use stampede_model::time::Nanos;
use stampede_model::words::number_of;
use stampede_monitor::machine;
use stampede_plan::{self, Overrides};
use stampede_stack::{
    App, Caches, Catalogue, PageRequest, PageResult, Provider, Providers, Readiness, RuntimeError,
    SearchPaths, Stack, StackRequest, StartPurpose,
};

use super::args::UpArgs;
use super::fail::CommandError;
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use crate::progress::words;
use stampede_trial::sessions::{self, page_before_login};
use stampede_trial::today::take_over_today;
use stampede_trial::{budget, comparison, refusal};

/// Starts the runtime, prints what was started, waits, and stops it.
pub fn run(args: UpArgs) -> Result<Outcome, Failure> {
    let mut stack = stampede_plan::stack_from_flags(&overrides(&args), Some(DEFAULT_APP))?;
    let facts = machine::facts();
    let mut notices = budget::fit(&mut stack, &facts)?;
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let mut apps = refusal::apps(&stack.apps, &catalogue)?;
    notices.extend(take_over_today(&mut stack, &catalogue, &apps)?);
    let [choice] = stack.runtimes.as_slice() else {
        return Err(UpError::NotOne { runtimes: stack.runtimes.len() }.into());
    };
    let app = apps.swap_remove(0);
    let provider = Providers::new(catalogue);
    let traits = provider.traits(choice, &app)?;
    let of_app = app.notices(&provider.catalogue().directories_of(&stack.runtimes));
    for notice in
        of_app.into_iter().chain(notices).chain(budget::memory_notices(&stack, &facts, &[traits]))
    {
        print_message(&format!("note: {}", fact::sentence(&notice)));
    }
    let mut placement = comparison::assign_cpus(&stack).placements.swap_remove(0);
    placement.port = args.port;
    let page = PageRequest::of(&app, &[]);
    let request = StackRequest {
        runtime: choice,
        app: &app,
        placement: &placement,
        page: page_before_login(&app, page.clone()),
        caches: Caches::Kept,
        ready: Readiness::AnyAnswer,
        purpose: StartPurpose::Measured,
    };
    let spec = provider.resolve(&request).map_err(Failure::from_runtime_alone)?;
    if args.dry_run {
        print(format!("{spec}\n").as_bytes())?;
        return Ok(Outcome::Fine);
    }
    stampede_keeper::sweep().map_err(|error| Failure::new(&error))?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let mut running = match provider.start(&spec) {
        Ok(running) => running,
        Err(RuntimeError::Interrupted { .. }) => return Ok(Outcome::Fine),
        Err(error) => return Err(Failure::from_runtime_alone(error)),
    };
    log_in(&app, running.as_mut(), page);
    if let Some(wrong) = running.page_result().and_then(|page_result| page_result.wrong.as_ref()) {
        print_message(&format!("note: the app does not answer correctly: {wrong}"));
        print_message(running.logs().last_lines().trim_end());
    }
    let text = if args.json { as_json(running.as_ref()) } else { as_text(running.as_ref()) };
    print(text.as_bytes())?;
    let ended = wait(running.as_ref());
    running.stop().map_err(|error| Failure::new(&error))?;
    match ended {
        None => Ok(Outcome::Fine),
        Some(error) => Err(error.into()),
    }
}

/// Logs in as a comparison does, and asks for the page as who has logged in. The runtime stays up
/// whatever comes of it.
fn log_in(app: &App, running: &mut dyn Stack, page: PageRequest) {
    let settings = &app.manifest.settings;
    match sessions::begin(app, running, page) {
        Err(error) => print_message(&format!("note: {}", chain(&error))),
        Ok(sessions) if sessions.is_empty() => {}
        Ok(sessions) => print_message(&format!(
            "logged in at {}: {}",
            mask_foreign(settings.login.as_ref().map_or("", |login| &login.path)),
            number_of(sessions.len() as u32, "session")
        )),
    }
}

/// Why a runtime was not started, or ended.
#[derive(Debug, thiserror::Error)]
pub enum UpError {
    /// Several runtimes were named.
    #[error("`up` starts one runtime alone, not {runtimes}")]
    NotOne {
        /// How many were named.
        runtimes: usize,
    },
    /// A signal ended a process.
    #[error("`{role}` ended by itself, by signal {signal}")]
    EndedBySignal {
        /// The process's role.
        role: String,
        /// The signal's number.
        signal: i32,
    },
    /// A process ended.
    #[error("`{role}` ended by itself, with code {code}")]
    EndedWithCode {
        /// The process's role.
        role: String,
        /// Its exit code.
        code: i32,
    },
}

impl CommandError for UpError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            UpError::NotOne { .. } => {
                "`stampede compare` starts several, one after another".to_owned()
            }
            UpError::EndedBySignal { .. } | UpError::EndedWithCode { .. } => {
                "its log lines above say why".to_owned()
            }
        })
    }
}

fn overrides(args: &UpArgs) -> Overrides {
    Overrides {
        app: args.app.clone(),
        kind: args.kind.clone(),
        app_flags: args.about_app.flags(),
        runtimes: Some(args.runtime.clone()),
        workers: args.workers.clone(),
        php: args.php.clone(),
        images: args.images.clone(),
        cpus: args.cpus.clone(),
        memory: args.memory.clone(),
        ..Overrides::default()
    }
}

/// Waits until Ctrl-C, and then returns `None`. If a process ends by itself, returns which and how.
fn wait(running: &dyn Stack) -> Option<UpError> {
    while !interrupt::is_requested() {
        if let Some(exit) = running.exited().into_iter().next() {
            print_message(running.logs().last_lines().trim_end());
            let role = exit.role;
            return Some(match (exit.signal, exit.code) {
                (Some(signal), _) => UpError::EndedBySignal { role, signal },
                (None, code) => UpError::EndedWithCode { role, code: code.unwrap_or(0) },
            });
        }
        std::thread::sleep(LOOK);
    }
    None
}

fn as_text(running: &dyn Stack) -> String {
    let record = running.record();
    let mut text = format!("{} is up: {}\n", record.title, running.endpoint().url());
    text.push_str(&answered(running));
    text.push_str("\nprocesses\n");
    for (role, pid) in running.processes() {
        text.push_str(&format!("  {pid:<7} {role:<5} {}\n", command(pid)));
    }
    text.push_str("\nrendered files\n");
    for file in record.files.keys() {
        let file = running.directory().map_or_else(|| file.into(), |within| within.join(file));
        text.push_str(&format!("  {}\n", file.display()));
    }
    text.push_str("\nCtrl-C stops it and removes its files\n");
    text
}

/// Describes the app's answer and when it came.
fn answered(running: &dyn Stack) -> String {
    let Some(page_result) = running.page_result() else {
        return format!(
            "`{}` has not been answered yet\n",
            running.page().path.unwrap_or_default()
        );
    };
    let after = words::time_ns(Nanos(running.record().first_answer_ns).0);
    let PageResult { path, answer, .. } = page_result;
    let size = stampede_model::words::bytes(answer.body.len() as f64);
    let mut text = String::new();
    if let Some(redirected) = page_result.redirected() {
        text.push_str(&format!("{redirected}\n"));
    }
    let status = answer.status;
    text.push_str(&format!("`{path}` answered after {after}: status {status}, {size}"));
    match (answer.header("location"), answer.gist()) {
        (Some(location), _) => text.push_str(&format!(", redirect to `{location}`")),
        (None, gist) if !gist.is_empty() => {
            text.push_str(&format!(", `{}`", mask_foreign(&gist)));
        }
        (None, _) => {}
    }
    mask_secrets(&text) + "\n"
}

/// Returns a process's command line from the kernel, with secrets masked.
fn command(pid: u32) -> String {
    mask_secrets(&Proc::default().command_line(pid))
}

fn as_json(running: &dyn Stack) -> String {
    let processes: Vec<_> = running
        .processes()
        .iter()
        .map(|(role, pid)| serde_json::json!({"pid": pid, "role": role, "command": command(*pid)}))
        .collect();
    let answer = running.page_result().map(|page_result| {
        let path = mask_secrets(&page_result.path);
        let title = mask_foreign(&page_result.answer.gist());
        let location = page_result.answer.header("location").map(mask_secrets);
        serde_json::json!({
            "path": path,
            "status": page_result.answer.status,
            "location": location,
            "title": title,
            "bytes": page_result.answer.body.len(),
            "correct": page_result.wrong.is_none(),
        })
    });
    let value = serde_json::json!({
        "url": running.endpoint().url(),
        "answer": answer,
        "processes": processes,
        "directory": running.directory(),
        "runtime": running.record(),
        "isolation": running.isolation(),
    });
    mask_json(&format!("{value:#}\n"))
}

/// The app where the user names none: the smallest of the catalogue, which every runtime serves.
const DEFAULT_APP: &str = "hello";
/// Pause between two checks for ended processes.
const LOOK: Duration = Duration::from_millis(100);
