//! Tests of what a plan, an `app.yaml` and flags say about an app.

use std::collections::BTreeMap;

use stampede_model::time::Nanos;

use super::app_settings::{AppSettings, SettingSource};
use super::tests::{read_text, text};
use super::*;

/// The settings of the only app of a plan with these flags.
fn settings_of(plan: &str, app_flags: AppFlags) -> AppSettings {
    let flags = Overrides { app_flags, ..Overrides::default() };
    let plan = format!("{plan}\nruntimes: [a]\nload: const(1,1s)\n");
    read_text(&plan, &flags).unwrap().stack.apps.choices.swap_remove(0).settings
}

fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

#[test]
fn flags_lie_over_what_the_plan_says_about_an_app() {
    let plan = "app: {path: ~/shop, docroot: web, writable: cache, headers: {A: a, B: b}, \
                env: {X: plan, Y: plan}}";
    let flags = AppFlags {
        docroot: text("htdocs/"),
        writable: strings(["uploads"]),
        header: strings(["B: flag"]),
        cookie: strings(["SID=5f1c77==", "theme=dark"]),
        env: strings(["X=a=b"]),
        https: true,
        ..AppFlags::default()
    };
    let all = settings_of(plan, flags);
    assert_eq!(all.docroot.as_deref(), Some("htdocs"));
    assert_eq!(all.writable, ["cache", "uploads"]);
    let pairs = |map: &BTreeMap<String, String>| {
        map.iter().map(|(name, value)| format!("{name}:{value}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(pairs(&all.headers), "A:a B:flag");
    assert_eq!(pairs(&all.cookies), "SID:5f1c77== theme:dark");
    assert_eq!(pairs(&all.env), "X:a=b Y:plan");
    assert_eq!(all.https, Some(true));
    for (key, source) in [
        ("docroot", SettingSource::Flag),
        ("https", SettingSource::Flag),
        ("headers", SettingSource::Flag),
        ("kind", SettingSource::Detected),
    ] {
        assert_eq!(all.source(key), source, "{key}");
    }
    let login = AppFlags {
        login: text("/sign-in"),
        login_field: strings(["password=b=1", "keep=on"]),
        sessions: text("20"),
        ..AppFlags::default()
    };
    let plan_with_login =
        "app: {path: ~/shop, login: {path: /login, form: {email: a@b, password: x}}}";
    let all = settings_of(plan_with_login, login.clone());
    let said = all.login.clone().expect("a login");
    assert_eq!((said.path.as_str(), all.sessions), ("/sign-in", Some(20)));
    assert_eq!(pairs(&said.form), "email:a@b keep:on password:b=1");
    assert_eq!(all.source("login"), SettingSource::Flag);
    let said = settings_of("app: ~/shop", login).login.expect("a login");
    assert_eq!((said.path.as_str(), said.form.len()), ("/sign-in", 2));
    let all = settings_of(plan, AppFlags::default());
    assert_eq!(all.source("docroot"), SettingSource::Plan);
}

/// A key as `app.yaml` and a plan have it, and the flag that says the same.
fn keys_and_flags() -> Vec<(&'static str, AppFlags)> {
    let none = AppFlags::default;
    vec![
        ("docroot: htdocs", AppFlags { docroot: text("htdocs"), ..none() }),
        ("index: app.php", AppFlags { index: text("app.php"), ..none() }),
        ("writable: [cache]", AppFlags { writable: strings(["cache"]), ..none() }),
        ("writable: cache", AppFlags { writable: strings(["cache"]), ..none() }),
        ("ready: /health", AppFlags { ready: text("/health"), ..none() }),
        ("ready: {path: /health}", AppFlags { ready: text("/health"), ..none() }),
        ("host: shop.test:8080", AppFlags { host: text("shop.test:8080"), ..none() }),
        ("https: true", AppFlags { https: true, ..none() }),
        ("headers: {X-A: b:c}", AppFlags { header: strings(["X-A: b:c"]), ..none() }),
        ("cookies: {SID: 5f1c=}", AppFlags { cookie: strings(["SID=5f1c="]), ..none() }),
        ("login: {cookie: SID=5f1c=}", AppFlags { cookie: strings(["SID=5f1c="]), ..none() }),
        ("basic_auth: 'ada:b:c'", AppFlags { basic_auth: text("ada:b:c"), ..none() }),
        ("login: {basic: 'ada:b:c'}", AppFlags { basic_auth: text("ada:b:c"), ..none() }),
        ("login: /sign-in", AppFlags { login: text("/sign-in"), ..none() }),
        (
            "login: {path: /sign-in, form: {user: ada, pin: 1815}, pause: 5s}",
            AppFlags {
                login: text("/sign-in"),
                login_field: strings(["user=ada", "pin=1815"]),
                login_pause: text("5s"),
                ..none()
            },
        ),
        ("sessions: 20", AppFlags { sessions: text("20"), ..none() }),
        ("env: {A: 1, B: 'x y'}", AppFlags { env: strings(["A=1", "B=x y"]), ..none() }),
        ("exclude: [uploads, a/b]", AppFlags { exclude: strings(["uploads", "a/b"]), ..none() }),
        ("extensions: [intl]", AppFlags { extension: strings(["intl"]), ..none() }),
    ]
}

#[test]
fn each_key_of_an_app_is_the_same_in_app_yaml_in_a_plan_and_as_a_flag() {
    let plain = |settings: AppSettings| AppSettings { sources: BTreeMap::new(), ..settings };
    for (key, flags) in keys_and_flags() {
        let yaml = format!("title: x\nmask: []\n{key}\n");
        let of_file = settings_of_app_yaml("app.yaml", &yaml).unwrap();
        let titled = AppSettings { title: text("x"), ..AppSettings::default() };
        let of_plan = settings_of(&format!("app: {{path: ~/shop, {key}}}"), AppFlags::default());
        let of_flags = settings_of("app: ~/shop", flags.clone());
        assert_ne!(plain(of_flags.clone()), AppSettings::default(), "{key}");
        assert_eq!(plain(of_plan.clone()), plain(of_flags.clone()), "{key}");
        assert_eq!(plain(of_file.clone()), plain(titled.overlaid(&of_flags)), "{key}");
        // Laid over itself, nothing is lost, and nothing is there twice.
        let all = of_file.clone().overlaid(&of_plan).overlaid(&of_flags);
        assert_eq!(plain(all), plain(of_file), "{key}");
    }
}

#[test]
fn extensions_are_named_as_people_know_them() {
    let of_flag = |text: &str| {
        let flags = AppFlags { extension: strings([text]), ..AppFlags::default() };
        settings_of("app: ~/shop", flags).extensions
    };
    assert_eq!(of_flag("curl,zip"), ["curl", "zip"]);
    assert_eq!(of_flag("ext-intl, GD.so,"), ["intl", "gd"]);
    assert_eq!(of_flag("Zend OPcache"), ["zend opcache"]);
    let of_plan = |text: &str| {
        settings_of(&format!("app: {{path: ~/shop, extensions: {text}}}"), AppFlags::default())
    };
    assert_eq!(of_plan("'curl, zip'").extensions, ["curl", "zip"]);
    assert_eq!(of_plan("[ext-curl, 'zip,gd']").extensions, ["curl", "zip", "gd"]);
}

#[test]
fn a_mistake_in_app_yaml_shows_no_secret() {
    for (yaml, secret) in [
        ("basic_auth: lovelace-1815", "lovelace-1815"),
        ("login: {basic: lovelace-1815}", "lovelace-1815"),
        ("login: {cookie: lovelace-1815}", "lovelace-1815"),
        ("cookies: {SID: \"5f1c77aa;b\"}", "5f1c77aa"),
        ("headers: {Authorization: \"Bearer 5f1c77ab\\n\"}", "5f1c77ab"),
    ] {
        let wrong = settings_of_app_yaml("app.yaml", yaml).unwrap_err();
        let text = format!("{wrong} {}", wrong.render(RenderStyle::Plain));
        let text = stampede_mask::mask_secrets(&text);
        assert!(!text.contains(secret), "{yaml}: {text}");
    }
}

#[test]
fn an_app_of_the_catalogue_has_settings_too() {
    let host = AppFlags { host: text("shop.test"), ..AppFlags::default() };
    let all = settings_of("app: hello", host.clone());
    assert_eq!(all.host.as_deref(), Some("shop.test"));
    assert_eq!(
        settings_of("app: {name: hello, ready: {within: 30s}}", host).ready_within,
        Some(Nanos::from_secs(30))
    );
}
