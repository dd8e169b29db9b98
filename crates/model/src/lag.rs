//! Marks the figures of response time that the generator's own delay makes noticeably longer.
//!
//! Schedule lag is how late the generator started a request for which a connection was free. The
//! server is not to blame for it, and neither for a percentile that consists of it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{CutOff, Ranked};

use crate::counts::TimeSet;
use crate::record::Validity;
use crate::stat::Stat;
use crate::words;

/// A figure of which the generator's own delay makes, or may make, more than 5 % and more than
/// 20 µs: of response time in the open model, of service time in the closed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LagMark {
    /// The figure: `mean`, a percentile such as `p99.9`, or `max`.
    pub figure: Stat,
    /// Its value, in nanoseconds.
    pub time_ns: u64,
    /// Its value without the generator's own delay, in nanoseconds.
    pub without_lag_ns: u64,
    /// Whether part of the difference is only possible: how long answers may have been there before
    /// they were seen, where nothing stamps what arrives (Unix sockets).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may: bool,
}

impl LagMark {
    /// Compares a figure with its value without lag. `None`: the difference is too small for a
    /// mark.
    pub fn of(figure: Stat, time_ns: f64, without_lag_ns: f64) -> Option<LagMark> {
        let lag = time_ns - without_lag_ns;
        (lag > LAG_NS && lag > time_ns * LAG_SHARE).then(|| LagMark {
            figure,
            time_ns: time_ns.round() as u64,
            without_lag_ns: without_lag_ns.round() as u64,
            may: false,
        })
    }

    /// Compares a figure with its lower bound, where nothing stamps what arrives. `None`: the
    /// difference is too small for a mark.
    pub fn possible(figure: Stat, time_ns: f64, lower_bound_ns: f64) -> Option<LagMark> {
        let mark = LagMark::of(figure, time_ns, lower_bound_ns)?;
        Some(LagMark { may: true, ..mark })
    }

    /// The marked figures over all planned requests, in the order of tables. A delay that is certain
    /// goes before one that is only possible. Empty for times of an earlier version, which has them
    /// neither without lag nor with a lower bound.
    pub fn all(times: &TimeSet, failed: u64, cut_off: CutOff) -> Vec<LagMark> {
        let of = |stat: Stat, answered| stat.of(Ranked { answered, failed }, cut_off);
        let response_time = &times.response_time;
        let shown = if response_time.is_empty() { &times.service_time } else { response_time };
        let lag = |stat| {
            let without = known(&times.response_time_without_lag, response_time)?;
            LagMark::of(stat, of(stat, response_time)?, of(stat, without)?)
        };
        let bound = |stat| {
            let lower_bound = known(&times.lower_bound, shown)?;
            LagMark::possible(stat, of(stat, shown)?, of(stat, lower_bound)?)
        };
        Stat::ALL.into_iter().filter_map(|stat| lag(stat).or_else(|| bound(stat))).collect()
    }

    /// How a trial with this mark is judged. A delay that is only possible does not weigh, and a
    /// maximum, which is one request, does not either. Of the percentiles up to p99 those weigh that
    /// tables and comparisons are about.
    pub fn judged(&self) -> Validity {
        match self.figure {
            _ if self.may => Validity::Valid,
            Stat::Mean | Stat::Percentile(500 | 900 | 950 | 990) => Validity::Invalid,
            Stat::Percentile(tenths) if tenths > 990 => Validity::Suspect,
            Stat::Percentile(_) | Stat::Max => Validity::Valid,
        }
    }

    /// The mark with the largest share of lag in words, with the names of the others. `None`: no
    /// figure is marked.
    pub fn sentence(marks: &[LagMark]) -> Option<String> {
        let share = |mark: &LagMark| mark.lag_ns() as f64 / mark.time_ns as f64;
        let worst = marks.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
        let others = marks.iter().filter(|mark| *mark != worst);
        let others: Vec<String> = others.map(|mark| mark.figure.to_string()).collect();
        Some(match others.as_slice() {
            [] => worst.to_string(),
            others => format!("{worst} (more than 5 % of {} too)", words::list(others)),
        })
    }

    /// The generator's own delay in ns.
    pub fn lag_ns(&self) -> u64 {
        self.time_ns.saturating_sub(self.without_lag_ns)
    }
}

impl fmt::Display for LagMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, lag] = [self.time_ns, self.lag_ns()].map(|ns| words::time(ns as f64));
        let figure = self.figure;
        match self.may {
            false => write!(f, "{figure} {all}, of which {lag} is the generator's own delay"),
            true => write!(
                f,
                "{figure} {all}, of which up to {lag} may be the generator's own delay: a Unix \
                 socket does not say when an answer arrived"
            ),
        }
    }
}

/// The times without delay, if they were recorded for each of those with it.
fn known<'a>(without: &'a Times, with: &Times) -> Option<&'a Times> {
    (!with.is_empty() && without.len() == with.len()).then_some(without)
}

/// A share below this does not change what a reader concludes: trials differ by as much.
const LAG_SHARE: f64 = 0.05;
/// A shorter delay is what a wake-up costs. It is of no account to people, whatever its share.
const LAG_NS: f64 = 20_000.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_marked_if_lag_is_more_than_5_percent_and_20_us_of_it() {
        let p99 = Stat::Percentile(990);
        let is_marked = |with, without| LagMark::of(p99, with, without).is_some();
        assert!(!is_marked(30_000.0, 10_000.0), "20 µs");
        assert!(is_marked(30_100.0, 10_000.0));
        assert!(!is_marked(1_000_000.0, 950_000.0), "5 %");
        assert!(is_marked(1_000_000.0, 949_000.0));
        let mark = LagMark::of(p99, 310_000.0, 30_000.0).expect("marked");
        assert_eq!(mark.to_string(), "p99 310 µs, of which 280 µs is the generator's own delay");
    }

    #[test]
    fn times_without_the_other_kind_have_no_marks() {
        let mut times = TimeSet::empty();
        let none = CutOff { requests: 0, after_ns: 0 };
        times.response_time.record_many(1_000_000, 100);
        assert_eq!(LagMark::all(&times, 0, none), []);
        times.response_time_without_lag.record_many(100_000, 100);
        let marked: Vec<Stat> =
            LagMark::all(&times, 0, none).iter().map(|mark| mark.figure).collect();
        // Ten requests lie beyond p90, and five beyond p95.
        assert_eq!(marked, [&Stat::ALL[..6], &[Stat::Max]].concat());
        // A percentile of failed requests is not a time.
        let failed: Vec<Stat> =
            LagMark::all(&times, 100, none).iter().map(|mark| mark.figure).collect();
        assert_eq!(failed, [Stat::Mean, Stat::Percentile(500)]);
    }
    #[test]
    fn a_delay_that_is_only_possible_is_marked_and_weighs_nothing() {
        let mut times = TimeSet::empty();
        let none = CutOff { requests: 0, after_ns: 0 };
        times.service_time.record_many(1_000_000, 100);
        assert_eq!(LagMark::all(&times, 0, none), [], "the kernel stamps what arrives");
        times.lower_bound.record_many(900_000, 100);
        let marks = LagMark::all(&times, 0, none);
        assert!(marks.iter().all(|mark| mark.may && mark.judged() == Validity::Valid), "{marks:?}");
        assert_eq!(marks[0].figure, Stat::Mean);
        // A start that is certainly late weighs, whatever may come to it.
        times.response_time.record_many(1_000_000, 100);
        times.response_time_without_lag.record_many(800_000, 100);
        let marks = LagMark::all(&times, 0, none);
        assert!(!marks[0].may && marks[0].judged() == Validity::Invalid, "{marks:?}");
    }
}
