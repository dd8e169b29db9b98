//! Reads Yandex Tank's `load.yaml` without changes to it: the load of its phantom section, and a
//! list of the keys that have no meaning here. Keys and defaults are those of Tank's own schema
//! (`yandextank/plugins/Phantom/config/schema.py`).

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use stampede_model::load::{
    Arrivals, ConnectionHabit, Habits, HttpVersion, Model, Until, WhenFull,
};
use stampede_model::time::Nanos;
use stampede_traffic::{
    Format, Header, LoadTraffic, Passes, Request, Source as TrafficSource, TrafficError,
    TrafficFile,
};

use super::client::http_version;
use super::error::{Help, Mistake, Place, PlanError, Source, Wrong};
use super::read::{file_text, home};
use super::secrets;
use super::tank_keys::{FILE, NO_MONITORING, NO_TAG, PHANTOM, UNUSED, why};
use super::tree::{self, Node, Value, shortened};
use super::value::{
    ANY_LENGTH, Fields, entries, length, not_a, schedule, text, texts, value_of, whole, whole_u32,
};
use crate::autostop::{Autostop, AutostopError, Problem, UnsupportedMask};

/// The content of a `load.yaml`, complete.
#[derive(Clone, Debug)]
pub struct TankConfig {
    /// `http://host:port`, or `https://host:port` with `ssl`.
    pub url: String,
    /// The model. A rate gives an open model with phantom's habit: when all instances are busy, the
    /// schedule is stretched. A constant number of instances gives a closed model.
    pub model: Model,
    /// The HTTP version that `header_http` names. Each request has a connection of its own where
    /// the headers or HTTP/1.0 demand that.
    pub habits: Habits,
    /// The requests: `uris`, as a GET each, or an `ammofile`, with relative paths from the
    /// directory of the `load.yaml`. `loop` and `ammo_limit` limit how often they are sent. `Host`
    /// is that of the address unless a header gives another. Mistakes in the file are found when it
    /// is sent.
    pub traffic: LoadTraffic,
    /// `timeout`. 11 s if not given.
    pub timeout: Nanos,
    /// Criteria of the section `autostop`.
    pub autostop: Vec<Criterion>,
    /// The keys that have no meaning here, in the file's order.
    pub unsupported: Vec<Unsupported>,
}

/// A criterion that ends the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// The criterion as Tank writes it: `time(1s,10s)`.
    pub text: String,
    place: Place,
}

impl Criterion {
    /// The error that this criterion does not fit the load, at its place. `None`: `unfit` is about
    /// another criterion.
    pub fn misfit(&self, unfit: &UnsupportedMask) -> Option<PlanError> {
        const TODO: &str = "add `--status 200` to `--tank`: the criterion must cover all correct \
                            statuses or none";
        let criteria = Autostop::parse(&self.text).ok()?.to_string();
        let is_this = criteria == unfit.criterion;
        is_this.then(|| self.place.wrong(Mistake::refused(unfit.clone()), Help::todo(TODO)))
    }
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

/// Reads the `load.yaml` at `path`.
///
/// # Errors
/// It cannot be read, or something in it is wrong; see [`PlanError`].
pub fn read(path: &Path) -> Result<TankConfig, PlanError> {
    let text = file_text(path).map_err(|error| match error {
        PlanError::Unreadable { path, source } => PlanError::UnreadableTank { path, source },
        other => other,
    })?;
    let base = path.parent().map(Path::to_path_buf).unwrap_or_default();
    parse(Source { name: path.display().to_string(), text, base })
}

/// Parses a text in place of a file, for tests and fuzzing.
///
/// # Errors
/// Something in it is wrong.
#[doc(hidden)]
pub fn parse(source: Source) -> Result<TankConfig, PlanError> {
    stampede_mask::text(&source.text);
    let root = tree::parse(&Arc::new(source)).map_err(|error| match error {
        PlanError::Wrong(wrong) => PlanError::Wrong(Box::new(Wrong {
            help: "one YAML document: a map of sections such as `phantom`".into(),
            ..*wrong
        })),
        other => other,
    })?;
    secrets::learn(&root);
    resolve(&root)
}

fn resolve(root: &Node) -> Result<TankConfig, PlanError> {
    let mut unsupported = Vec::new();
    for (key, value) in entries(root, "sections such as `phantom`")? {
        let name = key.text().unwrap_or_default();
        if !FILE.has(name) && !is_off(value) {
            pass_over(&mut unsupported, "", key, why(name));
        }
    }
    let phantom = root
        .get("phantom")
        .ok_or_else(|| root.place.wrong(Mistake::Missing("phantom"), "`phantom: {address: …}`"))?;
    if matches!(phantom.value, Value::Null) {
        return Err(phantom.place.wrong(Mistake::Missing("address"), ADDRESS));
    }
    if is_off(phantom) {
        let place = &phantom.get("enabled").unwrap_or(phantom).place;
        return Err(place.wrong(Mistake::PhantomOff, "`enabled: true`, or `phantom` without it"));
    }
    let fields = Phantom { node: phantom, unsupported: &mut unsupported };
    let mut config = fields.config()?;
    if let Some(node) = root.get("autostop").filter(|node| !is_off(node)) {
        config.autostop = autostop(node, &mut unsupported)?;
    }
    unsupported.sort_by_key(|key| key.line);
    Ok(TankConfig { unsupported, ..config })
}

/// The section `phantom`, which describes the load.
struct Phantom<'a> {
    node: &'a Node,
    unsupported: &'a mut Vec<Unsupported>,
}

impl Phantom<'_> {
    fn get(&self, key: &str) -> Option<&Node> {
        // In Tank, an empty text means "not given".
        let is_empty = |node: &&Node| matches!(&node.value, Value::Null) || node.text() == Some("");
        self.node.get(key).filter(|node| !is_empty(node))
    }

    fn config(mut self) -> Result<TankConfig, PlanError> {
        self.pass_over_keys()?;
        let fields = Fields::of(self.node, &PHANTOM)?;
        fields.not_both("uris", "ammofile")?;
        let (url, host) = self.url()?;
        let version = match self.get("header_http") {
            Some(node) => http_version(node)?,
            None => HttpVersion::Http10,
        };
        let mut headers = self.headers()?;
        let given = |name: &str| headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let connection = match (given("connection"), version) {
            (Some((_, value)), _) if value.eq_ignore_ascii_case("close") => {
                ConnectionHabit::PerRequest
            }
            (None, HttpVersion::Http10) => ConnectionHabit::PerRequest,
            _ => ConnectionHabit::KeepAlive,
        };
        if given("host").is_none() {
            headers.insert(0, ("Host".to_owned(), host));
        }
        let (limit, passes) = (self.count("ammo_limit")?, self.count("loop")?);
        let passes = passes.map_or(Passes::Endless, Passes::Times);
        let ends = limit.is_some() || passes != Passes::Endless;
        let habits = Habits { version, connection };
        Ok(TankConfig {
            url,
            model: self.model(ends)?,
            habits,
            traffic: LoadTraffic {
                passes,
                limit,
                ..LoadTraffic::from(self.source(headers, habits)?)
            },
            timeout: match self.get("timeout") {
                Some(node) => length(node, "timeout", ANY_LENGTH)?,
                None => TIMEOUT,
            },
            autostop: Vec::new(),
            unsupported: Vec::new(),
        })
    }

    /// Lists the keys that have no meaning here. Keys whose value is Tank's default are left out.
    fn pass_over_keys(&mut self) -> Result<(), PlanError> {
        for (key, value) in entries(self.node, "phantom's keys")? {
            let name = key.text().unwrap_or_default();
            let text = value.text().unwrap_or_default();
            let is_default = match name {
                "writelog" => matches!(text, "0" | "none" | ""),
                "tank_type" => matches!(text, "http" | "1"),
                _ if text.is_empty() => matches!(value.value, Value::Null | Value::Text(..)),
                _ => false,
            };
            if let Some(unused) = UNUSED.find(name).filter(|_| !is_default) {
                pass_over(self.unsupported, "phantom.", key, unused.about);
            }
        }
        Ok(())
    }

    fn url(&self) -> Result<(String, String), PlanError> {
        let Some(node) = self.get("address") else {
            let missing = Mistake::Missing("address");
            return Err(self.node.place.wrong(missing, ADDRESS));
        };
        let address = text(node, "an address", ADDRESS)?.trim();
        let is_tls = match self.get("ssl") {
            Some(node) => on(node)?,
            None => false,
        };
        let scheme = if is_tls { "https" } else { "http" };
        let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
        let (host, port) = match address.rsplit_once(':') {
            // The colons of an IPv6 address without a port are all inside its brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (address, None),
        };
        let bad = host.is_empty() || host.contains(['/', '@', ' ', '?', '#']);
        if bad || port.is_some_and(|port| !is_port(port)) {
            return Err(not_a(node, "an address", ADDRESS));
        }
        let port = match self.get("port") {
            Some(node) => match text(node, "a port", "a port from 1 to 65 535")? {
                port if is_port(port) => Some(port),
                _ => return Err(not_a(node, "a port", "a port from 1 to 65 535")),
            },
            None => port,
        };
        let host = match port {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok((format!("{scheme}://{host}"), host))
    }

    /// Headers in the forms `[Name: value]` or `Name: value`, given as a list or as lines of a
    /// text.
    fn headers(&self) -> Result<Vec<Header>, PlanError> {
        const EXPECTED: &str = "headers such as `[Host: example.org]`, one a line";
        let Some(node) = self.get("headers") else { return Ok(Vec::new()) };
        let mut headers = Vec::new();
        for (line, node) in lines(node, EXPECTED)? {
            let inner = line.trim_start_matches('[').trim_end_matches(']');
            let Some((name, value)) = inner.split_once(':') else {
                return Err(not_a(node, "a header", EXPECTED));
            };
            let header = (name.trim().to_owned(), value.trim().to_owned());
            let habits =
                Habits { version: HttpVersion::Http10, connection: ConnectionHabit::PerRequest };
            get("/", std::slice::from_ref(&header), habits)
                .map_err(|error| refused(node, error, EXPECTED))?;
            headers.push(header);
        }
        Ok(headers)
    }

    fn source(&self, headers: Vec<Header>, habits: Habits) -> Result<TrafficSource, PlanError> {
        const EXPECTED: &str = "`uris`, or `ammofile`";
        const PATH: &str = "a path that begins with /, spaces percent-encoded: `/a%20b`";
        if let Some(node) = self.get("uris") {
            let request = |(uri, node): (&str, &Node)| {
                get(uri, &headers, habits).map_err(|error| refused(node, error, PATH))
            };
            let uris = lines(node, "paths such as `/`")?;
            let requests: Vec<Request> = uris.into_iter().map(request).collect::<Result<_, _>>()?;
            if requests.is_empty() {
                return Err(not_a(node, "a list of paths", "paths such as `/`"));
            }
            return Ok(TrafficSource::List(requests.into()));
        }
        let Some(node) = self.get("ammofile") else {
            return Err(self.node.place.wrong(Mistake::Missing("uris"), EXPECTED));
        };
        let path = text(node, "a path", "the path of a file")?;
        if path.starts_with("http://") || path.starts_with("https://") {
            return Err(not_a(node, "a path", "a file on this machine: download it first"));
        }
        let format = match self.get("ammo_type") {
            Some(node) => match value_of(node, "ammo_type", &AMMO_TYPES)? {
                "phantom" => None,
                name => Format::named(name),
            },
            None => None,
        };
        let path = match (path.strip_prefix("~/"), home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => node.place.source.base.join(path),
        };
        let file = TrafficFile { format, headers, ..TrafficFile::new(&path) };
        Ok(TrafficSource::File(Box::new(file)))
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
        let of_profile = profile.and_then(|profile| profile.get("schedule"));
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

fn autostop(node: &Node, unsupported: &mut Vec<Unsupported>) -> Result<Vec<Criterion>, PlanError> {
    const EXPECTED: &str = "criteria such as `time(1s,10s)`";
    let mut criteria = Vec::new();
    for (key, value) in entries(node, "`autostop: {autostop: […]}`")? {
        match key.text().unwrap_or_default() {
            "autostop" => {
                for text in texts(value, EXPECTED)? {
                    criteria.extend(criteria_in(text, unsupported)?);
                }
            }
            "enabled" | "package" => {}
            _ => pass_over(unsupported, "autostop.", key, "the summary says why a load ended"),
        }
    }
    Ok(criteria)
}

/// The criteria in a text that can be judged here. Tank's others go into `unsupported`.
fn criteria_in(
    node: &Node,
    unsupported: &mut Vec<Unsupported>,
) -> Result<Vec<Criterion>, PlanError> {
    let mut criteria = Vec::new();
    let mut at = 0;
    for text in node.text().unwrap_or_default().split_inclusive(')') {
        let lead = text.len() - text.trim_start_matches(BETWEEN).len();
        let written = text.trim_matches(BETWEEN);
        match Autostop::parse(text) {
            Ok(_) => {
                let place = node.inside(at + lead, written.len());
                criteria.push(Criterion { text: written.to_owned(), place });
            }
            Err(AutostopError { problem: Problem::Empty, .. }) => {}
            Err(error) => {
                let place = node.inside(at + error.offset, error.length);
                let why = match error.problem {
                    Problem::Monitoring { .. } => NO_MONITORING,
                    Problem::Tag => NO_TAG,
                    _ => {
                        let (expected, near) = (error.expected(), error.nearest());
                        let mistake = Mistake::refused(error);
                        return Err(place.wrong_name(mistake, expected, near.map(str::to_owned)));
                    }
                };
                unsupported.push(Unsupported {
                    key: shortened(written),
                    line: place.line_column().0,
                    why,
                });
            }
        }
        at += text.len();
    }
    Ok(criteria)
}

/// The lines of a list of texts, or of one text.
fn lines<'a>(node: &'a Node, expected: &str) -> Result<Vec<(&'a str, &'a Node)>, PlanError> {
    let mut all = Vec::new();
    for node in texts(node, expected)? {
        let lines = node.text().unwrap_or_default().lines().map(str::trim);
        all.extend(lines.filter(|line| !line.is_empty()).map(|line| (line, node)));
    }
    Ok(all)
}

fn get(path: &str, headers: &[Header], habits: Habits) -> Result<Request, TrafficError> {
    Ok(Request::build("GET", path, headers, b"", habits, None)?)
}

/// The error of a text that makes no valid request, at its place.
fn refused(node: &Node, error: TrafficError, expected: &str) -> PlanError {
    node.place.wrong(Mistake::refused(error), expected)
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

const ADDRESS: &str = "`host:port`, such as `127.0.0.1:8080` or `[::1]:80`";
/// Characters that separate criteria.
const BETWEEN: [char; 5] = [' ', ',', '\n', '\r', '\t'];
const STEPPED: &str =
    "the schedule that it was made of, as `load_type: rps`, with its `ammofile` or `uris`";
const AMMO_TYPES: [&str; 4] = ["phantom", "uri", "uripost", "access"];
const TIMEOUT: Nanos = Nanos::from_secs(11);
const INSTANCES: u32 = 1_000;
/// The same limit as that of a plan's `max_in_flight`.
const INSTANCES_MAX: u32 = 1_000_000;
