//! Gives each trial volumes and directories of its own, with what those of the project hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_compose::long_work::{LongWork, told};
use stampede_keeper::MARKER;
use stampede_linux::run::TimedCommand;
use stampede_plan::model::VolumeState;

use super::ResolvedProject;
use super::edit::{LABEL, Mount, written_paths};
use super::engine::{Engine, WORKS_WITHIN, failed};
use super::error::ComposeError;
use super::start::Names;

/// Copies what the project may write to of this machine into `directory`: path → copy. Owners,
/// modes and links stay as they are. What other users own is copied by a container if this user may not.
///
/// # Errors
/// Something cannot be copied.
pub(super) fn copy_paths(
    resolved: &ResolvedProject,
    stack: &str,
    directory: &Path,
    images: &BTreeMap<String, String>,
) -> Result<BTreeMap<PathBuf, PathBuf>, ComposeError> {
    let is_root = rustix::process::geteuid().is_root();
    let mut copies = BTreeMap::new();
    for (number, path) in written_paths(&resolved.project).into_iter().enumerate() {
        let copy = directory.join(format!("mount-{number}"));
        let name = || format!("cp -a {}", path.display());
        let unwritten = |error: std::io::Error| ComposeError::Tool {
            command: name(),
            said: error.to_string(),
            example: None,
        };
        match path.exists() {
            // The engine would create it in the user's project.
            false => fs::create_dir(&copy).map_err(unwritten)?,
            true if !is_root && holds_files_of_others(&path) => {
                let images = &images_of(resolved, images, &resolved.services());
                let copy = ContainerCopy { engine: &resolved.engine, stack, images };
                let (from, to) = (path.display().to_string(), directory.display().to_string());
                copy.run(&from, &to, ["", &format!("/mount-{number}")])?;
            }
            true => {
                // A path that is a link is followed, and links below it are copied as such.
                let args = [Path::new("-a"), Path::new("-H"), Path::new("--"), &path, &copy];
                let copier = TimedCommand::new("cp", WORKS_WITHIN).env(MARKER, stack).args(args);
                let from = &path.display().to_string();
                let copied = told(LongWork::Copy { from }, || copier.interruptible().run());
                copied.map_err(|error| failed(&name(), &error))?;
            }
        }
        copies.insert(path, copy);
    }
    Ok(copies)
}

/// Whether something at or below a path belongs to another user, or cannot be looked into.
fn holds_files_of_others(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    let below = || match fs::read_dir(path) {
        Ok(mut entries) => {
            entries.any(|entry| entry.is_ok_and(|entry| holds_files_of_others(&entry.path())))
        }
        Err(_) => true,
    };
    found.uid() != own || found.is_dir() && below()
}

/// The volumes of the engine that take the place of the project's own, by the key of the project.
/// Those that are not named are new and empty.
///
/// # Errors
/// A volume is in use, or cannot be copied.
pub(super) fn settle(
    resolved: &ResolvedProject,
    names: &Names,
    images: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, ComposeError> {
    let ResolvedProject { engine, project, source, .. } = resolved;
    let mut settled = BTreeMap::new();
    let Some(volumes) = project.document.get("volumes").and_then(Value::as_object) else {
        return Ok(settled);
    };
    let used = used_volumes(resolved);
    for (key, volume) in volumes.iter().filter(|(key, _)| used.contains_key(*key)) {
        let own = own_name(&project.name, key, volume);
        let exists = || engine.command(&["volume", "inspect", &own]).run().is_ok();
        match source.volumes {
            VolumeState::Empty => {}
            VolumeState::Shared => {
                if !exists() {
                    create_as_declared(resolved, &own, volume)?;
                }
                settled.insert(key.clone(), own);
            }
            VolumeState::Copied if exists() => {
                check_unused(resolved, &own)?;
                let images = images_of(resolved, images, &used[key]);
                let copy = format!("{}_{key}", names.project);
                let label = format!("{LABEL}={}", names.id);
                engine.run(&["volume", "create", "--label", &label, &copy])?;
                let copier = ContainerCopy { engine, stack: &names.id, images: &images };
                copier.run(&own, &copy, ["/.", "/"])?;
                settled.insert(key.clone(), copy);
            }
            VolumeState::Copied => {}
        }
    }
    Ok(settled)
}

/// The volumes that services mount, with the services.
fn used_volumes(resolved: &ResolvedProject) -> BTreeMap<String, BTreeSet<String>> {
    let mut used: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, service) in resolved.project.services() {
        for mount in service["volumes"].as_array().into_iter().flatten().filter_map(Mount::of) {
            if let Some(volume) = mount.volume() {
                used.entry(volume.to_owned()).or_default().insert(name.to_owned());
            }
        }
    }
    used
}

/// The name that the engine knows a volume of the project by.
fn own_name(project: &str, key: &str, volume: &Value) -> String {
    let named = volume["name"].as_str().or_else(|| volume["external"]["name"].as_str());
    match named {
        Some(name) => name.to_owned(),
        None if volume["external"] == Value::Bool(true) => key.to_owned(),
        None => format!("{project}_{key}"),
    }
}

/// A copy of files that change meanwhile would be broken, most of all a database's.
fn check_unused(resolved: &ResolvedProject, volume: &str) -> Result<(), ComposeError> {
    let filter = format!("volume={volume}");
    let words = ["ps", "--filter", &filter, "--format", "{{.Names}}"];
    let users = resolved.engine.run(&words)?;
    let users: Vec<String> = users.split_whitespace().map(str::to_owned).collect();
    match users.is_empty() {
        true => Ok(()),
        false => Err(ComposeError::VolumeInUse { volume: volume.to_owned(), containers: users }),
    }
}

/// Creates a volume of the user's project as the compose tool would.
fn create_as_declared(
    resolved: &ResolvedProject,
    own: &str,
    volume: &Value,
) -> Result<(), ComposeError> {
    let driver = volume["driver"].as_str().map(|driver| format!("--driver={driver}"));
    let options = volume["driver_opts"].as_object().into_iter().flatten();
    let options = options.map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("--opt={name}={value}")
    });
    let words: Vec<String> = driver.into_iter().chain(options).chain([own.to_owned()]).collect();
    let words = ["volume", "create"].into_iter().chain(words.iter().map(String::as_str));
    resolved.engine.run(&words.collect::<Vec<_>>()).map(drop)
}

/// The images of the services, of which one brings a `cp`.
pub(super) fn images_of<'a>(
    resolved: &ResolvedProject,
    images: &BTreeMap<String, String>,
    services: impl IntoIterator<Item = &'a String>,
) -> Vec<String> {
    let of_service = |name: &String| {
        let own = resolved.project.service(name).and_then(|service| service["image"].as_str());
        images.get(name).cloned().or_else(|| own.map(str::to_owned))
    };
    let all: BTreeSet<String> = services.into_iter().filter_map(of_service).collect();
    all.into_iter().collect()
}

/// Copies as root of a container, which may read and write what this user may not.
struct ContainerCopy<'a> {
    engine: &'a Engine,
    stack: &'a str,
    /// Images, of which one has the program `cp`.
    images: &'a [String],
}

impl ContainerCopy<'_> {
    /// Mounts a volume or directory `from`, read-only, and another one `to`, and copies between them. Both
    /// `paths` begin at these.
    fn run(&self, from: &str, to: &str, paths: [&str; 2]) -> Result<(), ComposeError> {
        let label = format!("{LABEL}={}", self.stack);
        let [source, target] = [format!("{from}:/stampede-from:ro"), format!("{to}:/stampede-to")];
        let [of_source, of_target] = paths;
        let paths = [format!("/stampede-from{of_source}"), format!("/stampede-to{of_target}")];
        let options = ["run", "--rm", "--network", "none", "--user", "0", "--label", &label];
        let mounts = ["--security-opt", "label=disable", "-v", &source, "-v", &target];
        let mut copied = Err(ComposeError::NoImage { service: from.to_owned() });
        for image in self.images {
            let command = ["--entrypoint", "cp", image, "-a", &paths[0], &paths[1]];
            copied = told(LongWork::Copy { from }, || {
                self.engine.run(&[&options[..], &mounts, &command].concat())
            });
            if copied.is_ok() {
                break;
            }
        }
        copied.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::own_name;

    #[test]
    fn a_volume_has_the_name_that_the_users_project_gives_it() {
        for (volume, name) in [
            (json!(null), "shop_data"),
            (json!({}), "shop_data"),
            (json!({"name": "other"}), "other"),
            (json!({"external": true}), "data"),
            (json!({"external": true, "name": "other"}), "other"),
            (json!({"external": {"name": "other"}}), "other"),
        ] {
            assert_eq!(own_name("shop", "data", &volume), name, "{volume}");
        }
    }
}
