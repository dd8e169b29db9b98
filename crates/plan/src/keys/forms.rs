//! How values of keys are written: as text of a form, as one of several words, or as a list or map of
//! those.

use stampede_model::app_kind::AppKind;
use stampede_model::load::HttpVersion;

use super::super::budget::CPUS_MAX;
use super::super::compose::FILES_MAX;
use super::super::images::WORDS as IMAGE_WORDS;
use super::super::loads::REQUESTS_MAX;
use super::super::preset::PRESETS;
use super::super::read::ROUNDS_MAX;
use super::super::runtimes::{RUNTIMES_MAX, WORKERS};
use super::{Form, Kind};

pub(super) static COUNT: Kind = Kind::Whole { least: 1, most: REQUESTS_MAX };
pub(super) static METHOD_LIST: Kind = Kind::Any(&[&Kind::Text, &TEXT_LIST]);
pub(super) static TEXTS: Kind = Kind::Any(&[&Kind::Text, &TEXT_LIST]);
pub(super) static FILE_OR_FILES: Kind = Kind::Any(&[&Kind::Text, &FILE_LIST]);
pub(super) static FILE_LIST: Kind = Kind::List { of: &Kind::Text, least: 1, most: FILES_MAX };
pub(super) static TEXT_LIST: Kind = Kind::List { of: &Kind::Text, least: 0, most: usize::MAX };
pub(super) static EXPECTATIONS: Kind = Kind::Any(&[&EXPECTATION, &EXPECTATION_LIST]);
pub(super) static EXPECTATION_LIST: Kind =
    Kind::List { of: &EXPECTATION, least: 0, most: usize::MAX };
pub(super) static CPU_COUNTS: Kind = Kind::Any(&[&CPU_COUNT, &CPU_COUNT_LIST]);
pub(super) static CPU_COUNT_LIST: Kind = Kind::Set { of: &CPU_COUNT, most: usize::MAX };
pub(super) static PHP_VERSIONS: Kind = Kind::Any(&[&PHP_VERSION, &PHP_VERSION_LIST]);
pub(super) static PHP_VERSIONS_OR_PROGRAM: Kind = Kind::Any(&[&PHP_VERSIONS, &Kind::Text]);
pub(super) static IMAGE_WORD: Kind = Kind::Words(&IMAGE_WORDS);
pub(super) static IMAGES: Kind =
    Kind::Any(&[&IMAGE_WORD, &Kind::Map { of: &Kind::Text, least: 0 }]);
pub(super) static BUILD_TARGET: Kind =
    Kind::Any(&[&TEXTS, &Kind::Map { of: &Kind::Text, least: 0 }]);
pub(super) static PHP_VERSION_LIST: Kind =
    Kind::List { of: &PHP_VERSION, least: 1, most: RUNTIMES_MAX };
pub(super) static ROLE_CPUS: Kind = Kind::Whole { least: 1, most: CPUS_MAX as u64 };
pub(super) static ROUNDS: Kind = Kind::Any(&[&FIXED_ROUNDS, &Kind::Words(&["auto"])]);
pub(super) static FIXED_ROUNDS: Kind = Kind::Whole { least: 1, most: ROUNDS_MAX as u64 };
pub(super) static PRESET: Kind = Kind::Words(&PRESET_NAMES);
pub(super) static ON_OR_OFF: Kind = Kind::Words(&["on", "off"]);
pub(super) static WORKER_COUNT: Kind =
    Kind::Whole { least: *WORKERS.start(), most: *WORKERS.end() };
pub(super) static LINES: Kind = Kind::Map { of: &TEXTS, least: 0 };
pub(super) static HEADERS: Kind = Kind::Map { of: &Kind::Scalar, least: 0 };
pub(super) static SWEPT_VALUES: Kind = Kind::Map { of: &SWEPT, least: 0 };
pub(super) static SWEPT: Kind = Kind::List { of: &Kind::Scalar, least: 1, most: RUNTIMES_MAX };
pub(super) static VALUE: Kind = Kind::Any(&[&Kind::Scalar, &Kind::Null]);
pub(super) static VALUES: Kind = Kind::Map { of: &VALUE, least: 0 };

pub(super) static LENGTH: Kind = Kind::Form(Form {
    name: "length",
    shown: "length of time",
    pattern: r"^(([0-9]+\.?[0-9]*|\.[0-9]+)(d|h|ms|m|s|us|µs|ns))+$|^[0-9.]+$",
    number: Some(&Kind::Number { least: 0.0, most: f64::INFINITY }),
});
pub(super) static SIZE: Kind = Kind::Form(Form {
    name: "size",
    shown: "size",
    pattern: r"^[0-9.]+ *([KMGTkmgt]([Ii]?[Bb])?|[Bb](ytes)?)?$",
    number: Some(&Kind::Whole { least: 0, most: u64::MAX }),
});
pub(super) static RATE: Kind = Kind::Form(Form {
    name: "rate",
    shown: "requests per second",
    pattern: r"^[0-9]*\.?[0-9]{0,6}$",
    number: Some(&Kind::Number { least: 0.0, most: 10_000_000.0 }),
});
pub(super) static SHARE: Kind = Kind::Form(Form {
    name: "share",
    shown: "share of the peak, 1% to 200%",
    pattern: r"^[0-9.]+ *%$",
    number: None,
});
pub(super) static PRECISION: Kind = Kind::Form(Form {
    name: "precision",
    shown: "0.1% to 100%",
    pattern: r"^[0-9.]+ *%?$",
    number: Some(&Kind::Number { least: 0.001, most: 1.0 }),
});
pub(super) static SCHEDULE: Kind = Kind::Form(Form {
    name: "schedule",
    shown: "schedule",
    pattern: r"^[\s,]*((line|const|step)\s*\([^()]*\)[\s,]*)+$",
    number: None,
});
pub(super) static EXPECTATION: Kind = Kind::Form(Form {
    name: "expectation",
    shown: "expectation",
    pattern: r"^\s*(p[0-9]+(\.[0-9]{1,3})?|max|mean|ok|throughput|cpu_cost|memory)(\s+worse)?\s*[<>]=?\s*[0-9.]+ *\S*\s*$",
    number: None,
});
pub(super) static CPU_COUNT: Kind = Kind::Form(Form {
    name: "cpu_count",
    shown: "number of CPUs",
    pattern: r"^([0-9]+m|[0-9]+(\.[0-9]+)?)$",
    number: Some(&CPU_NUMBER),
});
pub(super) static PHP_VERSION: Kind = Kind::Form(Form {
    name: "php_version",
    shown: "version of PHP",
    pattern: r"^[0-9]{1,2}(\.[0-9]{1,2}){1,2}$",
    number: Some(&PHP_NUMBER),
});
static PHP_NUMBER: Kind = Kind::Number { least: 0.0, most: 100.0 };
static CPU_NUMBER: Kind = Kind::Number { least: 0.01, most: CPUS_MAX as f64 };
pub(super) static URL: Kind = Kind::Form(Form {
    name: "url",
    shown: "URL",
    pattern: "^(http://|unix:)[^ ?]+$",
    number: None,
});
pub(super) static WATCHED: Kind = Kind::Form(Form {
    name: "watched",
    shown: "text",
    pattern: r"^(container|project|unit|pid|ssh):[A-Za-z0-9_.@:\\][A-Za-z0-9_.@:\\-]*$",
    number: None,
});
pub(super) static PATH: Kind =
    Kind::Form(Form { name: "path", shown: "path", pattern: "^/[!-~]*$", number: None });
pub(super) static METHOD: Kind =
    Kind::Form(Form { name: "method", shown: "method", pattern: "^[A-Z-]+$", number: None });

pub(super) const APP_KINDS: [&str; AppKind::ALL.len()] = {
    let mut names = [""; AppKind::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = AppKind::ALL[i].name();
        i += 1;
    }
    names
};
pub(super) const HTTP_VERSIONS: [&str; HttpVersion::ALL.len()] = {
    let mut names = [""; HttpVersion::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = HttpVersion::ALL[i].name();
        i += 1;
    }
    names
};
pub(super) const PRESET_NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].0;
        i += 1;
    }
    names
};
