//! Differences between runtimes: those that should not exist, and those that are allowed.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Kind;
use super::php_proof::Unproven;
use crate::record::PageRecord;
use crate::words;

/// A reason why a runtime's figures may not be compared with the others'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Mismatch {
    /// The runtime was already running: stampede set neither its CPUs nor its settings.
    #[serde(rename = "already_running")]
    AlreadyRunning {},
    /// Each of its containers has the budget for itself, and other rows share one.
    #[serde(rename = "own_limits")]
    OwnLimits {},
    /// Nothing limits the memory of its containers, nor fractions of a CPU, and other rows have the budget.
    #[serde(rename = "limits_missing")]
    LimitsMissing {},
    /// Requests reach it by a proxy of the container engine, and other rows without one.
    #[serde(rename = "through_a_proxy")]
    ThroughAProxy {},
    /// The runtime has another number of workers than was asked for.
    #[serde(rename = "workers_differ")]
    Workers {
        /// The number that was observed.
        workers: u32,
        /// The number that was asked for.
        asked: u32,
    },
    /// The number of workers changed during the load.
    #[serde(rename = "workers_changed")]
    WorkersChanged {
        /// The number after the load.
        workers: u32,
        /// The number before the load.
        before: u32,
    },
    /// The workers are threads, and the runtime's PHP is not thread-safe.
    #[serde(rename = "not_thread_safe")]
    NotThreadSafe {},
    /// State of one request is visible in a later one.
    #[serde(rename = "not_isolated")]
    NotIsolated {
        /// The kinds of state. Empty: it is not known that requests are isolated.
        leaks: Vec<String>,
    },
    /// The app's page differs from the page of the other runtimes.
    #[serde(rename = "answer_differs")]
    Answer {
        /// The first line that differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// A page of the load differs from the page of the other runtimes.
    #[serde(rename = "page_differs")]
    Page {
        /// The page of this runtime.
        page: Box<PageRecord>,
        /// The page of the other runtimes.
        reference: Box<PageRecord>,
        /// The first lines that differ: `- ` those of the other runtimes, `+ ` those of this one. Secrets
        /// are masked. Empty: they are not known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        lines: Vec<String>,
    },
    /// Further pages of the load differ.
    #[serde(rename = "more_pages_differ")]
    MorePages {
        /// Number of further pages.
        pages: u32,
    },
    /// The runtime was measured at another path, to which its redirects led.
    #[serde(rename = "path_differs")]
    Path {
        /// The path of this runtime.
        path: String,
        /// The path of the other runtimes.
        reference: String,
    },
    /// The mean size of the answers under load differs.
    #[serde(rename = "body_size_differs")]
    BodySize {
        /// The mean of this runtime, in bytes.
        mean_bytes: f64,
        /// The reference's mean, in bytes.
        reference_bytes: f64,
    },
    /// The PHP version differs.
    #[serde(rename = "php_version_differs")]
    PhpVersion {
        /// The version of this runtime.
        version: String,
        /// The reference's version.
        reference: String,
    },
    /// OPcache is on in this runtime and off in the reference, or the other way round.
    #[serde(rename = "opcache_differs")]
    Opcache {
        /// Whether OPcache is on in this runtime.
        on: bool,
    },
    /// JIT is on in this runtime and off in the reference, or the other way round.
    #[serde(rename = "jit_differs")]
    Jit {
        /// Whether JIT is on in this runtime.
        on: bool,
    },
    /// Values of php.ini differ.
    #[serde(rename = "ini_differs")]
    Ini {
        /// The values that differ.
        values: Vec<IniValue>,
    },
    /// The loaded extensions differ.
    #[serde(rename = "extensions_differ")]
    Extensions {
        /// The extensions that differ.
        extensions: Vec<Extension>,
    },
    /// PHP has other values of php.ini than the plan asks for.
    #[serde(rename = "ini_not_taken")]
    IniNotTaken {
        /// The values; the reference is what was asked for.
        values: Vec<IniValue>,
    },
    /// It is not known which PHP serves, so nothing of it can be compared.
    #[serde(rename = "php_unproven")]
    PhpUnproven {
        /// The reason.
        why: Unproven,
    },
}

/// A PHP setting that differs for a known reason: the plan asked for it, or the SAPI decides it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Php {
    /// OPcache is on in this runtime and off in the reference, or the other way round.
    #[serde(rename = "opcache")]
    Opcache {
        /// Whether OPcache is on in this runtime.
        on: bool,
    },
    /// JIT is on in this runtime and off in the reference, or the other way round.
    #[serde(rename = "jit")]
    Jit {
        /// Whether JIT is on in this runtime.
        on: bool,
    },
    /// A value of php.ini differs.
    #[serde(rename = "ini")]
    Ini(IniValue),
    /// An extension is loaded in only one of this runtime and the reference.
    #[serde(rename = "extension")]
    Extension(Extension),
    /// The version differs.
    #[serde(rename = "version")]
    Version {
        /// The version of this runtime.
        version: String,
        /// The reference's version.
        reference: String,
    },
}

/// A value of php.ini.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IniValue {
    /// The directive's name, or a pattern that ends in `*`. (A field named `key` would be taken for
    /// a secret's name.)
    pub directive: String,
    /// The value in this runtime. Null: it has none.
    pub value: Option<String>,
    /// The reference's value. Null: it has none.
    pub reference: Option<String>,
}

/// A PHP extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extension {
    /// The extension's name in lower case.
    pub name: String,
    /// Whether this runtime has it and the reference does not. False: the other way round.
    pub is_loaded: bool,
}

/// The words for state of one request that is visible in another.
pub const VISIBLE: &str = " of one request is still there in the next one";

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::OwnLimits {} => f.write_str(
                "each of its containers has the CPUs and the memory of the budget for itself; the others share one budget",
            ),
            Mismatch::LimitsMissing {} => f.write_str(
                "its container engine limits neither memory nor fractions of a CPU; the others have the limits of the budget",
            ),
            Mismatch::ThroughAProxy {} => f.write_str(
                "its requests pass a proxy of the container engine, which takes CPU and time; those of the others do not",
            ),
            Mismatch::AlreadyRunning {} => {
                f.write_str("it was already running, so stampede did not set its CPUs or settings")
            }
            Mismatch::Workers { workers, asked } => {
                let workers = words::quantity(u64::from(*workers), "worker");
                write!(f, "it has {workers} instead of the {asked} asked for")
            }
            Mismatch::WorkersChanged { workers, before } => {
                let workers = words::quantity(u64::from(*workers), "worker");
                write!(f, "it has {workers} instead of {before}")
            }
            Mismatch::NotThreadSafe {} => {
                f.write_str("its PHP is not thread-safe: one thread serves all")
            }
            Mismatch::NotIsolated { leaks } => match leaks.first() {
                Some(leak) => write!(f, "{leak}{VISIBLE}"),
                None => f.write_str("it is not known whether one request can see data of another"),
            },
            Mismatch::PhpVersion { version, reference } => {
                write!(f, "it runs PHP {version} instead of {reference}")
            }
            Mismatch::Opcache { on } => write!(f, "its {}", Php::Opcache { on: *on }),
            Mismatch::Jit { on } => write!(f, "its {}", Php::Jit { on: *on }),
            Mismatch::Ini { values } => {
                write!(f, "its php.ini differs: {}", words::some_of(values))
            }
            Mismatch::IniNotTaken { values } => {
                let shown = |one: &IniValue| match &one.value {
                    None => format!("it has no `{}`", one.directive),
                    Some(_) => one.to_string(),
                };
                let all: Vec<String> = values.iter().map(shown).collect();
                write!(f, "its PHP does not take what was asked for: {}", words::some_of(&all))
            }
            Mismatch::Extensions { extensions } => {
                write!(f, "its extensions differ: {}", words::some_of(extensions))
            }
            Mismatch::PhpUnproven { why } => {
                write!(f, "it is not proven which PHP serves it: {why}")
            }
            _ => self.of_answers(f),
        }
    }
}

impl Mismatch {
    fn of_answers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Answer { shown } => {
                f.write_str(
                    "its answer differs from the others', even without the parts that `mask` removes",
                )?;
                shown.as_ref().map_or(Ok(()), |shown| write!(f, ": {shown}"))
            }
            Mismatch::Page { page, reference, lines } => {
                let (path, got, expected) = (&page.path, answer(page), answer(reference));
                match got == expected {
                    true => write!(
                        f,
                        "`{path}` gives another answer than on the other runtimes: {got} in both"
                    )?,
                    false => write!(f, "`{path}` gives {got} instead of {expected}")?,
                }
                lines.iter().try_for_each(|line| write!(f, "\n{line}"))
            }
            Mismatch::MorePages { pages } => {
                write!(f, "and {} more", words::number_of(*pages, "page"))
            }
            Mismatch::Path { path, reference } => {
                write!(f, "it was measured at `{path}`, the others at `{reference}`")
            }
            Mismatch::BodySize { mean_bytes, reference_bytes } => {
                let [is, was] = [mean_bytes, reference_bytes].map(|bytes| words::bytes(*bytes));
                write!(f, "its answers have {is} on average instead of {was}")
            }
            _ => Ok(()),
        }
    }
}

/// A page's answer in words: `200, 18.9 KiB, `Shop``.
fn answer(page: &PageRecord) -> String {
    let PageRecord { status, location, title, bytes, .. } = page;
    if let Some(location) = location {
        return format!("{status} to `{location}`");
    }
    match *bytes {
        0 => format!("{status}, an empty body"),
        bytes => format!("{status}, {}, `{title}`", words::bytes(bytes as f64)),
    }
}

fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

impl fmt::Display for IniValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IniValue { directive, value, reference } = self;
        match (value, reference) {
            (Some(value), Some(reference)) => {
                write!(f, "{directive} `{value}` instead of `{reference}`")
            }
            (_, None) => write!(f, "with {directive}"),
            (None, _) => write!(f, "without {directive}"),
        }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = if self.is_loaded { "with" } else { "without" };
        write!(f, "{has} extension {}", self.name)
    }
}

impl fmt::Display for Php {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Php::Opcache { on } => {
                write!(f, "OPcache is {} instead of {}", switch(*on), switch(!*on))
            }
            Php::Jit { on } => write!(f, "JIT is {} instead of {}", switch(*on), switch(!*on)),
            Php::Ini(value) => value.fmt(f),
            Php::Extension(extension) => extension.fmt(f),
            Php::Version { version, reference } => {
                write!(f, "PHP {version} instead of {reference}")
            }
        }
    }
}

impl Kind for Mismatch {
    const NAME: &'static str = "NotComparable";
    const ABOUT: &'static str = "Why a runtime's figures may not be compared with the others'.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Mismatch::json_schema(generator)]
    }
}

impl Kind for Php {
    const NAME: &'static str = "PhpSetting";
    const ABOUT: &'static str = "A setting of PHP that differs for a known reason.";

    fn schemas(generator: &mut SchemaGenerator) -> Vec<Schema> {
        vec![Php::json_schema(generator)]
    }
}
