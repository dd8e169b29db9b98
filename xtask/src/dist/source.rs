//! The commit that is built. Nothing of the time or the place of a build gets into the binary.

use std::path::Path;
use std::process::Command;

use super::{DistError, printed};
use crate::error::ChoreError;

/// The commit that is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The commit's hash.
    pub commit: String,
    /// When it was committed, in seconds since 1970 (`SOURCE_DATE_EPOCH`).
    pub epoch: String,
    /// The same as people write it, in UTC.
    pub date: String,
    /// The same as in mails, for Debian's changelog.
    pub mail_date: String,
    /// Whether a file differs from the commit, or is not in it.
    pub is_changed: bool,
}

impl Source {
    /// Asks git.
    ///
    /// # Errors
    /// There is no git, or no commit.
    pub fn read(root: &Path) -> Result<Source, ChoreError> {
        let git = |arguments: &[&str]| {
            printed(Command::new("git").args(arguments).env("TZ", "UTC").current_dir(root))
        };
        let date = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        let commit = git(&["log", "-1", date, "--format=%H %ct %cd"])?;
        let mail = "--date=format-local:%a, %d %b %Y %H:%M:%S +0000";
        let mail_date = git(&["log", "-1", mail, "--format=%cd"])?;
        let status = git(&["status", "--porcelain"])?;
        Source::of(&commit, mail_date.trim(), &status).ok_or_else(|| DistError::NoCommit.into())
    }

    fn of(commit: &str, mail_date: &str, status: &str) -> Option<Source> {
        let mut words = commit.split_whitespace().map(str::to_owned);
        let (commit, epoch, date) = (words.next()?, words.next()?, words.next()?);
        let mail_date = mail_date.to_owned();
        Some(Source { commit, epoch, date, mail_date, is_changed: !status.trim().is_empty() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_read() {
        let mail_date = "Fri, 02 Jan 1970 00:00:00 +0000";
        let read = |commit, status| Source::of(commit, mail_date, status);
        let expected = Source {
            commit: "0a1b".to_owned(),
            epoch: "86400".to_owned(),
            date: "1970-01-02T00:00:00Z".to_owned(),
            mail_date: mail_date.to_owned(),
            is_changed: false,
        };
        assert_eq!(read("0a1b 86400 1970-01-02T00:00:00Z\n", ""), Some(expected));
        assert!(read("0a1b 1 d", "?? new\n").expect("a commit").is_changed);
        assert_eq!(read("", ""), None);
    }
}
