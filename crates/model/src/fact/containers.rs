//! Facts about a compose project, whose containers are measured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// Something that was noticed about a compose project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Containers {
    /// The project is configured for development.
    #[serde(rename = "development")]
    Development {
        /// What shows it, at least one.
        signs: Vec<DevelopmentSign>,
    },
    /// How the project is run.
    #[serde(rename = "project")]
    Project {
        /// The engine with its version.
        engine: String,
        /// The service that requests go to.
        service: String,
        /// The port inside its container.
        port: u16,
        /// The services within the budget.
        services: Vec<String>,
        /// The services beside it.
        beside: Vec<String>,
        /// The services that are not started: tools for people, which no other service needs.
        left_out: Vec<String>,
    },
    /// The services cannot share one limit of CPU time and memory.
    #[serde(rename = "limits_per_service")]
    LimitsPerService {},
    /// Requests pass a proxy of the engine, which costs time and CPU of its own.
    #[serde(rename = "through_a_proxy")]
    ThroughAProxy {},
    /// Health checks run during the load, since other services wait for them.
    #[serde(rename = "health_checks_run")]
    HealthChecksRun {
        /// Their services.
        services: Vec<String>,
    },
    /// The project uses networks that exist outside of it. The stack gets its own in their place.
    #[serde(rename = "external_networks")]
    ExternalNetworks {
        /// Their names.
        networks: Vec<String>,
    },
    /// Trials write to the project's own volumes.
    #[serde(rename = "volumes_kept")]
    VolumesKept {},
}

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
}

impl fmt::Display for DevelopmentSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DevelopmentSign::Variable { variable, value } => write!(f, "{variable}={value}"),
            DevelopmentSign::MountedCode { service, path } => {
                write!(f, "the code of service {service} is mounted from {path}")
            }
        }
    }
}

impl DevelopmentSign {
    /// The flag with which a run overrides it; `None`: there is no flag for it.
    fn flag(&self) -> Option<String> {
        let DevelopmentSign::Variable { variable, value } = self else { return None };
        let value = match variable.as_str() {
            // Laravel's names.
            "APP_ENV" if value == "local" => "production",
            "XDEBUG_MODE" => "off",
            name if name.ends_with("DEBUG") => "0",
            "CI_ENVIRONMENT" | "APPLICATION_ENV" => "production",
            _ => "prod",
        };
        Some(format!("--env {variable}={value}"))
    }
}

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Containers::Development { signs } => development(signs, f),
            Containers::Project { engine, service, port, services, beside, left_out } => {
                write!(
                    f,
                    "compose project by {engine}, requests go to {service}:{port}; services: {}",
                    words::list(services)
                )?;
                for (what, names) in [("beside it", beside), ("not started:", left_out)] {
                    if !names.is_empty() {
                        write!(f, ", {what} {}", words::list(names))?;
                    }
                }
                Ok(())
            }
            Containers::LimitsPerService {} => f.write_str(
                "this engine lets services share no limit, so each service has the budget for itself: do not compare \
                 rows that have more services than others",
            ),
            Containers::ThroughAProxy {} => f.write_str(
                "requests pass the engine's proxy on 127.0.0.1, which costs time and CPU: compare it with other \
                 containers alone",
            ),
            Containers::HealthChecksRun { services } => write!(
                f,
                "the health check of {} runs during the load, since other services wait for it",
                words::list(services)
            ),
            Containers::ExternalNetworks { networks } => write!(
                f,
                "networks that exist outside the project are not joined: {}; what is only there is not reached",
                words::list(networks)
            ),
            Containers::VolumesKept {} => f.write_str(
                "`volumes: keep`: the trials write to the project's own volumes, and find there what earlier trials left",
            ),
        }
    }
}

fn development(signs: &[DevelopmentSign], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shown: Vec<String> = signs.iter().map(ToString::to_string).collect();
    write!(f, "this is a development configuration ({}): production is faster", shown.join("; "))?;
    let mut flags: Vec<String> = signs.iter().filter_map(DevelopmentSign::flag).collect();
    flags.sort();
    flags.dedup();
    match flags.is_empty() {
        true => Ok(()),
        false => write!(f, "; override it with `{}`", flags.join(" ")),
    }
}
