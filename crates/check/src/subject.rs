//! Names what a finding is about, in the same way whenever it is seen again.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kinds::FindingKind;
use super::model::CheckRequest;

/// What a finding is about. For people it is a request (`GET /cart`), `locale`, `App\Cart::$user`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Subject {
    /// A request.
    Request(RequestName),
    /// Whatever is asked for.
    AnyRequest,
    /// What a worker keeps.
    Kept {
        /// Where in code: `App\Cart::$user`.
        place: String,
    },
    /// State of the process that a request begins with.
    State {
        /// Its name.
        state: StateName,
    },
    /// State of the process that a request leaves behind.
    Left {
        /// Its name.
        state: StateName,
        /// Who leaves it.
        request: RequestName,
    },
}

/// The form of the subjects of a kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectForm {
    /// A request.
    Request,
    /// A request, or whatever is asked for.
    RequestOrAny,
    /// A place in the code.
    Place,
    /// State of the process.
    State,
}

/// A request by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RequestName {
    /// GET, HEAD …
    pub method: String,
    /// Path and query.
    pub target: String,
}

impl From<&CheckRequest> for RequestName {
    fn from(request: &CheckRequest) -> RequestName {
        RequestName { method: request.method.clone(), target: request.target.clone() }
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.target)
    }
}

impl Subject {
    /// Returns the subject for a request.
    pub fn request(request: &CheckRequest) -> Subject {
        Subject::Request(request.into())
    }

    /// Parses the subject of a check that has it only as text.
    pub fn of_text(kind: FindingKind, about: &str) -> Subject {
        let named = |text: &str| {
            let (method, target) = text.split_once(' ')?;
            Some(RequestName { method: method.to_owned(), target: target.to_owned() })
        };
        let request = || named(about).map_or(Subject::AnyRequest, Subject::Request);
        match kind.row().subject {
            SubjectForm::RequestOrAny if about == Subject::AnyRequest.to_string() => {
                Subject::AnyRequest
            }
            SubjectForm::Request | SubjectForm::RequestOrAny => request(),
            SubjectForm::Place => Subject::Kept { place: about.to_owned() },
            SubjectForm::State => {
                let left = about.split_once(' ').and_then(|(state, rest)| {
                    let state = StateName::from(state.to_owned());
                    state.is_reset_between_requests().then_some((state, named(rest)?))
                });
                match left {
                    Some((state, request)) => Subject::Left { state, request },
                    None => Subject::State { state: about.to_owned().into() },
                }
            }
        }
    }

    /// Returns whether the subject is this request.
    pub fn is_request(&self, request: &CheckRequest) -> bool {
        matches!(self, Subject::Request(named) if *named == RequestName::from(request))
    }

    /// Returns the same subject, with the request `masked` replaced by `own`.
    pub fn restored(self, masked: &CheckRequest, own: &CheckRequest) -> Subject {
        let restored = |named: RequestName| if named == masked.into() { own.into() } else { named };
        match self {
            Subject::Request(named) => Subject::Request(restored(named)),
            Subject::Left { state, request } => Subject::Left { state, request: restored(request) },
            Subject::AnyRequest | Subject::Kept { .. } | Subject::State { .. } => self,
        }
    }

    /// Returns the state that a request begins with, if that is the subject.
    pub fn state(&self) -> Option<&StateName> {
        match self {
            Subject::State { state } => Some(state),
            _ => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Request(named) => write!(f, "{named}"),
            Subject::AnyRequest => f.write_str("any request"),
            Subject::Kept { place } => f.write_str(place),
            Subject::State { state } => write!(f, "{state}"),
            Subject::Left { state, request } => write!(f, "{state} {request}"),
        }
    }
}

/// State of the process by the name that the workers' watch writes: `locale`, `ini:precision`,
/// `db:sql_mode App\Shop::$db`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub struct StateName {
    /// What it is a kind of.
    pub group: StateGroup,
    /// Which of them; empty where there is one only.
    pub name: String,
}

/// The kind of a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateGroup {
    /// `setlocale`.
    Locale,
    /// `date_default_timezone_set`.
    Timezone,
    /// `ini_set`, by the setting's key.
    Ini,
    /// `error_reporting`.
    ErrorReporting,
    /// `libxml_use_internal_errors`.
    LibxmlErrors,
    /// `set_error_handler`.
    ErrorHandler,
    /// `set_exception_handler`.
    ExceptionHandler,
    /// Open output buffers.
    OutputBuffers,
    /// The working directory.
    WorkingDirectory,
    /// `umask`.
    Umask,
    /// `putenv`, by the variable's name.
    Env,
    /// `$_ENV`, by its key.
    EnvArray,
    /// `$_SERVER`, by its key.
    Server,
    /// Global variables, by name.
    Globals,
    /// Headers set with `header`.
    Headers,
    /// The number of constants.
    Constants,
    /// PHP's own session.
    Session,
    /// A setting of a database connection, with the place that keeps the connection.
    Database,
    /// State of a later version of the watch, or state that nothing depends on.
    Other(String),
}

/// The name of each group.
const GROUPS: [(StateGroup, &str); 18] = [
    (StateGroup::Locale, "locale"),
    (StateGroup::Timezone, "timezone"),
    (StateGroup::Ini, "ini"),
    (StateGroup::ErrorReporting, "error_reporting"),
    (StateGroup::LibxmlErrors, "libxml_errors"),
    (StateGroup::ErrorHandler, "error_handler"),
    (StateGroup::ExceptionHandler, "exception_handler"),
    (StateGroup::OutputBuffers, "ob_level"),
    (StateGroup::WorkingDirectory, "cwd"),
    (StateGroup::Umask, "umask"),
    (StateGroup::Env, "env"),
    (StateGroup::EnvArray, "_ENV"),
    (StateGroup::Server, "server"),
    (StateGroup::Globals, "globals"),
    (StateGroup::Headers, "headers"),
    (StateGroup::Constants, "constants"),
    (StateGroup::Session, "session"),
    (StateGroup::Database, "db"),
];

impl StateName {
    /// Returns whether stampede's own worker resets it before the next request begins, so that it
    /// is judged at the end of a request.
    pub fn is_reset_between_requests(&self) -> bool {
        matches!(self.group, StateGroup::WorkingDirectory | StateGroup::OutputBuffers)
    }

    /// Returns whether a worker may have it only after a first request.
    pub fn is_set_on_first_use(&self) -> bool {
        matches!(
            self.group,
            StateGroup::Database | StateGroup::ErrorHandler | StateGroup::ExceptionHandler
        )
    }
}

impl From<String> for StateName {
    fn from(written: String) -> StateName {
        let (group, name) = written.split_once(':').unwrap_or((&written, ""));
        let known = GROUPS.iter().find(|(_, known)| *known == group);
        let other = || StateGroup::Other(group.to_owned());
        let name = name.to_owned();
        StateName { group: known.map_or_else(other, |(group, _)| group.clone()), name }
    }
}

impl From<StateName> for String {
    fn from(state: StateName) -> String {
        state.to_string()
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = match &self.group {
            StateGroup::Other(name) => name,
            known => GROUPS.iter().find(|(group, _)| group == known).map_or("", |(_, name)| name),
        };
        match self.name.as_str() {
            "" => f.write_str(group),
            name => write!(f, "{group}:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_an_old_subject_is_parsed_and_printed_unchanged() {
        let named =
            |target: &str| RequestName { method: "GET".to_owned(), target: target.to_owned() };
        let state = |name: &str| StateName::from(name.to_owned());
        for (kind, subject) in [
            (FindingKind::Leak, Subject::Request(named("/a b"))),
            (FindingKind::Growth, Subject::Request(named("/"))),
            (FindingKind::Growth, Subject::AnyRequest),
            (FindingKind::Kept, Subject::Kept { place: "App\\Cart::$user".to_owned() }),
            (FindingKind::State, Subject::State { state: state("ini:precision") }),
            (FindingKind::State, Subject::State { state: state("db:sql_mode App\\Shop::$db") }),
            (FindingKind::State, Subject::State { state: state("tick") }),
            (FindingKind::State, Subject::Left { state: state("cwd"), request: named("/") }),
        ] {
            assert_eq!(Subject::of_text(kind, &subject.to_string()), subject);
            let json = serde_json::to_string(&subject).unwrap();
            assert_eq!(serde_json::from_str::<Subject>(&json).unwrap(), subject, "{json}");
        }
        assert_eq!(state("ini:a:b").name, "a:b");
        for (group, name) in GROUPS {
            assert_eq!((state(name).group, state(name).to_string()), (group, name.to_owned()));
        }
    }
}
