//! Another version of the repositories that a plan's compose projects are in. Their images are built
//! from its files, and what they mount is taken from there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use stampede_model::fact::Notice;
use stampede_plan::model::{AppChoice, Checkout, Plan, RuntimeSource};

use super::error::AgainstError;
use super::{AgainstRequest, Copy, Keeper, VersionedApp, private_directory};

/// The repositories of the plan's compose projects, each once. A project is where its first file is.
///
/// # Errors
/// A project is in no repository, or the revision does not exist or lacks the file.
pub(super) fn repositories(plan: &Plan, rev: &str) -> Result<Vec<VersionedApp>, AgainstError> {
    let mut all: Vec<VersionedApp> = Vec::new();
    for choice in &plan.stack.runtimes {
        let RuntimeSource::Compose(source) = &choice.source else { continue };
        // A file that does not exist is reported as such when the project is read.
        let Some(file) = source.files.first().and_then(|file| file.canonicalize().ok()) else {
            continue;
        };
        let at = |found: &VersionedApp| file.starts_with(&found.repository.top);
        if !all.iter().any(at) {
            let directory = if file.is_dir() { Some(file.as_path()) } else { file.parent() };
            let top = super::git::Repository::find(directory.unwrap_or(Path::new("/")))?.top;
            all.push(VersionedApp::find(&AppChoice::directory(top), rev)?);
        }
        let known = all.iter().find(|known| file.starts_with(&known.repository.top));
        let place = known.and_then(|known| {
            let place = file.strip_prefix(&known.repository.top).ok()?;
            (!known.repository.has_path(&known.commit, place)).then(|| place.to_owned())
        });
        if let Some(file) = place {
            return Err(AgainstError::NoComposeFile { rev: rev.to_owned(), file });
        }
    }
    Ok(all)
}

/// A repository's other version, what is said about it, and the files that git does not have.
pub(super) type Made = (Checkout, Notice, Vec<String>);

/// Takes the version out of each repository into a directory of its own below `directory`.
///
/// # Errors
/// As [`super::add`].
pub(super) fn check_out(
    found: &[VersionedApp],
    directory: &Path,
    request: AgainstRequest<'_>,
    keeper: &Keeper,
) -> Result<Vec<Made>, AgainstError> {
    let one = |(number, found): (usize, &VersionedApp)| {
        let own = directory.join(format!("project-{number}"));
        private_directory(&own)?;
        let copy = Copy { found, own: &own, request, keeper };
        let (tree, brought) = copy.tree(|place| is_of_owner(&found.directory, place))?;
        let brought: Vec<String> = brought.iter().map(|path| path.display().to_string()).collect();
        let notice = Notice::Against(found.versions(request.rev, &brought)?);
        let top = found.repository.top.canonicalize();
        let top = top.unwrap_or_else(|_| found.repository.top.clone());
        Ok((Checkout { top, tree, commit: found.commit.clone() }, notice, brought))
    };
    found.iter().enumerate().map(one).collect()
}

/// Whether a file is of the directory's owner. What others own is data that services wrote: it is
/// mounted from where it is, since a copy would lose its owners.
fn is_of_owner(directory: &Path, place: &Path) -> bool {
    let owner = |path: &Path| fs::symlink_metadata(path).map(|found| found.uid()).ok();
    owner(directory) == owner(&directory.join(place))
}
