//! Findings as data: reasons of a verdict, notices of a run, differences between runtimes. Code
//! decides by the data. The sentence beside the data is for people.
//!
//! In a file each fact is an object: a stable `code`, its figures as fields, and `text`, the
//! sentence in English. Codes are never renamed. A fact of a later version and one of format 1 (a
//! sentence without a code) are kept as they are ([`Other`]). So a new code does not raise the
//! format.

pub mod app;
pub mod before;
mod behind;
mod cause;
mod change;
pub mod containers;
pub mod development;
mod directory_line;
pub mod external;
pub mod figure;
mod generator;
mod host_php;
pub mod limit_found;
mod look;
mod machine;
mod mismatch;
mod not_compared;
mod not_sent;
pub mod nothing;
mod notice;
mod notice_words;
pub mod observation;
pub mod pages;
pub mod php_proof;
mod reason;
mod request_file;
pub mod search;
mod server;
pub mod stored;
mod traffic;

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use before::Before;
pub use behind::Behind;
pub use cause::Cause;
pub use change::{ChangeFound, ChangeUnit, NoChange};
pub use directory_line::{DirectoryFiles, DirectoryLine, LineReason};
pub use figure::{FigureUnit, Found};
pub use generator::Generator;
pub use host_php::{HostLimit, HostSetting, LimitedSetting};
pub use limit_found::LimitFound;
pub use look::{IntervalOf, Look, Widest};
pub use machine::{Machine, ProcessCpus};
pub use mismatch::{Extension, IniValue, Mismatch, Php};
pub use not_compared::NotCompared;
pub use not_sent::NotSent;
pub use nothing::Nothing;
pub use notice::{NoPeak, Notice};
pub use observation::Observation;
pub use reason::Reason;
pub use request_file::{BrokenEntries, LeftOutPart, RequestFile, SkippedEntries};
pub use server::{ColdOpcache, Server, Unfit};
pub use traffic::{Failure, Queries, Traffic};

/// A kind of fact: an enum with a tag `code`, or a choice of several such enums.
pub trait Kind: fmt::Display + Serialize + DeserializeOwned {
    /// Name of the kind's schema.
    const NAME: &'static str;

    /// Description of the kind, for its schema.
    const ABOUT: &'static str;

    /// Schemas of the enums that have the kind's codes.
    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema>;
}

/// A fact that this version knows, or one that it can only show.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact<T> {
    /// A fact that this version knows.
    Known(T),
    /// A fact of a later version, or of format 1.
    Other(Other),
}

/// A fact that this version does not know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Other {
    /// The code; `text` for a sentence of format 1, which has no code.
    pub code: String,
    /// The sentence.
    pub text: String,
    /// The other fields.
    pub fields: Map<String, Value>,
}

impl Other {
    /// Whether this is a sentence of format 1.
    pub fn is_bare(&self) -> bool {
        self.code == BARE
    }
}

/// The code of a sentence of format 1.
const BARE: &str = "text";
const CODE: &str = "code";
const TEXT: &str = "text";

impl<T> Fact<T> {
    /// The fact as data. `None`: this version does not know it.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(known) => Some(known),
            Fact::Other(_) => None,
        }
    }

    /// Makes a fact of a sentence of format 1.
    pub fn bare(text: String) -> Fact<T> {
        Fact::Other(Other { code: BARE.to_owned(), text, fields: Map::new() })
    }
}

impl<T: Kind> Fact<T> {
    /// The fact's stable code, in lower case with underscores.
    pub fn code(&self) -> String {
        let code = self.fields().remove(CODE);
        code.and_then(|code| Some(code.as_str()?.to_owned())).unwrap_or_default()
    }

    /// The fact's sentence, even in a build that prints codes in its place.
    pub fn sentence(&self) -> String {
        match self {
            Fact::Known(known) => known.to_string(),
            Fact::Other(other) => other.text.clone(),
        }
    }

    fn fields(&self) -> Map<String, Value> {
        match self {
            Fact::Known(known) => match serde_json::to_value(known) {
                Ok(Value::Object(fields)) => fields,
                // Cannot happen: an enum with a tag serializes as an object.
                _ => Map::new(),
            },
            Fact::Other(other) => {
                let code = std::iter::once((CODE.to_owned(), other.code.clone().into()));
                code.chain(other.fields.clone()).collect()
            }
        }
    }
}

impl<T: Kind> From<T> for Fact<T> {
    fn from(known: T) -> Fact<T> {
        Fact::Known(known)
    }
}

/// The code of a fact, and the codes of the facts inside it.
fn codes(fields: &Map<String, Value>) -> Vec<String> {
    let own = fields.get(CODE).and_then(Value::as_str).map(str::to_owned);
    let inner = fields.values().flat_map(|value| match value {
        Value::Object(fields) => codes(fields),
        Value::Array(all) => all.iter().filter_map(Value::as_object).flat_map(codes).collect(),
        _ => Vec::new(),
    });
    own.into_iter().chain(inner).collect()
}

/// Prints the sentence. A build with the feature `codes-for-text` prints the code and the codes of
/// inner facts instead, to show that nothing depends on a sentence.
impl<T: Kind> fmt::Display for Fact<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            fact if cfg!(feature = "codes-for-text") => {
                f.write_str(&codes(&fact.fields()).join(" "))
            }
            fact => f.write_str(&fact.sentence()),
        }
    }
}

impl<T: Kind> Serialize for Fact<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = self.fields();
        fields.insert(TEXT.to_owned(), self.to_string().into());
        fields.serialize(serializer)
    }
}

impl<'de, T: Kind> Deserialize<'de> for Fact<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fact<T>, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Bare(String),
            Object(Map<String, Value>),
        }
        let mut fields = match Written::deserialize(deserializer)? {
            Written::Bare(text) => return Ok(Fact::bare(text)),
            Written::Object(fields) => fields,
        };
        if let Ok(known) = T::deserialize(Value::Object(fields.clone())) {
            return Ok(Fact::Known(known));
        }
        // A later version has another code, or other fields for this code.
        let mut take = |name: &str| match fields.shift_remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let (mut code, text) = (take(CODE), take(TEXT));
        if code.is_empty() {
            BARE.clone_into(&mut code);
        }
        Ok(Fact::Other(Other { code, text, fields }))
    }
}

/// One of the codes with its fields, plus `text`.
impl<T: Kind> JsonSchema for Fact<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let of_enum = |schema: Schema| match schema.to_value() {
            Value::Object(mut object) => match object.remove("oneOf") {
                Some(Value::Array(codes)) => codes,
                _ => Vec::new(),
            },
            _ => Vec::new(),
        };
        let mut codes: Vec<Value> =
            T::schemas(generator).into_iter().flat_map(of_enum).map(with_text).collect();
        codes.push(serde_json::json!({
            "description": "A sentence of a result of format 1, which had no codes.",
            "type": "object",
            "properties": {CODE: {"type": "string", "const": BARE}, TEXT: {"type": "string"}},
            "required": [CODE, TEXT],
        }));
        let mut schema = Map::new();
        schema.insert("description".to_owned(), T::ABOUT.into());
        schema.insert("oneOf".to_owned(), codes.into());
        schema.into()
    }
}

fn with_text(mut code: Value) -> Value {
    if let Some(properties) = code.get_mut("properties").and_then(Value::as_object_mut) {
        let text = serde_json::json!({"type": "string", "description": "The same as a sentence in English."});
        properties.insert(TEXT.to_owned(), text);
    }
    if let Some(required) = code.get_mut("required").and_then(Value::as_array_mut) {
        required.push(TEXT.into());
    }
    code
}

/// The JSON Schema of all kinds of facts, by name.
pub fn schema() -> Value {
    #[derive(JsonSchema)]
    #[allow(dead_code, reason = "its schema is all that is asked for")]
    struct Facts {
        /// Reasons and notes of a verdict: `reasons` and `notes`.
        reasons: Vec<Fact<Reason>>,
        /// Notices of a run.
        notices: Vec<Fact<Notice>>,
        /// Reasons why a row may not be compared with the others.
        not_comparable: Vec<Fact<Mismatch>>,
        /// What limited a row: `why`, and `held_back` of a rate.
        limits: Vec<Fact<LimitFound>>,
        /// The reason why a row is not compared with the baseline: `why_not`.
        not_compared: Vec<Fact<NotCompared>>,
        /// The reason why `check` does not send a request: `skipped[].why`.
        not_sent: Vec<Fact<NotSent>>,
        /// The reason why nothing can be said about a figure's change: `figures[].why_not` of `diff`.
        no_change: Vec<Fact<NoChange>>,
        /// The change that an expectation was about: `expectations[].found` of `diff`.
        changes: Vec<Fact<ChangeFound>>,
        /// The findings of `rounds: auto`: `auto.looks[].found`.
        looks: Vec<Fact<Look>>,
        /// PHP settings that the plan asked for in a row, and those that its SAPI decides: `asked`
        /// and `forced`.
        php: Vec<Fact<Php>>,
        /// Observations of a runtime before and after the load: its `notices`.
        observed: Vec<Fact<Observation>>,
    }
    let mut schema = schemars::schema_for!(Facts);
    schema.insert("title".to_owned(), "Facts in the results of stampede, by code".into());
    schema.to_value()
}

/// Adds a fact unless the list already has it.
pub fn add<T: PartialEq>(facts: &mut Vec<Fact<T>>, fact: impl Into<Fact<T>>) {
    let fact = fact.into();
    if !facts.contains(&fact) {
        facts.push(fact);
    }
}

/// The facts without duplicates, each at its first position.
pub fn unique<T: PartialEq>(facts: Vec<T>) -> Vec<T> {
    let mut all = Vec::with_capacity(facts.len());
    for fact in facts {
        if !all.contains(&fact) {
            all.push(fact);
        }
    }
    all
}

/// The text of a fact as it is printed: see [`Fact`].
pub fn sentence<T: Kind + Clone>(known: &T) -> String {
    Fact::Known(known.clone()).to_string()
}

/// The sentences of facts on one line.
pub fn joined<T: Kind>(facts: &[Fact<T>]) -> String {
    facts.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;
