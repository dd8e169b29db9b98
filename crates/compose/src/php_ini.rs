//! Gives the PHP of services further files of php.ini: values that a run asks for, and what proves which PHP
//! serves.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::{Map, Value, json};
use stampede_model::ini_text::ini_text;

use crate::edit::variables;
use crate::engine::Engine;
use crate::project::Project;
use crate::variables::doubled;

/// The variable that names the directories with further files of php.ini.
const SCANNED: &str = "PHP_INI_SCAN_DIR";
/// Where the values that a run asks for are in a container.
const AT: &str = "/stampede-ini";
/// The name is read last of those in a directory.
const FILE: &str = "zz-stampede.ini";

/// What the PHP of one service reads beside its own files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhpFiles {
    /// Mounts as a document has them.
    mounts: Vec<Value>,
    /// The value of [`SCANNED`]. An empty part of it stands for the directory that PHP was built with, and an empty
    /// value for none. `None`: the variable is not set.
    scanned: Option<String>,
}

impl PhpFiles {
    /// What each of these services reads of itself. `images`: those of services that are built.
    pub fn of(
        engine: &Engine,
        project: &Project,
        services: &[String],
        images: &BTreeMap<String, String>,
        env: &BTreeMap<String, String>,
    ) -> BTreeMap<String, PhpFiles> {
        let of = |name: &String| {
            let service = project.service(name).unwrap_or(&Value::Null);
            let image = images.get(name).map(String::as_str).or(service["image"].as_str());
            let of_run = env.get(SCANNED).map(|value| doubled(value));
            let scanned = of_run.or_else(|| scanned_by(engine, service, image.unwrap_or_default()));
            (name.clone(), PhpFiles { mounts: Vec::new(), scanned })
        };
        services.iter().map(of).collect()
    }

    /// Adds mounts, of which one has this directory with files of php.ini.
    pub fn add(&mut self, mounts: impl IntoIterator<Item = Value>, directory: &str) {
        self.mounts.extend(mounts);
        self.scanned = Some(match self.scanned.as_deref() {
            Some("") => directory.to_owned(),
            given => format!("{}:{directory}", given.unwrap_or_default()),
        });
    }

    /// Adds it to a service.
    pub(crate) fn add_to(&self, service: &mut Map<String, Value>) {
        if self.mounts.is_empty() {
            return;
        }
        let given = service.get("volumes").and_then(Value::as_array).cloned().unwrap_or_default();
        let mounts = given.into_iter().chain(self.mounts.iter().cloned());
        service.insert("volumes".to_owned(), mounts.collect());
        let mut all = variables(service.get("environment").unwrap_or(&Value::Null));
        all.insert(SCANNED.to_owned(), json!(self.scanned));
        service.insert("environment".to_owned(), Value::Object(all.into_iter().collect()));
    }
}

/// Lets the services read these values after all files of their own. They are written below `directory`.
///
/// # Errors
/// They cannot be written.
pub fn add_values(
    all: &mut BTreeMap<String, PhpFiles>,
    values: &BTreeMap<String, String>,
    directory: &Path,
) -> io::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let line = |(name, value): (&String, &String)| match ini_text(value) {
        Ok(value) => Ok(format!("{name} = {value}\n")),
        Err(problem) => Err(io::Error::new(io::ErrorKind::InvalidInput, problem)),
    };
    let text = values.iter().map(line).collect::<io::Result<String>>()?;
    let place = directory.join("ini");
    // Users of containers are other ones than ours.
    fs::DirBuilder::new().mode(0o755).create(&place)?;
    fs::set_permissions(&place, Permissions::from_mode(0o755))?;
    fs::write(place.join(FILE), text)?;
    fs::set_permissions(place.join(FILE), Permissions::from_mode(0o644))?;
    let source = doubled(&place.display().to_string());
    let mount = json!({"type": "bind", "source": source, "target": AT, "read_only": true});
    all.values_mut().for_each(|files| files.add([mount.clone()], AT));
    Ok(())
}

/// The value of [`SCANNED`] that a service has, from the project or from its image.
fn scanned_by(engine: &Engine, service: &Value, image: &str) -> Option<String> {
    match variables(&service["environment"]).get(SCANNED).and_then(Value::as_str) {
        Some(value) => Some(value.to_owned()),
        None => engine.image_variables(image).remove(SCANNED).map(|value| doubled(&value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_after_those_of_the_service() {
        let place = tempfile::tempdir().unwrap();
        let files = |scanned: Option<&str>| PhpFiles {
            mounts: Vec::new(),
            scanned: scanned.map(str::to_owned),
        };
        let mut all = BTreeMap::from([
            ("php".to_owned(), files(None)),
            ("web".to_owned(), files(Some(":/app"))),
        ]);
        add_values(&mut all, &BTreeMap::new(), place.path()).unwrap();
        assert_eq!(all["php"], files(None), "nothing is asked for");
        let value = |value: &str| BTreeMap::from([("memory_limit".to_owned(), value.to_owned())]);
        let refused = add_values(&mut all, &value("${A}'"), place.path()).unwrap_err();
        assert!(refused.to_string().contains("php.ini cannot have"), "{refused}");
        add_values(&mut all, &value("1G"), place.path()).unwrap();
        all.get_mut("web").unwrap().add([json!("/p:/stampede:ro")], "/stampede/php");
        let mut service =
            json!({"volumes": ["./a:/a"], "environment": ["A=1", "PHP_INI_SCAN_DIR=:/app"]});
        all["web"].add_to(service.as_object_mut().unwrap());
        let source = format!("{}/ini", place.path().display());
        let mount =
            json!({"type": "bind", "source": source, "target": "/stampede-ini", "read_only": true});
        assert_eq!(
            service,
            json!({
                "volumes": ["./a:/a", mount, "/p:/stampede:ro"],
                "environment": {"A": "1", "PHP_INI_SCAN_DIR": ":/app:/stampede-ini:/stampede/php"},
            })
        );
        let mut nothing = files(Some(""));
        nothing.add([json!("/p:/stampede:ro")], "/stampede/php");
        assert_eq!(nothing.scanned.as_deref(), Some("/stampede/php"), "no other directory");
        let mut bare = json!({});
        all["php"].add_to(bare.as_object_mut().unwrap());
        assert_eq!(bare["environment"]["PHP_INI_SCAN_DIR"], ":/stampede-ini");
        let file = place.path().join("ini/zz-stampede.ini");
        assert_eq!(fs::read_to_string(&file).unwrap(), "memory_limit = 1G\n");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    }
}
