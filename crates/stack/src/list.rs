//! Lists the known runtimes, and which of them this machine can start.

use std::collections::BTreeMap;

use serde::Serialize;
use stampede_model::record::CustomBuild;

use super::catalogue::Catalogue;
use super::error::RuntimeError;
use super::locate;
use super::php_constraint::PhpRequirements;

/// One line of `stampede runtimes`.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeListing {
    /// The runtime's name in plans.
    pub name: String,
    /// Title for readers.
    pub title: String,
    /// The mode: `per-request`, `worker` or `event-loop`.
    pub mode: String,
    /// Whether it can be started here.
    pub state: RuntimeState,
}

/// Whether a runtime can be started here.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeState {
    /// All needs are here.
    Found {
        /// Need → its version as printed, or its path if it prints none.
        versions: BTreeMap<String, String>,
        /// The needs that are no upstream release.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        custom_builds: BTreeMap<String, CustomBuild>,
    },
    /// Something is missing.
    Missing {
        /// The names of the missing needs.
        missing: Vec<String>,
        /// The command that gets them; `None`: no such command is known.
        install: Option<String>,
    },
    /// The runtime's directory is wrong.
    Wrong {
        /// What is wrong.
        problem: String,
    },
}

/// Lists every runtime of the catalogue, sorted by name.
pub fn list(catalogue: &Catalogue) -> Vec<RuntimeListing> {
    catalogue.runtime_names().into_iter().map(|name| describe_runtime(catalogue, name)).collect()
}

/// Describes one runtime of the catalogue.
pub fn describe_runtime(catalogue: &Catalogue, name: &str) -> RuntimeListing {
    let runtime = match catalogue.runtime(name) {
        Ok(runtime) => runtime,
        Err(error) => {
            let state = RuntimeState::Wrong { problem: error.to_string() };
            return RuntimeListing {
                name: name.into(),
                title: String::new(),
                mode: String::new(),
                state,
            };
        }
    };
    let manifest = &runtime.manifest;
    let state = match locate::all(
        &catalogue.places,
        name,
        &runtime,
        &BTreeMap::new(),
        &PhpRequirements::default(),
    ) {
        Ok(found) => RuntimeState::Found {
            custom_builds: found
                .iter()
                .filter_map(|(need, found)| Some((need.clone(), found.custom_build?)))
                .collect(),
            versions: found
                .into_iter()
                .map(|(need, found)| match found.version.is_empty() {
                    true => (need, found.path.display().to_string()),
                    false => (need, found.version),
                })
                .collect(),
        },
        Err(RuntimeError::Missing { missing, install, .. }) => {
            RuntimeState::Missing { missing, install }
        }
        Err(error) => RuntimeState::Wrong { problem: error.to_string() },
    };
    let (title, mode) = (manifest.title.clone(), manifest.mode.name().into());
    RuntimeListing { name: name.into(), title, mode, state }
}
