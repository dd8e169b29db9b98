//! The words of stampede's own, which `build.rs` lists. They stay as they are in records and pages
//! even where a secret is one of them.

/// Gives the words to the masker. Called first, before anything is read or printed.
pub fn set() {
    stampede_mask::set_own_words(include_str!(concat!(env!("OUT_DIR"), "/own_words.txt")));
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use proptest::sample::select;
    use serde::Serialize;
    use serde::de::DeserializeOwned;
    use serde_json::Value;
    use stampede_mask::{
        KnownSecrets, is_field, is_of_record, is_own, is_secret_name, mask_json_with, named_into,
    };
    use stampede_model::record::{LogEvidence, LogSignal, RunRecord, TrialRecord, Validity};
    use stampede_results::summary::{RunData, Summary};

    use super::set;

    fn run() -> RunRecord {
        serde_json::from_str(include_str!("../../results/tests/runs/format-1/run.json"))
            .expect("a run")
    }

    fn trial() -> TrialRecord {
        let text = include_str!("../../results/tests/runs/format-1/trials/001-x/trial.json");
        let mut trial: TrialRecord = serde_json::from_str(text).expect("a trial");
        let means = [
            LogSignal::WebServerLimit,
            LogSignal::UpstreamGone500,
            LogSignal::PhpMemory,
            LogSignal::Other,
        ];
        let log_entry =
            |means| LogEvidence { program: "php".into(), means, lines: 1, first: "x".into() };
        trial.runtime.said = means.map(log_entry).into();
        trial.verdict.judged = Validity::Suspect;
        trial
    }

    fn summary() -> Summary {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../results/tests/runs/format-1");
        let stored = stampede_results::store::read_run(Path::new(directory)).expect("a run");
        stampede_results::summary::summarize(&RunData::read(&stored).expect("its trials"))
    }

    /// Also sets the words.
    static RECORDS: LazyLock<(RunRecord, TrialRecord, Summary)> = LazyLock::new(|| {
        set();
        (run(), trial(), summary())
    });

    /// Collects every name and every text in a value.
    fn words(value: &Value, all: &mut Vec<String>) {
        match value {
            Value::String(text) => all.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| words(item, all)),
            Value::Object(map) => map.iter().for_each(|(name, value)| {
                all.push(name.clone());
                words(value, all);
            }),
            _ => {}
        }
    }

    /// Asserts that names, numbers, structure and stampede's own words are unchanged.
    fn assert_bones(before: &Value, after: &Value, name: &str) {
        match (before, after) {
            (Value::String(before), Value::String(after)) => {
                let is_own = is_of_record(before) && !is_secret_name(name);
                assert!(!is_own || before == after, "{name}: `{before}` is `{after}`");
            }
            (Value::Array(before), Value::Array(after)) => {
                assert_eq!(before.len(), after.len(), "{name}");
                before.iter().zip(after).for_each(|(one, other)| assert_bones(one, other, name));
            }
            (Value::Object(before), Value::Object(after)) => {
                assert_eq!(before.len(), after.len(), "{name}");
                for ((name, one), (other_name, other)) in before.iter().zip(after) {
                    assert!(name == other_name || !is_field(name), "{name}: {other_name}");
                    assert_bones(one, other, name);
                }
            }
            _ => assert_eq!(before, after, "{name}"),
        }
    }

    fn assert_readable<T: Serialize + DeserializeOwned>(record: &T, known: &KnownSecrets) {
        let text = serde_json::to_string_pretty(record).expect("JSON");
        let masked = mask_json_with(known, &text);
        let read: T =
            serde_json::from_str(&masked).unwrap_or_else(|error| panic!("{error}\n{masked}"));
        let (before, after) = (serde_json::to_value(record), serde_json::to_value(&read));
        assert_bones(&before.expect("JSON"), &after.expect("JSON"), "");
    }

    fn assert_all_readable(known: &KnownSecrets) {
        let (run, trial, summary) = &*RECORDS;
        assert_readable(run, known);
        assert_readable(trial, known);
        assert_readable(summary, known);
    }

    fn all_words() -> Vec<String> {
        let mut all = Vec::new();
        words(&serde_json::to_value(&*RECORDS).expect("JSON"), &mut all);
        all
    }

    #[test]
    fn no_word_of_a_record_breaks_it() {
        let mut known = KnownSecrets::new();
        all_words().iter().for_each(|word| named_into(&mut known, "DB_PASS", word));
        assert_all_readable(&known);
    }

    proptest! {
        #[test]
        fn no_secret_breaks_a_record(
            word in prop_oneof![
                select(all_words()),
                "[a-z_-]{3,16}",
                "[a-z0-9]{4,12}",
                "\\PC{1,30}",
                (select(all_words()), 0..8_usize, 4..20_usize).prop_map(|(word, from, count)| {
                    word.chars().skip(from).take(count).collect()
                }),
            ],
            name in "(DB_PASS|key|token|LOCK_DSN|REDIS_AUTH)",
        ) {
            let mut known = KnownSecrets::new();
            named_into(&mut known, &name, &word);
            assert_all_readable(&known);
        }
    }

    #[test]
    fn own_words_are_recognised() {
        set();
        let own = "runtime valid throughput workers service planned  verdict counts requests_planned slow \
                   throughput_per_s max_time max-time webserverlimit upstream-gone-500 Throughput";
        for word in own.split_whitespace() {
            assert!(is_own(word), "{word}");
        }
        assert!(is_own("per request") && is_own("ok requests"));
        for text in [
            "hunter2",
            "correcthorse",
            "swordfish",
            "opensesame",
            "letmein",
            "s3cr3t",
            "Tr0ub4dor",
            "correct-horse",
            "correct horse battery staple",
            "pl4nt3d",
            "qwertz",
            "sunflower",
            "iloveyou",
        ] {
            assert!(!is_own(text), "{text}");
        }
    }
}
