//! What is said about an app. The app's directory, its `app.yaml`, the plan and flags fill the same
//! type, and one is laid over the other key by key, so that writing one key loses no other.
//!
//! ```text
//! detected ◀─ app.yaml ◀─ plan ◀─ flags      the later source wins
//! ```
//! A value wins as a whole. Lists and maps are joined: an entry of a later source is added, and in
//! a map it replaces the entry of the same name.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stampede_model::app_kind::AppKind;
use stampede_model::time::Nanos;

/// The keys of an app that each source may have. `None` or empty: the source does not say it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AppSettings {
    /// The title for readers.
    pub title: Option<String>,
    /// How the app is entered.
    pub kind: Option<AppKind>,
    /// The directory of the public files, relative to the app's directory.
    pub docroot: Option<String>,
    /// The front controller, relative to the docroot.
    pub index: Option<String>,
    /// Paths of the copy that are created as directories if they are missing, and that the app may
    /// write to even if the original is read-only.
    pub writable: Vec<String>,
    /// The path and query that show whether the app works.
    pub ready: Option<String>,
    /// How long the first answer may take.
    pub ready_within: Option<Nanos>,
    /// The host name under which the app is asked.
    pub host: Option<String>,
    /// Whether the app is told that its requests came by HTTPS.
    pub https: Option<bool>,
    /// Headers of every request, by name.
    pub headers: BTreeMap<String, String>,
    /// Cookies of every request, by name.
    pub cookies: BTreeMap<String, String>,
    /// `NAME:PASSWORD` of HTTP basic authentication.
    pub basic_auth: Option<String>,
    /// How to log in before the load.
    pub login: Option<LoginSettings>,
    /// How many sessions log in; `None`: one.
    pub sessions: Option<u32>,
    /// Environment variables.
    pub env: BTreeMap<String, String>,
    /// Paths of the app's directory that are not copied.
    pub exclude: Vec<String>,
    /// The PHP extensions that the app needs.
    pub extensions: Vec<String>,
    /// The last source that said something about a key, by the key's name.
    pub sources: BTreeMap<String, SettingSource>,
}

/// A login by a form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginSettings {
    /// Path and query of the page with the form; empty: nobody said it yet.
    #[serde(default)]
    pub path: String,
    /// The values of the form's fields, by name. Empty: whoever asks for the page is logged in.
    #[serde(default)]
    pub form: BTreeMap<String, String>,
    /// How long a visitor looks at the form before it is sent; `None`: it is sent at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Nanos>,
}

impl LoginSettings {
    /// This login with another one laid over it, field by field.
    fn overlaid(mut self, over: LoginSettings) -> LoginSettings {
        if !over.path.is_empty() {
            self.path = over.path;
        }
        self.form.extend(over.form);
        self.pause = over.pause.or(self.pause);
        self
    }
}

/// The most sessions that may log in.
pub const SESSIONS_MAX: u32 = 1_000;

/// Where a setting of an app was said. The later ones win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingSource {
    /// It follows from the files of the app's directory.
    Detected,
    /// The `app.yaml` of the app's directory.
    AppFile,
    /// The plan.
    Plan,
    /// A flag.
    Flag,
}

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SettingSource::Detected => "detected",
            SettingSource::AppFile => "from `app.yaml`",
            SettingSource::Plan => "from the plan",
            SettingSource::Flag => "from a flag",
        })
    }
}

impl AppSettings {
    /// These settings with those of `over` laid over them.
    #[must_use]
    pub fn overlaid(self, over: &AppSettings) -> AppSettings {
        let over = over.clone();
        AppSettings {
            title: over.title.or(self.title),
            kind: over.kind.or(self.kind),
            docroot: over.docroot.or(self.docroot),
            index: over.index.or(self.index),
            writable: joined(self.writable, over.writable),
            ready: over.ready.or(self.ready),
            ready_within: over.ready_within.or(self.ready_within),
            host: over.host.or(self.host),
            https: over.https.or(self.https),
            headers: with_headers(self.headers, over.headers),
            cookies: with(self.cookies, over.cookies),
            basic_auth: over.basic_auth.or(self.basic_auth),
            login: match (self.login, over.login) {
                (Some(below), Some(over)) => Some(below.overlaid(over)),
                (below, over) => over.or(below),
            },
            sessions: over.sessions.or(self.sessions),
            env: with(self.env, over.env),
            exclude: joined(self.exclude, over.exclude),
            extensions: joined(self.extensions, over.extensions),
            sources: with(self.sources, over.sources),
        }
    }

    /// The keys that are said, and their values. A time is in nanoseconds.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        let all = [
            ("title", json!(self.title)),
            ("kind", json!(self.kind.map(AppKind::name))),
            ("docroot", json!(self.docroot)),
            ("index", json!(self.index)),
            ("writable", json!(self.writable)),
            ("ready", json!(self.ready)),
            ("ready_within", json!(self.ready_within)),
            ("host", json!(self.host)),
            ("https", json!(self.https)),
            ("headers", json!(self.headers)),
            ("cookies", json!(self.cookies)),
            ("basic_auth", json!(self.basic_auth)),
            ("login", json!(self.login)),
            ("sessions", json!(self.sessions)),
            ("env", json!(self.env)),
            ("exclude", json!(self.exclude)),
            ("extensions", json!(self.extensions)),
        ];
        all.into_iter().filter(|(_, value)| !is_nothing(value)).collect()
    }

    /// The same settings, all said by `source`.
    #[must_use]
    pub fn said_by(mut self, source: SettingSource) -> AppSettings {
        // The path and its time are one key of a plan.
        let key = |key| if key == "ready_within" { "ready" } else { key };
        self.sources =
            self.said().into_iter().map(|(name, _)| (key(name).to_owned(), source)).collect();
        self
    }

    /// Registers the values that log somebody in, so that they are masked in everything that is
    /// written.
    pub fn learn_secrets(&self) {
        for (name, value) in &self.cookies {
            stampede_mask::named("Cookie", value);
            stampede_mask::beside(name, value);
        }
        for (name, value) in &self.headers {
            stampede_mask::named(name, value);
        }
        if let Some(login) = &self.basic_auth {
            let (_, password) = login.split_once(':').unwrap_or(("", login));
            stampede_mask::named("password", password);
        }
        let fields = self.login.iter().flat_map(|login| &login.form);
        for (name, value) in fields.filter(|(name, _)| !stampede_mask::names_a_user(name)) {
            stampede_mask::beside(name, value);
        }
    }

    /// The last source that said something about `key`; nothing is said otherwise: detected.
    pub fn source(&self, key: &str) -> SettingSource {
        self.sources.get(key).copied().unwrap_or(SettingSource::Detected)
    }

    /// Whether no source said anything.
    pub fn is_empty(&self) -> bool {
        *self == AppSettings::default()
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn joined(mut list: Vec<String>, more: Vec<String>) -> Vec<String> {
    for item in more {
        if !list.contains(&item) {
            list.push(item);
        }
    }
    list
}

fn with<T>(mut map: BTreeMap<String, T>, over: BTreeMap<String, T>) -> BTreeMap<String, T> {
    map.extend(over);
    map
}

/// As [`with`], for names whose case does not matter (RFC 9110 section 5.1).
fn with_headers(
    mut map: BTreeMap<String, String>,
    over: BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    map.retain(|name, _| !over.keys().any(|other| other.eq_ignore_ascii_case(name)));
    with(map, over)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Option<String>> {
        proptest::option::of("[a-c]")
    }

    fn list() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::btree_set("[a-d]", 0..3).prop_map(|set| set.into_iter().collect())
    }

    fn map() -> impl Strategy<Value = BTreeMap<String, String>> {
        proptest::collection::btree_map("[a-c]", "[x-z]", 0..3)
    }

    prop_compose! {
        fn settings()(
            docroot in text(), index in text(), host in text(), ready in text(),
            writable in list(), exclude in list(), headers in map(), env in map(),
            https in proptest::option::of(any::<bool>()),
        ) -> AppSettings {
            AppSettings {
                docroot, index, host, ready, writable, exclude, headers, env, https,
                ..AppSettings::default()
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_that_was_said_is_lost(below in settings(), over in settings()) {
            let all = below.clone().overlaid(&over);
            prop_assert_eq!(&all.docroot, over.docroot.as_ref().map_or(&below.docroot, |_| &over.docroot));
            prop_assert_eq!(all.https, over.https.or(below.https));
            for item in below.writable.iter().chain(&over.writable) {
                prop_assert_eq!(all.writable.iter().filter(|known| *known == item).count(), 1);
            }
            for (name, value) in &over.env {
                prop_assert_eq!(all.env.get(name), Some(value));
            }
            for name in below.env.keys().chain(below.headers.keys()) {
                prop_assert!(all.env.contains_key(name) || all.headers.contains_key(name));
            }
        }

        #[test]
        fn laying_over_is_associative(a in settings(), b in settings(), c in settings()) {
            let left = a.clone().overlaid(&b).overlaid(&c);
            let right = a.overlaid(&b.overlaid(&c));
            prop_assert_eq!(left, right);
        }

        #[test]
        fn saying_nothing_changes_nothing(a in settings()) {
            prop_assert_eq!(a.clone().overlaid(&AppSettings::default()), a);
        }
    }

    #[test]
    fn the_last_source_of_a_key_is_known() {
        let docroot = |name: &str, source| {
            let docroot = Some(name.to_owned());
            AppSettings { docroot, ..AppSettings::default() }.said_by(source)
        };
        let index = AppSettings { index: Some("app.php".to_owned()), ..AppSettings::default() };
        let all = docroot("public", SettingSource::Detected)
            .overlaid(&index.said_by(SettingSource::AppFile))
            .overlaid(&docroot("web", SettingSource::Flag));
        assert_eq!(all.docroot.as_deref(), Some("web"));
        assert_eq!(all.source("docroot"), SettingSource::Flag);
        assert_eq!(all.source("index"), SettingSource::AppFile);
        assert_eq!(all.source("host"), SettingSource::Detected);
    }

    #[test]
    fn only_what_is_said_is_listed() {
        assert!(AppSettings::default().said().is_empty());
        let settings = AppSettings {
            kind: Some(AppKind::Laravel),
            https: Some(false),
            ready_within: Some(Nanos(1)),
            exclude: vec!["uploads".to_owned()],
            ..AppSettings::default()
        };
        let said = [
            ("kind", json!("laravel")),
            ("ready_within", json!(1)),
            ("https", json!(false)),
            ("exclude", json!(["uploads"])),
        ];
        assert_eq!(settings.said(), said);
        let sources = settings.said_by(SettingSource::Plan).sources;
        assert_eq!(sources.into_keys().collect::<Vec<_>>(), ["exclude", "https", "kind", "ready"]);
    }

    #[test]
    fn names_of_headers_have_no_case() {
        let headers = |name: &str, value: &str| AppSettings {
            headers: [(name.to_owned(), value.to_owned())].into(),
            ..AppSettings::default()
        };
        let all = headers("accept", "a").overlaid(&headers("Accept", "b"));
        assert_eq!(all.headers, BTreeMap::from([("Accept".to_owned(), "b".to_owned())]));
    }
}
