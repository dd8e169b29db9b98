//! What else came back: what became of an ammo file, and an example of each failure.

use schemars::JsonSchema;
use serde::Serialize;
use stampede_load::ammo::Tags;
use stampede_load::example;
use stampede_load::report::{End, Fired};
use stampede_load::spec::Model;

use crate::monitor::sample::ResourceSample;
use crate::store::mask_secrets;
use crate::store::record::Judged;
use crate::summary::words;

/// The first failed shot of a kind, secrets masked.
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
pub fn examples(fired: &Fired, tags: &Tags) -> Vec<Example> {
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
    fired.examples.iter().map(shown).collect()
}

/// A stranger's bytes as text that does nothing to a terminal and tells no secret.
fn harmless(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    let shown = |letter: char| letter == '\n' || letter == '\t' || !letter.is_control();
    let text: String =
        text.chars().map(|letter| if shown(letter) { letter } else { '\u{fffd}' }).collect();
    mask_secrets(&text)
}

/// What a reader of the result must know, and what counts against nobody.
pub fn notes(fired: &Fired, model: &Model) -> Vec<String> {
    [about_naps(fired), about_slow_connects(fired), about_early_end(fired, model)]
        .into_iter()
        .flatten()
        .collect()
}

/// Short sleeps of the generator, which an answer may have come in.
fn about_naps(fired: &Fired) -> Option<String> {
    let mean = fired.naps.lasted.0.checked_div(fired.naps.count)?;
    let (naps, mean) = (words::count(fired.naps.count), words::time(mean as f64));
    Some(format!(
        "{naps} times the generator slept while many answers were to come, {mean} on average: by up \
         to that an answer may have been there before it was seen"
    ))
}

/// A CPU quota that held the generator back.
pub fn about_quota(aside: &ResourceSample) -> Option<String> {
    let throttled = aside.throttled_ns;
    let length = words::time(throttled as f64);
    (throttled > 0).then(|| format!("a CPU quota held the generator back for {length}"))
}

/// Connections whose first packet was not answered.
fn about_slow_connects(fired: &Fired) -> Option<String> {
    let times = &fired.connect_time;
    let slow = times.histogram().count_between(ASKED_AGAIN_NS, u64::MAX);
    (slow > 0).then(|| {
        format!(
            "{} of {} connections took a second or more: the kernel asks again after one where the \
             server's queue of new ones is full (its backlog, `net.core.somaxconn`) or a packet was lost",
            words::count(slow),
            words::count(times.len())
        )
    })
}

/// A schedule whose ammo was over before.
fn about_early_end(fired: &Fired, model: &Model) -> Option<String> {
    let Model::Open { schedule, .. } = model else { return None };
    let is_over = fired.end == End::Complete && fired.scheduled < schedule.length();
    let (shots, after) =
        (words::count(fired.counts.planned), words::time(fired.scheduled.0 as f64));
    is_over
        .then(|| format!("the ammo was over after {shots} shots, in {after}: before the schedule"))
}

/// What a reader of the result must know of the file of requests, and of records that were lost.
pub fn about_ammo(fired: &Fired) -> Vec<(Judged, String)> {
    let ammo = &fired.ammo;
    let mut found = Vec::new();
    if let Some(why) = &ammo.failed {
        found.push((Judged::Invalid, format!("the ammo file could not be read to its end: {why}")));
    }
    if let Some(first) = &ammo.broken_first {
        let broken = match ammo.broken {
            1 => "one entry of the ammo is no request".to_owned(),
            broken => format!("{} entries of the ammo are no requests", words::count(broken)),
        };
        found.push((Judged::Suspect, format!("{broken}: {first}")));
    }
    for (reason, count) in &ammo.skipped {
        found.push((Judged::Valid, format!("ammo: {} skipped: {reason}", words::count(*count))));
    }
    if let Some(host) = &ammo.other_host {
        let text = format!(
            "ammo: URLs name other hosts, such as `{host}`; all went to the load's own address, with that name as \
             `Host`"
        );
        found.push((Judged::Valid, mask_secrets(&text)));
    }
    if let Some(within) = ammo.shuffled_within {
        let within = words::count(within);
        found.push((
            Judged::Valid,
            format!("ammo: shuffled among some {within} requests at a time"),
        ));
    }
    if fired.records_lost > 0 {
        let lost = words::count(fired.records_lost);
        let text = format!("{lost} shots are missing in the rows of shots: the disk was too slow");
        found.push((Judged::Valid, text));
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
            said.replace('\u{202f}', " "),
            "a CPU quota held the generator back for 1.50 ms"
        );
    }
}
