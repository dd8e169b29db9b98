//! Reads the section `phantom`: the load of Tank's own generator.

use stampede_model::load::{
    Arrivals, ConnectionHabit, Habits, HttpVersion, Model, Until, WhenFull,
};
use stampede_traffic::{LoadTraffic, Passes};

use super::address::{self, Scheme, Target};
use super::requests::{self, FileKeys, Headers};
use super::{
    Given, INSTANCES, INSTANCES_MAX, TIMEOUT, TankConfig, Unsupported, given, on, pass_over,
    schedule,
};
use crate::client::http_version;
use crate::error::{Mistake, PlanError};
use crate::tank_keys::{PHANTOM, UNUSED};
use crate::tree::{Node, Value};
use crate::value::{ANY_LENGTH, Fields, entries, length, not_a, text, value_of, whole, whole_u32};

/// The load of the section.
pub(super) fn config(
    node: &Node,
    given: &Given,
    unsupported: &mut Vec<Unsupported>,
) -> Result<TankConfig, PlanError> {
    pass_over_keys(node, unsupported)?;
    Fields::of(node, &PHANTOM)?;
    Phantom { node, given }.config()
}

/// Lists the keys that have no meaning here. Keys whose value is Tank's default are left out.
fn pass_over_keys(node: &Node, unsupported: &mut Vec<Unsupported>) -> Result<(), PlanError> {
    for (key, value) in entries(node, "phantom's keys")? {
        let name = key.text().unwrap_or_default();
        let text = value.text().unwrap_or_default();
        let is_default = match name {
            "writelog" => matches!(text, "0" | "none" | ""),
            "tank_type" => matches!(text, "http" | "1"),
            _ if text.is_empty() => matches!(value.value, Value::Null | Value::Text(..)),
            _ => false,
        };
        if let Some(unused) = UNUSED.find(name).filter(|_| !is_default) {
            pass_over(unsupported, "phantom.", key, unused.about);
        }
    }
    Ok(())
}

struct Phantom<'a> {
    node: &'a Node,
    given: &'a Given,
}

impl<'a> Phantom<'a> {
    fn get(&self, key: &str) -> Option<&'a Node> {
        given(self.node, key)
    }

    fn config(self) -> Result<TankConfig, PlanError> {
        let target = self.target()?;
        let version = match self.get("header_http") {
            Some(node) => http_version(node)?,
            None => HttpVersion::Http10,
        };
        let mut headers = match self.get("headers") {
            Some(node) => requests::headers(node)?,
            None => Headers::default(),
        };
        let connection = match (headers.get("connection"), version) {
            (Some(value), _) if value.eq_ignore_ascii_case("close") => ConnectionHabit::PerRequest,
            (None, HttpVersion::Http10) => ConnectionHabit::PerRequest,
            _ => ConnectionHabit::KeepAlive,
        };
        headers.default_host(target.host);
        let (limit, passes) = (self.count("ammo_limit")?, self.count("loop")?);
        let passes = passes.map_or(Passes::Endless, Passes::Times);
        let ends = limit.is_some() || passes != Passes::Endless;
        let habits = Habits { version, connection };
        let source = requests::source(self.node, &FILE_KEYS, self.given, headers, habits)?;
        Ok(TankConfig {
            url: target.url,
            model: self.model(ends)?,
            habits,
            traffic: LoadTraffic { passes, limit, ..LoadTraffic::from(source) },
            timeout: match self.get("timeout") {
                Some(node) => length(node, "timeout", ANY_LENGTH)?,
                None => TIMEOUT,
            },
            autostop: Vec::new(),
            unsupported: Vec::new(),
        })
    }

    fn target(&self) -> Result<Target, PlanError> {
        if let Some(url) = &self.given.url {
            return Ok(Target::of_url(url));
        }
        let Some(node) = self.get("address") else {
            return Err(self.node.place.wrong(Mistake::Missing("address"), address::EXPECTED));
        };
        let is_tls = self.get("ssl").map(on).transpose()?.unwrap_or(false);
        let scheme = if is_tls { Scheme::Https } else { Scheme::Http };
        Target::read(node, self.get("port"), scheme)
    }

    /// A number that limits something. `None` if absent or -1, which is Tank's value for "no
    /// limit".
    fn count(&self, key: &'static str) -> Result<Option<u64>, PlanError> {
        match self.get(key).filter(|node| node.text() != Some("-1")) {
            Some(node) => whole(node, key, 1..=u64::MAX).map(Some),
            None => Ok(None),
        }
    }

    fn model(&self, traffic_ends: bool) -> Result<Model, PlanError> {
        let instances = match self.get("instances") {
            Some(node) => whole_u32(node, "instances", 1..=INSTANCES_MAX)?,
            None => INSTANCES,
        };
        let profile = self.get("load_profile");
        let kind = match profile.and_then(|profile| profile.get("load_type")) {
            Some(node) if node.text() == Some("stpd_file") => {
                return Err(node.place.wrong(Mistake::SteppedFile, STEPPED));
            }
            Some(node) => value_of(node, "load_type", &["rps", "instances"])?,
            None => "rps",
        };
        if let Some(node) = self.get("stpd_file") {
            return Err(node.place.wrong(Mistake::SteppedFile, STEPPED));
        }
        let of_profile = profile.and_then(|profile| given(profile, "schedule"));
        let rate = of_profile.filter(|_| kind == "rps").or_else(|| self.get("rps_schedule"));
        let concurrency =
            of_profile.filter(|_| kind == "instances").or_else(|| self.get("instances_schedule"));
        if let Some(node) = rate {
            return Ok(Model::Open {
                schedule: schedule(node)?,
                arrivals: Arrivals::Uniform,
                max_in_flight: instances,
                when_full: WhenFull::Stretch,
            });
        }
        if let Some(node) = concurrency {
            return constant_concurrency(node, traffic_ends);
        }
        let expected = "`load_profile: {load_type: rps, schedule: \"line(1, 10, 10m)\"}`";
        Err(self.node.place.wrong(Mistake::Missing("load_profile"), expected))
    }
}

/// Reads `const(concurrency, length)`. Other schedules of instances have no counterpart here.
fn constant_concurrency(node: &Node, traffic_ends: bool) -> Result<Model, PlanError> {
    const EXPECTED: &str = "`const(10, 60s)`, for the number of users is constant here; several of \
                            them are several loads, and a load that rises is one of `load_type: rps`";
    let node = match &node.value {
        Value::List(items) if items.len() == 1 => &items[0],
        _ => node,
    };
    address::is_filled(node)?;
    let text = text(node, "a schedule of instances", EXPECTED)?.trim();
    let inner = text.strip_prefix("const").map(str::trim_start);
    let inner = inner.and_then(|rest| rest.strip_prefix('(')?.strip_suffix(')'));
    let parts = inner.and_then(|inner| inner.split_once(','));
    let parts = parts.and_then(|(concurrency, length)| {
        let concurrency =
            concurrency.trim().parse::<u32>().ok().filter(|concurrency| *concurrency > 0)?;
        let length = stampede_model::quantity::parse_length(length.trim()).ok()?;
        Some((concurrency, length))
    });
    let Some((concurrency, length)) = parts else {
        return Err(not_a(node, "a constant number of instances", EXPECTED));
    };
    // Tank's instances send until the traffic ends, whatever their schedule says.
    let until = if traffic_ends { Until::Requests(u64::MAX) } else { Until::For(length) };
    Ok(Model::Closed { concurrency, until })
}

const FILE_KEYS: FileKeys = FileKeys {
    file: "ammofile",
    kind: "ammo_type",
    kinds: &["phantom", "uri", "uripost", "access"],
    // Tank reads a file of this type as `uri` where it does not begin with a number.
    detected: "phantom",
};
const STEPPED: &str =
    "the schedule that it was made of, as `load_type: rps`, with its `ammofile` or `uris`";
