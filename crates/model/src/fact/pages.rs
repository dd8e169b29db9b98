//! Describes pages of a load that return an error or a redirect.

use url::Url;

use crate::record::PageRecord;
use crate::redirect::{FollowedRedirects, is_redirect};
use crate::segments::leads_to_login;

/// The errors of the first of `count` pages.
pub fn failing(pages: &[PageRecord], count: usize) -> String {
    some(pages.iter().map(failure), count)
}

/// The redirects: where those of the app's own page end, and those of the first of `count` pages.
pub fn redirected(
    followed: Option<&FollowedRedirects>,
    pages: &[PageRecord],
    count: usize,
) -> String {
    let own = followed.iter().map(ToString::to_string);
    some(own.chain(pages.iter().map(wrong)), count + followed.iter().len())
}

/// Most pages named in a sentence. A reason stores no more.
pub const SHOWN: usize = 5;

/// What is wrong with a page: its redirect or its error.
fn wrong(page: &PageRecord) -> String {
    if is_redirect(page.status) { redirect(page) } else { failure(page) }
}

/// The first of `count` texts, with the number of the others.
fn some(words: impl Iterator<Item = String>, count: usize) -> String {
    let mut all: Vec<String> = words.take(SHOWN).collect();
    let more = count.saturating_sub(all.len());
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
        None => {
            let advice =
                advice(*status, title).map_or(String::new(), |advice| format!("; {advice}"));
            format!("`{path}` is answered with status {status}, `{title}`{advice}")
        }
    }
}

/// What the user can give so that a page with this status and `title` can be measured; `None`: that
/// is not known.
pub fn advice(status: u16, title: &str) -> Option<&'static str> {
    match status {
        // Nobody can log in to a page that the web server refuses to everybody.
        403 if is_of_web_server(title) => Some(
            "the web server refuses it, not the app: by a rule such as `Require all denied` or `[F]` in `.htaccess`, or \
             because the directory has no front controller; measure another page with `--path`, or name the public directory \
             with `--docroot DIR`, the front controller with `--index FILE`",
        ),
        400 | 421 => Some("if the app knows another host name, give it: `--host NAME`"),
        401 => Some(
            "log in with `--login PATH --login-field NAME=VALUE`, `--basic-auth NAME:PASSWORD`, `--cookie NAME=VALUE` \
             or `--header 'Authorization: …'`",
        ),
        403 => Some(
            "log in (`--login PATH --login-field NAME=VALUE`), send what the app wants (`--cookie NAME=VALUE`, `--header 'Name: value'`, `--host NAME`), or measure \
             another page with `--path`",
        ),
        404 | 410 => Some(
            "measure a page that exists with `--path`; or name the public directory with `--docroot DIR`, the front \
             controller with `--index FILE`",
        ),
        _ => None,
    }
}

/// Whether a page of status 403 is one of those that web servers have themselves.
fn is_of_web_server(title: &str) -> bool {
    const TITLES: [&str; 4] = ["403", "403 forbidden", "403 - forbidden", "forbidden"];
    let title = title.trim().to_ascii_lowercase();
    TITLES.contains(&title.as_str())
}

/// Where a page redirects to, and what the user can do about it.
fn redirect(page: &PageRecord) -> String {
    let PageRecord { path, host, status, location, .. } = page;
    let (host, location) =
        (host.as_deref().unwrap_or("localhost"), location.as_deref().unwrap_or_default());
    if location.is_empty() {
        return format!("`{path}` is answered with a redirect ({status}) that leads nowhere");
    }
    let advice = match redirect_target(host, path, location) {
        RedirectTarget::ToItself => "it leads in a circle".to_owned(),
        RedirectTarget::To(path) if leads_to_login(&path) => {
            // The query is where to return to, unless it names the page itself.
            let own = path.split('?').next().filter(|own| leads_to_login(own)).unwrap_or(&path);
            format!(
                "to measure it logged in: `--login '{own}' --login-field NAME=VALUE`, once for each field of the form"
            )
        }
        RedirectTarget::To(path) => {
            format!("to measure the page behind it, load `{path}` (`--path '{path}'`)")
        }
        RedirectTarget::ToHttps => "the app wants HTTPS: `--https`".to_owned(),
        RedirectTarget::ToHost(host) => own_host(&host, path, location, ""),
        RedirectTarget::ToHttpsOfHost(host) => own_host(&host, path, location, " --https"),
    };
    format!("`{path}` is redirected ({status}) to `{location}`; {advice}")
}

/// The flags with which the app is asked at the host of a redirect's target; `None`: it names no host.
pub fn host_flags(location: &str) -> Option<String> {
    let url = Url::parse(location).ok()?;
    let host = url.host_str()?;
    let port = url.port().map_or(String::new(), |port| format!(":{port}"));
    let https = if url.scheme() == "https" { " --https" } else { "" };
    Some(format!("`--host {host}{port}{https}`"))
}

/// What to give where the app redirects to another host. For the same page, and from the home page,
/// that is the app's own name. Any other redirect may as well lead to somebody else's server.
fn own_host(host: &str, path: &str, location: &str, https: &str) -> String {
    let wanted = if https.is_empty() { "" } else { " and HTTPS" };
    let flags = format!("`--host {host}{https}`");
    let target = Url::parse(location).ok();
    let is_same = target.is_none_or(|url| Some(url.path()) == path.split('?').next());
    match is_same || path == "/" {
        true => format!("the app wants its own host name{wanted}: {flags}"),
        false => format!("if that is the app's own host name, give it: {flags}"),
    }
}

/// The target of a redirect, compared with the requested page.
#[derive(Debug, PartialEq, Eq)]
enum RedirectTarget {
    ToItself,
    /// Another path and query on the same host.
    To(String),
    ToHttps,
    ToHost(String),
    ToHttpsOfHost(String),
}

fn redirect_target(asked_host: &str, path: &str, location: &str) -> RedirectTarget {
    let asked = Url::parse(&format!("http://{asked_host}")).and_then(|host| host.join(path));
    let Ok((asked, url)) = asked.and_then(|asked| Ok((asked.clone(), asked.join(location)?)))
    else {
        return RedirectTarget::To(location.to_owned());
    };
    let host = url.host_str().unwrap_or_default();
    // An app that knows its port insists on it, too.
    let named = || url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    match url.scheme() {
        "https" if Some(host) == asked.host_str() && url.port().is_none() => {
            RedirectTarget::ToHttps
        }
        "https" => RedirectTarget::ToHttpsOfHost(named()),
        _ if Some(host) != asked.host_str() || url.port() != asked.port() => {
            RedirectTarget::ToHost(named())
        }
        _ if url.path() == asked.path() && url.query() == asked.query() => RedirectTarget::ToItself,
        _ => RedirectTarget::To(match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_shows_what_the_app_expects() {
        let to = |path: &str| RedirectTarget::To(path.to_owned());
        for (location, expected) in [
            ("/login", to("/login")),
            ("login?to=1", to("/login?to=1")),
            ("http://localhost/en/", to("/en/")),
            ("/account", RedirectTarget::ToItself),
            ("http://localhost/account#top", RedirectTarget::ToItself),
            ("https://localhost/account", RedirectTarget::ToHttps),
            ("https://shop.test/account", RedirectTarget::ToHttpsOfHost("shop.test".to_owned())),
            ("//www.shop.test/", RedirectTarget::ToHost("www.shop.test".to_owned())),
            ("http://localhost:8080/account", RedirectTarget::ToHost("localhost:8080".to_owned())),
            ("https://localhost:8443/", RedirectTarget::ToHttpsOfHost("localhost:8443".to_owned())),
        ] {
            assert_eq!(redirect_target("localhost", "/account", location), expected, "{location}");
        }
        let of_shop = |location| redirect_target("shop.test", "/account", location);
        assert_eq!(of_shop("https://shop.test/account"), RedirectTarget::ToHttps);
        assert_eq!(of_shop("http://shop.test/en"), to("/en"));
        assert_eq!(of_shop("http://localhost/"), RedirectTarget::ToHost("localhost".to_owned()));
    }

    #[test]
    fn an_error_says_what_to_give() {
        let page = |status| PageRecord { path: "/x".into(), status, ..PageRecord::default() };
        for (status, flags) in [
            (400, &["--host"][..]),
            (401, &["--login", "--basic-auth", "--cookie", "--header"]),
            (403, &["--login", "--cookie", "--header", "--host", "--path"]),
            (404, &["--path", "--docroot", "--index"]),
            (500, &[]),
        ] {
            let said = failure(&page(status));
            assert!(flags.iter().all(|flag| said.contains(flag)), "{said}");
            assert_eq!(advice(status, "").is_some(), !flags.is_empty(), "{status}");
        }
    }

    #[test]
    fn who_is_refused_by_the_web_server_is_not_told_to_log_in() {
        for (title, is_of_app) in [
            ("403 Forbidden", false),
            ("Forbidden", false),
            ("403 - Forbidden", false),
            ("Please log in", true),
            ("Shop: forbidden", true),
            ("", true),
        ] {
            let advice = advice(403, title).expect("an advice");
            assert_eq!(advice.contains("--login"), is_of_app, "{title}");
            assert!(advice.contains("--path"), "{title}");
        }
    }

    #[test]
    fn a_redirect_names_its_target() {
        let page = |location: &str| PageRecord {
            path: "/account".to_owned(),
            status: 302,
            location: Some(location.to_owned()),
            ..PageRecord::default()
        };
        insta::assert_snapshot!(redirect(&page("/login")), @"`/account` is redirected (302) to `/login`; to measure it logged in: `--login '/login' --login-field NAME=VALUE`, once for each field of the form");
        insta::assert_snapshot!(redirect(&page("/en/account")), @"`/account` is redirected (302) to `/en/account`; to measure the page behind it, load `/en/account` (`--path '/en/account'`)");
        insta::assert_snapshot!(redirect(&page("https://localhost/account")), @"`/account` is redirected (302) to `https://localhost/account`; the app wants HTTPS: `--https`");
        insta::assert_snapshot!(redirect(&page("http://shop.test/")), @"`/account` is redirected (302) to `http://shop.test/`; if that is the app's own host name, give it: `--host shop.test`");
        insta::assert_snapshot!(redirect(&page("http://shop.test/account")), @"`/account` is redirected (302) to `http://shop.test/account`; the app wants its own host name: `--host shop.test`");
    }
}
