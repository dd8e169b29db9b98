//! Notices for the reader of a whole run: choices that stampede made, parts that were skipped or
//! not in force, and data that was lost.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::app::{Detected, NotTuned, Unsuited, Versions};
use super::containers::Containers;
use super::directory_line::DirectoryFiles;
use super::external::External;
use super::host_php::{HostSetting, LimitedSetting};
use super::request_file::RequestFile;
use super::stored::{Damage, Identity, MachinePart};
use super::{Cause, Fact, Kind, Look, Reason, Unfit};
use crate::cpus::CpuCount;

/// A notice about a whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Notice {
    /// stampede chose the values that the user did not give.
    #[serde(rename = "chosen")]
    Chosen {
        /// Flags that ask for the same values.
        flags: Vec<String>,
    },
    /// More runtimes are installed than were chosen.
    #[serde(rename = "also_installed")]
    AlsoInstalled {
        /// The names of those runtimes.
        runtimes: Vec<String>,
    },
    /// Some runtimes were left out of the choice.
    #[serde(rename = "left_out")]
    LeftOut {
        /// The names of those runtimes.
        runtimes: Vec<String>,
        /// The reason.
        why: Unsuited,
        /// What the user can do, in English. Null: nothing helps.
        todo: Option<String>,
    },
    /// A runtime of the plan is not available and was skipped.
    #[serde(rename = "runtime_skipped")]
    RuntimeSkipped {
        /// The runtime's name.
        runtime: String,
        /// The reason.
        cause: Cause,
        /// What the user can do, in English. Null: nothing helps.
        todo: Option<String>,
    },
    /// A runtime of the plan is not available on this machine: its programs come from official images.
    #[serde(rename = "runtime_from_images")]
    RuntimeFromImages {
        /// The runtime's name.
        runtime: String,
        /// Why it is not available.
        cause: Cause,
    },
    /// A load was skipped because none of its runtimes is available.
    #[serde(rename = "load_skipped")]
    LoadSkipped {
        /// The load's name.
        load: String,
    },
    /// stampede detected the kind of app in a directory.
    #[serde(rename = "app_detected")]
    AppDetected {
        /// The app's name.
        app: String,
        /// What was detected.
        detected: Detected,
    },
    /// The app's `.env` has other values than those that the app is measured with.
    #[serde(rename = "env_overruled")]
    EnvOverruled {
        /// The values in `.env`, such as `APP_ENV=dev APP_DEBUG=1`.
        own: String,
        /// The values that are used, such as `APP_ENV=prod APP_DEBUG=0`.
        given: String,
    },
    /// The app's `.htaccess` or `.user.ini` has lines that are applied in a way of their own, or that
    /// some runtimes do not apply.
    #[serde(rename = "directory_files")]
    DirectoryFiles(DirectoryFiles),
    /// The app names its own directory by its whole path, and its copy cannot take the place of that
    /// directory: what it reads and writes there is the original.
    #[serde(rename = "own_paths")]
    OwnPaths {
        /// The app's name.
        app: String,
        /// The first file with such a path, relative to the app's directory.
        file: String,
        /// The number of the line, from 1.
        line: u32,
        /// Number of such files.
        files: u64,
    },
    /// This machine's PHP is set up otherwise than the run's runtimes.
    #[serde(rename = "host_php")]
    HostPhp {
        /// The version of that PHP. Null: its files do not say.
        version: Option<String>,
        /// Number of settings that differ.
        count: u64,
        /// The settings, the most important first.
        settings: Vec<HostSetting>,
        /// The runtimes that would measure it, as a flag has them.
        try_it: String,
    },
    /// A runtime is set up as this machine is.
    #[serde(rename = "as_today")]
    AsToday {
        /// The runtime's name.
        runtime: String,
        /// What it is.
        title: String,
        /// What was taken over.
        settings: Vec<HostSetting>,
        /// Its number of workers. Null: the machine's files do not say.
        workers: Option<u32>,
        /// The number of workers of a runtime without settings of its own.
        others_workers: u32,
    },
    /// Settings of this machine that such a runtime does not have, or has with a limit.
    #[serde(rename = "not_as_today")]
    NotAsToday {
        /// The runtime's name.
        runtime: String,
        /// The settings.
        settings: Vec<LimitedSetting>,
    },
    /// The app would send mail, and is measured with mail switched off.
    #[serde(rename = "no_mail")]
    NoMail {
        /// The variable that says how mail is sent.
        variable: String,
    },
    /// The load reaches the app's own database.
    #[serde(rename = "own_database")]
    OwnDatabase {
        /// The address of the database.
        at: String,
    },
    /// The app is compared with another revision of itself.
    #[serde(rename = "against")]
    Against(Versions),
    /// The budget has more CPUs than the machine: all CPUs are used.
    #[serde(rename = "budget_cpus_too_many")]
    CpusTooMany {
        /// Number of CPUs asked for.
        cpus: CpuCount,
        /// Number of CPUs of the machine.
        machine_cpus: u32,
    },
    /// The budget has more memory than the machine: all memory is used.
    #[serde(rename = "budget_memory_too_large")]
    MemoryTooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// Bytes that the machine has.
        machine_bytes: u64,
    },
    /// Numbers of CPUs that this machine does not have were left out.
    #[serde(rename = "cpus_left_out")]
    CpusLeftOut {
        /// The numbers of CPUs that are skipped.
        asked: Vec<CpuCount>,
    },
    /// The budget is split by role, so rows have unequal means.
    #[serde(rename = "budget_split")]
    BudgetSplit {
        /// Each role with its number of CPUs.
        cpus: Vec<(String, u32)>,
    },
    /// Stack and load share CPUs.
    #[serde(rename = "cpus_shared")]
    CpusShared {},
    /// Stack and load run on hardware threads of the same core.
    #[serde(rename = "cores_shared")]
    CoresShared {},
    /// The workers may not fit into the memory.
    #[serde(rename = "workers_crowded")]
    Crowded {
        /// The runtime's name.
        runtime: String,
        /// Number of workers.
        workers: u32,
        /// The least memory that these workers need.
        least_bytes: u64,
        /// The memory that is available.
        memory_bytes: u64,
        /// Whether that is the machine's memory. False: it is the stack's limit.
        is_machine: bool,
    },
    /// Keep-alive is off for all runtimes, because one of them does not suit it.
    #[serde(rename = "keep_alive_off")]
    KeepAliveOff {
        /// The load's name.
        load: String,
        /// The name of that runtime.
        runtime: String,
        /// The reason.
        unfit: Unfit,
    },
    /// URLs of other sites are requested from the app on this machine.
    #[serde(rename = "other_sites")]
    OtherSites {
        /// Hosts named in the request file.
        sites: Vec<String>,
    },
    /// The requests of a file are sent.
    #[serde(rename = "request_file")]
    RequestFile(RequestFile),
    /// Lengths and numbers of requests are multiplied by a factor.
    #[serde(rename = "time_scale")]
    TimeScale {
        /// The factor.
        scale: f64,
    },
    /// The demo's own app cannot run here, and another one is served.
    #[serde(rename = "demo_app")]
    DemoApp {
        /// The app that is served.
        app: String,
        /// Why the demo's own cannot run.
        cause: Cause,
        /// What the user can do, in English. Null: nothing helps.
        todo: Option<String>,
    },
    /// Each runtime is started once a round for all loads.
    #[serde(rename = "start_shared")]
    StartShared {
        /// The names of the loads, in their order.
        loads: Vec<String>,
    },
    /// An earlier run began later by the machine's clock, which was set back since. Runs are sorted by
    /// the time of their start.
    #[serde(rename = "clock_set_back")]
    ClockSetBack {
        /// The name of the run that began last by the clock.
        run: String,
        /// When it began, RFC 3339.
        started_at: String,
    },
    /// The comparison cannot end within the time that was given.
    #[serde(rename = "within_not_kept")]
    WithinNotKept {
        /// The given time in nanoseconds.
        within_ns: u64,
        /// How long it takes with loads of a second. Null: it fits by a guess alone, since a load ends
        /// after a number of requests.
        takes_ns: Option<u64>,
    },
    /// The comparison was made as short as possible.
    #[serde(rename = "first_impression")]
    FirstImpression {},
    /// The rule by which `rounds: auto` stops.
    #[serde(rename = "rounds_auto")]
    RoundsAuto {
        /// The numbers of rounds after which it checks.
        looks: Vec<u32>,
        /// The width that every interval must be below, as a share, 0 … 1.
        precision: f64,
        /// Time limit in nanoseconds: a round is not begun if it would end later than this after
        /// the run's start.
        max_time_ns: u64,
    },
    /// One check of `rounds: auto`.
    #[serde(rename = "rounds_look")]
    RoundsLook {
        /// Why the run went on or stopped.
        found: Fact<Look>,
    },
    /// A runtime is measured with its best number of workers.
    #[serde(rename = "tuned")]
    Tuned {
        /// The runtime's name.
        runtime: String,
        /// The number of workers.
        workers: u32,
        /// The directory of the tuning.
        run: String,
        /// Whether the runtime was tuned only with the first of several apps.
        first_app_alone: bool,
    },
    /// A runtime's best number of workers is not known.
    #[serde(rename = "not_tuned")]
    NotTuned {
        /// The runtime's name.
        runtime: String,
        /// The reason.
        why: NotTuned,
    },
    /// Loads whose rate is a share of the baseline's peak were left out.
    #[serde(rename = "no_peak")]
    NoPeak {
        /// The baseline's name.
        runtime: String,
        /// The names of the loads.
        loads: Vec<String>,
        /// Why the baseline's peak is not known.
        why: NoPeak,
    },
    /// Something was noticed about an external runtime.
    #[serde(rename = "external")]
    External {
        /// The runtime's name.
        runtime: String,
        /// What was noticed.
        found: External,
    },
    /// Something was noticed about a compose project.
    #[serde(rename = "containers")]
    Containers {
        /// The runtime's name.
        runtime: String,
        /// What was noticed.
        found: Containers,
    },
    /// An external runtime is on another machine.
    #[serde(rename = "external_on_another_machine")]
    Elsewhere {
        /// The runtime's name.
        runtime: String,
        /// The host.
        host: String,
    },
    /// The run has not ended yet.
    #[serde(rename = "under_way")]
    UnderWay {
        /// Number of planned trials.
        planned: usize,
        /// Number of trials that have ended.
        ended: usize,
    },
    /// The run was ended early.
    #[serde(rename = "ended_early")]
    EndedEarly {
        /// Number of planned trials.
        planned: usize,
        /// Number of trials that had ended.
        ended: usize,
    },
    /// A trial was not finished, and does not count.
    #[serde(rename = "trial_unfinished")]
    Unfinished {
        /// The name of the trial's directory.
        trial: String,
    },
    /// A stored file is damaged or cut off.
    #[serde(rename = "damaged")]
    Damaged {
        /// Which file, and how.
        damage: Damage,
    },
    /// The runs were measured at different times.
    #[serde(rename = "between_runs")]
    BetweenRuns {
        /// Whether the runs are compared. False: they are only shown together.
        compared: bool,
    },
    /// A notice about one of several runs.
    #[serde(rename = "of_run")]
    OfRun {
        /// The run's letter or name.
        run: String,
        /// The notice about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notice: Option<Box<Fact<Notice>>>,
        /// The run's identity: when and with what it was measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        measured: Option<Identity>,
    },
    /// The machines of several runs differ.
    #[serde(rename = "machines_differ")]
    MachinesDiffer {
        /// The parts that differ.
        what: Vec<MachinePart>,
    },
    /// The app's answers differ between two runs.
    #[serde(rename = "answers_differ")]
    AnswersDiffer {
        /// The run with the other answers.
        run: String,
        /// The runtimes whose app answered differently.
        runtimes: Vec<String>,
    },
}

/// The reason why a peak is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum NoPeak {
    /// The runtime was refused, so it was not measured.
    Refused {
        /// The reason.
        reason: Fact<Reason>,
    },
    /// The peak's trial was not valid.
    Invalid {
        /// The reasons. Empty: there was no correct answer.
        reasons: Vec<Fact<Reason>>,
    },
}

impl Notice {
    /// Makes a notice about one of several runs.
    pub fn of_run(run: String, notice: &Fact<Notice>) -> Notice {
        Notice::OfRun { run, notice: Some(Box::new(notice.clone())), measured: None }
    }
}

impl Notice {
    /// Whether the notice matters more than how long the run takes, and so is the first thing that is said.
    pub fn comes_first(&self) -> bool {
        matches!(self, Notice::Containers { found: Containers::Development { .. }, .. })
    }

    /// Whether the notice only says how the run came about, and changes nothing about how its
    /// figures are to be read.
    pub fn is_detail(&self) -> bool {
        matches!(
            self,
            Notice::Chosen { .. }
                | Notice::AlsoInstalled { .. }
                | Notice::LeftOut { .. }
                | Notice::AppDetected { .. }
                | Notice::RoundsAuto { .. }
        )
    }
}

impl Kind for Notice {
    const NAME: &'static str = "Notice";
    const ABOUT: &'static str = "What the reader of a whole run should know.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Notice::json_schema(generator)]
    }
}
