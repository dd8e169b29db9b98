//! What shows that a compose project is configured for development, and what overrides it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// What shows a development configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum DevelopmentSign {
    /// An environment variable.
    Variable {
        /// Its name.
        variable: String,
        /// Its value.
        value: String,
    },
    /// The code is mounted from the machine.
    MountedCode {
        /// The service.
        service: String,
        /// The directory of the machine.
        path: String,
    },
    /// An image is built for development.
    BuildTarget {
        /// The service.
        service: String,
        /// The stage of its build.
        target: String,
        /// The stage of the same Dockerfile whose name says that it is for production; empty: there is none.
        production: String,
        /// Its other stages.
        others: Vec<String>,
    },
    /// A variable that the service's Dockerfile or image sets.
    OfImage {
        /// The service.
        service: String,
        /// The variable's name.
        variable: String,
        /// Its value.
        value: String,
    },
    /// The service's Dockerfile installs Xdebug.
    XdebugInstalled {
        /// The service.
        service: String,
    },
    /// A directive in a php.ini file that the project mounts.
    Directive {
        /// The file of the machine.
        path: String,
        /// The directive, such as `opcache.validate_timestamps`.
        directive: String,
        /// Its value.
        value: String,
    },
    /// A variable in the environment file of mounted code, which the app reads itself.
    OfFile {
        /// The file's name, such as `.env`.
        file: String,
        /// The variable's name.
        variable: String,
        /// Its value.
        value: String,
    },
}

impl fmt::Display for DevelopmentSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DevelopmentSign::Variable { variable, value } => write!(f, "{variable}={value}"),
            DevelopmentSign::MountedCode { service, path } => {
                write!(f, "the code of service {service} is mounted from {path}")
            }
            DevelopmentSign::BuildTarget { service, target, .. } => {
                write!(f, "service {service} is built with `target: {target}`")
            }
            DevelopmentSign::OfImage { service, variable, value } => {
                write!(f, "{variable}={value} in the image of service {service}")
            }
            DevelopmentSign::XdebugInstalled { service } => {
                write!(f, "the image of service {service} has Xdebug")
            }
            DevelopmentSign::Directive { path, directive, value } => {
                write!(f, "{directive}={value} in {path}")
            }
            DevelopmentSign::OfFile { file, variable, value } => {
                write!(f, "{variable}={value} in {file}")
            }
        }
    }
}

/// What a run or a plan says so that a sign does not hold any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Override {
    /// A stage that a service is built as.
    BuildTarget {
        /// The service.
        service: String,
        /// The stage.
        stage: String,
    },
    /// Code comes from the images.
    CodeInImages,
    /// A variable.
    Variable {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A value of php.ini.
    PhpIni {
        /// The directive.
        name: String,
        /// Its value.
        value: String,
    },
}

/// The flag.
impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Override::BuildTarget { service, stage } => {
                write!(f, "--build-target {service}={stage}")
            }
            Override::CodeInImages => f.write_str("--code image"),
            Override::Variable { name, value } => write!(f, "--env {name}={value}"),
            Override::PhpIni { name, value } => write!(f, "--php-ini {name}={value}"),
        }
    }
}

impl Override {
    /// What overrides these signs, each once.
    pub fn all_of(signs: &[DevelopmentSign]) -> Vec<Override> {
        let mut all: Vec<Override> = signs.iter().filter_map(Override::of).collect();
        all.sort();
        all.dedup();
        all
    }

    /// `None`: the Dockerfile has no stage whose name says that it is for production.
    fn of(sign: &DevelopmentSign) -> Option<Override> {
        let xdebug_off =
            || Override::Variable { name: "XDEBUG_MODE".to_owned(), value: "off".to_owned() };
        match sign {
            DevelopmentSign::Variable { variable, value }
            | DevelopmentSign::OfFile { variable, value, .. }
            | DevelopmentSign::OfImage { variable, value, .. } => {
                let value = for_production(variable, value).to_owned();
                Some(Override::Variable { name: variable.clone(), value })
            }
            DevelopmentSign::XdebugInstalled { .. } => Some(xdebug_off()),
            DevelopmentSign::MountedCode { .. } => Some(Override::CodeInImages),
            DevelopmentSign::BuildTarget { service, production, .. } => {
                let (service, stage) = (service.clone(), production.clone());
                (!stage.is_empty()).then_some(Override::BuildTarget { service, stage })
            }
            DevelopmentSign::Directive { directive, .. }
                if directive.contains("xdebug") || directive == "zend_extension" =>
            {
                Some(xdebug_off())
            }
            DevelopmentSign::Directive { directive, .. } => {
                let value = match directive.as_str() {
                    "opcache.enable" => "1",
                    "zend.assertions" => "-1",
                    _ => "0",
                };
                let value = value.to_owned();
                Some(Override::PhpIni { name: directive.clone(), value })
            }
        }
    }
}

/// The value of a variable in production. `value`: the one of development.
fn for_production<'a>(variable: &str, value: &str) -> &'a str {
    match variable {
        // Laravel's names.
        "APP_ENV" if value == "local" => "production",
        "XDEBUG_MODE" => "off",
        name if name.ends_with("DEBUG") || name.contains("VALIDATE_TIMESTAMPS") => "0",
        name if name.contains("OPCACHE") => "1",
        "CI_ENVIRONMENT" | "APPLICATION_ENV" => "production",
        _ => "prod",
    }
}

/// Writes what shows a development configuration, and what overrides it.
pub(super) fn write(signs: &[DevelopmentSign], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}", found(signs))?;
    let flags: Vec<String> = Override::all_of(signs).iter().map(ToString::to_string).collect();
    if !flags.is_empty() {
        write!(f, "; override it with `{}`", flags.join(" "))?;
    }
    let unclear = signs.iter().filter_map(|sign| match sign {
        DevelopmentSign::BuildTarget { service, production, others, .. }
            if production.is_empty() =>
        {
            Some((service, others))
        }
        _ => None,
    });
    for (service, others) in unclear {
        match others.is_empty() {
            true => write!(
                f,
                "; `--build-target {service}=STAGE` builds another stage, or {BY_A_FILE} overrides it"
            )?,
            false => write!(
                f,
                "; `--build-target {service}=STAGE` builds another stage ({})",
                words::list(others)
            )?,
        }
    }
    Ok(())
}

/// What shows a development configuration.
pub fn found(signs: &[DevelopmentSign]) -> String {
    let shown: Vec<String> = signs.iter().map(ToString::to_string).collect();
    format!("this is a development configuration ({}): production is faster", shown.join("; "))
}

/// What overrides a stage where no other one is known.
const BY_A_FILE: &str = "a second file (`--compose compose.yaml:compose.prod.yaml`)";
