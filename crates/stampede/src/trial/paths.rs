//! The requests of a load, and what they are answered with before it: errors and redirects are
//! answered fast, and would be measured.

use std::collections::HashSet;

use serde::Serialize;

use super::Subject;
use super::measured::Measured;
use super::traffic::own_request;
use crate::fact::{Traffic, pages};
use crate::plan::model::RequestSpec;
use crate::runtime::{Arrived, Endless, Followed, Redirect, is_redirect};
use crate::store::record::PageRecord;

/// What the load sends: the plan's requests or, where it has none, the app's own page, as its
/// redirects led to it.
pub(super) fn requests(subject: &Subject<'_>, measured: &Measured) -> Vec<RequestSpec> {
    if !subject.load.requests.is_empty() {
        return subject.load.requests.clone();
    }
    let mut own = own_request(subject.app);
    if let Some(arrived) = measured.arrived() {
        own[0].path.clone_from(&arrived.path);
    }
    own
}

/// Those that are asked before the load, each once. What writes is not sent once more than the plan
/// says.
pub(super) fn asked(requests: &[RequestSpec]) -> Vec<&RequestSpec> {
    let mut known = HashSet::new();
    let reads = requests.iter().filter(|request| reads(request));
    reads.filter(|request| known.insert((&request.path, &request.headers))).collect()
}

/// Whether a request only reads. Of a `HEAD` the page is asked for: it shows more.
pub(super) fn reads(request: &RequestSpec) -> bool {
    ["GET", "HEAD"].contains(&request.method.as_str())
}

/// What is to be said of requests that were not asked, for there are too many of them.
pub(super) fn not_asked(asked: usize, pages: usize) -> Option<Traffic> {
    let (requests, compared) = (asked as u64, pages as u64);
    (compared < requests).then_some(Traffic::NotCompared { requests, compared })
}

/// Why a load is not worth sending. Secrets are masked in all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PagesError {
    /// Errors.
    #[error("{}{log}", pages::failing(pages, pages.len()))]
    Failing {
        /// Pages that are answered with one.
        pages: Vec<PageRecord>,
        /// Last lines of the logs, each on a line of its own.
        log: String,
    },
    /// The app's own page redirects more often than anybody follows.
    #[error("{0}")]
    Endless(Endless),
    /// All requests are redirected, or some are and all others are errors of the client.
    #[error("{}", pages::redirected(followed.as_ref(), pages, pages.len()))]
    Redirected {
        /// Where the redirects of the app's own page led.
        followed: Option<Followed>,
        /// The pages that were asked.
        pages: Vec<PageRecord>,
    },
}

/// Whether the answers to a load's requests are worth measuring. They are not where the server
/// fails in one of them, or none is what the load counts as correct.
pub(super) fn judge(
    subject: &Subject<'_>,
    requests: &[RequestSpec],
    pages: &[PageRecord],
    measured: &Measured,
) -> Result<(), PagesError> {
    let right = subject.app.manifest.expect.status;
    // Without an answer the load itself will tell.
    let wrong = |page: &&PageRecord| page.status != 0 && page.status != right;
    let redirected = |page: &PageRecord| wrong(&page) && is_redirect(page.status);
    let failed = |page: &PageRecord| wrong(&page) && page.status >= 400;
    let broken =
        |page: &PageRecord| page.php_error.is_some() || (failed(page) && page.status >= 500);
    let none_is_right =
        !pages.is_empty() && pages.iter().all(|page| redirected(page) || failed(page));
    let has_redirects = pages.iter().any(redirected);
    // Whether what was not asked is answered better, nobody knows.
    let are_all_asked = requests.iter().all(reads) && pages.len() == asked(requests).len();
    let is_failing = pages.iter().any(broken) || (none_is_right && !has_redirects);
    if is_failing && measured.is_ours() {
        let pages = pages.iter().filter(|page| broken(page) || failed(page));
        let pages = pages.map(|page| masked(page, measured)).collect();
        let log = match measured.last_lines() {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        };
        return Err(PagesError::Failing { pages, log });
    }
    if none_is_right && has_redirects && are_all_asked {
        let arrived = measured.arrived().filter(|_| subject.load.requests.is_empty());
        let mask = |text| measured.without_secrets(text);
        if let Some(Endless { first, last }) = arrived.and_then(Arrived::never_ends) {
            let Redirect { from, status, location } = first;
            let first = Redirect { from: mask(from), status, location: mask(location) };
            return Err(PagesError::Endless(Endless { first, last: mask(last) }));
        }
        let followed = arrived.and_then(Arrived::redirected);
        let followed =
            followed.map(|one| Followed { from: mask(one.from), to: mask(one.to), ..one });
        let pages = pages.iter().map(|page| masked(page, measured)).collect();
        return Err(PagesError::Redirected { followed, pages });
    }
    Ok(())
}

/// A page with the values of the app's secret variables masked.
fn masked(page: &PageRecord, measured: &Measured) -> PageRecord {
    let mask = |text: &String| measured.without_secrets(text.clone());
    PageRecord {
        path: mask(&page.path),
        location: page.location.as_ref().map(mask),
        title: mask(&page.title),
        php_error: page.php_error.as_ref().map(mask),
        ..page.clone()
    }
}
