//! Applies command-line flags to a plan's tree before the tree is read. Plan and flags are then
//! read by the same code, and share one set of error messages.

use std::path::PathBuf;
use std::sync::Arc;

use super::app_flags::{self, AppFlags};
use super::compose_flags::{self, ComposeFlags};
use super::defaults;
use super::edit::{remove, set, split};
use super::error::{Help, Mistake, Place, PlanError, Source};
use super::load_from;
use super::tree::{Node, Style, Value};

/// Flags as typed. `None` or empty: not given. They are kept as texts, so that messages can point
/// into them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--app`: a name or a directory, or several separated by commas.
    pub app: Option<String>,
    /// `--kind symfony`: the kind of every app. All apps must be directories.
    pub kind: Option<String>,
    /// What flags say about every app.
    pub app_flags: AppFlags,
    /// `--runtimes A,B`. Runtimes that the plan has too keep their settings.
    pub runtimes: Option<String>,
    /// What flags say about compose projects.
    pub compose: ComposeFlags,
    /// `--only A,B`: keeps only these of the plan's runtimes.
    pub only: Option<String>,
    /// `--rate 200`, with `--for`.
    pub rate: Option<String>,
    /// The default loads for a plan without a load. `None`: no default. A fixed rate beside the
    /// peak is possible with one app only.
    pub default_loads: Option<WithSteady>,
    /// `--schedule 'line(1,100,60s)'`.
    pub schedule: Option<String>,
    /// `--concurrency 50`, with `--for` or `--requests`.
    pub concurrency: Option<String>,
    /// `--for 60s`. Alone it changes the plan's loads that have a concurrency or a rate.
    pub for_: Option<String>,
    /// `--requests 10000`. Alone it changes the plan's loads that have a concurrency.
    pub requests: Option<String>,
    /// `--path /search?q=1`: the path of every load.
    pub path: Option<String>,
    /// The request file of every load.
    pub traffic: TrafficFlags,
    /// `--rounds 5` or `auto`.
    pub rounds: Option<String>,
    /// `--precision 5%`.
    pub precision: Option<String>,
    /// `--max-time 30m`.
    pub max_time: Option<String>,
    /// `--fairness each-at-its-best`.
    pub fairness: Option<String>,
    /// `--starts per-round`.
    pub starts: Option<String>,
    /// `--baseline nginx-fpm`: the runtime that the others are compared with.
    pub baseline: Option<String>,
    /// `--repeat-invalid 1`.
    pub repeat_invalid: Option<String>,
    /// `--seed 1`.
    pub seed: Option<String>,
    /// `--workers 8`. A runtime with a number of its own keeps it.
    pub workers: Option<String>,
    /// `--php 8.2,8.4`.
    pub php: Option<String>,
    /// `--images official`.
    pub images: Option<String>,
    /// `--cpus 2`.
    pub cpus: Option<String>,
    /// `--memory 1GiB`.
    pub memory: Option<String>,
    /// `--out DIRECTORY`.
    pub out: Option<String>,
    /// `--warm-up 5s`.
    pub warm_up: Option<String>,
    /// `--timeout 2s`: applies to every load.
    pub timeout: Option<String>,
    /// `--client tank`: applies to every load.
    pub client: Option<String>,
    /// `--keep-alive auto|on|off`: applies to every load.
    pub keep_alive: Option<String>,
    /// `--max-in-flight 1000`: applies to every load with a schedule or a rate.
    pub max_in_flight: Option<String>,
    /// `--when-full queue|drop|stretch`: applies to every load with a schedule or a rate.
    pub when_full: Option<String>,
    /// `--agents ssh:load1,load2`, one for each time it is given.
    pub agents: Vec<String>,
    /// `--agent-program /opt/stampede`.
    pub agent_program: Option<String>,
    /// `--token-file token`.
    pub token_file: Option<String>,
    /// `--listen 10.0.0.5`.
    pub listen: Option<String>,
    /// `--arrivals uniform|poisson`: applies to every load with a schedule or a rate.
    pub arrivals: Option<String>,
    /// `--expect 'p95 < 100ms'`, one for each time it is given. They replace the plan's
    /// expectations.
    pub expect: Vec<String>,
    /// `--against main`: not a part of the plan, but recorded with it.
    pub against: Option<String>,
    /// `--against-prepare 'composer install'`: not a part of the plan, but recorded with it.
    pub against_prepare: Option<String>,
    /// `--time-scale 0.1`: the factor for schedules, `for`, numbers of requests and the warm-up.
    pub time_scale: Option<String>,
}

/// The name of the source that flags are in.
pub(super) const COMMAND_LINE: &str = "command line";

/// Whether the default loads include one with a fixed rate, which is a share of one app's peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithSteady(pub bool);

/// Flags about the request file of every load, as typed. `None`: not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrafficFlags {
    /// `--traffic access.log`.
    pub file: Option<String>,
    /// `--traffic-format har`.
    pub format: Option<String>,
    /// `--methods GET,POST`.
    pub methods: Option<String>,
    /// `--log-format '$request $status'`.
    pub log_format: Option<String>,
    /// `--log-errors keep|drop`.
    pub log_errors: Option<String>,
    /// `--traffic-environment FILE`.
    pub environment: Option<String>,
}

impl Overrides {
    /// Whether a flag replaces the plan's loads. `--for` alone does not: it changes any load.
    pub fn sets_load(&self) -> bool {
        self.rate.is_some() || self.schedule.is_some() || self.concurrency.is_some()
    }
}

/// Flags and their places in the command line.
pub struct Flags {
    source: Arc<Source>,
    given: Vec<FlagValue>,
    default_loads: Option<WithSteady>,
}

struct FlagValue {
    name: String,
    value: Node,
}

impl Flags {
    /// Writes the flags as one line, so that places can point into it.
    pub(super) fn new(overrides: &Overrides) -> Flags {
        let pairs = overrides.pairs();
        let pairs = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Flags { default_loads: overrides.default_loads, ..Flags::of(pairs) }
    }

    /// Parses flags from a list that `as_typed` wrote. Entries of another form are skipped.
    pub(super) fn as_recorded(recorded: &[String]) -> Flags {
        let pairs = recorded.iter().filter_map(|flag| {
            let [name, value] = shell_words::split(flag).ok()?.try_into().ok()?;
            Some((name.strip_prefix("--")?.to_owned(), value))
        });
        Flags::of(pairs)
    }

    fn of(pairs: impl Iterator<Item = (String, String)>) -> Flags {
        let mut text = String::new();
        let mut spans = Vec::new();
        for (name, value) in pairs {
            if !text.is_empty() {
                text.push(' ');
            }
            // Quotes as most people type them. This text is for reading, not for a shell.
            let quoted = value.is_empty() || value.contains(|c: char| " ()<>{}&;*\"".contains(c));
            let quote = if quoted { "'" } else { "" };
            text += &format!("--{name} {quote}");
            let offset = text.len();
            text += &format!("{value}{quote}");
            spans.push((name, offset, value));
        }
        let base = PathBuf::new();
        let source = Arc::new(Source { name: COMMAND_LINE.to_owned(), text, base });
        let given = spans.into_iter().map(|(name, offset, value)| {
            let place = Place { source: Arc::clone(&source), offset, length: value.len() };
            let value = Value::Text(value, Style::Plain);
            FlagValue { name, value: Node { place, value } }
        });
        Flags { given: given.collect(), source, default_loads: None }
    }

    /// The command line as a source of places.
    pub(super) fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The tree of a plan without a file, before the flags are applied.
    pub(super) fn empty_plan(&self) -> Node {
        Node { place: Place::begin_of(&self.source), value: Value::Map(Vec::new()) }
    }

    /// Each flag quoted for a shell, for "how to run it again".
    pub(super) fn as_typed(&self) -> Vec<String> {
        let typed = |given: &FlagValue| {
            let value = given.value.text().unwrap_or("");
            format!("--{} {}", given.name, shell_words::quote(value))
        };
        self.given.iter().map(typed).collect()
    }

    /// The name of the flag whose value contains `place`.
    pub(super) fn of_place(&self, place: &Place) -> Option<&str> {
        let holds = |given: &&FlagValue| {
            let value = &given.value.place;
            let span = value.offset..=value.offset + value.length;
            Arc::ptr_eq(&value.source, &place.source) && span.contains(&place.offset)
        };
        self.given.iter().find(holds).map(|given| given.name.as_str())
    }

    /// The value of a flag. `None`: the flag was not given.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.given.iter().find(|given| given.name == name).map(|given| &given.value)
    }

    /// The values of a flag that may be given several times.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &Node> {
        self.given.iter().filter(move |given| given.name == name).map(|given| &given.value)
    }

    /// Applies the flags to `plan`, which is a map.
    pub(super) fn apply_to(&self, plan: &mut Node) -> Result<(), PlanError> {
        load_from::apply(self, plan);
        if self.get("rounds").is_some_and(|rounds| rounds.text() != Some("auto")) {
            remove(plan, "precision");
            remove(plan, "max_time");
        }
        for (flag, key) in [
            ("rounds", "rounds"),
            ("precision", "precision"),
            ("max-time", "max_time"),
            ("fairness", "fairness"),
            ("starts", "starts"),
            ("baseline", "baseline"),
            ("repeat-invalid", "repeat_invalid"),
            ("seed", "seed"),
            ("workers", "workers"),
            ("images", "images"),
            ("out", "out"),
            ("timeout", "timeout"),
            ("client", "client"),
            ("keep-alive", "keep_alive"),
            ("arrivals", "arrivals"),
        ] {
            if let Some(value) = self.get(flag) {
                set(plan, key, value.clone());
            }
        }
        if let Some(value) = self.get("php") {
            let several = value.text().is_some_and(|text| text.contains(','));
            set(plan, "php", if several { split(value) } else { value.clone() });
        }
        if let Some(value) = self.get("warm-up") {
            remove(plan, "cold");
            set(plan, "warm_up", value.clone());
        }
        if let Some(value) = self.get("app") {
            remove(plan, "app");
            set(plan, "apps", split(value));
        }
        if let Some(value) = self.get("runtimes") {
            let names = split(value);
            let chosen = keep_settings(names, plan.get("runtimes"));
            set(plan, "runtimes", chosen);
        }
        compose_flags::apply(self, plan);
        app_flags::apply(self, plan)?;
        self.apply_expectations(plan);
        self.apply_budget(plan);
        self.apply_load(plan)
    }

    fn apply_expectations(&self, plan: &mut Node) {
        let all: Vec<Node> = self.all("expect").cloned().collect();
        if let Some(first) = all.first() {
            let place = first.place.clone();
            set(plan, "expect", Node { place, value: Value::List(all) });
        }
    }

    fn apply_budget(&self, plan: &mut Node) {
        for key in ["cpus", "memory"] {
            let Some(value) = self.get(key) else { continue };
            let empty = || Node { place: value.place.clone(), value: Value::Map(Vec::new()) };
            let mut budget = plan.get("budget").cloned().unwrap_or_else(empty);
            if key == "cpus" {
                for role in super::budget::ROLES {
                    remove(&mut budget, role);
                }
            }
            set(&mut budget, key, value.clone());
            set(plan, "budget", budget);
        }
    }

    /// Applies the flags about loads. A flag that says what is sent replaces the plan's loads; if
    /// the plan has exactly one load, its other keys stay. All other flags change every load.
    fn apply_load(&self, plan: &mut Node) -> Result<(), PlanError> {
        let what: Vec<(&str, Node)> =
            [("schedule", "schedule"), ("rate", "rate"), ("concurrency", "concurrency")]
                .into_iter()
                .filter_map(|(flag, key)| self.get(flag).map(|value| (key, value.clone())))
                .collect();
        if let Some((_, first)) = what.first() {
            let place = first.place.clone();
            let mut load = traffic(plan.get("load"), &place);
            for (key, value) in what.into_iter().chain(self.ends()) {
                set(&mut load, key, value);
            }
            set(plan, "load", Node { place, value: Value::List(vec![load]) });
        } else {
            if let (None, Some(WithSteady(steady))) = (plan.get("load"), self.default_loads) {
                let is_for_a_time = self.get("requests").is_none();
                set(plan, "load", defaults::loads(steady && is_for_a_time)?);
            }
            for (key, value) in self.ends() {
                change_end(plan, key, &value)?;
            }
        }
        if let Some(file) = self.traffic() {
            each_load(plan, |load| apply_habit(load, "traffic", &file));
        }
        for (flag, key) in [
            ("path", "path"),
            // Set on each load: a `client` in a load would override a value at the plan's top
            // level.
            ("keep-alive", "keep_alive"),
            ("max-in-flight", "max_in_flight"),
            ("when-full", "when_full"),
        ] {
            if let Some(value) = self.get(flag) {
                each_load(plan, |load| apply_habit(load, key, value));
            }
        }
        // The plan's top-level value is the flag's now. A value in a load would override it.
        for (flag, key) in [("timeout", "timeout"), ("client", "client"), ("arrivals", "arrivals")]
        {
            if self.get(flag).is_some() {
                each_load(plan, |load| remove(load, key));
            }
        }
        Ok(())
    }

    /// The request file as a plan has it: its path, or a map where flags say how to read it.
    fn traffic(&self) -> Option<Node> {
        let file = self.get("traffic")?;
        let said = [
            ("traffic-format", "format"),
            ("methods", "methods"),
            ("log-format", "log_format"),
            ("log-errors", "log_errors"),
            ("traffic-environment", "environment"),
        ];
        let mut map = Node { place: file.place.clone(), value: Value::Map(Vec::new()) };
        for (flag, key) in said {
            if let Some(value) = self.get(flag) {
                set(&mut map, key, value.clone());
            }
        }
        if matches!(&map.value, Value::Map(said) if said.is_empty()) {
            return Some(file.clone());
        }
        set(&mut map, "file", file.clone());
        Some(map)
    }

    fn ends(&self) -> impl Iterator<Item = (&'static str, Node)> {
        [("for", "for"), ("requests", "requests")]
            .into_iter()
            .filter_map(|(flag, key)| self.get(flag).map(|value| (key, value.clone())))
            .collect::<Vec<_>>()
            .into_iter()
    }
}

impl Overrides {
    /// The given flags by name, in a fixed order.
    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let single = [
            ("app", &self.app),
            ("kind", &self.kind),
            ("runtimes", &self.runtimes),
            ("only", &self.only),
            ("rate", &self.rate),
            ("schedule", &self.schedule),
            ("concurrency", &self.concurrency),
            ("for", &self.for_),
            ("requests", &self.requests),
            ("path", &self.path),
            ("traffic", &self.traffic.file),
            ("traffic-format", &self.traffic.format),
            ("methods", &self.traffic.methods),
            ("log-format", &self.traffic.log_format),
            ("log-errors", &self.traffic.log_errors),
            ("traffic-environment", &self.traffic.environment),
            ("rounds", &self.rounds),
            ("precision", &self.precision),
            ("max-time", &self.max_time),
            ("fairness", &self.fairness),
            ("starts", &self.starts),
            ("baseline", &self.baseline),
            ("repeat-invalid", &self.repeat_invalid),
            ("seed", &self.seed),
            ("workers", &self.workers),
            ("php", &self.php),
            ("images", &self.images),
            ("cpus", &self.cpus),
            ("memory", &self.memory),
            ("out", &self.out),
            ("warm-up", &self.warm_up),
            ("timeout", &self.timeout),
            ("client", &self.client),
            ("keep-alive", &self.keep_alive),
            ("max-in-flight", &self.max_in_flight),
            ("when-full", &self.when_full),
            ("arrivals", &self.arrivals),
            ("time-scale", &self.time_scale),
            ("against", &self.against),
            ("against-prepare", &self.against_prepare),
            ("agent-program", &self.agent_program),
            ("token-file", &self.token_file),
            ("listen", &self.listen),
        ];
        let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        let expect = self.expect.iter().map(|text| ("expect", text.as_str()));
        let agents = self.agents.iter().map(|text| ("agents", text.as_str()));
        single
            .chain(self.app_flags.pairs())
            .chain(self.compose.pairs())
            .chain(expect)
            .chain(agents)
            .collect()
    }
}

/// Calls `change` with each app of the plan.
pub(super) fn each_app(
    plan: &mut Node,
    mut change: impl FnMut(&mut Node) -> Result<(), PlanError>,
) -> Result<(), PlanError> {
    let Value::Map(entries) = &mut plan.value else { return Ok(()) };
    entries.iter_mut().try_for_each(|(key, value)| match (key.text(), &mut value.value) {
        (Some("apps"), Value::List(list)) => list.iter_mut().try_for_each(&mut change),
        (Some("app"), _) => change(value),
        _ => Ok(()),
    })
}

/// Applies `--for` or `--requests` alone to each load of the plan that has a concurrency or a rate.
/// `--requests` applies only to loads with a concurrency.
fn change_end(plan: &mut Node, key: &'static str, value: &Node) -> Result<(), PlanError> {
    let mut changed = false;
    each_load(plan, |load| {
        let fits = load.get("concurrency").is_some() || key == "for" && load.get("rate").is_some();
        if fits {
            remove(load, "for");
            if load.get("requests").is_some_and(|node| !matches!(node.value, Value::List(_))) {
                remove(load, "requests");
            }
            set(load, key, value.clone());
            changed = true;
        }
    });
    let beside = if key == "for" { "rate" } else { "concurrency" };
    match changed {
        true => Ok(()),
        false => Err(value.place.wrong(
            Mistake::Missing(beside),
            Help::Do(format!(
                "add `--rate` or `--concurrency` to `--{key}`, or use a plan whose load has one; \
                 `--time-scale` shortens a schedule"
            )),
        )),
    }
}

/// Sets a habit or the path of a load. Habits of open loads are skipped for a load with a
/// concurrency. A schedule that is a text becomes a map.
fn apply_habit(load: &mut Node, key: &'static str, value: &Node) {
    if matches!(key, "max_in_flight" | "when_full") && load.get("concurrency").is_some() {
        return;
    }
    if let Value::Text(..) = load.value {
        let schedule = load.clone();
        load.value = Value::Map(Vec::new());
        set(load, "schedule", schedule);
    }
    if matches!(key, "path" | "traffic") {
        remove(load, "path");
        remove(load, "traffic");
        if load.get("requests").is_some_and(|node| matches!(node.value, Value::List(_))) {
            remove(load, "requests");
        }
    }
    set(load, key, value.clone());
}

/// Calls `change` with each load of the plan.
fn each_load(plan: &mut Node, mut change: impl FnMut(&mut Node)) {
    let Value::Map(entries) = &mut plan.value else { return };
    let load = entries.iter_mut().find(|(key, _)| key.text() == Some("load"));
    let Some((_, load)) = load else { return };
    match &mut load.value {
        Value::Map(named) => named.iter_mut().for_each(|(_, load)| change(load)),
        Value::List(list) => list.iter_mut().for_each(change),
        Value::Text(..) | Value::Null => {}
    }
}

/// Replaces the plan's loads by one that says what is sent and how, but not how much.
pub(super) fn keep_traffic(plan: &mut Node) {
    let place = plan.place.clone();
    let load = traffic(plan.get("load"), &place);
    set(plan, "load", Node { place, value: Value::List(vec![load]) });
}

/// The plan's load if it is the only one and a map, without the keys that say how much is sent;
/// else an empty map at `place`.
fn traffic(load: Option<&Node>, place: &Place) -> Node {
    let mut load = single_load(load, place);
    for key in ["schedule", "rate", "concurrency", "for"] {
        remove(&mut load, key);
    }
    if load.get("requests").is_some_and(|node| !matches!(node.value, Value::List(_))) {
        remove(&mut load, "requests");
    }
    load
}

/// The plan's load if it is the only one and a map, else an empty map at `place`.
fn single_load(load: Option<&Node>, place: &Place) -> Node {
    let single = match load.map(|node| &node.value) {
        Some(Value::Map(named)) if named.len() == 1 => Some(&named[0].1),
        Some(Value::List(list)) if list.len() == 1 => Some(&list[0]),
        _ => None,
    };
    match single {
        Some(node) if matches!(node.value, Value::Map(_)) => {
            Node { place: place.clone(), value: node.value.clone() }
        }
        _ => Node { place: place.clone(), value: Value::Map(Vec::new()) },
    }
}

/// Runtimes by name. A runtime that the plan has too keeps its settings.
fn keep_settings(names: Node, planned: Option<&Node>) -> Node {
    let planned = match planned.map(|node| &node.value) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    let Value::List(names_list) = names.value else { return names };
    let chosen = names_list.into_iter().map(|name| {
        let same = |item: &&Node| match &item.value {
            Value::Map(entries) => entries.iter().any(|(key, _)| key.text() == name.text()),
            _ => false,
        };
        planned.iter().find(same).cloned().unwrap_or_else(|| address(name))
    });
    Node { place: names.place, value: Value::List(chosen.collect()) }
}

/// Turns `external:URL` into the map of an external runtime.
fn address(name: Node) -> Node {
    let Some(url) = name.text().and_then(|text| text.strip_prefix("external:")) else {
        return name;
    };
    let text =
        |node: Node, text: &str| Node { value: Value::Text(text.to_owned(), Style::Plain), ..node };
    let at = |begin, length| Node { place: name.inside(begin, length), value: Value::Null };
    let url = text(at("external:".len(), url.len()), url);
    let key = |key: &str| text(at(0, "external".len()), key);
    let body = vec![(key("url"), url)];
    let body = Node { place: name.place.clone(), value: Value::Map(body) };
    Node { value: Value::Map(vec![(key("external"), body)]), ..name }
}
