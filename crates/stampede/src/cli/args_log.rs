//! The flags about access logs, which several commands have.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use stampede_traffic::{
    LogFormat, LogFormatError, LogSelection, LoggedAnswers, LoggedHost, TrafficFile,
};

use super::fail::CommandError;

/// What is taken of an access log, besides its methods.
#[derive(Args, Clone, Debug, Default)]
pub struct LogFlags {
    /// Read the lines of an access log as nginx's log_format or Apache's LogFormat says [default:
    /// as each line shows it]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<String>,
    /// Send or leave out what an access log says was answered with 4xx or 5xx [default: keep]
    #[arg(long, value_enum, value_name = "keep|drop", hide_possible_values = true)]
    pub log_errors: Option<LoggedErrors>,
    /// Send requests of an access log with the target's host, or with the one in the log [default:
    /// target]
    #[arg(long, value_enum, value_name = "target|logged", hide_possible_values = true)]
    pub log_host: Option<HostOfLog>,
}

/// What becomes of requests that an access log says were answered with 4xx or 5xx.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoggedErrors {
    /// They are sent
    Keep,
    /// They are left out
    Drop,
}

/// The host of requests of an access log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HostOfLog {
    /// The target's
    Target,
    /// That of the line
    Logged,
}

impl LogFlags {
    /// The file that these flags are about, with the given methods or those that are taken by
    /// default. `None`: no file is given.
    ///
    /// # Errors
    /// A flag is wrong, or there is one and no file.
    pub fn file(
        &self,
        path: Option<&Path>,
        methods: Option<&str>,
    ) -> Result<Option<TrafficFile>, LogFlagError> {
        let Some(path) = path else {
            return self.first_given().map_or(Ok(None), |flag| Err(LogFlagError::NoFile { flag }));
        };
        let default = LogSelection::default();
        let log = LogSelection {
            methods: methods.map_or(Ok(default.methods), list)?,
            answers: match self.log_errors {
                None | Some(LoggedErrors::Keep) => LoggedAnswers::All,
                Some(LoggedErrors::Drop) => LoggedAnswers::WithoutErrors,
            },
            host: match self.log_host {
                None | Some(HostOfLog::Target) => LoggedHost::Target,
                Some(HostOfLog::Logged) => LoggedHost::Logged,
            },
            format: self.log_format.as_deref().map(str::parse::<LogFormat>).transpose()?,
        };
        Ok(Some(TrafficFile { log, ..TrafficFile::new(PathBuf::from(path)) }))
    }

    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--log-format", self.log_format.is_some()),
            ("--log-errors", self.log_errors.is_some()),
            ("--log-host", self.log_host.is_some()),
        ];
        given.into_iter().find(|(_, is_given)| *is_given).map(|(flag, _)| flag)
    }
}

fn list(methods: &str) -> Result<Vec<String>, LogFlagError> {
    let upper = methods.split(',').map(|method| method.trim().to_ascii_uppercase());
    let upper: Vec<String> = upper.collect();
    let is_method =
        |word: &String| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase());
    match upper.iter().all(is_method) {
        true => Ok(upper),
        false => Err(LogFlagError::Methods { methods: methods.to_owned() }),
    }
}

/// What is wrong with the flags about an access log.
#[derive(Debug, thiserror::Error)]
pub enum LogFlagError {
    /// There is no file that the flag is about.
    #[error("`{flag}` is about an access log, and no file is named")]
    NoFile {
        /// The flag.
        flag: &'static str,
    },
    /// The format is wrong.
    #[error(transparent)]
    Format(#[from] LogFormatError),
    /// The methods are wrong.
    #[error("`--methods {methods}` is not a list of request methods")]
    Methods {
        /// As they were given.
        methods: String,
    },
}

impl CommandError for LogFlagError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            LogFlagError::NoFile { .. } => "name the log: --traffic access.log".to_owned(),
            LogFlagError::Format(error) => error.hint().to_owned(),
            LogFlagError::Methods { .. } => {
                "methods are words with commas between them: GET,HEAD,POST".to_owned()
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(format: Option<&str>) -> LogFlags {
        LogFlags { log_format: format.map(str::to_owned), ..LogFlags::default() }
    }

    #[test]
    fn flags_say_what_is_taken_of_a_log() {
        let all = LogFlags {
            log_errors: Some(LoggedErrors::Drop),
            log_host: Some(HostOfLog::Logged),
            ..flags(Some("$request $status"))
        };
        let file = all.file(Some(Path::new("a.log")), Some("get, POST")).unwrap().unwrap();
        let expected = LogSelection {
            methods: ["GET", "POST"].map(String::from).to_vec(),
            answers: LoggedAnswers::WithoutErrors,
            host: LoggedHost::Logged,
            format: Some("$request $status".parse().unwrap()),
        };
        assert_eq!((file.log, file.path), (expected, PathBuf::from("a.log")));
        let none = LogFlags::default().file(Some(Path::new("a.log")), None).unwrap().unwrap();
        assert_eq!(none.log, LogSelection::default());
        assert!(LogFlags::default().file(None, Some("GET")).unwrap().is_none());
    }

    #[test]
    fn a_wrong_flag_is_named() {
        let path = Some(Path::new("a.log"));
        let no_file = flags(Some("$request")).file(None, None);
        assert!(matches!(no_file, Err(LogFlagError::NoFile { flag: "--log-format" })));
        assert!(matches!(flags(Some("$a$b")).file(path, None), Err(LogFlagError::Format(_))));
        for methods in ["", "GET,", "GET,PO ST"] {
            let error = flags(None).file(path, Some(methods));
            assert!(matches!(error, Err(LogFlagError::Methods { .. })), "{methods}");
        }
    }
}
