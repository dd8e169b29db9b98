//! What is worth saying of how a trial began: cold, and with what was preloaded.

use serde_json::Value;

use super::measured::Measured;
use crate::plan::model::Begin;
use crate::store::record::{Judged, TrialRecord};
use crate::summary::words;

/// What the reader of the trial should know, with what it makes of it.
pub(super) fn told(
    begin: Begin,
    record: &TrialRecord,
    measured: &Measured,
) -> Vec<(Judged, String)> {
    let cold = (begin == Begin::Cold).then(|| match measured {
        Measured::Started(_) => cold(record, measured.emptied()),
        Measured::Live(_) => "not cold: it was already running".to_owned(),
    });
    cold.map(|text| (Judged::Valid, text)).into_iter().chain(preloaded(record)).collect()
}

/// Which of its memory was empty when the load began.
fn cold(record: &TrialRecord, emptied: &[String]) -> String {
    let runtime = &record.runtime;
    let has_opcache = runtime.before.as_ref().is_some_and(|before| before.opcache);
    let opcache = match (preload(record), runtime.given.keeps_memory) {
        _ if !has_opcache => None,
        (_, true) => Some("OPcache had what its workers boot with".to_owned()),
        (Some(_), false) => Some("OPcache had what was preloaded".to_owned()),
        (None, false) => Some("OPcache was empty".to_owned()),
    };
    let folders: Vec<String> = emptied.iter().map(|folder| format!("`{folder}`")).collect();
    let were = if folders.len() == 1 { "was" } else { "were" };
    let folders = (!folders.is_empty())
        .then(|| format!("{} {were} emptied before the start", words::list(&folders)));
    let nothing = "cold: nothing had been asked of it when the load began".to_owned();
    [Some(nothing), opcache, folders].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What is preloaded, as the plan says it.
fn preload(record: &TrialRecord) -> Option<&str> {
    let asked = record.runtime.settings.get("preload").and_then(Value::as_str);
    asked.filter(|file| *file != "off")
}

/// What came of `preload`; `None`: it was not asked for.
fn preloaded(record: &TrialRecord) -> Option<(Judged, String)> {
    let file = preload(record)?;
    let files = record.runtime.before.as_ref()?.preloaded;
    Some(match files {
        0 => {
            (Judged::Suspect, format!("`preload: {file}` was asked for, and nothing is preloaded"))
        }
        1 => (Judged::Valid, "1 file was preloaded".to_owned()),
        more => (Judged::Valid, format!("{} files were preloaded", words::count(u64::from(more)))),
    })
}
