//! The figures by which two cases are compared: where their values are, which direction is better,
//! and how they are worded.

use stampede_model::expectation as asked;
use stampede_model::words;

use super::model::Change;
use crate::summary::input::TrialData;
use crate::summary::model::{Figure, Figures, LoadModel, Stat, TimeFigures, TrialSummary};
use crate::summary::trial;

/// A figure to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measure {
    /// A percentile of response time, or of service time in the closed model.
    Percentile(f64),
    /// The mean of these times.
    Mean,
    /// The longest of these times.
    Max,
    /// Correct answers per second.
    Throughput,
    /// Share of correct answers. It is compared in percentage points: 99 % instead of 100 % means a
    /// broken shop, not a difference of 1 %.
    Ok,
    /// CPU time per correct answer.
    CpuCost,
    /// The highest memory reading.
    Memory,
    /// The time from the start to the first correct answer.
    FirstAnswer,
}

impl From<asked::Figure> for Measure {
    fn from(figure: asked::Figure) -> Measure {
        match figure {
            asked::Figure::Percentile(percent) => Measure::Percentile(percent.value()),
            asked::Figure::Max => Measure::Max,
            asked::Figure::Mean => Measure::Mean,
            asked::Figure::Ok => Measure::Ok,
            asked::Figure::Throughput => Measure::Throughput,
            asked::Figure::CpuCost => Measure::CpuCost,
            asked::Figure::Memory => Measure::Memory,
        }
    }
}

impl Measure {
    /// The figures that every comparison shows, in the order of its table.
    pub const SHOWN: [Measure; 8] = [
        Measure::Percentile(50.0),
        Measure::Percentile(95.0),
        Measure::Percentile(99.0),
        Measure::Throughput,
        Measure::Ok,
        Measure::CpuCost,
        Measure::Memory,
        Measure::FirstAnswer,
    ];

    /// The name in expectations and in JSON.
    pub fn name(self) -> String {
        match self {
            Measure::Percentile(percent) => format!("p{percent}"),
            Measure::Mean => "mean".to_owned(),
            Measure::Max => "max".to_owned(),
            Measure::Throughput => "throughput".to_owned(),
            Measure::Ok => "ok".to_owned(),
            Measure::CpuCost => "cpu_cost".to_owned(),
            Measure::Memory => "memory".to_owned(),
            Measure::FirstAnswer => "first_answer".to_owned(),
        }
    }

    /// The name for people.
    pub fn title(self) -> String {
        match self {
            Measure::CpuCost => "CPU/request".to_owned(),
            Measure::Memory => "memory max".to_owned(),
            Measure::FirstAnswer => "first answer".to_owned(),
            other => other.name(),
        }
    }

    /// The figure as a noun in a sentence about a load.
    pub fn noun(self, model: LoadModel) -> String {
        match (self, model) {
            (Measure::Percentile(_) | Measure::Mean | Measure::Max, LoadModel::Open) => {
                format!("{} of response time", self.title())
            }
            (Measure::Percentile(_) | Measure::Mean | Measure::Max, LoadModel::Closed) => {
                format!("{} of service time", self.title())
            }
            _ => self.title(),
        }
    }

    /// The figure's value in one trial. Percentiles that no summary keeps are computed from `data`.
    pub(super) fn of(
        self,
        trial: &TrialSummary,
        data: Option<&TrialData>,
        model: LoadModel,
    ) -> Figure {
        match self {
            Measure::Percentile(percent) if Stat::percentile(percent).is_none() => {
                data.map_or(Figure::None, |data| trial::any_percentile(data, model, percent))
            }
            stored => stored.in_figures(&trial.figures, model),
        }
    }

    /// The figure's value among the figures of a trial, or of a case over its trials. `None` for a
    /// percentile that no summary keeps.
    pub fn in_figures(self, figures: &Figures, model: LoadModel) -> Figure {
        let times: &TimeFigures = match model {
            LoadModel::Open => &figures.response_time_ns,
            LoadModel::Closed => &figures.service_time_ns,
        };
        match self {
            Measure::Percentile(percent) => {
                Stat::percentile(percent).map_or(Figure::None, |stat| times.get(stat))
            }
            Measure::Mean => times.mean,
            Measure::Max => times.max,
            Measure::Throughput => figures.throughput_per_second,
            Measure::Ok => figures.ok_share,
            Measure::CpuCost => figures.cpu_cost_us,
            Measure::Memory => figures.memory_bytes_max,
            Measure::FirstAnswer => figures.first_answer_ns,
        }
    }

    /// Whether a higher value is better.
    pub fn is_good(self) -> bool {
        matches!(self, Measure::Throughput | Measure::Ok)
    }

    /// A value in words, with its unit.
    pub fn words(self, value: f64) -> String {
        match self {
            Measure::Throughput => format!("{} /s", words::rate(value)),
            Measure::Ok => words::share(value),
            Measure::CpuCost => words::time(value * 1e3),
            Measure::Memory => words::bytes(value),
            _ => words::time(value),
        }
    }

    /// The word for a change of the figure.
    pub fn verdict(self, change: Change) -> &'static str {
        let (worse, better) = match self {
            Measure::Ok => ("fewer", "more"),
            Measure::CpuCost | Measure::Memory => ("more", "less"),
            _ => ("slower", "faster"),
        };
        match change {
            Change::Worse => worse,
            Change::Better => better,
            Change::Equivalent => "about the same",
            Change::Inconclusive => "too close to call",
            Change::TooFewRounds => "first impression",
        }
    }
}
