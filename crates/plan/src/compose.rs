//! Reads runtimes that are containers of a compose project.

use std::collections::BTreeMap;

use super::error::{Help, Mistake, PlanError};
use super::flags::COMMAND_LINE;
use super::keys::COMPOSE;
use super::model::{
    BuildTarget, CodePlace, ComposeSource, PhpVersionChoice, RuntimeChoice, RuntimeSource,
    ServiceLimits, VolumeState,
};
use super::php_version::{PHP, PhpVersions};
use super::read::{home, path};
use super::runtimes::{NamedRuntime, RuntimeDefaults, env, php_ini};
use super::tree::{Node, Value, shortened};
use super::value::{Fields, entries, items, name_of, not_a, text, texts, whole_u32};

const FILES: &str = "`compose: docker-compose.yml`, or a list of files as with `docker compose -f`";

/// Values of `volumes`.
pub(super) const VOLUMES: [&str; 3] = ["copy", "empty", "keep"];

/// Values of `limits`.
pub(super) const LIMITS: [&str; 2] = ["keep", "none"];

/// Values of `code`.
pub(super) const CODE: [&str; 2] = ["image", "mounted"];

/// Most compose files of one runtime.
pub(super) const FILES_MAX: usize = 20;

/// Reads `{compose: FILE, service: NAME, port: N}` with what belongs to it: a row for each version of
/// PHP. The plan's settings do not apply: they are for the runtimes of the catalogue.
pub(super) fn compose(
    name: &str,
    body: &Node,
    common: &RuntimeDefaults,
) -> Result<Vec<NamedRuntime>, PlanError> {
    no_settings(body)?;
    let fields = Fields::of(body, &COMPOSE)?;
    let names = |key: &str| -> Result<Vec<String>, PlanError> {
        let get = fields.get(key);
        let all = get.map_or(Ok(Vec::new()), |node| texts(node, "a list of texts"))?;
        Ok(all.into_iter().filter_map(Node::text).map(str::to_owned).collect())
    };
    let missing = || body.place.wrong(Mistake::Missing("compose"), FILES);
    let service = fields.get("service").map(|node| text(node, "a service", "a service's name"));
    let source = ComposeSource {
        files: files(fields.get("compose").ok_or_else(missing)?)?,
        service: service.transpose()?.map(str::to_owned),
        port: fields.get("port").map(port).transpose()?,
        beside: names("beside")?,
        before_trial: fields.get("before_trial").map_or(Ok(Vec::new()), commands)?,
        build_args: fields.get("build_args").map_or(Ok(BTreeMap::new()), env)?,
        build_targets: fields.get("build_target").map_or(Ok(Vec::new()), build_targets)?,
        code: fields.get("code").map_or(Ok(CodePlace::Mounted), code)?,
        volumes: fields.get("volumes").map_or(Ok(VolumeState::Copied), volumes)?,
        limits: fields.get("limits").map_or(Ok(ServiceLimits::Kept), limits)?,
        php: None,
    };
    let mut env_of_all = common.env.clone();
    if let Some(node) = fields.get("env") {
        env_of_all.extend(env(node)?);
    }
    let mut ini = common.php_ini.clone();
    if let Some(node) = fields.get("php_ini") {
        ini.extend(php_ini(node)?);
    }
    let choice = RuntimeChoice {
        name: name.to_owned(),
        source: RuntimeSource::Compose(source),
        settings: BTreeMap::new(),
        php_ini: ini,
        env: env_of_all,
        images: None,
        as_today: None,
    };
    let named = |choice| NamedRuntime { base: name.to_owned(), choice };
    let argument = argument(&fields)?;
    let versions = match fields.get(PHP) {
        Some(node) => PhpVersions::read(node)?,
        None => common.php.clone(),
    };
    let with = |(version, of_name): (&str, String)| {
        let mut choice = choice.clone();
        choice.name += &of_name;
        if let RuntimeSource::Compose(source) = &mut choice.source {
            source.php =
                Some(PhpVersionChoice { version: version.to_owned(), argument: argument.clone() });
        }
        choice
    };
    match versions.all.is_empty() {
        true => Ok(vec![named(choice)]),
        false => Ok(versions.each().map(with).map(named).collect()),
    }
}

/// Reads `php_arg`: the build argument that has the version of PHP.
fn argument(fields: &Fields<'_>) -> Result<String, PlanError> {
    const ARGUMENT: &str = "the name of a build argument, such as `PHP_VERSION`";
    let Some(node) = fields.get("php_arg") else { return Ok(PHP_ARGUMENT.to_owned()) };
    match text(node, "a build argument", ARGUMENT)? {
        name if is_variable(name) => Ok(name.to_owned()),
        _ => Err(not_a(node, "the name of a build argument", ARGUMENT)),
    }
}

/// The argument that most Dockerfiles have for it.
const PHP_ARGUMENT: &str = "PHP_VERSION";

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Refuses settings of the catalogue's runtimes. A key similar to a known one is taken for a
/// misspelling, which the caller reports.
fn no_settings(body: &Node) -> Result<(), PlanError> {
    for (key, _) in entries(body, FILES)? {
        let name = key.text().unwrap_or("");
        if COMPOSE.find(name).is_some() || COMPOSE.nearest(name).is_some() {
            continue;
        }
        let mistake = Mistake::OfContainers(shortened(name));
        let todo = "set it in the compose file, or with `env`, `php_ini` or `build_args`";
        return Err(key.place.wrong(mistake, Help::todo(todo)));
    }
    Ok(())
}

fn files(node: &Node) -> Result<Vec<std::path::PathBuf>, PlanError> {
    let written: Vec<&Node> = match &node.value {
        Value::List(_) => items(node, FILES)?.iter().collect(),
        _ => vec![node],
    };
    if written.is_empty() || written.len() > FILES_MAX {
        return Err(not_a(node, "a choice of compose files", FILES));
    }
    let file = |node: &&Node| path(node, text(node, "a compose file", FILES)?, home().as_deref());
    written.iter().map(file).collect()
}

/// Reads `{php: "php artisan migrate"}`: services with a command each, in their order.
fn commands(node: &Node) -> Result<Vec<(String, String)>, PlanError> {
    const EXPECTED: &str =
        "a service with a command, such as `{php: \"php artisan migrate --seed\"}`";
    let command = |(service, command): &(Node, Node)| {
        let service = text(service, "a service", EXPECTED)?;
        Ok((service.to_owned(), text(command, "a command", EXPECTED)?.to_owned()))
    };
    entries(node, EXPECTED)?.iter().map(command).collect()
}

fn port(node: &Node) -> Result<u16, PlanError> {
    let port = whole_u32(node, "port", 1..=u32::from(u16::MAX))?;
    Ok(u16::try_from(port).unwrap_or(u16::MAX))
}

fn volumes(node: &Node) -> Result<VolumeState, PlanError> {
    Ok(match name_of(node, "state of volumes", &VOLUMES)? {
        "keep" => VolumeState::Shared,
        "empty" => VolumeState::Empty,
        _ => VolumeState::Copied,
    })
}

fn code(node: &Node) -> Result<CodePlace, PlanError> {
    Ok(match name_of(node, "place of code", &CODE)? {
        "image" => CodePlace::Image,
        _ => CodePlace::Mounted,
    })
}

/// Reads `prod`, `php=prod`, a list of these, or `{php: prod}`.
fn build_targets(node: &Node) -> Result<Vec<BuildTarget>, PlanError> {
    const EXPECTED: &str = "a stage of a Dockerfile such as `prod`, or `{php: prod}`";
    let is_name = |text: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
    };
    let target = |node: &Node, service: Option<&str>, stage: &str| {
        let is_one = is_name(stage) && service.is_none_or(is_name);
        let target = || BuildTarget {
            service: service.map(str::to_owned),
            stage: stage.to_owned(),
            is_optional: node.place.source.name == COMMAND_LINE,
        };
        is_one.then(target).ok_or_else(|| not_a(node, "a stage of a Dockerfile", EXPECTED))
    };
    if let Value::Map(targets) = &node.value {
        let one = |(service, stage): &(Node, Node)| {
            target(stage, service.text(), text(stage, "a stage", EXPECTED)?)
        };
        return targets.iter().map(one).collect();
    }
    let one = |node: &Node| {
        let text = text(node, "a stage", EXPECTED)?;
        let (service, stage) =
            text.split_once('=').map_or((None, text), |(service, stage)| (Some(service), stage));
        target(node, service, stage)
    };
    texts(node, EXPECTED)?.into_iter().map(one).collect()
}

fn limits(node: &Node) -> Result<ServiceLimits, PlanError> {
    Ok(match name_of(node, "choice of limits", &LIMITS)? {
        "none" => ServiceLimits::Dropped,
        _ => ServiceLimits::Kept,
    })
}

/// A stage that a flag names must be there if there is only one project.
pub(super) fn settle_flags(all: &mut [NamedRuntime]) {
    let sources = all.iter_mut().filter_map(|named| match &mut named.choice.source {
        RuntimeSource::Compose(source) => Some(source),
        _ => None,
    });
    let mut sources: Vec<&mut ComposeSource> = sources.collect();
    let is_only = sources.windows(2).all(|pair| pair[0].files == pair[1].files);
    for target in sources.iter_mut().flat_map(|source| &mut source.build_targets) {
        target.is_optional &= !is_only;
    }
}

/// Whether every runtime of a plan brings its own app: it is a compose project, or runs already.
pub(super) fn all_bring_their_app(runtimes: Option<&Node>) -> bool {
    let Some(Value::List(runtimes)) = runtimes.map(|node| &node.value) else { return false };
    let brings = |item: &Node| match &item.value {
        Value::Map(entries) => entries.iter().all(|(name, body)| {
            let used = body.get("use").and_then(Node::text).or(name.text());
            body.get("compose").is_some() || matches!(used, Some("external" | "live"))
        }),
        _ => false,
    };
    !runtimes.is_empty() && runtimes.iter().all(brings)
}
