//! Writes an error with its causes, as one line or as data.
//!
//! An error enum derives `Serialize` with its variants in snake case. The variant is the code, and
//! its fields are the facts. Messages of the system or of another program stay text.

use std::error::Error;

use serde::Serialize;
use serde_json::{Map, Value};
use stampede_keeper::KeeperError;
use stampede_load::LoadError;
use stampede_load::traffic::TrafficError;
use stampede_model::causes::message;
use stampede_model::fact::Cause;
use stampede_monitor::MonitorError;

use crate::external::ExternalError;
use crate::runtime::{CountError, RuntimeError};
use crate::store::StoreError;
use crate::trial::{PagesError, RuntimeLoss};

/// Returns an error and its causes as data.
pub fn cause(error: &(dyn Error + 'static)) -> Cause {
    let (code, fields) = data(error);
    let source = error.source().map(|source| Box::new(cause(source)));
    Cause { code, fields, text: message(error), source }
}

type Data = (String, Map<String, Value>);

/// Returns the code and the facts of one error.
fn data(error: &(dyn Error + 'static)) -> Data {
    if let Some(data) = KINDS.iter().find_map(|of_kind| of_kind(error)) {
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

/// Our error types that have codes.
const KINDS: [fn(&(dyn Error + 'static)) -> Option<Data>; 10] = [
    of_kind::<RuntimeError>,
    of_kind::<ExternalError>,
    of_kind::<RuntimeLoss>,
    of_kind::<PagesError>,
    of_kind::<MonitorError>,
    of_kind::<KeeperError>,
    of_kind::<StoreError>,
    of_kind::<CountError>,
    of_kind::<LoadError>,
    of_kind::<TrafficError>,
];

fn of_kind<E: Error + Serialize + 'static>(error: &(dyn Error + 'static)) -> Option<Data> {
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
    use stampede_model::causes::chain;

    use super::*;

    #[test]
    fn an_error_has_a_code_fields_and_its_cause() {
        let source = std::io::Error::from_raw_os_error(libc::ENOENT);
        let error = RuntimeError::Io { what: "read", path: "/x/y".into(), source };
        let killed =
            RuntimeError::OutOfMemory { kills: 2, limit_bytes: 64 << 20, source: Box::new(error) };
        let killed_by = cause(&killed);
        let written = serde_json::to_value(&killed_by).expect("JSON");
        assert_eq!((&written["code"], &written["kills"]), (&"out_of_memory".into(), &2.into()));
        assert_eq!(written["source"]["code"], "io");
        assert_eq!(written["source"]["path"], "/x/y");
        assert_eq!(written["source"]["source"]["code"], "os_error");
        assert_eq!(written["source"]["source"]["errno"], libc::ENOENT);
        assert_eq!(serde_json::from_value::<Cause>(written).expect("a cause"), killed_by);
        assert_eq!(killed_by.to_string(), chain(&killed));
    }

    #[test]
    fn an_error_without_fields_has_a_code() {
        assert_eq!(cause(&MonitorError::Panicked).code, "panicked");
        assert_eq!(cause(&LoadError::Zero("users")).fields["value"], "users");
        assert_eq!(cause(&std::fmt::Error).code, "other");
    }
}
