//! Runs git. Nothing is written into the repository: the index for a checkout is a file of ours, no
//! hook runs, and no lock is taken.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::AgainstError;

/// The repository that a directory is in.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The top directory of the working tree.
    pub top: PathBuf,
    /// The path of the directory relative to `top`; empty: both are the same.
    pub prefix: PathBuf,
    directory: PathBuf,
}

impl Repository {
    /// Finds the repository of a directory.
    ///
    /// # Errors
    /// git is not installed, there is no repository, or git refuses it.
    pub fn find(directory: &Path) -> Result<Repository, AgainstError> {
        let git = |args: &[&str]| run(directory, None, args);
        let top = match git(&SHOW_TOP) {
            Ok(top) => path_from_line(&top),
            Err(AgainstError::Git { command, said }) => {
                return Err(explain_refusal(directory, command, said));
            }
            Err(other) => return Err(other),
        };
        let prefix = path_from_line(&git(&["rev-parse", "--show-prefix"])?).components().collect();
        Ok(Repository { top, prefix, directory: directory.to_path_buf() })
    }

    /// The full hash of the commit that a revision names.
    ///
    /// # Errors
    /// There is no such commit.
    pub fn commit(&self, rev: &str) -> Result<String, AgainstError> {
        let wanted = format!("{rev}^{{commit}}");
        let named = !rev.is_empty() && !rev.starts_with('-') && !rev.contains(['\0', '\n']);
        let found = named.then(|| self.line(&["rev-parse", "--verify", "--quiet", &wanted]));
        match found {
            Some(Ok(commit)) if !commit.is_empty() => Ok(commit),
            _ => Err(self.unknown_revision(rev)),
        }
    }

    fn unknown_revision(&self, rev: &str) -> AgainstError {
        let refs = [
            "for-each-ref",
            "--format=%(refname:short)",
            "refs/heads",
            "refs/remotes",
            "refs/tags",
        ];
        let known = self.line(&refs).unwrap_or_default();
        let shallow = self.line(&["rev-parse", "--is-shallow-repository"]);
        AgainstError::UnknownRevision {
            rev: rev.to_owned(),
            directory: self.directory.clone(),
            known: known.lines().map(str::to_owned).collect(),
            is_shallow: shallow.is_ok_and(|said| said == "true"),
        }
    }

    /// Whether a commit has the directory.
    pub fn has_directory(&self, commit: &str) -> bool {
        let place = self.prefix.as_os_str().to_string_lossy();
        let object = format!("{commit}:{}", place.trim_end_matches('/'));
        self.line(&["cat-file", "-t", &object]).is_ok_and(|kind| kind == "tree")
    }

    /// Whether a commit has a file or directory, given relative to the top.
    pub fn has_path(&self, commit: &str, place: &Path) -> bool {
        let object = format!("{commit}:{}", place.display());
        self.line(&["cat-file", "-e", &object]).is_ok()
    }

    /// The submodules of a commit within the directory. Their contents are in no commit of this
    /// repository.
    ///
    /// # Errors
    /// Those of git.
    pub fn submodules(&self, commit: &str) -> Result<Vec<String>, AgainstError> {
        let listed = run(&self.directory, None, &["ls-tree", "-r", "-z", commit, "."])?;
        let entries = listed.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        let links = entries.filter(|entry| entry.starts_with("160000 "));
        Ok(links.filter_map(|entry| Some(entry.split_once('\t')?.1.to_owned())).collect())
    }

    /// Writes all files of a commit below `tree`.
    ///
    /// # Errors
    /// Those of git: a full disk, a failing filter.
    pub fn check_out(&self, commit: &str, index: &Path, tree: &Path) -> Result<(), AgainstError> {
        run(&self.top, Some(index), &["read-tree", commit])?;
        let prefix = format!("--prefix={}/", tree.display());
        run(&self.top, Some(index), &["checkout-index", "--all", "--force", &prefix]).map(drop)
    }

    /// What git ignores in the directory, as paths relative to it. An entirely ignored directory is
    /// one entry.
    ///
    /// # Errors
    /// Those of git.
    pub fn ignored(&self) -> Result<Vec<PathBuf>, AgainstError> {
        self.list_untracked(&["--ignored", "--exclude-standard"])
    }

    /// What git neither tracks nor ignores in the directory.
    ///
    /// # Errors
    /// Those of git.
    pub fn untracked(&self) -> Result<Vec<PathBuf>, AgainstError> {
        self.list_untracked(&["--exclude-standard"])
    }

    fn list_untracked(&self, which: &[&str]) -> Result<Vec<PathBuf>, AgainstError> {
        let all = [&["ls-files", "--others", "--directory", "-z"], which, &["--", "."]].concat();
        let listed = run(&self.directory, None, &all)?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    /// The number of files in the directory that differ from the last commit, including new ones.
    ///
    /// # Errors
    /// Those of git.
    pub fn changed(&self) -> Result<usize, AgainstError> {
        Ok(self.line(&["status", "--porcelain", "--", "."])?.lines().count())
    }

    /// The abbreviated hash of the commit that the working tree is based on; empty: there is none.
    pub fn head(&self) -> String {
        self.line(&["rev-parse", "--short", "HEAD"]).unwrap_or_default()
    }

    fn line(&self, args: &[&str]) -> Result<String, AgainstError> {
        let said = run(&self.directory, None, args)?;
        Ok(String::from_utf8_lossy(&said).trim_end().to_owned())
    }
}

/// Why git finds no working tree for a directory. git's exit code is the same for all reasons, so
/// it is asked again with every owner trusted. If that works, git does not trust the repository's
/// owner.
fn explain_refusal(directory: &Path, command: String, said: String) -> AgainstError {
    let trusting = [&["-c", "safe.directory=*"][..], &SHOW_TOP].concat();
    if run(directory, None, &trusting).is_ok() {
        return AgainstError::Untrusted { command, said };
    }
    let full = std::path::absolute(directory).unwrap_or_else(|_| directory.to_path_buf());
    match full.ancestors().any(|above| above.join(".git").exists()) {
        true => AgainstError::Git { command, said },
        false => AgainstError::NotARepository { directory: directory.to_path_buf() },
    }
}

/// The arguments that print the top of a directory's working tree.
const SHOW_TOP: [&str; 2] = ["rev-parse", "--show-toplevel"];

/// Runs git and returns its standard output.
fn run(directory: &Path, index: Option<&Path>, args: &[&str]) -> Result<Vec<u8>, AgainstError> {
    let mut git = Command::new("git");
    // If a git hook calls stampede, these variables name the hook's repository, which may be
    // another one.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE"] {
        git.env_remove(name);
    }
    // git must not fetch missing objects and must not prompt. Its messages are in English, like
    // ours.
    git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    git.args([
        "--no-optional-locks",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
    ]);
    git.args(["-c", "core.sparseCheckout=false", "-C"]).arg(directory).args(args);
    if let Some(index) = index {
        git.env("GIT_INDEX_FILE", index);
    }
    let output = git.output().map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => AgainstError::NoGit,
        _ => AgainstError::Io { what: "start", path: "git".into(), source },
    })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(AgainstError::Git { command: args.first().map_or("", |word| word).to_owned(), said })
}

fn path_from_line(line: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(line.strip_suffix(b"\n").unwrap_or(line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_distinguish_a_foreign_a_missing_and_a_broken_repository() {
        let directory = tempfile::tempdir().expect("a directory");
        let none = Repository::find(directory.path());
        assert!(matches!(none, Err(AgainstError::NotARepository { .. })), "{none:?}");
        std::fs::write(directory.path().join(".git"), "gitdir: nowhere\n").expect("written");
        let broken = Repository::find(directory.path());
        assert!(matches!(broken, Err(AgainstError::Git { .. })), "{broken:?}");

        let directory = tempfile::tempdir().expect("a directory");
        run(directory.path(), None, &["init", "--quiet"]).expect("a repository");
        let own = Repository::find(directory.path());
        assert!(own.is_ok(), "{own:?}");
        for path in [directory.path().to_path_buf(), directory.path().join(".git")] {
            if std::os::unix::fs::chown(path, Some(NOBODY), None).is_err() {
                println!("SKIPPED: only root gives a directory to another user");
                return;
            }
        }
        let anothers = Repository::find(directory.path());
        assert!(matches!(anothers, Err(AgainstError::Untrusted { .. })), "{anothers:?}");
    }

    const NOBODY: u32 = 65_534;
}
