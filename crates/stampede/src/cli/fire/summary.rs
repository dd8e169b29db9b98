//! Formats the result of `fire` for people: easy to read, and plain text that can be pasted
//! anywhere.

use stampede_model::fact;
use stampede_model::failure;
use stampede_model::lag::LagMark;
use stampede_model::load::in_turn;
use stampede_model::record::Validity;
use stampede_model::words;
use stampede_results::report::Style;
use stampede_results::summary::kept_up::KeptUp;
use stampede_results::summary::model::LoadModel;

use super::agents;
use super::report::{EndReason, ExpectationOutcome, Report, TimeNs, TimesNs};
use super::server::ServerUse;

/// Returns the summary. It begins with the verdict, followed by the load, its results and its
/// times.
pub fn text(report: &Report) -> String {
    let mut text = verdict(report);
    text.push_str(&heading(report));
    for (name, value) in rows(report) {
        text.push_str(format!("  {name:<14} {value}").trim_end());
        text.push('\n');
    }
    text.push_str(&errors(report));
    text.push_str(&times(report));
    text.push_str(&tags(report));
    text
}

fn verdict(report: &Report) -> String {
    let word = match report.verdict {
        Validity::Valid => "valid",
        Validity::Suspect => "suspect",
        Validity::Invalid => "INVALID",
    };
    let reasons = match report.reasons.as_slice() {
        [] => String::new(),
        reasons => format!(": {}", fact::joined(reasons)),
    };
    let mut text = format!("{word}{reasons}\n");
    if let Some(hint) = &report.hint {
        text.push_str(&format!("hint: {hint}\n"));
    }
    if let Some(reason) = &report.autostop {
        let after = words::time(report.duration_s * 1e9);
        text.push_str(&format!("stopped after {after} by {reason}\n"));
    }
    for expected in &report.expectations {
        let outcome = match (&expected.outcome, &expected.found) {
            (ExpectationOutcome::Met, _) => "met".to_owned(),
            (ExpectationOutcome::NotMet, Some(found)) => format!("NOT MET: {found}"),
            (ExpectationOutcome::NotMet, None) => "NOT MET".to_owned(),
            (ExpectationOutcome::Unknown, Some(known)) => format!("not known: {known}"),
            (ExpectationOutcome::Unknown, None) => "not known: too few requests for it".to_owned(),
        };
        text.push_str(&format!("{}: {outcome}\n", expected.text));
    }
    for note in &report.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

fn heading(report: &Report) -> String {
    let kept = if report.keep_alive { "keep-alive" } else { "a connection per request" };
    let seed = report.poisson_seed;
    let arrivals = seed.map_or(String::new(), |seed| format!(", Poisson arrivals (--seed {seed})"));
    let spoken = match report.protocol.as_str() {
        "fastcgi" => "FastCGI".to_owned(),
        "https" => format!("HTTP/{} over TLS", report.http),
        _ => format!("HTTP/{}", report.http),
    };
    format!(
        "{}{arrivals} at {}\nclient {} ({spoken}, {kept}), engine {}\n\n",
        report.load, report.url, report.client, report.engine
    )
}

fn rows(report: &Report) -> Vec<(&'static str, String)> {
    let mut rows = vec![(
        "requests",
        format!(
            "{} planned, {} ok, {} failed, {} dropped",
            words::count(report.requests_planned),
            words::count(report.requests_ok),
            words::count(report.requests_failed),
            words::count(report.requests_dropped)
        ),
    )];
    if report.end != EndReason::Complete {
        rows.push(("length", format!("{}, then stopped", words::time(report.duration_s * 1e9))));
    }
    if let Some(offered) = report.offered_per_s {
        rows.push(("target rate", format!("{}/s", words::rate(offered))));
    }
    let limited = report.is_lower_bound("throughput_per_s");
    let (at_least, limit) = match report.kept_up {
        _ if limited => ("≥ ", " (the generator was the limit)"),
        Some(KeptUp::No { .. }) => ("", " within the load"),
        Some(KeptUp::Yes | KeptUp::TooShort) | None => ("", ""),
    };
    let throughput = words::rate(report.throughput_per_s);
    rows.push(("throughput", format!("{at_least}{throughput}/s correct answers{limit}")));
    rows.extend(report.kept_up.map(|one| ("kept up", kept_up(one))));
    rows.push(("transfer", transfer(report)));
    let mean = |bytes: Option<f64>| bytes.map(words::bytes);
    let (document, answer) = (mean(report.document_bytes_mean), mean(report.answer_bytes_mean));
    if let (Some(document), Some(answer)) = (document, answer) {
        rows.push(("document", format!("{document} on average, {answer} with its head")));
    }
    if let Some(seed) = report.traffic_seed {
        rows.push(("traffic", format!("in random order (--seed {seed})")));
    }
    let opened = words::count(report.connections);
    let from = match report.local_addresses {
        0 | 1 => String::new(),
        addresses => format!(" from {addresses} addresses, because one address ran out of ports"),
    };
    let at_most = match report.in_flight_max {
        1 => "one request".to_owned(),
        requests => format!("{} requests", words::count(u64::from(requests))),
    };
    let kept = match report.connections_from_warm_up {
        0 => String::new(),
        connections => format!("{} kept, ", words::count(connections)),
    };
    rows.push(("connections", format!("{kept}{opened} opened{from}, at most {at_most} in flight")));
    rows.extend(addresses(report));
    if report.stretched > 1.001 {
        rows.push(("stretched", format!("{:.2} × the planned length", report.stretched)));
    }
    rows.extend(named("server", report.server.iter().flat_map(ServerUse::lines)));
    rows.push(("generator", generator(report)));
    rows.extend(named("agents", report.agents.iter().flat_map(agents::lines)));
    rows
}

/// Rows of which only the first has a name.
fn named(
    name: &'static str,
    lines: impl Iterator<Item = String>,
) -> impl Iterator<Item = (&'static str, String)> {
    std::iter::once(name).chain(std::iter::repeat("")).zip(lines)
}

fn kept_up(kept_up: KeptUp) -> String {
    match kept_up {
        KeptUp::Yes => "yes".to_owned(),
        KeptUp::No { answered_per_second, offered_per_second, .. } => {
            let [answered, offered] = [answered_per_second, offered_per_second].map(words::rate);
            format!("no: it answered {answered} of {offered} requests/s")
        }
        KeptUp::TooShort => "too short to tell".to_owned(),
    }
}

/// Names the addresses, if there are several, and those with failed connections.
fn addresses(report: &Report) -> Vec<(&'static str, String)> {
    let all: Vec<String> = report.addresses.iter().map(|one| one.address.clone()).collect();
    if all.len() < 2 {
        return Vec::new();
    }
    let mut rows = vec![("addresses", in_turn(&all))];
    for one in report.addresses.iter().filter(|one| one.failed > 0) {
        let [opened, failed] = [one.opened, one.failed].map(words::count);
        rows.push(("", format!("{}: {opened} connections opened, {failed} failed", one.address)));
    }
    rows
}

fn transfer(report: &Report) -> String {
    let rate = report.bytes_in as f64 / report.lasted_s.max(1e-9);
    format!(
        "{} received, {}/s; {} sent",
        words::bytes(report.bytes_in as f64),
        words::bytes(rate),
        words::bytes(report.bytes_out as f64)
    )
}

fn generator(report: &Report) -> String {
    let threads = words::number_of(report.load_threads, "load thread");
    let threads = match report.agents.len() {
        0 => threads,
        agents => words::number_of(agents as u32, "agent"),
    };
    let busiest = if report.load_threads > 1 || report.agents.len() > 1 { "busiest " } else { "" };
    let busy = words::percent(report.busy_share_max * 100.0);
    let cpu = report.cpu_ns_per_request;
    let cpu = cpu.map_or(String::new(), |ns| format!(", {} CPU a request", words::time(ns as f64)));
    format!("{threads}, {busiest}{busy} busy{cpu}")
}

/// Lists the errors by kind, with their meaning.
fn errors(report: &Report) -> String {
    if report.errors.is_empty() {
        return String::new();
    }
    let width = report.errors.keys().map(|kind| kind.chars().count()).max().unwrap_or(0);
    let mut text = "\n  errors\n".to_owned();
    for (kind, count) in &report.errors {
        let meaning = failure::meaning(kind).unwrap_or_default();
        let line = format!("    {kind:<width$}  {:>9}  {meaning}", words::count(*count));
        text.push_str(line.trim_end());
        text.push('\n');
        if let Some(example) = report.examples.iter().find(|example| example.kind == *kind) {
            let at = words::time(example.at_s * 1e9);
            let (request, found) = (&example.request, &example.found);
            let what = if *found == meaning { String::new() } else { format!(": {found}") };
            let first = format!("first after {at}: {request}{what}");
            text.push_str(&format!("    {:<width$}             {first}\n", ""));
        }
    }
    if report.examples.iter().any(|example| !example.head.is_empty()) {
        text.push_str("    (the first answer of each kind: --json, `examples`)\n");
    }
    text
}

/// Formats the times with one row per kind, 80 columns wide.
fn times(report: &Report) -> String {
    let mut rows: Vec<(&str, &str, &TimesNs)> = Vec::new();
    if let Some(times) = &report.response_time_ns {
        rows.push(("response time", "response_time_ns", times));
    }
    rows.push(("service time", "service_time_ns", &report.service_time_ns));
    if (1..report.requests_planned).contains(&report.requests_ok) {
        let alone = report.response_time_ok_ns.as_ref().unwrap_or(&report.service_time_ok_ns);
        rows.push(("correct only", "", alone));
    }
    if let Some(times) = &report.connect_time_ns {
        rows.push(("connect time", "", times));
    }
    if report.model == LoadModel::Open {
        rows.push(("schedule lag", "", &report.schedule_lag_ns));
    }
    let mut text = format!("\n  {:<14}", "");
    COLUMNS.iter().for_each(|(name, _)| text.push_str(&format!("{name:>9}")));
    text.push('\n');
    let shown = match report.model {
        LoadModel::Open => "response_time_ns",
        LoadModel::Closed => "service_time_ns",
    };
    for (name, field, times) in rows {
        text.push_str(&format!("  {name:<14}"));
        for (stat, of) in COLUMNS {
            let bound = report.is_lower_bound(&format!("{field}.{stat}"));
            let at_least = if bound { "≥" } else { "" };
            let mark = if field == shown && is_marked(report, stat) { "†" } else { "" };
            text.push_str(&format!("{:>9}", format!("{at_least}{}{mark}", time(of(times)))));
        }
        text.push('\n');
    }
    let printed =
        |mark: &&LagMark| COLUMNS.iter().any(|(name, _)| mark.figure.to_string() == *name);
    let marks: Vec<LagMark> = report.lag_marks.iter().filter(printed).copied().collect();
    if let Some(sentence) = LagMark::sentence(&marks) {
        for line in Style::plain(78).wrap(&format!("† {sentence}"), 2) {
            text.push_str(&format!("\n  {line}"));
        }
        text.push('\n');
    }
    text.push_str(match report.model {
        LoadModel::Open => RESPONSE_TIME,
        LoadModel::Closed => SERVICE_TIME,
    });
    text
}

fn is_marked(report: &Report, figure: &str) -> bool {
    report.lag_marks.iter().any(|mark| mark.figure.to_string() == figure)
}

/// Formats the figures by tag, one row per tag.
fn tags(report: &Report) -> String {
    if report.tags.is_empty() {
        return String::new();
    }
    let kind = match report.model {
        LoadModel::Open => "response time",
        LoadModel::Closed => "service time",
    };
    let mut text = format!(
        "\n  {:<24}{:>9}{:>9}{:>9}{:>9}{:>9}\n",
        "by tag", "ok", "failed", "p50", "p95", "max"
    );
    for (name, tagged) in &report.tags {
        let name = if name.is_empty() { "(none)" } else { name };
        let times = tagged.response_time_ok_ns.as_ref().unwrap_or(&tagged.service_time_ok_ns);
        let counts = [tagged.requests_ok, tagged.requests_failed].map(words::count);
        let times = [times.p50, times.p95, times.max].map(time);
        text.push_str(&format!("  {:<24}", words::cut(name, 23)));
        counts.iter().chain(&times).for_each(|field| text.push_str(&format!("{field:>9}")));
        text.push('\n');
    }
    text + &format!("  ({kind} of correct answers)\n")
}

fn time(time: TimeNs) -> String {
    match time {
        TimeNs::Ns(ns) => words::time(ns as f64),
        TimeNs::Failed(_) => "failed".to_owned(),
        TimeNs::Unknown(()) => "—".to_owned(),
    }
}

type Column = (&'static str, fn(&TimesNs) -> TimeNs);

const COLUMNS: [Column; 7] = [
    ("mean", |times| times.mean),
    ("p50", |times| times.p50),
    ("p90", |times| times.p90),
    ("p95", |times| times.p95),
    ("p99", |times| times.p99),
    ("p99.9", |times| times.p999),
    ("max", |times| times.max),
];

const RESPONSE_TIME: &str = "
  response time: from the scheduled time; service time: from sending;
  schedule lag: how late the generator was
";
const SERVICE_TIME: &str = "
  with --concurrency nothing is scheduled, so there is service time only
";
