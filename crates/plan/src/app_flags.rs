//! Applies the flags about apps to a plan's tree: they become keys of the map of every app.

use super::edit::{each_runtime, set};
use super::error::{Help, Mistake, PlanError};
use super::flags::{Flags, each_app};
use super::runtimes::TODAY;
use super::tree::{Node, Style, Value, shortened};

/// Flags about every app of a plan, as typed. `None` or empty: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppFlags {
    /// `--docroot public_html`.
    pub docroot: Option<String>,
    /// `--index app.php`.
    pub index: Option<String>,
    /// `--writable cache`, one for each time it is given.
    pub writable: Vec<String>,
    /// `--ready /health`.
    pub ready: Option<String>,
    /// `--host shop.test`.
    pub host: Option<String>,
    /// `--https`.
    pub https: bool,
    /// `--header 'Accept: application/json'`, one for each time it is given.
    pub header: Vec<String>,
    /// `--cookie NAME=VALUE`, one for each time it is given.
    pub cookie: Vec<String>,
    /// `--basic-auth NAME:PASSWORD`.
    pub basic_auth: Option<String>,
    /// `--login /login`.
    pub login: Option<String>,
    /// `--login-field NAME=VALUE`, one for each time it is given.
    pub login_field: Vec<String>,
    /// `--login-pause 5s`.
    pub login_pause: Option<String>,
    /// `--sessions 20`.
    pub sessions: Option<String>,
    /// `--env NAME=VALUE`, one for each time it is given.
    pub env: Vec<String>,
    /// `--php-ini NAME=VALUE`, one for each time it is given.
    pub php_ini: Vec<String>,
    /// `--exclude uploads`, one for each time it is given.
    pub exclude: Vec<String>,
    /// `--extension intl`, one for each time it is given.
    pub extension: Vec<String>,
}

/// A flag and the key of an app's map that it fills.
struct AppFlag {
    flag: &'static str,
    key: &'static str,
    fills: Fills,
}

/// What the values of a flag become.
#[derive(Clone, Copy)]
enum Fills {
    /// The value of the key.
    Value,
    /// Another item of the key's list.
    List,
    /// Another entry of the key's map: the name, this character, the value.
    Map(char, &'static str),
    /// This key of the login.
    Login(&'static str),
    /// Another field of the login's form.
    LoginForm,
}

const APP_FLAGS: [AppFlag; 16] = [
    AppFlag { flag: "docroot", key: "docroot", fills: Fills::Value },
    AppFlag { flag: "index", key: "index", fills: Fills::Value },
    AppFlag { flag: "writable", key: "writable", fills: Fills::List },
    AppFlag { flag: "ready", key: "ready", fills: Fills::Value },
    AppFlag { flag: "host", key: "host", fills: Fills::Value },
    AppFlag { flag: "https", key: "https", fills: Fills::Value },
    AppFlag { flag: "header", key: "headers", fills: Fills::Map(':', "`Name: value`") },
    AppFlag { flag: "cookie", key: "cookies", fills: Fills::Map('=', "`NAME=VALUE`") },
    AppFlag { flag: "basic-auth", key: "basic_auth", fills: Fills::Value },
    AppFlag { flag: "login", key: "login", fills: Fills::Login("path") },
    AppFlag { flag: "login-field", key: "login", fills: Fills::LoginForm },
    AppFlag { flag: "login-pause", key: "login", fills: Fills::Login("pause") },
    AppFlag { flag: "sessions", key: "sessions", fills: Fills::Value },
    AppFlag { flag: "env", key: "env", fills: Fills::Map('=', "`NAME=VALUE`") },
    AppFlag { flag: "exclude", key: "exclude", fills: Fills::List },
    AppFlag { flag: "extension", key: "extensions", fills: Fills::List },
];

impl AppFlags {
    /// The given flags by name.
    pub(super) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let single = [
            ("docroot", self.docroot.as_deref()),
            ("index", self.index.as_deref()),
            ("ready", self.ready.as_deref()),
            ("host", self.host.as_deref()),
            ("https", self.https.then_some("true")),
            ("basic-auth", self.basic_auth.as_deref()),
            ("login", self.login.as_deref()),
            ("login-pause", self.login_pause.as_deref()),
            ("sessions", self.sessions.as_deref()),
        ];
        let lists = [
            ("writable", &self.writable),
            ("header", &self.header),
            ("cookie", &self.cookie),
            ("login-field", &self.login_field),
            ("env", &self.env),
            ("php-ini", &self.php_ini),
            ("exclude", &self.exclude),
            ("extension", &self.extension),
        ];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let each = lists
            .into_iter()
            .flat_map(|(name, all)| all.iter().map(move |value| (name, value.as_str())));
        single.chain(each).collect()
    }
}

/// Applies the flags about apps to each app of the plan.
pub(super) fn apply(flags: &Flags, plan: &mut Node) -> Result<(), PlanError> {
    if let Some(kind) = flags.get("kind") {
        each_app(plan, |app| apply_kind(app, kind))?;
    }
    for AppFlag { flag, key, fills } in &APP_FLAGS {
        for value in flags.all(flag) {
            each_app(plan, |app| {
                make_map(app);
                apply_one(app, key, *fills, value)
            })?;
        }
        // A variable of the plan for all runtimes would win over the app's.
        if *flag == "env" && plan.get("env").is_some() {
            for value in flags.all(flag) {
                apply_one(plan, key, *fills, value)?;
            }
        }
    }
    flags.all("php-ini").try_for_each(|value| apply_php_ini(plan, value))
}

/// Sets a php.ini value of all runtimes. It wins over what the plan says of one.
fn apply_php_ini(plan: &mut Node, value: &Node) -> Result<(), PlanError> {
    let (name, text) = pair(value, '=', "`NAME=VALUE`")?;
    let set_in = |owner: &mut Node| {
        let given = owner.get(PHP_INI).cloned();
        let place = value.place.clone();
        let mut values = match given {
            Some(node) if matches!(node.value, Value::Map(_)) => node,
            other => {
                let mut values = Node { place, value: Value::Map(Vec::new()) };
                // A preset's name.
                other.into_iter().for_each(|preset| set(&mut values, "use", preset));
                values
            }
        };
        set(&mut values, name.text().unwrap_or(""), text.clone());
        set(owner, PHP_INI, values);
    };
    each_runtime(plan, |name, body| {
        // What this machine sets would win over the plan's values.
        let used = body.get("use").and_then(Node::text).unwrap_or(name);
        if body.get(PHP_INI).is_some() || used == TODAY {
            set_in(body);
        }
    });
    set_in(plan);
    Ok(())
}

/// The key, the same at the top of a plan and of a runtime.
const PHP_INI: &str = "php_ini";

fn apply_one(app: &mut Node, key: &str, fills: Fills, value: &Node) -> Result<(), PlanError> {
    let place = value.place.clone();
    let value = match fills {
        Fills::Value => value.clone(),
        Fills::List => {
            let mut items = match app.get(key).map(|node| &node.value) {
                Some(Value::List(items)) => items.clone(),
                _ => app.get(key).cloned().into_iter().collect(),
            };
            items.push(value.clone());
            Node { place, value: Value::List(items) }
        }
        Fills::Map(separator, form) => {
            let entries = match app.get(key).map(|node| &node.value) {
                Some(Value::Map(entries)) => entries.clone(),
                _ => Vec::new(),
            };
            let mut map = Node { place, value: Value::Map(entries) };
            let (name, text) = pair(value, separator, form)?;
            set(&mut map, name.text().unwrap_or(""), text);
            map
        }
        Fills::Login(part) => {
            let mut login = login_map(app, key, value);
            set(&mut login, part, value.clone());
            login
        }
        Fills::LoginForm => {
            let mut login = login_map(app, key, value);
            apply_one(&mut login, "form", Fills::Map('=', "`NAME=VALUE`"), value)?;
            login
        }
    };
    set(app, key, value);
    Ok(())
}

/// What is said of the login so far, as a map at the place of `flag`.
fn login_map(app: &Node, key: &str, flag: &Node) -> Node {
    let mut login = Node { place: flag.place.clone(), value: Value::Map(Vec::new()) };
    match app.get(key) {
        Some(said) if matches!(said.value, Value::Map(_)) => login.value = said.value.clone(),
        Some(path) => set(&mut login, "path", path.clone()),
        None => {}
    }
    login
}

/// The name and the value of `NAME=VALUE`, each at its place.
fn pair(node: &Node, separator: char, form: &'static str) -> Result<(Node, Node), PlanError> {
    let text = node.text().unwrap_or("");
    let Some(at) = text.find(separator) else {
        let mistake = Mistake::NotA { found: node.found(), wanted: "a name with a value" };
        return Err(node.place.wrong(mistake, form));
    };
    let part = |begin: usize, end: usize| {
        let text = &text[begin..end];
        let begin = begin + (text.len() - text.trim_start().len());
        let text = text.trim();
        let place = node.inside(begin, text.len());
        Node { place, value: Value::Text(text.to_owned(), Style::Plain) }
    };
    Ok((part(0, at), part(at + separator.len_utf8(), text.len())))
}

/// Makes an app that is written as a text a map, so that it can have keys.
fn make_map(app: &mut Node) {
    let Some(text) = app.text() else { return };
    let key = if super::apps::is_directory(text) { "path" } else { "name" };
    let written = app.clone();
    app.value = Value::Map(Vec::new());
    set(app, key, written);
}

/// Sets the kind of an app. An app of the catalogue is an error, because its own `app.yaml`
/// declares its kind.
fn apply_kind(app: &mut Node, kind: &Node) -> Result<(), PlanError> {
    make_map(app);
    if let Some(name) = app.get("name") {
        let name = name.text().unwrap_or("");
        return Err(kind.place.wrong(
            Mistake::KindIsKnown(shortened(name)),
            Help::Do(format!("use `--kind` with the directory of a project: `--app ./{name}`")),
        ));
    }
    set(app, "kind", kind.clone());
    Ok(())
}
