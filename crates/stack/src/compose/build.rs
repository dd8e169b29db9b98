//! Builds and fetches the images of a project, once for all trials of a run.

use std::collections::BTreeMap;
use std::path::Path;

use stampede_compose::build::BuildPlan;
use stampede_compose::code::{CodeInImages, ImagesOfCode};
use stampede_compose::fetch::fetch_images;
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
    /// The code that comes from images in place of mounts.
    pub code: CodeInImages,
}

impl Builds {
    /// Makes sure that every image of the project is there. `directory` takes the files of the builds, for the
    /// stack `id`.
    ///
    /// # Errors
    /// A build or a fetch fails; the error has the tool's last lines.
    pub fn of(
        &mut self,
        resolved: &ResolvedProject,
        id: &str,
        directory: &Path,
    ) -> Result<&Built, ComposeError> {
        // What else differs is no reason for images of other names.
        let services = resolved.project.services();
        let images: Vec<String> = services
            .map(|(name, service)| format!("{name} {} {}", service["image"], service["build"]))
            .collect();
        let secrets = resolved.project.document.get("secrets");
        let directory_of = resolved.project.directory.display();
        let ResolvedProject { engine, project, source, .. } = resolved;
        let mounts = || project.services().map(|(_, service)| &service["volumes"]).collect();
        let code: Option<Vec<_>> = (source.code == CodePlace::Image).then(mounts);
        let what = format!("{directory_of}\n{images:?}{secrets:?}{:?}{code:?}", source.arguments());
        let key = sha256(lasting(what, &resolved.checkouts));
        if !self.0.contains_key(&key) {
            let hash = &key[..HASH_LENGTH];
            let plan = BuildPlan::of(project, &source.arguments(), hash, directory);
            plan.run(engine, project, hash, directory)?;
            fetch_images(engine, project, &plan.images)?;
            let mut built = Built { images: plan.images, code: CodeInImages::default() };
            if code.is_some() {
                let maker = ImagesOfCode { engine, stack: id, hash, directory };
                built.code = maker.of(project, &resolved.services(), &built.images)?;
                built.images.extend(built.code.images.clone());
            }
            self.0.insert(key.clone(), built);
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
