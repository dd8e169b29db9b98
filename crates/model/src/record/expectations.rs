//! The expectations of a run on disk: the text of each, and once for each text its meaning.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::expectation::Expectation;

/// The expectations of a run. On disk, `expect` and `expect_by_load` have their texts, and
/// `expectations` has the figure, relation and limit of each text. Runs of earlier versions have
/// only the texts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "OnDisk", into = "OnDisk")]
pub struct Expectations {
    /// Expectations for every load.
    pub of_run: Vec<WrittenExpectation>,
    /// Additional expectations for single loads, by the load's name.
    pub by_load: BTreeMap<String, Vec<WrittenExpectation>>,
}

impl Expectations {
    /// All expectations, of the run and of single loads.
    pub fn all(&self) -> impl Iterator<Item = &WrittenExpectation> {
        self.of_run.iter().chain(self.by_load.values().flatten())
    }

    /// The expectations for a load: those of the run and its own.
    pub fn of_load(&self, load: &str) -> impl Iterator<Item = &WrittenExpectation> {
        self.of_run.iter().chain(self.by_load.get(load).into_iter().flatten())
    }
}

/// An expectation as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum WrittenExpectation {
    /// An expectation with a known meaning.
    Read(Expectation),
    /// The text of an expectation by a later version, which cannot be read here.
    Unread(String),
}

impl WrittenExpectation {
    /// The text as it was written.
    pub fn text(&self) -> &str {
        match self {
            WrittenExpectation::Read(expectation) => &expectation.text,
            WrittenExpectation::Unread(text) => text,
        }
    }

    /// The meaning; `None`: it cannot be read here.
    pub fn read(&self) -> Option<&Expectation> {
        match self {
            WrittenExpectation::Read(expectation) => Some(expectation),
            WrittenExpectation::Unread(_) => None,
        }
    }
}

impl From<Expectation> for WrittenExpectation {
    fn from(expectation: Expectation) -> WrittenExpectation {
        WrittenExpectation::Read(expectation)
    }
}

/// Reads an expectation from its text alone.
impl From<&str> for WrittenExpectation {
    fn from(text: &str) -> WrittenExpectation {
        let unread = |_| WrittenExpectation::Unread(text.to_owned());
        text.parse().map_or_else(unread, WrittenExpectation::Read)
    }
}

/// The keys of `run.json`.
#[derive(Serialize, Deserialize)]
struct OnDisk {
    expect: Vec<String>,
    #[serde(default)]
    expect_by_load: BTreeMap<String, Vec<String>>,
    /// The meaning of each text, once. A later version wrote those that cannot be read here.
    #[serde(default)]
    expectations: Vec<ExpectationMeaning>,
}

/// The meaning of a text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ExpectationMeaning {
    Known(Expectation),
    Later(serde_json::Value),
}

impl From<Expectations> for OnDisk {
    fn from(all: Expectations) -> OnDisk {
        let mut expectations: Vec<Expectation> = Vec::new();
        for one in all.all().filter_map(WrittenExpectation::read) {
            if !expectations.contains(one) {
                expectations.push(one.clone());
            }
        }
        let texts = |list: &Vec<WrittenExpectation>| -> Vec<String> {
            list.iter().map(|one| one.text().to_owned()).collect()
        };
        OnDisk {
            expect: texts(&all.of_run),
            expect_by_load: all
                .by_load
                .iter()
                .map(|(load, own)| (load.clone(), texts(own)))
                .collect(),
            expectations: expectations.into_iter().map(ExpectationMeaning::Known).collect(),
        }
    }
}

impl From<OnDisk> for Expectations {
    fn from(disk: OnDisk) -> Expectations {
        let said = |text: &String| {
            let known = disk.expectations.iter().find_map(|said| match said {
                ExpectationMeaning::Known(one) if one.text == *text => Some(one.clone().into()),
                ExpectationMeaning::Known(_) | ExpectationMeaning::Later(_) => None,
            });
            known.unwrap_or_else(|| WrittenExpectation::from(text.as_str()))
        };
        let all = |texts: &Vec<String>| texts.iter().map(said).collect();
        Expectations {
            of_run: all(&disk.expect),
            by_load: disk
                .expect_by_load
                .iter()
                .map(|(load, own)| (load.clone(), all(own)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_written_beside_the_texts_and_read_back() {
        let all = Expectations {
            of_run: vec!["p95 < 100ms".into(), "from the future".into()],
            by_load: [("day".to_owned(), vec!["ok worse <= 1%".into(), "p95 < 100ms".into()])]
                .into(),
        };
        let written = serde_json::to_value(&all).unwrap();
        let expectations = json!([
            {"text": "p95 < 100ms", "figure": "p95", "worse": false, "relation": "<", "limit": 1e8},
            {"text": "ok worse <= 1%", "figure": "ok", "worse": true, "relation": "<=", "limit": 0.01},
        ]);
        let disk = json!({
            "expect": ["p95 < 100ms", "from the future"],
            "expect_by_load": {"day": ["ok worse <= 1%", "p95 < 100ms"]},
            "expectations": expectations,
        });
        assert_eq!(written, disk);
        assert_eq!(serde_json::from_value::<Expectations>(written).unwrap(), all);
    }

    #[test]
    fn a_run_with_texts_only_is_read_and_fields_take_precedence_over_texts() {
        let alone = json!({"expect": ["p95 < 100ms"]});
        let read: Expectations = serde_json::from_value(alone).unwrap();
        assert_eq!(read.of_run[0].read(), "p95 < 100ms".parse().ok().as_ref());
        let fields = json!({"text": "quick", "figure": "p95", "worse": false, "relation": "<",
                            "limit": 1e8});
        let later = json!({"text": "p95 ~ 1ms", "figure": "p95", "relation": "~", "limit": 1e6});
        let both = json!({"expect": ["quick", "p95 ~ 1ms"], "expectations": [fields, later]});
        let read: Expectations = serde_json::from_value(both).unwrap();
        assert_eq!(read.of_run[0].read().map(|one| one.bound.limit), Some(1e8));
        assert_eq!(read.of_run[1], WrittenExpectation::Unread("p95 ~ 1ms".to_owned()));
    }
}
