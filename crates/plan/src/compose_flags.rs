//! Applies the flags about compose projects: `--compose`, `--service`, `--port`, `--build-target` and `--code`.

use std::path::Path;

use super::compose::all_bring_their_app;
use super::edit::{each_runtime, set};
use super::flags::Flags;
use super::tree::{Node, Style, Value};

/// Flags about compose projects, as typed. `None` or empty: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ComposeFlags {
    /// `--compose base.yml:override.yml`, one for each time it is given: each adds a runtime.
    pub files: Vec<String>,
    /// `--service web`: the service of every compose project that names none.
    pub service: Option<String>,
    /// `--port 80`: its port inside the container.
    pub port: Option<String>,
    /// `--build-target php=prod`, one for each time it is given.
    pub build_target: Vec<String>,
    /// `--code image`.
    pub code: Option<String>,
}

impl ComposeFlags {
    /// The given flags by name.
    pub(super) fn pairs(&self) -> Vec<(&'static str, &str)> {
        let single = [("service", &self.service), ("port", &self.port), ("code", &self.code)];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let files = self.files.iter().map(|text| ("compose", text.as_str()));
        let targets = self.build_target.iter().map(|text| ("build-target", text.as_str()));
        single.chain(files).chain(targets).collect()
    }
}

/// Adds a runtime for each compose project, and sets the service of those that name none.
pub(super) fn apply(flags: &Flags, plan: &mut Node) {
    for project in flags.all("compose") {
        let place = project.place.clone();
        let mut runtimes = match plan.get("runtimes").map(|node| &node.value) {
            Some(Value::List(runtimes)) => runtimes.clone(),
            _ => Vec::new(),
        };
        runtimes.push(compose_project(project, &runtimes));
        set(plan, "runtimes", Node { place, value: Value::List(runtimes) });
    }
    for key in ["service", "port"] {
        let Some(value) = flags.get(key) else { continue };
        each_compose_project(plan, |project| {
            if project.get(key).is_none() {
                set(project, key, value.clone());
            }
        });
    }
    let targets: Vec<Node> = flags.all("build-target").cloned().collect();
    let targets = targets.first().map(|first| first.place.clone()).map(|place| {
        let value = Value::List(targets.clone());
        ("build_target", Node { place, value })
    });
    let code = flags.get("code").map(|code| ("code", code.clone()));
    for (key, value) in targets.into_iter().chain(code) {
        each_compose_project(plan, |project| set(project, key, value.clone()));
    }
    let has_app = plan.get("app").is_some() || plan.get("apps").is_some();
    if let Some(first) = flags.all("compose").next().filter(|_| !has_app)
        && all_bring_their_app(plan.get("runtimes"))
    {
        // Flags can then say more about it.
        let place = first.place.clone();
        set(plan, "app", Node { place, value: Value::Map(Vec::new()) });
    }
}

/// A runtime for the compose files of a flag, which are separated as in `COMPOSE_FILE`. Its name is
/// that of the file, or of the directory where all compose files have the same name.
fn compose_project(files: &Node, others: &[Node]) -> Node {
    let text = files.text().unwrap_or("");
    let mut at = 0;
    let list = text.split(':').map(|file| {
        let place = files.inside(at, file.len());
        at += file.len() + 1;
        Node { place, value: Value::Text(file.to_owned(), Style::Plain) }
    });
    let list = Node { place: files.place.clone(), value: Value::List(list.collect()) };
    let mut body = Node { place: files.place.clone(), value: Value::Map(Vec::new()) };
    set(&mut body, "compose", list);
    let first = text.split(':').next().unwrap_or(text);
    let name = project_name(first);
    let is_free = |name: &str| others.iter().all(|other| other.entry(name).is_none());
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let names = std::iter::once(name.clone()).chain(own_part(first)).chain(numbered);
    let free = names.into_iter().find(|name| is_free(name));
    let mut runtime = Node { place: files.place.clone(), value: Value::Map(Vec::new()) };
    set(&mut runtime, &free.unwrap_or(name), body);
    runtime
}

/// `prod` for `compose.prod.yaml`, `fpm` for `fpm-docker-compose.yml`; `None`: the file's name says no more
/// than that it is a compose file.
fn own_part(file: &str) -> Option<String> {
    let stem = Path::new(file).file_stem()?.to_str()?;
    let rest = USUAL.iter().find_map(|usual| stem.strip_prefix(usual)).or_else(|| ended(stem))?;
    Some(plain(rest)).filter(|name| !name.is_empty())
}

/// `fpm` for `fpm-docker-compose`; `None`: the name of a file does not end so.
fn ended(stem: &str) -> Option<&str> {
    let apart = ['-', '_', '.'];
    let rest = USUAL.iter().find_map(|usual| stem.strip_suffix(usual)?.strip_suffix(apart));
    rest.map(|rest| rest.trim_end_matches(apart))
}

/// How the names of most compose files begin.
const USUAL: [&str; 2] = ["docker-compose", "compose"];

/// A name that a row can have.
fn plain(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(fits).take(40).collect();
    name.trim_start_matches(['-', '_', '.']).to_owned()
}

/// `fpm` for `docker/fpm.yml` and `docker/fpm-compose.yml`, `shop` for `shop/docker-compose.prod.yml` and for
/// `shop/compose.yml`. In this directory, `prod` for `compose.prod.yaml`. A directory has its own name.
fn project_name(file: &str) -> String {
    let path = Path::new(file);
    let called = |path: &Path| path.file_name()?.to_str().map(str::to_owned);
    if path.is_dir() {
        let real = path.canonicalize().ok();
        return row_name(real.and_then(|real| called(&real)));
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    let is_usual = USUAL.iter().any(|usual| stem.starts_with(usual));
    let here = || std::env::current_dir().ok();
    let parent = path.parent().map(Path::to_path_buf).filter(|parent| parent.file_name().is_some());
    let own = || own_part(file).filter(|_| parent.is_none());
    let directory = || called(&parent.clone().or_else(here)?);
    row_name(match is_usual {
        true => own().or_else(directory),
        false => Some(ended(stem).unwrap_or(stem).to_owned()),
    })
}

/// A name that a row can have; `compose` if there is none.
fn row_name(name: Option<String>) -> String {
    Some(plain(&name.unwrap_or_default()))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "compose".to_owned())
}

/// Calls `change` with the map of each compose project among the plan's runtimes.
fn each_compose_project(plan: &mut Node, change: impl Fn(&mut Node)) {
    each_runtime(plan, |_, body| {
        if body.get("compose").is_some() {
            change(body);
        }
    });
}
