//! Reads a whole plan: from a file and flags to the resolved model.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use stampede_model::load::Arrivals;
use stampede_model::time::Nanos;

use super::apps::apps;
use super::budget::{self, budget};
use super::client::{ClientHabits, keep_alive};
use super::edit::{set, split};
use super::error::{Help, Mistake, PlanError, Source};
use super::expect::expectations;
use super::flags::{Flags, Overrides, keep_traffic};
use super::images::{IMAGES, images};
use super::keys::{Key, PLAN, SETTINGS};
use super::load_from;
use super::loads::{self, TIMEOUT, arrivals, loads, scaled};
use super::locate::list;
use super::model::{
    DEFAULT_ARRIVALS, DEFAULT_TIMEOUT, Fairness, LoadFrom, MissingRuntimes, Plan, Rounds,
    StartState, Starts,
};
use super::parts::{AppSelection, LoadPlan, SearchPlan, StackPlan, Written};
use super::php_version::{PHP, PhpVersions};
use super::renamed;
use super::rows;
use super::runtimes::{self, NamedRuntime, env, php_ini, runtimes, selection, setting};
use super::secrets;
use super::tree::{self, BYTES_MAX, Node, Style, Value, shortened};
use super::unknown_keys::belongs_below;
use super::value::{Fields, length, not_a, out_of_range, switch, text, value_of, whole, whole_u32};

/// Default length of the discarded load before measuring.
pub(super) const DEFAULT_WARM_UP: Nanos = Nanos::from_secs(5);

/// Values of `missing`: what happens to runtimes that are not available.
pub(super) const MISSING: [&str; 3] = ["refuse", "skip", "images"];

/// Values of `starts`: how many loads a start serves.
pub(super) const STARTS: [&str; 2] = ["per-load", "per-round"];

/// Values of `fairness`: what is made equal.
pub(super) const FAIRNESS: [&str; 2] = ["equal-workers", "each-at-its-best"];

/// Bounds of the warm-up's length.
const WARM_UP: std::ops::RangeInclusive<Nanos> = Nanos(0)..=Nanos::from_secs(86_400);

/// Most rounds that a plan may ask for. `auto` ends at 20: more rounds add little.
pub(super) const ROUNDS_MAX: u32 = 1_000;

/// Default of `precision`.
const DEFAULT_PRECISION: f64 = 0.05;

/// Default of `max_time`: as long as people wait without having asked for a longer run.
const DEFAULT_MAX_TIME: Nanos = Nanos::from_secs(30 * 60);

/// Bounds of `max_time`.
const MAX_TIME: std::ops::RangeInclusive<Nanos> =
    Nanos(Nanos::SECOND.0)..=Nanos::from_secs(7 * 86_400);

/// Most repeats of a trial. A trial that is invalid ten times is not invalid by chance.
pub(super) const REPEATS_MAX: u32 = 10;

/// Reads the plan at `path` and applies `flags` to it.
///
/// # Errors
/// The file cannot be read, or something in it or in a flag is wrong; see [`PlanError`].
pub fn read(path: &Path, flags: &Overrides) -> Result<Plan, PlanError> {
    let flags = Flags::new(flags);
    let (written, mut root) = written(Some(path), &flags)?;
    resolve(&mut root, &flags, home(), written)
}

/// Reads a plan that is part of the program. `name` stands for its path in messages.
///
/// # Errors
/// Something in it or in a flag is wrong; see [`PlanError`].
pub fn read_ready(name: &str, text: &str, flags: &Overrides) -> Result<Plan, PlanError> {
    let flags = Flags::new(flags);
    let (name, text) = (name.to_owned(), text.to_owned());
    let source = Arc::new(Source { name, text, base: PathBuf::new() });
    let mut root = tree::parse(&source)?;
    let text = source.text.clone();
    let written = Written { source: None, text, flags: flags.as_typed() };
    resolve(&mut root, &flags, home(), written)
}

/// The tree of a plan before the flags are applied, and where it was written. `None`: there are
/// only flags.
pub(super) fn written(path: Option<&Path>, flags: &Flags) -> Result<(Written, Node), PlanError> {
    let flags_as_typed = flags.as_typed();
    let Some(path) = path else {
        let written = Written { flags: flags_as_typed, ..Written::default() };
        return Ok((written, flags.empty_plan()));
    };
    let (file, root) = file_tree(path)?;
    let (source, text) = (Some(path.to_path_buf()), file.text.clone());
    Ok((Written { source, text, flags: flags_as_typed }, root))
}

/// A plan's source and tree. From here on the plan's secrets are masked.
pub(super) fn file_tree(path: &Path) -> Result<(Arc<Source>, Node), PlanError> {
    let text = file_text(path)?;
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let source = Arc::new(Source { name: path.display().to_string(), text, base });
    stampede_mask::text(&source.text);
    let root = tree::parse(&source)?;
    secrets::learn(&root);
    Ok((source, root))
}

/// Makes a plan from flags alone.
///
/// # Errors
/// Something in a flag is wrong, or missing; see [`PlanError`].
pub fn from_flags(flags: &Overrides) -> Result<Plan, PlanError> {
    let flags = Flags::new(flags);
    let (written, mut root) = written(None, &flags)?;
    resolve(&mut root, &flags, home(), written)
}

/// Reads the apps of the plan at `path`, or those that flags name. Other parts of the plan and
/// other flags are not read.
///
/// # Errors
/// As [`read`].
pub fn apps_of(path: Option<&Path>, flags: &Overrides) -> Result<AppSelection, PlanError> {
    // Runtimes may bring their own app.
    const APPS: [&str; 3] = ["app", "apps", "runtimes"];
    let Overrides { app, kind, app_flags, runtimes, compose, .. } = flags.clone();
    let asked = Overrides { app, kind, app_flags, runtimes, compose, ..Overrides::default() };
    let flags = Flags::new(&asked);
    let (written, mut root) = written(path, &flags)?;
    let entries = match root.value {
        Value::Map(entries) => entries,
        _ => Vec::new(),
    };
    let is_app = |(key, _): &(Node, Node)| key.text().is_some_and(|key| APPS.contains(&key));
    root.value = Value::Map(entries.into_iter().filter(is_app).collect());
    flags.apply_to(&mut root)?;
    let fields = Fields::of(&root, &PLAN)?;
    fields.not_both("app", "apps")?;
    let choices = apps(&root, &fields, home().as_deref())?;
    Ok(AppSelection { written, choices })
}

/// Makes a stack from flags alone. `default_app` is served where no flag names an app.
///
/// # Errors
/// As [`from_flags`].
pub fn stack_from_flags(
    flags: &Overrides,
    default_app: Option<&str>,
) -> Result<StackPlan, PlanError> {
    let flags = Flags::new(flags);
    let (written, mut root) = written(None, &flags)?;
    if let Some(app) = default_app {
        let place = root.place.clone();
        set(&mut root, "app", Node { place, value: Value::Text(app.to_owned(), Style::Plain) });
    }
    apply(&flags, &mut root)?;
    let fields = checked_fields(&root)?;
    stack(&root, &fields, written, home().as_deref()).map(|(stack, _)| stack)
}

/// Reads what a search needs: a stack, and what is sent to it. `path` is the plan's. `None`: there
/// are only flags. How much a load of the plan sends is not read.
///
/// # Errors
/// As [`read`].
pub fn search(path: Option<&Path>, flags: &Overrides) -> Result<SearchPlan, PlanError> {
    let flags = Flags::new(flags);
    let (written, mut root) = written(path, &flags)?;
    // An earlier key would stay in the load.
    to_present_form(&mut root);
    keep_traffic(&mut root);
    apply(&flags, &mut root)?;
    let fields = checked_fields(&root)?;
    let (seed, home) = (seed(&fields)?, home());
    let (stack, named) = stack(&root, &fields, written, home.as_deref())?;
    let node = required(&root, &fields, "load")?;
    let node = list(node).first().unwrap_or(node);
    let common = common_of_loads(&fields, seed, UNSCALED)?;
    Ok(SearchPlan {
        stack,
        load: loads::search_load(node, &common, &named)?,
        begin: begin(&fields)?,
        load_from: senders(&fields, home.as_deref())?,
        expect: fields.get("expect").map_or(Ok(Vec::new()), expectations)?,
        seed,
        out: out(&fields, home.as_deref())?,
        notices: Vec::new(),
    })
}

/// The time scale of lengths that stay as they are written.
const UNSCALED: f64 = 1.0;

/// Reads the load that flags describe.
///
/// # Errors
/// As [`from_flags`].
pub fn load_from_flags(flags: &Overrides) -> Result<LoadPlan, PlanError> {
    const EXPECTED: &str = "`--rate 200 --for 60s`, `--concurrency 50 --for 60s`, `--concurrency 4 --requests 1000` or `--schedule`";
    let flags = Flags::new(flags);
    let mut root = flags.empty_plan();
    flags.apply_to(&mut root)?;
    let fields = plan_fields(&root)?;
    let seed = seed(&fields)?;
    let missing = || root.place.wrong(Mistake::Missing("a load"), EXPECTED);
    let node = fields.get("load").ok_or_else(missing)?;
    let loads = loads(node, &common_of_loads(&fields, seed, time_scale(&flags)?)?, &[])?;
    let mut load = loads.into_iter().next().ok_or_else(missing)?;
    load.expect = fields.get("expect").map_or(Ok(Vec::new()), expectations)?;
    let warm_up = match fields.get("warm_up") {
        Some(_) => begin(&fields)?.warm_up(),
        None => Nanos(0),
    };
    Ok(LoadPlan { load, warm_up })
}

fn senders(fields: &Fields<'_>, home: Option<&Path>) -> Result<LoadFrom, PlanError> {
    fields.get("load_from").map_or(Ok(LoadFrom::default()), |node| load_from::load_from(node, home))
}

fn seed(fields: &Fields<'_>) -> Result<u64, PlanError> {
    match fields.get("seed") {
        Some(node) => whole(node, "seed", 0..=u64::MAX),
        // 32 bits are short to type again, and every JSON reader represents them exactly.
        None => Ok(u64::from(fastrand::u32(..))),
    }
}

/// The home directory that `~` stands for.
pub(super) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// The file's text. A file of more than 1 MiB is an error.
pub(super) fn file_text(path: &Path) -> Result<String, PlanError> {
    let unreadable = |source| PlanError::Unreadable { path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > BYTES_MAX {
        return Err(PlanError::TooLarge { path: path.to_path_buf() });
    }
    String::from_utf8(bytes)
        .map_err(|error| unreadable(io::Error::new(io::ErrorKind::InvalidData, error)))
}

/// Applies `flags` to the tree and reads the plan from it.
pub(super) fn resolve(
    root: &mut Node,
    flags: &Flags,
    home: Option<PathBuf>,
    written: Written,
) -> Result<Plan, PlanError> {
    apply(flags, root)?;
    let fields = checked_fields(root)?;
    let time_scale = time_scale(flags)?;
    let seed = seed(&fields)?;
    let (stack, named) = stack(root, &fields, written, home.as_deref())?;
    let load_node = required(root, &fields, "load")?;
    let common = common_of_loads(&fields, seed, time_scale)?;
    let mut plan = Plan {
        stack,
        loads: loads(load_node, &common, &named)?,
        begin: match begin(&fields)? {
            StartState::Warm(length) => StartState::Warm(scaled(length, time_scale)),
            StartState::Cold => StartState::Cold,
        },
        starts: starts(&fields)?,
        rounds: rounds(&fields)?,
        repeat_invalid: match fields.get("repeat_invalid") {
            Some(node) => whole_u32(node, "number of repeats", 0..=REPEATS_MAX)?,
            None => 1,
        },
        seed,
        expect: fields.get("expect").map_or(Ok(Vec::new()), expectations)?,
        load_from: senders(&fields, home.as_deref())?,
        fairness: fairness(&fields)?,
        baseline: String::new(),
        control: None,
        peak: None,
        time_scale,
        published: published(&fields, home.as_deref())?,
        out: out(&fields, home.as_deref())?,
        notices: Vec::new(),
        against: None,
        working_tree: None,
    };
    only(&mut plan, &named, flags)?;
    plan.baseline = baseline(&plan, fields.get("baseline"))?;
    plan.control = fields.get("control").map(|node| rows::control(&plan, node)).transpose()?;
    Ok(plan)
}

/// Applies `flags` to a tree that must be a map.
fn apply(flags: &Flags, root: &mut Node) -> Result<(), PlanError> {
    const EXPECTED: &str = "keys such as `app`, `runtimes` and `load`";
    to_present_form(root);
    match root.value {
        Value::Map(_) => flags.apply_to(root),
        Value::Null => {
            let found = "an empty file".to_owned();
            Err(root.place.wrong(Mistake::NotA { found, wanted: "a plan" }, EXPECTED))
        }
        _ => Err(not_a(root, "a plan", EXPECTED)),
    }
}

/// Gives a plan the one form that all other functions read.
pub(super) fn to_present_form(root: &mut Node) {
    loads::as_list(root);
    renamed::keys(root);
}

/// The map of a whole plan. Every key is known, and none excludes another.
fn checked_fields(root: &Node) -> Result<Fields<'_>, PlanError> {
    let fields = plan_fields(root)?;
    fields.not_both("app", "apps")?;
    fields.not_both("cold", "warm_up")?;
    Ok(fields)
}

/// Reads the stack. Also returns its runtimes with the names that loads know them by.
fn stack(
    root: &Node,
    fields: &Fields<'_>,
    written: Written,
    home: Option<&Path>,
) -> Result<(StackPlan, Vec<NamedRuntime>), PlanError> {
    let apps = AppSelection { written, choices: apps(root, fields, home)? };
    let named = runtimes(required(root, fields, "runtimes")?, &common_of_runtimes(root, fields)?)?;
    if !named.iter().any(|named| named.choice.source.takes_a_version())
        && let Some(key) = fields.get(PHP).map(|_| fields.key_place(PHP))
    {
        const HELP: &str = "a row `today` has the PHP of this machine, and a server that runs already its own; \
                            a runtime of the catalogue takes a version: `runtimes: [nginx-fpm]`";
        return Err(key.wrong(Mistake::NoVersionToChoose, Help::Do(HELP.to_owned())));
    }
    let stack = StackPlan {
        apps,
        runtimes: named.iter().map(|named| named.choice.clone()).collect(),
        budget: budget(fields.get("budget"))?,
        fit: budget::fit(fields.get("budget"))?,
        listen: fields.get("listen").map(load_from::listen).transpose()?,
        missing: missing(fields)?,
    };
    Ok((stack, named))
}

/// The plan's map. An unknown key gets the nearest known name, or the place where it belongs.
fn plan_fields(root: &Node) -> Result<Fields<'_>, PlanError> {
    match Fields::of(root, &PLAN) {
        Err(PlanError::Wrong(mut wrong)) => {
            let below = match &wrong.mistake {
                Mistake::UnknownKey { key, .. } => belongs_below(key),
                _ => None,
            };
            wrong.help = match below {
                _ if root.entry("services").is_some() => {
                    wrong.nearest = None;
                    let file = wrong.place.source.name.clone();
                    Help::Do(format!(
                        "this looks like a compose file: give it as `--compose {file}`"
                    ))
                }
                Some(place) => {
                    wrong.nearest = None;
                    Help::Do(match wrong.place.text() {
                        "settings" => place,
                        key => format!("write `{key}` {place}"),
                    })
                }
                // A list of all keys would not help.
                None => "a key such as `app`, `runtimes`, `load`, `budget`, `rounds`, or a \
                         setting of all runtimes such as `workers`"
                    .into(),
            };
            Err(PlanError::Wrong(wrong))
        }
        other => other,
    }
}

/// The value of a required key.
pub(super) fn required<'a>(
    root: &Node,
    fields: &Fields<'a>,
    key: &'static str,
) -> Result<&'a Node, PlanError> {
    fields.get(key).ok_or_else(|| {
        let expected = match key {
            "runtimes" => "`runtimes: [nginx-fpm, apache-modphp]`, or `--runtimes A,B`",
            "load" => {
                "`load: [\"const(200,60s)\"]`, or `--rate 200 --for 60s`, `--concurrency 50 --for 60s` \
                 or `--schedule`"
            }
            _ => "`app: NAME` or a directory, or `--app`; `stampede init` writes a plan for the app in a directory",
        };
        root.place.wrong(Mistake::Missing(key), expected)
    })
}

/// A path of the plan. `~` is the home directory. Relative paths start at the plan's directory, or
/// at the current directory for a path from a flag.
pub(super) fn path(node: &Node, path: &str, home: Option<&Path>) -> Result<PathBuf, PlanError> {
    if let Some(rest) = path.strip_prefix('~') {
        let Some(home) = home.filter(|_| rest.is_empty() || rest.starts_with('/')) else {
            return Err(not_a(
                node,
                "a directory",
                "`~/…` with `HOME` set; other users' directories in full",
            ));
        };
        return Ok(home.join(rest.trim_start_matches('/')));
    }
    let joined = node.place.source.base.join(path);
    let tidy: PathBuf = joined.components().filter(|part| *part != Component::CurDir).collect();
    Ok(if tidy.as_os_str().is_empty() { PathBuf::from(".") } else { tidy })
}

fn out(fields: &Fields<'_>, home: Option<&Path>) -> Result<Option<PathBuf>, PlanError> {
    let Some(node) = fields.get("out") else { return Ok(None) };
    let out = text(node, "a directory", "a directory for the results, such as `results/today`")?;
    path(node, out, home).map(Some)
}

fn published(fields: &Fields<'_>, home: Option<&Path>) -> Result<Option<PathBuf>, PlanError> {
    let Some(node) = fields.get("published") else { return Ok(None) };
    let file = text(node, "a file", "a file of published tables, such as `article.tables.yaml`")?;
    path(node, file, home).map(Some)
}

fn common_of_runtimes(
    root: &Node,
    fields: &Fields<'_>,
) -> Result<runtimes::RuntimeDefaults, PlanError> {
    let mut settings = BTreeMap::new();
    for Key { name, .. } in SETTINGS.keys {
        if let Some((key, value)) = root.entry(name) {
            settings.extend([setting(key, value)?]);
        }
    }
    Ok(runtimes::RuntimeDefaults {
        settings,
        php_ini: fields.get("php_ini").map_or(Ok(BTreeMap::new()), php_ini)?,
        env: fields.get("env").map_or(Ok(BTreeMap::new()), env)?,
        php: fields.get(PHP).map_or(Ok(PhpVersions::default()), PhpVersions::read)?,
        images: fields.get(IMAGES).map_or(Ok(None), images)?,
    })
}

fn common_of_loads(
    fields: &Fields<'_>,
    seed: u64,
    time_scale: f64,
) -> Result<loads::LoadDefaults, PlanError> {
    let habits = ClientHabits::named("stampede");
    let mut habits = match fields.get("client") {
        Some(node) => habits.with(node)?,
        None => habits,
    };
    if let Some(node) = fields.get("keep_alive") {
        habits.client.keep_alive = keep_alive(node)?;
    }
    Ok(loads::LoadDefaults {
        habits,
        timeout: match fields.get("timeout") {
            Some(node) => length(node, "timeout", TIMEOUT)?,
            None => DEFAULT_TIMEOUT,
        },
        arrivals: match fields.get("arrivals") {
            Some(node) => arrivals(node, seed)?,
            // Uniform arrivals of several machines would depend on how well their clocks agree.
            None if fields.get("load_from").is_some() => Arrivals::Poisson { seed },
            None => DEFAULT_ARRIVALS,
        },
        seed,
        time_scale,
    })
}

fn begin(fields: &Fields<'_>) -> Result<StartState, PlanError> {
    let cold = match fields.get("cold") {
        Some(node) => switch(node)?,
        None => false,
    };
    match (cold, fields.get("warm_up")) {
        (true, _) => Ok(StartState::Cold),
        (false, Some(node)) => length(node, "warm-up", WARM_UP).map(StartState::Warm),
        (false, None) => Ok(StartState::Warm(DEFAULT_WARM_UP)),
    }
}

/// How many loads a start serves. Only the first of several loads would find a cold runtime.
fn starts(fields: &Fields<'_>) -> Result<Starts, PlanError> {
    let Some(node) = fields.get("starts") else { return Ok(Starts::PerLoad) };
    if value_of(node, "starts", &STARTS)? == "per-load" {
        return Ok(Starts::PerLoad);
    }
    if begin(fields)? == StartState::Cold {
        fields.not_both("cold", "starts")?;
    }
    Ok(Starts::PerRound)
}

fn missing(fields: &Fields<'_>) -> Result<MissingRuntimes, PlanError> {
    let Some(node) = fields.get("missing") else { return Ok(MissingRuntimes::Refuse) };
    match value_of(node, "missing", &MISSING)? {
        "skip" => Ok(MissingRuntimes::Skip),
        "images" => Ok(MissingRuntimes::Images),
        _ => Ok(MissingRuntimes::Refuse),
    }
}

fn fairness(fields: &Fields<'_>) -> Result<Fairness, PlanError> {
    let Some(node) = fields.get("fairness") else { return Ok(Fairness::EqualWorkers) };
    match value_of(node, "fairness", &FAIRNESS)? {
        "each-at-its-best" => Ok(Fairness::EachAtItsBest),
        _ => Ok(Fairness::EqualWorkers),
    }
}

fn rounds(fields: &Fields<'_>) -> Result<Rounds, PlanError> {
    let node = fields.get("rounds");
    if node.and_then(Node::text) == Some("auto") {
        return Ok(Rounds::Auto {
            precision: fields.get("precision").map_or(Ok(DEFAULT_PRECISION), precision)?,
            max_time: match fields.get("max_time") {
                Some(node) => length(node, "longest time", MAX_TIME)?,
                None => DEFAULT_MAX_TIME,
            },
        });
    }
    for key in ["precision", "max_time"] {
        if fields.get(key).is_some() {
            let todo = format!("`{key}` works only with `rounds: auto`: add it, or remove `{key}`");
            return Err(fields.key_place(key).wrong(Mistake::WithoutAuto(key), Help::Do(todo)));
        }
    }
    node.map_or(Ok(Rounds::Fixed(1)), |node| {
        whole_u32(node, "number of rounds", 1..=ROUNDS_MAX).map(Rounds::Fixed)
    })
}

/// Reads `5%` or `0.05` as a share.
fn precision(node: &Node) -> Result<f64, PlanError> {
    const EXPECTED: &str = "a width from 0.1% to 100%, such as `5%`";
    let text = node.text().unwrap_or("").trim();
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match share {
        Ok(share) if (0.001..=1.0).contains(&share) => Ok(share),
        Ok(_) => Err(out_of_range(node, "precision", EXPECTED)),
        Err(_) => Err(not_a(node, "a precision", EXPECTED)),
    }
}

fn time_scale(flags: &Flags) -> Result<f64, PlanError> {
    const EXPECTED: &str = "a factor from 0.001 to 1000, such as `0.1`";
    let Some(node) = flags.get("time-scale") else { return Ok(1.0) };
    match node.text().unwrap_or("").parse::<f64>() {
        Ok(factor) if (0.001..=1000.0).contains(&factor) => Ok(factor),
        Ok(_) => Err(out_of_range(node, "factor", EXPECTED)),
        Err(_) => Err(not_a(node, "a factor", EXPECTED)),
    }
}

/// Name of the runtime that the others are compared with: the one named, or the first.
fn baseline(plan: &Plan, node: Option<&Node>) -> Result<String, PlanError> {
    let first = plan.stack.runtimes.first().map_or(String::new(), |first| first.name.clone());
    node.map_or(Ok(first), |node| rows::runtime(plan, node))
}

/// Keeps the runtimes that `--only` names, and the loads that are for at least one of them.
fn only(plan: &mut Plan, named: &[NamedRuntime], flags: &Flags) -> Result<(), PlanError> {
    let Some(node) = flags.get("only") else { return Ok(()) };
    plan.keep_runtimes(&selection(&split(node), named)?);
    if plan.loads.is_empty() {
        let mistake = Mistake::NoLoad(shortened(node.text().unwrap_or("")));
        return Err(node.place.wrong(mistake, "runtimes that a load of the plan is for"));
    }
    Ok(())
}
