//! Reads the loads of a plan: a schedule, a rate or a concurrency, and the requests to send.

use stampede_model::load::{Arrivals, Model, Until};
use stampede_model::record::Closed;
use stampede_model::schedule::{MicroRate, RateError, Segments, parse_rate};
use stampede_model::time::Nanos;

use super::client::ClientHabits;
use super::error::{Help, Mistake, PlanError, one_of};
use super::expect::expectations;
use super::keys::LOAD;
use super::model::LoadChoice;
use super::parts::SearchLoad;
use super::requests::{has_request_keys, requests_of, single_request};
use super::runtimes::{NamedRuntime, selection};
use super::traffic_file::{self, Requests};
use super::tree::{Node, Value, shortened};
use super::value::{
    ANY_LENGTH, Fields, items, length, not_a, out_of_range, schedule, texts, value_of, whole,
    whole_u32,
};

/// Values of `arrivals`: how the gaps between requests are distributed.
pub(super) const ARRIVALS: [&str; 2] = ["uniform", "poisson"];

/// Most loads in one plan.
pub(super) const LOADS_MAX: usize = 100;

/// Highest concurrency of a closed load. Each request in flight has a connection, and a machine has
/// no more ports than that on a handful of addresses.
pub(super) const CONCURRENCY_MAX: u32 = 1_000_000;

/// Highest number of requests of a closed load that ends by count.
pub(super) const REQUESTS_MAX: u64 = 1_000_000_000;

/// Bounds of a request's timeout.
pub(super) const TIMEOUT: std::ops::RangeInclusive<Nanos> =
    Nanos::from_millis(1)..=Nanos::from_secs(3_600);

const EXPECTED: &str = "a schedule such as `const(200,60s)`, or a load such as \
                        `{concurrency: 50, for: 60s}` or `{rate: 200, for: 60s}`";

/// The plan's values for all loads. A load's own values take precedence.
pub(super) struct LoadDefaults {
    pub habits: ClientHabits,
    pub timeout: Nanos,
    pub arrivals: Arrivals,
    pub seed: u64,
    /// The factor that schedules and lengths are multiplied by.
    pub time_scale: f64,
}

/// Reads loads: a list, or names with loads.
pub(super) fn loads(
    node: &Node,
    common: &LoadDefaults,
    runtimes: &[NamedRuntime],
) -> Result<Vec<LoadChoice>, PlanError> {
    let mut all: Vec<LoadChoice> = Vec::new();
    match &node.value {
        Value::Map(named) => {
            for (key, load) in named {
                let name = load_name(key)?;
                all.push(one_load(load, Some(name), common, runtimes)?);
            }
        }
        Value::List(list) => {
            for item in list {
                let mut load = one_load(item, None, common, runtimes)?;
                load.name = unique(load.name, &all);
                all.push(load);
            }
        }
        Value::Text(..) | Value::Null => {}
    }
    match all.len() {
        0 => Err(not_a(node, "a load", EXPECTED)),
        1..=LOADS_MAX => Ok(all),
        found => Err(node
            .place
            .wrong(Mistake::TooMany { kind: "loads", found }, format!("at most {LOADS_MAX}"))),
    }
}

/// Makes a list of a single load or schedule, so that everything after this reads a list of loads,
/// or names with loads.
pub(super) fn as_list(plan: &mut Node) {
    let Value::Map(entries) = &mut plan.value else { return };
    let load = entries.iter_mut().find(|(key, _)| key.text() == Some("load"));
    let Some((_, load)) = load else { return };
    if matches!(load.value, Value::Text(..)) || is_one_load(load) {
        load.value = Value::List(vec![load.clone()]);
    }
}

/// Whether this map is `{concurrency: 50, for: 60s}`, a load without a name, and not names with
/// loads. `for` finds a load whose other key is misspelt.
fn is_one_load(node: &Node) -> bool {
    // `users` is an earlier name of `concurrency`.
    const KEYS: [&str; 5] = ["concurrency", "users", "rate", "schedule", "for"];
    let Value::Map(entries) = &node.value else { return false };
    entries.iter().any(|(key, value)| {
        value.text().is_some() && key.text().is_some_and(|key| KEYS.contains(&key))
    })
}

/// A name that is fit for tables and directories.
fn load_name(key: &Node) -> Result<String, PlanError> {
    let name = key.text().unwrap_or("");
    let fits = !name.trim().is_empty()
        && name.chars().count() <= 64
        && !name.starts_with('.')
        && !name.contains(|c: char| c == '/' || c.is_control());
    match fits {
        true => Ok(name.to_owned()),
        false => Err(not_a(key, "a load's name", "at most 64 characters without `/`")),
    }
}

/// `name`, with a number appended if another load has that name.
fn unique(name: String, others: &[LoadChoice]) -> String {
    let taken = |name: &str| others.iter().any(|other| other.name == name);
    if !taken(&name) {
        return name;
    }
    let numbered = (2..=others.len() + 2).map(|i| format!("{name} #{i}"));
    numbered.into_iter().find(|name| !taken(name)).unwrap_or(name)
}

/// Reads one load. A load without a name is named after its model.
fn one_load(
    node: &Node,
    name: Option<String>,
    common: &LoadDefaults,
    runtimes: &[NamedRuntime],
) -> Result<LoadChoice, PlanError> {
    let empty = Node { place: node.place.clone(), value: Value::Map(Vec::new()) };
    if let Some(cut) = node.get("schedule").filter(|node| is_cut(node)) {
        schedule(cut)?;
    }
    let (fields, own) = match &node.value {
        Value::Map(_) => (Fields::of(node, &LOAD)?, None),
        Value::Text(..) => (Fields::of(&empty, &LOAD)?, Some(schedule(node)?)),
        _ => return Err(not_a(node, "a load", EXPECTED)),
    };
    let habits = habits(&fields, common)?;
    let timeout = timeout(&fields, common)?;
    let expect = match fields.get("expect") {
        Some(node) => expectations(node)?,
        None => Vec::new(),
    };
    let rate_share = fields.get("rate").map_or(Ok(None), rate_share)?;
    let (model, words) = match (own, rate_share) {
        (Some(segments), _) => open(segments, &fields, &habits, common)?,
        (None, Some(share)) => of_peak(share, &fields, &habits, common)?,
        (None, None) => model(node, &fields, &habits, common)?,
    };
    let name = name.unwrap_or(words);
    let (only, except) = chosen(node, &fields, runtimes, &name)?;
    let Requests { requests, file } = requests(&fields)?;
    let changing = changing(&fields)?;
    Ok(LoadChoice {
        name,
        model,
        rate_share,
        client: habits.client,
        timeout,
        requests,
        file,
        changing,
        only,
        except,
        expect,
    })
}

/// Reads what the load of a search sends and how. `node` has no key that says how much.
pub(super) fn search_load(
    node: &Node,
    common: &LoadDefaults,
    runtimes: &[NamedRuntime],
) -> Result<SearchLoad, PlanError> {
    let fields = Fields::of(node, &LOAD)?;
    let habits = habits(&fields, common)?;
    let timeout = timeout(&fields, common)?;
    // A search has one load for all runtimes, and the plan's expectations. Those of the load are
    // only checked for mistakes.
    if let Some(node) = fields.get("expect") {
        expectations(node)?;
    }
    chosen(node, &fields, runtimes, SEARCH)?;
    let Requests { requests, file } = requests(&fields)?;
    Ok(SearchLoad {
        name: SEARCH.to_owned(),
        arrivals: arrivals_of(&fields, common)?,
        requests,
        file,
        changing: changing(&fields)?,
        client: habits.client,
        timeout,
        max_in_flight: habits.max_in_flight,
        when_full: habits.when_full,
    })
}

/// Name of the load of a search.
const SEARCH: &str = "search";

fn habits(fields: &Fields<'_>, common: &LoadDefaults) -> Result<ClientHabits, PlanError> {
    let habits = match fields.get("client") {
        Some(client) => common.habits.with(client)?,
        None => common.habits.clone(),
    };
    habits.changed_by(fields)
}

fn timeout(fields: &Fields<'_>, common: &LoadDefaults) -> Result<Nanos, PlanError> {
    match fields.get("timeout") {
        Some(node) => length(node, "timeout", TIMEOUT),
        None => Ok(common.timeout),
    }
}

fn arrivals_of(fields: &Fields<'_>, common: &LoadDefaults) -> Result<Arrivals, PlanError> {
    match fields.get("arrivals") {
        Some(node) => arrivals(node, common.seed),
        None => Ok(common.arrivals),
    }
}

/// Whether a schedule inside `{…}` was cut because it is unquoted. YAML has made keys of its
/// remaining values, and a message about those keys would mislead.
fn is_cut(schedule: &Node) -> bool {
    schedule.text().is_some_and(|text| text.contains('(') && !text.contains(')'))
}

/// The model of a load that is a map, and a name made of the model.
fn model(
    node: &Node,
    fields: &Fields<'_>,
    habits: &ClientHabits,
    common: &LoadDefaults,
) -> Result<(Model, String), PlanError> {
    for (one, other) in [
        ("schedule", "rate"),
        ("schedule", "concurrency"),
        ("rate", "concurrency"),
        ("schedule", "for"),
    ] {
        fields.not_both(one, other)?;
    }
    if let Some(concurrency) = fields.get("concurrency") {
        return closed(node, concurrency, fields, common);
    }
    count_needs_concurrency(fields)?;
    if let Some(node) = fields.get("schedule") {
        return open(schedule(node)?, fields, habits, common);
    }
    let Some(rate_node) = fields.get("rate") else {
        let near = match fields.get("for") {
            Some(_) => Help::todo("add `rate` or `concurrency` to `for`"),
            None => EXPECTED.into(),
        };
        return Err(node.place.wrong(Mistake::Missing("schedule"), near));
    };
    let rate = rate(rate_node)?;
    let segments = Segments::constant(rate, rate_length(fields)?);
    if segments.planned() == 0 {
        let expected = "a rate and a length that make one request or more";
        return Err(rate_node.place.wrong(Mistake::NoRequest, expected));
    }
    open(segments, fields, habits, common)
}

/// The model of a load whose rate is a share of the peak. Its rate is a placeholder until the peak
/// is measured.
fn of_peak(
    share: f64,
    fields: &Fields<'_>,
    habits: &ClientHabits,
    common: &LoadDefaults,
) -> Result<(Model, String), PlanError> {
    for other in ["schedule", "concurrency"] {
        fields.not_both("rate", other)?;
    }
    count_needs_concurrency(fields)?;
    let segments = Segments::constant(MicroRate::ONE, rate_length(fields)?);
    let (model, _) = open(segments, fields, habits, common)?;
    Ok((model, format!("{:.0}% of peak", share * 100.0)))
}

/// The length of a load with a rate.
fn rate_length(fields: &Fields<'_>) -> Result<Nanos, PlanError> {
    let Some(node) = fields.get("for") else {
        let place = fields.key_place("rate");
        return Err(place.wrong(Mistake::Missing("for"), "how long: `for: 60s`, or `--for 60s`"));
    };
    length(node, "`for`", ANY_LENGTH)
}

/// `50%` as 0.5. `None`: the rate is a number of requests per second.
fn rate_share(node: &Node) -> Result<Option<f64>, PlanError> {
    let Some(percent) = node.text().and_then(|text| text.trim().strip_suffix('%')) else {
        return Ok(None);
    };
    const EXPECTED: &str = "1% to 200% of the baseline's peak, such as `50%`";
    match percent.trim().parse::<f64>() {
        Ok(percent) if (1.0..=200.0).contains(&percent) => Ok(Some(percent / 100.0)),
        Ok(_) => Err(out_of_range(node, "rate", EXPECTED)),
        Err(_) => Err(not_a(node, "a rate", EXPECTED)),
    }
}

/// An open load and its name.
fn open(
    segments: Segments,
    fields: &Fields<'_>,
    habits: &ClientHabits,
    common: &LoadDefaults,
) -> Result<(Model, String), PlanError> {
    let arrivals = arrivals_of(fields, common)?;
    let schedule = match common.time_scale {
        1.0 => segments,
        factor => segments.scaled(factor),
    };
    let words = schedule.to_string();
    let (max_in_flight, when_full) = (habits.max_in_flight, habits.when_full);
    Ok((Model::Open { schedule, arrivals, max_in_flight, when_full }, words))
}

/// A closed load and its name.
fn closed(
    node: &Node,
    concurrency_node: &Node,
    fields: &Fields<'_>,
    common: &LoadDefaults,
) -> Result<(Model, String), PlanError> {
    for key in ["arrivals", "max_in_flight", "when_full"] {
        fields.not_both("concurrency", key)?;
    }
    let concurrency =
        whole_u32(concurrency_node, "number of requests at a time", 1..=CONCURRENCY_MAX)?;
    let count = fields.get("requests").filter(|node| is_count(node));
    let until = match (fields.get("for"), count) {
        (Some(_), Some(_)) => {
            let mistake = Mistake::Together("requests", "for");
            return Err(fields.key_place("requests").wrong(mistake, "how long, or how many"));
        }
        (Some(node), None) => {
            let length = scaled(length(node, "`for`", ANY_LENGTH)?, common.time_scale);
            Until::For(length)
        }
        (None, Some(node)) => {
            let count = whole(node, "number of requests", 1..=REQUESTS_MAX)?;
            let count = scaled(Nanos(count), common.time_scale).0;
            Until::Requests(count)
        }
        (None, None) => {
            let expected = "how long or how many: `for: 60s` or `requests: 10000`, as flags `--for 60s` or `--requests 10000`";
            let place = match node.value {
                Value::Map(_) => fields.key_place("concurrency"),
                _ => node.place.clone(),
            };
            return Err(place.wrong(Mistake::Missing("for"), expected));
        }
    };
    let model = Model::Closed { concurrency, until };
    let words = Closed::of(&model).map_or_else(String::new, |closed| closed.name());
    Ok((model, words))
}

/// Refuses a number of requests without a concurrency: a load with a rate ends by `for`.
fn count_needs_concurrency(fields: &Fields<'_>) -> Result<(), PlanError> {
    if !fields.get("requests").is_some_and(is_count) {
        return Ok(());
    }
    let other = if fields.get("rate").is_some() { "rate" } else { "schedule" };
    let todo = "use `for` with `rate`, or `requests` with `concurrency`; what to send is a list";
    let mistake = Mistake::Together("requests", other);
    Err(fields.key_place("requests").wrong(mistake, Help::todo(todo)))
}

/// Whether `requests` is a count. Otherwise it is a list of the requests to send.
fn is_count(node: &Node) -> bool {
    !matches!(node.value, Value::List(_))
}

/// Reads a rate.
fn rate(node: &Node) -> Result<MicroRate, PlanError> {
    const EXPECTED: &str = "requests per second with at most six decimals, such as `200` or `0.5`";
    match node.text().map(parse_rate) {
        Some(Ok(rate)) => Ok(rate),
        Some(Err(RateError::TooHigh)) => {
            Err(out_of_range(node, "rate", "0 to 10 000 000 requests per second"))
        }
        _ => Err(not_a(node, "a rate", EXPECTED)),
    }
}

/// Reads how arrivals are distributed.
pub(super) fn arrivals(node: &Node, seed: u64) -> Result<Arrivals, PlanError> {
    Ok(match value_of(node, "arrivals", &ARRIVALS)? {
        "poisson" => Arrivals::Poisson { seed },
        _ => Arrivals::Uniform,
    })
}

/// `length` multiplied by `factor`, at least 1 ns. 0 stays 0.
pub(super) fn scaled(length: Nanos, factor: f64) -> Nanos {
    match length.0 {
        0 => length,
        ns => Nanos(((ns as f64 * factor).round() as u64).max(1)),
    }
}

/// The requests to send in turn. Empty if the plan gives none: then each app's own requests are
/// sent.
fn requests(fields: &Fields<'_>) -> Result<Requests, PlanError> {
    let base = single_request(fields)?;
    let list = fields.get("requests").filter(|node| !is_count(node));
    if list.is_some() {
        fields.not_both("requests", "traffic")?;
    }
    let Some((key, list)) =
        list.map(|n| ("requests", n)).or_else(|| fields.get("traffic").map(|n| ("traffic", n)))
    else {
        return Ok(if has_request_keys(fields) { vec![base].into() } else { Requests::default() });
    };
    fields.not_both(key, "path")?;
    if key == "traffic" && !matches!(list.value, Value::List(_)) {
        return traffic_file::read(list, base);
    }
    let list_items = items(list, "a list of paths or requests, such as `[/, /about]`")?;
    Ok(requests_of(list_items, list, &base)?.into())
}

/// Paths whose answers may have any length.
fn changing(fields: &Fields<'_>) -> Result<Vec<String>, PlanError> {
    let Some(node) = fields.get("changing") else { return Ok(Vec::new()) };
    let paths = texts(node, CHANGING)?;
    let is_path = |path: &&Node| path.text().is_some_and(|path| path.starts_with('/'));
    match paths.iter().find(|path| !is_path(path)) {
        Some(other) => Err(not_a(other, "a path", CHANGING)),
        None => Ok(paths.iter().filter_map(|path| path.text().map(str::to_owned)).collect()),
    }
}

const CHANGING: &str = "paths whose pages differ much in length, such as `[/feed, /search*]`";

/// Names of the runtimes that a load is for (`only`) and not for (`except`).
fn chosen(
    node: &Node,
    fields: &Fields<'_>,
    runtimes: &[NamedRuntime],
    name: &str,
) -> Result<(Vec<String>, Vec<String>), PlanError> {
    let names = |key: &str| match fields.get(key) {
        Some(node) => selection(node, runtimes),
        None => Ok(Vec::new()),
    };
    let (only, except) = (names("only")?, names("except")?);
    let is_for = |runtime: &NamedRuntime| {
        let name = &runtime.choice.name;
        (only.is_empty() || only.contains(name)) && !except.contains(name)
    };
    // A load without a plan around it has no runtimes to choose from.
    if !runtimes.is_empty() && !runtimes.iter().any(is_for) {
        let mistake = Mistake::ForNoRuntime(shortened(name));
        let place = match fields.get("except") {
            Some(_) => fields.key_place("except"),
            None => node.place.clone(),
        };
        let names = runtimes.iter().map(|runtime| runtime.choice.name.as_str());
        return Err(
            place.wrong(mistake, Help::Do(format!("keep at least one of {}", one_of(names))))
        );
    }
    Ok((only, except))
}
