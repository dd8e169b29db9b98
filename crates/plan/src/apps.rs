//! Reads the apps of a plan: names of the catalogue, or directories, with what the plan says about
//! them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_model::app_kind::AppKind;

use super::app_settings::{AppSettings, SettingSource};
use super::compose::all_bring_their_app;
use super::error::{Mistake, PlanError, Source};
use super::flags::COMMAND_LINE;
use super::keys::{APP, READY};
use super::login::{LoginKeys, login, sessions};
use super::model::{AppChoice, AppPlace};
use super::read::{path, required};
use super::requests::{self, header};
use super::runtimes::env;
use super::secrets;
use super::tree::{self, Node, Value};
use super::value::{
    ANY_LENGTH, Fields, entries, items, length, name_of, not_a, switch, text, texts,
};

/// Most apps in one plan.
pub(super) const APPS_MAX: usize = 100;

/// Reads the apps: one in `app`, or several in `apps`.
pub(super) fn apps(
    root: &Node,
    fields: &Fields<'_>,
    home: Option<&Path>,
) -> Result<Vec<AppChoice>, PlanError> {
    let is_provided = all_bring_their_app(fields.get("runtimes"));
    let Some(list) = fields.get("apps") else {
        return match fields.get("app") {
            None if is_provided => Ok(vec![AppChoice::provided()]),
            _ => Ok(vec![app(required(root, fields, "app")?, home, is_provided)?]),
        };
    };
    let list_items = items(list, "a list of apps, such as `[laravel, lumen]`")?;
    if list_items.is_empty() || list_items.len() > APPS_MAX {
        let mistake = Mistake::TooMany { kind: "apps", found: list_items.len() };
        let empty = Mistake::NotA { found: "an empty list".to_owned(), wanted: "a list of apps" };
        let mistake = if list_items.is_empty() { empty } else { mistake };
        return Err(list.place.wrong(mistake, "1 to 100 apps"));
    }
    let mut all: Vec<AppChoice> = Vec::new();
    for item in list_items {
        let app = app(item, home, is_provided)?;
        if all.contains(&app) {
            let written = item.get("path").or_else(|| item.get("name")).unwrap_or(item);
            let name = written.text().unwrap_or("").to_owned();
            return Err(item.place.wrong(Mistake::Twice { kind: "apps", name }, "each app once"));
        }
        all.push(app);
    }
    Ok(all)
}

/// Reads an app: a directory if it contains `/` or begins with `.` or `~`, else a name of the
/// catalogue. A map says more about it, or about the app that each runtime brings (`is_provided`).
fn app(node: &Node, home: Option<&Path>, is_provided: bool) -> Result<AppChoice, PlanError> {
    const EXPECTED: &str =
        "an app's name such as `hello`, or a directory such as `~/shop` or `./shop`";
    if let Value::Map(_) = node.value {
        return app_with_settings(node, home, is_provided);
    }
    let name = text(node, "an app", EXPECTED)?;
    if name.contains('\0') {
        return Err(not_a(node, "an app", EXPECTED));
    }
    match is_directory(name) {
        true => path(node, name, home).map(AppChoice::directory),
        false => Ok(AppChoice::named(name.to_owned())),
    }
}

/// Whether an app's text means a directory, or a PHP file, rather than a name of the catalogue.
pub(super) fn is_directory(text: &str) -> bool {
    text.contains('/') || text.starts_with(['.', '~']) || text.ends_with(".php")
}

/// Reads `{path: ~/shop, docroot: htdocs}` or `{name: hello, host: shop.test}`.
fn app_with_settings(
    node: &Node,
    home: Option<&Path>,
    is_provided: bool,
) -> Result<AppChoice, PlanError> {
    const EXPECTED: &str = "the directory of a project, such as `{path: ~/shop, kind: script}`";
    let fields = Fields::of(node, &APP)?;
    fields.not_both("path", "name")?;
    let place = match (fields.get("path"), fields.get("name")) {
        (Some(directory), _) => {
            AppPlace::Directory(path(directory, text(directory, "a directory", EXPECTED)?, home)?)
        }
        (None, Some(name)) => {
            AppPlace::Named(text(name, "an app", "an app's name such as `hello`")?.to_owned())
        }
        (None, None) if is_provided => AppPlace::Provided,
        (None, None) => return Err(node.place.wrong(Mistake::Missing("path"), EXPECTED)),
    };
    Ok(AppChoice {
        place,
        settings: settings(node, &fields)?,
        copy_of: None,
        checkouts: Vec::new(),
    })
}

/// Reads what the map of an app says about it.
fn settings(node: &Node, fields: &Fields<'_>) -> Result<AppSettings, PlanError> {
    let name = |key: &str| {
        let get = fields.get(key);
        get.map(|node| text(node, "a text", "a text").map(str::to_owned)).transpose()
    };
    let names = |key: &str| {
        let get = fields.get(key);
        let all = get.map_or(Ok(Vec::new()), |node| texts(node, "a text, or a list of texts"))?;
        Ok::<_, PlanError>(
            all.into_iter().filter_map(Node::text).map(str::to_owned).collect::<Vec<_>>(),
        )
    };
    let (ready, ready_within) = fields.get("ready").map_or(Ok((None, None)), ready)?;
    let login = fields.get("login").map_or(Ok(LoginKeys::default()), login)?;
    if let Some(basic) = fields.get("basic_auth").filter(|_| login.basic_auth.is_some()) {
        let mistake = Mistake::Together("basic_auth", "login: {basic: …}");
        return Err(basic.place.wrong(mistake, "either `basic_auth` or `basic` in `login`"));
    }
    let own = fields.get("cookies").map_or(Ok(Vec::new()), cookies)?;
    let read = AppSettings {
        title: name("title")?,
        kind: fields.get("kind").map(kind).transpose()?.flatten(),
        docroot: fields.get("docroot").map(inside).transpose()?,
        index: fields.get("index").map(inside).transpose()?,
        writable: each_inside(fields.get("writable"))?,
        ready,
        ready_within,
        host: fields.get("host").map(host).transpose()?,
        https: fields.get("https").map(switch).transpose()?,
        headers: fields
            .get("headers")
            .map_or(Ok(Vec::new()), requests::headers)?
            .into_iter()
            .collect(),
        cookies: login.cookies.into_iter().chain(own).collect(),
        basic_auth: match login.basic_auth {
            None => fields.get("basic_auth").map(basic_auth).transpose()?,
            basic => basic,
        },
        login: login.form,
        sessions: fields.get("sessions").map(sessions).transpose()?,
        env: fields.get("env").map_or(Ok(Default::default()), env)?,
        exclude: each_inside(fields.get("exclude"))?,
        extensions: names("extensions")?.iter().flat_map(|text| extension_names(text)).collect(),
        sources: Default::default(),
    };
    read.learn_secrets();
    let sources = entries(node, "a map")?.iter().filter_map(|(key, value)| {
        let is_flag = value.place.source.name == COMMAND_LINE;
        let source = if is_flag { SettingSource::Flag } else { SettingSource::Plan };
        Some((key.text()?.to_owned(), source))
    });
    let sources = sources.filter(|(key, _)| key != "path" && key != "name").collect();
    Ok(AppSettings { sources, ..read })
}

/// The names of extensions in a text: `curl,zip`, and as others write them: `ext-curl` (Composer), `curl.so`
/// (php.ini).
fn extension_names(text: &str) -> impl Iterator<Item = String> {
    let all = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    all.map(|name| {
        let name = name.strip_prefix("ext-").unwrap_or(name);
        name.strip_suffix(".so").unwrap_or(name).to_ascii_lowercase()
    })
}

/// What the text of an `app.yaml` says of the keys that an app has in a plan too; `source` is its
/// name for messages. Other keys of the file are not read. The same rules as in a plan.
///
/// # Errors
/// The text is no YAML, or the value of one of these keys is wrong.
pub fn settings_of_app_yaml(source: &str, content: &str) -> Result<AppSettings, PlanError> {
    let source = Arc::new(Source {
        name: source.to_owned(),
        text: content.to_owned(),
        base: PathBuf::new(),
    });
    let mut root = tree::parse(&source)?;
    secrets::learn(&root);
    let of_a_plan = |name: &str| name != "path" && name != "name" && APP.find(name).is_some();
    match &mut root.value {
        Value::Map(entries) => {
            entries.retain(|(key, value)| {
                let is_said = !matches!(value.value, Value::Null);
                is_said && key.text().is_some_and(of_a_plan)
            });
        }
        _ => return Ok(AppSettings::default()),
    }
    let read = settings(&root, &Fields::of(&root, &APP)?)?;
    Ok(read.said_by(SettingSource::AppFile))
}

fn kind(node: &Node) -> Result<Option<AppKind>, PlanError> {
    let name = name_of(node, "kind of app", &AppKind::ALL.map(AppKind::name))?;
    Ok(AppKind::ALL.into_iter().find(|kind| kind.name() == name))
}

/// A path inside the app's directory, without a slash at its end.
fn inside(node: &Node) -> Result<String, PlanError> {
    const EXPECTED: &str = "a path inside the app's directory, such as `public`";
    let path = text(node, "a path", EXPECTED)?;
    let tidy = path.trim_end_matches('/').trim_start_matches("./");
    let is_inside = !path.starts_with('/') && !path.contains('\0');
    if !is_inside || tidy.split('/').any(|part| part == "..") {
        return Err(not_a(node, "a path", EXPECTED));
    }
    Ok(if tidy.is_empty() { ".".to_owned() } else { tidy.to_owned() })
}

fn each_inside(node: Option<&Node>) -> Result<Vec<String>, PlanError> {
    let all = node.map_or(Ok(Vec::new()), |node| texts(node, "a path, or a list of paths"))?;
    all.into_iter().map(inside).collect()
}

/// Reads `/health` or `{path: /health, within: 30s}`.
fn ready(node: &Node) -> Result<(Option<String>, Option<stampede_model::time::Nanos>), PlanError> {
    let Value::Map(_) = node.value else {
        return Ok((Some(requests::path(node)?.to_owned()), None));
    };
    let fields = Fields::of(node, &READY)?;
    let path = fields.get("path").map(requests::path).transpose()?.map(str::to_owned);
    let within = fields.get("within");
    Ok((
        path,
        within.map(|node| length(node, "time until the first answer", ANY_LENGTH)).transpose()?,
    ))
}

/// A host name, with a port if it has one.
fn host(node: &Node) -> Result<String, PlanError> {
    const EXPECTED: &str = "a host name, such as `shop.test` or `shop.test:8080`";
    let host = text(node, "a host name", EXPECTED)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
    if host.chars().all(fits) {
        Ok(host.to_owned())
    } else {
        Err(not_a(node, "a host name", EXPECTED))
    }
}

/// Cookies by name. Neither a name nor a value has `;`, which ends a cookie (RFC 6265 section 4.2).
fn cookies(node: &Node) -> Result<Vec<(String, String)>, PlanError> {
    const EXPECTED: &str = "cookies, such as `{PHPSESSID: 5f1c}`";
    let cookie = |(key, value): &(Node, Node)| {
        let (name, value) = header(key, value)?;
        match value.contains(';') {
            false => Ok((name, value)),
            true => Err(not_a(key, "a cookie", "a value without `;`")),
        }
    };
    entries(node, EXPECTED)?.iter().map(cookie).collect()
}

pub(super) fn basic_auth(node: &Node) -> Result<String, PlanError> {
    const EXPECTED: &str = "`NAME:PASSWORD`";
    let login = text(node, "a login", EXPECTED)?;
    let fits = login.contains(':') && !login.contains(char::is_control);
    if fits { Ok(login.to_owned()) } else { Err(not_a(node, "a login", EXPECTED)) }
}
