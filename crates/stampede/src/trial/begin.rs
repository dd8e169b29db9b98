//! What is worth saying of how a trial began: cold, and with what was preloaded.

use serde_json::Value;

use super::measured::Measured;
use super::verdict::Judgement;
use crate::fact::{ColdOpcache, Server};
use crate::plan::model::Begin;
use crate::store::record::{Judged, TrialRecord};

/// What the reader of the trial should know, with what it makes of it.
pub(super) fn told(begin: Begin, record: &TrialRecord, measured: &Measured) -> Vec<Judgement> {
    let cold = (begin == Begin::Cold).then(|| match measured {
        Measured::Started(_) => cold(record, measured.emptied()),
        Measured::External(_) => Server::NotCold {},
    });
    cold.map(|note| (Judged::Valid, note.into())).into_iter().chain(preloaded(record)).collect()
}

/// Which of its memory was empty when the load began.
fn cold(record: &TrialRecord, emptied: &[String]) -> Server {
    let runtime = &record.runtime;
    let has_opcache = runtime.before.as_ref().is_some_and(|before| before.opcache);
    let opcache = has_opcache.then(|| match (preload(record), runtime.given.keeps_memory) {
        (_, true) => ColdOpcache::Booted,
        (Some(_), false) => ColdOpcache::Preloaded,
        (None, false) => ColdOpcache::Empty,
    });
    Server::Cold { opcache, emptied: emptied.to_vec() }
}

/// What is preloaded, as the plan says it.
fn preload(record: &TrialRecord) -> Option<&str> {
    let asked = record.runtime.settings.get("preload").and_then(Value::as_str);
    asked.filter(|file| *file != "off")
}

/// What came of `preload`; `None`: it was not asked for.
fn preloaded(record: &TrialRecord) -> Option<Judgement> {
    let preload = preload(record)?.to_owned();
    let files = record.runtime.before.as_ref()?.preloaded;
    Some(match files {
        0 => (Judged::Suspect, Server::NothingPreloaded { preload }.into()),
        files => (Judged::Valid, Server::Preloaded { files }.into()),
    })
}
