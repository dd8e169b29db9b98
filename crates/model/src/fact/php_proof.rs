//! Facts about which PHP serves a project in containers, and how that is known.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// How it is known which PHP serves a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProvenBy {
    /// It answered a request to the project's page.
    Request,
    /// A process that serves wrote it when it began.
    Start,
}

/// Why it is not known which PHP serves a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum Unproven {
    /// No PHP of the project has read the file that asks it.
    Silent {},
    /// With the file that asks PHP the project does not serve its page.
    NotServed {},
    /// PHP runs in several services, and none of them answers the page's request itself.
    Several {
        /// The services.
        services: Vec<String>,
    },
    /// The measured start is not the one on which PHP was asked.
    OtherStart {
        /// What differs, at least one thing.
        differences: Vec<StartDifference>,
    },
}

/// What differs between the start on which PHP was asked and a measured one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum StartDifference {
    /// The image of a service.
    Image {
        /// The service.
        service: String,
    },
    /// A file of php.ini.
    IniFile {
        /// Its path in the container.
        file: String,
    },
    /// A program runs in only one of the two.
    Program {
        /// The service.
        service: String,
        /// The program's path in the container.
        program: String,
        /// Whether it runs in the measured start.
        is_measured: bool,
    },
}

impl fmt::Display for ProvenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProvenBy::Request => "in answer to a request",
            ProvenBy::Start => "when its process began",
        })
    }
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unproven::Silent {} => f.write_str("no PHP of the project read the file that asks it"),
            Unproven::NotServed {} => {
                f.write_str("with the file that asks PHP, the project does not serve its page")
            }
            Unproven::Several { services } => {
                write!(f, "several services run PHP: {}", words::list(services))
            }
            Unproven::OtherStart { differences } => write!(
                f,
                "the measured start differs from the one on which PHP was asked: {}",
                words::some_of(differences)
            ),
        }
    }
}

impl fmt::Display for StartDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartDifference::Image { service } => write!(f, "the image of service {service}"),
            StartDifference::IniFile { file } => write!(f, "`{file}`"),
            StartDifference::Program { service, program, is_measured } => {
                let has = if *is_measured { "runs" } else { "does not run" };
                write!(f, "service {service} {has} `{program}`")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mismatch, Observation};
    use super::*;

    #[test]
    fn each_way_to_know_php_has_a_sentence() {
        let service = || "php".to_owned();
        let differences = vec![
            StartDifference::Image { service: service() },
            StartDifference::IniFile { file: "/etc/php/php.ini".to_owned() },
            StartDifference::Program {
                service: service(),
                program: "/usr/bin/php".to_owned(),
                is_measured: false,
            },
        ];
        let reasons = [
            Unproven::Silent {},
            Unproven::NotServed {},
            Unproven::Several { services: vec![service(), "queue".to_owned()] },
            Unproven::OtherStart { differences },
        ];
        let proven = [ProvenBy::Request, ProvenBy::Start]
            .map(|by| Observation::PhpProven { service: service(), by }.to_string());
        let unproven = reasons.map(|why| Mismatch::PhpUnproven { why }.to_string());
        insta::assert_snapshot!([proven.to_vec(), unproven.to_vec()].concat().join("\n"));
    }
}
