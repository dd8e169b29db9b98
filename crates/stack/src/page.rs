//! Chooses the page that shows whether an app works, and follows its redirects.
//!
//! If the app's `app.yaml` names a request or a correct answer, that page is asked. For any other
//! app it is the measured page, or `/` where no page is named. A redirect on the same host is
//! followed, as a browser does: `/` of many apps leads to `/en/` or to `/login`.

use std::time::Duration;

use stampede_model::redirect::FollowedRedirects;
use stampede_model::redirect::HOPS_MAX;
use stampede_model::redirect::Redirect;
use stampede_model::redirect::RedirectLoop;
use stampede_model::redirect::is_redirect;
use stampede_plan::model::{DEFAULT_TIMEOUT, RequestSpec};
use url::Url;

use super::answer::Answer;
use super::app::App;
use super::app_manifest::{Expect, FORWARDED_PROTO};
use super::client::ClientError;

/// A place to which single requests are sent, one at a time: a runtime that stampede started, or an
/// external one.
pub trait Site {
    /// Sends a request. The header `Host` is the site's own, unless the request has one.
    ///
    /// # Errors
    /// The client's error.
    fn send(&self, request: &SiteRequest<'_>, within: Duration) -> Result<Answer, ClientError>;

    /// Asks for a path.
    ///
    /// # Errors
    /// The client's error.
    fn request_path(
        &self,
        path: &str,
        headers: &[(String, String)],
        within: Duration,
    ) -> Result<Answer, ClientError> {
        self.send(&SiteRequest { method: "GET", path, headers, body: b"" }, within)
    }

    /// The site's own value of `Host`, then other names of the same site.
    fn hosts(&self) -> Vec<String>;

    /// The prefix of every path: empty, or such as `/shop`.
    fn base(&self) -> &str {
        ""
    }
}

/// A single request.
#[derive(Clone, Copy, Debug)]
pub struct SiteRequest<'a> {
    /// The method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// The headers.
    pub headers: &'a [(String, String)],
    /// The body.
    pub body: &'a [u8],
}

/// A page to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Path and query; `None`: the runtime's own ready path.
    pub path: Option<String>,
    /// The headers, as the load sends them.
    pub headers: Vec<(String, String)>,
    /// The answers that show that the app is up.
    pub accepts: Accepts,
    /// How long an answer may take.
    pub within: Duration,
}

/// How long an answer may take if nobody says it: as long as in a load without `timeout`.
const ANSWERS_WITHIN: Duration = Duration::from_nanos(DEFAULT_TIMEOUT.0);

/// The answers that show that the app is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// Only the correct answer, see `app.yaml`. Without it every answer with status 200 is correct.
    Correct,
    /// Any answer but a server error: the load checks its answers itself.
    Any,
}

impl PageRequest {
    /// The page of `app` that is asked when `load` is measured; an empty `load` measures the app's
    /// own page.
    pub fn of(app: &App, load: &[RequestSpec]) -> PageRequest {
        let own = app.manifest.request.path.clone();
        let within = app.manifest.ready_within().unwrap_or(ANSWERS_WITHIN);
        if load.is_empty() || own.is_some() || !expects_nothing(&app.manifest.expect) {
            let headers = app.manifest.headers_with(&[]);
            return PageRequest { path: own, headers, accepts: Accepts::Correct, within };
        }
        let reads = |request: &&RequestSpec| ["GET", "HEAD"].contains(&request.method.as_str());
        // If the load only writes, any page shows that the server answers.
        let first = load.iter().find(reads);
        let headers = match (first, load.first()) {
            (Some(first), _) => first.headers.clone(),
            // Only `Host` is taken: the other headers describe a body.
            (None, Some(other)) => {
                let hosts =
                    other.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
                hosts.cloned().collect()
            }
            (None, None) => Vec::new(),
        };
        let headers = app.manifest.headers_with(&headers);
        let path = first.map(|first| first.path.clone());
        PageRequest { path, headers, accepts: Accepts::Any, within }
    }

    /// The same page, whose answer may take as long as one of the load may. What was said about the
    /// app wins.
    #[must_use]
    pub fn with_timeout(self, app: &App, timeout: Duration) -> PageRequest {
        let within = app.manifest.ready_within().unwrap_or_else(|| timeout.max(self.within));
        PageRequest { within, ..self }
    }
}

/// Whether the app expects nothing in particular of its page.
fn expects_nothing(expect: &Expect) -> bool {
    let plain = Expect::default();
    expect.body.is_none()
        && expect.contains.is_empty()
        && expect.headers.is_empty()
        && expect.status == plain.status
}

/// The answer of a page after redirects on the same host were followed.
#[derive(Clone, Debug)]
pub struct PageResult {
    /// The path of the last answer.
    pub path: String,
    /// The redirects that led there, in their order.
    pub redirects: Vec<Redirect>,
    /// The last answer. It is itself a redirect if that leads to another host, or in a circle.
    pub answer: Answer,
    /// Why the answer does not show that the app works; `None`: it does.
    pub wrong: Option<String>,
}

impl PageResult {
    /// The redirects that were followed; `None`: there were none.
    pub fn redirected(&self) -> Option<FollowedRedirects> {
        let Redirect { from, status, .. } = self.redirects.first()?.clone();
        Some(FollowedRedirects { from, status, to: self.path.clone() })
    }

    /// The redirects, if there are more than stampede follows; `None`: there are not.
    pub fn redirect_loop(&self) -> Option<RedirectLoop> {
        let first = self.redirects.first().filter(|_| self.redirects.len() >= HOPS_MAX)?;
        is_redirect(self.answer.status)
            .then(|| RedirectLoop { first: first.clone(), last: self.path.clone() })
    }
}

/// Asks `site` for a page of `app` and follows its redirects.
///
/// # Errors
/// The client's error.
pub fn request_page(
    site: &impl Site,
    app: &App,
    page: &PageRequest,
    default_path: &str,
    within: Duration,
) -> Result<PageResult, ClientError> {
    let path = page.path.as_deref().unwrap_or(default_path);
    let mut page_result = PageResult {
        path: path.to_owned(),
        redirects: Vec::new(),
        answer: site.request_path(path, &page.headers, within)?,
        wrong: None,
    };
    let follows = page.accepts == Accepts::Correct && !is_redirect(app.manifest.expect.status);
    let known = [Some(path), page.path.as_deref()].into_iter().flatten().map(str::to_owned);
    let mut known: Vec<String> = known.collect();
    while follows && page_result.redirects.len() < HOPS_MAX {
        let Some(next) = next(site, &page_result, &page.headers) else { break };
        if known.contains(&next) {
            break;
        }
        known.push(next.clone());
        page_result.redirects.push(Redirect {
            from: std::mem::replace(&mut page_result.path, next),
            status: page_result.answer.status,
            location: page_result.answer.header("location").unwrap_or_default().to_owned(),
        });
        page_result.answer = site.request_path(&page_result.path, &page.headers, within)?;
    }
    page_result.wrong = match page.accepts {
        Accepts::Correct => app.wrong(&page_result.answer),
        Accepts::Any => is_server_error(page_result.answer.status).then(|| {
            format!("status {}, `{}`", page_result.answer.status, page_result.answer.gist())
        }),
    };
    Ok(page_result)
}

const fn is_server_error(status: u16) -> bool {
    status >= 500
}

/// The path on the same host to which an answer redirects; `None`: it does not.
fn next(
    site: &impl Site,
    page_result: &PageResult,
    headers: &[(String, String)],
) -> Option<String> {
    if !is_redirect(page_result.answer.status) {
        return None;
    }
    path_on_same_host(site, &page_result.path, headers, page_result.answer.header("location")?)
}

/// The path on the same host to which `location` leads, from an answer for `path`. `None`: it leads
/// to another host.
pub fn path_on_same_host<S: Site + ?Sized>(
    site: &S,
    path: &str,
    headers: &[(String, String)],
    location: &str,
) -> Option<String> {
    let sent = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let mut hosts = site.hosts();
    if let Some((_, host)) = sent {
        hosts.insert(0, host.clone());
    }
    let base = site.base();
    let scheme = scheme_of(headers);
    let asked = Url::parse(&format!("{scheme}://{}{base}{path}", hosts.first()?)).ok()?;
    let url = asked.join(location).ok()?;
    let is_here = |host: &String| {
        let known = Url::parse(&format!("http://{host}/")).ok();
        // Apps write links with the port of the request, or without a port.
        known.is_some_and(|known| {
            known.host() == url.host() && (url.port().is_none() || known.port() == url.port())
        })
    };
    if url.scheme() != scheme || !hosts.iter().any(is_here) {
        return None;
    }
    let path = url.path().strip_prefix(base).filter(|path| path.starts_with('/'))?;
    Some(url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")))
}

/// Scheme and host by which an app is asked: `http://localhost`.
pub fn origin<S: Site + ?Sized>(site: &S, headers: &[(String, String)]) -> String {
    let sent = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = sent.map(|(_, host)| host.clone()).or_else(|| site.hosts().into_iter().next());
    format!("{}://{}", scheme_of(headers), host.unwrap_or_default())
}

/// The scheme by which an app is told that it was asked.
fn scheme_of(headers: &[(String, String)]) -> &str {
    let told = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(FORWARDED_PROTO));
    told.map_or("http", |(_, scheme)| scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FakeSite(&'static str);

    impl Site for FakeSite {
        fn send(&self, _: &SiteRequest<'_>, _: Duration) -> Result<Answer, ClientError> {
            Err(ClientError::TimedOut)
        }

        fn hosts(&self) -> Vec<String> {
            ["localhost", "127.0.0.1:8081", "localhost:8081"].map(str::to_owned).to_vec()
        }

        fn base(&self) -> &str {
            self.0
        }
    }

    #[test]
    fn a_redirect_is_followed_on_the_same_host_only() {
        let to = |location: &str| path_on_same_host(&FakeSite(""), "/a/b?q=1", &[], location);
        let some = |path: &str| Some(path.to_owned());
        for (location, path) in [
            ("/en/", "/en/"),
            ("en", "/a/en"),
            ("../x?y=2#top", "/x?y=2"),
            ("?page=2", "/a/b?page=2"),
            ("http://localhost/en", "/en"),
            ("http://LOCALHOST:8081/en", "/en"),
            ("http://127.0.0.1:8081", "/"),
            ("//localhost/en", "/en"),
            ("/a b", "/a%20b"),
        ] {
            assert_eq!(to(location), some(path), "{location}");
        }
        for location in [
            "https://localhost/",
            "http://shop.test/",
            "//shop.test/en",
            "http://localhost:9000/",
            "mailto:me@shop.test",
            "http://[",
        ] {
            assert_eq!(to(location), None, "{location}");
        }
    }

    #[test]
    fn a_redirect_to_the_requested_host_stays_on_the_same_host() {
        let headers = [("host".to_owned(), "shop.test".to_owned())];
        let to = |location: &str| path_on_same_host(&FakeSite(""), "/", &headers, location);
        assert_eq!(to("http://shop.test/en").as_deref(), Some("/en"));
        assert_eq!(to("http://www.shop.test/en"), None);
    }

    #[test]
    fn an_app_that_is_told_https_redirects_there_on_the_same_host() {
        let headers = [("x-forwarded-proto".to_owned(), "https".to_owned())];
        let to = |location: &str| path_on_same_host(&FakeSite(""), "/", &headers, location);
        assert_eq!(to("https://localhost/en").as_deref(), Some("/en"));
        assert_eq!(to("/en").as_deref(), Some("/en"));
        assert_eq!(to("http://localhost/en"), None);
    }

    #[test]
    fn redirects_of_a_site_below_a_path_stay_below_it() {
        let to = |location: &str| path_on_same_host(&FakeSite("/shop"), "/", &[], location);
        assert_eq!(to("en/").as_deref(), Some("/en/"));
        assert_eq!(to("/shop/en/").as_deref(), Some("/en/"));
        assert_eq!(to("/shopping"), None);
        assert_eq!(to("/"), None);
    }
}
