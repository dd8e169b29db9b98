//! Describes pages of a load that return an error or a redirect.

use url::Url;

use crate::record::PageRecord;
use crate::redirect::{FollowedRedirects, is_redirect};

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
        None => format!("`{path}` is answered with status {status}, `{title}`"),
    }
}

/// Where a page redirects to, and what the user can do about it.
fn redirect(page: &PageRecord) -> String {
    let PageRecord { path, status, location, .. } = page;
    let location = location.as_deref().unwrap_or_default();
    if location.is_empty() {
        return format!("`{path}` is answered with a redirect ({status}) that leads nowhere");
    }
    let advice = match redirect_target(path, location) {
        RedirectTarget::ToItself => "it leads in a circle".to_owned(),
        RedirectTarget::To(path) => {
            format!("to measure the page behind it, load `{path}` (`--path '{path}'`)")
        }
        RedirectTarget::ToHttps => {
            "the app wants HTTPS: send the header `X-Forwarded-Proto: https`, if the \
                           app trusts it (a plan's load has `headers`)"
                .to_owned()
        }
        RedirectTarget::ToHost(host) => format!(
            "the app wants its own host name: send the header `Host: {host}` (a plan's load has \
             `headers`)"
        ),
    };
    format!("`{path}` is redirected ({status}) to `{location}`; {advice}")
}

/// The target of a redirect, compared with the requested page.
#[derive(Debug, PartialEq, Eq)]
enum RedirectTarget {
    ToItself,
    /// Another path and query on the same host.
    To(String),
    ToHttps,
    ToHost(String),
}

fn redirect_target(path: &str, location: &str) -> RedirectTarget {
    let asked = Url::parse("http://localhost").and_then(|host| host.join(path));
    let Ok((asked, url)) = asked.and_then(|asked| Ok((asked.clone(), asked.join(location)?)))
    else {
        return RedirectTarget::To(location.to_owned());
    };
    let host = url.host_str().unwrap_or_default();
    match (url.scheme(), host) {
        ("https", "localhost") => RedirectTarget::ToHttps,
        (_, host) if host != "localhost" => RedirectTarget::ToHost(host.to_owned()),
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
            ("https://shop.test/account", RedirectTarget::ToHost("shop.test".to_owned())),
            ("//www.shop.test/", RedirectTarget::ToHost("www.shop.test".to_owned())),
        ] {
            assert_eq!(redirect_target("/account", location), expected, "{location}");
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
        insta::assert_snapshot!(redirect(&page("/login")), @"`/account` is redirected (302) to `/login`; to measure the page behind it, load `/login` (`--path '/login'`)");
        insta::assert_snapshot!(redirect(&page("https://localhost/account")), @"`/account` is redirected (302) to `https://localhost/account`; the app wants HTTPS: send the header `X-Forwarded-Proto: https`, if the app trusts it (a plan's load has `headers`)");
        insta::assert_snapshot!(redirect(&page("http://shop.test/")), @"`/account` is redirected (302) to `http://shop.test/`; the app wants its own host name: send the header `Host: shop.test` (a plan's load has `headers`)");
    }
}
