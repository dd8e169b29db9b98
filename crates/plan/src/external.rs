//! Reads external runtimes, which are running already: an address, and what to watch.

use std::collections::BTreeMap;

use super::error::{Help, Mistake, PlanError};
use super::keys::{EXTERNAL, WATCH as WATCH_KEYS};
use super::model::{RuntimeChoice, RuntimeSource, Watch};
use super::runtimes::NamedRuntime;
use super::tree::{Node, shortened};
use super::value::{Fields, entries, not_a, text, texts, whole_u32};
use super::watch::{PID_MAX, is_name};
use crate::lookup::{Lookup, LookupError};
use crate::target::Url;

const URL: &str = "`url: \"http://127.0.0.1:8080\"` or `url: \"unix:/run/shop.sock\"`";
const WATCH: &str = "one thing to watch: `container:shop`, `project:shop`, `unit:shop.service`, `pid:4711` or `ssh:shop1`";
const CONNECT_TO: &str = "`connect_to: [\"shop.example:80:127.0.0.1:8080\"]`";
const RESOLVE: &str = "`resolve: [\"shop.example:80:127.0.0.2,127.0.0.3\"]`";

/// Reads `{url: …, watch: …, connect_to: …, resolve: …}`. The plan's settings do not apply to an
/// external runtime: they are for the runtimes that stampede starts.
pub(super) fn external(
    name_node: &Node,
    name: &str,
    body: Option<&Node>,
) -> Result<NamedRuntime, PlanError> {
    let missing = || name_node.place.wrong(Mistake::Missing("url"), URL);
    let body = body.ok_or_else(missing)?;
    no_settings(body)?;
    let fields = Fields::of(body, &EXTERNAL)?;
    let source = RuntimeSource::External {
        url: url(fields.get("url").ok_or_else(missing)?)?,
        watch: fields.get("watch").map(watch).transpose()?,
        lookup: lookup(fields.get("connect_to"), fields.get("resolve"))?,
    };
    let choice = RuntimeChoice {
        name: name.to_owned(),
        source,
        settings: BTreeMap::new(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    };
    Ok(NamedRuntime { base: name.to_owned(), choice })
}

/// Refuses settings of an external runtime. A key similar to a known one is taken for a
/// misspelling, which the caller reports; any other key is taken for a setting.
fn no_settings(body: &Node) -> Result<(), PlanError> {
    for (key, _) in entries(body, URL)? {
        let name = key.text().unwrap_or("");
        if EXTERNAL.find(name).is_some() || EXTERNAL.nearest(name).is_some() {
            continue;
        }
        let mistake = Mistake::AlreadyRuns(shortened(name));
        let todo = "use only `url`, `watch`, `connect_to` and `resolve`: stampede changes nothing \
                    there. Set it where the server is started";
        return Err(key.place.wrong(mistake, Help::todo(todo)));
    }
    Ok(())
}

/// The address as written. Its host name is resolved later, before the plan runs.
fn url(node: &Node) -> Result<String, PlanError> {
    let address = text(node, "an address", URL)?;
    let wrong = |mistake| node.place.wrong(mistake, URL);
    let read = Url::parse(address).map_err(|error| wrong(Mistake::refused(error)))?;
    if !read.is_plain_http() {
        return Err(wrong(Mistake::NotPlainHttp));
    }
    let path = read.path();
    if path.contains('?') {
        return Err(wrong(Mistake::Query(shortened(path))));
    }
    if !path.starts_with('/') || path.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong(Mistake::NotAPath(shortened(path))));
    }
    Ok(address.to_owned())
}

/// Reads the replacements of the lookup: lists of texts. An error is at the text that is wrong.
fn lookup(connect_to: Option<&Node>, resolve: Option<&Node>) -> Result<Lookup, PlanError> {
    let connect_to = connect_to.map_or(Ok(Vec::new()), |node| texts(node, CONNECT_TO))?;
    let resolve = resolve.map_or(Ok(Vec::new()), |node| texts(node, RESOLVE))?;
    let written = |nodes: &[&Node]| -> Vec<String> {
        nodes.iter().filter_map(|node| node.text()).map(str::to_owned).collect()
    };
    let wrong = |node: &Node, error: LookupError| {
        let hint = Help::todo(error.hint());
        node.place.wrong(Mistake::refused(error), hint)
    };
    for &node in &connect_to {
        Lookup::parse(&written(&[node]), &[]).map_err(|error| wrong(node, error))?;
    }
    for &node in &resolve {
        Lookup::parse(&[], &written(&[node])).map_err(|error| wrong(node, error))?;
    }
    let parsed = Lookup::parse(&written(&connect_to), &written(&resolve));
    Ok(parsed.expect("each text was parsed before"))
}

/// Reads `container:shop` or `{container: shop}`, and so of the other kinds.
fn watch(node: &Node) -> Result<Watch, PlanError> {
    if let Some(text) = node.text() {
        return text.parse().map_err(|error| node.place.wrong(Mistake::refused(error), WATCH));
    }
    let entries = entries(node, WATCH)?;
    let fields = Fields::of(node, &WATCH_KEYS)?;
    if let [_, (second, _), ..] = entries {
        return Err(second.place.wrong(Mistake::WatchedTwice, WATCH));
    }
    let kinds = ["container", "unit", "project", "ssh"];
    let named = kinds.into_iter().find_map(|kind| Some((kind, fields.get(kind)?)));
    match (named, fields.get("pid")) {
        (Some(("container", node)), _) => name(node).map(Watch::Container),
        (Some(("unit", node)), _) => name(node).map(Watch::Unit),
        (Some(("project", node)), _) => name(node).map(Watch::Project),
        (Some((_, node)), _) => name(node).map(Watch::Ssh),
        (None, Some(pid)) => whole_u32(pid, "pid", 1..=PID_MAX).map(Watch::Pid),
        (None, None) => Err(not_a(node, "something to watch", WATCH)),
    }
}

/// A name that no program takes for one of its options.
fn name(node: &Node) -> Result<String, PlanError> {
    let name = text(node, "a name", WATCH)?;
    match is_name(name) {
        true => Ok(name.to_owned()),
        false => Err(not_a(node, "a name", WATCH)),
    }
}
