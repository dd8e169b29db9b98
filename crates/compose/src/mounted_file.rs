//! Configurations and secrets of a project, which podman-compose is given as mounts of files: each with the owner and
//! the mode that a service asks for.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::engine::Engine;
use crate::error::ComposeError;
use crate::variables::plain;

/// The configurations and secrets that a project declares.
#[derive(Debug)]
pub(crate) struct Declared<'a> {
    sources: BTreeMap<(&'static str, String), Content>,
    /// Files that are written before, by their paths.
    pub files: BTreeMap<PathBuf, MountedFile>,
    /// Where they will be written.
    directory: &'a Path,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    /// What this file of the machine holds.
    Of(PathBuf),
    Text(String),
}

/// A file that is written for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountedFile {
    content: Content,
    access: Access,
}

/// Whose a file is in the container, and who may do what with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// User and group; `None`: root.
    owner: Option<(u32, u32)>,
    mode: u32,
}

/// An owner or a mode that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {given}")]
struct NotANumber {
    /// `uid`, `gid` or `mode`.
    key: &'static str,
    given: Value,
}

/// Every user may read it and nobody change it, as the compose tools do it.
const USUAL_MODE: u32 = 0o444;

/// How a service gets a configuration or a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// This file is mounted.
    Mount(PathBuf),
    /// Only Podman has it.
    OfPodman,
    /// It has an owner or a mode that is no number.
    Unknown(String),
}

impl<'a> Declared<'a> {
    pub const CONFIGS: &'static str = "configs";
    pub const SECRETS: &'static str = "secrets";

    /// Takes them out of a document. What only Podman itself has stays there.
    pub fn take(document: &mut Map<String, Value>, directory: &'a Path) -> Declared<'a> {
        let mut sources = BTreeMap::new();
        for kind in [Declared::CONFIGS, Declared::SECRETS] {
            let Some(Value::Object(mut all)) = document.remove(kind) else { continue };
            all.retain(|name, one| {
                let content = match (one["file"].as_str(), one["content"].as_str()) {
                    (Some(file), _) => Content::Of(PathBuf::from(plain(file))),
                    (None, Some(content)) => Content::Text(plain(content)),
                    _ => return true,
                };
                sources.insert((kind, name.clone()), content);
                false
            });
            if !all.is_empty() {
                document.insert(kind.to_owned(), Value::Object(all));
            }
        }
        Declared { sources, files: BTreeMap::new(), directory }
    }

    /// How a service gets the one that it calls `name`, with the owner and the mode of `used`.
    pub fn way(&mut self, kind: &'static str, name: &str, used: &Value) -> Way {
        let Some(content) = self.sources.get(&(kind, name.to_owned())).cloned() else {
            return Way::OfPodman;
        };
        let access = match (&content, Access::of(used)) {
            (_, Err(wrong)) => return Way::Unknown(format!("{kind}: {name} ({wrong})")),
            (Content::Of(file), Ok(None)) => return Way::Mount(file.clone()),
            (_, Ok(access)) => access.unwrap_or(Access { owner: None, mode: USUAL_MODE }),
        };
        let file = MountedFile { content, access };
        let known = self.files.iter().find(|(_, known)| **known == file);
        if let Some((path, _)) = known {
            return Way::Mount(path.clone());
        }
        let path = self.directory.join(format!("{kind}-{}", self.files.len()));
        self.files.insert(path.clone(), file);
        Way::Mount(path)
    }
}

impl Access {
    /// `None`: nothing is said of it.
    fn of(used: &Value) -> Result<Option<Access>, NotANumber> {
        let id = |key: &'static str| {
            let wrong = || NotANumber { key, given: used[key].clone() };
            let text = |text: &str| text.parse::<u32>().map_err(|_| wrong());
            match &used[key] {
                Value::Null => Ok(None),
                Value::String(given) => text(given).map(Some),
                given => text(&given.to_string()).map(Some),
            }
        };
        let (uid, gid, mode) = (id("uid")?, id("gid")?, mode(&used["mode"])?);
        let owner = (uid.is_some() || gid.is_some()).then(|| (uid.unwrap_or(0), gid.unwrap_or(0)));
        let is_said = owner.is_some() || mode.is_some();
        Ok(is_said.then(|| Access { owner, mode: mode.unwrap_or(USUAL_MODE) }))
    }
}

/// The mode that a document asks for; `None`: none. As a text it is octal, and so is `0440`, which the parser reads as
/// 440.0: it is no whole number of YAML 1.2.
fn mode(given: &Value) -> Result<Option<u32>, NotANumber> {
    let wrong = || NotANumber { key: "mode", given: given.clone() };
    let octal = |text: &str| u32::from_str_radix(text, 8).ok();
    let found = match given {
        Value::Null => return Ok(None),
        Value::String(text) => octal(text.trim_start_matches("0o")),
        Value::Number(number) if number.is_f64() => {
            octal(number.to_string().trim_end_matches(".0"))
        }
        number => number.as_u64().and_then(|number| u32::try_from(number).ok()),
    };
    found.filter(|mode| *mode <= 0o7777).map(Some).ok_or_else(wrong)
}

/// What a service says of a secret that only Podman has, in the form in which Podman reads it: its mode is octal.
pub(crate) fn for_podman(used: &Value) -> Value {
    let mut used = used.clone();
    if let Ok(Some(mode)) = mode(&used["mode"]) {
        used["mode"] = json!(format!("{mode:04o}"));
    }
    used
}

impl MountedFile {
    /// Whether it belongs to a user of the container that is named.
    pub fn has_owner(&self) -> bool {
        self.access.owner.is_some()
    }

    /// Writes it. On this machine its directory keeps others out.
    ///
    /// # Errors
    /// It cannot be written, or the engine does not give it to its owner.
    pub fn write(&self, engine: &Engine, path: &Path) -> Result<(), ComposeError> {
        self.write_own(path).map_err(|error| ComposeError::unwritten(path, &error))?;
        let Some((uid, gid)) = self.access.owner else { return Ok(()) };
        if rustix::process::geteuid().is_root() {
            let changed = chown(path, Some(uid), Some(gid));
            return changed.map_err(|error| ComposeError::unwritten(path, &error));
        }
        // Without root, users of a container are others on this machine.
        let (owner, path) = (format!("{uid}:{gid}"), path.display().to_string());
        engine.run(&["unshare", "chown", &owner, &path]).map(drop)
    }

    fn write_own(&self, path: &Path) -> io::Result<()> {
        let bytes = match &self.content {
            Content::Of(file) => fs::read(file)?,
            Content::Text(text) => text.clone().into_bytes(),
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(&bytes)?;
        // Whatever the umask is.
        file.set_permissions(Permissions::from_mode(self.access.mode))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_mode_is_octal_where_it_is_a_text_and_a_number_where_it_is_one() {
        assert_eq!(mode(&json!("0440")), Ok(Some(0o440)));
        assert_eq!(mode(&json!("0o440")), Ok(Some(0o440)));
        assert_eq!(mode(&json!(288)), Ok(Some(0o440)));
        assert_eq!(mode(&Value::Null), Ok(None));
        for wrong in [json!("u=r"), json!(-1), json!(true), json!("99"), json!(99_999)] {
            assert_eq!(mode(&wrong), Err(NotANumber { key: "mode", given: wrong }));
        }
        let of = |text: &str| -> Value { serde_saphyr::from_str(text).expect("a value") };
        assert_eq!(mode(&of("0440")), Ok(Some(0o440)), "as compose files have it: {}", of("0440"));
        assert_eq!(mode(&of("0o440")), Ok(Some(0o440)));
        assert_eq!(mode(&of("'0440'")), Ok(Some(0o440)));
        let secret = for_podman(&json!({"source": "key", "mode": 288, "uid": "33"}));
        assert_eq!(secret, json!({"source": "key", "mode": "0440", "uid": "33"}));
    }

    #[test]
    fn owners_are_numbers() {
        let of = |used: Value| Access::of(&used);
        let access = |owner, mode| Ok(Some(Access { owner, mode }));
        assert_eq!(of(json!("name")), Ok(None));
        assert_eq!(of(json!({"source": "a", "target": "b"})), Ok(None));
        assert_eq!(
            of(json!({"uid": "33", "gid": 44, "mode": "0400"})),
            access(Some((33, 44)), 0o400)
        );
        assert_eq!(of(json!({"gid": "7"})), access(Some((0, 7)), USUAL_MODE));
        assert_eq!(of(json!({"mode": 0o600})), access(None, 0o600));
        assert_eq!(
            of(json!({"uid": "www-data"})),
            Err(NotANumber { key: "uid", given: json!("www-data") })
        );
    }

    #[test]
    fn a_file_is_written_as_it_is_asked_for() {
        let place = tempfile::tempdir().expect("a directory");
        let at = |name: &str| place.path().join(name);
        let metadata = |name: &str| fs::metadata(at(name)).expect("a file");
        fs::write(at("source"), "of the machine").expect("a file");
        let usual = Access { owner: None, mode: USUAL_MODE };
        let text = MountedFile { content: Content::Text("a".to_owned()), access: usual };
        text.write_own(&at("configs-0")).expect("a file");
        assert_eq!(metadata("configs-0").mode() & 0o7777, 0o444);
        let access = Access { owner: None, mode: 0o640 };
        let copy = MountedFile { content: Content::Of(at("source")), access };
        copy.write_own(&at("secrets-1")).expect("a file");
        assert_eq!(metadata("secrets-1").mode() & 0o7777, 0o640);
        assert_eq!(fs::read_to_string(at("secrets-1")).expect("a file"), "of the machine");
        assert!(copy.write_own(&at("secrets-1")).is_err(), "it is never another file");
    }
}
