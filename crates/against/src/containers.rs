//! Another version of the repositories that a plan's compose projects are in. Their images are built
//! from its files, and what they mount is taken from there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use stampede_model::fact::Notice;
use stampede_plan::model::{AppChoice, Checkout, Plan, RuntimeSource};
use stampede_stack::unprivileged;

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
        let copy = Copy { found, own: &own, request, keeper, user: unprivileged() };
        let (tree, brought) = copy.tree(|place| is_of_owner(&found.directory, place))?;
        take_after(&tree, &found.directory);
        let brought: Vec<String> = brought.iter().map(|path| path.display().to_string()).collect();
        let notice = Notice::Against(found.versions(request.rev, &brought)?);
        let top = found.repository.top.canonicalize();
        let top = top.unwrap_or_else(|_| found.repository.top.clone());
        Ok((Checkout { top, tree, commit: found.commit.clone() }, notice, brought))
    };
    found.iter().enumerate().map(one).collect()
}

/// Gives what is in a copy the owners of the original, and its directories their modes: services work as
/// users of their own, and write where the original lets them. A user who may not do so is the owner.
fn take_after(copy: &Path, original: &Path) {
    let Ok(found) = fs::symlink_metadata(original) else { return };
    let _ = std::os::unix::fs::lchown(copy, Some(found.uid()), Some(found.gid()));
    let is_directory = fs::symlink_metadata(copy).is_ok_and(|copy| copy.is_dir());
    if !is_directory || !found.is_dir() {
        return;
    }
    let _ = fs::set_permissions(copy, found.permissions());
    for entry in fs::read_dir(copy).into_iter().flatten().flatten() {
        take_after(&entry.path(), &original.join(entry.file_name()));
    }
}

/// Whether a file is of the directory's owner. What others own is data that services wrote: it is
/// mounted from where it is, since a copy would lose its owners.
fn is_of_owner(directory: &Path, place: &Path) -> bool {
    let owner = |path: &Path| fs::symlink_metadata(path).map(|found| found.uid()).ok();
    owner(directory) == owner(&directory.join(place))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_copy_has_the_modes_of_the_directories_that_both_versions_have() {
        let place = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        let make = |version: &str, name: &str, mode: u32| {
            let path = place.path().join(version).join(name);
            fs::create_dir_all(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (copy, original) = (make("copy", "", 0o700), make("original", "", 0o755));
        make("original", "storage/logs", 0o2777);
        let logs = make("copy", "storage/logs", 0o755);
        let own = make("copy", "only-here", 0o750);
        fs::write(copy.join("file"), "").unwrap();
        fs::write(original.join("file"), "").unwrap();
        take_after(&copy, &original);
        assert_eq!((mode(&copy), mode(&logs), mode(&own)), (0o755, 0o2777, 0o750));
        assert!(is_of_owner(&original, Path::new("file")));
    }
}
