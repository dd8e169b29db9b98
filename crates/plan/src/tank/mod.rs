//! Reads Yandex Tank's configuration without changes to it: `load.yaml`, the older `load.ini`, and
//! pandora's own file. The result is the load, and a list of the keys that have no meaning here.
//!
//! ```text
//! YAML or INI → tree (places, raw texts) → section `phantom`, or pandora's pool → TankConfig
//! ```
//! Keys and defaults are those of Tank's own schema (`yandextank/plugins/Phantom/config/schema.py`)
//! and of pandora's documentation.

mod address;
mod autostop;
mod ini;
mod pandora;
mod phantom;
mod requests;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_model::load::{Habits, Model};
use stampede_model::time::Nanos;
use stampede_traffic::LoadTraffic;

use super::error::{Mistake, PlanError, Source, Wrong};
use super::read::file_text;
use super::secrets;
use super::tank_keys::{FILE, why};
use super::tree::{self, Node, Value, shortened};
use super::value::{entries, not_a};

pub use autostop::Criterion;

/// The content of a configuration of Tank, complete.
#[derive(Clone, Debug)]
pub struct TankConfig {
    /// `http://host:port`, or `https://host:port` with `ssl`. The URL that was given beside the
    /// file, if one was.
    pub url: String,
    /// The model. A rate gives an open model. With phantom's habit, the schedule is stretched when
    /// all instances are busy; with pandora's, requests wait. A constant number of instances gives
    /// a closed model.
    pub model: Model,
    /// The HTTP version that `header_http` names. Each request has a connection of its own where
    /// the headers or HTTP/1.0 demand that.
    pub habits: Habits,
    /// The requests: `uris`, as a GET each, or an `ammofile`, with relative paths from the
    /// directory of the configuration. `loop` and `ammo_limit` limit how often they are sent.
    /// `Host` is that of the target unless a header gives another. Mistakes in the file are found
    /// when it is sent.
    pub traffic: LoadTraffic,
    /// `timeout`. 11 s if not given.
    pub timeout: Nanos,
    /// Criteria of the section `autostop`.
    pub autostop: Vec<Criterion>,
    /// The keys that have no meaning here, in the file's order.
    pub unsupported: Vec<Unsupported>,
}

/// What is given on the command line in place of what the file says. The file may then lack it, or
/// have a placeholder there.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// URL of the target, in place of `address`, `port` and `ssl`.
    pub url: Option<String>,
    /// A request file, in place of `ammofile`, `ammo_type` and `uris`.
    pub traffic: Option<PathBuf>,
}

/// A key that has no meaning here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The key with its section: `phantom.threads`.
    pub key: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What happens instead, or what to use instead.
    pub why: &'static str,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in line {} is ignored: {}", self.key, self.line, self.why)
    }
}

/// Reads the configuration at `path`.
///
/// # Errors
/// It cannot be read, or something in it is wrong; see [`PlanError`].
pub fn read(path: &Path, given: &Given) -> Result<TankConfig, PlanError> {
    parse(source(path)?, given)
}

/// The text of a file, with its name and its directory.
fn source(path: &Path) -> Result<Source, PlanError> {
    let text = file_text(path).map_err(|error| match error {
        PlanError::Unreadable { path, source } => PlanError::UnreadableTank { path, source },
        other => other,
    })?;
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    Ok(Source { name: path.display().to_string(), text, base })
}

/// Parses a text in place of a file, for tests and fuzzing.
///
/// # Errors
/// Something in it is wrong.
#[doc(hidden)]
pub fn parse(source: Source, given: &Given) -> Result<TankConfig, PlanError> {
    let root = tree_of(source)?;
    let mut unsupported = Vec::new();
    let mut config = resolve(&root, given, &mut unsupported)?;
    if let Some(node) = root.get("autostop").filter(|node| !is_off(node)) {
        config.autostop = autostop::autostop(node, &mut unsupported)?;
    }
    unsupported.sort_by_key(|key| key.line);
    Ok(TankConfig { unsupported, ..config })
}

/// The tree of a file in either notation. From here on its secrets are masked.
fn tree_of(source: Source) -> Result<Node, PlanError> {
    stampede_mask::text(&source.text);
    let source = Arc::new(source);
    let root = match ini::is_ini(&source.text) {
        true => ini::parse(&source)?,
        false => tree::parse(&source).map_err(|error| no_yaml(error, &source))?,
    };
    secrets::learn(&root);
    Ok(root)
}

/// The error of a text that is no YAML. A placeholder such as `{{ host }}` may be the reason.
fn no_yaml(error: PlanError, source: &Arc<Source>) -> PlanError {
    let PlanError::Wrong(wrong) = error else { return error };
    match address::placeholder_around(&wrong.place, source) {
        Some(error) => error,
        None => PlanError::Wrong(Box::new(Wrong {
            help: "one YAML document: a map of sections such as `phantom`".into(),
            ..*wrong
        })),
    }
}

fn resolve(
    root: &Node,
    given: &Given,
    unsupported: &mut Vec<Unsupported>,
) -> Result<TankConfig, PlanError> {
    let all = entries(root, "sections such as `phantom`")?;
    if root.get("pools").is_some() {
        return pandora::config(root, given, unsupported);
    }
    let phantom = root.get("phantom");
    let pandora = root.get("pandora").filter(|node| !is_off(node));
    let is_phantom_off = phantom.is_none_or(is_off) && !is_null(phantom);
    let uses_pandora = is_phantom_off && pandora.is_some();
    for (key, value) in all {
        let name = key.text().unwrap_or_default();
        let is_read = FILE.has(name) || uses_pandora && name == "pandora";
        if !is_read && !is_off(value) {
            pass_over(unsupported, "", key, why(name));
        }
    }
    if let Some(pandora) = pandora.filter(|_| uses_pandora) {
        return pandora::of_section(pandora, given, unsupported);
    }
    let phantom = phantom
        .ok_or_else(|| root.place.wrong(Mistake::Missing("phantom"), "`phantom: {address: …}`"))?;
    if is_null(Some(phantom)) {
        return Err(phantom.place.wrong(Mistake::Missing("address"), address::EXPECTED));
    }
    if is_off(phantom) {
        let place = &phantom.get("enabled").unwrap_or(phantom).place;
        return Err(place.wrong(Mistake::PhantomOff, "`enabled: true`, or `phantom` without it"));
    }
    phantom::config(phantom, given, unsupported)
}

fn is_null(node: Option<&Node>) -> bool {
    node.is_some_and(|node| matches!(node.value, Value::Null))
}

fn pass_over(all: &mut Vec<Unsupported>, section: &str, key: &Node, why: &'static str) {
    let name = shortened(key.text().unwrap_or_default());
    let (line, _) = key.place.line_column();
    all.push(Unsupported { key: format!("{section}{name}"), line, why });
}

/// Whether a section is empty or switched off.
fn is_off(section: &Node) -> bool {
    let enabled = section.get("enabled").map(on);
    matches!(enabled, Some(Ok(false))) || matches!(section.value, Value::Null)
}

/// Reads a switch. Tank also accepts 0 and 1.
fn on(node: &Node) -> Result<bool, PlanError> {
    match node.text() {
        Some("1") => Ok(true),
        Some("0") => Ok(false),
        _ => super::value::switch(node),
    }
}

/// The value of `key`. In Tank, an empty text or list means "not given".
fn given<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let is_empty = |node: &&Node| match &node.value {
        Value::Null => true,
        Value::Text(text, _) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(_) => false,
    };
    node.get(key).filter(|node| !is_empty(node))
}

/// A schedule as one text, or as a list of texts that follow one another.
fn schedule(node: &Node) -> Result<stampede_model::schedule::Segments, PlanError> {
    address::is_filled(node)?;
    let Value::List(items) = &node.value else { return super::value::schedule(node) };
    let mut text = String::new();
    let mut begins = Vec::new();
    for item in items {
        address::is_filled(item)?;
        let Some(part) = item.text() else {
            return Err(not_a(item, "a schedule", "a schedule, such as `line(1,100,60s)`"));
        };
        begins.push((text.len(), item));
        text.push_str(part);
        text.push(' ');
    }
    stampede_model::schedule::Segments::parse(&text).map_err(|error| {
        let found = begins.iter().rev().find(|(begin, _)| *begin <= error.offset);
        let place = match found {
            Some((begin, item)) => item.inside(error.offset - begin, error.length),
            None => node.place.clone(),
        };
        let (expected, near) = (error.expected(), error.nearest().map(str::to_owned));
        place.wrong_name(Mistake::Schedule(error), expected, near)
    })
}

/// Tank's default.
const TIMEOUT: Nanos = Nanos::from_secs(11);
/// The default of phantom's `instances`.
const INSTANCES: u32 = 1_000;
/// The same limit as that of a plan's `max_in_flight`.
const INSTANCES_MAX: u32 = 1_000_000;
