//! When requests are due. A schedule has Yandex Tank's syntax; one cumulative count over all
//! segments is inverted for each request.

mod due;
mod error;
mod parse;
mod rate;

use std::fmt;
use std::str::FromStr;

pub use due::DueTimes;
pub use error::{Problem, ScheduleError};
pub use rate::{MicroRate, RateError, parse_rate};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::load::Arrivals;
use crate::part::Part;
use crate::quantity::{LONGEST, LengthText};
use crate::time::Nanos;

/// Yields the due times of requests. It reads no clock, so a schedule can be tested as a list.
pub trait Schedule: Send {
    /// Due time of the next request; `None` after the last one. Never decreases.
    fn next_due(&mut self) -> Option<Nanos>;

    /// How many of the requests still to come are due up to and including `until`. The time it
    /// takes must be bounded, whatever their number: it is called when a load of a day is stopped.
    fn due_by(&self, until: Nanos) -> u64;
}

/// Segments of target rate: `line(1,100,60s) const(100,540s)`.
///
/// At least one segment; from [`Segments::parse`] also at least one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<Segment>", into = "Vec<Segment>")]
pub struct Segments {
    segments: Vec<Segment>,
}

/// One segment, as written. As data it is `{"kind": "const", "rate_per_second": 100, "length_ns":
/// …}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Segment {
    /// `const(rate,length)`.
    Const {
        /// Target rate.
        #[serde(rename = "rate_per_second")]
        rate: MicroRate,
        /// Length of the segment.
        #[serde(rename = "length_ns")]
        length: Nanos,
    },
    /// `line(from,to,length)`: the rate changes evenly, up or down.
    Line {
        /// Rate at the start.
        #[serde(rename = "from_per_second")]
        from: MicroRate,
        /// Rate at the end.
        #[serde(rename = "to_per_second")]
        to: MicroRate,
        /// Length of the segment.
        #[serde(rename = "length_ns")]
        length: Nanos,
    },
    /// `step(from,to,by,length)`: levels that are `by` apart, each for `length`. The levels may
    /// descend. As in Yandex Tank, `to` is an additional level where the steps do not reach it
    /// exactly.
    Step {
        /// First level.
        #[serde(rename = "from_per_second")]
        from: MicroRate,
        /// Last level.
        #[serde(rename = "to_per_second")]
        to: MicroRate,
        /// Distance between levels, more than 0.
        #[serde(rename = "by_per_second")]
        by: MicroRate,
        /// Length of each level.
        #[serde(rename = "length_ns")]
        length: Nanos,
    },
}

impl Segments {
    /// Most levels and segments of one schedule. They are kept in memory, and a plan with more is a
    /// mistake.
    pub const PIECES_MAX: usize = 10_000;

    /// Parses Yandex Tank's syntax; whitespace and commas between segments are optional.
    ///
    /// # Errors
    /// Says where the mistake is, what was expected and the nearest known name; see
    /// [`ScheduleError`].
    pub fn parse(text: &str) -> Result<Segments, ScheduleError> {
        parse::segments(text).map(|segments| Segments { segments })
    }

    /// A schedule of segments that were not given as text. Refuses what [`Segments::parse`]
    /// refuses.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(segments: Vec<Segment>) -> Result<Segments, Problem> {
        let (mut pieces, mut length) = (0, Nanos(0));
        for segment in &segments {
            parse::valid(segment)?;
            pieces += parse::piece_count(*segment, pieces).ok_or(Problem::TooManyPieces)?;
            length = length.plus(segment.length());
        }
        match () {
            () if segments.is_empty() => Err(Problem::Empty),
            () if length > LONGEST => Err(Problem::TooLong),
            () if due::planned(&segments) == 0 => Err(Problem::NoRequest),
            () => Ok(Segments { segments }),
        }
    }

    /// `const(rate,length)`.
    pub fn constant(rate: MicroRate, length: Nanos) -> Segments {
        Segments { segments: vec![Segment::Const { rate, length }] }
    }

    /// The segments as written.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Length of the whole schedule.
    pub fn length(&self) -> Nanos {
        self.segments.iter().fold(Nanos(0), |sum, segment| sum.plus(segment.length()))
    }

    /// Number of requests, rounded down once over the whole schedule. Poisson arrivals have this
    /// many on average.
    pub fn planned(&self) -> u64 {
        due::planned(&self.segments)
    }

    /// Target rate at `at`, per second. Where two segments meet it is the later one's; zero after
    /// the end.
    pub fn rate_at(&self, at: Nanos) -> f64 {
        due::rate_at(&self.segments, at)
    }

    /// Highest target rate, per second.
    pub fn max_rate(&self) -> f64 {
        let highest = self.segments.iter().map(|segment| match *segment {
            Segment::Const { rate, .. } => rate,
            Segment::Line { from, to, .. } | Segment::Step { from, to, .. } => from.max(to),
        });
        highest.max().unwrap_or_default().per_second()
    }

    /// The same rates with each segment `factor` times as long (1 ns to 7 days each), to try a long
    /// plan quickly. `factor` is above 0.
    pub fn scaled(&self, factor: f64) -> Segments {
        let scale = |length: Nanos| {
            // `as` saturates, and turns NaN into 0.
            Nanos(((length.0 as f64 * factor).round() as u64).clamp(1, LONGEST.0))
        };
        let segments = self.segments.iter().map(|&segment| match segment {
            Segment::Const { rate, length } => Segment::Const { rate, length: scale(length) },
            Segment::Line { from, to, length } => Segment::Line { from, to, length: scale(length) },
            Segment::Step { from, to, by, length } => {
                Segment::Step { from, to, by, length: scale(length) }
            }
        });
        Segments { segments: segments.collect() }
    }

    /// The due times of this schedule, one by one.
    pub fn due_times(&self, arrivals: Arrivals) -> DueTimes {
        self.due_times_of(arrivals, Part::WHOLE)
    }

    /// The due times of one part of this schedule. Uniform arrivals are dealt in turn. Of Poisson
    /// arrivals each part draws its own, at its share of the rate: the sum of such processes is a
    /// Poisson process with the whole rate, whatever the parts' clocks say.
    pub fn due_times_of(&self, arrivals: Arrivals, part: Part) -> DueTimes {
        DueTimes::new(&self.segments, arrivals, part)
    }
}

impl Segment {
    /// Length of the segment, all levels together.
    pub fn length(&self) -> Nanos {
        match *self {
            Segment::Const { length, .. } | Segment::Line { length, .. } => length,
            Segment::Step { length, .. } => {
                Nanos(length.0.saturating_mul(self.pieces().count() as u64))
            }
        }
    }

    /// The levels of a step, or the segment itself: rate at the start, rate at the end, length.
    fn pieces(self) -> impl Iterator<Item = (MicroRate, MicroRate, Nanos)> {
        let (from, to, by, length) = match self {
            Segment::Const { rate, length } => (rate, rate, MicroRate(0), length),
            Segment::Line { from, to, length } => (from, to, MicroRate(0), length),
            Segment::Step { from, to, by, length } => (from, to, by, length),
        };
        let whole = (by == MicroRate(0)).then_some((from, to, length));
        let levels = (by != MicroRate(0)).then(|| levels(from, to, by));
        whole.into_iter().chain(levels.into_iter().flatten().map(move |rate| (rate, rate, length)))
    }
}

/// Levels of a step: `from`, then every `by` towards `to`, then `to` itself.
fn levels(from: MicroRate, to: MicroRate, by: MicroRate) -> impl Iterator<Item = MicroRate> {
    let distance = from.0.abs_diff(to.0);
    let level = move |i: u64| match from <= to {
        true => MicroRate(from.0 + i * by.0),
        false => MicroRate(from.0 - i * by.0),
    };
    let last = (!distance.is_multiple_of(by.0)).then_some(to);
    (0..=distance / by.0).map(level).chain(last)
}

impl fmt::Display for Segments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, segment) in self.segments.iter().enumerate() {
            let space = if i == 0 { "" } else { " " };
            write!(f, "{space}{segment}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Segment::Const { rate, length } => write!(f, "const({rate},{})", LengthText(length)),
            Segment::Line { from, to, length } => {
                write!(f, "line({from},{to},{})", LengthText(length))
            }
            Segment::Step { from, to, by, length } => {
                write!(f, "step({from},{to},{by},{})", LengthText(length))
            }
        }
    }
}

impl From<Segments> for Vec<Segment> {
    fn from(segments: Segments) -> Vec<Segment> {
        segments.segments
    }
}

impl TryFrom<Vec<Segment>> for Segments {
    type Error = Problem;

    fn try_from(segments: Vec<Segment>) -> Result<Segments, Problem> {
        Segments::new(segments)
    }
}

impl FromStr for Segments {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Segments, ScheduleError> {
        Segments::parse(text)
    }
}

#[cfg(test)]
mod tests;
