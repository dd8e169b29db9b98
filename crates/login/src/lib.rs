//! Logs in to an app as a browser would: asks for the page with the form, fills the form, sends it
//! with everything that the page has put into it (such as a token against forged requests), and
//! keeps the cookies.

mod deal;

use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use stampede_linux::interrupt;
use stampede_markup::forms::{FieldKind, Form, FormMethod, forms};
use stampede_mask::mask_foreign;
use stampede_model::fact::pages;
use stampede_model::redirect::{HOPS_MAX, is_redirect};
use stampede_plan::app_settings::LoginSettings;
use stampede_stack::{
    Answer, App, ClientError, CookieJar, PageRequest, PageResult, Site, SiteRequest, origin,
    path_on_same_host,
};

pub use deal::deal;

/// Pause between two looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// The most names of fields that an error lists.
const NAMES_MAX: usize = 12;

/// Why nobody could log in. All texts have secrets masked.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginError {
    /// A request was not answered.
    #[error("cannot log in: `{path}`: {problem}")]
    NoAnswer {
        /// The path.
        path: String,
        /// The client's error.
        problem: String,
    },
    /// The page of the form is answered with an error.
    #[error(
        "cannot log in: `{path}` is answered with status {status}, `{title}`; name the page with the form: `--login PATH`"
    )]
    Page {
        /// The path.
        path: String,
        /// HTTP status.
        status: u16,
        /// What the page says.
        title: String,
    },
    /// The page has no form that could be meant.
    #[error(
        "cannot log in: `{path}` (`{title}`) has no form with a password or with {}; name the page with the form (`--login PATH`), or give a browser's cookie if a script makes the form (`--cookie NAME=VALUE`)",
        list(fields)
    )]
    NoForm {
        /// The path.
        path: String,
        /// The title of the page.
        title: String,
        /// The fields that were given.
        fields: Vec<String>,
    },
    /// Nobody said where to log in.
    #[error("cannot log in: name the page with the form: `--login PATH`")]
    NoPath {},
    /// Sessions are asked for, and no login.
    #[error(
        "`sessions` are of those who log in: name the page with the form, `--login PATH --login-field NAME=VALUE`"
    )]
    NoLogin {},
    /// The form is one that a script of the page sends.
    #[error(
        "cannot log in: a script of `{path}` sends the form, and stampede runs no scripts; log in with a browser and give its cookie: `--cookie NAME=VALUE`"
    )]
    Scripted {
        /// The path.
        path: String,
    },
    /// The form has no field of a name that was given.
    #[error("cannot log in: the form of `{path}` has no field `{field}`; it has {}", list(fields))]
    UnknownField {
        /// The path.
        path: String,
        /// The name that was given.
        field: String,
        /// The fields of the form.
        fields: Vec<String>,
    },
    /// The login seemed to succeed, and the page still leads to it.
    #[error(
        "the login at `{path}` was refused: `{page}` still leads there; the form has the fields {}",
        list(fields)
    )]
    NotKept {
        /// The path of the login.
        path: String,
        /// The page that was asked afterwards.
        page: String,
        /// The fields that were given.
        fields: Vec<String>,
    },
    /// The app ends the earlier sessions of a user.
    #[error(
        "{kept} of {sessions} sessions stay logged in: the app ends earlier sessions of a user; leave `sessions` out"
    )]
    SessionsEnd {
        /// Number of sessions that stay.
        kept: u64,
        /// Number of sessions that logged in.
        sessions: u64,
    },
    /// The form is given no fields.
    #[error(
        "cannot log in: the form of `{path}` has the fields {}; fill them: `--login-field NAME=VALUE`",
        list(fields)
    )]
    NothingGiven {
        /// The path.
        path: String,
        /// The fields of the form.
        fields: Vec<String>,
    },
    /// A redirect or the form leads to another host.
    #[error(
        "cannot log in: `{path}` leads to `{location}`, which is another host or HTTPS; the app may want {}",
        pages::host_flags(location).unwrap_or_else(|| "`--host NAME` or `--https`".to_owned())
    )]
    Elsewhere {
        /// The path.
        path: String,
        /// Where it leads.
        location: String,
    },
    /// The app asks for the login again, or answers with an error.
    #[error(
        "the login at `{path}` was refused: status {status}, `{title}`; the form has the fields {}{}",
        list(fields),
        if *may_be_too_soon { TOO_SOON } else { "" }
    )]
    Refused {
        /// The path to which the form was sent.
        path: String,
        /// HTTP status of the last answer.
        status: u16,
        /// What the page says.
        title: String,
        /// The fields of the form.
        fields: Vec<String>,
        /// Whether the form or the answer looks as if the app refuses a form that comes back at once.
        may_be_too_soon: bool,
    },
    /// No answer set a cookie.
    #[error("the login at `{path}` set no cookie, so no request would be logged in")]
    NoCookie {
        /// The path to which the form was sent.
        path: String,
    },
    /// The user asked stampede to stop.
    #[error("interrupted during the login")]
    Interrupted {},
}

impl LoginError {
    /// Whether another try could end differently.
    pub fn may_pass(&self) -> bool {
        matches!(self, LoginError::NoAnswer { .. } | LoginError::Interrupted {})
    }
}

fn list(names: &[String]) -> String {
    let some: Vec<String> = names.iter().take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    match (some.is_empty(), names.len() > NAMES_MAX) {
        (true, _) => "none".to_owned(),
        (_, true) => format!("{} …", some.join(", ")),
        _ => some.join(", "),
    }
}

/// Logs in `number` times, with the headers of `page` as far as they say who asks. Returns the
/// cookies of each session.
///
/// # Errors
/// The first login that fails.
pub fn log_in<S: Site + ?Sized>(
    site: &S,
    app: &App,
    login: &LoginSettings,
    number: u32,
    page: &PageRequest,
) -> Result<Vec<CookieJar>, LoginError> {
    if login.path.is_empty() {
        return Err(LoginError::NoPath {});
    }
    let headers: Vec<_> =
        page.headers.iter().filter(|(name, _)| says_who_asks(name)).cloned().collect();
    let within = page.within;
    let one = |_| {
        if interrupt::is_requested() {
            return Err(LoginError::Interrupted {});
        }
        let jar = CookieJar::of(&app.manifest.settings.cookies);
        let jar = Visitor { site, headers: &headers, within, jar }.log_in(login)?;
        jar.learn_secrets();
        Ok(jar)
    };
    (0..number.max(1)).map(one).collect()
}

/// Whether a header of the load belongs to whoever sends it, and not to one request. Answers must
/// not be compressed, since the form is read from them.
fn says_who_asks(name: &str) -> bool {
    let of_one = ["cookie", "accept-encoding", "range", "expect", "transfer-encoding"];
    let name = name.to_ascii_lowercase();
    !of_one.contains(&name.as_str()) && !name.starts_with("content-") && !name.starts_with("if-")
}

/// Checks that all `sessions` are still logged in: that `path` is answered to each as to the last.
///
/// # Errors
/// Some are not; or there is no answer.
pub fn check_sessions<S: Site + ?Sized>(
    site: &S,
    sessions: &[CookieJar],
    page: &PageRequest,
) -> Result<(), LoginError> {
    let path = page.path.as_deref().unwrap_or("/");
    let status = |session: &CookieJar| {
        let headers = session.with_cookies(&page.headers);
        let answer = site.request_path(path, &headers, page.within);
        answer.map(|answer| answer.status).map_err(|error| LoginError::NoAnswer {
            path: mask_foreign(path),
            problem: error.to_string(),
        })
    };
    let [earlier @ .., last] = sessions else { return Ok(()) };
    if earlier.is_empty() {
        return Ok(());
    }
    let right = status(last)?;
    let mut kept = 1;
    for session in earlier {
        kept += u64::from(status(session)? == right);
    }
    match kept == sessions.len() as u64 {
        true => Ok(()),
        false => Err(LoginError::SessionsEnd { kept, sessions: sessions.len() as u64 }),
    }
}

/// The error that a page which was asked after the login still leads to it; `None`: it does not.
pub fn still_leads_to_login(login: &LoginSettings, page: &PageResult) -> Option<LoginError> {
    let redirected = page.redirected()?;
    let without_query = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
    let is_again = without_query(&redirected.to) == without_query(&login.path);
    is_again.then(|| LoginError::NotKept {
        path: mask_foreign(&login.path),
        page: mask_foreign(&redirected.from),
        fields: login.form.keys().cloned().collect(),
    })
}

/// Somebody with a browser.
struct Visitor<'a, S: ?Sized> {
    site: &'a S,
    headers: &'a [(String, String)],
    within: Duration,
    jar: CookieJar,
}

/// A page, at the path to which redirects led.
struct Page {
    path: String,
    answer: Answer,
}

impl<S: Site + ?Sized> Visitor<'_, S> {
    fn log_in(mut self, login: &LoginSettings) -> Result<CookieJar, LoginError> {
        let answer = self.send("GET", &login.path, &[], b"")?;
        let page = self.follow(Page { path: login.path.clone(), answer })?;
        if page.answer.status >= 400 {
            let (path, status) = (mask_foreign(&page.path), page.answer.status);
            return Err(LoginError::Page { path, status, title: title(&page.answer) });
        }
        let found = form_of(&page, login)?;
        let Some(form) = found else {
            // A page that logs in whoever visits it.
            return self.with_cookies(&page.path);
        };
        if let Some(pause) = login.pause {
            wait(Duration::from_nanos(pause.0))?;
        }
        let (path, last) = self.send_form(&page, &form, login)?;
        // A page for those who are logged in may have a form of its own for another password.
        let is_same_page = page.path.split('?').next() == last.path.split('?').next();
        let asks_again =
            |again: &Form| again.has_password && (is_same_page || has_all(again, login));
        let is_form_again = forms(last.answer.body.as_bytes()).iter().any(asks_again);
        if last.answer.status >= 400 || is_form_again {
            let (status, title) = (last.answer.status, title(&last.answer));
            let may_be_too_soon =
                login.pause.is_none() && measures_time(&form, &last.answer.body, now_s());
            let fields = names(&form);
            return Err(LoginError::Refused { path, status, title, fields, may_be_too_soon });
        }
        self.with_cookies(&path)
    }

    fn with_cookies(self, path: &str) -> Result<CookieJar, LoginError> {
        match self.jar.is_empty() {
            true => Err(LoginError::NoCookie { path: mask_foreign(path) }),
            false => Ok(self.jar),
        }
    }

    /// Sends the filled form. Returns the path to which it was sent, and the page that follows.
    fn send_form(
        &mut self,
        page: &Page,
        form: &Form,
        login: &LoginSettings,
    ) -> Result<(String, Page), LoginError> {
        let action = form.action.clone().unwrap_or_else(|| page.path.clone());
        let target = self.path_to(&page.path, &action)?;
        if form.method != FormMethod::Post && form.has_password {
            return Err(LoginError::Scripted { path: mask_foreign(&page.path) });
        }
        let body = filled(form, login);
        let (path, answer) = match form.method {
            FormMethod::Get => {
                let begin = target.split('?').next().unwrap_or_default();
                let path = format!("{begin}?{body}");
                let answer = self.send("GET", &path, &self.referer(page), b"")?;
                (path, answer)
            }
            FormMethod::Post | FormMethod::Dialog => {
                let form = "application/x-www-form-urlencoded".to_owned();
                let mut headers = self.referer(page);
                headers.push(("Content-Type".to_owned(), form));
                let answer = self.send("POST", &target, &headers, body.as_bytes())?;
                (target.clone(), answer)
            }
        };
        let last = self.follow(Page { path, answer })?;
        Ok((mask_foreign(&target), last))
    }

    /// The headers by which an app knows that its own page sent the form.
    fn referer(&self, page: &Page) -> Vec<(String, String)> {
        let origin = origin(self.site, self.headers);
        let referer = format!("{origin}{}{}", self.site.base(), page.path);
        vec![("Origin".to_owned(), origin), ("Referer".to_owned(), referer)]
    }

    /// Follows the redirects of a page on the same host.
    fn follow(&mut self, mut page: Page) -> Result<Page, LoginError> {
        for _ in 0..HOPS_MAX {
            let location =
                page.answer.header("location").filter(|_| is_redirect(page.answer.status));
            let Some(location) = location.map(str::to_owned) else { break };
            let path = self.path_to(&page.path, &location)?;
            let answer = self.send("GET", &path, &[], b"")?;
            page = Page { path, answer };
        }
        Ok(page)
    }

    fn path_to(&self, from: &str, location: &str) -> Result<String, LoginError> {
        path_on_same_host(self.site, from, self.headers, location).ok_or_else(|| {
            let (path, location) = (mask_foreign(from), mask_foreign(location));
            LoginError::Elsewhere { path, location }
        })
    }

    fn send(
        &mut self,
        method: &str,
        path: &str,
        more: &[(String, String)],
        body: &[u8],
    ) -> Result<Answer, LoginError> {
        let headers = self.jar.with_cookies(&[self.headers, more].concat());
        let request = SiteRequest { method, path, headers: &headers, body };
        let failed = |error: ClientError| LoginError::NoAnswer {
            path: mask_foreign(path),
            problem: error.to_string(),
        };
        let answer = self.site.send(&request, self.within).map_err(failed)?;
        self.jar.take(&answer);
        Ok(answer)
    }
}

/// Whether an app seems to measure how long somebody takes for its form: the answer says so, or a
/// hidden field has the present time, in seconds since 1970 (`now_s`).
fn measures_time(form: &Form, answer: &str, now_s: u64) -> bool {
    let said = answer.to_ascii_lowercase();
    let is_time = |value: &str| {
        // Milliseconds and fractions are written behind the seconds.
        let seconds = value.get(..10).and_then(|begin| begin.parse::<u64>().ok());
        seconds.is_some_and(|seconds| seconds.abs_diff(now_s) < DAY_S)
    };
    SAID_TOO_SOON.iter().any(|words| said.contains(words))
        || form.fields.iter().any(|field| {
            let name = field.name.to_ascii_lowercase();
            let is_named = TIME_FIELDS.iter().any(|known| name.contains(known));
            is_named || is_time(&field.value)
        })
}

/// The time in seconds since 1970.
fn now_s() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// What an answer says to who is too quick.
const SAID_TOO_SOON: [&str; 6] =
    ["too fast", "too quick", "too soon", "too early", "zu schnell", "trop vite"];
/// Parts of the names of fields by which apps notice who is too quick.
const TIME_FIELDS: [&str; 5] = ["honeypot", "timestamp", "valid_from", "form_time", "loaded_at"];
/// Seconds of a day.
const DAY_S: u64 = 86_400;
/// What helps against an app that refuses quick forms.
const TOO_SOON: &str =
    "; the app may refuse a form that comes back at once, so try `--login-pause 5s`";

/// Waits as somebody who fills in the form.
fn wait(pause: Duration) -> Result<(), LoginError> {
    let begun = Instant::now();
    while let Some(left) = pause.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
        if interrupt::is_requested() {
            return Err(LoginError::Interrupted {});
        }
        thread::sleep(left.min(LOOK));
    }
    Ok(())
}

/// The form to fill; `None`: nothing is to be filled.
fn form_of(page: &Page, login: &LoginSettings) -> Result<Option<Form>, LoginError> {
    let all = forms(page.answer.body.as_bytes());
    let has_some = |form: &&Form| login.form.keys().any(|name| has(form, name));
    let path = || mask_foreign(&page.path);
    if login.form.is_empty() {
        let asking = all.iter().find(|form| form.has_password);
        return asking.map_or(Ok(None), |form| {
            Err(LoginError::NothingGiven { path: path(), fields: names(form) })
        });
    }
    let found = all
        .iter()
        .find(|form| form.has_password && has_all(form, login))
        .or_else(|| all.iter().find(|form| has_all(form, login)))
        .or_else(|| all.iter().find(|form| form.has_password))
        .or_else(|| all.iter().find(has_some));
    let Some(form) = found else {
        let fields = login.form.keys().cloned().collect();
        return Err(LoginError::NoForm { path: path(), title: title(&page.answer), fields });
    };
    match login.form.keys().find(|name| !has(form, name)) {
        None => Ok(Some(form.clone())),
        Some(field) => {
            let (field, fields) = (field.clone(), names(form));
            Err(LoginError::UnknownField { path: path(), field, fields })
        }
    }
}

fn has(form: &Form, name: &str) -> bool {
    form.fields.iter().any(|field| field.name == name) || form.unsent.iter().any(|one| one == name)
}

fn has_all(form: &Form, login: &LoginSettings) -> bool {
    login.form.keys().all(|name| has(form, name))
}

/// The names of what a form sends and a person may fill, and of its hidden fields.
fn names(form: &Form) -> Vec<String> {
    let filled = form.fields.iter().filter(|field| field.kind != FieldKind::Button);
    filled.map(|field| field.name.clone()).chain(form.unsent.iter().cloned()).collect()
}

/// The form's fields with the given values, encoded. A given field that the form does not send by
/// itself, such as a box that is not ticked, is added.
fn filled(form: &Form, login: &LoginSettings) -> String {
    let mut body = form_urlencoded::Serializer::new(String::new());
    let is_unsent = |name: &str| form.unsent.iter().any(|one| one == name);
    for field in &form.fields {
        let given = login.form.get(&field.name);
        if field.kind == FieldKind::Password
            && let Some(value) = given
        {
            stampede_mask::named("password", value);
        }
        body.append_pair(&field.name, given.unwrap_or(&field.value));
    }
    for (name, value) in login.form.iter().filter(|(name, _)| is_unsent(name)) {
        body.append_pair(name, value);
    }
    body.finish()
}

fn title(answer: &Answer) -> String {
    mask_foreign(&answer.gist())
}

#[cfg(test)]
#[path = "login_tests.rs"]
mod tests;
