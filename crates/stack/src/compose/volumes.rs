//! Gives each trial volumes and directories of its own, with what those of the project hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_compose::news::{LongWork, told};
use stampede_keeper::MARKER;
use stampede_linux::run::TimedCommand;
use stampede_plan::model::VolumeState;

use super::ResolvedProject;
use super::edit::{LABEL, Mount, written_paths};
use super::engine::{Engine, WORKS_WITHIN, mount_of};
use super::error::ComposeError;
use super::start::Names;
use stampede_compose::said::failed;

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
                let copier = ContainerCopy { engine: &resolved.engine, stack, images };
                let place = format!("/mount-{number}");
                let paths = if path.is_dir() { ["/.", &place] } else { ["", &place] };
                path.is_dir().then(|| fs::create_dir(&copy)).transpose().map_err(unwritten)?;
                copier.run([Place::Path(&path), Place::Path(directory)], paths)?;
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

/// Whether something at or below a path belongs to another user or to a group that this user is not in, or
/// cannot be looked into. The path itself may be a link.
fn holds_files_of_others(path: &Path) -> bool {
    let user = rustix::process::geteuid();
    let mut groups = rustix::process::getgroups().unwrap_or_default();
    groups.push(rustix::process::getegid());
    let groups: Vec<u32> = groups.into_iter().map(rustix::process::Gid::as_raw).collect();
    let is_other =
        |found: &fs::Metadata| found.uid() != user.as_raw() || !groups.contains(&found.gid());
    is_any(&path.canonicalize().unwrap_or_else(|_| path.to_owned()), &is_other)
}

/// Whether this holds of anything at or below a path, or it cannot be looked into.
fn is_any(path: &Path, holds: &impl Fn(&fs::Metadata) -> bool) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return true };
    let below = || match fs::read_dir(path) {
        Ok(mut entries) => {
            entries.any(|entry| entry.is_ok_and(|entry| is_any(&entry.path(), holds)))
        }
        Err(_) => true,
    };
    holds(&found) || found.is_dir() && below()
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
                copier.run([Place::Volume(&own), Place::Volume(&copy)], ["/.", "/"])?;
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

/// What a container has mounted to copy from or to.
#[derive(Clone, Copy)]
enum Place<'a> {
    /// A file or directory of this machine.
    Path(&'a Path),
    /// A volume of the engine.
    Volume(&'a str),
}

impl Place<'_> {
    fn mount(self, target: &str) -> String {
        match self {
            Place::Path(source) => mount_of(source, Path::new(target)),
            Place::Volume(name) => format!("type=volume,source={name},target={target}"),
        }
    }

    fn name(self) -> String {
        match self {
            Place::Path(path) => path.display().to_string(),
            Place::Volume(name) => name.to_owned(),
        }
    }
}

impl ContainerCopy<'_> {
    /// Mounts the first place, read-only, and the second, and copies between them. Both `paths` begin at
    /// these.
    fn run(&self, [from, to]: [Place<'_>; 2], paths: [&str; 2]) -> Result<(), ComposeError> {
        let label = format!("{LABEL}={}", self.stack);
        let [source, target] = ["/stampede-from", "/stampede-to"];
        let paths = [format!("{source}{}", paths[0]), format!("{target}{}", paths[1])];
        let (source, target) = (from.mount(source) + ",readonly", to.mount(target));
        let options = ["run", "--rm", "--network", "none", "--user", "0", "--label", &label];
        let mounts = ["--security-opt", "label=disable", "--mount", &source, "--mount", &target];
        let from = &from.name();
        let mut copied = Err(ComposeError::NoImage { service: from.clone() });
        for image in self.images {
            let command = ["--entrypoint", "cp", image, "-a", &paths[0], &paths[1]];
            copied = told(LongWork::Copy { from }, || {
                self.engine.run(&[&options[..], &mounts, &command].concat())
            });
            // Another image may have the program.
            let lacks_it = |said: &str| said.contains("executable file");
            if !matches!(&copied, Err(ComposeError::Tool { said, .. }) if lacks_it(said)) {
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
