//! Further findings of a load: problems with a request file, and an example of each kind of
//! failure.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_load::example;
use stampede_load::report::LoadResult;
use stampede_mask::{mask_foreign, mask_secrets};
use stampede_model::counts::End;
use stampede_model::fact::{Fact, Generator, Traffic};
use stampede_model::load::Model;
use stampede_model::record::Validity;
use stampede_model::sample::ResourceSample;
use stampede_traffic::Tags;
use stampede_verdict::Judgement;

/// The first failed request of a kind, with secrets masked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Example {
    /// Kind of the failure: a key of `errors`.
    pub kind: String,
    /// Time of its end in seconds, since the load began.
    pub at_s: f64,
    /// Method and path of the request, cut where they are long.
    pub request: String,
    /// Tag of the request; empty if it has none.
    pub tag: String,
    /// Service time: done − started.
    pub service_time_ns: u64,
    /// HTTP status; null if the head of the answer did not arrive.
    pub status: Option<u16>,
    /// What arrived instead of a correct answer, in words.
    pub found: String,
    /// Head of the answer, or the bytes that arrived instead; at most 4 KiB.
    pub head: String,
    /// Beginning of the answer's body; at most 2 KiB.
    pub body: String,
}

/// Returns all examples of a load.
pub fn examples(result: &LoadResult, tags: &Tags) -> Vec<Example> {
    let shown = |example: &example::Example| Example {
        kind: example.kind.clone(),
        at_s: example.at.as_secs_f64(),
        request: mask_secrets(&example.request),
        tag: tags.name(example.tag).to_string(),
        service_time_ns: example.service_time.0,
        status: example.status,
        found: mask_secrets(&example.found),
        head: printable(&example.head),
        body: printable(&example.body),
    };
    result.examples.iter().map(shown).collect()
}

/// Converts bytes of a server to text without secrets, and without characters that control a
/// terminal.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let shown = |letter: char| letter == '\n' || letter == '\t' || !letter.is_control();
    let text: String =
        text.chars().map(|letter| if shown(letter) { letter } else { '\u{fffd}' }).collect();
    mask_foreign(&text)
}

/// Returns facts that the reader should know and that do not affect the verdict.
pub fn notes(result: &LoadResult, model: &Model) -> impl Iterator<Item = Judgement> {
    let traffic = [about_slow_connects(result), about_early_end(result, model)];
    traffic.into_iter().flatten().map(Fact::from).map(|note| (Validity::Valid, note))
}

/// Reports a CPU quota that stopped the generator for some time.
pub fn about_quota(aside: &ResourceSample) -> Option<Generator> {
    let throttled_ns = aside.throttled_ns;
    (throttled_ns > 0).then_some(Generator::Throttled { throttled_ns })
}

/// Reports connections whose first packet got no answer.
fn about_slow_connects(result: &LoadResult) -> Option<Traffic> {
    let times = &result.connect_time;
    let connections = times.histogram().count_between(ASKED_AGAIN_NS, u64::MAX);
    let opened = times.len();
    (connections > 0).then_some(Traffic::SlowConnects { connections, opened })
}

/// Reports a schedule whose requests ran out before its end.
fn about_early_end(result: &LoadResult, model: &Model) -> Option<Traffic> {
    let Model::Open { schedule, .. } = model else { return None };
    let is_over = result.end == End::Complete && result.scheduled < schedule.length();
    let (requests, after_ns) = (result.counts.planned, result.scheduled.0);
    is_over.then_some(Traffic::RequestsOver { requests, after_ns })
}

/// Returns facts about the request file, and about lost records.
pub fn about_traffic(result: &LoadResult) -> Vec<Judgement> {
    let traffic = &result.traffic;
    let mut found: Vec<Judgement> = Vec::new();
    if let Some(failure) = traffic.failed.clone() {
        found.push((Validity::Invalid, Traffic::FileFailed { failure }.into()));
    }
    if let Some((line, error)) = traffic.broken_first.clone() {
        let entries = traffic.broken;
        found.push((Validity::Suspect, Traffic::FileBroken { entries, line, error }.into()));
    }
    for (why, count) in &traffic.skipped {
        let skipped = Traffic::FileSkipped { entries: *count, why: why.clone() };
        found.push((Validity::Valid, skipped.into()));
    }
    for (name, requests) in &traffic.left_out_headers {
        let (name, requests) = (mask_foreign(name), *requests);
        found.push((Validity::Valid, Traffic::FileHeader { name, requests }.into()));
    }
    if let Some(host) = &traffic.other_host {
        let host = mask_secrets(host);
        found.push((Validity::Valid, Traffic::FileOtherHost { host }.into()));
    }
    if let Some(within) = traffic.shuffled_within {
        found.push((Validity::Valid, Traffic::FileShuffled { within }.into()));
    }
    if result.records_lost > 0 {
        let lost = Generator::RecordsLost { requests: result.records_lost };
        found.push((Validity::Valid, lost.into()));
    }
    found
}

/// Linux sends the SYN again after 1 s, 3 s and 7 s (tcp(7), `tcp_syn_retries`).
const ASKED_AGAIN_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_without_throttling_is_not_reported() {
        let aside = |throttled_ns| ResourceSample { throttled_ns, ..ResourceSample::default() };
        assert_eq!(about_quota(&aside(0)), None);
        let note = about_quota(&aside(1_500_000)).expect("it was held back");
        assert_eq!(
            note.to_string().replace('\u{202f}', " "),
            "a CPU quota held the generator back for 1.50 ms"
        );
    }
}
