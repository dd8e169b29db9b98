//! Puts published tables beside a run's figures.

use std::collections::{BTreeMap, BTreeSet};

use crate::claims;
use crate::comparison::{
    BreakingPoints, Cell, CellValue, ColumnComparison, ComparedRow, MissingRow, Order,
    PublishedComparison, TableComparison,
};
use crate::figure::{Better, Figure};
use crate::measured::{
    Budget, Measured, MeasuredCase, MeasuredFigure, OverRounds, figure as figure_of,
};
use crate::order::{Place, order};
use crate::tables::{Column, Row, Table, Tables};
use crate::{sentence, text};

/// Compares published tables with what was measured.
pub fn compare(tables: &Tables, measured: &Measured) -> PublishedComparison {
    let mut comparison = PublishedComparison {
        publication: tables.name.clone(),
        title: tables.title.clone().filter(|title| *title != tables.name),
        source: tables.source.clone(),
        rounds: measured.rounds,
        sentence: String::new(),
        tables: tables.tables.iter().map(|table| compared_table(table, measured)).collect(),
        claims: claims::checked(tables, measured),
    };
    comparison.sentence = sentence::of_comparison(&comparison);
    comparison
}

/// A row of a table and its case in the run.
struct Matched<'a> {
    row: &'a Row,
    time_scale: Option<f64>,
    /// The load that the row is about, as far as that is known.
    load: Option<String>,
    case: Result<&'a MeasuredCase, MissingRow>,
}

impl<'a> Matched<'a> {
    fn new(row: &'a Row, measured: &'a Measured) -> Matched<'a> {
        let fits = |case: &&MeasuredCase| {
            let is = |wanted: &Option<String>, name: &str| {
                wanted.as_ref().is_none_or(|wanted| wanted == name)
            };
            case.runtime == row.case.runtime
                && is(&row.case.app, &case.app)
                && is(&row.case.load, &case.load)
        };
        let mut found = measured.cases.iter().filter(fits);
        let case = match (found.next(), found.next()) {
            (None, _) => Err(MissingRow::NoCase),
            (Some(_), Some(_)) => Err(MissingRow::SeveralCases),
            (Some(case), None) => Ok(case),
        };
        let load = row.case.load.clone().or_else(|| only_load(measured));
        Matched { row, time_scale: measured.time_scale, load, case }
    }

    /// Whether two rows are about the same case, one of them cut off where the server broke.
    fn is_same_case(&self, other: &Matched) -> bool {
        self.row.case == other.row.case
    }

    /// The measured figures that belong beside the row's values: a row that the publication cut off
    /// has those before the breaking point beside it.
    fn figures(&self) -> Result<&'a BTreeMap<Figure, MeasuredFigure>, MissingRow> {
        match (self.case, &self.row.until_per_second) {
            (Err(missing), _) => Err(missing),
            (Ok(case), _) if case.figures.is_empty() => Err(MissingRow::NoTrial),
            (Ok(case), None) => Ok(&case.figures),
            (Ok(case), Some(_)) => match &case.before_breaking {
                Some(before) => Ok(&before.figures),
                None => Err(MissingRow::DidNotBreak),
            },
        }
    }

    fn figure(&self, of: Figure) -> Option<MeasuredFigure> {
        figure_of(self.figures().ok()?, of, self.time_scale)
    }

    fn compared(&self) -> ComparedRow {
        let name = |of: fn(&MeasuredCase) -> &String, row: &Option<String>| {
            row.clone().or_else(|| self.case.ok().map(|case| of(case).clone()))
        };
        let breaking = self.row.until_per_second.map(|published_per_second| BreakingPoints {
            published_per_second,
            measured_per_second: self
                .case
                .ok()
                .and_then(|case| Some(case.before_breaking.as_ref()?.until_per_second)),
        });
        ComparedRow {
            label: self.row.label.clone().unwrap_or_else(|| self.row.case.runtime.clone()),
            runtime: self.row.case.runtime.clone(),
            app: name(|case| &case.app, &self.row.case.app),
            load: name(|case| &case.load, &self.load),
            breaking,
            missing: self.figures().err(),
        }
    }
}

fn only_load(measured: &Measured) -> Option<String> {
    let loads: BTreeSet<&String> = measured.cases.iter().map(|case| &case.load).collect();
    let mut loads = loads.into_iter();
    loads.next().filter(|_| loads.next().is_none()).cloned()
}

fn compared_table(table: &Table, measured: &Measured) -> TableComparison {
    let matched: Vec<Matched> = table.rows.iter().map(|row| Matched::new(row, measured)).collect();
    let compared = (0..).zip(&table.columns);
    let columns =
        compared.map(|(index, column)| compared_column(index, column, &matched, measured.rounds));
    let mut compared = TableComparison {
        title: table.title.clone(),
        note: table.note.clone(),
        rows: matched.iter().map(Matched::compared).collect(),
        columns: columns.collect(),
        notes: Vec::new(),
    };
    compared.notes = text::notes(&compared);
    let both = table.columns.iter().zip(&compared.columns);
    let is_scaled = |(column, here): &(&Column, &ColumnComparison)| {
        column.figure.grows_with_length() && text::is_measured(here)
    };
    let scaled: Vec<&str> =
        both.filter(is_scaled).map(|(column, _)| column.name.as_str()).collect();
    let scale = measured.time_scale.filter(|_| !scaled.is_empty());
    compared.notes.extend(scale.map(|scale| text::scaled_note(&scaled, scale)));
    compared
}

fn compared_column(
    index: usize,
    column: &Column,
    rows: &[Matched],
    rounds: u32,
) -> ColumnComparison {
    let entries = rows.iter().map(|row| {
        let measured = row.figure(column.figure).and_then(|figure| figure.over_rounds());
        cell(row.row.values[index], measured, column.unit_size)
    });
    let better = column.figure.better();
    ColumnComparison {
        name: column.name.clone(),
        unit: column.unit.clone(),
        better,
        entries: entries.collect(),
        orders: better.map_or_else(Vec::new, |better| orders(index, column, better, rows, rounds)),
    }
}

fn cell(published: Option<f64>, measured: Option<OverRounds>, unit: f64) -> Cell {
    let measured = match measured {
        None => CellValue::None,
        Some(OverRounds::Failed) => CellValue::Failed,
        Some(OverRounds::AtLeast(estimate)) => CellValue::AtLeast { value: estimate.value / unit },
        Some(OverRounds::Exactly(estimate)) => CellValue::Exact {
            value: estimate.value / unit,
            interval: estimate.interval.map(|(low, high)| (low / unit, high / unit)),
        },
    };
    let ratio = match (published, measured) {
        (Some(published), CellValue::Exact { value, .. } | CellValue::AtLeast { value })
            if published > 0.0 =>
        {
            Some(value / published)
        }
        _ => None,
    };
    Cell { published, measured, ratio }
}

/// The orders of a column: one for each load that its rows have.
fn orders(
    index: usize,
    column: &Column,
    better: Better,
    rows: &[Matched],
    rounds: u32,
) -> Vec<Order> {
    let mut loads: Vec<&Option<String>> = Vec::new();
    for row in rows {
        if !loads.contains(&&row.load) {
            loads.push(&row.load);
        }
    }
    let of_load = |load: &Option<String>| {
        let (mut places, mut figures) = (Vec::new(), Vec::new());
        for (place, row) in (0..).zip(rows).filter(|(_, row)| row.load == *load) {
            // A case counts once: with its whole row, where the publication has both.
            let is_second = row.row.until_per_second.is_some()
                && rows
                    .iter()
                    .any(|other| other.row.until_per_second.is_none() && row.is_same_case(other));
            if let Some(published) = row.row.values[index].filter(|_| !is_second) {
                places.push(Place { row: place, published });
                figures.push(row.figure(column.figure));
            }
        }
        if places.len() < 2 {
            return None;
        }
        let reason =
            |better: usize, worse: usize| reason(&rows[better], &rows[worse], column.figure);
        let mut order = order(&places, &figures, better, reason);
        order.load.clone_from(load);
        order.sentence = sentence::of_order(&order, &column.name, rounds);
        Some(order)
    };
    loads.into_iter().filter_map(of_load).collect()
}

/// Why a pair disagrees: what limited the row that is better in the publication, and how the two
/// are set up in another way. `None`: there is no evidence.
fn reason(better: &Matched, worse: &Matched, figure: Figure) -> Option<String> {
    let (better_case, worse_case) = (better.case.ok()?, worse.case.ok()?);
    let name = |row: &Matched| row.compared().label;
    let mut parts = Vec::new();
    // A limit explains times and throughput. CPU use and memory have causes of their own. What holds
    // for both rows, such as a setting of the plan, explains no difference.
    let is_shared = better_case.limit == worse_case.limit;
    let is_explained = !is_shared
        && !matches!(
            figure,
            Figure::CpuMedian
                | Figure::CpuMax
                | Figure::CpuPerRequest
                | Figure::MemoryMedian
                | Figure::MemoryMax
        );
    if let Some(limit) = better_case.limit.as_ref().filter(|_| is_explained) {
        parts.push(format!("{} {limit}", name(better)));
    }
    let both = [(better, better_case, worse_case), (worse, worse_case, better_case)];
    for (row, case, other) in both {
        let own = case.differences.iter().filter(|one| !other.differences.contains(one));
        parts.extend(own.map(|difference| format!("{} {difference}", name(row))));
    }
    if [better_case, worse_case].iter().any(|case| case.budget == Budget::Unequal) {
        parts.push("their budgets are not equal".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
