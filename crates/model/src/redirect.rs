//! Redirects of a page.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One redirect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Redirect {
    /// Path that was asked.
    pub from: String,
    /// HTTP status.
    pub status: u16,
    /// Header `Location` as it came.
    pub location: String,
}

/// Redirects that were followed to their end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FollowedRedirects {
    /// Path that was asked.
    pub from: String,
    /// HTTP status of the first.
    pub status: u16,
    /// Path where they led.
    pub to: String,
}

impl fmt::Display for FollowedRedirects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` redirects to `{}` ({})", self.from, self.to, self.status)
    }
}

/// More redirects than anybody follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RedirectLoop {
    /// The first of them.
    pub first: Redirect,
    /// Path of the last that was followed.
    pub last: String,
}

impl fmt::Display for RedirectLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Redirect { from, status, location } = &self.first;
        write!(
            f,
            "`{from}` redirects ({status}) to `{location}`, and that again and again: {HOPS_MAX} \
             redirects were followed, the last to `{}`",
            self.last
        )?;
        match public_directory(location) {
            Some(directory) => write!(
                f,
                ". If `{directory}` is the app's public directory, say so: `--docroot {directory}`"
            ),
            None => Ok(()),
        }
    }
}

/// The directory that a relative redirect such as `public/` leads to; `None`: it leads to something
/// else.
fn public_directory(location: &str) -> Option<&str> {
    let directory = location.trim_start_matches("./").strip_suffix('/')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-/".contains(c);
    (!directory.is_empty() && !directory.starts_with('/') && directory.chars().all(is_name))
        .then_some(directory)
}

/// Whether a status is a redirect that a client follows.
pub const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// The most redirects that are followed. An app needs one or two; a user of a browser or curl would
/// accept no more than these.
pub const HOPS_MAX: usize = 5;
