//! Reads the configuration of pandora, Tank's newer generator: the first pool whose gun speaks HTTP.
//! It stands in the section `pandora`, or in a file of its own.

use stampede_model::load::{
    Arrivals, ConnectionHabit, Habits, HttpVersion, Model, Until, WhenFull,
};
use stampede_model::schedule::Segments;
use stampede_traffic::{LoadTraffic, Passes};

use super::address::{self, Scheme, Target};
use super::requests::{self, FileKeys, Headers};
use super::{
    Given, INSTANCES, INSTANCES_MAX, TIMEOUT, TankConfig, Unsupported, given, on, pass_over,
    source, tree_of,
};
use crate::error::{Mistake, PlanError};
use crate::tank_keys::{AMMO, GUN, PANDORA, POOL, POOLS};
use crate::tree::{Node, Value};
use crate::value::{entries, items, not_a, text, value_of, whole};

/// The load of the section `pandora`: its `config_content`, or the file that `config_file` names.
pub(super) fn of_section(
    node: &Node,
    overrides: &Given,
    unsupported: &mut Vec<Unsupported>,
) -> Result<TankConfig, PlanError> {
    for (key, _) in entries(node, "pandora's keys")? {
        if !PANDORA.has(key.text().unwrap_or_default()) {
            pass_over(unsupported, "pandora.", key, PANDORA_ITSELF);
        }
    }
    if let Some(content) = given(node, "config_content") {
        return config(content, overrides, unsupported);
    }
    let Some(file) = given(node, "config_file") else {
        let expected = "`config_content: {pools: […]}`, or `config_file: pandora.yaml`";
        return Err(node.place.wrong(Mistake::Missing("config_content"), expected));
    };
    let name = text(file, "a path", "the path of pandora's configuration")?;
    let path = file.place.source.base.join(name);
    let unread = |error: PlanError| {
        file.place.wrong(Mistake::refused(error), "the path of pandora's configuration, in UTF-8")
    };
    let root = tree_of(source(&path).map_err(unread)?)?;
    config(&root, overrides, unsupported)
}

/// The load of pandora's configuration.
pub(super) fn config(
    root: &Node,
    overrides: &Given,
    unsupported: &mut Vec<Unsupported>,
) -> Result<TankConfig, PlanError> {
    for (key, _) in entries(root, "pandora's configuration with `pools`")? {
        if !POOLS.has(key.text().unwrap_or_default()) {
            pass_over(unsupported, "", key, PANDORA_ITSELF);
        }
    }
    let Some(pools) = given(root, "pools") else {
        return Err(root.place.wrong(Mistake::Missing("pools"), EXPECTED_POOL));
    };
    let pools = items(pools, EXPECTED_POOL)?;
    let is_http = |pool: &&Node| {
        let kind = pool.get("gun").and_then(|gun| gun.get("type")).and_then(Node::text);
        kind.is_some_and(|kind| GUNS.contains(&kind))
    };
    let chosen = pools.iter().find(is_http).or(pools.first());
    let Some(chosen) = chosen else {
        return Err(not_a(root, "a list of pools", EXPECTED_POOL));
    };
    for other in pools.iter().filter(|pool| pool.place != chosen.place) {
        let (line, _) = other.place.line_column();
        let name = other.get("id").and_then(Node::text).unwrap_or("without an id");
        let key = format!("pool {}", crate::tree::shortened(name));
        unsupported.push(Unsupported { key, line, why: "a load has one pool" });
    }
    Pool { node: chosen, overrides, unsupported }.config()
}

struct Pool<'a> {
    node: &'a Node,
    overrides: &'a Given,
    unsupported: &'a mut Vec<Unsupported>,
}

impl<'a> Pool<'a> {
    fn config(mut self) -> Result<TankConfig, PlanError> {
        let gun = self.part("gun", "`gun: {type: http, target: \"127.0.0.1:8080\"}`")?;
        let ammo = self.part("ammo", "`ammo: {type: uri, uris: [/]}`")?;
        self.pass_over_keys(gun, ammo)?;
        let target = self.target(gun)?;
        let mut headers = match given(ammo, "headers") {
            Some(node) => requests::headers(node)?,
            None => Headers::default(),
        };
        let connection = match headers.get("connection") {
            Some(value) if value.eq_ignore_ascii_case("close") => ConnectionHabit::PerRequest,
            _ => ConnectionHabit::KeepAlive,
        };
        headers.default_host(target.host);
        let habits = Habits { version: HttpVersion::Http11, connection };
        let traffic = self.traffic(ammo, headers, habits)?;
        let (limit, passes) = (count(ammo, "limit")?, count(ammo, "passes")?);
        let passes = passes.map_or(Passes::Endless, Passes::Times);
        let ends = limit.is_some() || passes != Passes::Endless;
        Ok(TankConfig {
            url: target.url,
            model: self.model(ends)?,
            habits,
            traffic: LoadTraffic { passes, limit, ..traffic },
            timeout: TIMEOUT,
            autostop: Vec::new(),
            unsupported: Vec::new(),
        })
    }

    /// What is sent: `uris`, a `file`, or what `source` says of either.
    fn traffic(
        &self,
        ammo: &'a Node,
        headers: Headers,
        habits: Habits,
    ) -> Result<LoadTraffic, PlanError> {
        let source = given(ammo, "source").filter(|_| self.overrides.traffic.is_none());
        let Some(source) = source else {
            let source = requests::source(ammo, &FILE_KEYS, self.overrides, headers, habits)?;
            return Ok(LoadTraffic::from(source));
        };
        let kind = match given(source, "type") {
            Some(kind) => value_of(kind, "type", &SOURCES)?,
            None => return Err(source.place.wrong(Mistake::Missing("type"), EXPECTED_SOURCE)),
        };
        let key = if kind == "inline" { "data" } else { "path" };
        let Some(node) = given(source, key) else {
            return Err(source.place.wrong(Mistake::Missing(key), EXPECTED_SOURCE));
        };
        match kind {
            "inline" => requests::inline(ammo, node, &FILE_KEYS, headers, habits),
            _ => requests::file(ammo, node, &FILE_KEYS, headers).map(LoadTraffic::from),
        }
    }

    fn part(&self, key: &'static str, expected: &str) -> Result<&'a Node, PlanError> {
        let part = given(self.node, key);
        part.ok_or_else(|| self.node.place.wrong(Mistake::Missing(key), expected))
    }

    fn pass_over_keys(&mut self, gun: &Node, ammo: &Node) -> Result<(), PlanError> {
        let parts =
            [(self.node, &POOL, "pools."), (gun, &GUN, "pools.gun."), (ammo, &AMMO, "pools.ammo.")];
        for (part, known, section) in parts {
            for (key, _) in entries(part, EXPECTED_POOL)? {
                if !known.has(key.text().unwrap_or_default()) {
                    pass_over(self.unsupported, section, key, PANDORA_ITSELF);
                }
            }
        }
        Ok(())
    }

    fn target(&self, gun: &Node) -> Result<Target, PlanError> {
        let Some(kind) = given(gun, "type") else {
            return Err(gun.place.wrong(Mistake::Missing("type"), "`type: http`"));
        };
        value_of(kind, "type", &GUNS)?;
        if let Some(url) = &self.overrides.url {
            return Ok(Target::of_url(url));
        }
        let Some(node) = given(gun, "target") else {
            return Err(gun.place.wrong(Mistake::Missing("target"), address::EXPECTED));
        };
        let is_tls = given(gun, "ssl").map(on).transpose()?.unwrap_or(false);
        Target::read(node, None, if is_tls { Scheme::Https } else { Scheme::Http })
    }

    fn model(&mut self, traffic_ends: bool) -> Result<Model, PlanError> {
        let instances = match given(self.node, "startup") {
            Some(node) => self.instances(node)?,
            None => INSTANCES,
        };
        let traffic_end = Model::Closed { concurrency: instances, until: UNTIL_OVER };
        let Some(node) = given(self.node, "rps") else {
            return match traffic_ends {
                true => Ok(traffic_end),
                false => Err(self.node.place.wrong(Mistake::Missing("rps"), EXPECTED_RATE)),
            };
        };
        let steps = Steps::read(node)?;
        if let [Step::AtOnce { count }] = steps.0.as_slice() {
            let until = Until::Requests(*count);
            return Ok(Model::Closed { concurrency: instances, until });
        }
        if let [Step::Unlimited { node }] = steps.0.as_slice() {
            let length = crate::value::length(node, "duration", crate::value::ANY_LENGTH)?;
            let until = if traffic_ends { UNTIL_OVER } else { Until::For(length) };
            return Ok(Model::Closed { concurrency: instances, until });
        }
        let schedule = steps.schedule(node)?;
        let (arrivals, when_full) = (Arrivals::Uniform, WhenFull::Queue);
        Ok(Model::Open { schedule, arrivals, max_in_flight: instances, when_full })
    }

    /// How many instances there are once all have started.
    fn instances(&mut self, node: &Node) -> Result<u32, PlanError> {
        let steps = Steps::read(node)?;
        let (mut at_once, mut rising) = (0u64, Vec::new());
        for step in steps.0 {
            match step {
                Step::AtOnce { count } => at_once = at_once.saturating_add(count),
                step => rising.push(step),
            }
        }
        if !rising.is_empty() {
            let (line, _) = node.place.line_column();
            let key = "pools.startup".to_owned();
            self.unsupported.push(Unsupported { key, line, why: "all instances start at once" });
            at_once = at_once.saturating_add(Steps(rising).schedule(node)?.planned());
        }
        let most = u64::from(INSTANCES_MAX);
        Ok(u32::try_from(at_once.clamp(1, most)).unwrap_or(INSTANCES_MAX))
    }
}

/// What `rps` and `startup` are made of: one step, or a list of steps.
struct Steps<'a>(Vec<Step<'a>>);

enum Step<'a> {
    /// A segment of a schedule.
    Segment(String),
    /// `once`: so many at one moment.
    AtOnce { count: u64 },
    /// `unlimited`: as fast as answers come, for as long as the node says.
    Unlimited { node: &'a Node },
}

impl<'a> Steps<'a> {
    fn read(node: &'a Node) -> Result<Steps<'a>, PlanError> {
        let nodes = match &node.value {
            Value::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        nodes.iter().map(Step::read).collect::<Result<_, _>>().map(Steps)
    }

    /// The schedule, if it has no other steps than segments.
    fn schedule(&self, node: &Node) -> Result<Segments, PlanError> {
        let segments: Option<Vec<&str>> = self.0.iter().map(Step::segment).collect();
        let Some(segments) = segments else {
            return Err(not_a(node, "a schedule", EXPECTED_RATE));
        };
        Segments::parse(&segments.join(" ")).map_err(|error| {
            let expected = error.expected();
            node.place.wrong(Mistake::Schedule(error), expected)
        })
    }
}

impl<'a> Step<'a> {
    fn read(node: &'a Node) -> Result<Step<'a>, PlanError> {
        entries(node, EXPECTED_RATE)?;
        let part = |key: &'static str| {
            let Some(part) = given(node, key) else {
                return Err(node.place.wrong(Mistake::Missing(key), EXPECTED_RATE));
            };
            address::is_filled(part)?;
            text(part, "a value", EXPECTED_RATE).map(str::trim)
        };
        let kind = part("type")?;
        let names: &[&'static str] = match kind {
            "const" => &["ops", "duration"],
            "line" => &["from", "to", "duration"],
            "step" => &["from", "to", "step", "duration"],
            _ => &[],
        };
        if !names.is_empty() {
            let values = names.iter().map(|name| part(name)).collect::<Result<Vec<_>, _>>()?;
            return Ok(Step::Segment(format!("{kind}({})", values.join(","))));
        }
        match (kind, given(node, "times"), given(node, "duration")) {
            ("once", Some(times), _) => {
                Ok(Step::AtOnce { count: whole(times, "times", 1..=u64::from(u32::MAX))? })
            }
            ("once", None, _) => part("times").map(|_| Step::AtOnce { count: 1 }),
            ("unlimited", _, Some(node)) => Ok(Step::Unlimited { node }),
            ("unlimited", _, None) => part("duration").map(|_| Step::Unlimited { node }),
            _ => {
                let kind = given(node, "type").unwrap_or(node);
                let known = ["const", "line", "step", "once", "unlimited"];
                value_of(kind, "type", &known).map(|_| Step::AtOnce { count: 1 })
            }
        }
    }

    fn segment(&self) -> Option<&str> {
        match self {
            Step::Segment(text) => Some(text),
            Step::AtOnce { .. } | Step::Unlimited { .. } => None,
        }
    }
}

/// A number that limits something. `None` if absent or 0, which is pandora's value for "no limit".
fn count(node: &Node, key: &'static str) -> Result<Option<u64>, PlanError> {
    match given(node, key).filter(|node| node.text() != Some("0")) {
        Some(node) => whole(node, key, 1..=u64::MAX).map(Some),
        None => Ok(None),
    }
}

/// The load is over when everything was sent.
const UNTIL_OVER: Until = Until::Requests(u64::MAX);
/// The guns that send requests of HTTP/1.1.
const GUNS: [&str; 2] = ["http", "https"];
const FILE_KEYS: FileKeys = FileKeys {
    file: "file",
    kind: "type",
    kinds: &["uri", "uripost", "raw", "http/json", "jsonline"],
    detected: "jsonline",
};
/// Where ammo comes from.
const SOURCES: [&str; 2] = ["file", "inline"];
const EXPECTED_SOURCE: &str =
    "`source: {type: file, path: FILE}` or `source: {type: inline, data: \"/\"}`";
const EXPECTED_POOL: &str = "a pool such as `{gun: {type: http, target: \"127.0.0.1:8080\"}, ammo: {type: uri, uris: [/]}, \
     rps: {type: const, ops: 100, duration: 60s}}`";
const EXPECTED_RATE: &str = "steps such as `{type: line, from: 1, to: 100, duration: 60s}`, of the types `const` (`ops`), \
     `line`, `step` (`step`), `once` (`times`) and `unlimited`";
const PANDORA_ITSELF: &str = "it sets up pandora, which is not used";
