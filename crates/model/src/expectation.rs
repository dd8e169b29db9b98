//! Expectations: conditions that a figure has to meet. An expectation is written as `p95 < 100ms`.
//! All code that judges by it uses the parsed figure, relation and limit.

mod parse;

use std::borrow::Cow;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use parse::{ExpectationError, Unit};

/// One expectation: `p95 < 100ms`, `ok >= 99.9%`, `p95 worse < 5%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The text as written, for people.
    pub text: String,
    /// The parsed condition.
    #[serde(flatten)]
    pub bound: Bound,
}

/// The condition of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound {
    /// The figure that the condition is about.
    #[schemars(with = "String")]
    pub figure: Figure,
    /// Whether the condition is about the change against another run (`worse`).
    pub worse: bool,
    /// How the figure must relate to the limit.
    pub relation: Relation,
    /// Times in ns, shares as 0 … 1, rates per second, memory in bytes.
    pub limit: f64,
}

impl Bound {
    /// Whether `value` meets the condition.
    pub fn holds(&self, value: f64) -> bool {
        self.relation.holds(value, self.limit)
    }
}

/// The figures that an expectation can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Figure {
    /// A percentile of the response time, or of the service time in the closed model.
    Percentile(Percent),
    /// The longest of these times.
    Max,
    /// The mean of these times.
    Mean,
    /// Share of correct answers.
    Ok,
    /// Correct answers per second.
    Throughput,
    /// CPU time per correct answer.
    CpuCost,
    /// The highest memory reading.
    Memory,
}

impl Figure {
    /// All figures except the percentiles.
    pub const NAMED: [Figure; 6] = [
        Figure::Max,
        Figure::Mean,
        Figure::Ok,
        Figure::Throughput,
        Figure::CpuCost,
        Figure::Memory,
    ];

    /// The figure's name in a plan.
    fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Figure::Percentile(percent) => return Cow::Owned(format!("p{percent}")),
            Figure::Max => "max",
            Figure::Mean => "mean",
            Figure::Ok => "ok",
            Figure::Throughput => "throughput",
            Figure::CpuCost => "cpu_cost",
            Figure::Memory => "memory",
        })
    }

    /// The figure of that name in a plan. `None`: there is no such figure.
    pub fn named(name: &str) -> Option<Figure> {
        let known = Figure::NAMED.into_iter().find(|figure| figure.name() == name);
        known.or_else(|| Some(Figure::Percentile(Percent::parse(name.strip_prefix('p')?)?)))
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

impl From<Figure> for String {
    fn from(figure: Figure) -> String {
        figure.to_string()
    }
}

impl TryFrom<String> for Figure {
    type Error = NoFigure;

    fn try_from(name: String) -> Result<Figure, NoFigure> {
        Figure::named(&name).ok_or(NoFigure { name })
    }
}

/// The error for a name that is not a figure's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no figure `{name}`")]
pub struct NoFigure {
    name: String,
}

/// A percentile rank above 0 and below 100, in thousandths of a per cent: exactly as precise as a
/// plan can write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

impl Percent {
    /// Parses `95`, `99.9` or `99.999`.
    pub(crate) fn parse(text: &str) -> Option<Percent> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if decimals.len() > 3 || !digits(whole) || !digits(decimals) {
            return None;
        }
        let whole: u32 = format!("0{whole}").parse().ok()?;
        let decimals: u32 = format!("{decimals:0<3}").parse().ok()?;
        let thousandths = whole.checked_mul(THOUSAND)?.checked_add(decimals)?;
        (thousandths > 0 && thousandths < 100 * THOUSAND).then_some(Percent(thousandths))
    }

    /// The rank in per cent, between 0 and 100.
    pub fn value(self) -> f64 {
        f64::from(self.0) / f64::from(THOUSAND)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

const THOUSAND: u32 = 1_000;

/// How a figure must relate to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Relation {
    /// Less than the limit.
    #[serde(rename = "<")]
    Below,
    /// Less than or equal to the limit.
    #[serde(rename = "<=")]
    AtMost,
    /// More than the limit.
    #[serde(rename = ">")]
    Above,
    /// More than or equal to the limit.
    #[serde(rename = ">=")]
    AtLeast,
}

/// The side of its limit on which a figure should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below the limit: lower is better.
    Low,
    /// Above the limit: higher is better.
    High,
}

impl Relation {
    /// All relations. Signs of two characters come before those of one: `<=` begins with `<`.
    pub const ALL: [Relation; 4] =
        [Relation::AtMost, Relation::AtLeast, Relation::Below, Relation::Above];

    /// The relation's sign in a plan.
    pub const fn sign(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
        }
    }

    /// The side of the limit on which the figure should be.
    pub const fn side(self) -> Side {
        match self {
            Relation::Below | Relation::AtMost => Side::Low,
            Relation::Above | Relation::AtLeast => Side::High,
        }
    }

    /// Whether `value` is in this relation to `limit`.
    pub fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Relation::Below => value < limit,
            Relation::AtMost => value <= limit,
            Relation::Above => value > limit,
            Relation::AtLeast => value >= limit,
        }
    }
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.sign())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_figure_survives_a_round_trip() {
        for name in ["p50", "p97", "p99.9", "p99.999", "p0.001", "max", "cpu_cost"] {
            let figure = Figure::named(name).expect(name);
            assert_eq!(figure.to_string(), name);
            let json = serde_json::to_string(&figure).unwrap();
            assert_eq!(json, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Figure>(&json).unwrap(), figure);
        }
        assert_eq!(Figure::named("p95.0"), Figure::named("p95"));
        let Some(Figure::Percentile(percent)) = Figure::named("p99.9") else { panic!("p99.9") };
        assert_eq!(percent.value(), 99.9);
        for name in ["", "p", "p0", "p100", "p99.9999", "p9x", "p-1", "p.", "first_answer", "P95"] {
            assert_eq!(Figure::named(name), None, "{name}");
        }
    }

    #[test]
    fn a_relation_holds_on_its_side_of_the_limit() {
        let held = Relation::ALL.map(|one| [0.5, 1.0, 1.5].map(|value| one.holds(value, 1.0)));
        let low = [true, false, false];
        let high = [false, false, true];
        assert_eq!(held, [[true, true, false], [false, true, true], low, high]);
        for one in Relation::ALL {
            assert_eq!(one.holds(0.5, 1.0), one.side() == Side::Low);
            assert_eq!(serde_json::to_string(&one).unwrap(), format!("\"{one}\""));
        }
    }
}
