//! The page that shows whether an app works: which one is asked, and where its redirects lead.
//!
//! An app that says in its `app.yaml` what it is asked and what is correct is asked that. Of any
//! other app the page that is measured is asked, and where nothing is said, `/`. A redirect on the
//! same host is followed, as a browser does: `/` of many apps leads to `/en/` or to `/login`.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::answer::Answer;
use super::app::App;
use super::app_manifest::Expect;
use crate::plan::model::RequestSpec;

/// Whom questions are put to, one at a time: a runtime that stampede started, or one that already
/// runs.
pub trait Site {
    /// Asks for a path. Header `Host` is the site's own where `headers` has none.
    ///
    /// # Errors
    /// As the client says.
    fn ask_path(
        &self,
        path: &str,
        headers: &[(String, String)],
        within: Duration,
    ) -> Result<Answer, ureq::Error>;

    /// What `Host` says where nobody says otherwise, and names of the same place.
    fn hosts(&self) -> Vec<String>;

    /// What stands before every path: empty, or `/shop`.
    fn base(&self) -> &str {
        ""
    }
}

/// A page to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Path and query; `None`: the runtime's own ready path.
    pub path: Option<String>,
    /// As the load sends them.
    pub headers: Vec<(String, String)>,
    /// What shows that the app is up.
    pub accepts: Accepts,
}

/// Which answer shows that the app is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepts {
    /// The correct one: see `app.yaml`, without which every answer with status 200 is correct.
    Correct,
    /// Any but an error of the server: the load judges for itself.
    Any,
}

impl PageRequest {
    /// The page of `app` that is asked where `load` is measured; an empty `load` is the app's page.
    pub fn of(app: &App, load: &[RequestSpec]) -> PageRequest {
        let own = app.manifest.request.path.clone();
        if load.is_empty() || own.is_some() || !expects_nothing(&app.manifest.expect) {
            return PageRequest { path: own, headers: Vec::new(), accepts: Accepts::Correct };
        }
        let reads = |request: &&RequestSpec| ["GET", "HEAD"].contains(&request.method.as_str());
        // Where nothing but what writes is measured, any page shows that the server answers.
        let first = load.iter().find(reads);
        let headers = match (first, load.first()) {
            (Some(first), _) => first.headers.clone(),
            // The others are about a body.
            (None, Some(other)) => {
                let hosts =
                    other.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("host"));
                hosts.cloned().collect()
            }
            (None, None) => Vec::new(),
        };
        PageRequest { path: first.map(|first| first.path.clone()), headers, accepts: Accepts::Any }
    }
}

/// Whether any page of the app is as correct as another.
fn expects_nothing(expect: &Expect) -> bool {
    let plain = Expect::default();
    expect.body.is_none()
        && expect.contains.is_empty()
        && expect.headers.is_empty()
        && expect.status == plain.status
}

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

/// What a page answered, its redirects on the same host followed.
#[derive(Clone, Debug)]
pub struct Arrived {
    /// Path that the last answer is of.
    pub path: String,
    /// The redirects that led there, in order.
    pub redirects: Vec<Redirect>,
    /// The last answer; itself a redirect where that leads elsewhere, or in a circle.
    pub answer: Answer,
    /// Why it does not show that the app works; `None`: it does.
    pub wrong: Option<String>,
}

impl Arrived {
    /// Where it redirects; `None`: it does not.
    pub fn redirected(&self) -> Option<Followed> {
        let Redirect { from, status, .. } = self.redirects.first()?.clone();
        Some(Followed { from, status, to: self.path.clone() })
    }

    /// That it redirects more often than anybody follows; `None`: it does not.
    pub fn never_ends(&self) -> Option<Endless> {
        let first = self.redirects.first().filter(|_| self.redirects.len() >= HOPS_MAX)?;
        is_redirect(self.answer.status)
            .then(|| Endless { first: first.clone(), last: self.path.clone() })
    }
}

/// Redirects that were followed to their end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Followed {
    /// Path that was asked.
    pub from: String,
    /// HTTP status of the first.
    pub status: u16,
    /// Path where they led.
    pub to: String,
}

impl fmt::Display for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` redirects to `{}` ({})", self.from, self.to, self.status)
    }
}

/// More redirects than anybody follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Endless {
    /// The first of them.
    pub first: Redirect,
    /// Path of the last that was followed.
    pub last: String,
}

impl fmt::Display for Endless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Redirect { from, status, location } = &self.first;
        write!(
            f,
            "`{from}` redirects ({status}) to `{location}`, and that again and again: {HOPS_MAX} \
             redirects were followed, the last to `{}`",
            self.last
        )
    }
}

/// Whether a status is that of a redirect that a client follows.
pub const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Asks `site` for a page of `app`.
///
/// # Errors
/// As the client says.
pub fn arrive(
    site: &impl Site,
    app: &App,
    page: &PageRequest,
    default_path: &str,
    within: Duration,
) -> Result<Arrived, ureq::Error> {
    let path = page.path.as_deref().unwrap_or(default_path);
    let mut arrived = Arrived {
        path: path.to_owned(),
        redirects: Vec::new(),
        answer: site.ask_path(path, &page.headers, within)?,
        wrong: None,
    };
    let follows = page.accepts == Accepts::Correct && !is_redirect(app.manifest.expect.status);
    let known = [Some(path), page.path.as_deref()].into_iter().flatten().map(str::to_owned);
    let mut known: Vec<String> = known.collect();
    while follows && arrived.redirects.len() < HOPS_MAX {
        let Some(next) = next(site, &arrived, &page.headers) else { break };
        if known.contains(&next) {
            break;
        }
        known.push(next.clone());
        arrived.redirects.push(Redirect {
            from: std::mem::replace(&mut arrived.path, next),
            status: arrived.answer.status,
            location: arrived.answer.header("location").unwrap_or_default().to_owned(),
        });
        arrived.answer = site.ask_path(&arrived.path, &page.headers, within)?;
    }
    arrived.wrong = match page.accepts {
        Accepts::Correct => app.wrong(&arrived.answer),
        Accepts::Any => is_server_error(arrived.answer.status)
            .then(|| format!("status {}, `{}`", arrived.answer.status, arrived.answer.gist())),
    };
    Ok(arrived)
}

const fn is_server_error(status: u16) -> bool {
    status >= 500
}

/// Where an answer redirects to on the same host; `None`: it does not.
fn next(site: &impl Site, arrived: &Arrived, headers: &[(String, String)]) -> Option<String> {
    if !is_redirect(arrived.answer.status) {
        return None;
    }
    inside(site, &arrived.path, headers, arrived.answer.header("location")?)
}

/// The path that `location`, in an answer to a request for `path`, leads to on the same host.
pub fn inside(
    site: &impl Site,
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
    let asked = Url::parse(&format!("http://{}{base}{path}", hosts.first()?)).ok()?;
    let url = asked.join(location).ok()?;
    let is_here = |host: &String| {
        let known = Url::parse(&format!("http://{host}/")).ok();
        // Apps write links with the port that they are asked at, or with none.
        known.is_some_and(|known| {
            known.host() == url.host() && (url.port().is_none() || known.port() == url.port())
        })
    };
    if url.scheme() != "http" || !hosts.iter().any(is_here) {
        return None;
    }
    let path = url.path().strip_prefix(base).filter(|path| path.starts_with('/'))?;
    Some(url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}")))
}

/// As many as browsers and curl's users would bear; an app needs one or two.
const HOPS_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    struct Here(&'static str);

    impl Site for Here {
        fn ask_path(
            &self,
            _: &str,
            _: &[(String, String)],
            _: Duration,
        ) -> Result<Answer, ureq::Error> {
            Err(ureq::Error::ConnectionFailed)
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
        let to = |location: &str| inside(&Here(""), "/a/b?q=1", &[], location);
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
    fn the_host_that_was_asked_for_is_the_same_host() {
        let headers = [("host".to_owned(), "shop.test".to_owned())];
        let to = |location: &str| inside(&Here(""), "/", &headers, location);
        assert_eq!(to("http://shop.test/en").as_deref(), Some("/en"));
        assert_eq!(to("http://www.shop.test/en"), None);
    }

    #[test]
    fn a_site_below_a_path_keeps_to_it() {
        let to = |location: &str| inside(&Here("/shop"), "/", &[], location);
        assert_eq!(to("en/").as_deref(), Some("/en/"));
        assert_eq!(to("/shop/en/").as_deref(), Some("/en/"));
        assert_eq!(to("/shopping"), None);
        assert_eq!(to("/"), None);
    }
}
