//! Adds a web server in front of an HTTP runtime: processes, files and needs from
//! `runtimes/common/front-<name>.yaml`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};
use stampede_plan::model::{RuntimeChoice, RuntimeSource, Scalar};

use super::catalogue::{Catalogue, RuntimeDirectory, parse};
use super::common_need;
use super::error::RuntimeError;
use super::manifest::{HeldBy, Install, Need, ProcessManifest, RuntimeManifest};
use super::setting::honours;

/// The fronts that a plan may name.
pub const FRONTS: [&str; 2] = [NONE, "nginx"];
const NONE: &str = "none";
/// The name, in `ports`, of the port on which a runtime with a front listens.
pub const BEHIND: &str = "behind_front";

/// Common settings that every front has, whatever runs behind it.
const OF_FRONTS: [&str; 2] = ["buffers", "keepalive_timeout"];

/// The front of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Front {
    /// Whether the front keeps its connections to the runtime. It does not if the runtime closes
    /// them anyway, or holds a worker for each connection.
    pub kept: bool,
}

/// The content of `front-<name>.yaml`: what is added to a runtime.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontManifest {
    /// Title for readers.
    title: String,
    /// The needs, as in a runtime's manifest.
    #[serde(default)]
    common_needs: Vec<Spanned<String>>,
    #[serde(default)]
    needs: BTreeMap<String, Need>,
    /// Templates of the shared directory.
    files: Vec<Spanned<String>>,
    /// The front's processes. They start after the runtime's own, and stop before them.
    processes: Vec<ProcessManifest>,
    /// The packages to install, as in a runtime's manifest.
    #[serde(default)]
    install: BTreeMap<String, Install>,
}

impl Catalogue {
    /// The runtime of `choice`, with the front that its settings ask for.
    ///
    /// # Errors
    /// An unknown name, a wrong manifest, or an external runtime.
    pub fn chosen(&self, choice: &RuntimeChoice) -> Result<RuntimeDirectory, RuntimeError> {
        let RuntimeSource::Catalogue(source) = &choice.source else {
            return Err(RuntimeError::External { name: choice.name.clone() });
        };
        let runtime = self.runtime(source)?;
        let asked = choice.settings.get("front").map(ToString::to_string).unwrap_or_default();
        let own = runtime.manifest.web_server.as_deref();
        // A value that is not allowed is reported later, where all settings are resolved.
        let adds = asked != NONE
            && FRONTS.contains(&asked.as_str())
            && own != Some(&asked)
            && honours(&runtime.manifest, "front");
        if !adds {
            return Ok(runtime);
        }
        let file = format!("common/front-{asked}.yaml");
        let mut front: FrontManifest = parse(&file, &runtime.text(&file)?)?;
        common_need::add(&runtime.sources, &file, &front.common_needs, &mut front.needs)?;
        let manifest = Arc::new(with_front_processes(&runtime.manifest, front));
        let closes = closes_by_default(&runtime.manifest);
        let kept = runtime.manifest.worker_held_by == HeldBy::Request && !closes;
        Ok(RuntimeDirectory { manifest, front: Some(Front { kept }), ..runtime })
    }
}

/// Returns `runtime` with `front` before it.
fn with_front_processes(runtime: &RuntimeManifest, front: FrontManifest) -> RuntimeManifest {
    let mut both = runtime.clone();
    both.title = format!("{}, behind {}", both.title, front.title);
    both.merge_needs(front.needs, front.files, front.install);
    both.processes.extend(front.processes);
    both.ports.push(BEHIND.to_owned());
    // Clients connect to the front. It keeps their connections, and holds no worker for them.
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

/// Whether the runtime closes every connection after its answer unless `keep_alive` is on.
pub fn closes_by_default(manifest: &RuntimeManifest) -> bool {
    let narrowed = manifest.settings.get("keep_alive").map(|spec| &spec.default);
    matches!(narrowed, Some(Scalar::Bool(false)))
}
