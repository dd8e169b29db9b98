//! Selects the cases of one app and load, and the trial of each that is drawn over time. That trial
//! is the one in the middle by p95, as on the page.

use stampede_model::fact;
use stampede_model::record::Validity;
use stampede_model::words as figures;

use super::frame::Frame;
use super::look::SeriesStyle;
use super::scale::median;
use super::words;
use crate::report::page::Page;
use crate::report::page::model::Series;
use crate::report::text;
use crate::summary::model::{CaseSummary, Figures, Group, LoadModel, TimeFigures, TrialSummary};

/// One app and load.
pub struct Panel<'a> {
    /// All data of the page.
    pub page: &'a Page,
    /// The group: the app and the load.
    pub group: &'a Group,
    /// The group's cases with their indices in the summary, the best first.
    pub cases: Vec<(usize, &'a CaseSummary)>,
    /// The trials that are drawn over time.
    pub shown: Vec<DrawnTrial<'a>>,
    looks: &'a [(String, SeriesStyle)],
}

/// The trial of a case that is drawn over time.
pub struct DrawnTrial<'a> {
    /// The case.
    pub case: &'a CaseSummary,
    /// The trial over time.
    pub series: &'a Series,
    /// Whether the trial counts.
    pub status: TrialStatus<'a>,
    /// The look of its runtime.
    pub look: SeriesStyle,
}

/// Whether a trial that is drawn counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrialStatus<'a> {
    /// It counts.
    Counts,
    /// It does not count.
    Invalid(&'a TrialSummary),
    /// It has not ended.
    Unfinished,
}

impl<'a> Panel<'a> {
    /// The panel of a group.
    pub fn new(page: &'a Page, group: &'a Group, looks: &'a [(String, SeriesStyle)]) -> Panel<'a> {
        let own =
            |(_, case): &(usize, &CaseSummary)| case.app == group.app && case.load == group.load;
        let cases: Vec<_> = page.summary.cases.iter().enumerate().filter(own).collect();
        let mut panel = Panel { page, group, cases, shown: Vec::new(), looks };
        panel.shown =
            panel.cases.iter().filter_map(|(index, case)| panel.pick(*index, case)).collect();
        panel
    }

    fn pick(&self, index: usize, case: &'a CaseSummary) -> Option<DrawnTrial<'a>> {
        let own = self.page.series.iter().filter(|series| series.case == index);
        let all: Vec<(&Series, TrialStatus<'_>)> =
            own.map(|series| (series, status(case, series))).collect();
        // Trials that count come first, then invalid ones, then unfinished ones.
        let kinds: [fn(&TrialStatus<'_>) -> bool; 3] = [
            |status| *status == TrialStatus::Counts,
            |status| matches!(status, TrialStatus::Invalid(_)),
            |status| *status == TrialStatus::Unfinished,
        ];
        let pool: Vec<_> = kinds
            .iter()
            .map(|kind| all.iter().filter(|(_, status)| kind(status)).collect::<Vec<_>>())
            .find(|pool| !pool.is_empty())?;
        let p95 = |series: &Series| {
            let trial = case.trials.iter().find(|trial| trial.number == series.trial);
            let value = trial.and_then(|trial| self.times(&trial.figures).p95.value());
            value.unwrap_or(f64::INFINITY)
        };
        let middle = median(pool.iter().map(|(series, _)| p95(series)).collect())?;
        let (series, status) = pool.iter().find(|(series, _)| p95(series) == middle)?;
        Some(DrawnTrial { case, series, status: *status, look: self.look(&case.runtime) })
    }

    /// The look of a runtime.
    pub fn look(&self, runtime: &str) -> SeriesStyle {
        let found = self.looks.iter().find(|(name, _)| name == runtime);
        found.map_or(SeriesStyle::at(0), |(_, look)| *look)
    }

    /// The times of the group's model.
    pub fn times<'f>(&self, figures: &'f Figures) -> &'f TimeFigures {
        match self.group.model {
            LoadModel::Open => &figures.response_time_ns,
            LoadModel::Closed => &figures.service_time_ns,
        }
    }

    /// The name of these times.
    pub fn time_name(&self) -> &'static str {
        match self.group.model {
            LoadModel::Open => "response time",
            LoadModel::Closed => "service time",
        }
    }

    /// The words around a chart of this group.
    pub fn frame(&self, title: String, notes: Vec<String>) -> Frame {
        let cases: Vec<&CaseSummary> = self.cases.iter().map(|(_, case)| *case).collect();
        let subtitle = text::title(self.group, &cases);
        Frame { title, subtitle, notes, source: source(self.page) }
    }

    /// Notes about what is not normal in the trials that are drawn over time.
    pub fn trial_notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.shown.iter().filter_map(DrawnTrial::note).collect();
        let without = self
            .cases
            .iter()
            .filter(|(_, case)| !self.shown.iter().any(|shown| shown.case.runtime == case.runtime));
        let without: Vec<String> = without.map(|(_, case)| case.runtime.clone()).collect();
        if !without.is_empty() {
            notes.push(format!("No trial with a load: {}.", figures::list(&without)));
        }
        let trials = self.page.series.iter().filter(|series| {
            !series.unfinished && self.cases.iter().any(|(index, _)| *index == series.case)
        });
        if trials.count() > self.shown.len() {
            notes.push("Of each runtime the trial in the middle by p95.".to_owned());
        }
        let step = self.shown.iter().map(|shown| shown.series.step).fold(1.0, f64::max);
        if step > 1.0 {
            let seconds = words::short(step * 2.0);
            notes.push(format!(
                "Each two points are the lowest and the highest of {seconds} seconds."
            ));
        }
        notes
    }
}

impl DrawnTrial<'_> {
    /// The name in the legend.
    pub fn name(&self) -> String {
        let runtime = &self.case.runtime;
        match self.status {
            TrialStatus::Counts => runtime.clone(),
            TrialStatus::Invalid(_) => format!("{runtime} (invalid)"),
            TrialStatus::Unfinished => format!("{runtime} (unfinished)"),
        }
    }

    fn note(&self) -> Option<String> {
        let runtime = &self.case.runtime;
        match self.status {
            TrialStatus::Counts => None,
            TrialStatus::Invalid(trial) => {
                let reasons = words::cut(&fact::joined(&trial.reasons), REASON_LETTERS);
                let number = trial.number;
                Some(format!("{runtime}: trial {number} is invalid, its line is faint: {reasons}."))
            }
            TrialStatus::Unfinished => {
                let number = self.series.trial;
                Some(format!("{runtime}: trial {number} has not ended, its line is faint."))
            }
        }
    }
}

/// The name of the run that a chart is of.
pub fn source(page: &Page) -> String {
    format!("run {} · stampede {}", page.summary.run, page.summary.stampede)
}

fn status<'a>(case: &'a CaseSummary, series: &Series) -> TrialStatus<'a> {
    if series.unfinished {
        return TrialStatus::Unfinished;
    }
    let trial = case.trials.iter().find(|trial| trial.number == series.trial);
    match trial.filter(|trial| trial.verdict == Validity::Invalid) {
        Some(trial) => TrialStatus::Invalid(trial),
        None => TrialStatus::Counts,
    }
}

/// The most letters of a reason: two lines of a note.
const REASON_LETTERS: usize = 240;
