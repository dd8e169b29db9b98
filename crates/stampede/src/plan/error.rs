//! What is wrong with a plan, and where: file, line, column, what was expected, the nearest
//! known name.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan};
use serde_saphyr::MessageFormatter;
use stampede_load::schedule::ScheduleError;

use crate::causes::chain;

/// A plan that cannot be used. Nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read, or is not UTF-8.
    #[error("plan `{}` cannot be read", path.display())]
    Unreadable {
        /// As given.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The same of a `load.yaml`.
    #[error("`{}` cannot be read", path.display())]
    UnreadableTank {
        /// As given.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Larger than a plan can sensibly be.
    #[error("plan `{}` is larger than 1 MiB", path.display())]
    TooLarge {
        /// As given.
        path: PathBuf,
    },
    /// Something in it is wrong.
    #[error("{0}")]
    Wrong(Box<Wrong>),
}

/// A mistake and its place.
#[derive(Debug)]
pub struct Wrong {
    /// What is wrong.
    pub mistake: Mistake,
    /// Where.
    pub place: Place,
    /// What was expected there, in words.
    pub expected: String,
    /// The nearest known name, where one is near.
    pub nearest: Option<String>,
}

/// What is wrong with a part of a plan.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    /// Not YAML.
    #[error("{}", words(.0))]
    Yaml(Box<serde_saphyr::Error>),
    /// More YAML than a plan may hold.
    #[error("more than a plan may hold")]
    TooMuch,
    /// A key twice in one map.
    #[error("key `{0}` is here twice")]
    KeyTwice(String),
    /// A key that must be there.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key that nobody knows there.
    #[error("unknown key `{key}` in {place}")]
    UnknownKey {
        /// As written.
        key: String,
        /// `the plan`, `a load` …
        place: &'static str,
    },
    /// A name that nobody knows: of a client, a preset, a runtime …
    #[error("unknown {kind} `{name}`")]
    UnknownName {
        /// What it should name.
        kind: &'static str,
        /// As written.
        name: String,
    },
    /// Another kind of value.
    #[error("{found} is not {wanted}")]
    NotA {
        /// As written, in backticks, or `a list`, `a map`.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A value beyond its bounds.
    #[error("{what} `{found}` is out of range")]
    OutOfRange {
        /// Of what.
        what: &'static str,
        /// As written.
        found: String,
    },
    /// Two keys that exclude each other.
    #[error("`{0}` does not go with `{1}`")]
    Together(&'static str, &'static str),
    /// Two things of one name.
    #[error("two {kind} named `{name}`")]
    Twice {
        /// Of what.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A map of several names where one was expected.
    #[error("expected one runtime, found {found}")]
    SeveralNames {
        /// How many.
        found: usize,
    },
    /// Less than one request.
    #[error("the load sends no request")]
    NoRequest,
    /// `only` and `except` leave nothing.
    #[error("no runtime uses load `{0}`")]
    ForNoRuntime(String),
    /// `--only` leaves runtimes that no load is for.
    #[error("no load of the plan is for `{0}`")]
    NoLoad(String),
    /// More than a plan may hold.
    #[error("{found} {kind} are too many")]
    TooMany {
        /// Of what.
        kind: &'static str,
        /// How many.
        found: usize,
    },
    /// A key of rounds that have no fixed number.
    #[error("`{0}` without `rounds: auto`")]
    WithoutAuto(&'static str),
    /// `--kind` of an app that says its own.
    #[error("`{0}` is an app of the catalogue, whose kind is known")]
    KindIsKnown(String),
    /// A setting of a runtime that stampede does not start.
    #[error("`{0}` cannot be set for what already runs")]
    AlreadyRuns(String),
    /// A URL of another scheme, where runtimes are compared.
    #[error(
        "runtimes are compared over plain http alone; `stampede fire` speaks https and FastCGI"
    )]
    NotPlainHttp,
    /// A runtime's URL with a query.
    #[error("`{0}` has a query: the load's requests have their own")]
    Query(String),
    /// A runtime's URL with blanks in its path.
    #[error("`{0}` is not a path")]
    NotAPath(String),
    /// Two ways of watching.
    #[error("one runtime is watched in one way")]
    WatchedTwice,
    /// Yandex Tank's own generator is off.
    #[error("`phantom` is not enabled, so nothing is sent")]
    PhantomOff,
    /// A schedule of Yandex Tank's in a file.
    #[error("a `stpd_file` is not read here")]
    SteppedFile,
    /// What another module or a later check says of it: see `refused`.
    #[error("{}", chain(.0.as_ref()))]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// A schedule's own mistake.
    #[error("{0}")]
    Schedule(ScheduleError),
}

/// The parser's message without its place, which is shown with the line itself.
fn words(error: &serde_saphyr::Error) -> String {
    let message = serde_saphyr::UserMessageFormatter.format_message(innermost(error));
    message.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// What is wrong, without the alias that it was met through.
pub(super) fn innermost(error: &serde_saphyr::Error) -> &serde_saphyr::Error {
    match error.without_snippet() {
        serde_saphyr::Error::AliasError { error, .. } => innermost(error),
        error => error,
    }
}

/// A text that places point into: the plan's file, or the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// Its name as printed: the path as given, or `command line`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The directory that relative paths in it start from; empty: the current one.
    pub base: PathBuf,
}

/// A part of a source, in bytes on character boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) source: Arc<Source>,
    pub(super) offset: usize,
    pub(super) length: usize,
}

impl Mistake {
    /// As another module or a later check says.
    pub(super) fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Mistake {
        Mistake::Refused(Box::new(error))
    }
}

impl Place {
    /// The whole of `source`, pointed at by its begin.
    pub(super) fn begin_of(source: &Arc<Source>) -> Place {
        Place { source: Arc::clone(source), offset: 0, length: 0 }
    }

    /// The source's text at this place.
    pub(super) fn text(&self) -> &str {
        self.source.text.get(self.offset..self.offset + self.length).unwrap_or("")
    }

    /// Line and column, both from 1; columns in characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.source.text.get(..self.offset).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// An error here.
    pub(super) fn wrong(&self, mistake: Mistake, expected: impl Into<String>) -> PlanError {
        self.wrong_name(mistake, expected, None)
    }

    /// An error here, about a name.
    pub(super) fn wrong_name(
        &self,
        mistake: Mistake,
        expected: impl Into<String>,
        nearest: Option<String>,
    ) -> PlanError {
        let expected = expected.into();
        PlanError::Wrong(Box::new(Wrong { mistake, place: self.clone(), expected, nearest }))
    }
}

/// How an error is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// For pipes, logs and tests.
    Plain,
    /// For a terminal.
    Colour,
}

impl PlanError {
    /// The whole message: what, where with the line itself, what was expected, the nearest
    /// name. Several lines; ends in a line feed.
    pub fn render(&self, look: Look) -> String {
        let theme = match look {
            Look::Plain => GraphicalTheme::unicode_nocolor(),
            Look::Colour => GraphicalTheme::unicode(),
        };
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_width(100)
            .render_report(&mut text, self);
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mistake.fmt(f)
    }
}

impl Diagnostic for PlanError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            PlanError::Unreadable { .. } => Some(Box::new(
                "a plan is a YAML file in UTF-8; without one, say `--app`, `--runtimes` and a load",
            )),
            PlanError::UnreadableTank { .. } => {
                Some(Box::new("`--tank` is given Yandex Tank's own file, in UTF-8"))
            }
            PlanError::TooLarge { .. } => None,
            PlanError::Wrong(wrong) => Some(Box::new(match &wrong.nearest {
                Some(nearest) => {
                    format!("did you mean `{nearest}`?\nexpected {}", wrong.expected)
                }
                None => format!("expected {}", wrong.expected),
            })),
        }
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        match self {
            PlanError::Wrong(wrong) => Some(&wrong.place),
            _ => None,
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match self {
            PlanError::Wrong(wrong) => {
                let span = (wrong.place.offset, wrong.place.length);
                Some(Box::new(std::iter::once(LabeledSpan::new_with_span(None, span))))
            }
            _ => None,
        }
    }
}

impl miette::SourceCode for Place {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let inner = self.source.text.read_span(span, before, after)?;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.source.name.clone(),
            inner.data(),
            *inner.span(),
            inner.line(),
            inner.column(),
            inner.line_count(),
        )))
    }
}

/// The known name nearest to `found`, where one is near enough to be meant.
pub(super) fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Jaro-Winkler, 0 to 1; below this a suggestion confuses more than it helps.
    const ALIKE: f64 = 0.8;
    let found = found.to_lowercase();
    known
        .into_iter()
        .map(|name| (alike(&found, &name.to_lowercase()), name))
        .filter(|&(alike, _)| alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// How alike two names are, 0 to 1. One slip of the finger (`jti` for `jit`) counts as alike
/// also where the names are too short for Jaro-Winkler to see it.
fn alike(one: &str, other: &str) -> f64 {
    let one_slip = other.len() > 2 && strsim::osa_distance(one, other) == 1;
    strsim::jaro_winkler(one, other).max(if one_slip { 0.9 } else { 0.0 })
}

/// Names as a list for people: `` `a`, `b` or `c` ``.
pub(super) fn one_of<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
