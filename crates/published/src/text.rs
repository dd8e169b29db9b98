//! Renders a comparison as plain lines for a terminal: first the answer, then each table.

use stampede_model::words;

use crate::comparison::{
    CellValue, ClaimComparison, ColumnComparison, MissingRow, OrderVerdict, PairOutcome,
    PublishedComparison, TableComparison,
};
use crate::sentence::too_few_rounds;
use crate::shown;

/// Renders a comparison in lines of about `width` characters; long sentences stay whole.
pub fn text(comparison: &PublishedComparison, width: usize) -> String {
    let mut out = format!("Published beside measured: {}", comparison.publication);
    if let Some(title) = &comparison.title {
        out += &format!(", {title}");
    }
    out.push('\n');
    if let Some(source) = &comparison.source {
        out += &format!("{source}\n");
    }
    out += &format!("{}\n", comparison.sentence);
    for table in &comparison.tables {
        out += &format!("\n{}\n", table.title);
        for line in answers(table, comparison.rounds) {
            out += &format!("  {line}\n");
        }
        out.push('\n');
        let measured = measured(table);
        for columns in blocks(&measured, width) {
            block(&measured, columns, &mut out);
        }
        for line in table.note.iter().chain(&table.notes) {
            out += &format!("  {line}\n");
        }
    }
    if !comparison.claims.is_empty() {
        out += "\nClaims of the text\n";
    }
    for claim in &comparison.claims {
        out += &claim_lines(claim);
    }
    // A name of a file must not control the terminal.
    out.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

/// What stands for the reason of a pair that disagrees, if there is none.
const NO_REASON: &str = "the run has no evidence of a reason";

/// The sentence of each order of a table, and below it the pairs that disagree. Nothing with too
/// few rounds: the answer in all says that once.
pub(crate) fn answers(table: &TableComparison, rounds: u32) -> Vec<String> {
    let mut lines = Vec::new();
    if too_few_rounds(rounds).is_some() {
        return lines;
    }
    for order in table.columns.iter().flat_map(|column| &column.orders) {
        if order.verdict == OrderVerdict::NoPairs {
            continue;
        }
        lines.push(order.sentence.clone());
        for pair in order.pairs.iter().filter(|pair| pair.outcome == PairOutcome::Disagree) {
            let label = |row: usize| table.rows.get(row).map_or("?", |row| row.label.as_str());
            let (better, worse) = (label(pair.better), label(pair.worse));
            let reason = pair.reason.as_deref().unwrap_or(NO_REASON);
            lines.push(format!(
                "  published: {better} is better than {worse}; here it is worse: {reason}"
            ));
        }
    }
    lines
}

/// What a reader must know of rows: where servers broke, and why figures are missing.
pub(crate) fn notes(table: &TableComparison) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &table.rows {
        if let Some(breaking) = row.breaking {
            let here = match (breaking.measured_per_second, row.missing) {
                (Some(here), _) => format!("here at {}/s", shown::significant(here)),
                (None, Some(MissingRow::DidNotBreak)) => "here it did not break".to_owned(),
                (None, _) => "not measured here".to_owned(),
            };
            let there = shown::significant(breaking.published_per_second);
            lines.push(format!("* {}: broke at {there}/s there, {here}", row.label));
        }
        if row.missing == Some(MissingRow::SeveralCases) {
            lines.push(format!(
                "{}: the run has several apps or loads; give the row `app` and `load`",
                row.label
            ));
        }
    }
    let of = |why: MissingRow| -> Vec<String> {
        let is = |row: &usize| table.rows[*row].missing == Some(why);
        (0..table.rows.len()).filter(is).map(|row| label(table, row)).collect()
    };
    let absent = of(MissingRow::NoCase);
    for (rows, what) in [(&absent, "not measured"), (&of(MissingRow::NoTrial), "no trial counts")] {
        if !rows.is_empty() {
            lines.push(format!("{what}: {}", rows.join(", ")));
        }
    }
    let without = table.columns.iter().filter(|column| !is_measured(column));
    let without: Vec<String> = without.map(title).collect();
    if !without.is_empty() && absent.len() < table.rows.len() {
        lines.push(format!("nothing to compare: {}", without.join("; ")));
    }
    lines
}

/// What was done with figures that grow with a load's length.
pub(crate) fn scaled_note(columns: &[&str], scale: f64) -> String {
    let names: Vec<String> = columns.iter().map(|name| name.replace('_', " ")).collect();
    format!(
        "the loads had {} of their length, so these figures are what was counted × {}: {}",
        words::share(scale),
        shown::significant(1.0 / scale),
        names.join(", ")
    )
}

pub(crate) fn is_measured(column: &ColumnComparison) -> bool {
    column.entries.iter().any(|entry| entry.measured != CellValue::None)
}

/// The table without rows of which nothing was measured and without columns that have no measured
/// value: [`notes`] names both.
pub(crate) fn measured(table: &TableComparison) -> TableComparison {
    let is_kept = |row: &usize| table.rows[*row].missing != Some(MissingRow::NoCase);
    let kept: Vec<usize> = (0..table.rows.len()).filter(is_kept).collect();
    let of_rows = |column: &ColumnComparison| ColumnComparison {
        entries: kept.iter().filter_map(|row| column.entries.get(*row).copied()).collect(),
        ..column.clone()
    };
    TableComparison {
        rows: kept.iter().map(|row| table.rows[*row].clone()).collect(),
        columns: table.columns.iter().filter(|column| is_measured(column)).map(of_rows).collect(),
        ..table.clone()
    }
}

/// The label of a row in a table: with its load, where the table has several, and with a star where
/// the publication cut it off.
pub(crate) fn label(table: &TableComparison, row: usize) -> String {
    let Some(row) = table.rows.get(row) else { return String::new() };
    let several = table.rows.iter().any(|other| other.load != row.load);
    let load = row.load.as_ref().filter(|_| several);
    let load = load.map_or_else(String::new, |load| format!(" · {load}"));
    let star = if row.breaking.is_some() { " *" } else { "" };
    format!("{}{load}{star}", row.label)
}

/// The three texts of a cell: published, measured, ratio.
pub(crate) fn cell(column: &ColumnComparison, row: usize) -> [String; 3] {
    let cell = column.entries.get(row).copied().unwrap_or_default();
    let is_share = column.name == "ok";
    [
        shown::published(cell.published),
        shown::measured(cell.measured, is_share),
        shown::ratio(cell.ratio, cell.measured),
    ]
}

/// The title of a column: its name and unit.
pub(crate) fn title(column: &ColumnComparison) -> String {
    format!("{}, {}", column.name.replace('_', " "), column.unit)
}

/// The columns, in groups that fit in `width` beside the labels.
fn blocks(table: &TableComparison, width: usize) -> Vec<&[ColumnComparison]> {
    let room = width.saturating_sub(INDENT + label_width(table));
    let mut blocks = Vec::new();
    let (mut begin, mut used) = (0, 0);
    for (index, column) in table.columns.iter().enumerate() {
        let needed = widths(table, column).iter().sum::<usize>() + 3 * GAP;
        if used + needed > room && index > begin {
            blocks.push(&table.columns[begin..index]);
            (begin, used) = (index, 0);
        }
        used += needed;
    }
    if begin < table.columns.len() {
        blocks.push(&table.columns[begin..]);
    }
    blocks
}

/// Columns before a label.
const INDENT: usize = 2;
/// Columns between fields.
const GAP: usize = 2;

fn block(table: &TableComparison, columns: &[ColumnComparison], out: &mut String) {
    let first = label_width(table);
    let blank = " ".repeat(INDENT + first);
    let (mut titles, mut heads) = (blank.clone(), blank);
    for column in columns {
        let widths = widths(table, column);
        let all = widths.iter().sum::<usize>() + 2 * GAP;
        titles += &format!("{:GAP$}{:<all$}", "", title(column));
        for (head, width) in HEADS.iter().zip(widths) {
            heads += &format!("{:GAP$}{head:>width$}", "");
        }
    }
    *out += &format!("{}\n{}\n", titles.trim_end(), heads.trim_end());
    for row in 0..table.rows.len() {
        let mut line = format!("{:INDENT$}{:<first$}", "", label(table, row));
        for column in columns {
            for (text, width) in cell(column, row).iter().zip(widths(table, column)) {
                line += &format!("{:GAP$}{text:>width$}", "");
            }
        }
        *out += &format!("{}\n", line.trim_end());
    }
    out.push('\n');
}

/// The heads of the three fields of a column.
pub(crate) const HEADS: [&str; 3] = ["published", "here", "ratio"];

fn label_width(table: &TableComparison) -> usize {
    (0..table.rows.len()).map(|row| label(table, row).chars().count()).max().unwrap_or(0)
}

fn widths(table: &TableComparison, column: &ColumnComparison) -> [usize; 3] {
    let mut widths = HEADS.map(str::len);
    for row in 0..table.rows.len() {
        for (width, text) in widths.iter_mut().zip(cell(column, row)) {
            *width = (*width).max(text.chars().count());
        }
    }
    // The title stands above all three.
    let all = widths.iter().sum::<usize>() + 2 * GAP;
    widths[0] += title(column).chars().count().saturating_sub(all);
    widths
}

fn claim_lines(claim: &ClaimComparison) -> String {
    let mut out = format!("  {}: “{}”\n", claim.runtime, claim.text);
    for sentence in &claim.sentences {
        out += &format!("    {sentence}\n");
    }
    out
}
