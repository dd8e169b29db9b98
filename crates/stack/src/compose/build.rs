//! Builds and fetches the images of a project, once for all trials of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use stampede_compose::build::{BUILT, BuildPlan};
use stampede_compose::fetch::{check_architecture, fetch_image};
use stampede_plan::model::Checkout;

use super::ResolvedProject;
use super::error::ComposeError;
use crate::answer::sha256;

/// The letters of a hash in an image's name.
pub(crate) const HASH_LENGTH: usize = 12;

/// The images that were built so far, by project.
#[derive(Debug, Default)]
pub(crate) struct Builds(BTreeMap<String, BTreeMap<String, String>>);

impl Builds {
    /// Makes sure that every image of the project is there. Returns the images of the services that
    /// are built. `directory` takes the file and the log of the build.
    ///
    /// # Errors
    /// A build or a fetch fails; the error has the tool's last lines.
    pub fn of(
        &mut self,
        resolved: &ResolvedProject,
        directory: &Path,
    ) -> Result<&BTreeMap<String, String>, ComposeError> {
        // What else differs is no reason for images of other names.
        let services = resolved.project.services();
        let images: Vec<String> = services
            .map(|(name, service)| format!("{name} {} {}", service["image"], service["build"]))
            .collect();
        let secrets = resolved.project.document.get("secrets");
        let directory_of = resolved.project.directory.display();
        let what =
            format!("{directory_of}\n{images:?}{secrets:?}{:?}", resolved.source.arguments());
        let key = sha256(lasting(what, &resolved.checkouts));
        if !self.0.contains_key(&key) {
            let images = build(resolved, &key[..HASH_LENGTH], directory)?;
            fetch(resolved, &images)?;
            check_architectures(resolved, &images)?;
            self.0.insert(key.clone(), images);
        }
        Ok(&self.0[&key])
    }
}

/// The same text for every copy of a version: the copies are elsewhere in each run.
fn lasting(text: String, checkouts: &[Checkout]) -> String {
    checkouts.iter().fold(text, |text, Checkout { top, tree, commit }| {
        let named = format!("{}@{commit}", top.display());
        text.replace(&tree.display().to_string(), &named)
    })
}

/// Builds the services with `build`, under image names of our own: the user's images keep theirs.
fn build(
    resolved: &ResolvedProject,
    hash: &str,
    directory: &Path,
) -> Result<BTreeMap<String, String>, ComposeError> {
    let ResolvedProject { engine, project, source, .. } = resolved;
    let plan = BuildPlan::of(project, &source.arguments(), hash, directory);
    if plan.steps.is_empty() {
        return Ok(plan.images);
    }
    let file = directory.join("build.json");
    let mut files = plan.files.clone();
    files.insert(file.clone(), Value::Object(plan.document.clone()).to_string());
    for (path, text) in &files {
        let unwritten = |error: std::io::Error| ComposeError::Tool {
            command: format!("write {}", path.display()),
            said: error.to_string(),
            example: None,
        };
        super::start::write_private(path, text).map_err(unwritten)?;
    }
    let project_name = format!("{BUILT}-{hash}");
    let built = plan.run(engine, hash, &file, (&project_name, &project.directory));
    for path in files.keys() {
        let _ = fs::remove_file(path);
    }
    built.map(|()| plan.images)
}

/// Fetches the images that are not here yet, so that no trial waits for a registry.
fn fetch(resolved: &ResolvedProject, built: &BTreeMap<String, String>) -> Result<(), ComposeError> {
    let engine = &resolved.engine;
    for (name, service) in
        resolved.project.services().filter(|(name, _)| !built.contains_key(*name))
    {
        let Some(image) = service["image"].as_str() else {
            return Err(ComposeError::NoImage { service: name.to_owned() });
        };
        fetch_image(engine, image)?;
    }
    Ok(())
}

/// Refuses images for another architecture: the engine would run them in an emulator, if at all.
fn check_architectures(
    resolved: &ResolvedProject,
    built: &BTreeMap<String, String>,
) -> Result<(), ComposeError> {
    let engine = &resolved.engine;
    for (name, service) in resolved.project.services() {
        let own = built.get(name).map(String::as_str).or_else(|| service["image"].as_str());
        check_architecture(engine, name, own.unwrap_or_default())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_images_of_a_version_have_the_same_name_in_every_run() {
        let checkout = |tree: &str| Checkout {
            top: "/srv/shop".into(),
            tree: tree.into(),
            commit: "4f1e".to_owned(),
        };
        let name = |tree: &str| lasting(format!("{tree}/docker {tree}"), &[checkout(tree)]);
        assert_eq!(name("/tmp/one/shop"), "/srv/shop@4f1e/docker /srv/shop@4f1e");
        assert_eq!(name("/tmp/one/shop"), name("/tmp/two/shop"));
    }
}
