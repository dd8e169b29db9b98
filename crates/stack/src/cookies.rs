//! The cookies of a visitor, as a browser keeps them for one host.

use std::collections::BTreeMap;
use std::fmt;

use cookie::Cookie;

use super::answer::Answer;

/// Cookies by name. Its debug text has no values: they log somebody in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CookieJar(BTreeMap<String, String>);

impl fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// The shortest value that may be a session's.
const TOKEN_LENGTH: usize = 16;

/// What one `Set-Cookie` header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CookieChange {
    /// The cookie has this name and value from now on.
    Set(String, String),
    /// There is no cookie of this name any more.
    Removed(String),
}

/// What an answer says about cookies, in the order of its headers. What is no cookie is left out.
pub fn cookie_changes(answer: &Answer) -> impl Iterator<Item = CookieChange> {
    let headers = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
    headers.filter_map(|(_, text)| {
        let cookie = Cookie::parse(text.as_str()).ok()?;
        let is_over = cookie.max_age().is_some_and(|age| !age.is_positive())
            || cookie.value().is_empty()
            || cookie.value() == "deleted";
        let name = cookie.name().to_owned();
        Some(match is_over {
            true => CookieChange::Removed(name),
            false => CookieChange::Set(name, cookie.value().to_owned()),
        })
    })
}

impl CookieJar {
    /// A jar with these cookies.
    pub fn of(cookies: &BTreeMap<String, String>) -> CookieJar {
        CookieJar(cookies.clone())
    }

    /// Whether there are no cookies.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes what an answer says.
    pub fn take(&mut self, answer: &Answer) {
        for change in cookie_changes(answer) {
            match change {
                CookieChange::Set(name, value) => {
                    self.0.insert(name, value);
                }
                CookieChange::Removed(name) => {
                    self.0.remove(&name);
                }
            }
        }
    }

    /// The values of the cookies.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.0.values().map(String::as_str)
    }

    /// Registers the values that log somebody in, so that they are masked in everything that is
    /// written. A shorter one, such as a language or a theme, is none.
    pub fn learn_secrets(&self) {
        for value in self.0.values().filter(|value| value.len() >= TOKEN_LENGTH) {
            stampede_mask::named("Cookie", value);
        }
    }

    /// The same headers with these cookies. Of a header `Cookie` among them, what has another name
    /// stays.
    #[must_use]
    pub fn with_cookies(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        let is_cookie = |name: &str| name.eq_ignore_ascii_case("cookie");
        let mut cookies = BTreeMap::new();
        for (_, text) in headers.iter().filter(|(name, _)| is_cookie(name)) {
            for cookie in Cookie::split_parse(text.as_str()).flatten() {
                cookies.insert(cookie.name().to_owned(), cookie.value().to_owned());
            }
        }
        cookies.extend(self.0.clone());
        let mut all: Vec<_> =
            headers.iter().filter(|(name, _)| !is_cookie(name)).cloned().collect();
        if !cookies.is_empty() {
            let pairs: Vec<String> =
                cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            all.push(("Cookie".to_owned(), pairs.join("; ")));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn cookies_are_kept_replaced_and_removed() {
        let mut jar = CookieJar::default();
        let answer = |cookies: &[&str]| {
            let headers = cookies.iter().map(|text| pair("set-cookie", text)).collect();
            Answer::of_text(200, headers, "")
        };
        jar.take(&answer(&["sid=one; Path=/; HttpOnly", "lang=de", "no cookie"]));
        jar.take(&answer(&[
            "sid=two%3D; SameSite=Lax",
            "lang=; expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ]));
        assert_eq!(jar.with_cookies(&[]), [pair("Cookie", "sid=two%3D")]);
        assert_eq!(format!("{jar:?}"), "{\"sid\"}");
        jar.take(&answer(&["sid=deleted; Max-Age=0"]));
        assert!(jar.is_empty() && jar.with_cookies(&[]).is_empty());
    }

    #[test]
    fn a_session_wins_over_recorded_cookies_and_keeps_the_others() {
        let jar = CookieJar::of(&BTreeMap::from([pair("sid", "new")]));
        let headers = [pair("Accept", "a"), pair("cookie", "sid=old; theme=dark")];
        let expected = [pair("Accept", "a"), pair("Cookie", "sid=new; theme=dark")];
        assert_eq!(jar.with_cookies(&headers), expected);
    }
}
