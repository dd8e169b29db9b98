//! Observations of a runtime before the load that the reader should know.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};

use super::containers::ServiceCode;
use super::mismatch::VISIBLE;
use super::php_proof::{ProvenBy, Unproven};
use super::{Fact, Kind};

/// Something that was observed of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Observation {
    /// State of one request was visible in a later one.
    #[serde(rename = "visible_later")]
    Visible {
        /// The kind of state: `class`, `constant`, `global` …
        what: String,
    },
    /// No worker answered twice, so it is not known whether state stays visible.
    #[serde(rename = "isolation_not_shown")]
    IsolationNotShown {},
    /// An extension that the app wants is not loaded.
    #[serde(rename = "extension_missing")]
    ExtensionMissing {
        /// The extension's name.
        extension: String,
    },
    /// The app's answer changes from request to request.
    #[serde(rename = "answer_changes")]
    AnswerChanges {
        /// Whether the changing parts can be listed in `mask`.
        can_be_masked: bool,
    },
    /// The PHP that serves was asked what it is, on a start before the measured one. The measured
    /// start has the same images, files of php.ini and programs.
    #[serde(rename = "php_proven")]
    PhpProven {
        /// The service that it runs in.
        service: String,
        /// How it is known.
        by: ProvenBy,
    },
    /// A service beside the measured one was not healthy by the project's own check.
    #[serde(rename = "never_healthy")]
    NeverHealthy {
        /// The service.
        service: String,
    },
    /// Code that a project mounts comes from the images.
    #[serde(rename = "code_in_images")]
    CodeInImages {
        /// Where a service has it from.
        service: ServiceCode,
    },
    /// It is not known which PHP serves.
    #[serde(rename = "php_unproven")]
    PhpUnproven {
        /// The reason.
        why: Unproven,
    },
}

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Observation::Visible { what } => write!(f, "{what}{VISIBLE}"),
            Observation::IsolationNotShown {} => f.write_str(
                "no worker answered twice, so it is not known whether requests are isolated",
            ),
            Observation::ExtensionMissing { extension } => {
                write!(f, "the app wants extension `{extension}`: not loaded")
            }
            Observation::AnswerChanges { can_be_masked } => {
                f.write_str("the answer changes from request to request")?;
                if *can_be_masked {
                    f.write_str(": list the changing parts in `mask`")
                } else {
                    Ok(())
                }
            }
            Observation::PhpProven { service, by } => {
                write!(f, "PHP of service {service} said what it is, {by}, on a start before")
            }
            Observation::NeverHealthy { service } => write!(
                f,
                "the health check of service {service} did not work within a minute, since its program was not found; it was measured so"
            ),
            Observation::CodeInImages { service } => service.fmt(f),
            Observation::PhpUnproven { why } => {
                write!(f, "it is not proven which PHP serves: {why}")
            }
        }
    }
}

impl Kind for Observation {
    const NAME: &'static str = "Observation";
    const ABOUT: &'static str = "What a runtime showed of itself before load.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Observation::json_schema(generator)]
    }
}

/// The words of format 1 for [`VISIBLE`].
const FORMAT_1: &str = " of one request is visible in a later one";

/// Reads observations. Of sentences of format 1 only those that decisions depend on become known.
///
/// # Errors
/// They are neither sentences nor objects.
pub fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Fact<Observation>>, D::Error> {
    let all = Vec::<Fact<Observation>>::deserialize(deserializer)?;
    let known = |fact| match fact {
        Fact::Other(other) if other.is_bare() => match other.text.strip_suffix(FORMAT_1) {
            Some(what) => Observation::Visible { what: what.to_owned() }.into(),
            None => Fact::Other(other),
        },
        fact => fact,
    };
    Ok(all.into_iter().map(known).collect())
}
