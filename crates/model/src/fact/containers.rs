//! Facts about a compose project, whose containers are measured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::development::{self, DevelopmentSign};
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
    /// The engine limits neither memory nor CPU time.
    #[serde(rename = "limits_missing")]
    LimitsMissing {},
    /// A flag names stages of Dockerfiles, for several projects, that this one does not have.
    #[serde(rename = "stages_missing")]
    StagesMissing {
        /// The stages.
        stages: Vec<String>,
    },
    /// Volumes that other projects share with this one.
    #[serde(rename = "external_volumes")]
    ExternalVolumes {
        /// Their names.
        volumes: Vec<String>,
    },
    /// Volumes whose files are on another machine, or kept by a plugin of the engine.
    #[serde(rename = "volumes_elsewhere")]
    VolumesElsewhere {
        /// Their names, each with what keeps its files: `files (nfs)`.
        volumes: Vec<String>,
    },
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
    /// Services have limits of their own below the budget, from the project's files.
    #[serde(rename = "own_limits")]
    OwnLimits {
        /// Their services, each with its limits.
        services: Vec<OwnLimit>,
    },
    /// Services are less isolated than containers usually are.
    #[serde(rename = "host_access")]
    HostAccess {
        /// Their services, each with the keys that say so: `web (privileged)`.
        services: Vec<String>,
    },
    /// The server's name leads to HTTPS, which the load does not speak.
    #[serde(rename = "https_name")]
    HttpsName {
        /// The value of `SERVER_NAME`.
        name: String,
    },
    /// Trials write to the project's own volumes.
    #[serde(rename = "volumes_kept")]
    VolumesKept {},
}

/// A limit of one service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnLimit {
    /// The service.
    pub service: String,
    /// Its CPUs, as the project's files have them; empty: no limit.
    pub cpus: String,
    /// Its memory, likewise.
    pub memory: String,
}

impl fmt::Display for OwnLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus = (!self.cpus.is_empty()).then(|| format!("{} CPUs", self.cpus));
        let memory = (!self.memory.is_empty()).then(|| format!("{} of memory", self.memory));
        let all: Vec<String> = cpus.into_iter().chain(memory).collect();
        write!(f, "{} ({})", self.service, all.join(", "))
    }
}

impl fmt::Display for Containers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Containers::Development { signs } => development::write(signs, f),
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
            Containers::StagesMissing { stages } => write!(
                f,
                "none of its services has what `--build-target` names: {}",
                words::list(stages)
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
            Containers::ExternalVolumes { volumes } => write!(
                f,
                "volumes from outside the project: {}; trials get them as they get the project's own (`volumes: copy`, \
                 `empty` or `keep`)",
                words::list(volumes)
            ),
            Containers::VolumesElsewhere { volumes } => write!(
                f,
                "not on this machine's disk: {}; a trial gets such a volume on this disk, which answers faster than a \
                 network, and empty if the engine does not have it yet (`volumes: keep` mounts it as it is)",
                words::list(volumes)
            ),
            Containers::ExternalNetworks { networks } => write!(
                f,
                "networks that exist outside the project are not joined: {}; what is only there is not reached",
                words::list(networks)
            ),
            Containers::HostAccess { services } => write!(
                f,
                "services reach beyond their containers: {}; what they do to the machine stays after a trial, and \
                 what they start there is not in the budget",
                words::list(services)
            ),
            Containers::OwnLimits { services } => write!(
                f,
                "the project's files limit {}: limits below the budget stay (`limits: none` in a plan removes them)",
                words::list(&services.iter().map(ToString::to_string).collect::<Vec<_>>())
            ),
            Containers::HttpsName { name } => write!(
                f,
                "`SERVER_NAME={name}` makes Caddy answer by HTTPS, and the load is plain HTTP; if pages are \
                 redirected, add `--env SERVER_NAME=:80`"
            ),
            Containers::VolumesKept {} => f.write_str(
                "`volumes: keep`: the trials write to the project's own volumes, and find there what earlier trials left",
            ),
            _ => self.of_limits(f),
        }
    }
}

impl Containers {
    fn of_limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Containers::LimitsPerService {} => f.write_str(
                "this engine lets services share no limit, so each service has the budget for itself: do not compare \
                 rows that have more services than others",
            ),
            Containers::LimitsMissing {} => f.write_str(
                "this engine limits neither memory nor fractions of a CPU (it runs without root, and has no cgroups): containers \
                 stay on the CPUs of the budget, and have all of this machine's memory",
            ),
            _ => Ok(()),
        }
    }
}

/// Where a service has code from that the project mounts: paths in its container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceCode {
    /// The service.
    pub service: String,
    /// What its image has itself.
    pub own: Vec<String>,
    /// What an image has that was made for it, with a copy of the mounted code.
    pub copied: Vec<String>,
    /// What stays mounted, since the image has a volume there.
    pub mounted: Vec<String>,
}

impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ServiceCode { service, own, copied, mounted } = self;
        let parts: Vec<String> = [
            (own, "is the image's own"),
            (copied, "is a copy of the mounted code, in an image made for this"),
            (mounted, "stays mounted, since the image has a volume there"),
        ]
        .into_iter()
        .filter(|(paths, _)| !paths.is_empty())
        .map(|(paths, what)| format!("{} {what}", words::list(paths)))
        .collect();
        write!(f, "the code of service {service}: {}", parts.join("; "))
    }
}
