//! What `fire` found, for people and for machines.

use serde_json::{Map, Value, json};
use stampede_load::outcome;
use stampede_load::report::Fired;
use stampede_load::spec::{Arrivals, Model};

use crate::plan::model::LoadChoice;
use crate::progress::words;
use crate::report::figure_text;
use crate::store::mask_secrets;
use crate::store::record::LoadRecord;
use crate::summary::model::{Figure, Figures, LoadModel, Stat, TimeFigures};
use crate::summary::{self, words as figure_words};
use crate::trial::cells;

/// A load that was fired at a URL.
pub struct Shot<'a> {
    /// Where to, secrets and all.
    pub url: &'a str,
    /// What was asked for.
    pub choice: &'a LoadChoice,
    /// What came back.
    pub fired: &'a Fired,
    /// The same as in `trial.json`.
    pub record: &'a LoadRecord,
}

impl Shot<'_> {
    fn model(&self) -> LoadModel {
        match self.choice.model {
            Model::Open { .. } => LoadModel::Open,
            Model::Closed { .. } => LoadModel::Closed,
        }
    }

    fn seed(&self) -> Option<u64> {
        match self.choice.model {
            Model::Open { arrivals: Arrivals::Poisson { seed }, .. } => Some(seed),
            _ => None,
        }
    }

    fn figures(&self) -> Figures {
        summary::of_load(self.record, &self.fired.times, self.model())
    }

    /// The summary in words and figures.
    pub fn text(&self) -> String {
        let figures = self.figures();
        let mut text = self.heading();
        for (name, value) in self.rows(&figures) {
            text.push_str(format!("  {name:<16} {value}").trim_end());
            text.push('\n');
        }
        if self.model() == LoadModel::Open {
            let title = "response time (from when each shot was due)";
            text.push_str(&times(title, &figures.response_time_ns));
        }
        let title = "service time (from when each shot was started)";
        text.push_str(&times(title, &figures.service_time_ns));
        if matches!(figures.throughput_per_second, Figure::AtLeast(_)) {
            text.push_str("\n  ≥: the generator was the limit\n");
        }
        text
    }

    fn heading(&self) -> String {
        let kept = if self.record.keep_alive { "keep-alive" } else { "a connection per shot" };
        let arrivals =
            self.seed().map_or(String::new(), |seed| format!(", Poisson arrivals (--seed {seed})"));
        format!(
            "{}{arrivals} at {}, client {} ({kept})\n\n",
            cells::load_text(&self.choice.model),
            mask_secrets(self.url),
            self.choice.client.name
        )
    }

    fn rows(&self, figures: &Figures) -> Vec<(String, String)> {
        let counts = &self.fired.counts;
        let shots = format!(
            "{} planned, {} ok, {} failed, {} dropped",
            words::count(counts.planned),
            words::count(counts.ok),
            words::count(counts.failed_total()),
            words::count(counts.dropped)
        );
        let rate = |figure| format!("{}/s", figure_text(figure, words::rate));
        let received = figure_text(figures.received_bytes_per_second, words::bytes);
        let at_most = words::count(u64::from(self.fired.in_flight_max));
        let mut rows = vec![("shots", shots)];
        if self.model() == LoadModel::Open {
            rows.push(("offered rate", rate(figures.offered_per_second)));
        }
        let throughput = format!("{} correct answers", rate(figures.throughput_per_second));
        rows.push(("throughput", throughput));
        rows.push(("received", format!("{received}/s")));
        rows.push(("in flight", format!("{at_most} at most")));
        rows.push((
            "connections",
            format!("{} opened", words::count(self.fired.connections.opened)),
        ));
        for (kind, count) in &counts.failed {
            let meaning = outcome::meaning(kind).unwrap_or_default();
            rows.push((kind, format!("{:<8} {meaning}", words::count(*count))));
        }
        if self.record.clipped > 0 {
            let clipped = words::count(self.record.clipped);
            rows.push((
                "clipped",
                format!("{clipped} shots took longer than an hour, counted as an hour"),
            ));
        }
        if self.fired.stretched > 1.001 {
            rows.push(("stretched", format!("{:.2} × the planned length", self.fired.stretched)));
        }
        if self.model() == LoadModel::Open {
            let late = words::time_ns(self.record.lateness_ns_p99);
            let rank = if counts.started < 100 { "at most" } else { "at p99" };
            rows.push(("lateness", format!("{late} {rank} (the generator's own)")));
        }
        rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// The summary for machines: figures by the names and in the shape of `summary.json`.
    pub fn json(&self) -> serde_json::Result<Value> {
        let all = serde_json::to_value(self.figures())?;
        let figures: Map<String, Value> =
            FIGURES.iter().map(|name| ((*name).to_owned(), all[name].clone())).collect();
        Ok(json!({
            "format": crate::store::record::FORMAT,
            "stampede": env!("CARGO_PKG_VERSION"),
            "url": mask_secrets(self.url),
            "load_text": cells::load_text(&self.choice.model),
            "model": self.model(),
            "poisson_seed": self.seed(),
            "load": self.record,
            "figures": figures,
        }))
    }
}

fn times(title: &str, times: &TimeFigures) -> String {
    let mut text = format!("\n  {title}\n");
    for stat in Stat::ALL {
        let figure = times.get(stat);
        if !matches!(figure, Figure::TooFew | Figure::None) {
            let value = figure_text(figure, figure_words::time);
            text.push_str(&format!("    {:<6} {value}\n", stat.to_string()));
        }
    }
    text
}

/// Those that a load has by itself.
const FIGURES: [&str; 11] = [
    "response_time_ns",
    "response_time_ns_ok",
    "service_time_ns",
    "service_time_ns_ok",
    "connection_wait_ns_p99",
    "lateness_ns_p99",
    "ok_share",
    "offered_per_second",
    "throughput_per_second",
    "received_bytes_per_second",
    "sent_bytes_per_second",
];
