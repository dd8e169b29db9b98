//! Users of a check: each has its own tokens, language and cookies.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use cookie::Cookie;
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use stampede_stack::{Answer, CookieChange, cookie_changes};

use super::model::CheckRequest;

/// Prefix of every token; no other text begins like it.
const PREFIX: &str = "stmpd";
/// Number of characters after the prefix.
const LENGTH: usize = 12;
/// Placeholder in a request for the user's own token.
pub const PLACEHOLDER: &str = "{user}";
/// Languages of the users, in turn.
const LANGUAGES: [&str; 4] = ["en", "de", "fr", "es"];
/// Shortest value of a cookie that identifies a user.
const COOKIE_LENGTH: usize = 8;
/// Fewest letters and digits in a row that may be random. Much of what a person provides is no
/// session id.
const RANDOM_LENGTH: usize = 16;

/// Where a token is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TokenPlace {
    /// In place of `{user}` in a request.
    Request,
    /// In the cookie `stampede_user`.
    Cookie,
    /// In the header `X-Stampede-User`.
    Header,
    /// In the user agent's name.
    UserAgent,
}

impl TokenPlace {
    const ALL: [TokenPlace; 4] =
        [TokenPlace::Request, TokenPlace::Cookie, TokenPlace::Header, TokenPlace::UserAgent];

    /// Returns words for it, to follow "the".
    pub fn words(self) -> &'static str {
        match self {
            TokenPlace::Request => "`{user}` of the request",
            TokenPlace::Cookie => "cookie `stampede_user`",
            TokenPlace::Header => "header `X-Stampede-User`",
            TokenPlace::UserAgent => "user agent's name",
        }
    }
}

/// Returns the token of a user at a place; the same for the same seed.
pub fn token(seed: u64, user: u32, place: TokenPlace) -> String {
    let digest = Sha256::digest(format!("{seed} {user} {place:?}"));
    let mut text = PREFIX.to_owned();
    for byte in digest.iter().take(LENGTH) {
        text.push(char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[usize::from(byte % 36)]));
    }
    text
}

/// Returns the user of a token, and where it was planted; `None` if it is none.
pub fn owner(seed: u64, users: u32, found: &str) -> Option<(u32, TokenPlace)> {
    let mut all = (0..users).flat_map(|user| TokenPlace::ALL.map(|place| (user, place)));
    all.find(|(user, place)| token(seed, *user, *place) == found)
}

/// Returns all tokens in a text.
pub fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(PREFIX) {
        let from = &rest[at..];
        let length = from
            .bytes()
            .take_while(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
            .count();
        if length >= PREFIX.len() + LENGTH {
            found.push(&from[..PREFIX.len() + LENGTH]);
        }
        rest = &from[length.max(PREFIX.len())..];
    }
    found
}

/// A user of a fresh start.
#[derive(Clone, Debug)]
pub struct User {
    number: u32,
    seed: u64,
    /// Headers that a person provided, such as a login, without cookies.
    own: Vec<(String, String)>,
    cookies: BTreeMap<String, String>,
    /// Values of cookies from answers: another user must not be shown them.
    received_cookies: Vec<String>,
    /// Values that a person provided and that nobody else has by chance.
    provided_secrets: Vec<String>,
}

impl User {
    /// Returns the user before the first request. `own` are this user's headers, including
    /// `Cookie`.
    pub fn new(number: u32, seed: u64, own: &[(String, String)]) -> User {
        let (cookies, received_cookies, provided_secrets) =
            (BTreeMap::new(), Vec::new(), Vec::new());
        let mut user =
            User { number, seed, own: Vec::new(), cookies, received_cookies, provided_secrets };
        user.cookies.insert("stampede_user".to_owned(), token(seed, number, TokenPlace::Cookie));
        for (name, value) in own {
            match name.eq_ignore_ascii_case("cookie") {
                true => user.take(Cookie::split_parse(value.clone())),
                false => user.own.push((name.clone(), value.clone())),
            }
        }
        let cookies = user.cookies.iter().filter(|(name, _)| *name != "stampede_user");
        // Takes the last word of `Bearer …` or `Basic …`.
        let headers = user.own.iter().map(|(_, value)| value.rsplit(' ').next().unwrap_or(value));
        let values = cookies.map(|(_, value)| value.as_str()).chain(headers);
        let read = |value: &str| percent_decode_str(value).decode_utf8_lossy().into_owned();
        let values = values.flat_map(|value| [value.to_owned(), read(value)]);
        user.provided_secrets = values.filter(|value| looks_random(value)).collect();
        user.provided_secrets.dedup();
        user
    }

    fn take<'a>(&mut self, cookies: impl Iterator<Item = Result<Cookie<'a>, cookie::ParseError>>) {
        for cookie in cookies.flatten() {
            self.cookies.insert(cookie.name().to_owned(), cookie.value().to_owned());
        }
    }

    /// Returns the request as this user sends it, with placeholders filled and headers complete.
    pub fn personalized(&self, request: &CheckRequest) -> CheckRequest {
        let own = token(self.seed, self.number, TokenPlace::Request);
        let filled = |text: &str| text.replace(PLACEHOLDER, &own);
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut add = |name: &str, value: String| {
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value));
            }
        };
        for (name, value) in &request.headers {
            if !name.eq_ignore_ascii_case("cookie") {
                add(name, filled(value));
            }
        }
        for (name, value) in &self.own {
            add(name, value.clone());
        }
        let agent = token(self.seed, self.number, TokenPlace::UserAgent);
        add("User-Agent", format!("Mozilla/5.0 (stampede check; {agent})"));
        add("Accept", "text/html,application/json;q=0.9,*/*;q=0.8".to_owned());
        let language = LANGUAGES[self.number as usize % LANGUAGES.len()];
        add("Accept-Language", language.to_owned());
        add("X-Stampede-User", token(self.seed, self.number, TokenPlace::Header));
        let mut cookies = self.cookies.clone();
        for (name, value) in &request.headers {
            if name.eq_ignore_ascii_case("cookie") {
                for cookie in Cookie::split_parse(filled(value)).flatten() {
                    cookies.entry(cookie.name().to_owned()).or_insert(cookie.value().to_owned());
                }
            }
        }
        let cookies = cookies.iter().fold(String::new(), |mut line, (name, value)| {
            let _ = write!(line, "{}{name}={value}", if line.is_empty() { "" } else { "; " });
            line
        });
        add("Cookie", cookies);
        CheckRequest {
            method: request.method.clone(),
            target: filled(&request.target),
            headers,
            body: filled(&request.body),
        }
    }

    /// Keeps the cookies of an answer.
    pub fn keep_cookies(&mut self, answer: &Answer) {
        for change in cookie_changes(answer) {
            match change {
                CookieChange::Removed(name) => {
                    self.cookies.remove(&name);
                }
                CookieChange::Set(name, value) => {
                    if value.len() >= COOKIE_LENGTH {
                        self.received_cookies.push(value.clone());
                    }
                    self.cookies.insert(name, value);
                }
            }
        }
    }

    /// Keeps the cookies of a session in which this user has logged in: `name=value; name=value`.
    pub fn keep_session(&mut self, cookies: &str) {
        for cookie in Cookie::split_parse(cookies.to_owned()).flatten() {
            let (name, value) = (cookie.name().to_owned(), cookie.value().to_owned());
            let is_new = self.cookies.insert(name, value.clone()).as_ref() != Some(&value);
            if is_new && value.len() >= COOKIE_LENGTH {
                self.received_cookies.push(value);
            }
        }
    }

    /// Returns whether a text for `other` shows a cookie of this user, or something that a person
    /// provided for this user alone.
    pub fn is_shown(&self, text: &str, other: &User) -> bool {
        let provided_secrets =
            self.provided_secrets.iter().filter(|value| !other.provided_secrets.contains(value));
        self.received_cookies
            .iter()
            .chain(provided_secrets)
            .any(|value| text.contains(value.as_str()))
    }
}

/// Returns whether a value looks random, like a session id and unlike words, dates and versions. It
/// has a row of letters and digits in which one step in four changes between letter and digit. Of
/// random hexadecimal digits, 47 of 100 steps do; of random lower-case letters and digits, 40. Or
/// two steps in five change between lower-case letter, capital and digit (of random base64, 65 of
/// 100).
fn looks_random(value: &str) -> bool {
    let kind = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let rows = value.split(|c: char| !c.is_ascii_alphanumeric()).map(str::as_bytes);
    rows.filter(|row| row.len() >= RANDOM_LENGTH).any(|row| {
        let steps = || row.windows(2).map(|two| (kind(&two[0]), kind(&two[1])));
        let digits = steps().filter(|(one, next)| one.0 != next.0).count();
        let kinds = steps().filter(|(one, next)| one != next).count();
        digits * 4 >= row.len() - 1 || kinds * 5 >= (row.len() - 1) * 2
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header<'a>(request: &'a CheckRequest, name: &str) -> &'a str {
        let found = request.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    #[test]
    fn a_token_identifies_its_user_and_its_place() {
        for user in 0..3 {
            for place in TokenPlace::ALL {
                let text = format!("<b>Hello {}!</b>", token(7, user, place));
                let [found] = tokens(&text)[..] else { panic!("{text}") };
                assert_eq!(owner(7, 3, found), Some((user, place)));
                assert_eq!(owner(8, 3, found), None);
            }
        }
        assert!(tokens("stmpd stmpdABC stmpd0123456789a").is_empty());
        assert_eq!(tokens("stmpdstmpd0123456789ab").len(), 1);
    }

    #[test]
    fn each_user_sends_own_tokens_and_headers() {
        let request = CheckRequest {
            method: "GET".to_owned(),
            target: "/hello?name={user}".to_owned(),
            headers: vec![
                ("Accept-Language".to_owned(), "it".to_owned()),
                ("Cookie".to_owned(), "theme=dark".to_owned()),
            ],
            body: String::new(),
        };
        let mut user = User::new(1, 7, &[("Cookie".to_owned(), "login=abc".to_owned())]);
        let sent = user.personalized(&request);
        assert_eq!(sent.target, format!("/hello?name={}", token(7, 1, TokenPlace::Request)));
        assert_eq!(header(&sent, "Accept-Language"), "it");
        assert_eq!(
            header(&sent, "Cookie"),
            format!("login=abc; stampede_user={}; theme=dark", token(7, 1, TokenPlace::Cookie))
        );
        assert_eq!(
            header(&User::new(1, 7, &[]).personalized(&CheckRequest::default()), "Accept-Language"),
            "de"
        );
        let answer = |cookie: &str| {
            Answer::of_text(200, vec![("set-cookie".to_owned(), cookie.to_owned())], "")
        };
        user.keep_cookies(&answer("login=xyz12345678; path=/; HttpOnly"));
        assert!(header(&user.personalized(&request), "Cookie").starts_with("login=xyz12345678; "));
        let other = User::new(0, 7, &[]);
        assert!(user.is_shown("id xyz12345678", &other) && !user.is_shown("id abc", &other));
        user.keep_cookies(&answer("login=; Max-Age=0"));
        assert!(header(&user.personalized(&request), "Cookie").starts_with("stampede_user="));
    }

    fn bringing(number: u32, headers: &[(&str, &str)]) -> User {
        let own = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        User::new(number, 7, &own.collect::<Vec<_>>())
    }

    #[test]
    fn a_provided_session_shown_to_another_user_is_found() {
        let session = "0p4ub1ld8qd2s9v6c3k7h5mrf1";
        let one =
            bringing(0, &[("Cookie", &format!("PHPSESSID={session}; theme=dark-mode-of-2026"))]);
        let other = bringing(1, &[("Authorization", "Bearer 8f14e45fceea167a5a36dedd4bea2543")]);
        assert!(one.is_shown(&format!("<i>{session}</i>"), &other));
        assert!(!one.is_shown("theme: dark-mode-of-2026", &other));
        assert!(other.is_shown("token 8f14e45fceea167a5a36dedd4bea2543", &one));
        // A value that both have identifies neither of them.
        let same = bringing(1, &[("Cookie", &format!("PHPSESSID={session}"))]);
        assert!(!one.is_shown(session, &same));
        // Encoded as a browser keeps it, and decoded as a page shows it.
        let coded = bringing(0, &[("Cookie", "s=eyJpdiI6IkxTQ3pX%2BVGdQ4R3F5bz09")]);
        assert!(coded.is_shown("eyJpdiI6IkxTQ3pX+VGdQ4R3F5bz09", &other));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Words and numbers, and the characters that join them.
        #[test]
        fn text_that_people_write_does_not_look_random(
            parts in prop::collection::vec("[a-z]{5,9}|[A-Z][a-z]{5,9}|[0-9]{4,10}", 1..6),
            between in "|-|_|[.]| ",
        ) {
            let joined = parts.join(&between);
            prop_assert!(!looks_random(&joined), "{}", joined);
        }
    }

    #[test]
    fn most_session_ids_look_random() {
        let mut random = stampede_stats::random::Random::with_seed(3);
        for (letters, length) in [
            ("0123456789abcdef", 32),
            ("0123456789abcdefghijklmnopqrstuv", 26),
            ("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 40),
        ] {
            let letters = letters.as_bytes();
            let mut draw = || -> String {
                (0..length).map(|_| char::from(letters[random.below(letters.len())])).collect()
            };
            let drawn = (0..1_000).filter(|_| looks_random(&draw())).count();
            assert!(drawn > 900, "{drawn} of 1000 with {length}");
        }
    }
}
