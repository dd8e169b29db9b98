//! Detects answers that require a sign-in, and reads the users' credentials.

use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stampede_model::segments::leads_to_login;

use super::error::{CookieError, RequestError};

/// Largest cookie file: all cookies of a browser take a megabyte.
const BYTES_MAX: u64 = 4 << 20;
/// Part of a page that is searched for a form, in bytes.
const FORM_BYTES: usize = 1 << 20;

/// Returns whether an answer requires a sign-in.
pub fn wants_login(
    status: u16,
    location: Option<&str>,
    body: &[u8],
    www_authenticate: Option<&str>,
) -> bool {
    match status {
        401 => true,
        300..=399 => location.is_some_and(leads_to_login),
        403 => www_authenticate.is_some() || has_login_form(body),
        _ => false,
    }
}

/// Returns whether a page has a form with a password field.
fn has_login_form(body: &[u8]) -> bool {
    let page = body[..body.len().min(FORM_BYTES)].to_ascii_lowercase();
    let has = |part: &str| page.windows(part.len()).any(|window| window == part.as_bytes());
    has("<form") && ["type=\"password\"", "type='password'", "type=password"].iter().any(|f| has(f))
}

/// The credentials of each user. Its debug text contains no secrets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Values of `Authorization`.
    basic: Vec<String>,
    jars: Vec<Vec<(String, String)>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials of {} names and {} jars", self.basic.len(), self.jars.len())
    }
}

impl Credentials {
    /// Reads `NAME:PASSWORD` entries and cookie files, one of each for every user.
    ///
    /// # Errors
    /// A name has no password, a file cannot be read, or one of its lines is no cookie.
    pub fn read(users: &[String], jars: &[PathBuf]) -> Result<Credentials, RequestError> {
        let basic = |user: &String| match user.split_once(':') {
            Some((name, _)) if !name.is_empty() => Ok(format!("Basic {}", STANDARD.encode(user))),
            _ => Err(RequestError::User),
        };
        let basic = users.iter().map(basic).collect::<Result<_, _>>()?;
        let jars = jars.iter().map(|path| jar_at(path)).collect::<Result<_, _>>()?;
        Ok(Credentials { basic, jars })
    }

    /// Returns whether there are no credentials.
    pub fn is_empty(&self) -> bool {
        self.basic.is_empty() && self.jars.is_empty()
    }

    /// Returns the number of different users.
    pub fn users(&self) -> usize {
        self.basic.len().max(self.jars.len())
    }

    /// Returns the headers of a user, numbered from 0. If there are more users than credentials,
    /// the first ones are used again.
    pub fn headers(&self, user: usize) -> Vec<(String, String)> {
        let value = of(&self.basic, user);
        value.map(|value| ("Authorization".to_owned(), value.clone())).into_iter().collect()
    }

    /// Returns names and values of the cookies with which that user begins.
    pub fn cookies(&self, user: usize) -> &[(String, String)] {
        of(&self.jars, user).map_or(&[], Vec::as_slice)
    }
}

fn of<T>(all: &[T], user: usize) -> Option<&T> {
    all.get(user % all.len().max(1))
}

fn jar_at(path: &Path) -> Result<Vec<(String, String)>, RequestError> {
    let unreadable = |source| RequestError::Jar { path: path.to_owned(), source };
    let length = std::fs::metadata(path).map_err(unreadable)?.len();
    if length > BYTES_MAX {
        let what = CookieError::TooLong { mib_max: BYTES_MAX >> 20 };
        return Err(RequestError::Cookies { path: path.to_owned(), line: 1, what });
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    jar(&bytes).map_err(|(line, what)| RequestError::Cookies { path: path.to_owned(), line, what })
}

/// Parses cookies in the format of curl and browsers (seven columns with tabs between them), or as
/// lines `name=value`, with `;` between several. Returns the number of the first wrong line, and
/// the mistake.
fn jar(bytes: &[u8]) -> Result<Vec<(String, String)>, (usize, CookieError)> {
    let text = String::from_utf8_lossy(bytes);
    let mut jar: Vec<(String, String)> = Vec::new();
    let mut site = None;
    let mut lines = 0;
    for (number, line) in (1..).zip(text.lines()) {
        lines = number;
        // With this prefix, curl marks a cookie that scripts may not read.
        let line = line.strip_prefix("#HttpOnly_").unwrap_or(line);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let cookies = match line.contains('\t') {
            true => vec![cookie_from_columns(line, &mut site).map_err(|what| (number, what))?],
            false => cookies_from_pairs(line).map_err(|what| (number, what))?,
        };
        for (name, value) in cookies {
            let is_clean =
                |text: &str| !text.contains(|char: char| char.is_control() || char == ';');
            if name.is_empty() || name.contains([' ', '=']) || !is_clean(&name) || !is_clean(&value)
            {
                return Err((number, CookieError::NameOrValue));
            }
            // A later cookie of the same name replaces the earlier one.
            jar.retain(|(known, _)| *known != name);
            jar.push((name, value));
        }
    }
    if jar.is_empty() { Err((lines.max(1), CookieError::None)) } else { Ok(jar) }
}

/// Parses the columns: domain, with subdomains, path, TLS only, expiry, name, value.
fn cookie_from_columns(
    line: &str,
    site: &mut Option<String>,
) -> Result<(String, String), CookieError> {
    let columns: Vec<&str> = line.split('\t').collect();
    let &[domain, _, _, _, _, name, value] = &columns[..] else {
        return Err(CookieError::Columns { found: columns.len() });
    };
    let domain = domain.trim_start_matches('.').trim_start_matches("www.");
    let site = site.get_or_insert_with(|| domain.to_owned());
    let is_below =
        |domain: &str, of: &str| domain.strip_suffix(of).is_some_and(|d| d.ends_with('.'));
    if site != domain && !is_below(site, domain) && !is_below(domain, site) {
        return Err(CookieError::OtherSite { domain: domain.to_owned(), site: site.clone() });
    }
    Ok((name.to_owned(), value.trim_end_matches('\r').to_owned()))
}

fn cookies_from_pairs(line: &str) -> Result<Vec<(String, String)>, CookieError> {
    let pairs = line.strip_prefix("Cookie:").unwrap_or(line).split(';');
    let pairs = pairs.map(str::trim).filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').ok_or(CookieError::NoPair)?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    };
    pairs.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Status, `Location`, body, `WWW-Authenticate`; and whether the answer requires a sign-in.
    type Case<'a> = (u16, Option<&'a str>, &'a str, Option<&'a str>, bool);

    #[test]
    fn answers_that_require_a_sign_in_are_recognized() {
        let form = "<FORM method=post><input type=\"password\"></form>";
        let cases: [Case<'_>; 18] = [
            (401, None, "", None, true),
            (401, None, "", Some("Basic"), true),
            (302, Some("/login"), "", None, true),
            (303, Some("http://localhost:8081/user/sign-in?back=/"), "", None, true),
            (307, Some("/wp-login.php?redirect_to=x"), "", None, true),
            (302, Some("/oauth/authorize"), "", None, true),
            (302, Some("/index.php?route=account/login"), "", None, true),
            (302, Some("/index.php?back=1&from=/login"), "", None, false),
            (302, Some("https://login.example/"), "", None, false),
            (302, Some("/authors"), "", None, false),
            (302, Some("/blogin"), "", None, false),
            (302, Some("http://localhost"), "", None, false),
            (302, None, form, None, false),
            (200, Some("/login"), form, None, false),
            (403, None, form, None, true),
            (403, None, "<form><input type=text></form>", None, false),
            (403, None, "no", Some("Negotiate"), true),
            (404, None, form, None, false),
        ];
        for (status, location, body, authenticate, expected) in cases {
            let wants = wants_login(status, location, body.as_bytes(), authenticate);
            assert_eq!(wants, expected, "{status} {location:?} {body}");
        }
    }

    fn cookies(text: &str) -> Result<String, String> {
        let jar = jar(text.as_bytes()).map_err(|(line, what)| format!("{line}: {what}"))?;
        let pairs = jar.iter().map(|(name, value)| format!("{name}={value}"));
        Ok(pairs.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn cookies_are_read_in_curls_format_and_as_pairs() {
        let netscape = "# Netscape HTTP Cookie File\n\nlocalhost\tFALSE\t/\tFALSE\t0\tlang\tde\r\n\
                        #HttpOnly_localhost\tFALSE\t/\tTRUE\t1893456000\tPHPSESSID\tabc=\n";
        let cases = [
            (netscape, Ok("lang=de; PHPSESSID=abc=")),
            ("a=1\n# no\n b = 2 \n", Ok("a=1; b=2")),
            ("Cookie: a=1; b=2;\n", Ok("a=1; b=2")),
            ("a=1\nb=2\na=3\n", Ok("b=2; a=3")),
            (
                ".shop.example\tTRUE\t/\tTRUE\t0\ta\t1\nwww.shop.example\tTRUE\t/\tTRUE\t0\tb\t2\n",
                Ok("a=1; b=2"),
            ),
            (
                "my.shop.example\tTRUE\t/\tTRUE\t0\ta\t1\nshop.example\tTRUE\t/\tTRUE\t0\tb\t\n",
                Ok("a=1; b="),
            ),
            ("a=1\nnothing\n", Err("2: no `name=value`")),
            ("a=1\n=2\n", Err("2: a cookie has no such name or value")),
            ("a b=2\n", Err("1: a cookie has no such name or value")),
            ("x\tFALSE\t/\n", Err("1: 3 columns with tabs between them, and not 7")),
            (
                "a.example\tTRUE\t/\tTRUE\t0\ta\t1\nxa.example\tTRUE\t/\tTRUE\t0\tb\t2\n",
                Err("2: a cookie of `xa.example`, and those before it of `a.example`"),
            ),
            ("", Err("1: no cookie up to here")),
            ("# none\n#\n", Err("2: no cookie up to here")),
        ];
        for (text, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(cookies(text), expected, "{text:?}");
        }
    }

    #[test]
    fn each_user_has_own_credentials_and_no_secret_is_shown() {
        let directory = tempfile::tempdir().expect("a directory");
        let jar = |name: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, format!("sid={name}\n")).expect("written");
            path
        };
        let users = ["ann:pa:ss", "bob:"].map(String::from);
        let credentials =
            Credentials::read(&users, &[jar("one"), jar("two"), jar("three")]).unwrap();
        assert_eq!(credentials.users(), 3);
        let header = |value: &str| vec![("Authorization".to_owned(), value.to_owned())];
        assert_eq!(credentials.headers(0), header("Basic YW5uOnBhOnNz"));
        assert_eq!(credentials.headers(1), header("Basic Ym9iOg=="));
        assert_eq!(credentials.headers(2), credentials.headers(0));
        assert_eq!(credentials.cookies(1), [("sid".to_owned(), "two".to_owned())]);
        assert_eq!(format!("{credentials:?}"), "Credentials of 2 names and 3 jars");
        let nobody = Credentials::default();
        assert!(nobody.is_empty() && nobody.headers(0).is_empty() && nobody.cookies(7).is_empty());
    }
}
