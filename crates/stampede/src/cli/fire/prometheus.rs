//! Writes a report in Prometheus' text format, for the text files of a node exporter or a push
//! gateway.
//!
//! Source: the exposition format, version 0.0.4.

use std::fmt::Write as _;

use stampede_load::report::LoadResult;
use stampede_model::record::Validity;
use stampede_stats::histogram::Times;

use super::report::{Report, TimeNs, TimesNs};

/// Returns all figures, with times in seconds. A percentile that falls on a failed request is
/// `+Inf`, because such a request counts as slower than any answer.
pub fn text(report: &Report, result: &LoadResult) -> String {
    let times = &result.times;
    let mut text = Text(String::new());
    text.about("stampede_info", "gauge", "What was sent.");
    let named = [
        ("url", report.url.as_str()),
        ("load", &report.load),
        ("client", &report.client),
        ("engine", &report.engine),
        ("version", &report.stampede),
    ];
    text.row("stampede_info", &named, 1.0);
    text.about("stampede_verdict", "gauge", "1 for the verdict of the measurement.");
    for judged in [Validity::Valid, Validity::Suspect, Validity::Invalid] {
        let name = match judged {
            Validity::Valid => "valid",
            Validity::Suspect => "suspect",
            Validity::Invalid => "invalid",
        };
        let is_it = f64::from(u8::from(judged == report.verdict));
        text.row("stampede_verdict", &[("verdict", name)], is_it);
    }
    text.about("stampede_requests_total", "counter", "Requests that were due, by outcome.");
    text.row("stampede_requests_total", &[("outcome", "ok")], report.requests_ok as f64);
    for (kind, count) in &report.errors {
        text.row("stampede_requests_total", &[("outcome", kind)], *count as f64);
    }
    text.row("stampede_requests_total", &[("outcome", "dropped")], report.requests_dropped as f64);
    for (name, kind, help, value) in singles(report) {
        if let Some(value) = value {
            text.about(name, kind, help);
            text.row(name, &[], value);
        }
    }
    if let Some(response) = &report.response_time_ns {
        let help =
            "From when a request was due, over all planned requests; sum and count of the ok ones.";
        text.summary("stampede_response_time_seconds", help, response, &times.response_time);
    }
    let help =
        "From when a request was started, over all planned requests; sum and count of the ok ones.";
    let service = &report.service_time_ns;
    text.summary("stampede_service_time_seconds", help, service, &times.service_time);
    if let Some(connect) = &report.connect_time_ns {
        let help = "Until a connection was there, of those opened.";
        text.summary("stampede_connect_time_seconds", help, connect, &result.connect_time);
    }
    let help = "How late the generator itself started requests.";
    text.summary(
        "stampede_schedule_lag_seconds",
        help,
        &report.schedule_lag_ns,
        &times.schedule_lag,
    );
    tags(&mut text, report, result);
    text.0
}

/// Adds the figures by tag, if there are tags. The format requires that a metric's rows are
/// together.
fn tags(text: &mut Text, report: &Report, result: &LoadResult) {
    if report.tags.is_empty() {
        return;
    }
    let name = "stampede_tag_requests_total";
    text.about(name, "counter", "Requests that ended, by tag and outcome.");
    for (tag, figures) in &report.tags {
        text.row(name, &[("tag", tag), ("outcome", "ok")], figures.requests_ok as f64);
        text.row(name, &[("tag", tag), ("outcome", "failed")], figures.requests_failed as f64);
    }
    let response = report.tags.iter().filter_map(|(tag, figures)| {
        let histogram = &result.tags.get(tag)?.response_time;
        Some((tag, figures.response_time_ok_ns.as_ref()?, histogram))
    });
    let service = report.tags.iter().filter_map(|(tag, figures)| {
        Some((tag, &figures.service_time_ok_ns, &result.tags.get(tag)?.service_time))
    });
    let due = "From when a request was due, of the ok ones of a tag.";
    let started = "From when a request was started, of the ok ones of a tag.";
    text.tagged("stampede_tag_response_time_seconds", due, &response.collect::<Vec<_>>());
    text.tagged("stampede_tag_service_time_seconds", started, &service.collect::<Vec<_>>());
}

/// Returns name, type, help text and value of the metrics without labels.
fn singles(report: &Report) -> [(&'static str, &'static str, &'static str, Option<f64>); 9] {
    let cpu = report.cpu_ns_per_request.map(|ns| ns as f64 / 1e9);
    let some = |count: u64| Some(count as f64);
    [
        ("stampede_duration_seconds", "gauge", "Length of the schedule.", Some(report.duration_s)),
        ("stampede_offered_per_second", "gauge", "Requests due.", report.offered_per_s),
        (
            "stampede_throughput_per_second",
            "gauge",
            "Correct answers inside the schedule.",
            Some(report.throughput_per_s),
        ),
        ("stampede_received_bytes_total", "counter", "Bytes read.", some(report.bytes_in)),
        ("stampede_sent_bytes_total", "counter", "Bytes written.", some(report.bytes_out)),
        (
            "stampede_connections_opened_total",
            "counter",
            "Connections opened.",
            some(report.connections),
        ),
        (
            "stampede_in_flight_max",
            "gauge",
            "Highest number of requests in flight.",
            Some(f64::from(report.in_flight_max)),
        ),
        ("stampede_cpu_seconds_per_request", "gauge", "CPU time of the load threads.", cpu),
        (
            "stampede_busy_share_max",
            "gauge",
            "Share of the busiest load thread's time spent on work.",
            Some(report.busy_share_max),
        ),
    ]
}

struct Text(String);

impl Text {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a `String` cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn row(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let value = if value.is_infinite() { "+Inf".to_owned() } else { format!("{value}") };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    /// Adds a summary of `all`. Its sum and count come from the histogram.
    fn summary(&mut self, name: &str, help: &str, all: &TimesNs, histogram: &Times) {
        self.about(name, "summary", help);
        self.figures(name, &[], all, histogram);
    }

    /// Adds a summary for each tag. Its sum and count come from the tag's histogram.
    fn tagged(&mut self, name: &str, help: &str, tags: &[(&String, &TimesNs, &Times)]) {
        if !tags.is_empty() {
            self.about(name, "summary", help);
        }
        for (tag, times, histogram) in tags {
            self.figures(name, &[("tag", tag)], times, histogram);
        }
    }

    fn figures(&mut self, name: &str, labels: &[(&str, &str)], all: &TimesNs, histogram: &Times) {
        let quantiles = [
            ("0.5", all.p50),
            ("0.75", all.p75),
            ("0.9", all.p90),
            ("0.95", all.p95),
            ("0.99", all.p99),
            ("0.999", all.p999),
            ("1", all.max),
        ];
        for (quantile, time) in quantiles {
            let value = match time {
                TimeNs::Ns(ns) => ns as f64 / 1e9,
                TimeNs::Failed(_) => f64::INFINITY,
                TimeNs::Unknown(()) => continue,
            };
            self.row(name, &[labels, &[("quantile", quantile)]].concat(), value);
        }
        let count = histogram.len() as f64;
        self.row(&format!("{name}_sum"), labels, histogram.mean() * count / 1e9);
        self.row(&format!("{name}_count"), labels, count);
    }
}

/// Escapes backslash, quote and line feed, which have a meaning in the format.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
