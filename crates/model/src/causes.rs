//! Writes an error with its causes, as one line or as data.
//!
//! An error enum derives `Serialize` with its variants in snake case. The variant is the code, and
//! its fields are the facts. Messages of the system or of another program stay text.

use std::error::Error;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::fact::Cause;

/// Returns the text of `error`, then each cause after a colon. An error's own text never contains
/// its causes.
pub fn chain(error: &dyn Error) -> String {
    let mut text = message(error);
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {}", message(cause)));
        source = cause.source();
    }
    text
}

/// Returns an error's own sentence. A build with the feature `codes-for-text` returns the variant
/// instead, in lower case with underscores. It shows that nothing depends on the wording.
pub fn message(error: &dyn Error) -> String {
    if cfg!(feature = "codes-for-text") { variant(error) } else { error.to_string() }
}

/// Returns the variant in snake case: `NotReady { … }` → `not_ready`.
fn variant(error: &dyn Error) -> String {
    let shown = format!("{error:?}");
    let is_name = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let mut code = String::new();
    for letter in shown.chars().take_while(is_name) {
        if letter.is_ascii_uppercase() && !code.is_empty() {
            code.push('_');
        }
        code.push(letter.to_ascii_lowercase());
    }
    code
}

/// Returns an error and its causes as data. `kinds` are the kinds of errors whose facts are read.
pub fn cause(error: &(dyn Error + 'static), kinds: &[KindOf]) -> Cause {
    let (code, fields) = data(error, kinds);
    let source = error.source().map(|source| Box::new(cause(source, kinds)));
    Cause { code, fields, text: message(error), todo: None, source }
}

/// The code and the facts of an error.
pub type Data = (String, Map<String, Value>);

/// Returns the data of an error if it is of one kind: [`of_kind`] of a type.
pub type KindOf = fn(&(dyn Error + 'static)) -> Option<Data>;

/// Returns the code and the facts of one error.
fn data(error: &(dyn Error + 'static), kinds: &[KindOf]) -> Data {
    if let Some(data) = kinds.iter().find_map(|of_kind| of_kind(error)) {
        return data;
    }
    match error.downcast_ref::<std::io::Error>() {
        Some(error) => of_system(error),
        // An error of another library, or one of our kinds without facts.
        None => ("other".to_owned(), Map::new()),
    }
}

fn of_system(error: &std::io::Error) -> Data {
    let errno = error.raw_os_error().map(|errno| ("errno".to_owned(), errno.into()));
    ("os_error".to_owned(), errno.into_iter().collect())
}

/// Returns the data of an error of type `E`, or of a boxed one. `None`: it is of another type.
pub fn of_kind<E: Error + Serialize + 'static>(error: &(dyn Error + 'static)) -> Option<Data> {
    let boxed = || error.downcast_ref::<Box<E>>().map(Box::as_ref);
    let known: &E = error.downcast_ref::<E>().or_else(boxed)?;
    // A value that cannot be written as JSON has no facts, for example a path that is not UTF-8.
    // Its sentence still contains them.
    Some(match serde_json::to_value(known).unwrap_or_default() {
        Value::String(code) => (code, Map::new()),
        Value::Object(variant) => match variant.into_iter().next() {
            Some((code, Value::Object(fields))) => (code, fields),
            Some((code, value)) => (code, [("value".to_owned(), value)].into_iter().collect()),
            None => ("other".to_owned(), Map::new()),
        },
        _ => ("other".to_owned(), Map::new()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_becomes_a_code() {
        #[derive(Debug, thiserror::Error)]
        #[error("a sentence")]
        enum Failed {
            NoThread { errno: i32 },
            Panicked,
        }
        let error = Failed::NoThread { errno: 1 };
        assert_eq!(variant(&error), "no_thread");
        assert_eq!(variant(&Failed::Panicked), "panicked");
        assert!(matches!(error, Failed::NoThread { errno: 1 }));
    }
}
