//! The result of `fire`, as `--json` prints it: one flat object, described in
//! `docs/fire.schema.json`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stampede_load::report::LoadResult;
use stampede_load::spec::{Load, Wire};
use stampede_mask::mask_secrets;
use stampede_model::agents::AgentRecord;
use stampede_model::counts::{AddressConnections, Counts, End, TimeSet};
use stampede_model::fact::{Fact, Found, Reason};
use stampede_model::failure::FailureKind;
use stampede_model::lag::LagMark;
use stampede_model::load::{Arrivals, Model};
use stampede_model::record::{LoadRecord, Validity, Verdict};
use stampede_plan::model::LoadChoice;
use stampede_results::summary::judge::judge_load;
use stampede_results::summary::kept_up::KeptUp;
use stampede_results::summary::model::{ExpectedOutcome, Figure, LoadModel};
use stampede_results::summary::of_load;
use stampede_stats::histogram::Times;
use stampede_stats::percentile::{BoundedValue, CutOff, Percentile, Ranked};
use stampede_traffic::Order;

use super::found::{self, Example};
use super::server::{ServerReadings, ServerUse};
use super::watch::LoadSeconds;
use stampede_trial::cases;

/// The result of a load on a URL. Times are in ns, lengths in s, rates per second.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this format.
    pub format: u32,
    /// Version of stampede.
    pub stampede: String,
    /// URL of the target, with secrets masked.
    pub url: String,
    /// Address that the requests were sent to: `127.0.0.1:8080`, or a socket's path. The first, if
    /// there are several.
    pub address: String,
    /// The addresses that connections went to in turn, with the connections to each.
    pub addresses: Vec<AddressConnections>,
    /// The load: `const(500,60s)`, `50 users for 60 s`.
    pub load: String,
    /// Model of the load: what decides when the next request starts.
    #[schemars(with = "ModelName")]
    pub model: LoadModel,
    /// Whether the result counts as a measurement of the server.
    #[schemars(with = "VerdictName")]
    pub verdict: Validity,
    /// Reasons for the verdict; empty if it is `valid`.
    pub reasons: Vec<Fact<Reason>>,
    /// What may help if no request was answered correctly; null if one was.
    pub hint: Option<String>,
    /// Information that does not affect the verdict.
    pub notes: Vec<Fact<Reason>>,
    /// How the load ended.
    pub end: EndReason,
    /// The criterion of `--autostop` that ended the load, with what it found; null: none did.
    pub autostop: Option<String>,
    /// Each `--expect` with its outcome.
    pub expectations: Vec<Expectation>,
    /// Requests that were due. If the load was ended early: due until then. In the closed model:
    /// requests that were started.
    pub requests_planned: u64,
    /// Requests with a first connect or write call.
    pub requests_started: u64,
    /// Correct answers.
    pub requests_ok: u64,
    /// Requests that were started and got no correct answer.
    pub requests_failed: u64,
    /// Requests that were due and never started.
    pub requests_dropped: u64,
    /// Failed requests by kind: `net:<why>`, `http:<status>`, `check`, `check:<which>`.
    pub errors: BTreeMap<String, u64>,
    /// Length of the schedule, to which rates refer. In the closed model: until no further request
    /// started, or until the last answer of `--requests`.
    pub duration_s: f64,
    /// Time from the start to the last answer.
    pub lasted_s: f64,
    /// Requests due per second; null in the closed model.
    pub offered_per_s: Option<f64>,
    /// Correct answers per second. With a schedule: answers to its requests, whenever they came,
    /// ÷ its length. In the closed model, and if the server did not keep up: answers that ended
    /// within that length.
    pub throughput_per_s: f64,
    /// Whether the server kept up with the target rate. Null: the load is closed, changes its rate
    /// or was stopped, or the generator was late.
    pub kept_up: Option<KeptUp>,
    /// Response time, done − due, over all planned requests. A request without a correct answer
    /// counts as slower than all answers. Null in the closed model.
    pub response_time_ns: Option<TimesNs>,
    /// Response time without schedule lag, the generator's own delay. With a faster generator, the
    /// response time would usually lie between the two. Null in the closed model.
    pub response_time_without_lag_ns: Option<TimesNs>,
    /// Figures of the response time (closed model: of the service time) of which the generator's own
    /// delay makes, or over a Unix socket may make, more than 5 % and more than 20 µs.
    pub lag_marks: Vec<LagMark>,
    /// Response time of correct answers only. Null in the closed model.
    pub response_time_ok_ns: Option<TimesNs>,
    /// Service time, done − started, over all planned requests.
    pub service_time_ns: TimesNs,
    /// Service time of correct answers only.
    pub service_time_ok_ns: TimesNs,
    /// How long correct answers waited for a free connection, which the server causes. Null in the
    /// closed model.
    pub connection_wait_ns: Option<TimesNs>,
    /// Schedule lag, started − max(due, free), which the generator causes.
    pub schedule_lag_ns: TimesNs,
    /// Time from the connect call of each opened connection until it was established, without TLS;
    /// null if none was opened.
    pub connect_time_ns: Option<TimesNs>,
    /// Fields above whose real value is at least the given one, because a timeout cut off a request
    /// or the generator was at its limit.
    pub lower_bounds: Vec<String>,
    /// Bytes read, including heads.
    pub bytes_in: u64,
    /// Mean size in bytes of a complete answer, correct or not, including its head; null if there
    /// was none.
    pub answer_bytes_mean: Option<f64>,
    /// Mean size in bytes of its body, without chunk sizes, which ab calls document length; null if
    /// there was no complete answer.
    pub document_bytes_mean: Option<f64>,
    /// Bytes written, including heads.
    pub bytes_out: u64,
    /// What the watched server used; null: nothing was watched, or nothing could be read.
    pub server: Option<ServerUse>,
    /// CPU time of the load threads per started request, without spinning; null if no request was
    /// started.
    pub cpu_ns_per_request: Option<u64>,
    /// I/O engine: `epoll` or `io_uring`.
    pub engine: String,
    /// Number of load threads.
    pub load_threads: u32,
    /// Share of time that the busiest load thread spent on work, 0 to 1.
    pub busy_share_max: f64,
    /// Number of opened connections.
    pub connections: u64,
    /// Connections that were open when the load began, from the warm-up.
    pub connections_from_warm_up: u64,
    /// Number of local addresses of the connections. More than one: the ports of one address ran
    /// out.
    pub local_addresses: u32,
    /// Connections of those clients that never got an answer during the whole time in which others
    /// did.
    pub connections_never_answered: u64,
    /// Highest number of requests in flight.
    pub in_flight_max: u32,
    /// Real length ÷ planned length if the client stretches its schedule; else 1.
    pub stretched: f64,
    /// Name of the client whose connection habits were used.
    pub client: String,
    /// Protocol of the target: `http`, `https` or `fastcgi`.
    pub protocol: String,
    /// HTTP version: `1.0` or `1.1`.
    pub http: String,
    /// Whether connections were kept open.
    pub keep_alive: bool,
    /// Time after which a request fails.
    pub timeout_ns: u64,
    /// Seed of Poisson arrivals; null: arrivals are uniform, or the model is closed.
    pub poisson_seed: Option<u64>,
    /// Seed of the random order of the traffic; null: it was sent in order.
    pub traffic_seed: Option<u64>,
    /// Figures by tag; empty if no request has a tag.
    pub tags: BTreeMap<String, TagReport>,
    /// The first failed request of each kind.
    pub examples: Vec<Example>,
    /// What each agent did; empty if the load was sent from here.
    pub agents: Vec<AgentRecord>,
}

/// How a load ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndReason {
    /// The load ran to its end.
    Complete,
    /// Ctrl-C ended it.
    Stopped,
    /// A criterion of `--autostop` ended it.
    Autostop,
}

/// An expectation with its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Expectation {
    /// The expectation as given.
    pub text: String,
    /// Whether it is met.
    pub outcome: ExpectationOutcome,
    /// The value that was found, or what is known about it; null if the expectation is met, or if
    /// nothing is known because there were too few requests.
    pub found: Option<Fact<Found>>,
}

/// Whether an expectation is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpectationOutcome {
    /// The expectation is met.
    Met,
    /// The expectation is not met.
    NotMet,
    /// Unknown: there were too few requests, or only a lower bound is known.
    Unknown,
}

/// Percentiles, maximum and mean of a time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimesNs {
    /// The median.
    pub p50: TimeNs,
    /// 75 % of the requests took at most this long.
    pub p75: TimeNs,
    /// 80 % of the requests took at most this long.
    pub p80: TimeNs,
    /// 85 % of the requests took at most this long.
    pub p85: TimeNs,
    /// 90 % of the requests took at most this long.
    pub p90: TimeNs,
    /// 95 % of the requests took at most this long.
    pub p95: TimeNs,
    /// 98 % of the requests took at most this long.
    pub p98: TimeNs,
    /// 99 % of the requests took at most this long.
    pub p99: TimeNs,
    /// 99.9 % of the requests took at most this long.
    pub p999: TimeNs,
    /// The slowest request.
    pub max: TimeNs,
    /// Arithmetic mean.
    pub mean: TimeNs,
}

/// A time in ns. `failed`: it is that of a request without a correct answer; for a percentile, more
/// than ten or all requests must have failed. Null: fewer than ten requests lie beyond the
/// percentile, or there are no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TimeNs {
    /// The time in ns.
    Ns(u64),
    /// The time of a request without a correct answer.
    Failed(FailedWord),
    /// The time is not known.
    Unknown(()),
}

/// The word for the time of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FailedWord {
    /// The request got no correct answer.
    Failed,
}

/// Figures of the requests with one tag.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TagReport {
    /// Correct answers.
    pub requests_ok: u64,
    /// Requests that were started and got no correct answer.
    pub requests_failed: u64,
    /// Response time, done − due, of correct answers; null in the closed model.
    pub response_time_ok_ns: Option<TimesNs>,
    /// Service time, done − started, of correct answers.
    pub service_time_ok_ns: TimesNs,
}

/// For the schema only, because the summary's own enum has no description.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum ModelName {
    /// Requests are due by a schedule.
    Open,
    /// Each next request is sent after an answer.
    Closed,
}

/// For the schema only.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code, reason = "only its schema is used")]
enum VerdictName {
    /// The result counts.
    Valid,
    /// The result counts, with a mark.
    Suspect,
    /// The result does not count.
    Invalid,
}

/// The parts from which a report is made.
pub struct ReportParts<'a> {
    /// URL of the target, with its secrets.
    pub url: &'a str,
    /// The load as it was requested.
    pub choice: &'a LoadChoice,
    /// The load as it was sent.
    pub load: &'a Load,
    /// The result of the load.
    pub result: &'a LoadResult,
    /// The load's record, as in `trial.json`.
    pub record: &'a LoadRecord,
    /// Whether the result counts.
    pub verdict: Verdict,
    /// The criterion that ended the load early; `None`: none did.
    pub autostop: Option<String>,
    /// Figures collected during the load.
    pub seconds: &'a LoadSeconds,
    /// What the server used; `None`: nobody asked for it.
    pub server: Option<&'a ServerReadings>,
    /// Whether the server kept up with the target rate; `None`: not known.
    pub kept_up: Option<KeptUp>,
}

/// The names of figures that are lower bounds, with the throughput where it is one.
fn with_throughput(mut lower_bounds: Vec<String>, throughput: &Figure) -> Vec<String> {
    let is_bound = matches!(throughput, Figure::AtLeast(_));
    lower_bounds.extend(is_bound.then(|| "throughput_per_s".to_owned()));
    lower_bounds
}

impl Report {
    /// Makes a report from its parts.
    pub fn of(parts: ReportParts<'_>) -> Report {
        let model = LoadModel::from(&parts.load.model);
        let expectations = expectations(&parts, model);
        let (result, record) = (parts.result, parts.record);
        let times = AllTimes::of(record, &result.times, model);
        let counts = &result.counts;
        let scheduled = result.scheduled.as_secs_f64();
        let per_second = |count: u64| if scheduled > 0.0 { count as f64 / scheduled } else { 0.0 };
        let throughput = of_load(record, &result.times, model, parts.kept_up).throughput_per_second;
        Report {
            format: FORMAT,
            stampede: env!("CARGO_PKG_VERSION").to_owned(),
            url: mask_secrets(parts.url),
            address: parts.load.target.first().to_string(),
            addresses: result.connections.addresses.clone(),
            load: cases::load_text(&parts.choice.model),
            model,
            verdict: parts.verdict.judged,
            reasons: parts.verdict.reasons,
            hint: None,
            notes: parts.verdict.notes,
            end: ended(result.end, parts.autostop.as_deref()),
            autostop: parts.autostop,
            expectations,
            requests_planned: counts.planned,
            requests_started: counts.started,
            requests_ok: counts.ok,
            requests_failed: counts.failed_total(),
            requests_dropped: counts.dropped,
            errors: counts.failed.clone(),
            duration_s: scheduled,
            lasted_s: result.lasted.as_secs_f64(),
            offered_per_s: (model == LoadModel::Open).then(|| per_second(counts.planned)),
            throughput_per_s: throughput.value().unwrap_or(0.0),
            kept_up: parts.kept_up,
            response_time_ns: times.response_time,
            response_time_without_lag_ns: times.response_time_without_lag,
            lag_marks: record.lag_marks.clone(),
            response_time_ok_ns: times.response_time_ok,
            service_time_ns: times.service_time,
            service_time_ok_ns: times.service_time_ok,
            connection_wait_ns: times.connection_wait,
            schedule_lag_ns: times.schedule_lag,
            connect_time_ns: connect_time(result),
            lower_bounds: with_throughput(times.lower_bounds, &throughput),
            bytes_in: counts.bytes_received,
            answer_bytes_mean: of_an_answer(counts, counts.answer_bytes),
            document_bytes_mean: of_an_answer(counts, counts.body_bytes),
            bytes_out: counts.bytes_sent,
            server: parts.server.and_then(|server| server.used(counts.ok)),
            cpu_ns_per_request: parts.seconds.busy.0.checked_div(counts.started),
            engine: result.engine.to_owned(),
            load_threads: parts.load.cpus.len().max(parts.load.threads as usize) as u32,
            busy_share_max: result.busy_share_max,
            connections: result.connections.opened,
            connections_from_warm_up: result.connections.from_warm_up,
            local_addresses: result.connections.sources,
            connections_never_answered: result.connections.never_answered,
            in_flight_max: result.in_flight_max,
            stretched: result.stretched,
            client: parts.choice.client.name.clone(),
            protocol: protocol(&parts.load.wire).to_owned(),
            http: parts.load.habits.version.name().to_owned(),
            keep_alive: record.keep_alive,
            timeout_ns: record.timeout_ns,
            poisson_seed: seed(&parts.load.model),
            traffic_seed: traffic_seed(parts.load.traffic.order),
            tags: super::tags(result, model),
            examples: found::examples(result, &parts.load.traffic.tags),
            agents: result.agents.clone(),
        }
    }

    /// Whether an expectation is not met, or is unknown.
    pub fn breaks_an_expectation(&self) -> bool {
        self.expectations.iter().any(|judged| judged.outcome != ExpectationOutcome::Met)
    }

    /// Whether the value of `field` is only a lower bound.
    pub fn is_lower_bound(&self, field: &str) -> bool {
        self.lower_bounds.iter().any(|known| known == field)
    }
}

/// The times of a load, by kind.
struct AllTimes {
    response_time: Option<TimesNs>,
    response_time_without_lag: Option<TimesNs>,
    response_time_ok: Option<TimesNs>,
    service_time: TimesNs,
    service_time_ok: TimesNs,
    connection_wait: Option<TimesNs>,
    schedule_lag: TimesNs,
    lower_bounds: Vec<String>,
}

impl AllTimes {
    fn of(record: &LoadRecord, times: &TimeSet, model: LoadModel) -> AllTimes {
        let failed = record.counts.planned.saturating_sub(record.counts.ok);
        let requests = FailureKind::TIMEOUT.count(&record.counts.failed);
        let cut_off = CutOff { requests, after_ns: record.timeout_ns };
        let mut lower_bounds = Vec::new();
        let mut all = |name: &str, answered: &Times| {
            let ranked = Ranked { answered, failed };
            for (stat, bounded) in [("max", ranked.max(cut_off)), ("mean", ranked.mean(cut_off))] {
                if matches!(bounded, BoundedValue::AtLeast(_)) {
                    lower_bounds.push(format!("{name}.{stat}"));
                }
            }
            TimesNs::of(ranked, cut_off)
        };
        let open = model == LoadModel::Open;
        AllTimes {
            response_time: open.then(|| all("response_time_ns", &times.response_time)),
            response_time_without_lag: open
                .then(|| all("response_time_without_lag_ns", &times.response_time_without_lag)),
            service_time: all("service_time_ns", &times.service_time),
            response_time_ok: open.then(|| alone(&times.response_time)),
            service_time_ok: alone(&times.service_time),
            connection_wait: open.then(|| alone(&times.connection_wait)),
            schedule_lag: alone(&times.schedule_lag),
            lower_bounds,
        }
    }
}

impl TimesNs {
    /// Computes the figures over all planned requests.
    fn of(ranked: Ranked<'_>, cut_off: CutOff) -> TimesNs {
        let at = |percent| match ranked.percentile(percent) {
            Percentile::At(ns) => TimeNs::Ns(ns),
            Percentile::Failed => TimeNs::Failed(FailedWord::Failed),
            Percentile::TooFew => TimeNs::Unknown(()),
        };
        let bounded = |bounded| match bounded {
            BoundedValue::Exactly(ns) | BoundedValue::AtLeast(ns) => {
                TimeNs::Ns(f64::round(ns) as u64)
            }
            BoundedValue::Failed => TimeNs::Failed(FailedWord::Failed),
            BoundedValue::Empty => TimeNs::Unknown(()),
        };
        TimesNs {
            p50: at(50.0),
            p75: at(75.0),
            p80: at(80.0),
            p85: at(85.0),
            p90: at(90.0),
            p95: at(95.0),
            p98: at(98.0),
            p99: at(99.0),
            p999: at(99.9),
            max: bounded(ranked.max(cut_off)),
            mean: bounded(ranked.mean(cut_off)),
        }
    }
}

/// Computes the figures of requests that all got a correct answer.
pub fn alone(times: &Times) -> TimesNs {
    TimesNs::of(Ranked::ok_alone(times), CutOff { requests: 0, after_ns: 0 })
}

/// Returns the mean per complete answer of the sum `together`; `None` if there was no complete
/// answer.
fn of_an_answer(counts: &Counts, together: u64) -> Option<f64> {
    let whole = |kind: &str| FailureKind::of(kind).is_answered();
    let wrong: u64 = counts.failed.iter().filter(|(kind, _)| whole(kind)).map(|(_, n)| n).sum();
    let answers = counts.ok + wrong;
    (answers > 0).then(|| together as f64 / answers as f64)
}

fn connect_time(result: &LoadResult) -> Option<TimesNs> {
    (!result.connect_time.is_empty()).then(|| alone(&result.connect_time))
}

fn ended(end: End, autostop: Option<&str>) -> EndReason {
    match (end, autostop) {
        (End::Complete, _) => EndReason::Complete,
        (End::Stopped, Some(_)) => EndReason::Autostop,
        (End::Stopped, None) => EndReason::Stopped,
    }
}

fn expectations(parts: &ReportParts<'_>, model: LoadModel) -> Vec<Expectation> {
    let times = &parts.result.times;
    let judged = parts.choice.expect.iter().map(|expectation| {
        let text = expectation.text.clone();
        match judge_load(parts.record, times, model, parts.kept_up, expectation) {
            ExpectedOutcome::Met => {
                Expectation { text, outcome: ExpectationOutcome::Met, found: None }
            }
            ExpectedOutcome::NotMet { figure } => {
                Expectation { text, outcome: ExpectationOutcome::NotMet, found: Some(figure) }
            }
            ExpectedOutcome::Unknown { figure } => {
                Expectation { text, outcome: ExpectationOutcome::Unknown, found: figure }
            }
        }
    });
    judged.collect()
}

fn protocol(wire: &Wire) -> &'static str {
    match wire {
        Wire::Http1 => "http",
        Wire::Tls(_) => "https",
        Wire::FastCgi => "fastcgi",
    }
}

fn seed(model: &Model) -> Option<u64> {
    match model {
        Model::Open { arrivals: Arrivals::Poisson { seed }, .. } => Some(*seed),
        _ => None,
    }
}

fn traffic_seed(order: Order) -> Option<u64> {
    match order {
        Order::Random { seed } => Some(seed),
        Order::InTurn => None,
    }
}

/// Version of the JSON object's format.
const FORMAT: u32 = 2;
