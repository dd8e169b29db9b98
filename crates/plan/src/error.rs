//! Describes what is wrong with a plan and where: the file, line and column, what was expected, and
//! the nearest known name.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan};
use serde_saphyr::MessageFormatter;
use stampede_model::schedule::ScheduleError;

use stampede_model::causes::chain;

/// An error in a plan, found before anything was started.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The file cannot be read, or is not UTF-8.
    #[error("plan `{}` cannot be read", path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A configuration of Yandex Tank cannot be read, or is not UTF-8.
    #[error("`{}` cannot be read", path.display())]
    UnreadableTank {
        /// The path as given.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is larger than 1 MiB, which no sensible plan is.
    #[error("plan `{}` is larger than 1 MiB", path.display())]
    TooLarge {
        /// The path as given.
        path: PathBuf,
    },
    /// A part of the plan is wrong.
    #[error("{0}")]
    Wrong(Box<Wrong>),
}

/// A mistake and its place.
#[derive(Debug)]
pub struct Wrong {
    /// What is wrong.
    pub mistake: Mistake,
    /// The place of the mistake.
    pub place: Place,
    /// What helps.
    pub help: Help,
    /// The nearest known name. `None`: none is near enough.
    pub nearest: Option<String>,
}

/// What helps against a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Help {
    /// Values or forms that would do; printed after the word `expected`.
    Expected(String),
    /// What to do: a sentence that is printed as it is.
    Do(String),
}

impl Help {
    /// An instruction.
    pub fn todo(text: impl Into<String>) -> Help {
        Help::Do(text.into())
    }

    /// The same, about the value of `--flag`.
    pub(super) fn of_flag(self, flag: Option<String>) -> Help {
        let Some(flag) = flag else { return self };
        let of_flag = |text: String| format!("for `--{flag}`: {text}");
        match self {
            Help::Expected(text) => Help::Expected(of_flag(text)),
            Help::Do(text) => Help::Do(of_flag(text)),
        }
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Help::Expected(text) => write!(f, "expected {text}"),
            Help::Do(text) => f.write_str(text),
        }
    }
}

impl From<String> for Help {
    fn from(expected: String) -> Help {
        Help::Expected(expected)
    }
}

impl From<&String> for Help {
    fn from(expected: &String) -> Help {
        Help::Expected(expected.clone())
    }
}

impl From<&str> for Help {
    fn from(expected: &str) -> Help {
        Help::Expected(expected.to_owned())
    }
}

/// What is wrong with a part of a plan.
#[derive(Debug, thiserror::Error)]
pub enum Mistake {
    /// The text is not YAML.
    #[error("{}", words(.0))]
    Yaml(Box<serde_saphyr::Error>),
    /// The YAML expands to more values than a plan may hold.
    #[error("more than a plan may hold")]
    TooMuch,
    /// A key occurs twice in one map.
    #[error("key `{0}` is here twice")]
    KeyTwice(String),
    /// A required key is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// The key is not known in this map.
    #[error("unknown key `{key}` in {place}")]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The map: `the plan`, `a load` …
        place: &'static str,
    },
    /// The name of a client, a preset, a runtime … is not known.
    #[error("unknown {kind} `{name}`")]
    UnknownName {
        /// The kind of thing that it should name.
        kind: &'static str,
        /// The name as written.
        name: String,
    },
    /// The key does not have this value.
    #[error("unknown value `{value}` of `{key}`")]
    UnknownValue {
        /// The key.
        key: &'static str,
        /// The value as written.
        value: String,
    },
    /// The value is of the wrong kind.
    #[error("{found} is not {wanted}")]
    NotA {
        /// The value as written, in backticks, or `a list`, `a map`.
        found: String,
        /// The kind of value that is wanted.
        wanted: &'static str,
    },
    /// The value is out of its bounds.
    #[error("{what} `{found}` is out of range")]
    OutOfRange {
        /// What the value is for.
        what: &'static str,
        /// The value as written.
        found: String,
    },
    /// Two keys exclude each other.
    #[error("`{0}` does not go with `{1}`")]
    Together(&'static str, &'static str),
    /// Two things have the same name.
    #[error("two {kind} named `{name}`")]
    Twice {
        /// The kind of thing.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A map has several names where one was expected.
    #[error("expected one runtime, found {found}")]
    SeveralNames {
        /// The number of names.
        found: usize,
    },
    /// The load amounts to less than one request.
    #[error("the load sends no request")]
    NoRequest,
    /// `only` and `except` leave no runtime for the load.
    #[error("no runtime uses load `{0}`")]
    ForNoRuntime(String),
    /// No load is for any of the runtimes that `--only` keeps.
    #[error("no load of the plan is for `{0}`")]
    NoLoad(String),
    /// A list has more items than a plan may hold.
    #[error("{found} {kind} are too many")]
    TooMany {
        /// The kind of item.
        kind: &'static str,
        /// The number of items.
        found: usize,
    },
    /// A key of `rounds: auto` stands beside a fixed number of rounds.
    #[error("`{0}` without `rounds: auto`")]
    WithoutAuto(&'static str),
    /// `--kind` is given for an app of the catalogue, whose own `app.yaml` declares the kind.
    #[error("`{0}` is an app of the catalogue, whose kind is known")]
    KindIsKnown(String),
    /// A setting is given for a runtime that stampede does not start.
    #[error("`{0}` cannot be set for what already runs")]
    AlreadyRuns(String),
    /// A version of PHP is asked for, and each runtime has the one that it has.
    #[error("`php` changes nothing: no runtime of the plan takes a version")]
    NoVersionToChoose,
    /// A setting of the catalogue's runtimes is given for a compose project.
    #[error("`{0}` cannot be set for a compose project")]
    OfContainers(String),
    /// A setting is given for the row that is set up as this machine is.
    #[error("`{0}` cannot be set for `today`")]
    OfToday(&'static str),
    /// A runtime's URL has another scheme than plain HTTP.
    #[error(
        "runtimes are compared over plain http alone; `stampede fire` speaks https and FastCGI"
    )]
    NotPlainHttp,
    /// A runtime's URL has a query.
    #[error("`{0}` has a query: the load's requests have their own")]
    Query(String),
    /// The path of a runtime's URL is not valid, such as one with blanks.
    #[error("`{0}` is not a path")]
    NotAPath(String),
    /// `watch` names more than one thing to watch.
    #[error("one runtime is watched in one way")]
    WatchedTwice,
    /// The `phantom` section, Yandex Tank's own generator, is switched off.
    #[error("`phantom` is not enabled, so nothing is sent")]
    PhantomOff,
    /// A part that another program fills in: `${HOST}`, `{{ host }}`.
    #[error("`{0}` is a placeholder, and nothing fills it in here")]
    Placeholder(String),
    /// The load is a schedule of Yandex Tank in a file.
    #[error("a `stpd_file` is not read here")]
    SteppedFile,
    /// The error of another module or of a later check: see `refused`.
    #[error("{}", chain(.0.as_ref()))]
    Refused(Box<dyn std::error::Error + Send + Sync>),
    /// The error of a schedule.
    #[error("{0}")]
    Schedule(ScheduleError),
}

/// The parser's message without its location: the location is shown with the line itself.
fn words(error: &serde_saphyr::Error) -> String {
    let message = serde_saphyr::UserMessageFormatter.format_message(innermost(error));
    message.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// The error itself, without the alias through which it was reached.
pub(super) fn innermost(error: &serde_saphyr::Error) -> &serde_saphyr::Error {
    match error.without_snippet() {
        serde_saphyr::Error::AliasError { error, .. } => innermost(error),
        error => error,
    }
}

/// The text that places point into: the plan's file, or the command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The name as printed: the path as given, or `command line`.
    pub name: String,
    /// The whole text.
    pub text: String,
    /// The directory that relative paths in the text start from. Empty: the current directory.
    pub base: PathBuf,
}

/// A part of a source, in bytes. It begins and ends at character boundaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) source: Arc<Source>,
    pub(super) offset: usize,
    pub(super) length: usize,
}

impl Mistake {
    /// Wraps the error of another module or of a later check.
    pub(super) fn refused(error: impl std::error::Error + Send + Sync + 'static) -> Mistake {
        Mistake::Refused(Box::new(error))
    }
}

impl Place {
    /// The start of `source`, for errors about the whole of it.
    pub(super) fn begin_of(source: &Arc<Source>) -> Place {
        Place { source: Arc::clone(source), offset: 0, length: 0 }
    }

    /// The source's text at this place, or an empty text if the place is not valid.
    pub(super) fn text(&self) -> &str {
        self.source.text.get(self.offset..self.offset + self.length).unwrap_or("")
    }

    /// Line and column, both counted from 1. Columns count characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = self.source.text.get(..self.offset).unwrap_or("");
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// An error at this place.
    pub(super) fn wrong(&self, mistake: Mistake, help: impl Into<Help>) -> PlanError {
        self.wrong_name(mistake, help, None)
    }

    /// An error at this place, about a name that has a `nearest` known one.
    pub(super) fn wrong_name(
        &self,
        mistake: Mistake,
        help: impl Into<Help>,
        nearest: Option<String>,
    ) -> PlanError {
        let help = help.into();
        PlanError::Wrong(Box::new(Wrong { mistake, place: self.clone(), help, nearest }))
    }
}

/// How an error is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenderStyle {
    /// Without colours, for pipes, logs and tests.
    Plain,
    /// With colours, for a terminal.
    Colour,
}

impl PlanError {
    /// The whole message: the mistake, its place with the line itself, what was expected, and the
    /// nearest name. It has several lines and ends with a line feed.
    pub fn render(&self, look: RenderStyle) -> String {
        let theme = match look {
            RenderStyle::Plain => GraphicalTheme::unicode_nocolor(),
            RenderStyle::Colour => GraphicalTheme::unicode(),
        };
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            // A flag stays whole at the end of a line.
            .with_word_splitter(textwrap::WordSplitter::NoHyphenation)
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
                Some(nearest) => format!("did you mean `{nearest}`?\n{}", wrong.help),
                None => wrong.help.to_string(),
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

/// The known name nearest to `found`, if one is near enough to be what the user meant.
pub(super) fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Jaro-Winkler similarity, 0 to 1. Below this value a suggestion confuses more than it helps.
    const ALIKE: f64 = 0.8;
    let found = found.to_lowercase();
    known
        .into_iter()
        .map(|name| (alike(&found, &name.to_lowercase()), name))
        .filter(|&(alike, _)| alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_owned())
}

/// How similar two names are, 0 to 1. For a single typing error (`jti` for `jit`) it is 1 more: such
/// a name is nearest, even where the names are too short for Jaro-Winkler to see it.
fn alike(one: &str, other: &str) -> f64 {
    let one_slip = other.len() > 2 && strsim::osa_distance(one, other) == 1;
    strsim::jaro_winkler(one, other) + if one_slip { 1.0 } else { 0.0 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_would_do_stands_after_expected() {
        let values = Help::from("`refuse` or `skip`");
        let todo = Help::todo("remove `append`");
        assert_eq!(values.to_string(), "expected `refuse` or `skip`");
        assert_eq!(todo.to_string(), "remove `append`");
        let of_flag = |help: Help| help.of_flag(Some("missing".to_owned())).to_string();
        assert_eq!(of_flag(values.clone()), "expected for `--missing`: `refuse` or `skip`");
        assert_eq!(of_flag(todo), "for `--missing`: remove `append`");
        assert_eq!(values.clone().of_flag(None), values);
    }
}
