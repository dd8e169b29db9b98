//! Determines whether the answers to a constant load were stable from its beginning to its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_model::record::{CaseRecord, LoadModel, TrialRecord, Validity};
use stampede_model::schedule::{Segment, Segments};
use stampede_model::words;
use stampede_stats::steady::{SECONDS_MIN, Steadiness, steadiness};

use super::input::TrialData;
use super::model::CaseSummary;

/// Whether a trial was stable over time. This is only a flag: no second is left out because of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "steady", rename_all = "snake_case")]
pub enum Steady {
    /// The median service time stayed within 3 % of its level at the end.
    Steady,
    /// The median service time changed.
    NotSteady {
        /// The levels of the service time, from one change to the next.
        levels: Vec<Level>,
    },
    /// The load lasted less than a minute, or had too few answers.
    TooShort,
}

/// The service time between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// The first second of this level; the trial's first second is 0.
    pub from_second: u32,
    /// The geometric mean of the medians of the seconds.
    pub service_time_ns: f64,
}

impl Steady {
    /// Judges a trial. `None`: its load is not constant, or never started.
    pub fn of(case: &CaseRecord, trial: &TrialData) -> Option<Steady> {
        if !is_constant(case) || trial.record.load.is_none() {
            return None;
        }
        Some(match steadiness(&trial.service) {
            Steadiness::Steady => Steady::Steady,
            Steadiness::TooShort => Steady::TooShort,
            Steadiness::NotSteady(levels) => Steady::NotSteady {
                levels: levels
                    .iter()
                    .map(|level| Level {
                        from_second: level.from as u32,
                        service_time_ns: level.value,
                    })
                    .collect(),
            },
        })
    }
}

/// Whether a trial has a constant load and is long enough.
pub fn is_judged(case: &CaseRecord, trial: &TrialRecord) -> bool {
    let scheduled = trial.load.as_ref().map_or(0, |load| load.scheduled_ns);
    scheduled >= SECONDS_MIN as u64 * 1_000_000_000 && is_constant(case)
}

/// Whether the load is constant: a closed load is, and a schedule with a single rate.
pub(super) fn is_constant(case: &CaseRecord) -> bool {
    if case.model == LoadModel::Closed {
        return true;
    }
    case.schedule.as_ref().is_some_and(has_one_rate)
}

/// Whether a schedule has the same rate from start to end.
pub(super) fn has_one_rate(schedule: &Segments) -> bool {
    let rates: Option<Vec<f64>> = schedule
        .segments()
        .iter()
        .map(|segment| match segment {
            Segment::Const { rate, .. } => Some(rate.per_second()),
            _ => None,
        })
        .collect();
    rates.is_some_and(|rates| rates.windows(2).all(|pair| pair[0] == pair[1]))
}

/// `yes`, `no` or `too short` for the trials that count. `None`: the load is not constant.
pub fn word(case: &CaseSummary) -> Option<&'static str> {
    let all = || {
        let counted = case.trials.iter().filter(|trial| trial.verdict != Validity::Invalid);
        counted.filter_map(|trial| trial.steady.as_ref())
    };
    all().next()?;
    Some(match () {
        () if all().any(|steady| matches!(steady, Steady::NotSteady { .. })) => "no",
        () if all().any(|steady| *steady == Steady::Steady) => "yes",
        () => "too short",
    })
}

/// A sentence on the first trial that was not stable: `not steady: the median service time in trial
/// 3 was 4.10 ms, then 3.70 ms from second 31 on`.
pub fn not_steady(case: &CaseSummary) -> Option<String> {
    let counted = || case.trials.iter().filter(|trial| trial.verdict != Validity::Invalid);
    let judged = counted().filter(|trial| !matches!(trial.steady, None | Some(Steady::TooShort)));
    let judged = judged.count();
    let mut moved = counted().filter_map(|trial| match &trial.steady {
        Some(Steady::NotSteady { levels }) => Some((trial.number, levels)),
        _ => None,
    });
    let (number, levels) = moved.next()?;
    let count = 1 + moved.count();
    let levels: Vec<String> = levels
        .iter()
        .enumerate()
        .map(|(place, level)| match place {
            0 => words::time(level.service_time_ns),
            _ => format!(
                "then {} from second {} on",
                words::time(level.service_time_ns),
                level.from_second
            ),
        })
        .collect();
    let shown = levels.len().min(MOST_LEVELS);
    let more = match levels.len() - shown {
        0 => String::new(),
        more => format!(" and {more} more changes"),
    };
    let how_many = match (count, judged) {
        (1, 1) => String::new(),
        _ => format!(" in {count} of {judged} trials"),
    };
    Some(format!(
        "not stable over time{how_many}: the median service time in trial {number} was {}{more}; a longer `warm_up` \
         may help",
        levels[..shown].join(", ")
    ))
}

/// Most levels in one note. `summary.json` has all of them.
const MOST_LEVELS: usize = 4;
