//! The kinds of errors that have codes and facts.

use std::borrow::Cow;
use std::error::Error;

use stampede_keeper::KeeperError;
use stampede_load::LoadError;
use stampede_login::LoginError;
use stampede_model::causes::{KindOf, of_kind};
use stampede_model::fact::Cause;
use stampede_monitor::MonitorError;
use stampede_results::store::StoreError;
use stampede_stack::external::ExternalError;
use stampede_stack::{CountError, RuntimeError, StackLoss};
use stampede_traffic::TrafficError;

use crate::PagesError;

/// Returns an error and its causes as data.
pub fn cause(error: &(dyn Error + 'static)) -> Cause {
    stampede_model::causes::cause(error, &KINDS)
}

/// The same with what the user can do, for a fact that nobody says it beside.
pub fn cause_with_hint(error: &(dyn Error + 'static)) -> Cause {
    let hint = error
        .downcast_ref::<RuntimeError>()
        .map(RuntimeError::hint)
        .or_else(|| {
            error.downcast_ref().map(|error: &ExternalError| Some(error.help().to_string()))
        })
        .or_else(|| error.downcast_ref().map(KeeperError::hint))
        .or_else(|| {
            error.downcast_ref().map(|error: &LoadError| error.hint().map(Cow::into_owned))
        });
    Cause { todo: hint.flatten(), ..cause(error) }
}

/// Our error types that have codes.
const KINDS: [KindOf; 11] = [
    of_kind::<RuntimeError>,
    of_kind::<ExternalError>,
    of_kind::<LoginError>,
    of_kind::<StackLoss>,
    of_kind::<PagesError>,
    of_kind::<MonitorError>,
    of_kind::<KeeperError>,
    of_kind::<StoreError>,
    of_kind::<CountError>,
    of_kind::<LoadError>,
    of_kind::<TrafficError>,
];

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
