//! Decides at which path the processes of a stack see the app's copy.
//!
//! Configuration of many apps names the app's own directory by its whole path. So where the machine
//! allows mounts, the copy takes the place of the original for the stack's processes: what they read
//! and write there is the copy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stampede_keeper::spec::BindMount;

use super::user::User;
use super::working_directory::{COPY, is_plain, may_enter};
use crate::app::App;
use crate::copy::{SettingsPaths, is_left_out};
use crate::locate::ResolvedNeed;

/// The paths under which the app's copy is known.
#[derive(Clone, Debug)]
pub(crate) struct AppPath {
    /// The copy, in the working directory.
    copy: PathBuf,
    /// The app's own directory, where the stack sees the copy; `None`: it sees the original there.
    bind: Option<BindMount>,
}

/// Directories that a stack must see as they are.
const OF_THE_SYSTEM: [&str; 12] = [
    "/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr",
    "/var",
];
/// Directories in which nothing can take the place of anything.
const OF_THE_KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

impl AppPath {
    /// Decides for the app in the working directory `dir`. `can_bind`: whether the machine allows
    /// mounts.
    pub fn of(
        app: &App,
        dir: &Path,
        needs: &BTreeMap<String, ResolvedNeed>,
        user: Option<&User>,
        can_bind: bool,
    ) -> AppPath {
        let copy = dir.join(COPY);
        let home = app.home.as_deref().filter(|_| can_bind);
        let bind = home.and_then(|home| bind_mount(&copy, home, user));
        let paths = || needs.values().map(|need| need.path.as_path()).chain([dir]);
        let bind = bind.filter(|bind| paths().all(|path| stays(path, bind)));
        AppPath { copy, bind }
    }

    /// The same, where the processes may run in containers: there nothing takes the place of a directory
    /// above the app.
    pub fn in_containers(self, are_containers: bool) -> AppPath {
        let bind = self.bind.filter(|bind| !are_containers || bind.cover.is_none());
        AppPath { bind, ..self }
    }

    /// The app is only known by the path of its copy in the working directory `dir`.
    pub fn in_copy(dir: &Path) -> AppPath {
        AppPath { copy: dir.join(COPY), bind: None }
    }

    /// The app's directory, as configuration files name it. A path that would need quotes is not
    /// written into them: the same files are at the copy's own path, too.
    pub fn directory(&self) -> &Path {
        let home = self.bind.as_ref().map(|bind| bind.target.as_path());
        home.filter(|home| is_plain(home)).unwrap_or(&self.copy)
    }

    /// The app's public directory, as configuration files name it.
    pub fn docroot(&self, app: &App) -> PathBuf {
        match app.manifest.docroot.as_str() {
            "." => self.directory().to_path_buf(),
            docroot => self.directory().join(docroot),
        }
    }

    /// What the keeper is asked to show at the app's own path.
    pub fn bind(&self) -> Option<BindMount> {
        self.bind.clone()
    }

    /// What becomes of whole paths in the copy's settings files.
    pub fn settings_paths<'a>(&self, app: &'a App) -> SettingsPaths<'a> {
        match &self.bind {
            Some(_) => SettingsPaths::Kept,
            None => SettingsPaths::Rewritten { home: app.home.as_deref() },
        }
    }

    /// `path`, relative to the app's directory if it is below it.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        let home = self.bind.as_ref().map(|bind| bind.target.as_path());
        let below = |directory: &Path| path.strip_prefix(directory).ok();
        below(&self.copy).or_else(|| below(home?)).unwrap_or(path)
    }

    /// `text` with paths below the app's directory made relative to it.
    pub fn relative_in(&self, text: &str) -> String {
        let home = self.bind.as_ref().map(|bind| bind.target.as_path());
        let directories = [Some(self.copy.as_path()), home].into_iter().flatten();
        directories.fold(text.to_owned(), |text, directory| {
            text.replace(&format!("{}/", directory.display()), "")
        })
    }
}

/// What shows the copy of an app at the app's own path `home`; `None`: the copy cannot take its place.
pub fn bind_mount(copy: &Path, home: &Path, user: Option<&User>) -> Option<BindMount> {
    can_be_replaced(home, copy).then(|| BindMount {
        source: copy.to_path_buf(),
        target: home.to_path_buf(),
        cover: cover(home, user),
    })
}

/// Whether processes work if the app's copy takes the place of `home`.
fn can_be_replaced(home: &Path, copy: &Path) -> bool {
    let is_above = |path: &Path| path.starts_with(home);
    !is_above(copy)
        && !OF_THE_SYSTEM.iter().any(|path| is_above(Path::new(path)))
        && !OF_THE_KERNEL.iter().any(|path| home.starts_with(path))
}

/// The first directory above `home` through which `user` may not pass; `None`: there is none.
fn cover(home: &Path, user: Option<&User>) -> Option<PathBuf> {
    let user = user?;
    let mut above: Vec<&Path> = home.ancestors().skip(1).collect();
    above.reverse();
    // A directory that cannot be looked at cannot be passed either.
    let closed = |directory: &&&Path| !may_enter(directory, user).unwrap_or(false);
    // Nothing can take the place of the root directory.
    above.iter().skip(1).find(closed).map(|directory| directory.to_path_buf())
}

/// Whether a program or directory of the stack is still where it was: it is elsewhere, or in a part
/// of the app that is copied.
fn stays(path: &Path, bind: &BindMount) -> bool {
    match path.strip_prefix(&bind.target) {
        Ok(below) => !below.ancestors().any(is_left_out),
        Err(_) => bind.cover.as_ref().is_none_or(|cover| !path.starts_with(cover)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(target: &str, cover: Option<&str>) -> BindMount {
        BindMount {
            source: "/w/app".into(),
            target: target.into(),
            cover: cover.map(PathBuf::from),
        }
    }

    #[test]
    fn nothing_takes_the_place_of_what_the_system_needs() {
        let can =
            |home: &str| can_be_replaced(Path::new(home), Path::new("/var/lib/stampede/s-1/app"));
        for home in ["/srv/shop", "/closed/shop", "/var/www/html", "/usr/share/dokuwiki", "/tmp/x"]
        {
            assert!(can(home), "{home}");
        }
        for home in ["/", "/usr", "/var", "/var/lib", "/var/lib/stampede", "/proc/1", "/dev/shm/x"]
        {
            assert!(!can(home), "{home}");
        }
    }

    #[test]
    fn programs_of_the_stack_stay_where_they_are() {
        let stays = |path: &str, bind: &BindMount| stays(Path::new(path), bind);
        let (open, closed) = (bind("/srv/shop", None), bind("/closed/shop", Some("/closed")));
        assert!(stays("/usr/bin/php", &open) && stays("/srv/shop/vendor/bin/rr", &open));
        assert!(!stays("/srv/shop/node_modules/rr", &open));
        assert!(stays("/closed/shop/bin/rr", &closed) && stays("/usr/bin/php", &closed));
        assert!(!stays("/closed/bin/rr", &closed));
    }

    #[test]
    fn paths_of_the_copy_and_of_the_original_are_shown_relative_to_the_app() {
        let at = AppPath { copy: "/w/app".into(), bind: Some(bind("/srv/shop", None)) };
        let shown = |path: &str| at.relative(Path::new(path)).display().to_string();
        assert_eq!(shown("/w/app/cache/a.html"), "cache/a.html");
        assert_eq!(shown("/srv/shop/cache/a.html"), "cache/a.html");
        assert_eq!(shown("/etc/shadow"), "/etc/shadow");
        assert_eq!(at.relative_in("in /srv/shop/a.php and /w/app/b.php"), "in a.php and b.php");
        assert_eq!(at.directory(), Path::new("/srv/shop"));
        let blank = AppPath { bind: Some(bind("/srv/my shop", None)), ..at };
        assert_eq!(blank.directory(), Path::new("/w/app"));
    }
}
