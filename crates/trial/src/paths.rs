//! Chooses the requests of a load, and judges how they are answered before the load. Errors and
//! redirects are answered fast, and without this check they would be measured.

use std::collections::HashSet;

use serde::Serialize;
use stampede_mask::mask_foreign;
use stampede_model::fact::{Traffic, pages};
use stampede_model::record::PageRecord;
use stampede_model::redirect::{FollowedRedirects, Redirect, RedirectLoop, is_redirect};
use stampede_plan::model::RequestSpec;
use stampede_stack::{PageResult, Stack};

use super::Subject;
use super::traffic::own_request;

/// The requests that the load sends: those of the plan. Where the plan has none: one for the app's
/// own page, at the path to which redirects led.
pub(super) fn requests(subject: &Subject<'_>, measured: &dyn Stack) -> Vec<RequestSpec> {
    if !subject.load.requests.is_empty() {
        let with_headers = |request: &RequestSpec| RequestSpec {
            headers: subject.app.manifest.headers_with(&request.headers),
            ..request.clone()
        };
        return subject.load.requests.iter().map(with_headers).collect();
    }
    let mut own = own_request(subject.app);
    if let Some(page_result) = measured.page_result() {
        own[0].path.clone_from(&page_result.path);
    }
    own
}

/// The requests that are asked once before the load, without duplicates. A request that writes is
/// not among them: it is sent only as often as the plan says.
pub(super) fn requests_to_verify(requests: &[RequestSpec]) -> Vec<&RequestSpec> {
    let mut known = HashSet::new();
    let reads = requests.iter().filter(|request| reads(request));
    reads.filter(|request| known.insert((&request.path, &request.headers))).collect()
}

/// Those of `requests` that are asked: more would make the look a load of its own.
pub(super) fn first<'a, 'b>(requests: &'a [&'b RequestSpec]) -> &'a [&'b RequestSpec] {
    &requests[..requests.len().min(ASKED_MAX)]
}

/// The most pages of a load that are asked.
const ASKED_MAX: usize = 200;

/// Whether a request only reads. For a `HEAD`, the page itself is asked before the load, since its
/// answer shows more.
pub(super) fn reads(request: &RequestSpec) -> bool {
    ["GET", "HEAD"].contains(&request.method.as_str())
}

/// The note that some requests were not asked before the load because there are too many. `None`:
/// all of them were asked.
pub(super) fn unverified_note(asked: usize, pages: usize) -> Option<Traffic> {
    let (requests, compared) = (asked as u64, pages as u64);
    (compared < requests).then_some(Traffic::NotCompared { requests, compared })
}

/// Why a load is not worth sending. All texts in it have secrets masked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PagesError {
    /// Pages are answered with errors.
    #[error("{}{log}", pages::failing(pages, pages.len()))]
    Failing {
        /// The pages that are answered with an error.
        pages: Vec<PageRecord>,
        /// The last lines of the logs, one per line, with a line break before them; or empty.
        log: String,
    },
    /// The app's own page redirects more often than stampede follows.
    #[error("{0}")]
    Endless(RedirectLoop),
    /// All requests are redirected, or some are and all others are client errors (status 4xx).
    #[error("{}", pages::redirected(followed.as_ref(), pages, pages.len()))]
    Redirected {
        /// Where the redirects of the app's own page led.
        followed: Option<FollowedRedirects>,
        /// The pages that were asked before the load.
        pages: Vec<PageRecord>,
    },
}

/// Judges whether the answers to a load's requests are worth measuring. They are not if the server
/// fails in one of them, or if the load would count none of them as correct.
pub(super) fn judge(
    subject: &Subject<'_>,
    requests: &[RequestSpec],
    pages: &[PageRecord],
    measured: &dyn Stack,
) -> Result<(), PagesError> {
    let right = subject.app.manifest.expect.status;
    // A page without an answer has status 0. The load itself will show that failure.
    let wrong = |page: &&PageRecord| page.status != 0 && page.status != right;
    let redirected = |page: &PageRecord| wrong(&page) && is_redirect(page.status);
    let failed = |page: &PageRecord| wrong(&page) && page.status >= 400;
    let broken =
        |page: &PageRecord| page.php_error.is_some() || (failed(page) && page.status >= 500);
    let none_is_right =
        !pages.is_empty() && pages.iter().all(|page| redirected(page) || failed(page));
    let has_redirects = pages.iter().any(redirected);
    // If some requests were not asked, they might be answered better than those that were.
    let are_all_asked =
        requests.iter().all(reads) && pages.len() == requests_to_verify(requests).len();
    let is_failing = pages.iter().any(broken) || (none_is_right && !has_redirects);
    if is_failing && measured.is_started() {
        let pages = pages.iter().filter(|page| broken(page) || failed(page));
        let pages = pages.map(masked).collect();
        let log = match measured.logs().last_lines() {
            lines if lines.is_empty() => lines,
            lines => format!("\n{lines}"),
        };
        return Err(PagesError::Failing { pages, log });
    }
    if none_is_right && has_redirects && are_all_asked {
        let page_result = measured.page_result().filter(|_| subject.load.requests.is_empty());
        let mask = |text: String| mask_foreign(&text);
        if let Some(RedirectLoop { first, last }) = page_result.and_then(PageResult::redirect_loop)
        {
            let Redirect { from, status, location } = first;
            let first = Redirect { from: mask(from), status, location: mask(location) };
            return Err(PagesError::Endless(RedirectLoop { first, last: mask(last) }));
        }
        let followed = page_result.and_then(PageResult::redirected);
        let followed =
            followed.map(|one| FollowedRedirects { from: mask(one.from), to: mask(one.to), ..one });
        let pages = pages.iter().map(masked).collect();
        return Err(PagesError::Redirected { followed, pages });
    }
    Ok(())
}

/// A page with secrets masked.
fn masked(page: &PageRecord) -> PageRecord {
    let mask = |text: &String| mask_foreign(text);
    PageRecord {
        path: mask(&page.path),
        location: page.location.as_ref().map(mask),
        title: mask(&page.title),
        php_error: page.php_error.as_ref().map(mask),
        ..page.clone()
    }
}
