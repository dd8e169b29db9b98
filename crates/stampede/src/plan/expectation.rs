//! An expectation: what has to hold of a figure. As written it is `p95 < 100ms`; all that decides
//! by it reads the figure, the relation and the limit.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// `p95 < 100ms`, `ok >= 99.9%`, `p95 worse < 5%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// As written: for people.
    pub text: String,
    /// What it says.
    #[serde(flatten)]
    pub bound: Bound,
}

/// What an expectation says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// What of.
    pub figure: Figure,
    /// Whether it is about the change against another run (`worse`).
    pub worse: bool,
    /// How the figure has to stand to the limit.
    pub relation: Relation,
    /// Times in ns, shares as 0 … 1, rates per second, memory in bytes.
    pub limit: f64,
}

impl Bound {
    /// Whether a value keeps it.
    pub fn holds(&self, value: f64) -> bool {
        self.relation.holds(value, self.limit)
    }
}

/// What can be expected of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Figure {
    /// Response time, or service time in the closed model.
    Percentile(Percent),
    /// The longest of all times.
    Max,
    /// Their mean.
    Mean,
    /// Share of correct answers.
    Ok,
    /// Correct answers a second.
    Throughput,
    /// CPU time per correct answer.
    CpuCost,
    /// The highest reading.
    Memory,
}

impl Figure {
    /// All but the percentiles.
    pub const NAMED: [Figure; 6] = [
        Figure::Max,
        Figure::Mean,
        Figure::Ok,
        Figure::Throughput,
        Figure::CpuCost,
        Figure::Memory,
    ];

    /// Its name in a plan.
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

    /// By its name in a plan; `None`: there is no such figure.
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

/// A figure by a name that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no figure `{name}`")]
pub struct NoFigure {
    name: String,
}

/// A rank above 0 and below 100, in thousandths of a per cent: what a plan can write, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u32);

impl Percent {
    /// `95`, `99.9`, `99.999`.
    pub(super) fn parse(text: &str) -> Option<Percent> {
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

    /// 0 … 100.
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

/// How a figure has to stand to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Relation {
    /// Less.
    #[serde(rename = "<")]
    Below,
    /// Less, or equal.
    #[serde(rename = "<=")]
    AtMost,
    /// More.
    #[serde(rename = ">")]
    Above,
    /// More, or equal.
    #[serde(rename = ">=")]
    AtLeast,
}

/// On which side of its limit a figure is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Below it: the less the better.
    Low,
    /// Above it.
    High,
}

impl Relation {
    /// Two characters before their first: `<=` begins with `<`.
    pub const ALL: [Relation; 4] =
        [Relation::AtMost, Relation::AtLeast, Relation::Below, Relation::Above];

    /// As in a plan.
    pub const fn sign(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
        }
    }

    /// Where the figure is wanted.
    pub const fn side(self) -> Side {
        match self {
            Relation::Below | Relation::AtMost => Side::Low,
            Relation::Above | Relation::AtLeast => Side::High,
        }
    }

    /// Whether `value` stands so to `limit`.
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
    fn a_figure_is_named_as_it_is_read() {
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
