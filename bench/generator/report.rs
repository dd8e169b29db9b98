//! The result of a part: what was measured, and which goals it meets.

use std::fmt;

use crate::table::Table;

/// The text of a part and its goals.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub text: String,
    pub goals: Vec<Goal>,
}

impl Report {
    /// A part without goals.
    pub fn new(text: String) -> Report {
        Report { text, goals: Vec::new() }
    }

    /// Whether no goal is missed. A goal that could not be measured is not missed.
    pub fn is_met(&self) -> bool {
        self.goals.iter().all(|goal| goal.verdict != Verdict::Missed)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        if self.goals.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&["goal", "at", "measured", "met"]);
        for goal in &self.goals {
            let (what, wanted) = (goal.what.clone(), goal.wanted.clone());
            table.row([what, wanted, goal.measured.clone(), goal.verdict.to_string()]);
        }
        write!(f, "\n{}", table.markdown())
    }
}

/// A goal, the figure that was measured, and whether it is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    what: String,
    wanted: String,
    measured: String,
    pub verdict: Verdict,
}

/// Whether a goal is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Met,
    Missed,
    /// The program that it needs is not installed, or failed.
    NotMeasured,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Met => "yes",
            Verdict::Missed => "NO",
            Verdict::NotMeasured => "not measured",
        })
    }
}

/// A figure as it is printed.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Not a number: it was not measured.
    pub value: f64,
    pub decimals: usize,
    /// Begins with its space.
    pub unit: &'static str,
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figure { value, decimals, unit } = *self;
        write!(f, "{value:.decimals$}{unit}")
    }
}

/// A ratio and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2} to {:.2})", self.median, self.low, self.high)
    }
}

impl Goal {
    /// The figure must be at most `limit`.
    pub fn at_most(what: impl Into<String>, limit: f64, figure: Figure) -> Goal {
        let wanted = format!("≤ {}", Figure { value: limit, ..figure });
        Goal::judged(what, wanted, figure.to_string(), figure.value, figure.value <= limit)
    }

    /// The median of the ratio must be at most `limit`.
    pub fn ratio_at_most(what: impl Into<String>, limit: f64, ratio: Option<Ratio>) -> Goal {
        let median = ratio.map_or(f64::NAN, |ratio| ratio.median);
        let measured = ratio.map_or(String::new(), |ratio| ratio.to_string());
        Goal::judged(what, format!("≤ {limit:.2}"), measured, median, median <= limit)
    }

    /// The interval of the ratio must reach `limit`.
    pub fn ratio_reaches(what: impl Into<String>, limit: f64, ratio: Option<Ratio>) -> Goal {
        let high = ratio.map_or(f64::NAN, |ratio| ratio.high);
        let measured = ratio.map_or(String::new(), |ratio| ratio.to_string());
        let wanted = format!("interval not wholly below {limit:.2}");
        Goal::judged(what, wanted, measured, high, high >= limit)
    }

    /// Something must hold in all of the cases.
    pub fn all(what: impl Into<String>, held: usize, cases: usize) -> Goal {
        let counted = if cases == 0 { f64::NAN } else { held as f64 };
        Goal::judged(what, "all".to_owned(), format!("{held} of {cases}"), counted, held == cases)
    }

    /// `figure` tells whether anything was measured.
    fn judged(
        what: impl Into<String>,
        wanted: String,
        measured: String,
        figure: f64,
        is_met: bool,
    ) -> Goal {
        let (measured, verdict) = match (figure.is_nan(), is_met) {
            (true, _) => (String::new(), Verdict::NotMeasured),
            (false, true) => (measured, Verdict::Met),
            (false, false) => (measured, Verdict::Missed),
        };
        Goal { what: what.into(), wanted, measured, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn micros(value: f64) -> Figure {
        Figure { value, decimals: 1, unit: " µs" }
    }

    #[test]
    fn a_goal_is_met_up_to_its_limit() {
        let verdict = |value| Goal::at_most("lag", 30.0, micros(value)).verdict;
        assert_eq!(verdict(30.0), Verdict::Met);
        assert_eq!(verdict(30.1), Verdict::Missed);
        assert_eq!(verdict(f64::NAN), Verdict::NotMeasured);
    }

    #[test]
    fn a_throughput_is_judged_by_its_interval_and_a_cost_by_its_median() {
        let ratio = Some(Ratio { median: 0.96, low: 0.93, high: 0.98 });
        assert_eq!(Goal::ratio_at_most("cpu", 0.95, ratio).verdict, Verdict::Missed);
        assert_eq!(Goal::ratio_at_most("cpu", 0.96, ratio).verdict, Verdict::Met);
        assert_eq!(Goal::ratio_reaches("throughput", 0.97, ratio).verdict, Verdict::Met);
        assert_eq!(Goal::ratio_reaches("throughput", 0.99, ratio).verdict, Verdict::Missed);
        assert_eq!(Goal::ratio_at_most("cpu", 0.95, None).verdict, Verdict::NotMeasured);
        assert_eq!(Goal::ratio_reaches("throughput", 0.97, None).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn one_exception_misses_all() {
        assert_eq!(Goal::all("inside", 9, 9).verdict, Verdict::Met);
        assert_eq!(Goal::all("inside", 8, 9).verdict, Verdict::Missed);
        assert_eq!(Goal::all("inside", 0, 0).verdict, Verdict::NotMeasured);
    }

    #[test]
    fn a_missed_goal_is_printed_and_makes_the_part_fail() {
        let goal = |value| Goal::at_most("p50 lag", 30.0, micros(value));
        let met = Report { text: "text\n".to_owned(), goals: vec![goal(29.0), goal(f64::NAN)] };
        assert!(met.is_met());
        let missed = Report { goals: vec![goal(29.0), goal(31.0)], ..met };
        assert!(!missed.is_met());
        let text = missed.to_string();
        assert!(text.contains("| p50 lag | ≤ 30.0 µs |  31.0 µs |  NO |"), "{text}");
    }
}
