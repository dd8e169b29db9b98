//! Adds a web server in front of an HTTP runtime: processes, files and needs from
//! `fronts/<name>/front.yaml`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};
use stampede_plan::model::{RuntimeChoice, RuntimeSource, Scalar};

use super::catalogue::{Catalogue, RuntimeDirectory, parse};
use super::common_need;
use super::directory::below;
use super::error::RuntimeError;
use super::images::OfficialImage;
use super::manifest::{HeldBy, Install, Need, ProcessManifest, RuntimeManifest};
use super::setting::honours;

/// The common setting that names the front.
pub const SETTING: &str = "front";
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

/// The content of `front.yaml`: what is added to a runtime.
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
    /// Files of the directory, as in a runtime's manifest.
    files: Vec<Spanned<String>>,
    /// The front's processes. They start after the runtime's own, and stop before them.
    processes: Vec<ProcessManifest>,
    /// The official image of each of its roles.
    #[serde(default)]
    images: BTreeMap<String, OfficialImage>,
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
        let asked = choice.settings.get(SETTING).map(ToString::to_string).unwrap_or_default();
        let is_own = runtime.manifest.web_server.as_ref() == Some(&asked);
        // A value that is not allowed is reported later, where all settings are resolved.
        let added = self.fronts.get(&asked);
        let Some(directory) = added.filter(|_| !is_own && honours(&runtime.manifest, SETTING))
        else {
            return Ok(runtime);
        };
        let place = format!("fronts/{asked}");
        let (file, text) = directory.manifest(&place, "front.yaml")?;
        let mut front: FrontManifest = parse(&file, &text)?;
        let mut sources = runtime.sources.clone();
        sources.add(&place, directory.clone());
        common_need::add(&sources, &file, &front.common_needs, &mut front.needs)?;
        front.files = below(&place, front.files);
        let manifest = Arc::new(with_front_processes(&runtime.manifest, front));
        let closes = closes_by_default(&runtime.manifest);
        let kept = runtime.manifest.worker_held_by == HeldBy::Request && !closes;
        Ok(RuntimeDirectory { manifest, front: Some(Front { kept }), sources, ..runtime })
    }
}

/// Returns `runtime` with `front` before it.
fn with_front_processes(runtime: &RuntimeManifest, front: FrontManifest) -> RuntimeManifest {
    let mut both = runtime.clone();
    both.title = format!("{}, behind {}", both.title, front.title);
    both.merge_needs(front.needs, front.files, front.install);
    both.processes.extend(front.processes);
    both.images.extend(front.images);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::locate::SearchPaths;
    use super::super::setting::{DirectoryNames, resolve};
    use super::*;

    const FRONT: &str = "title: Varnish\nneeds: { varnishd: { programs: [varnishd] } }\n\
        files: [default.vcl.j2]\n\
        processes: [{ role: web, run: varnishd, stop: { signal: TERM, grace: 1s } }]\n";

    #[test]
    fn a_front_is_a_directory() {
        let place = tempfile::tempdir().expect("directory");
        let own = place.path().join("varnish");
        fs::create_dir(&own).expect("directory");
        fs::write(own.join("front.yaml"), FRONT).expect("file");
        fs::write(own.join("default.vcl.j2"), "of varnish").expect("file");
        let places = SearchPaths { fronts: vec![place.path().into()], ..SearchPaths::default() };
        let catalogue = Catalogue::load(places);
        let chosen = |front: &str| RuntimeChoice {
            name: "php-builtin".into(),
            source: RuntimeSource::Catalogue("php-builtin".into()),
            settings: BTreeMap::from([(SETTING.into(), Scalar::Text(front.into()))]),
            php_ini: BTreeMap::new(),
            env: BTreeMap::new(),
            images: None,
            as_today: None,
        };
        let choice = chosen("varnish");
        let runtime = catalogue.chosen(&choice).expect("read");
        assert_eq!(runtime.manifest.title, "PHP's built-in web server, behind Varnish");
        assert!(runtime.manifest.needs.contains_key("varnishd"));
        let file = &runtime.manifest.files.last().expect("its file").value;
        assert_eq!(runtime.text(file).expect("found"), "of varnish");
        let directories = DirectoryNames::of(&catalogue);
        let resolved = |choice: &RuntimeChoice| {
            resolve("php-builtin", &runtime.manifest, &choice.settings, &directories)
        };
        assert_eq!(resolved(&choice).expect("allowed").values[SETTING], "varnish");
        let error = resolved(&chosen("squid")).expect_err("there is no such front");
        assert_eq!(error.hint().as_deref(), Some("allowed: none, nginx, varnish"));
    }
}
