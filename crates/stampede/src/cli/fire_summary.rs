//! What `fire` found, for people and for machines.

use serde_json::{Value, json};
use stampede_load::report::Fired;
use stampede_load::spec::Model;
use stampede_stats::percentile::{Percentile, Ranked};

use crate::plan::model::LoadChoice;
use crate::progress::words;
use crate::store::mask_secrets;
use crate::store::record::LoadRecord;
use crate::trial::cells;

/// The summary in words and figures.
pub fn text(url: &str, choice: &LoadChoice, fired: &Fired, record: &LoadRecord) -> String {
    let open = matches!(choice.model, Model::Open { .. });
    let counts = &fired.counts;
    let seconds = (fired.scheduled.0 as f64 / 1e9).max(1e-9);
    let kept = if record.keep_alive { "kept connections" } else { "a connection per shot" };
    let mut text = format!(
        "{} at {}, client {} ({kept})\n\n",
        cells::load_text(&choice.model),
        mask_secrets(url),
        choice.client.name
    );
    let mut row = |name: &str, value: String| text.push_str(&format!("  {name:<16} {value}\n"));
    row(
        "shots",
        format!(
            "{} planned, {} ok, {} failed, {} dropped",
            words::count(counts.planned),
            words::count(counts.ok),
            words::count(counts.failed_total()),
            words::count(counts.dropped)
        ),
    );
    if open {
        row("offered rate", format!("{}/s", words::rate(counts.planned as f64 / seconds)));
    }
    row(
        "throughput",
        format!("{}/s correct answers", words::rate(fired.ok_inside as f64 / seconds)),
    );
    row("received", format!("{}/s", words::bytes(counts.bytes_received as f64 / seconds)));
    row("in flight", format!("{} at most", words::count(u64::from(fired.in_flight_max))));
    for (kind, count) in &counts.failed {
        row(kind, words::count(*count));
    }
    if fired.stretched > 1.001 {
        row("stretched", format!("{:.2} × the planned length", fired.stretched));
    }
    text.push_str(&times(open, fired));
    if open {
        let late = words::time_ns(record.lateness_ns_p99);
        text.push_str(&format!("  {:<16} {late} at p99 (the generator's own)\n", "lateness"));
    } else if fired.busy_share_max > 0.95 {
        text.push_str("\n  at least this much: the generator was the limit\n");
    }
    text
}

fn times(open: bool, fired: &Fired) -> String {
    let failed = fired.counts.planned.saturating_sub(fired.counts.ok);
    let mut text = String::new();
    let mut block = |name: &str, ranked: Ranked<'_>| {
        text.push_str(&format!("\n  {name}\n"));
        text.push_str(&format!(
            "    {:<6} {}\n",
            "mean",
            words::time_ns(ranked.answered.mean() as u64)
        ));
        for p in PERCENTILES {
            let value = ranked.percentile(p);
            if value != Percentile::TooFew {
                text.push_str(&format!(
                    "    {:<6} {}\n",
                    format!("p{p}"),
                    words::percentile(value)
                ));
            }
        }
        text.push_str(&format!("    {:<6} {}\n", "max", words::time_ns(ranked.answered.max())));
    };
    if open {
        let answered = &fired.times.response_time;
        block("response time (from when each shot was due)", Ranked { answered, failed });
    }
    let answered = &fired.times.service_time;
    block("service time (from when each shot was started)", Ranked { answered, failed });
    text.push('\n');
    text
}

/// The summary for machines.
pub fn json(fired: &Fired, record: &LoadRecord) -> Value {
    let failed = fired.counts.planned.saturating_sub(fired.counts.ok);
    let figures = |answered| {
        let ranked = Ranked { answered, failed };
        let mut map = serde_json::Map::new();
        map.insert("mean_ns".to_owned(), json!(answered.mean().round()));
        for p in PERCENTILES {
            let value = match ranked.percentile(p) {
                Percentile::At(ns) => json!(ns),
                _ => Value::Null,
            };
            map.insert(format!("p{p}_ns"), value);
        }
        map.insert("max_ns".to_owned(), json!(answered.max()));
        Value::Object(map)
    };
    let seconds = (fired.scheduled.0 as f64 / 1e9).max(1e-9);
    json!({
        "format": crate::store::record::FORMAT,
        "load": record,
        "throughput_per_second": fired.ok_inside as f64 / seconds,
        "offered_rate_per_second": fired.counts.planned as f64 / seconds,
        "response_time": figures(&fired.times.response_time),
        "service_time": figures(&fired.times.service_time),
        "connection_wait": figures(&fired.times.connection_wait),
        "lateness": figures(&fired.times.lateness),
    })
}

const PERCENTILES: [f64; 9] = [50.0, 75.0, 80.0, 85.0, 90.0, 95.0, 98.0, 99.0, 99.9];
