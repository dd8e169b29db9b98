//! What a plan asks for and this machine or the catalogue does not have: said before
//! anything starts, at its place in the plan.

use crate::plan::model::{Plan, RuntimeChoice};
use crate::plan::{self, PlanError, Subject};
use crate::runtime::{App, Catalogue, RuntimeError, Traits};

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
        let checked: Result<Vec<Traits>, _> =
            apps.iter().map(|app| catalogue.check(choice, app)).collect();
        let name = choice.name.as_str();
        match checked {
            Ok(traits) => Ok(traits[0]),
            Err(RuntimeError::UnknownRuntime { known, .. }) => {
                Err(unknown(plan, Subject::Runtime(name), &known))
            }
            Err(RuntimeError::UnknownSetting { setting, known, .. }) => {
                let subject = Subject::Setting { runtime: name, name: &setting };
                Err(unknown(plan, subject, &known))
            }
            Err(error) => Err(Refusal::Runtime(error)),
        }
    };
    plan.runtimes.iter().map(one).collect()
}

fn unknown(plan: &Plan, subject: Subject<'_>, known: &[String]) -> Refusal {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Refusal::Plan(plan::unknown(plan, subject, &known))
}
