//! The requests of a load, and what they are answered with before it: errors and redirects are
//! answered fast, and would be measured.

use std::collections::HashSet;

use url::Url;

use super::Subject;
use super::measured::Measured;
use super::traffic::own_request;
use crate::fact::Traffic;
use crate::plan::model::RequestSpec;
use crate::runtime::{Arrived, Endless, Followed, Redirect, is_redirect};
use crate::store::record::PageRecord;

/// Shown of many.
const SHOWN: usize = 5;

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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PagesError {
    /// Errors.
    #[error("{}{log}", some(pages.iter().map(failure)))]
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
    #[error("{}", some(followed.iter().map(Followed::to_string).chain(pages.iter().map(wrong))))]
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

/// What is wrong with a page: where it redirects, or its error.
fn wrong(page: &PageRecord) -> String {
    if is_redirect(page.status) { redirect(page) } else { failure(page) }
}

/// The first of many.
fn some(words: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = words.collect();
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    if more > 0 {
        all.push(format!("and {more} more"));
    }
    all.join(", ")
}

fn failure(page: &PageRecord) -> String {
    let PageRecord { path, status, title, .. } = page;
    match &page.php_error {
        Some(error) => {
            format!("`{path}` is answered with status {status} and ends in a PHP error, `{error}`")
        }
        None => format!("`{path}` is answered with status {status}, `{title}`"),
    }
}

/// Where a page is redirected to, and what to do about it.
fn redirect(page: &PageRecord) -> String {
    let PageRecord { path, status, location, .. } = page;
    let location = location.as_deref().unwrap_or_default();
    if location.is_empty() {
        return format!("`{path}` is answered with a redirect ({status}) that leads nowhere");
    }
    let advice = match leads(path, location) {
        Leads::ToItself => "it leads in a circle".to_owned(),
        Leads::To(path) => format!("to measure the page behind it, load `{path}`"),
        Leads::ToHttps => {
            "the app wants HTTPS: send the header `X-Forwarded-Proto: https`, if the \
                           app trusts it (a plan's load has `headers`)"
                .to_owned()
        }
        Leads::ToHost(host) => format!(
            "the app wants its own host name: send the header `Host: {host}` (a plan's load has \
             `headers`)"
        ),
    };
    format!("`{path}` is redirected ({status}) to `{location}`; {advice}")
}

/// Where a redirect leads.
#[derive(Debug, PartialEq, Eq)]
enum Leads {
    ToItself,
    /// Path and query on the same host.
    To(String),
    ToHttps,
    ToHost(String),
}

fn leads(path: &str, location: &str) -> Leads {
    let asked = Url::parse("http://localhost").and_then(|host| host.join(path));
    let Ok((asked, url)) = asked.and_then(|asked| Ok((asked.clone(), asked.join(location)?)))
    else {
        return Leads::To(location.to_owned());
    };
    let host = url.host_str().unwrap_or_default();
    match (url.scheme(), host) {
        ("https", "localhost") => Leads::ToHttps,
        (_, host) if host != "localhost" => Leads::ToHost(host.to_owned()),
        _ if url.path() == asked.path() && url.query() == asked.query() => Leads::ToItself,
        _ => Leads::To(match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_says_what_the_app_wants() {
        let to = |path: &str| Leads::To(path.to_owned());
        for (location, expected) in [
            ("/login", to("/login")),
            ("login?to=1", to("/login?to=1")),
            ("http://localhost/en/", to("/en/")),
            ("/account", Leads::ToItself),
            ("http://localhost/account#top", Leads::ToItself),
            ("https://localhost/account", Leads::ToHttps),
            ("https://shop.test/account", Leads::ToHost("shop.test".to_owned())),
            ("//www.shop.test/", Leads::ToHost("www.shop.test".to_owned())),
        ] {
            assert_eq!(leads("/account", location), expected, "{location}");
        }
    }

    #[test]
    fn a_location_is_named() {
        let page = |location: &str| PageRecord {
            path: "/account".to_owned(),
            status: 302,
            location: Some(location.to_owned()),
            ..PageRecord::default()
        };
        insta::assert_snapshot!(redirect(&page("/login")), @"`/account` is redirected (302) to `/login`; to measure the page behind it, load `/login`");
        insta::assert_snapshot!(redirect(&page("https://localhost/account")), @"`/account` is redirected (302) to `https://localhost/account`; the app wants HTTPS: send the header `X-Forwarded-Proto: https`, if the app trusts it (a plan's load has `headers`)");
        insta::assert_snapshot!(redirect(&page("http://shop.test/")), @"`/account` is redirected (302) to `http://shop.test/`; the app wants its own host name: send the header `Host: shop.test` (a plan's load has `headers`)");
    }
}
