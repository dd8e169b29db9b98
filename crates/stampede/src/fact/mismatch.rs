//! In what runtimes differ that should be the same, and in what they may.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Kind;
use crate::store::record::PageRecord;
use crate::summary::words;

/// Why a runtime's figures may not be compared with the others'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Mismatch {
    /// It was already running: neither its CPUs nor its settings are stampede's.
    #[serde(rename = "already_running")]
    AlreadyRunning {},
    /// It has another number of workers than was asked for.
    #[serde(rename = "workers_differ")]
    Workers {
        /// Seen.
        workers: u32,
        /// Asked for.
        asked: u32,
    },
    /// It has another number of workers than before.
    #[serde(rename = "workers_changed")]
    WorkersChanged {
        /// Now.
        workers: u32,
        /// Before.
        before: u32,
    },
    /// Its workers are threads, and its PHP is not thread-safe.
    #[serde(rename = "not_thread_safe")]
    NotThreadSafe {},
    /// Something of one request is visible in a later one.
    #[serde(rename = "not_isolated")]
    NotIsolated {
        /// What; empty: it is not shown that nothing is.
        leaks: Vec<String>,
    },
    /// The app's page is another one.
    #[serde(rename = "answer_differs")]
    Answer {
        /// The first line that differs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// A page of the load is another one.
    #[serde(rename = "page_differs")]
    Page {
        /// As it answered.
        page: Box<PageRecord>,
        /// As the others did.
        reference: Box<PageRecord>,
    },
    /// More pages of the load are others.
    #[serde(rename = "more_pages_differ")]
    MorePages {
        /// How many more.
        pages: u32,
    },
    /// It was measured at another path, which its redirects led to.
    #[serde(rename = "path_differs")]
    Path {
        /// Its path.
        path: String,
        /// The others' path.
        reference: String,
    },
    /// Its answers under load have another size on average.
    #[serde(rename = "body_size_differs")]
    BodySize {
        /// Its mean.
        mean_bytes: f64,
        /// The reference's mean.
        reference_bytes: f64,
    },
    /// It runs another PHP.
    #[serde(rename = "php_version_differs")]
    PhpVersion {
        /// Its version.
        version: String,
        /// The reference's version.
        reference: String,
    },
    /// OPcache is on or off otherwise.
    #[serde(rename = "opcache_differs")]
    Opcache {
        /// Whether it is on.
        on: bool,
    },
    /// JIT is on or off otherwise.
    #[serde(rename = "jit_differs")]
    Jit {
        /// Whether it is on.
        on: bool,
    },
    /// Other values in php.ini.
    #[serde(rename = "ini_differs")]
    Ini {
        /// By key.
        values: Vec<IniValue>,
    },
    /// Other extensions.
    #[serde(rename = "extensions_differ")]
    Extensions {
        /// By name.
        extensions: Vec<Extension>,
    },
}

/// A setting of PHP that is another one for a known reason: the plan asked for it, or a SAPI
/// decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code")]
pub enum Php {
    /// OPcache.
    #[serde(rename = "opcache")]
    Opcache {
        /// Whether it is on.
        on: bool,
    },
    /// JIT.
    #[serde(rename = "jit")]
    Jit {
        /// Whether it is on.
        on: bool,
    },
    /// A value in php.ini.
    #[serde(rename = "ini")]
    Ini(IniValue),
    /// An extension.
    #[serde(rename = "extension")]
    Extension(Extension),
}

/// A value in php.ini.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IniValue {
    /// Its name, or a pattern that ends in `*`. (`key` would be taken for a secret's name.)
    pub directive: String,
    /// Its value; null: it has none.
    pub value: Option<String>,
    /// The reference's value; null: it has none.
    pub reference: Option<String>,
}

/// An extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Extension {
    /// In lower case.
    pub name: String,
    /// Whether this runtime has it, and the reference has not.
    pub is_loaded: bool,
}

/// How it is said that something of one request is there in another.
pub const VISIBLE: &str = " of one request is still there in the next one";

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::AlreadyRunning {} => f.write_str(
                "it was already running: neither its CPUs nor its settings are stampede's",
            ),
            Mismatch::Workers { workers, asked } => {
                write!(f, "{workers} workers instead of the {asked} asked for")
            }
            Mismatch::WorkersChanged { workers, before } => {
                write!(f, "{workers} workers instead of {before}")
            }
            Mismatch::NotThreadSafe {} => {
                f.write_str("its PHP is not thread-safe: one thread serves all")
            }
            Mismatch::NotIsolated { leaks } => match leaks.first() {
                Some(leak) => write!(f, "{leak}{VISIBLE}"),
                None => f.write_str("requests are not shown to be isolated"),
            },
            Mismatch::PhpVersion { version, reference } => {
                write!(f, "PHP {version} instead of {reference}")
            }
            Mismatch::Opcache { on } => {
                write!(f, "OPcache {} instead of {}", switch(*on), switch(!*on))
            }
            Mismatch::Jit { on } => write!(f, "JIT {} instead of {}", switch(*on), switch(!*on)),
            Mismatch::Ini { values } => write!(f, "php.ini: {}", words::some_of(values)),
            Mismatch::Extensions { extensions } => f.write_str(&words::some_of(extensions)),
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
            Mismatch::Page { page, reference } => {
                let (got, expected) = (answer(page), answer(reference));
                write!(f, "`{}` gives {got} instead of {expected}", page.path)
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

/// `200, 18.9 KiB, `Shop``.
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
            Php::Opcache { on } => Mismatch::Opcache { on: *on }.fmt(f),
            Php::Jit { on } => Mismatch::Jit { on: *on }.fmt(f),
            Php::Ini(value) => value.fmt(f),
            Php::Extension(extension) => extension.fmt(f),
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
