//! What else came back: what became of a request file, and an example of each failure.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_load::example;
use stampede_load::report::{End, LoadResult};
use stampede_load::spec::Model;
use stampede_load::traffic::Tags;

use crate::fact::{Fact, Generator, Traffic};
use crate::mask::{mask_foreign, mask_secrets};
use crate::monitor::sample::ResourceSample;
use crate::store::record::Judged;
use crate::trial::verdict::Judgement;

/// The first failed request of a kind, secrets masked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Example {
    /// A key of `errors`.
    pub kind: String,
    /// When it ended, since the load began.
    pub at_s: f64,
    /// Tag of its request; empty: it has none.
    pub tag: String,
    /// done − started.
    pub service_time_ns: u64,
    /// Where its head came.
    pub status: Option<u16>,
    /// What there was instead of a correct answer, in words.
    pub found: String,
    /// Its head, or what came instead of one; 4 KiB at most.
    pub head: String,
    /// The beginning of its body; 2 KiB at most.
    pub body: String,
}

/// All of a load.
pub fn examples(result: &LoadResult, tags: &Tags) -> Vec<Example> {
    let shown = |example: &example::Example| Example {
        kind: example.kind.clone(),
        at_s: example.at.as_secs_f64(),
        tag: tags.name(example.tag).to_string(),
        service_time_ns: example.service_time.0,
        status: example.status,
        found: mask_secrets(&example.found),
        head: harmless(&example.head),
        body: harmless(&example.body),
    };
    result.examples.iter().map(shown).collect()
}

/// A stranger's bytes as text that does nothing to a terminal and tells no secret.
fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let shown = |letter: char| letter == '\n' || letter == '\t' || !letter.is_control();
    let text: String =
        text.chars().map(|letter| if shown(letter) { letter } else { '\u{fffd}' }).collect();
    mask_foreign(&text)
}

/// What a reader of the result must know, and what counts against nobody.
pub fn notes(result: &LoadResult, model: &Model) -> impl Iterator<Item = Judgement> {
    let naps = about_naps(result).map(Fact::from);
    let traffic = [about_slow_connects(result), about_early_end(result, model)];
    naps.into_iter()
        .chain(traffic.into_iter().flatten().map(Fact::from))
        .map(|note| (Judged::Valid, note))
}

/// Short sleeps of the generator, which an answer may have come in.
fn about_naps(result: &LoadResult) -> Option<Generator> {
    let naps = result.naps.count;
    let mean_ns = result.naps.lasted.0.checked_div(naps)?;
    Some(Generator::Naps { naps, mean_ns })
}

/// A CPU quota that held the generator back.
pub fn about_quota(aside: &ResourceSample) -> Option<Generator> {
    let throttled_ns = aside.throttled_ns;
    (throttled_ns > 0).then_some(Generator::Throttled { throttled_ns })
}

/// Connections whose first packet was not answered.
fn about_slow_connects(result: &LoadResult) -> Option<Traffic> {
    let times = &result.connect_time;
    let connections = times.histogram().count_between(ASKED_AGAIN_NS, u64::MAX);
    let opened = times.len();
    (connections > 0).then_some(Traffic::SlowConnects { connections, opened })
}

/// A schedule whose traffic was over before.
fn about_early_end(result: &LoadResult, model: &Model) -> Option<Traffic> {
    let Model::Open { schedule, .. } = model else { return None };
    let is_over = result.end == End::Complete && result.scheduled < schedule.length();
    let (requests, after_ns) = (result.counts.planned, result.scheduled.0);
    is_over.then_some(Traffic::RequestsOver { requests, after_ns })
}

/// What a reader of the result must know of the file of requests, and of records that were lost.
pub fn about_traffic(result: &LoadResult) -> Vec<Judgement> {
    let traffic = &result.traffic;
    let mut found: Vec<Judgement> = Vec::new();
    if let Some(error) = traffic.failed.clone() {
        found.push((Judged::Invalid, Traffic::FileFailed { error }.into()));
    }
    if let Some(first) = traffic.broken_first.clone() {
        let entries = traffic.broken;
        found.push((Judged::Suspect, Traffic::FileBroken { entries, first }.into()));
    }
    for (why, count) in &traffic.skipped {
        let skipped = Traffic::FileSkipped { entries: *count, why: why.to_string() };
        found.push((Judged::Valid, skipped.into()));
    }
    if let Some(host) = &traffic.other_host {
        let host = mask_secrets(host);
        found.push((Judged::Valid, Traffic::FileOtherHost { host }.into()));
    }
    if let Some(within) = traffic.shuffled_within {
        found.push((Judged::Valid, Traffic::FileShuffled { within }.into()));
    }
    if result.records_lost > 0 {
        let lost = Generator::RecordsLost { requests: result.records_lost };
        found.push((Judged::Valid, lost.into()));
    }
    found
}

/// Linux asks for a connection again after 1 s, 3 s and 7 s (tcp(7), `tcp_syn_retries`).
const ASKED_AGAIN_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_that_held_nothing_back_is_no_matter() {
        let aside = |throttled_ns| ResourceSample { throttled_ns, ..ResourceSample::default() };
        assert_eq!(about_quota(&aside(0)), None);
        let said = about_quota(&aside(1_500_000)).expect("it was held back");
        assert_eq!(
            said.to_string().replace('\u{202f}', " "),
            "a CPU quota held the generator back for 1.50 ms"
        );
    }
}
