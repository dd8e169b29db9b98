//! Removes secrets from everything that stampede writes and prints, because people publish their
//! results.
//!
//! A secret is found in two ways. One is its form: `DB_PASS=…`, `Cookie: …`, `//user:…@host`
//! (`shapes`, `names`). The other is its value. Under such a name in a plan, a flag, a header, a
//! request or an app's `.env` it is learnt when it is read. From then on it is masked everywhere,
//! also in the spelling of an app, a URL or JSON (`known`).
//!
//! Some values are masked only after their names: values of less than 4 characters, numbers of less
//! than 6 digits, words that occur everywhere (`root`, `true`, `localhost`), and stampede's own
//! words (`valid`, `workers`, `own`). The last are masked by value too in text that others wrote,
//! which is logs and answers of the app. Numbers, values of less than 8 characters, and values of
//! less than 16 characters that are letters only are masked only as separate words. The longest of
//! several matches is masked first. A secret that has an innocent name and looks like other text
//! stays.
//!
//! Masking never breaks a record: it changes no names in JSON, and no text that is one of
//! stampede's own words.

mod json;
mod known;
mod learn;
mod names;
mod own;
mod shapes;
mod tokens;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

pub use learn::{args, header, named, requests_file, text};

use known::KnownSecrets;

/// The text in place of a secret.
pub const MASK: &str = "***";

/// The secrets of this process. They are learnt when they are read, and never forgotten.
static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets::new());

/// Returns `text` with `***` in place of known secrets and of everything that looks like a secret.
/// This is a guess that masks too much rather than too little.
pub fn mask_secrets(text: &str) -> String {
    mask_text_with(&KNOWN.read().unwrap_or_else(PoisonError::into_inner), text)
}

/// Does the same for text that others wrote, such as a log or an answer of the app. In such text,
/// secrets that are also words of stampede's own are masked too.
pub fn mask_foreign(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    without_shapes(known.mask_foreign(text))
}

fn mask_text_with(known: &KnownSecrets, text: &str) -> String {
    without_shapes(known.mask(text))
}

fn without_shapes(text: Cow<'_, str>) -> String {
    let places = shapes::places(&text);
    if places.is_empty() { text.into_owned() } else { known::masked(&text, places) }
}

/// Returns `text` without the known secrets. For text in which values have no names any more, such
/// as a page.
pub fn mask_known(text: &str) -> Cow<'_, str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).mask(text)
}

/// Does the same, and also masks the values of `env` that are secret by their name or form.
pub fn mask_env(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut known = KnownSecrets::new();
    env.iter().for_each(|(name, value)| learn::named_into(&mut known, name, value));
    known.mask(&mask_known(text)).into_owned()
}

/// Returns JSON, or lines of JSON, with [`mask_secrets`] applied to each text. No field name and no
/// word of stampede's own is masked, so the result stays readable whatever the secrets are.
pub fn mask_json(text: &str) -> String {
    mask_json_with(&KNOWN.read().unwrap_or_else(PoisonError::into_inner), text)
}

fn mask_json_with(known: &KnownSecrets, text: &str) -> String {
    let mask = |value: &str| Some(mask_text_with(known, value)).filter(|masked| masked != value);
    json::strings(text, mask, |name| names::secrecy_of(name).is_some())
}

/// Masks text for output. JSON stays JSON.
pub fn mask_printed(text: &str) -> Cow<'_, str> {
    let is_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !is_json {
        return mask_known(text);
    }
    let mask = |value: &str| match mask_known(value) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    };
    Cow::Owned(json::strings(text, mask, |_| false))
}

/// Whether the value of a field with this name counts as a secret.
#[cfg(test)]
pub fn is_secret_name(name: &str) -> bool {
    names::secrecy_of(name).is_some()
}

/// Writes text without the values that are known to be secrets.
#[derive(Debug)]
pub struct MaskingWriter<W: Write>(pub W);

impl<W: Write> Write for MaskingWriter<W> {
    /// Masks each call by itself.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(mask_known(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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

    use super::*;
    use crate::store::record::{LogEvidence, LogSignal, RunRecord, TrialRecord, Validity};
    use crate::summary::{RunData, Summary};

    fn run() -> RunRecord {
        serde_json::from_str(include_str!("../../tests/runs/format-1/run.json")).expect("a run")
    }

    fn trial() -> TrialRecord {
        let text = include_str!("../../tests/runs/format-1/trials/001-x/trial.json");
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
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/runs/format-1");
        let stored = crate::store::read_run(Path::new(directory)).expect("a run");
        crate::summary::summarize(&RunData::read(&stored).expect("its trials"))
    }

    static RECORDS: LazyLock<(RunRecord, TrialRecord, Summary)> =
        LazyLock::new(|| (run(), trial(), summary()));

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
                let is_own = own::is_of_record(before) && names::secrecy_of(name).is_none();
                assert!(!is_own || before == after, "{name}: `{before}` is `{after}`");
            }
            (Value::Array(before), Value::Array(after)) => {
                assert_eq!(before.len(), after.len(), "{name}");
                before.iter().zip(after).for_each(|(one, other)| assert_bones(one, other, name));
            }
            (Value::Object(before), Value::Object(after)) => {
                assert_eq!(before.len(), after.len(), "{name}");
                for ((name, one), (other_name, other)) in before.iter().zip(after) {
                    assert!(name == other_name || !json::is_field(name), "{name}: {other_name}");
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
        all_words().iter().for_each(|word| learn::named_into(&mut known, "DB_PASS", word));
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
            learn::named_into(&mut known, &name, &word);
            assert_all_readable(&known);
        }
    }
}
