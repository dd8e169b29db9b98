//! What a plan asks for and this machine or the catalogue does not have: said before
//! anything starts, at its place in the plan.

use crate::causes::chain;
use crate::live::Live;
use crate::plan::model::{Plan, RuntimeChoice, RuntimeSource};
use crate::plan::{self, PlanError, Subject};
use crate::runtime::{App, Catalogue, HeldBy, RuntimeError, Traits};

/// Why a plan cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A name or a value in the plan, with its place.
    #[error(transparent)]
    Plan(PlanError),
    /// A runtime or an app.
    #[error(transparent)]
    Runtime(RuntimeError),
}

/// The plan's apps, read.
pub(super) fn apps(plan: &Plan, catalogue: &Catalogue) -> Result<Vec<App>, Refusal> {
    let app = |choice| {
        catalogue.app(choice).map_err(|error| match &error {
            RuntimeError::UnknownApp { known, .. } => unknown(plan, Subject::App(choice), known),
            _ => Refusal::Runtime(error),
        })
    };
    plan.apps.iter().map(app).collect()
}

/// Every runtime's traits; each must serve every app.
pub(super) fn traits(
    plan: &Plan,
    catalogue: &Catalogue,
    apps: &[App],
) -> Result<Vec<Traits>, Refusal> {
    let one = |choice: &RuntimeChoice| {
        if let RuntimeSource::Live { .. } = choice.source {
            return Ok(ALREADY_RUNNING);
        }
        let checked: Result<Vec<Traits>, _> =
            apps.iter().map(|app| catalogue.check(choice, app)).collect();
        checked.map(|traits| traits[0]).map_err(|error| placed(plan, &choice.name, error))
    };
    plan.runtimes.iter().map(one).collect()
}

/// What holds its workers is not known: connections that starve are seen by their getting no
/// answer.
const ALREADY_RUNNING: Traits = Traits { held_by: HeldBy::Request, workers: 0 };

/// What already runs, found where the plan says.
pub(super) fn found(plan: &Plan) -> Result<Vec<Live>, Refusal> {
    let one = |choice: &RuntimeChoice| match &choice.source {
        RuntimeSource::Catalogue(_) => None,
        RuntimeSource::Live { url, watch } => {
            let name = choice.name.as_str();
            Some(Live::find(name, url, watch.as_ref()).map_err(|error| {
                let subject = Subject::Setting { runtime: name, name: error.key() };
                Refusal::Plan(plan::refused(plan, subject, &chain(&error), error.expected()))
            }))
        }
    };
    plan.runtimes.iter().filter_map(one).collect()
}

/// An error about runtime `name`, at its place in the plan where it is about what stands
/// there; else as it is.
fn placed(plan: &Plan, name: &str, error: RuntimeError) -> Refusal {
    let setting = |name_of_it| Subject::Setting { runtime: name, name: name_of_it };
    match &error {
        RuntimeError::UnknownRuntime { known, .. } => unknown(plan, Subject::Runtime(name), known),
        RuntimeError::UnknownSetting { setting: of, known, .. } => {
            unknown(plan, setting(of), known)
        }
        RuntimeError::BadSetting { setting: of, allowed, .. } => {
            let why = error.to_string();
            Refusal::Plan(plan::refused(plan, setting(of), &why, allowed))
        }
        _ => Refusal::Runtime(error),
    }
}

fn unknown(plan: &Plan, subject: Subject<'_>, known: &[String]) -> Refusal {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Refusal::Plan(plan::unknown(plan, subject, &known))
}
