//! Turns the arguments of `compare` into a plan: what the user left open is chosen, and a plan that
//! must end in time is shortened.

use std::path::{Path, PathBuf};

use stampede_model::fact::Notice;
use stampede_model::machine::MachineFacts;
use stampede_model::quantity::parse_length;
use stampede_model::time::Nanos;
use stampede_model::words;
use stampede_plan::model::{Fairness, LoadChoice, Plan, Rounds, StartState};
use stampede_plan::{MissingParts, Overrides, WithSteady};
use stampede_stack::{Catalogue, may_be_app};
use stampede_trial::comparison::Comparison;
use stampede_trial::expected::TimeScale;
use stampede_trial::{cases, refusal};

use super::super::Failure;
use super::super::args::CompareArgs;
use super::super::fail::CommandError;
use super::super::init::PLAN;
use super::super::plan_flags::overrides;
use crate::suggest::{fill, fill_length, suggest};

/// Reads the plan, if there is one, and fills in what nobody has said.
pub fn read(
    args: &CompareArgs,
    catalogue: &Catalogue,
    facts: &MachineFacts,
) -> Result<Plan, Failure> {
    let mut filled = FilledArguments::of(args, catalogue)?;
    let mut plan = filled.plan(catalogue)?;
    if args.quick && plan.begin != StartState::Cold {
        filled.flags.starts = Some("per-round".to_owned());
        plan = filled.plan(catalogue)?;
    }
    let Some(within) = within(args)? else { return Ok(plan) };
    if plan.fairness == Fairness::EachAtItsBest {
        return Err(WithinError::Tuned.into());
    }
    if matches!(plan.rounds, Rounds::Auto { .. }) && args.max_time.is_none() {
        filled.flags.max_time = Some(format!("{}s", within.0 / Nanos::SECOND.0));
        plan = filled.plan(catalogue)?;
    }
    let loads_by_peak = plan.loads.iter().any(|load| load.rate_share.is_some());
    let before = if loads_by_peak { PEAK } else { Nanos(0) };
    let asked = Comparison::new(plan.clone(), catalogue.clone(), facts)?;
    let arms = 1 + u32::from(args.against.is_some()) + u32::from(args.aa);
    let scale = asked.scale_to(Nanos(within.0.saturating_sub(before.0)), arms);
    if let TimeScale::Scaled { scale } | TimeScale::TooMuch { scale, .. } = scale {
        filled.flags.time_scale = Some(scale.to_string());
        plan = filled.plan(catalogue)?;
    }
    let takes_ns = match scale {
        TimeScale::TooMuch { takes, .. } => Some(Some(takes.plus(before).0)),
        TimeScale::Fits | TimeScale::Scaled { .. } => asked.length_is_guessed().then_some(None),
    };
    let asked_for = if args.quick { MINUTE.0 } else { within.0 };
    let not_kept =
        takes_ns.map(|takes_ns| Notice::WithinNotKept { within_ns: asked_for, takes_ns });
    let quick = args.quick.then_some(Notice::FirstImpression {});
    plan.notices.splice(0..0, quick.into_iter().chain(not_kept));
    Ok(plan)
}

/// The arguments with all that was chosen for the user.
struct FilledArguments {
    path: Option<PathBuf>,
    flags: Overrides,
    gaps: MissingParts,
    notices: Vec<Notice>,
    /// What was chosen, as flags.
    chosen: Vec<String>,
}

impl FilledArguments {
    fn of(args: &CompareArgs, catalogue: &Catalogue) -> Result<FilledArguments, Failure> {
        let mut flags = overrides(args);
        let mut notices = Vec::new();
        let mut chosen = Vec::new();
        // A compose project brings its app.
        let names_app = flags.app.is_some() || !flags.compose.files.is_empty();
        let path = match &args.plan {
            None if !names_app && Path::new(PLAN).is_file() => {
                chosen.push(PLAN.to_owned());
                Some(PathBuf::from(PLAN))
            }
            path => path.clone(),
        };
        let gaps = stampede_plan::missing_parts(path.as_deref(), &flags)?;
        if gaps.app {
            let app = default_app();
            chosen.push(format!("--app {app}"));
            flags.app = Some(app.to_owned());
        }
        if args.quick {
            flags.rounds = Some("1".to_owned());
        } else if args.against.is_some() && path.is_none() && gaps.rounds {
            flags.rounds = Some(AGAINST_ROUNDS.to_owned());
            chosen.push(format!("--rounds {AGAINST_ROUNDS}"));
        }
        if gaps.runtimes {
            for notice in suggested(path.as_deref(), &mut flags, catalogue)? {
                match notice {
                    Notice::Chosen { flags } => chosen.extend(flags),
                    other => notices.push(other),
                }
            }
        }
        if path.is_none() {
            chosen.extend(fill_length(&mut flags, gaps));
        }
        if gaps.load {
            let apps = stampede_plan::apps_of(path.as_deref(), &flags)?.choices.len();
            flags.default_loads = Some(WithSteady(apps == 1));
        }
        Ok(FilledArguments { path, flags, gaps, notices, chosen })
    }

    fn plan(&self, catalogue: &Catalogue) -> Result<Plan, Failure> {
        let read = match &self.path {
            Some(path) => stampede_plan::read(path, &self.flags),
            None => stampede_plan::from_flags(&self.flags),
        };
        let plan = read.map_err(|error| refusal::relocate_error(error, catalogue))?;
        let mut chosen = self.chosen.clone();
        if self.gaps.load {
            chosen.extend(plan.loads.iter().map(|load| format!("load {}", load_words(load))));
        }
        let mut notices = self.notices.clone();
        if !chosen.is_empty() {
            notices.insert(0, Notice::Chosen { flags: chosen });
        }
        Ok(Plan { notices, ..plan })
    }
}

/// The time in which the comparison is to end; `None`: it takes as long as it takes.
fn within(args: &CompareArgs) -> Result<Option<Nanos>, Failure> {
    match &args.within {
        Some(text) => match parse_length(text) {
            Ok(length) => Ok(Some(length)),
            Err(_) => Err(WithinError::NotALength { text: words::cut(text, SHOWN) }.into()),
        },
        None => Ok(args.quick.then_some(QUICK)),
    }
}

/// Why a comparison cannot be made to end in time.
#[derive(Debug, thiserror::Error)]
enum WithinError {
    /// The value is no length.
    #[error("`--within {text}` is no duration")]
    NotALength {
        /// The value.
        text: String,
    },
    /// The runtimes are tuned first, which takes its own time.
    #[error("`--within` and `--quick` cannot limit the tuning of `fairness: each-at-its-best`")]
    Tuned,
}

impl CommandError for WithinError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            WithinError::NotALength { .. } => "write it with a unit, such as `--within 10m`".into(),
            WithinError::Tuned => "use `--fairness equal-workers`".into(),
        })
    }
}

/// Describes a load, such as `steady: 50 % of the baseline's peak`.
fn load_words(load: &LoadChoice) -> String {
    format!("{}: {}", load.name, cases::load_words(load))
}

/// Returns this directory if it may hold an app: if it is not clear which, the error says what to
/// choose. Else the catalogue's smallest app.
fn default_app() -> &'static str {
    if may_be_app(Path::new(".")) { "." } else { "hello" }
}

/// Number of rounds, which is also the fewest that `rounds: auto` checks. Three rounds show a
/// difference only if it is large.
const AGAINST_ROUNDS: &str = "5";
/// The time of `--quick`: a minute, less what starts of slow apps take beyond the estimate.
const QUICK: Nanos = Nanos::from_secs(50);
/// What `--quick` says about itself.
const MINUTE: Nanos = Nanos::from_secs(60);
/// The time for the peak, from which rates are chosen: its load, a warm-up and a start.
const PEAK: Nanos = Nanos::from_secs(8);
/// Most characters of a wrong value that are shown.
const SHOWN: usize = 40;

/// Fills in the runtimes that can serve the apps here. Returns notices about the choice.
fn suggested(
    path: Option<&Path>,
    flags: &mut Overrides,
    catalogue: &Catalogue,
) -> Result<Vec<Notice>, Failure> {
    let apps = refusal::apps(&stampede_plan::apps_of(path, flags)?, catalogue)?;
    let are_images = stampede_plan::has_images(path, flags)?;
    let suggestion = suggest(catalogue, &apps, are_images)?;
    Ok(fill(flags, &suggestion))
}
