//! Judges how a trial began: cold or not, and with which files preloaded.

use serde_json::Value;
use stampede_model::fact::{ColdOpcache, Server};
use stampede_model::record::{TrialRecord, Validity};
use stampede_plan::model::StartState;
use stampede_stack::Stack;
use stampede_verdict::Judgement;

/// The notes and reasons about the trial's begin.
pub(super) fn begin_facts(
    begin: StartState,
    record: &TrialRecord,
    measured: &dyn Stack,
) -> Vec<Judgement> {
    let cold = (begin == StartState::Cold).then(|| match measured.is_started() {
        true => cold(record, measured.emptied()),
        false => Server::NotCold {},
    });
    cold.map(|note| (Validity::Valid, note.into())).into_iter().chain(preloaded(record)).collect()
}

/// Which of the runtime's caches were empty when the load began.
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

/// The file to preload, as the plan names it; `None`: preloading is off.
fn preload(record: &TrialRecord) -> Option<&str> {
    let asked = record.runtime.settings.get("preload").and_then(Value::as_str);
    asked.filter(|file| *file != "off")
}

/// The result of `preload`; `None`: preloading was not asked for.
fn preloaded(record: &TrialRecord) -> Option<Judgement> {
    let preload = preload(record)?.to_owned();
    let files = record.runtime.before.as_ref()?.preloaded;
    Some(match files {
        0 => (Validity::Suspect, Server::NothingPreloaded { preload }.into()),
        files => (Validity::Valid, Server::Preloaded { files }.into()),
    })
}
