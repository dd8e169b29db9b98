//! Builds and fetches the images of a project, once for all trials of a run.

use std::collections::BTreeMap;
use std::path::Path;

use stampede_compose::build::BuildPlan;
use stampede_compose::code::{CodeInImages, ImagesOfCode};
use stampede_compose::fetch::fetch_images;
use stampede_compose::news::{self, News};
use stampede_plan::model::{Checkout, CodePlace};

use super::ResolvedProject;
use super::error::ComposeError;
use crate::answer::sha256;

/// The letters of a hash in an image's name.
pub(crate) const HASH_LENGTH: usize = 12;

/// What was built so far, by project.
#[derive(Debug, Default)]
pub(crate) struct Builds(BTreeMap<String, Built>);

/// What was built for a project.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built {
    /// The images of services that are built.
    pub images: BTreeMap<String, String>,
    /// The code that comes from images in place of mounts; `None`: it was not looked for.
    code: Option<CodeInImages>,
}

impl Builds {
    /// Makes sure that every image of the project is there. `directory` takes the files of the builds.
    ///
    /// # Errors
    /// A build or a fetch fails; the error has the tool's last lines.
    pub fn of(
        &mut self,
        resolved: &ResolvedProject,
        directory: &Path,
    ) -> Result<&BTreeMap<String, String>, ComposeError> {
        let key = key_of(resolved);
        if !self.0.contains_key(&key) {
            let ResolvedProject { engine, project, source, .. } = resolved;
            let hash = &key[..HASH_LENGTH];
            let plan = BuildPlan::of(project, &source.arguments(), hash, directory);
            plan.run(engine, project, hash, directory)?;
            fetch_images(engine, project, &plan.images)?;
            let built = Built { images: plan.images, code: None };
            self.0.insert(key.clone(), built);
        }
        Ok(&self.0[&key].images)
    }

    /// Puts mounted code into the images, if the row asks for it. Call it after [`Builds::of`], when the keeper of
    /// the stack `id` can remove what is left. Tells of what is new.
    ///
    /// # Errors
    /// The engine fails, or the code cannot be read.
    pub fn code(
        &mut self,
        resolved: &ResolvedProject,
        (row, id): (&str, &str),
        directory: &Path,
    ) -> Result<CodeInImages, ComposeError> {
        let key = key_of(resolved);
        let Some(built) = self.0.get_mut(&key) else { return Ok(CodeInImages::default()) };
        let ResolvedProject { engine, project, source, .. } = resolved;
        if source.code == CodePlace::Mounted {
            return Ok(CodeInImages::default());
        }
        if let Some(code) = &built.code {
            return Ok(code.clone());
        }
        let maker = ImagesOfCode { engine, stack: id, hash: &key[..HASH_LENGTH], directory };
        let code = maker.of(project, &resolved.services(), &built.images)?;
        code.services.iter().for_each(|service| news::tell(&News::Code { row, service }));
        Ok(built.code.insert(code).clone())
    }
}

/// What tells the images of a project from those of others. What else differs is no reason for images of
/// other names.
fn key_of(resolved: &ResolvedProject) -> String {
    let services = resolved.project.services();
    let images: Vec<String> = services
        .map(|(name, service)| format!("{name} {} {}", service["image"], service["build"]))
        .collect();
    let secrets = resolved.project.document.get("secrets");
    let directory_of = resolved.project.directory.display();
    let ResolvedProject { project, source, .. } = resolved;
    let mounts = || project.services().map(|(_, service)| &service["volumes"]).collect();
    let code: Option<Vec<_>> = (source.code == CodePlace::Image).then(mounts);
    let what = format!("{directory_of}\n{images:?}{secrets:?}{:?}{code:?}", source.arguments());
    sha256(lasting(what, &resolved.checkouts))
}

/// The same text for every copy of a version: the copies are elsewhere in each run.
fn lasting(text: String, checkouts: &[Checkout]) -> String {
    checkouts.iter().fold(text, |text, Checkout { top, tree, commit }| {
        let named = format!("{}@{commit}", top.display());
        text.replace(&tree.display().to_string(), &named)
    })
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
