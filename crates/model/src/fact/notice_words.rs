//! The sentences of notices.

use std::fmt;

use super::host_php;
use super::notice::{NoPeak, Notice};
use super::server::with_todo;
use crate::time::Nanos;
use crate::words;
use crate::words::length;

impl fmt::Display for NoPeak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPeak::Refused { reason } => reason.fmt(f),
            NoPeak::Invalid { reasons } if reasons.is_empty() => {
                f.write_str("it gave no correct answer")
            }
            NoPeak::Invalid { reasons } => f.write_str(&super::joined(reasons)),
        }
    }
}

impl Notice {
    /// What is known of an app's files.
    fn of_app(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::AppDetected { app, detected } => write!(f, "app `{app}`: {detected}"),
            Notice::EnvOverruled { own, given } => write!(
                f,
                "the app's `.env` says {own}; it is measured with {given} (`env:` in a plan changes that)"
            ),
            Notice::DirectoryFiles(files) => write!(f, "{files}"),
            Notice::OwnPaths { app, file, line, files } => {
                let more = match files {
                    0 | 1 => String::new(),
                    more => format!(" and {} more", words::quantity(more - 1, "file")),
                };
                write!(
                    f,
                    "app `{app}` names its own directory by its whole path ({file}, line {line}{more}): what it reads and \
                     writes there is the original, not the copy. This machine allows no mounts in namespaces of \
                     their own, which would lead to the copy"
                )
            }
            Notice::NoMail { variable } => write!(
                f,
                "the app's `.env` says how to send mail (`{variable}`); it is measured without sending any (`env:` in a \
                 plan changes that)"
            ),
            Notice::OwnDatabase { at } => write!(
                f,
                "the load reaches the app's real database at {at}, and the app writes to it; to prevent this, let \
                 it use a copy of the database, by `env:` in a plan or by its own configuration"
            ),
            _ => Ok(()),
        }
    }
}

impl Notice {
    /// What this machine is set up for.
    fn of_host(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::HostPhp { version, count, settings, try_it } => {
                host_php::differs(f, version.as_deref(), settings, *count, try_it)
            }
            Notice::AsToday { runtime, title, settings, workers, others_workers } => {
                let workers = workers.map(|own| (own, *others_workers));
                host_php::taken(f, (runtime, title), settings, workers)
            }
            Notice::NotAsToday { runtime, settings } => host_php::limited(f, runtime, settings),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Chosen { .. }
            | Notice::AlsoInstalled { .. }
            | Notice::LeftOut { .. }
            | Notice::DemoApp { .. }
            | Notice::RuntimeSkipped { .. }
            | Notice::RuntimeFromImages { .. }
            | Notice::LoadSkipped { .. } => self.of_choice(f),
            Notice::AppDetected { .. }
            | Notice::EnvOverruled { .. }
            | Notice::DirectoryFiles(_)
            | Notice::OwnPaths { .. }
            | Notice::NoMail { .. }
            | Notice::OwnDatabase { .. } => self.of_app(f),
            Notice::HostPhp { .. } | Notice::AsToday { .. } | Notice::NotAsToday { .. } => {
                self.of_host(f)
            }
            Notice::Tuned { runtime, workers, run, first_app_alone } => {
                let app = if *first_app_alone { ", first app of the plan" } else { "" };
                write!(
                    f,
                    "`{runtime}` runs with workers={workers}, its best value (tuning run `{run}`{app})"
                )
            }
            Notice::NotTuned { runtime, why } => {
                write!(f, "`{runtime}` is compared without tuning: {why}")
            }
            Notice::NoPeak { runtime, loads, why } => {
                let loads = words::list(&quoted(loads));
                write!(
                    f,
                    "load {loads} is left out: the peak of `{runtime}` could not be measured: {why}"
                )
            }
            Notice::External { runtime, found } => write!(f, "`{runtime}`: {found}"),
            Notice::Containers { runtime, found } => write!(f, "`{runtime}`: {found}"),
            Notice::Elsewhere { runtime, host } => write!(
                f,
                "the load for `{runtime}` goes to {host}, not to this machine: make sure that you may load it"
            ),
            Notice::Against(versions) => versions.fmt(f),
            Notice::Damaged { damage } => damage.fmt(f),
            Notice::RoundsLook { found } => write!(f, "`rounds: auto`: {found}"),
            Notice::BetweenRuns { compared: true } => f.write_str(
                "the runs were measured at different times, so part of the difference may come from \
                 the machine; `stampede compare --against REV` measures two versions in the same \
                 rounds",
            ),
            Notice::BetweenRuns { compared: false } => f.write_str(
                "these runs are shown together but not compared, because they were measured at \
                 different times; `stampede diff A B` compares them",
            ),
            _ => self.of_budget(f),
        }
    }
}

impl Notice {
    /// Writes the notices about what is measured.
    fn of_choice(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::Chosen { flags } => write!(f, "defaults used: {}", flags.join(", ")),
            Notice::AlsoInstalled { runtimes } => {
                write!(
                    f,
                    "also installed (add with `--runtimes`): {}",
                    words::list(&quoted(runtimes))
                )
            }
            Notice::LeftOut { runtimes, why, todo } => {
                write!(f, "left out: {}: {why}", words::list(&quoted(runtimes)))?;
                todo.as_ref().map_or(Ok(()), |todo| write!(f, "; {todo}"))
            }
            Notice::DemoApp { app, cause, todo } => {
                write!(f, "the demo serves the app `{app}`, because its own cannot run here: ")?;
                with_todo(f, cause, todo.as_deref())
            }
            Notice::RuntimeSkipped { runtime, cause, todo } => {
                write!(f, "skipped: `{runtime}`: ")?;
                with_todo(f, cause, todo.as_deref())
            }
            Notice::RuntimeFromImages { runtime, cause } => {
                write!(
                    f,
                    "`{runtime}` runs in its official images, because of this machine: {cause}"
                )
            }
            Notice::LoadSkipped { load } => {
                write!(f, "skipped: load `{load}`: none of its runtimes is available")
            }
            _ => Ok(()),
        }
    }

    /// Writes the notices about the budget.
    fn of_budget(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::CpusTooMany { cpus, machine_cpus } => write!(
                f,
                "a budget of {cpus} CPUs does not fit: this machine has {machine_cpus}; all of it is used"
            ),
            Notice::MemoryTooLarge { bytes, machine_bytes } => write!(
                f,
                "a budget of {} does not fit: this machine has {}; all of it is used",
                words::bytes(*bytes as f64),
                words::bytes(*machine_bytes as f64)
            ),
            Notice::CpusLeftOut { asked } => {
                let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "CPU counts above this machine's number are skipped: {}",
                    words::list(&asked)
                )
            }
            Notice::BudgetSplit { cpus } => split(f, cpus),
            Notice::Crowded { runtime, workers, least_bytes, memory_bytes, is_machine } => {
                let [least, memory] =
                    [least_bytes, memory_bytes].map(|bytes| words::bytes(*bytes as f64));
                write!(
                    f,
                    "`{runtime}`: {} workers need at least {least} even with a tiny app, but {} has {memory}: \
                     use fewer workers or more memory",
                    words::count(u64::from(*workers)),
                    if *is_machine { "this machine" } else { "the stack" },
                )
            }
            Notice::CoresShared {} => f.write_str(
                "stack and load run on hardware threads of the same core: each slows the other",
            ),
            Notice::CpusShared {} => f.write_str(
                "stack and load share CPUs: response times contain the generator's own CPU time",
            ),
            _ => self.of_load(f),
        }
    }

    /// Writes the notices about load and rounds.
    fn of_load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::KeepAliveOff { load, runtime, unfit } => write!(
                f,
                "load `{load}`: keep-alive is off for all runtimes, because `{runtime}` {unfit}. With `keep_alive: true` \
                 it stays on, and `{runtime}` is skipped"
            ),
            Notice::OtherSites { sites } => write!(
                f,
                "URLs of {} are sent to the app on this machine, not to that host",
                words::list(&quoted(sites))
            ),
            Notice::RequestFile(file) => fmt::Display::fmt(file, f),
            Notice::TimeScale { scale } => write!(
                f,
                "time scale {scale}: all lengths, request counts and the warm-up are multiplied by {scale}; rates, \
                 timeouts and rounds are not"
            ),
            Notice::StartShared { loads } => write!(
                f,
                "each runtime starts once a round and gets the loads {} one after the other. What one leaves in caches and memory, the next finds. \
                 After an invalid trial the runtime starts again",
                words::list(&quoted(loads))
            ),
            Notice::ClockSetBack { run, started_at } => write!(
                f,
                "the clock of this machine was set back: run `{run}` began at {started_at}, which is later than now. \
                 `last` and `history` sort runs by that time, so name this run by its directory"
            ),
            Notice::WithinNotKept { within_ns, takes_ns: Some(takes_ns) } => write!(
                f,
                "it does not end within {}: with loads of one second it takes about {}; compare fewer runtimes, or fewer rounds",
                length(Nanos(*within_ns)),
                length(Nanos(*takes_ns))
            ),
            Notice::WithinNotKept { within_ns, takes_ns: None } => write!(
                f,
                "nobody knows whether it ends within {}, because a load ends after a number of requests: as many are sent \
                 as fit if an answer takes 5 ms of a CPU; `for` in place of `requests` keeps the time",
                length(Nanos(*within_ns))
            ),
            Notice::FirstImpression {} => f.write_str(
                "a first impression: one round with short loads shows only large differences; without `--quick` the \
                 comparison says how sure it is",
            ),
            Notice::RoundsAuto { looks, precision, max_time_ns } => {
                let looks: Vec<String> = looks.iter().map(ToString::to_string).collect();
                write!(
                    f,
                    "`rounds: auto` checks after {} rounds. It stops when every interval is narrower than {}, or \
                     when the next round would end later than {} after the start",
                    words::list(&looks),
                    words::percent(precision * 100.0),
                    length(Nanos(*max_time_ns))
                )
            }
            _ => self.of_runs(f),
        }
    }

    /// Writes the notices about stored runs.
    fn of_runs(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::UnderWay { planned, ended } => {
                write!(f, "this run is still going: {ended} of {planned} trials have ended")
            }
            Notice::EndedEarly { planned, ended } => {
                write!(f, "this run was ended early: {ended} of {planned} trials were finished")
            }
            Notice::Unfinished { trial } => {
                write!(f, "trial `{trial}` was not finished: it does not count")
            }
            Notice::OfRun { run, notice: Some(notice), .. } => write!(f, "{run}: {notice}"),
            Notice::OfRun { run, measured: Some(measured), .. } => write!(f, "{run}: {measured}"),
            Notice::OfRun { run, .. } => f.write_str(run),
            Notice::MachinesDiffer { what } => {
                let what: Vec<String> = what.iter().map(|part| part.label().to_owned()).collect();
                write!(f, "the runs' machines differ in {}: see the evidence", words::list(&what))
            }
            Notice::AnswersDiffer { run, runtimes } => {
                write!(f, "the app's answer differs in {run}: {}", words::list(runtimes))
            }
            _ => Ok(()),
        }
    }
}

fn split(f: &mut fmt::Formatter<'_>, cpus: &[(String, u32)]) -> fmt::Result {
    let each: Vec<String> = cpus.iter().map(|(role, count)| format!("{role} {count}")).collect();
    write!(f, "the CPUs are split by role ({}), so the rows are marked as unequal", each.join(", "))
}

fn quoted(names: &[String]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}
