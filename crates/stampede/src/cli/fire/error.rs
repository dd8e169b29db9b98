//! Errors in the flags of `fire`, and the hints to errors of the load library.

use std::borrow::Cow;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use stampede_load::LoadError;
use stampede_load::check::RuleError;
use stampede_plan::autostop::{AutostopError, UnsupportedMask};
use stampede_plan::imported::ImportError;
use stampede_traffic::recorded_rate::{FactorError, RecordedRateError};
use stampede_traffic::{Format, TrafficError};

use crate::cli::fail::CommandError;

/// Why the flags of `fire` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FireError {
    /// A file is given in place of the URL, as in `stampede fire load.yaml`.
    #[error("`{path}` is a file, not a URL")]
    FileNotUrl {
        /// The path, as it was given.
        path: String,
    },
    /// A `load.yaml` is combined with a URL of FastCGI.
    #[error("`--tank` sends HTTP, and this URL is straight to FastCGI")]
    TankToFastCgi,
    /// The address may be somebody else's.
    #[error("{ip} of `{url}` is neither this machine's nor private")]
    ForeignAddress {
        /// The address.
        ip: IpAddr,
        /// The URL, as it was given.
        url: String,
    },
    /// No flag says how much load to send, and the script that is sent has a load.
    #[error("no load is given; `{}`, a test of {tool}, has `{flags}`", path.display())]
    LoadOfScript {
        /// The script.
        path: PathBuf,
        /// The tool that it is for.
        tool: &'static str,
        /// The load as flags.
        flags: String,
    },
    /// A flag for schedules is given with a load that has none.
    #[error("`{flag}` has no effect here: it is for `--rate` and `--schedule`")]
    FlagWithoutSchedule {
        /// The flag.
        flag: &'static str,
    },
    /// A seed is given, and nothing is random.
    #[error("`--seed` has no effect: nothing in this load is random")]
    NothingRandom,
    /// The seed is no number.
    #[error("`--seed {seed}` is not a whole number")]
    SeedNotANumber {
        /// The seed, as it was given.
        seed: String,
    },
    /// There is no such version of HTTP here.
    #[error("`--http` is 1.0 or 1.1, not `{version}`")]
    UnknownHttpVersion {
        /// The version, as it was given.
        version: String,
    },
    /// The expectation compares with another run.
    #[error("`--expect '{expectation}'` compares with another run, which `fire` does not see")]
    ExpectsOtherRun {
        /// The expectation, as it was given.
        expectation: String,
    },
    /// The expectation is about CPU or memory of the server.
    #[error(
        "`--expect '{expectation}'` is about what the server spends, which `fire` does not see"
    )]
    ExpectsServerCost {
        /// The expectation, as it was given.
        expectation: String,
    },
    /// The criteria cannot be parsed.
    #[error("--autostop: {error}\n{}", marked(text, error.offset, error.length))]
    WrongAutostop {
        /// The criteria, as they were given.
        text: String,
        /// What is wrong with them, and where.
        error: AutostopError,
    },
    /// A check cannot be parsed.
    #[error("--check: {error}\n{}", marked(text, error.offset, error.length))]
    WrongCheck {
        /// The check, as it was given.
        text: String,
        /// What is wrong with it, and where.
        error: RuleError,
    },
    /// A CPU is named twice.
    #[error("`--load-cpus` names CPU {cpu} twice")]
    CpuTwice {
        /// Number of the CPU.
        cpu: usize,
    },
    /// A CPU does not exist, or is not online.
    #[error("`--load-cpus` names CPU {cpu}, which this machine does not have")]
    NoSuchCpu {
        /// Number of the CPU.
        cpu: usize,
        /// Numbers of the CPUs that there are.
        online: Vec<usize>,
    },
    /// A pipe would be read by the warm-up and again by the load.
    #[error("`{}` can be read once, and the warm-up would read it", path.display())]
    PipeReadTwice {
        /// Path of the pipe.
        path: PathBuf,
    },
    /// There are more agents than connections.
    #[error("{agents} agents cannot share {connections} connections")]
    TooManyAgents {
        /// How many agents there are.
        agents: usize,
        /// How many connections the load has at once.
        connections: u32,
    },
    /// There is no such format of request files.
    #[error("unknown `--traffic-format {format}`")]
    UnknownTrafficFormat {
        /// The format, as it was given.
        format: String,
    },
    /// The factor of `--speed` is wrong.
    #[error("`--speed {factor}` is {error}")]
    WrongFactor {
        /// The factor, as it was given.
        factor: String,
        /// What is wrong with it.
        error: FactorError,
    },
    /// A header has no colon.
    #[error("header `{header}` has no colon")]
    HeaderWithoutColon {
        /// The header, as it was given.
        header: String,
    },
    /// A cookie has no `=`.
    #[error("one of `--cookie` has no `=`")]
    CookieWithoutEquals,
    /// The login has no colon.
    #[error("`--basic-auth` has no `:` between name and password")]
    LoginWithoutColon,
    /// The file with the body cannot be read.
    #[error("cannot read body `{}`", path.display())]
    UnreadableBody {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl CommandError for FireError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            FireError::FileNotUrl { path } => return Some(flag_for_file(path)),
            FireError::NoSuchCpu { online, .. } => {
                let online: Vec<String> = online.iter().map(ToString::to_string).collect();
                return Some(format!("it has {}", online.join(",")));
            }
            FireError::UnknownTrafficFormat { .. } => {
                let known = Format::ALL.map(|format| format.name());
                return Some(format!("use one of {}", known.join(", ")));
            }
            FireError::WrongAutostop { error, .. } => {
                return Some(wanted(error.nearest(), "docs/fire.md", || error.expected()));
            }
            FireError::WrongCheck { error, .. } => {
                return Some(wanted(error.nearest(), "docs/checks.md", || error.expected()));
            }
            FireError::TooManyAgents { .. } => {
                "use fewer agents, or more `--concurrency` or `--max-in-flight`"
            }
            FireError::TankToFastCgi => {
                "name the load with --schedule and the requests with --traffic"
            }
            FireError::ForeignAddress { .. } => {
                "load only what you are allowed to load; if you may load this host, add \
                 `--i-may-load-this-host`"
            }
            FireError::LoadOfScript { .. } => "add these flags to send that load, or others",
            FireError::FlagWithoutSchedule { .. } => {
                "leave it out: with `--concurrency` the next request waits for an answer"
            }
            FireError::NothingRandom => {
                "leave it out, or use `--arrivals poisson` or `--traffic-order random`"
            }
            FireError::SeedNotANumber { .. } => "use a number from 0 on, as the summary prints it",
            FireError::UnknownHttpVersion { .. } => {
                "HTTP/2 and HTTP/3 are not spoken here: send to the same app by HTTP/1.1"
            }
            FireError::ExpectsOtherRun { .. } | FireError::ExpectsServerCost { .. } => {
                "`stampede compare` does, for a server on this machine"
            }
            FireError::CpuTwice { .. } => "each load thread has a CPU of its own",
            FireError::PipeReadTwice { .. } => "write it to a file first, or leave `--warm-up` out",
            FireError::WrongFactor { .. } => {
                "2x is twice as fast as it was made, 0.5x half as fast"
            }
            FireError::HeaderWithoutColon { .. } => "write it as -H 'Name: value'",
            FireError::CookieWithoutEquals => "it is 'name=value', 'name=' where that is empty",
            FireError::LoginWithoutColon => "it is 'name:password', 'name:' without one",
            FireError::UnreadableBody { .. } => {
                "`-d @FILE` sends what is in FILE, `-d TEXT` the text itself"
            }
        };
        Some(hint.to_owned())
    }
}

/// Only `fire` reports these errors as its own, and it has the flag that the hint names.
impl CommandError for LoadError {
    fn hint(&self) -> Option<String> {
        match self {
            LoadError::Engine(_) => Some("`--engine epoll` works everywhere".to_owned()),
            error => error.hint().map(Cow::into_owned),
        }
    }
}

impl CommandError for ImportError {
    fn hint(&self) -> Option<String> {
        Some(self.hint().to_owned())
    }
}

impl CommandError for TrafficError {
    fn hint(&self) -> Option<String> {
        Some(self.hint().to_owned())
    }
}

impl CommandError for RecordedRateError {
    fn hint(&self) -> Option<String> {
        Some(self.hint().to_owned())
    }
}

impl CommandError for UnsupportedMask {
    fn hint(&self) -> Option<String> {
        Some(self.hint().to_owned())
    }
}

/// Returns the flag that a file belongs to.
fn flag_for_file(path: &str) -> String {
    match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("yaml" | "yml" | "ini") => {
            format!("for a configuration of Yandex Tank: `stampede fire --tank {path}`")
        }
        _ => format!("for the requests of a file: `stampede fire URL --traffic {path}`"),
    }
}

/// Returns what to write instead. If one form is close to what was typed, a list of all forms would
/// be no help.
fn wanted(nearest: Option<&str>, docs: &str, expected: impl Fn() -> String) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`? {docs} has them all"),
        None => format!("expected {}", expected()),
    }
}

/// Returns the text with the place marked below it. Offset and length are in bytes.
fn marked(text: &str, offset: usize, length: usize) -> String {
    let column = text[..offset].chars().count();
    let width = text[offset..offset + length].chars().count().max(1);
    format!("  {text}\n  {}{}", " ".repeat(column), "^".repeat(width))
}
