//! What is linked into the binary, as `cargo metadata` tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{DistError, printed, read};
use crate::ci::cargo_program;
use crate::error::ChoreError;

/// A crate in the binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// The crate's name.
    pub name: String,
    /// The crate's version.
    pub version: String,
    /// The licence as an SPDX expression.
    pub licence: String,
    /// The people whom the manifest names.
    pub authors: Vec<String>,
    /// The address of the source.
    pub repository: Option<String>,
    /// The hash of the package in the registry, SHA-256; `None`: a crate of this workspace.
    pub checksum: Option<String>,
    /// The directory of the source.
    pub directory: PathBuf,
    /// What it uses: names with versions, sorted.
    pub uses: BTreeSet<(String, String)>,
}

impl Crate {
    /// Whether it comes from the registry.
    pub fn is_foreign(&self) -> bool {
        self.checksum.is_some()
    }
}

/// The crates in a binary: the program itself and everything that it uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linked {
    /// By name and version.
    pub crates: BTreeMap<(String, String), Crate>,
    program: (String, String),
}

impl Linked {
    /// The program's version.
    pub fn version(&self) -> &str {
        &self.program.1
    }

    /// The program's name and version.
    pub fn program(&self) -> &(String, String) {
        &self.program
    }
}

/// Asks cargo what is linked for a target.
///
/// # Errors
/// Cargo fails, or prints something that is not understood.
pub fn linked(root: &Path, triple: &str) -> Result<Linked, ChoreError> {
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", triple];
    let printed = printed(Command::new(cargo_program()).args(arguments).current_dir(root))?;
    let metadata: Value =
        serde_json::from_str(&printed).map_err(|_| DistError::Metadata { lacks: "JSON" })?;
    let lock = read(root.join("Cargo.lock"))?;
    Ok(of_metadata(&metadata, &checksums(&lock))?)
}

fn of_metadata(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Linked, DistError> {
    let by_id = |list: &Value| -> BTreeMap<String, Value> {
        let list = list.as_array().into_iter().flatten();
        list.map(|one| (text(&one["id"]), one.clone())).collect()
    };
    let packages = by_id(&metadata["packages"]);
    let nodes = by_id(&metadata["resolve"]["nodes"]);
    let program = packages
        .iter()
        .find(|(_, package)| package["name"] == "stampede" && package["source"].is_null())
        .map(|(id, _)| id.clone())
        .ok_or(DistError::Metadata { lacks: "package `stampede`" })?;
    let mut crates = BTreeMap::new();
    let mut waiting = vec![program.clone()];
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !seen.insert(id.clone()) {
            continue;
        }
        let lacks = DistError::Metadata { lacks: "package for a dependency" };
        let (Some(package), Some(node)) = (packages.get(&id), nodes.get(&id)) else {
            return Err(lacks);
        };
        let used: Vec<String> =
            uses(node).into_iter().filter(|id| !is_macro(packages.get(id))).collect();
        let one = Crate {
            uses: used.iter().filter_map(|id| packages.get(id)).map(key).collect(),
            checksum: checksums.get(&key(package)).cloned(),
            ..of_package(package)?
        };
        crates.insert(key(package), one);
        waiting.extend(used);
    }
    let program = key(&packages[&program]);
    Ok(Linked { crates, program })
}

/// The ids of what a crate uses when it runs. What only its build uses is not in the binary.
fn uses(node: &Value) -> Vec<String> {
    let runs = |one: &&Value| {
        let kinds = one["dep_kinds"].as_array().into_iter().flatten();
        kinds.into_iter().any(|kind| kind["kind"].is_null())
    };
    let uses = node["deps"].as_array().into_iter().flatten();
    uses.filter(runs).map(|one| text(&one["pkg"])).collect()
}

/// A macro runs in the compiler.
fn is_macro(package: Option<&Value>) -> bool {
    let targets = package.and_then(|package| package["targets"].as_array());
    let mut kinds = targets.into_iter().flatten().filter_map(|target| target["kind"].as_array());
    kinds.any(|kinds| kinds.iter().any(|kind| kind == "proc-macro"))
}

fn of_package(package: &Value) -> Result<Crate, DistError> {
    let (name, version) = key(package);
    let licence = package["license"]
        .as_str()
        .map(spdx)
        .ok_or_else(|| DistError::NoLicence { part: format!("{name} {version}") })?;
    let manifest = PathBuf::from(text(&package["manifest_path"]));
    let authors = package["authors"].as_array().into_iter().flatten().map(text).collect();
    Ok(Crate {
        name,
        version,
        licence,
        authors,
        repository: package["repository"].as_str().map(str::to_owned),
        checksum: None,
        directory: manifest.parent().map(Path::to_owned).unwrap_or_default(),
        uses: BTreeSet::new(),
    })
}

/// Older manifests have a `/` where SPDX has `OR`.
fn spdx(licence: &str) -> String {
    licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
}

fn key(package: &Value) -> (String, String) {
    (text(&package["name"]), text(&package["version"]))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The hashes of packages in a lock file.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let package = |part: &str| {
        let field = |name: &str| {
            let start = format!("{name} = \"");
            let line = part.lines().find_map(|line| line.strip_prefix(&start))?;
            line.strip_suffix('"').map(str::to_owned)
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    };
    lock.split("[[package]]").filter_map(package).collect()
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;

    /// A program that uses `b` of the registry, which uses a macro and, for its build, `c`.
    pub fn sample() -> Linked {
        let package = |name: &str, source: Value, kind: &str| {
            json!({
                "id": name, "name": name, "version": "1.0", "source": source,
                "license": "MIT/Apache-2.0", "authors": ["A. Person"], "repository": null,
                "manifest_path": format!("/registry/{name}/Cargo.toml"),
                "targets": [{ "kind": [kind] }],
            })
        };
        let uses =
            |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("stampede", Value::Null, "bin"),
                package("b", json!("registry"), "lib"),
                package("m", json!("registry"), "proc-macro"),
                package("c", json!("registry"), "lib"),
                package("t", json!("registry"), "lib"),
            ],
            "resolve": { "nodes": [
                { "id": "stampede", "deps": [uses("b", Value::Null), uses("t", json!("dev"))] },
                { "id": "b", "deps": [uses("m", Value::Null), uses("c", json!("build"))] },
                { "id": "m", "deps": [] }, { "id": "c", "deps": [] }, { "id": "t", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0\"\nchecksum = \"b0\"\n\n\
                    [[package]]\nname = \"stampede\"\nversion = \"1.0\"\n";
        of_metadata(&metadata, &checksums(lock)).expect("a program")
    }

    #[test]
    fn only_what_the_binary_runs_is_linked() {
        let linked = sample();
        let names: Vec<_> = linked.crates.values().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["b", "stampede"]);
        let b = &linked.crates[&("b".to_owned(), "1.0".to_owned())];
        assert_eq!((b.checksum.as_deref(), b.uses.len()), (Some("b0"), 0));
        assert_eq!(b.licence, "MIT OR Apache-2.0");
        let program = &linked.crates[linked.program()];
        assert!(!program.is_foreign() && b.is_foreign());
        assert_eq!(program.uses.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_crate_without_a_licence_is_refused() {
        let package = json!({ "name": "x", "version": "2.0", "license": null });
        let error = of_package(&package).expect_err("no licence").to_string();
        assert_eq!(error, "`x 2.0` names no licence");
    }
}
