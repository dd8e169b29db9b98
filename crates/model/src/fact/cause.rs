//! An error inside a fact, with a stable code of its own: why something could not be done.
//!
//! `causes::cause` converts an error to a `Cause`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{CODE, TEXT};

/// An error as data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cause {
    /// The stable code, in lower case with underscores.
    pub code: String,
    /// The error's data.
    pub fields: Map<String, Value>,
    /// The error as a sentence, without its source.
    pub text: String,
    /// What the user can do, in English. `None`: nothing is known that helps, or it is said elsewhere.
    pub todo: Option<String>,
    /// The error that caused this one. `None`: there is none.
    pub source: Option<Box<Cause>>,
}

impl Cause {
    /// The error with what to do about it, which stands on a line of its own behind lines of a log.
    pub fn with_todo(&self) -> String {
        let text = self.to_string();
        match &self.todo {
            None => text,
            Some(todo) if text.contains('\n') => format!("{text}\nhint: {todo}"),
            Some(todo) => format!("{text}; {todo}"),
        }
    }
}

/// The sentence, followed by those of its sources after colons.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = Map::new();
        fields.insert(CODE.to_owned(), self.code.clone().into());
        fields.extend(self.fields.clone());
        if let Some(source) = &self.source {
            let source = serde_json::to_value(source).map_err(serde::ser::Error::custom)?;
            fields.insert(SOURCE.to_owned(), source);
        }
        if let Some(todo) = &self.todo {
            fields.insert(TODO.to_owned(), todo.clone().into());
        }
        fields.insert(TEXT.to_owned(), self.text.clone().into());
        fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Cause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cause, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            code: String,
            text: String,
            todo: Option<String>,
            source: Option<Box<Cause>>,
            #[serde(flatten)]
            fields: Map<String, Value>,
        }
        let Written { code, text, todo, source, fields } = Written::deserialize(deserializer)?;
        Ok(Cause { code, fields, text, todo, source })
    }
}

const SOURCE: &str = "source";
const TODO: &str = "todo";

impl JsonSchema for Cause {
    fn schema_name() -> Cow<'static, str> {
        "Cause".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        #[derive(JsonSchema)]
        #[allow(dead_code, reason = "its schema is all that is asked for")]
        struct Written {
            /// The stable code of the error.
            code: String,
            /// The same as a sentence in English, without the source.
            text: String,
            /// What the user can do, in English. Left out: nothing is known that helps, or it is said
            /// elsewhere.
            todo: Option<String>,
            /// The error that caused this one. Left out: there is none.
            source: Option<Box<Cause>>,
        }
        let mut schema = Written::json_schema(generator);
        let about = "An error: its code, its facts as further fields, and what it came of.";
        schema.insert("description".to_owned(), about.into());
        schema.insert("additionalProperties".to_owned(), true.into());
        schema
    }
}
