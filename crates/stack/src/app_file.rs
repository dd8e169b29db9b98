//! Defines the format of `app.yaml`. Every key is optional: what the file does not say is detected.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use stampede_plan::app_settings::{AppSettings, SettingSource};
use stampede_plan::{Help, PlanError, settings_of_app_yaml};

use super::app_manifest::{AppDatabase, AppRequest, Expect, Framework, Mask};
use super::catalogue;
use super::error::RuntimeError;

/// The content of `app.yaml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AppFile {
    // A plan has these keys too: `settings_of_app_yaml` reads them.
    #[serde(rename = "title")]
    _title: IgnoredAny,
    #[serde(rename = "kind")]
    _kind: IgnoredAny,
    #[serde(rename = "docroot")]
    _docroot: IgnoredAny,
    #[serde(rename = "index")]
    _index: IgnoredAny,
    #[serde(rename = "writable")]
    _writable: IgnoredAny,
    #[serde(rename = "ready")]
    _ready: IgnoredAny,
    #[serde(rename = "host")]
    _host: IgnoredAny,
    #[serde(rename = "https")]
    _https: IgnoredAny,
    #[serde(rename = "headers")]
    _headers: IgnoredAny,
    #[serde(rename = "cookies")]
    _cookies: IgnoredAny,
    #[serde(rename = "basic_auth")]
    _basic_auth: IgnoredAny,
    #[serde(rename = "login")]
    _login: IgnoredAny,
    #[serde(rename = "sessions")]
    _sessions: IgnoredAny,
    #[serde(rename = "env")]
    _env: IgnoredAny,
    #[serde(rename = "exclude")]
    _exclude: IgnoredAny,
    #[serde(rename = "extensions")]
    _extensions: IgnoredAny,
    /// The earlier form of `ready`.
    request: AppRequest,
    /// The correct answer.
    pub expect: Expect,
    /// See [`super::app_manifest::AppManifest`], also for the other keys.
    pub contains: Option<String>,
    pub mask: Vec<Mask>,
    pub extensions_if_there: Vec<String>,
    pub in_memory: bool,
    pub needs: Option<BTreeMap<String, Framework>>,
    pub prepare: Option<String>,
    pub preload: Option<String>,
    pub caches: Option<Vec<String>>,
    pub database: Option<AppDatabase>,
}

impl AppFile {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// It is no YAML, has an unknown key, or a wrong value.
    pub fn parse(file: &str, text: &str) -> Result<(AppFile, AppSettings), RuntimeError> {
        if text.trim().is_empty() {
            return Ok(<(AppFile, AppSettings)>::default());
        }
        let own: AppFile = catalogue::parse(file, text)?;
        let mut settings = settings_of_app_yaml(file, text).map_err(|error| wrong(file, &error))?;
        if let (None, Some(path)) = (&settings.ready, &own.request.path) {
            settings.ready = Some(path.clone());
            settings = settings.said_by(SettingSource::AppFile);
        }
        Ok((own, settings))
    }
}

/// The error of the plan's reader, as one of a manifest.
fn wrong(file: &str, error: &PlanError) -> RuntimeError {
    let PlanError::Wrong(wrong) = error else {
        let problem = error.to_string();
        return RuntimeError::Manifest {
            file: file.to_owned(),
            line: 0,
            column: 0,
            problem,
            nearest: None,
        };
    };
    let (line, column) = wrong.place.line_column();
    let help = match &wrong.help {
        Help::Expected(text) => format!("expected {text}"),
        Help::Do(text) => text.clone(),
    };
    RuntimeError::Manifest {
        file: file.to_owned(),
        line: line as u64,
        column: column as u64,
        problem: format!("{}; {help}", wrong.mistake),
        nearest: wrong.nearest.clone(),
    }
}

#[cfg(test)]
mod tests {
    use stampede_model::time::Nanos;

    use super::*;

    fn settings(text: &str) -> Result<AppSettings, RuntimeError> {
        AppFile::parse("app.yaml", text).map(|(_, settings)| settings)
    }

    #[test]
    fn every_key_is_optional() {
        for text in ["", "# nothing\n{}", "title: x"] {
            assert_eq!(settings(text).expect("settings").docroot, None, "{text}");
        }
    }

    #[test]
    fn ready_is_a_path_or_a_map_and_has_an_earlier_form() {
        for text in ["ready: /a", "ready: {path: /a}", "request: {path: /a}"] {
            assert_eq!(settings(text).expect("settings").ready.as_deref(), Some("/a"), "{text}");
        }
        let within = settings("ready: {within: 1m}").expect("settings").ready_within;
        assert_eq!(within, Some(Nanos::from_secs(60)));
    }

    #[test]
    fn a_login_is_a_path_or_a_map() {
        let login = |text: &str| settings(text).expect("settings").login.expect("a login");
        assert_eq!(login("login: /dev/login").path, "/dev/login");
        let map = login("login: {path: /login, form: {email: ada@shop.test, password: lovelace3}}");
        assert_eq!(map.form["password"], "lovelace3");
        let given =
            settings("login: {basic: 'ada:lovelace3', cookie: SID=5f1c}").expect("settings");
        assert_eq!(given.basic_auth.as_deref(), Some("ada:lovelace3"));
        assert_eq!((given.cookies["SID"].as_str(), given.login), ("5f1c", None));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for text in [
            "docroot: /srv/shop",
            "docroot: ../shop",
            "writable: [a/../../b]",
            "exclude: [/etc]",
            "ready: {within: soon}",
            "ready: {pth: /}",
            "sessions: 0",
            "sessions: 1001",
            "docrot: public",
            "login: {paht: /login}",
            "basic_auth: ada",
            "headers: {\"X-A\": \"one\\ntwo\"}",
            "cookies: {SID: \"a;b\"}",
            "host: shop.test/x",
            "env: {\"A B\": c}",
        ] {
            assert!(settings(text).is_err(), "{text}");
        }
    }
}
