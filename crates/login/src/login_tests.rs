use std::collections::BTreeMap;
use std::sync::Mutex;

use stampede_plan::app_settings::AppSettings;
use stampede_plan::model::AppChoice;
use stampede_stack::{Catalogue, SearchPaths};

use super::*;

/// A site that answers as `answer` says, and keeps what it was sent.
struct FakeSite<F> {
    answer: F,
    sent: Mutex<Vec<String>>,
}

impl<F: Fn(&str, &str, &str, &str) -> Answer> Site for FakeSite<F> {
    fn send(&self, request: &SiteRequest<'_>, _: Duration) -> Result<Answer, ClientError> {
        let SiteRequest { method, path, headers, body } = *request;
        let body = String::from_utf8_lossy(body);
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| known == name);
            found.map_or(String::new(), |(_, value)| value.clone())
        };
        let (cookie, origin) = (header("Cookie"), header("Origin"));
        self.sent.lock().unwrap().push(format!("{method} {path} [{cookie}] {origin} {body}"));
        Ok((self.answer)(method, path, &cookie, &body))
    }

    fn hosts(&self) -> Vec<String> {
        vec!["localhost".to_owned(), "127.0.0.1:8081".to_owned()]
    }
}

fn site<F: Fn(&str, &str, &str, &str) -> Answer>(answer: F) -> FakeSite<F> {
    FakeSite { answer, sent: Mutex::default() }
}

fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Answer::of_text(status, headers.iter().map(own).collect(), body)
}

fn login(path: &str, form: &[(&str, &str)]) -> LoginSettings {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    LoginSettings { path: path.to_owned(), form: form.iter().map(own).collect(), pause: None }
}

const ADA: [(&str, &str); 2] = [("email", "ada@shop.test"), ("pass", "love lace&1")];
const FORM: &str = "<title>Welcome</title><form action='/search'><input name=q></form>\
    <form method=post action='do?step=1'><input type=hidden name=_token value='t1'>\
    <input name=email><input type=password name=pass><input type=checkbox name=keep></form>";

/// An app of which only this is known.
fn provided(said: &AppSettings) -> App {
    let choice = AppChoice { settings: said.clone(), ..AppChoice::provided() };
    Catalogue::load(SearchPaths::default()).app(&choice).expect("an app")
}

fn page_of(app: &App) -> PageRequest {
    PageRequest { within: Duration::from_secs(1), ..PageRequest::of(app, &[]) }
}

/// Logs in once with ADA at `/a/login`.
fn result<F: Fn(&str, &str, &str, &str) -> Answer>(
    site: &FakeSite<F>,
    said: &AppSettings,
    login: &LoginSettings,
) -> Result<Vec<(String, String)>, String> {
    let app = provided(said);
    let sessions = log_in(site, &app, login, 1, &page_of(&app));
    sessions.map(|all| all[0].with_cookies(&[])).map_err(|error| error.to_string())
}

#[test]
fn the_form_is_sent_as_a_browser_sends_it() {
    let site = site(|method, path, cookie, body| match (method, path) {
        ("GET", "/a/login") => answer(200, &[("set-cookie", "sid=first; path=/")], FORM),
        ("POST", "/a/do?step=1") => {
            assert_eq!(cookie, "lang=de; sid=first");
            assert_eq!(body, "_token=t1&email=ada%40shop.test&pass=love+lace%261&keep=on");
            let set = ("set-cookie", "sid=second; HttpOnly");
            answer(302, &[set, ("location", "http://localhost/home")], "")
        }
        ("GET", "/home") if cookie == "lang=de; sid=second" => answer(
            200,
            &[("set-cookie", "seen=yes-it-was")],
            "<form><input type=password name=new>",
        ),
        other => panic!("{other:?}"),
    });
    let cookies = BTreeMap::from([("lang".to_owned(), "de".to_owned())]);
    let said = AppSettings { cookies, ..AppSettings::default() };
    let form = login("/a/login", &[&ADA[..], &[("keep", "on")]].concat());
    let headers = result(&site, &said, &form).unwrap();
    let cookie = "lang=de; seen=yes-it-was; sid=second".to_owned();
    assert_eq!(headers, [("Cookie".to_owned(), cookie)]);
    let sent = site.sent.lock().unwrap();
    assert!(sent[1].contains("http://localhost _token"), "{sent:?}");
}

#[test]
fn each_session_begins_without_the_cookies_of_the_others() {
    let number = Mutex::new(0);
    let site = site(|method, _, cookie, _| {
        if method == "GET" && cookie.is_empty() {
            return answer(200, &[], FORM);
        }
        let mut number = number.lock().unwrap();
        *number += 1;
        answer(204, &[("set-cookie", &format!("sid=number-{number}"))], "")
    });
    let app = provided(&AppSettings::default());
    let all = log_in(&site, &app, &login("/", &ADA), 3, &page_of(&app)).unwrap();
    let cookies: Vec<String> = all.iter().map(|jar| jar.with_cookies(&[])[0].1.clone()).collect();
    assert_eq!(cookies, ["sid=number-1", "sid=number-2", "sid=number-3"]);
}

#[test]
fn a_page_that_logs_in_whoever_visits_it_needs_no_form() {
    let site = site(|_, path, _, _| match path {
        "/dev" => answer(302, &[("location", "/"), ("set-cookie", "sid=abc")], ""),
        _ => answer(200, &[], "home"),
    });
    let headers = result(&site, &AppSettings::default(), &login("/dev", &[])).unwrap();
    assert_eq!(headers[0].1, "sid=abc");
}

#[test]
fn a_login_that_fails_says_why_and_what_to_do() {
    let set = ("set-cookie", "sid=abcdefgh");
    let refuses = |_: &str, _: &str, _: &str, _: &str| answer(200, &[set], FORM);
    let said = AppSettings::default();
    let mut texts = vec![result(&site(refuses), &said, &login("/login", &ADA)).unwrap_err()];
    let missing = |_: &str, _: &str, _: &str, _: &str| answer(404, &[], "<h1>Not here</h1>");
    texts.push(result(&site(missing), &said, &login("/login", &ADA)).unwrap_err());
    let no_form = |_: &str, _: &str, _: &str, _: &str| answer(200, &[], "<h1>Shop</h1>");
    texts.push(result(&site(no_form), &said, &login("/", &ADA)).unwrap_err());
    texts.push(result(&site(refuses), &said, &login("/login", &[])).unwrap_err());
    let elsewhere = |_: &str, _: &str, _: &str, _: &str| {
        answer(301, &[("location", "https://shop.test/login")], "")
    };
    texts.push(result(&site(elsewhere), &said, &login("/login", &ADA)).unwrap_err());
    let expired = |method: &str, _: &str, _: &str, _: &str| match method {
        "GET" => answer(200, &[], FORM),
        _ => answer(419, &[], "<title>Page Expired</title>"),
    };
    texts.push(result(&site(expired), &said, &login("/login", &ADA)).unwrap_err());
    let forgetful = |method: &str, _: &str, _: &str, _: &str| match method {
        "GET" => answer(200, &[], FORM),
        _ => answer(200, &[], "hello"),
    };
    texts.push(result(&site(forgetful), &said, &login("/login", &ADA)).unwrap_err());
    let misspelt = login("/login", &[("email", "a@b"), ("passwd", "x")]);
    texts.push(result(&site(refuses), &said, &misspelt).unwrap_err());
    // Boxes that are not ticked do not hide that the form is there again.
    let keep = login("/login", &[&ADA[..], &[("keep", "on")]].concat());
    texts.push(result(&site(refuses), &said, &keep).unwrap_err());
    let scripted = |_: &str, _: &str, _: &str, _: &str| {
        answer(200, &[set], "<form><input name=email><input type=password name=pass></form>")
    };
    texts.push(result(&site(scripted), &said, &login("/login", &ADA)).unwrap_err());
    texts.push(result(&site(refuses), &said, &login("", &ADA)).unwrap_err());
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn an_app_that_ends_earlier_sessions_is_noticed() {
    let app = provided(&AppSettings::default());
    let jar = |id: &str| CookieJar::of(&[("sid".to_owned(), id.to_owned())].into());
    let three = [jar("one"), jar("two"), jar("three")];
    let only_last = site(|_, _, cookie, _| match cookie {
        "sid=three" => answer(200, &[], "hello"),
        _ => answer(302, &[("location", "/login")], ""),
    });
    let error = check_sessions(&only_last, &three, &page_of(&app)).unwrap_err().to_string();
    assert!(error.starts_with("1 of 3 sessions stay logged in"), "{error}");
    check_sessions(&only_last, &three[2..], &page_of(&app)).unwrap();
    let all = site(|_, _, _, _| answer(200, &[], "hello"));
    check_sessions(&all, &three, &page_of(&app)).unwrap();
}

#[test]
fn a_pause_is_advised_only_where_the_app_seems_to_measure_time() {
    let form = |field: &str| {
        format!(
            "<form method=post><input type=hidden name={field}><input name=email><input type=password name=pass></form>"
        )
    };
    let now = now_s();
    let cases = [
        (form("_token value=1815"), "Wrong password.", false),
        (form("_token value=18151815181518151815"), "Wrong password.", false),
        (form(&format!("shown value={now}")), "Wrong.", true),
        (form(&format!("shown value={now}.25")), "Wrong.", true),
        (form("_token value=a"), "You were too fast, Ada.", true),
        (form("my_honeypot value=''"), "Wrong.", true),
        (form("shown value=1000000000"), "Wrong.", false),
    ];
    for (page, said, advised) in cases {
        let site = site(|method, _, _, _| match method {
            "GET" => answer(200, &[("set-cookie", "sid=first")], &page),
            _ => answer(403, &[], said),
        });
        let refused = result(&site, &AppSettings::default(), &login("/login", &ADA)).unwrap_err();
        assert_eq!(refused.contains("--login-pause"), advised, "{page}: {refused}");
        let pause = Some(stampede_model::time::Nanos::from_millis(1));
        let paused = LoginSettings { pause, ..login("/login", &ADA) };
        let refused = result(&site, &AppSettings::default(), &paused).unwrap_err();
        assert!(!refused.contains("--login-pause"), "{refused}");
    }
}
