//! Reads the routes that the app's router lists, for Symfony and Laravel.

use std::collections::{BTreeMap, HashSet};

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use stampede_model::app_kind::AppKind;
use stampede_model::fact::NotSent;

use super::policy::method_and_target;
use super::{RequestError, RequestList};
use crate::model::{CheckRequest, SkippedRequest};

/// Returns the command that lists an app's routes: a script of its directory, with arguments.
/// `None` if apps of this kind have none.
pub fn command(kind: AppKind) -> Option<&'static str> {
    match kind {
        AppKind::Symfony => Some("bin/console debug:router --format=json --no-interaction"),
        AppKind::Laravel => Some("artisan route:list --json --no-interaction"),
        _ => None,
    }
}

/// Returns the requests of the printed routes whose path is known, with GET where they accept it.
///
/// # Errors
/// The command printed something else.
pub fn read(kind: AppKind, printed: &str) -> Result<RequestList, RequestError> {
    let routes = match kind {
        AppKind::Laravel => json(printed).and_then(laravel),
        _ => json(printed).and_then(symfony),
    };
    let routes = routes.ok_or_else(|| RequestError::Routes { begins: begin(printed) })?;
    let (mut listed, mut known) = (RequestList::default(), HashSet::new());
    for route in routes.iter().filter(|route| !is_tool(&route.path)) {
        let mut request = CheckRequest {
            method: route.method(),
            target: route.path.clone(),
            ..CheckRequest::default()
        };
        match route.target() {
            Ok(target) => {
                request.target = target;
                if known.insert(request.clone()) {
                    listed.requests.push(request);
                }
            }
            Err(why) => {
                listed
                    .skipped
                    .push(SkippedRequest { request: method_and_target(&request), why: why.into() });
            }
        }
    }
    Ok(listed)
}

/// A route of Symfony or Laravel.
#[derive(Clone, Debug, Default)]
struct Route {
    path: String,
    /// Allowed methods; empty for any.
    methods: Vec<String>,
    /// The host; `None` for any.
    host: Option<String>,
    /// Default values by placeholder; with `null` the placeholder may be omitted.
    defaults: BTreeMap<String, Value>,
    requirements: BTreeMap<String, String>,
    /// Whether a placeholder is mostly the id of something: Laravel resolves `{user}` to the user
    /// with that id.
    is_by_id: bool,
}

/// A route as Symfony's `JsonDescriptor` writes it.
#[derive(Deserialize)]
struct SymfonyRoute {
    path: String,
    #[serde(default)]
    host: String,
    #[serde(default)]
    method: String,
    /// An object; a list where PHP has an empty array.
    #[serde(default)]
    defaults: Value,
    /// An object; a string where there are none.
    #[serde(default)]
    requirements: Value,
}

/// A route as Laravel's `RouteListCommand` writes it.
#[derive(Deserialize)]
struct LaravelRoute {
    uri: String,
    #[serde(default)]
    domain: Option<String>,
    #[serde(default)]
    method: String,
}

fn symfony(list: Value) -> Option<Vec<Route>> {
    let Value::Object(routes) = list else {
        return list.as_array().filter(|routes| routes.is_empty()).map(|_| Vec::new());
    };
    let route = |value: Value| {
        let of: SymfonyRoute = serde_json::from_value(value).ok()?;
        let of_object = |value: Value| match value {
            Value::Object(members) => members.into_iter().collect(),
            _ => BTreeMap::new(),
        };
        let requirements = of_object(of.requirements).into_iter();
        let text = |(name, value): (String, Value)| Some((name, value.as_str()?.to_owned()));
        Some(Route {
            path: of.path,
            methods: methods(&of.method),
            host: Some(of.host).filter(|host| !host.is_empty() && host != "ANY"),
            defaults: of_object(of.defaults),
            requirements: requirements.filter_map(text).collect(),
            is_by_id: false,
        })
    };
    routes.into_iter().map(|(_, value)| route(value)).collect()
}

fn laravel(list: Value) -> Option<Vec<Route>> {
    let routes: Vec<LaravelRoute> = serde_json::from_value(list).ok()?;
    let route = |of: LaravelRoute| Route {
        path: format!("/{}", of.uri.trim_start_matches('/')),
        methods: methods(&of.method),
        host: of.domain.filter(|domain| !domain.is_empty()),
        is_by_id: true,
        ..Route::default()
    };
    Some(routes.into_iter().map(route).collect())
}

fn methods(written: &str) -> Vec<String> {
    let methods = written.split('|').filter(|method| !method.is_empty() && *method != "ANY");
    methods.map(str::to_ascii_uppercase).collect()
}

impl Route {
    fn method(&self) -> String {
        let get = "GET".to_owned();
        if self.methods.contains(&get) { get } else { self.methods.first().cloned().unwrap_or(get) }
    }

    /// Returns its path with values for placeholders, or why it cannot be requested.
    fn target(&self) -> Result<String, NotSent> {
        if let Some(host) = &self.host {
            return Err(NotSent::HostRoute { host: host.clone() });
        }
        let mut filled = String::new();
        let mut rest = self.path.as_str();
        while let Some((before, behind)) = rest.split_once('{') {
            let (inner, after) = behind.split_once('}').unwrap_or((behind, ""));
            filled.push_str(before);
            rest = after;
            // The forms are `{!page}`, which is never omitted, `{post:slug}` and `{page?}`.
            let name = inner.trim_start_matches('!').trim_end_matches('?');
            let name = name.split(':').next().unwrap_or_default();
            match self.value(name, inner.ends_with('?'))? {
                Some(value) => filled.push_str(&value),
                // Nothing may follow an omitted placeholder (a rule of Symfony and Laravel).
                None if filled.len() > 1 && filled.ends_with('/') => {
                    filled.pop();
                    rest = "";
                }
                None => rest = "",
            }
        }
        filled.push_str(rest);
        Ok(utf8_percent_encode(&filled, ENCODED).to_string())
    }

    /// Returns the value of a placeholder; `None` where it may be omitted.
    fn value(&self, name: &str, is_optional: bool) -> Result<Option<String>, NotSent> {
        match self.defaults.get(name) {
            Some(Value::String(text)) => return Ok(Some(text.clone())),
            Some(Value::Number(number)) => return Ok(Some(number.to_string())),
            Some(Value::Null) => return Ok(None),
            _ if is_optional => return Ok(None),
            _ => {}
        }
        let value = match self.requirements.get(name) {
            Some(requirement) => allowed_value(name, requirement).ok_or_else(|| {
                let (placeholder, requirement) = (name.to_owned(), requirement.clone());
                NotSent::Placeholder { placeholder, requirement: Some(requirement) }
            }),
            None => usual_value(name).or(self.is_by_id.then(|| "1".to_owned())).ok_or_else(|| {
                NotSent::Placeholder { placeholder: name.to_owned(), requirement: None }
            }),
        };
        value.map(Some)
    }
}

/// Returns a value that the name of a placeholder suggests.
fn usual_value(name: &str) -> Option<String> {
    let value = match name {
        "_locale" | "locale" => "en",
        "_format" => "html",
        "id" | "page" => "1",
        _ if name.ends_with("_id") || name.ends_with("Id") => "1",
        _ => return None,
    };
    Some(value.to_owned())
}

/// Returns a value that a requirement allows, if it requires a number or lists its values. For
/// others (`[^/]+`), a made-up value rarely exists in the app.
fn allowed_value(name: &str, requirement: &str) -> Option<String> {
    let plain = requirement.trim_start_matches('^').trim_end_matches('$');
    let inner =
        plain.strip_prefix("(?:").or(plain.strip_prefix('(')).and_then(|r| r.strip_suffix(')'));
    let listed = inner.unwrap_or(plain);
    let is_plain = |word: &str| {
        !word.is_empty() && word.chars().all(|char| char.is_alphanumeric() || "_-".contains(char))
    };
    if listed.split('|').all(is_plain) {
        return listed.split('|').next().map(str::to_owned);
    }
    let regex = Regex::new(&format!("^(?:{requirement})$")).ok()?;
    if let Some(usual) = usual_value(name).filter(|usual| regex.is_match(usual)) {
        return Some(usual);
    }
    if regex.is_match("word") || regex.is_match("a-title") {
        return None;
    }
    let numbers = ["1", "10", "100", "2024", "2024-01-01", "10000", "100000"];
    numbers.into_iter().find(|number| regex.is_match(number)).map(str::to_owned)
}

/// Returns whether a path belongs to a developer tool or to the framework itself.
fn is_tool(path: &str) -> bool {
    const TOOLS: [&str; 17] = [
        "__clockwork",
        "_boost",
        "_debugbar",
        "_dusk",
        "_error",
        "_fragment",
        "_ignition",
        "_profiler",
        "_wdt",
        "clockwork",
        "debugbar",
        "horizon",
        "livewire",
        "log-viewer",
        "pulse",
        "sanctum",
        "telescope",
    ];
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    TOOLS.contains(&first)
}

/// Returns the list in the output; deprecation messages may precede it.
fn json(text: &str) -> Option<Value> {
    let mut offset = 0;
    let mut tries = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(['{', '[']) {
            let mut values = serde_json::Deserializer::from_str(&text[offset..]).into_iter();
            if let Some(Ok(value @ (Value::Object(_) | Value::Array(_)))) = values.next() {
                return Some(value);
            }
            tries += 1;
            if tries == TRIES_MAX {
                return None;
            }
        }
        offset += line.len();
    }
    None
}

/// Returns the first line of the output, for a message.
fn begin(printed: &str) -> String {
    let line = printed.lines().map(str::trim).find(|line| !line.is_empty());
    let Some(line) = line else { return "nothing".to_owned() };
    let printable = line.chars().filter(|char| !char.is_control()).take(BEGIN_CHARS);
    format!("`{}`", printable.collect::<String>())
}

/// Characters that must be encoded in a request line.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');
/// Most lines that are tried as the first line of the list.
const TRIES_MAX: usize = 10;
const BEGIN_CHARS: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is requested, and what is not.
    fn listed(kind: AppKind, printed: &str) -> (Vec<String>, Vec<String>) {
        let listed = read(kind, printed).unwrap_or_else(|error| panic!("{error}"));
        let skipped = listed.skipped.iter();
        (
            listed.requests.iter().map(method_and_target).collect(),
            skipped
                .map(|skipped| format!("{}: {}", skipped.request, skipped.why.sentence()))
                .collect(),
        )
    }

    const SYMFONY: &str = r##"
PHP Deprecated:  Something in {"a": 1} on line 7
{
    "_preview_error": {"path": "\/_error\/{code}.{_format}", "host": "ANY", "method": "ANY",
        "defaults": {"_format": "html"}, "requirements": {"code": "\\d+"}},
    "_wdt": {"path": "/_wdt/{token}", "host": "ANY", "method": "ANY", "defaults": [], "requirements": "NO CUSTOM"},
    "home": {"path": "\/", "pathRegex": "#^/$#", "host": "ANY", "hostRegex": "", "scheme": "ANY",
        "method": "ANY", "class": "Symfony\\Component\\Routing\\Route",
        "defaults": {"_controller": "App\\Home"}, "requirements": "NO CUSTOM", "options": {"utf8": true}},
    "blog": {"path": "/{_locale}/blog/{page}", "host": "ANY", "method": "GET|HEAD",
        "defaults": {"page": 1, "_locale": "de"}, "requirements": {"page": "[1-9]\\d*"}},
    "archive": {"path": "/archive/{year}/{!tag}", "host": "ANY", "method": "GET",
        "defaults": {"tag": null}, "requirements": {"year": "\\d{4}"}},
    "post": {"path": "/post/{slug}", "host": "ANY", "method": "GET", "defaults": [], "requirements": {"slug": "[^/]++"}},
    "show": {"path": "/post/{id}.{_format}", "host": "ANY", "method": "PUT|GET", "defaults": {"_format": "json"},
        "requirements": {"id": "\\d+", "_format": "html|json"}},
    "list": {"path": "/list.{_format}", "host": "ANY", "method": "GET", "defaults": [], "requirements": {"_format": "xml|json"}},
    "new": {"path": "/post", "host": "ANY", "method": "POST", "defaults": [], "requirements": "NO CUSTOM"},
    "api": {"path": "/v1", "host": "api.{domain}", "method": "ANY", "defaults": [], "requirements": "NO CUSTOM"},
    "umlaut": {"path": "/über uns", "host": "ANY", "method": "ANY", "defaults": [], "requirements": "NO CUSTOM"},
    "again": {"path": "/", "host": "ANY", "method": "GET", "defaults": [], "requirements": "NO CUSTOM"}
}
"##;

    #[test]
    fn symfony_routes_are_filled_where_their_values_are_known() {
        let (requests, skipped) = listed(AppKind::Symfony, SYMFONY);
        let expected = [
            "GET /",
            "GET /de/blog/1",
            "GET /archive/2024",
            "GET /post/1.json",
            "GET /list.xml",
            "POST /post",
            "GET /%C3%BCber%20uns",
        ];
        assert_eq!(requests, expected);
        let expected = [
            "GET /post/{slug}: no known value for `{slug}` matches `[^/]++`",
            "GET /v1: only for the host `api.{domain}`",
        ];
        assert_eq!(skipped, expected);
        assert_eq!(listed(AppKind::Symfony, "[]"), (vec![], vec![]));
    }

    #[test]
    fn laravel_routes_are_filled_where_their_values_are_known() {
        let printed = r#"[
            {"domain": null, "method": "GET|HEAD", "uri": "/", "name": null, "action": "Closure", "middleware": "web"},
            {"domain": null, "method": "GET|HEAD", "uri": "_ignition/health-check", "name": "ignition.healthCheck",
                "action": "X", "middleware": ["web"]},
            {"domain": "", "method": "GET|HEAD", "uri": "sanctum/csrf-cookie"},
            {"domain": null, "method": "GET|HEAD", "uri": "users/{user}"},
            {"domain": null, "method": "GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS", "uri": "posts/{id}/comments/{comment?}"},
            {"domain": null, "method": "GET|HEAD", "uri": "{any?}"},
            {"domain": "admin.example", "method": "GET|HEAD", "uri": "stats"},
            {"domain": null, "method": "POST", "uri": "api/logout"}]"#;
        let (requests, skipped) = listed(AppKind::Laravel, printed);
        assert_eq!(
            requests,
            ["GET /", "GET /users/1", "GET /posts/1/comments", "POST /api/logout"]
        );
        assert_eq!(skipped, ["GET /stats: only for the host `admin.example`"]);
    }

    #[test]
    fn a_requirement_that_lists_its_values_is_met() {
        let cases = [
            ("n", r"\d+", Some("1")),
            ("n", r"\d++", Some("1")),
            ("n", r"^[0-9]{2}$", Some("10")),
            ("n", "en|fr", Some("en")),
            ("n", "(?:de|at)", Some("de")),
            ("_locale", "[a-z]{2}", Some("en")),
            ("n", "[a-z]{2}", None),
            ("day", r"\d{4}-\d{2}-\d{2}", Some("2024-01-01")),
            ("slug", ".+", None),
            ("slug", "[a-z-]+", None),
            ("slug", "(?<!x", None),
            ("uuid", "[0-9a-f]{8}-[0-9a-f]{4}", None),
        ];
        for (name, requirement, expected) in cases {
            assert_eq!(
                allowed_value(name, requirement).as_deref(),
                expected,
                "{name}: {requirement}"
            );
        }
    }
}
