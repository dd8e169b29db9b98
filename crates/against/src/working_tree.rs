//! Where an app's working tree stands in its git repository, so that a run can be found by its commit.

use stampede_model::record::WorkingTreeRecord;
use stampede_plan::model::{AppChoice, AppPlace};

use super::git::Repository;

/// The commit of the first app that git knows. `None`: git is not installed, or no app is in a
/// repository of this user that has the app's directory in its last commit. A comparison needs no
/// git, so none of these is an error.
pub fn working_tree(apps: &[AppChoice]) -> Option<WorkingTreeRecord> {
    apps.iter().find_map(|app| match &app.place {
        AppPlace::Directory(directory) => of(&Repository::find(directory).ok()?),
        AppPlace::Named(_) | AppPlace::Provided => None,
    })
}

fn of(repository: &Repository) -> Option<WorkingTreeRecord> {
    let commit = repository.commit("HEAD").ok()?;
    // A home directory may be a repository that ignores the apps in it.
    if !repository.has_directory(&commit) {
        return None;
    }
    Some(WorkingTreeRecord { commit })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(directory: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(directory).env("HOME", directory).env("GIT_CONFIG_NOSYSTEM", "1");
        git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args);
        assert!(git.output().expect("git starts").status.success(), "git {args:?}");
    }

    fn app(directory: &Path) -> AppChoice {
        let named = AppChoice::named("shop".to_owned());
        AppChoice { place: AppPlace::Directory(directory.to_path_buf()), ..named }
    }

    #[test]
    fn the_first_app_in_a_repository_names_the_commit() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = |name: &str| {
            let place = directory.path().join(name);
            fs::create_dir_all(&place).expect("a directory");
            place
        };
        let (home, shop, plain) = (place("home"), place("home/shop"), place("plain"));
        git(&home, &["init", "--quiet"]);
        assert_eq!(working_tree(&[app(&shop)]), None, "there is no commit yet");
        fs::write(shop.join("index.php"), "<?php").expect("written");
        git(&home, &["add", "--all"]);
        git(&home, &["commit", "--quiet", "--message", "first"]);

        let apps = [AppChoice::named("hello".into()), app(&plain), app(&shop)];
        let first = working_tree(&apps).expect("the third app is in a repository");
        assert_eq!(first.commit.len(), 40, "{first:?}");
        fs::write(shop.join("new.php"), "<?php").expect("written");
        assert_eq!(
            working_tree(&apps).as_ref(),
            Some(&first),
            "what no commit has changes nothing"
        );
        git(&home, &["add", "--all"]);
        git(&home, &["commit", "--quiet", "--message", "second"]);
        let second = working_tree(&apps).expect("a commit");
        assert_ne!(second, first);

        let ignored = place("home/ignored");
        assert_eq!(working_tree(&[app(&ignored)]), None, "the commit does not have it");
    }
}
