//! Builds and fetches the images of a project, once for all trials of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use stampede_compose::build_log::logged_build;
use stampede_compose::fetch::{check_architecture, fetch_image};
use stampede_plan::model::Checkout;

use super::ResolvedProject;
use super::error::ComposeError;
use crate::answer::sha256;

/// The prefix of the images that stampede builds.
pub(crate) const BUILT: &str = "stampede-build";
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
        let document = Value::Object(resolved.project.document.clone());
        let directory_of = resolved.project.directory.display();
        let what = format!("{directory_of}\n{document}{:?}", resolved.source.arguments());
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
    let mut document = project.document.clone();
    document.remove("name");
    document.retain(|key, _| !key.starts_with("x-"));
    let arguments = source.arguments();
    let mut images = BTreeMap::new();
    // The name that an image has in the project → our own. Other services may use it too.
    let mut renamed = BTreeMap::new();
    if let Some(Value::Object(services)) = document.get_mut("services") {
        for (name, service) in services.iter_mut() {
            let Value::Object(service) = service else { continue };
            if add_arguments(service, &arguments) {
                let image = format!("{BUILT}/{hash}-{}:latest", image_name(name));
                let given = service.insert("image".to_owned(), json!(image));
                let given = given.as_ref().and_then(Value::as_str).map(str::to_owned);
                renamed.extend(given.map(|given| (given, image.clone())));
                images.insert(name.clone(), image);
            }
        }
    }
    let built: Vec<String> = images.keys().cloned().collect();
    for (name, service) in
        project.services().filter(|(name, _)| !built.iter().any(|one| one == name))
    {
        let own = service["image"].as_str().and_then(|image| renamed.get(image));
        images.extend(own.map(|own| (name.to_owned(), own.clone())));
    }
    if images.is_empty() {
        return Ok(images);
    }
    let file = directory.join("build.json");
    let unwritten = |error: std::io::Error| ComposeError::Tool {
        command: format!("write {}", file.display()),
        said: error.to_string(),
        example: None,
    };
    super::start::write_private(&file, &Value::Object(document).to_string()).map_err(unwritten)?;
    let project_name = format!("{BUILT}-{hash}");
    // Version 2 builds without containers, or removes them by itself.
    let removes = ["--force-rm"].into_iter().filter(|_| engine.is_compose_v1());
    let words: Vec<&str> = ["-p", &project_name, "build"]
        .into_iter()
        .chain(removes)
        .chain(built.iter().map(String::as_str))
        .collect();
    let command = engine.compose(std::slice::from_ref(&file), &project.directory, &words);
    let built = logged_build(command, &engine.compose_name("build"), hash);
    let _ = fs::remove_file(&file);
    built.map(|()| images)
}

/// Adds arguments to the build of a service. Returns whether it is built at all.
fn add_arguments(service: &mut Map<String, Value>, arguments: &BTreeMap<String, String>) -> bool {
    let Some(build) = service.get_mut("build") else { return false };
    if build.is_null() {
        return false;
    }
    if let Value::String(context) = build {
        *build = json!({"context": context});
    }
    let Value::Object(build) = build else { return false };
    // They would replace the user's images and caches.
    build.remove("tags");
    build.remove("cache_to");
    if !arguments.is_empty() {
        let mut all = super::edit::variables(build.get("args").unwrap_or(&Value::Null));
        // A `$` would be read as the begin of a name.
        let escaped = |value: &String| json!(value.replace('$', "$$"));
        all.extend(arguments.iter().map(|(name, value)| (name.clone(), escaped(value))));
        build.insert("args".to_owned(), Value::Object(all.into_iter().collect()));
    }
    true
}

/// A service's name in the form that names of images have.
fn image_name(service: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    service.chars().map(fits).collect()
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

    #[test]
    fn arguments_are_added_to_every_form_of_a_build() {
        let arguments = BTreeMap::from([("PHP".to_owned(), "8.4".to_owned())]);
        let built = |service: Value| {
            let Value::Object(mut service) = service else { panic!("a map") };
            let is_built = add_arguments(&mut service, &arguments);
            (is_built, service.get("build").cloned().unwrap_or_default())
        };
        let of_args = |args: Value| json!({"context": "/srv", "args": args});
        assert_eq!(built(json!({"build": "/srv"})), (true, of_args(json!({"PHP": "8.4"}))));
        let list = json!({"build": of_args(json!(["A=1", "PHP=8.2"]))});
        assert_eq!(built(list), (true, of_args(json!({"A": "1", "PHP": "8.4"}))));
        assert_eq!(built(json!({"image": "nginx"})), (false, Value::Null));
        assert!(!built(json!({"image": "nginx", "build": null})).0);
        assert_eq!(image_name("My_App.1"), "my-app-1");
    }
}
