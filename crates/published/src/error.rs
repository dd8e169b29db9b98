//! Describes what is wrong with a file of published tables, and where.

use std::io;
use std::path::PathBuf;

use serde::Serialize;
use serde_saphyr::MessageFormatter;

/// Why published tables cannot be used.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TablesError {
    /// The file cannot be read, or is not UTF-8.
    #[error("published tables `{}` cannot be read", path.display())]
    Unreadable {
        /// The path as given.
        path: PathBuf,
        /// The cause.
        #[serde(skip)]
        source: io::Error,
    },
    /// A part of the file is wrong.
    #[error("`{file}`, line {line}, column {column}: {mistake}")]
    Wrong {
        /// The name of the file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The column in characters, from 1.
        column: u64,
        /// What is wrong.
        mistake: Box<Mistake>,
    },
}

/// What is wrong with a part of a file of published tables.
#[derive(Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mistake {
    /// The text is not YAML, or a value has another type.
    #[error("{}", words(problem))]
    Yaml {
        /// The parser's error.
        #[serde(skip)]
        problem: Box<serde_saphyr::Error>,
    },
    /// The file expands to more values than published tables have.
    #[error("the file is too large: at most 1 MiB, 200 000 values and 16 levels")]
    TooMuch,
    /// A key is twice in one map.
    #[error("a key is given twice")]
    KeyTwice,
    /// A key is not known.
    #[error("unknown key `{key}`")]
    UnknownKey {
        /// The key.
        key: String,
        /// The keys that may be here.
        known: Vec<String>,
    },
    /// A key is missing.
    #[error("key `{key}` is missing")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// The file has no table and no claim.
    #[error("there is neither a table nor a claim")]
    Empty,
    /// A table has no column or no row.
    #[error("table `{table}` has no {part}")]
    EmptyTable {
        /// The title of the table.
        table: String,
        /// `columns` or `rows`.
        part: String,
    },
    /// The name of a column is not known.
    #[error("unknown column `{column}`")]
    UnknownColumn {
        /// The column.
        column: String,
        /// All names, besides those of further percentiles.
        known: Vec<String>,
    },
    /// The same column is twice in one table.
    #[error("column `{column}` is twice in table `{table}`")]
    ColumnTwice {
        /// The column.
        column: String,
        /// The title of the table.
        table: String,
    },
    /// A column cannot have this unit.
    #[error("column `{column}` cannot be in `{unit}`")]
    UnknownUnit {
        /// The column.
        column: String,
        /// The unit.
        unit: String,
        /// The units that it can have.
        known: Vec<String>,
    },
    /// A row has fewer or more values than its table has columns.
    #[error("the row of `{row}` needs one value for each column: it has {values}, not {columns}")]
    WrongNumber {
        /// The row.
        row: String,
        /// The number of values.
        values: usize,
        /// The number of columns.
        columns: usize,
    },
    /// A value is negative or not finite.
    #[error("the value of `{column}` of `{row}` is `{value}`: values are 0 or more")]
    WrongValue {
        /// The row.
        row: String,
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },
    /// Two rows of a table are about the same case.
    #[error("two rows of table `{table}` are about `{row}`; the other is on line {other_line}")]
    RowTwice {
        /// The title of the table.
        table: String,
        /// The case.
        row: String,
        /// The line of the first row.
        other_line: u64,
    },
    /// A row has `starred: true` without `until_rps`, or the other way round.
    #[error("the row of `{row}` needs both `starred: true` and `until_rps`, or neither")]
    HalfStarred {
        /// The row.
        row: String,
    },
    /// A claim's `times` cannot be read.
    #[error("`times: {times}` cannot be read")]
    WrongTimes {
        /// The text.
        times: String,
    },
    /// A claim compares a runtime with nothing or with itself.
    #[error("the claim about `{runtime}` needs other runtimes in `against`")]
    WrongAgainst {
        /// The runtime.
        runtime: String,
    },
}

impl TablesError {
    /// Returns what to do next, as a line of its own. `None` where the message says it.
    pub fn hint(&self) -> Option<String> {
        match self {
            TablesError::Unreadable { .. } => {
                Some("give the path of a YAML file in UTF-8; docs/published.md shows one".into())
            }
            TablesError::Wrong { mistake, .. } => mistake.hint(),
        }
    }
}

impl Mistake {
    fn hint(&self) -> Option<String> {
        match self {
            Mistake::UnknownKey { key, known } => Some(suggestion(key, known, "keys")),
            Mistake::UnknownColumn { column, known } => Some(suggestion(column, known, "columns")),
            Mistake::UnknownUnit { known, .. } => {
                Some(format!("units of this column: {}", known.join(", ")))
            }
            Mistake::WrongNumber { .. } => {
                Some("write `null` where the publication prints no number".to_owned())
            }
            Mistake::RowTwice { .. } => Some(
                "tell them apart with `app`, `load`, or `starred: true` and `until_rps`".to_owned(),
            ),
            Mistake::WrongTimes { .. } => {
                Some("known forms: `~2`, `>10`, `<0.5`, `2-3` and `2.5`".to_owned())
            }
            Mistake::Empty | Mistake::EmptyTable { .. } | Mistake::MissingKey { .. } => {
                Some("docs/published.md shows a whole file".to_owned())
            }
            _ => None,
        }
    }
}

/// The nearest known name, or else all of them.
fn suggestion(name: &str, known: &[String], what: &str) -> String {
    let near = |other: &&String| strsim::jaro_winkler(name, other) > NEAR;
    let closeness = |other: &&String| (strsim::jaro_winkler(name, other) * 1e6) as u64;
    match known.iter().filter(near).max_by_key(closeness) {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None => format!("known {what}: {}", known.join(", ")),
    }
}

/// Similarity from which a name is taken for a typing error: one letter of six.
const NEAR: f64 = 0.85;

/// The parser's message without its place, which the error has already.
fn words(error: &serde_saphyr::Error) -> String {
    let text = serde_saphyr::UserMessageFormatter.format_message(error).into_owned();
    let text = text.lines().next().unwrap_or_default();
    text.split(" at line ").next().unwrap_or(text).to_owned()
}
