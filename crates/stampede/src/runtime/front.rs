//! The web server before an HTTP runtime: processes, files and needs that any runtime can be
//! given, from `runtimes/common/front-<name>.yaml`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use super::catalogue::{Catalogue, RuntimeDirectory, parse};
use super::error::RuntimeError;
use super::manifest::{HeldBy, Install, Need, ProcessManifest, RuntimeManifest};
use super::setting::honours;
use crate::plan::model::{RuntimeChoice, RuntimeSource, Scalar};

/// Fronts that a plan may name.
pub const FRONTS: [&str; 2] = [NONE, "nginx"];
const NONE: &str = "none";
/// The port of a runtime that has a front before it, among its `ports`.
pub const BEHIND: &str = "behind_front";

/// Common settings that a front has whatever stands behind it.
const OF_FRONTS: [&str; 2] = ["buffers", "keepalive_timeout"];

/// The front of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// Whether it keeps its connections to the runtime: not to one that closes them anyway,
    /// nor to one that holds a worker for each.
    pub kept: bool,
}

/// `front-<name>.yaml`: what is added to a runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontManifest {
    /// For people.
    title: String,
    /// As a runtime's.
    needs: BTreeMap<String, Need>,
    /// Templates of the shared directory.
    files: Vec<Spanned<String>>,
    /// Started after the runtime's own, stopped before them.
    processes: Vec<ProcessManifest>,
    /// As a runtime's.
    #[serde(default)]
    install: BTreeMap<String, Install>,
}

impl Catalogue {
    /// The runtime of `choice`, with the front that its settings ask for.
    ///
    /// # Errors
    /// Unknown name, a wrong manifest, or something that already runs.
    pub fn chosen(&self, choice: &RuntimeChoice) -> Result<RuntimeDirectory, RuntimeError> {
        let RuntimeSource::Catalogue(source) = &choice.source else {
            return Err(RuntimeError::External { name: choice.name.clone() });
        };
        let runtime = self.runtime(source)?;
        let asked = choice.settings.get("front").map(ToString::to_string).unwrap_or_default();
        let own = runtime.manifest.web_server.as_deref();
        // Whether the value can be had at all is said where all settings are resolved.
        let adds = asked != NONE
            && FRONTS.contains(&asked.as_str())
            && own != Some(&asked)
            && honours(&runtime.manifest, "front");
        if !adds {
            return Ok(runtime);
        }
        let file = format!("front-{asked}.yaml");
        let front: FrontManifest = parse(&format!("common/{file}"), &runtime.common_text(&file)?)?;
        let manifest = Arc::new(behind(&runtime.manifest, front));
        let closes = closes_by_default(&runtime.manifest);
        let kept = runtime.manifest.worker_held_by == HeldBy::Request && !closes;
        Ok(RuntimeDirectory { manifest, front: Some(Front { kept }), ..runtime })
    }
}

/// `runtime` with `front` before it.
fn behind(runtime: &RuntimeManifest, front: FrontManifest) -> RuntimeManifest {
    let mut both = runtime.clone();
    both.title = format!("{}, behind {}", both.title, front.title);
    both.take_in(front.needs, front.files, front.install);
    both.processes.extend(front.processes);
    both.ports.push(BEHIND.to_owned());
    // Clients talk to the front: it keeps their connections, and holds no worker for them.
    both.worker_held_by = HeldBy::Request;
    both.settings.remove("keep_alive");
    for name in OF_FRONTS {
        if !honours(&both, name) {
            let name = name.to_owned();
            let place = Location::UNKNOWN;
            both.common.push(Spanned { value: name, referenced: place, defined: place });
        }
    }
    both
}

/// Whether it closes every connection unless it is told otherwise, if that can be told at all.
pub fn closes_by_default(manifest: &RuntimeManifest) -> bool {
    let narrowed = manifest.settings.get("keep_alive").map(|spec| &spec.default);
    matches!(narrowed, Some(Scalar::Bool(false)))
}
