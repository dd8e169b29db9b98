//! Defines the format of `app.yaml`. Every key is optional: what the file does not say is detected.

use std::collections::BTreeMap;

use serde::Deserialize;
use stampede_model::app_kind::AppKind;
use stampede_model::quantity::parse_length;
use stampede_model::time::Nanos;
use stampede_plan::app_settings::{AppSettings, LoginSettings, SESSIONS_MAX, SettingSource};

use super::app_manifest::{AppDatabase, AppRequest, Expect, Framework, Mask};
use super::catalogue;
use super::error::RuntimeError;

/// The content of `app.yaml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AppFile {
    title: Option<String>,
    kind: Option<AppKind>,
    docroot: Option<String>,
    index: Option<String>,
    writable: Vec<String>,
    ready: Option<ReadyInFile>,
    host: Option<String>,
    https: Option<bool>,
    headers: BTreeMap<String, String>,
    cookies: BTreeMap<String, String>,
    basic_auth: Option<String>,
    login: Option<LoginInFile>,
    sessions: Option<u32>,
    env: BTreeMap<String, String>,
    exclude: Vec<String>,
    extensions: Vec<String>,
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

/// The value of `ready`: a path, or a map.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum ReadyInFile {
    Path(String),
    Map(ReadyMap),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyMap {
    path: Option<String>,
    within: Option<String>,
}

/// The value of `login`: a path, or a map.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum LoginInFile {
    Path(String),
    Map(LoginSettings),
}

/// What is wrong with a value that YAML allows.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AppFileError {
    /// A path leads out of the app's directory.
    #[error("`{key}`: `{path}` is not inside the app's directory")]
    NotInside {
        /// The key.
        key: &'static str,
        /// The path as written.
        path: String,
    },
    /// The time of `ready: {within: …}`.
    #[error("`ready`: `{text}` is no length of time, such as `30s`")]
    NoLength {
        /// The text as written.
        text: String,
    },
    /// The number of sessions is out of its bounds.
    #[error("`sessions`: {number} is not from 1 to {SESSIONS_MAX}")]
    Sessions {
        /// The number as written.
        number: u32,
    },
}

impl AppFile {
    /// Reads `text`, the content of `file`.
    ///
    /// # Errors
    /// It is no YAML, has an unknown key, or a wrong value.
    pub fn parse(file: &str, text: &str) -> Result<(AppFile, AppSettings), RuntimeError> {
        let own: AppFile = match text.trim().is_empty() {
            true => AppFile::default(),
            false => catalogue::parse(file, text)?,
        };
        let settings = own.settings().map_err(|error| RuntimeError::Manifest {
            file: file.to_owned(),
            line: 0,
            column: 0,
            problem: error.to_string(),
            nearest: None,
        })?;
        Ok((own, settings))
    }

    /// What the file says of the keys that a plan and flags may have too.
    ///
    /// # Errors
    /// The value of one of them is wrong.
    pub fn settings(&self) -> Result<AppSettings, AppFileError> {
        let (path, within) = match &self.ready {
            None => (None, None),
            Some(ReadyInFile::Path(path)) => (Some(path.clone()), None),
            Some(ReadyInFile::Map(ReadyMap { path, within })) => (path.clone(), within.as_deref()),
        };
        let within: Option<Nanos> = within
            .map(|text| {
                parse_length(text).map_err(|_| AppFileError::NoLength { text: text.to_owned() })
            })
            .transpose()?;
        let docroot = self.docroot.as_deref().map(|path| inside("docroot", path)).transpose()?;
        let each = |key, paths: &[String]| {
            paths.iter().map(|path| inside(key, path)).collect::<Result<Vec<_>, _>>()
        };
        let settings = AppSettings {
            title: self.title.clone(),
            kind: self.kind,
            docroot,
            index: self.index.clone(),
            writable: each("writable", &self.writable)?,
            ready: path.or_else(|| self.request.path.clone()),
            ready_within: within,
            host: self.host.clone(),
            https: self.https,
            headers: self.headers.clone(),
            cookies: self.cookies.clone(),
            basic_auth: self.basic_auth.clone(),
            login: self.login.clone().map(|login| match login {
                LoginInFile::Path(path) => LoginSettings { path, form: BTreeMap::new() },
                LoginInFile::Map(login) => login,
            }),
            sessions: self.sessions()?,
            env: self.env.clone(),
            exclude: each("exclude", &self.exclude)?,
            extensions: self.extensions.clone(),
            sources: BTreeMap::new(),
        };
        Ok(settings.said_by(SettingSource::AppFile))
    }

    fn sessions(&self) -> Result<Option<u32>, AppFileError> {
        match self.sessions {
            Some(number) if number == 0 || number > SESSIONS_MAX => {
                Err(AppFileError::Sessions { number })
            }
            number => Ok(number),
        }
    }
}

/// A path inside the app's directory, without a slash at its end.
fn inside(key: &'static str, path: &str) -> Result<String, AppFileError> {
    let tidy = path.trim_end_matches('/').trim_start_matches("./");
    let leads_out = path.starts_with('/') || tidy.split('/').any(|part| part == "..");
    match (leads_out, tidy) {
        (true, _) => Err(AppFileError::NotInside { key, path: path.to_owned() }),
        (false, "") => Ok(".".to_owned()),
        (false, tidy) => Ok(tidy.to_owned()),
    }
}

#[cfg(test)]
mod tests {
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
        ] {
            assert!(settings(text).is_err(), "{text}");
        }
    }
}
