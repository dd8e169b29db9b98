//! Reads a file of published tables: the parsed form has only what can be compared.
//!
//! A row names the case of a plan that it is about: a runtime, and where the plan has several, an
//! app and a load. Every wrong part is an error with its place, since a table that is read in part
//! would compare other things than it says.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

use crate::error::{Mistake, TablesError};
use crate::figure::{self, Figure};
use crate::times::Times;

/// A file of published tables.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// What to call the publication: its `article`, or else its title, or else the file's name.
    pub name: String,
    /// Its title. `None`: the file gives none.
    pub title: Option<String>,
    /// Its address.
    pub source: Option<String>,
    /// The tables in the file's order.
    pub tables: Vec<Table>,
    /// What its text says in numbers.
    pub claims: Vec<Claim>,
}

/// One published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its title.
    pub title: String,
    /// A remark of the publication about it.
    pub note: Option<String>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows. Each has a value for each column.
    pub rows: Vec<Row>,
}

/// A column of a published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name in the file.
    pub name: String,
    /// What it shows.
    pub figure: Figure,
    /// Its unit in the file.
    pub unit: String,
    /// Size of the unit in base units of the figure.
    pub unit_size: f64,
}

/// A row of a published table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The case of the plan that it is about.
    pub case: CaseName,
    /// Its name in the publication, if that is another one.
    pub label: Option<String>,
    /// The rate per second up to which its values were taken: the server did not stand more.
    pub until_per_second: Option<f64>,
    /// A value for each column, in its unit. `None`: the publication prints none.
    pub values: Vec<Option<f64>>,
}

/// The case that a row is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaseName {
    /// The name of a runtime or of a variant in the plan.
    pub runtime: String,
    /// The app. `None`: the plan has only one.
    pub app: Option<String>,
    /// The name of the load. `None`: the plan has only one.
    pub load: Option<String>,
}

/// What a text says in numbers: a runtime serves so many times the requests of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The runtime that it is about.
    pub runtime: String,
    /// The runtimes that it is compared with.
    pub against: Vec<String>,
    /// The app. `None`: every app of the plan.
    pub app: Option<String>,
    /// The load. `None`: the text names none, so the claim is about every load of the plan.
    pub load: Option<String>,
    /// The name of the figure of which it is a ratio, as in the file. `None`: throughput.
    pub figure_name: Option<String>,
    /// That figure. Of one whose lower values are better, the ratio is that of the other runtime to
    /// this one.
    pub figure: Figure,
    /// How many times, as written.
    pub written: String,
    /// How many times, as a range.
    pub times: Times,
    /// The words of the publication.
    pub text: String,
}

/// Reads the file at `path`.
///
/// # Errors
/// [`TablesError::Unreadable`] if there is no such file or it is not UTF-8; else as [`parse`].
pub fn read(path: &Path) -> Result<Tables, TablesError> {
    parse(&text_of(path)?, &path.display().to_string())
}

/// Reads a file's text without looking at it.
///
/// # Errors
/// [`TablesError::Unreadable`].
pub fn text_of(path: &Path) -> Result<String, TablesError> {
    std::fs::read_to_string(path)
        .map_err(|source| TablesError::Unreadable { path: path.to_owned(), source })
}

/// Parses the text of the file `file`, whose name is only used in errors and where the publication
/// has no other name.
///
/// # Errors
/// [`TablesError::Wrong`] with the place of the first mistake.
pub fn parse(text: &str, file: &str) -> Result<Tables, TablesError> {
    let at_start = |mistake| wrong(file, None, mistake);
    if text.len() > BYTES_MAX {
        return Err(at_start(Mistake::TooMuch));
    }
    let raw: RawTables = yaml(text).map_err(|error| from_yaml(error, file))?;
    if raw.tables.is_empty() && raw.claims.is_empty() {
        return Err(at_start(Mistake::Empty));
    }
    let place = |(location, mistake): Misplaced| wrong(file, Some(&location), mistake);
    let tables = raw.tables.into_iter().map(table).collect::<Result<_, _>>().map_err(place)?;
    let claims = raw.claims.into_iter().map(claim).collect::<Result<_, _>>().map_err(place)?;
    let name = match (raw.article, &raw.title) {
        (Some(article), _) => format!("article {article}"),
        (None, Some(title)) => title.clone(),
        (None, None) => file.rsplit('/').next().unwrap_or(file).to_owned(),
    };
    Ok(Tables { name, title: raw.title, source: raw.source, tables, claims })
}

/// A mistake and where it is.
type Misplaced = (Location, Mistake);

fn table(raw: Spanned<RawTable>) -> Result<Table, Misplaced> {
    let place = raw.referenced;
    let raw = raw.value;
    for (part, is_empty) in [("columns", raw.columns.is_empty()), ("rows", raw.rows.is_empty())] {
        if is_empty {
            let part = part.to_owned();
            return Err((place, Mistake::EmptyTable { table: raw.title, part }));
        }
    }
    let mut columns: Vec<Column> = Vec::new();
    for raw_column in raw.columns {
        let place = raw_column.referenced;
        let column = column(raw_column.value).map_err(|mistake| (place, mistake))?;
        if columns.iter().any(|other| other.name == column.name) {
            let (column, table) = (column.name, raw.title);
            return Err((place, Mistake::ColumnTwice { column, table }));
        }
        columns.push(column);
    }
    let mut seen: BTreeMap<(CaseName, bool), u64> = BTreeMap::new();
    let mut rows = Vec::new();
    for raw_row in raw.rows {
        let place = raw_row.referenced;
        let row = row(raw_row.value, (&raw.app, &raw.load), &columns)
            .map_err(|mistake| (place, mistake))?;
        let key = (row.case.clone(), row.until_per_second.is_some());
        if let Some(other_line) = seen.insert(key, place.line()) {
            let (table, row) = (raw.title, row.case.to_string());
            return Err((place, Mistake::RowTwice { table, row, other_line }));
        }
        rows.push(row);
    }
    Ok(Table { title: raw.title, note: raw.note, columns, rows })
}

fn figure(name: &str) -> Result<Figure, Mistake> {
    Figure::named(name).ok_or_else(|| {
        let known = figure::names().map(str::to_owned).collect();
        Mistake::UnknownColumn { column: name.to_owned(), known }
    })
}

fn column(raw: RawColumn) -> Result<Column, Mistake> {
    let RawColumn { name, unit } = raw;
    let figure = figure(&name)?;
    let units = figure.units();
    let Some((_, unit_size)) = units.iter().find(|(known, _)| *known == unit) else {
        let known = units.iter().map(|(name, _)| (*name).to_owned()).collect();
        return Err(Mistake::UnknownUnit { column: name, unit, known });
    };
    Ok(Column { name, figure, unit, unit_size: *unit_size })
}

/// A row; what it does not say itself, its table says.
fn row(
    raw: RawRow,
    (app, load): (&Option<String>, &Option<String>),
    columns: &[Column],
) -> Result<Row, Mistake> {
    let case = CaseName {
        runtime: raw.runtime,
        app: raw.app.or_else(|| app.clone()),
        load: raw.load.or_else(|| load.clone()),
    };
    let name = || case.to_string();
    if raw.starred != raw.until_rps.is_some() {
        return Err(Mistake::HalfStarred { row: name() });
    }
    if raw.values.len() != columns.len() {
        let (values, columns) = (raw.values.len(), columns.len());
        return Err(Mistake::WrongNumber { row: name(), values, columns });
    }
    let named = columns.iter().map(|column| column.name.as_str()).zip(raw.values.iter().copied());
    let until = ("until_rps", raw.until_rps);
    for (column, value) in named.chain([until]) {
        if let Some(value) = value.filter(|value| !value.is_finite() || *value < 0.0) {
            let column = column.to_owned();
            return Err(Mistake::WrongValue { row: name(), column, value });
        }
    }
    Ok(Row { case, label: raw.label, until_per_second: raw.until_rps, values: raw.values })
}

fn claim(raw: Spanned<RawClaim>) -> Result<Claim, Misplaced> {
    let place = raw.referenced;
    let RawClaim { runtime, against, app, load, figure: name, times: written, text } = raw.value;
    let Some(times) = Times::parse(&written) else {
        return Err((place, Mistake::WrongTimes { times: written }));
    };
    if against.is_empty() || against.contains(&runtime) {
        return Err((place, Mistake::WrongAgainst { runtime }));
    }
    let figure = match &name {
        None => Figure::Throughput,
        Some(name) => figure(name).map_err(|mistake| (place, mistake))?,
    };
    if figure.better().is_none() {
        let known = figure::names_with_order().map(str::to_owned).collect();
        let column = name.unwrap_or_default();
        return Err((place, Mistake::UnknownColumn { column, known }));
    }
    Ok(Claim { runtime, against, app, load, figure_name: name, figure, written, times, text })
}

fn wrong(file: &str, place: Option<&Location>, mistake: Mistake) -> TablesError {
    TablesError::Wrong {
        file: file.to_owned(),
        line: place.map_or(1, Location::line),
        column: place.map_or(1, Location::column),
        mistake: Box::new(mistake),
    }
}

/// Far above any published table, and far below what costs noticeable time.
const BYTES_MAX: usize = 1 << 20;

fn yaml(text: &str) -> Result<RawTables, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            // The parser itself refuses a second document, with a better message.
            max_documents: 2,
            max_depth: 16,
            max_nodes: 200_000,
            max_events: 500_000,
            max_aliases: 200,
            max_anchors: 100,
            max_total_scalar_bytes: BYTES_MAX,
        },
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::Error,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// The parser's error as one of ours, at its place.
fn from_yaml(error: serde_saphyr::Error, file: &str) -> TablesError {
    use serde_saphyr::Error as E;
    let place = error.location();
    let mistake = match &error {
        E::SerdeUnknownField { field, expected, .. } => Mistake::UnknownKey {
            key: field.clone(),
            known: expected.iter().map(|key| (*key).to_owned()).collect(),
        },
        E::SerdeMissingField { field, .. } => Mistake::MissingKey { key: (*field).to_owned() },
        E::DuplicateMappingKey { .. } => Mistake::KeyTwice,
        E::Budget { .. } => Mistake::TooMuch,
        _ => Mistake::Yaml { problem: Box::new(error) },
    };
    wrong(file, place.as_ref(), mistake)
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTables {
    article: Option<String>,
    /// Other publications with the same tables; for readers of the file.
    #[serde(default, rename = "also")]
    _also: Vec<String>,
    title: Option<String>,
    source: Option<String>,
    #[serde(default)]
    tables: Vec<Spanned<RawTable>>,
    #[serde(default)]
    claims: Vec<Spanned<RawClaim>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    /// A short name, for readers of the file.
    #[serde(default, rename = "name")]
    _name: Option<String>,
    title: String,
    app: Option<String>,
    load: Option<String>,
    /// The publication's load in words or as a schedule, for readers of the file.
    #[serde(default, rename = "schedule")]
    _schedule: Option<String>,
    note: Option<String>,
    columns: Vec<Spanned<RawColumn>>,
    rows: Vec<Spanned<RawRow>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColumn {
    name: String,
    unit: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRow {
    runtime: String,
    app: Option<String>,
    load: Option<String>,
    label: Option<String>,
    #[serde(default)]
    starred: bool,
    until_rps: Option<f64>,
    values: Vec<Option<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    runtime: String,
    against: Vec<String>,
    app: Option<String>,
    load: Option<String>,
    figure: Option<String>,
    times: String,
    text: String,
}

impl std::fmt::Display for CaseName {
    /// `nginx-fpm · laravel · standard`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.runtime)?;
        for part in [&self.app, &self.load].into_iter().flatten() {
            write!(f, " · {part}")?;
        }
        Ok(())
    }
}
