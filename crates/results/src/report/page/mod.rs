//! Writes `report.html`: one file that works offline. The page is built in `report-ui/`; this
//! module adds its data.
//!
//! ```text
//! stored run ─▶ Page (series, curves, evidence) ─▶ JSON ─▶ the built page's data script
//! ```
//! The data is inert: JSON in a script element with a type that no browser runs. Every character
//! that could end the element is escaped. The page itself never interprets data as markup.

mod curve;
mod evidence;
pub mod model;
pub mod run;
mod series;
mod thin;
pub mod versions;

use std::collections::BTreeMap;

use serde::Serialize;
use stampede_model::record::{RunRecord, TrialRecord};

use crate::store::{StoreError, StoredRun};
use crate::summary::model::CaseSummary;
use crate::summary::overlay::Overlay;
use crate::summary::{RunData, Summary, input, overlay};
use model::{
    CaseEvidence, Curve, Download, Evidence, LiveUpdate, OverlaidRuntime, Run, RuntimeEvidence,
    Series, TrialEvidence,
};

pub use model::Page;

/// The built page: see `report-ui/README.md`.
const BUILT: &str = include_str!("../../../../../report-ui/dist/index.html");
/// The placeholder that the data replaces.
const PLACEHOLDER: &str = "__STAMPEDE_DATA__";

/// All data that the page shows.
///
/// # Errors
/// A trial's seconds cannot be read.
pub fn page(stored: &StoredRun, data: &RunData, summary: &Summary) -> Result<Page, StoreError> {
    let series = series::of_run(stored, data, summary)?;
    Ok(Page {
        format: model::FORMAT,
        stampede: env!("CARGO_PKG_VERSION").to_owned(),
        runs: vec![run::of(stored)],
        names: BTreeMap::new(),
        summary: for_the_page(stored, summary),
        headlines: super::headlines(summary),
        progress: run::progress(stored, series.last()),
        series,
        curves: curve::of_run(data, summary),
        evidence: evidence::of_run(stored, data, summary),
        versions: versions::of_run(data, summary),
        served: None,
        downloads: vec![csv_of(summary)],
    })
}

/// Combines the pages of overlaid runs.
pub fn combine(pages: Vec<Page>, laid: Overlay) -> Page {
    let mut whole = Page {
        format: model::FORMAT,
        stampede: env!("CARGO_PKG_VERSION").to_owned(),
        runs: Vec::new(),
        names: laid
            .names
            .into_iter()
            .map(|(name, (runtime, run))| (name, OverlaidRuntime { runtime, run }))
            .collect(),
        summary: laid.summary,
        headlines: Vec::new(),
        series: Vec::new(),
        curves: Vec::new(),
        evidence: Evidence::default(),
        downloads: vec![],
        versions: None,
        progress: None,
        served: None,
    };
    for (run, (page, cases)) in pages.into_iter().zip(&laid.cases).enumerate() {
        move_into(&mut whole, page, run, cases);
    }
    whole.downloads.push(csv_of(&whole.summary));
    whole
}

/// Moves the content of one run's page into the combined page. `cases` are the indices of its cases
/// there.
fn move_into(whole: &mut Page, page: Page, run: usize, cases: &[usize]) {
    let label = overlay::label(run);
    let lettered = |name: &String| format!("{name} ({label})");
    whole.runs.extend(page.runs.into_iter().map(|one| Run {
        label: label.clone(),
        runtimes: one.runtimes.iter().map(lettered).collect(),
        ..one
    }));
    whole.series.extend(page.series.into_iter().map(|one| Series { case: cases[one.case], ..one }));
    whole.curves.extend(page.curves.into_iter().map(|one| Curve { case: cases[one.case], ..one }));
    let Evidence { runtimes, cases: measured, trials } = page.evidence;
    whole.evidence.runtimes.extend(runtimes.into_iter().map(|one| RuntimeEvidence {
        run,
        name: lettered(&one.name),
        ..one
    }));
    let there = |one: CaseEvidence| CaseEvidence { case: cases[one.case], ..one };
    whole.evidence.cases.extend(measured.into_iter().map(there));
    whole.evidence.trials.extend(trials.into_iter().map(|one| {
        let there = usize::try_from(one.case).ok().and_then(|case| cases.get(case));
        TrialEvidence { run, case: there.map_or(-1, |case| *case as i64), ..one }
    }));
}

fn csv_of(summary: &Summary) -> Download {
    Download {
        name: format!("{}.csv", summary.run),
        r#type: "text/csv".to_owned(),
        text: super::csv(summary),
    }
}

/// The index of a trial's case in the summary, whether or not the trial counts.
fn case_of(summary: &Summary, run: &RunRecord, trial: &TrialRecord) -> Option<usize> {
    let case = run.cases.get(trial.case)?;
    let is_it = |one: &CaseSummary| {
        one.runtime == case.runtime && one.app == case.app && one.load == case.load
    };
    summary.cases.iter().position(is_it)
}

/// The data that changes each second while a run is in progress.
///
/// # Errors
/// The seconds of the current trial cannot be read.
pub fn now(stored: &StoredRun, summary: &Summary) -> Result<LiveUpdate, StoreError> {
    let series = series::of_begun(stored, summary)?.pop();
    Ok(LiveUpdate { progress: run::progress(stored, series.as_ref()), series })
}

/// The page with all its data, as one file.
pub fn html(data: &impl Serialize) -> String {
    BUILT.replacen(PLACEHOLDER, &inert(data), 1)
}

/// The page as `stampede serve` sends it. It may send requests to its own server.
pub fn served_html(data: &impl Serialize) -> String {
    let policy = "default-src 'none';";
    let built = BUILT.replacen(policy, &format!("{policy} connect-src 'self';"), 1);
    built.replacen(PLACEHOLDER, &inert(data), 1)
}

/// The summary for the page. It omits the seconds, which are in the series, and the notices about
/// progress, which the page shows elsewhere.
fn for_the_page(stored: &StoredRun, summary: &Summary) -> Summary {
    let mut summary = summary.clone();
    let how_far = input::how_far(stored);
    summary.notices.retain(|notice| notice.known().is_none_or(|known| !how_far.contains(known)));
    for trial in summary.cases.iter_mut().flat_map(|case| &mut case.trials) {
        trial.over_time = Default::default();
    }
    summary
}

/// JSON that no HTML parser takes for markup, and in which JavaScript sees no end of line.
fn inert(data: &impl Serialize) -> String {
    let json = serde_json::to_string(data)
        .expect("what is shown has string keys and numbers, nothing that JSON cannot hold");
    let mut text = String::with_capacity(json.len() + json.len() / 64);
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => text.push(letter),
        }
    }
    text
}
