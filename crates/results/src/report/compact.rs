//! Lays out one table that fits the terminal, by leaving out the least important columns.

use console::measure_text_width;

use super::Style;
use super::layout::{self, Field, Section, Tone};

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The title above the column.
    pub title: String,
    /// One field for each row.
    pub fields: Vec<Field>,
    /// How important the column is. The column with the smallest value is left out first.
    pub keep: u8,
}

impl From<layout::Column> for Column {
    fn from(column: layout::Column) -> Column {
        Column { title: column.title, fields: column.fields, keep: u8::MAX }
    }
}

/// The columns of one load.
#[derive(Clone, Debug)]
pub struct LoadColumns {
    /// The titles above the columns, the longest first: the first that fits is printed, or the last
    /// one, cut.
    pub titles: Vec<String>,
    /// The columns in order.
    pub columns: Vec<Column>,
}

/// Columns of at least this importance stay, whatever the width.
const STAYS: u8 = 9;
/// Number of blanks before a column.
const GAP: usize = 2;
/// The longest name. A longer one is cut.
const LONGEST_NAME: usize = 32;
/// With fewer columns, a block for each row is easier to read than a table.
const NARROW: usize = 56;

impl LoadColumns {
    /// Removes the columns that have the same text in every row, if there are several rows. Returns
    /// a sentence for each.
    pub fn take_equal(&mut self) -> Vec<String> {
        let is_equal = |column: &Column| match column.fields.as_slice() {
            [first, _, ..] if column.keep < STAYS => {
                first.sign.is_none() && column.fields.iter().all(|field| field.text == first.text)
            }
            _ => false,
        };
        let (equal, kept) = std::mem::take(&mut self.columns).into_iter().partition(is_equal);
        self.columns = kept;
        let equal_text = |column: &Column| {
            format!("{} is {} in every row.", column.title, column.fields[0].text)
        };
        let equal: Vec<Column> = equal;
        equal.iter().map(equal_text).collect()
    }

    fn width(&self, style: &Style) -> usize {
        self.columns.iter().map(|column| GAP + width(style, column)).sum()
    }
}

fn width(style: &Style, column: &Column) -> usize {
    let fields = column.fields.iter().map(|field| measure_text_width(&style.letters(&field.text)));
    fields.max().unwrap_or(0).max(measure_text_width(&style.letters(&column.title)))
}

/// The lines of a table: the names, then the parts side by side with the columns that fit.
pub fn table(style: &Style, names: &Column, mut parts: Vec<LoadColumns>) -> Vec<String> {
    if style.columns() < NARROW {
        return blocks(style, names, parts);
    }
    let name_width = width(style, names).min(LONGEST_NAME).min(style.columns() / 3);
    let needed = |parts: &[LoadColumns]| {
        let gaps = parts.len().saturating_sub(1) * GAP;
        name_width + gaps + parts.iter().map(|part| part.width(style)).sum::<usize>()
    };
    while needed(&parts) > style.columns() && drop_one(&mut parts) {}
    let mut lines = vec![titles(style, name_width, &parts)];
    let heads = |column: &Column| Field { tone: Tone::Faint, ..Field::plain(column.title.clone()) };
    lines.push(row(style, name_width, &heads(names), &parts, heads));
    for (place, name) in names.fields.iter().enumerate() {
        lines.push(row(style, name_width, name, &parts, |column| column.fields[place].clone()));
    }
    lines
}

/// Removes the least important column. Returns whether there was one to remove.
fn drop_one(parts: &mut [LoadColumns]) -> bool {
    let least = parts.iter().flat_map(|part| &part.columns).map(|column| column.keep).min();
    let Some(least) = least.filter(|least| *least < STAYS) else { return false };
    for part in parts {
        if let Some(place) = part.columns.iter().position(|column| column.keep == least) {
            part.columns.remove(place);
            return true;
        }
    }
    false
}

fn titles(style: &Style, name_width: usize, parts: &[LoadColumns]) -> String {
    let mut line = " ".repeat(name_width);
    for (place, part) in parts.iter().enumerate() {
        let width = part.width(style);
        let gap = if place > 0 { GAP } else { 0 };
        line += &" ".repeat(gap + GAP.min(width));
        // The last title may be longer than its columns.
        let room = match place + 1 == parts.len() {
            true => style
                .columns()
                .saturating_sub(measure_text_width(&console::strip_ansi_codes(&line))),
            false => width.saturating_sub(GAP),
        };
        let fits = |title: &&String| measure_text_width(&style.letters(title)) <= room;
        let title = part.titles.iter().find(fits).or(part.titles.last());
        let title = style.cut(title.map_or("", String::as_str), room);
        let rest = width.saturating_sub(GAP + measure_text_width(&title));
        line += &(style.paint(&title, Tone::Strong) + &" ".repeat(rest));
    }
    line.trim_end().to_owned()
}

fn row(
    style: &Style,
    name_width: usize,
    name: &Field,
    parts: &[LoadColumns],
    field: impl Fn(&Column) -> Field,
) -> String {
    let text = style.cut(&name.text, name_width);
    let rest = name_width.saturating_sub(measure_text_width(&text));
    let mut line = style.paint(&text, name.tone) + &" ".repeat(rest);
    for (place, part) in parts.iter().enumerate() {
        line += &" ".repeat(if place > 0 { GAP } else { 0 });
        for column in &part.columns {
            let field = field(column);
            let text = style.letters(&field.text);
            let rest = (GAP + width(style, column)).saturating_sub(measure_text_width(&text));
            line += &(" ".repeat(rest) + &style.paint(&text, field.tone));
        }
    }
    line.trim_end().to_owned()
}

fn blocks(style: &Style, names: &Column, parts: Vec<LoadColumns>) -> Vec<String> {
    let section = |part: LoadColumns| Section {
        title: part.titles.into_iter().next().unwrap_or_default(),
        columns: part
            .columns
            .into_iter()
            .map(|column| layout::Column { title: column.title, fields: column.fields })
            .collect(),
    };
    let names = layout::Column { title: names.title.clone(), fields: names.fields.clone() };
    layout::blocks(style, &names, &parts.into_iter().map(section).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{CharacterSet, Colour};

    #[test]
    fn a_title_tells_the_rate_whatever_the_width() {
        let style = Style { width: 100, colour: Colour::Never, letters: CharacterSet::Unicode };
        let column = |title: &str, text: &str| Column {
            title: title.to_owned(),
            fields: vec![Field::plain(text.to_owned())],
            keep: STAYS,
        };
        let titles = ["steady: 200 requests/s", "steady: 200/s", "200/s"].map(str::to_owned);
        let times = [("p50", "940 µs"), ("p95", "5.38 ms"), ("p99", "8.35 ms")];
        let above = |from: usize| {
            let columns = times[from..].iter().map(|(title, text)| column(title, text)).collect();
            let steady = LoadColumns { titles: titles.to_vec(), columns };
            let peak = LoadColumns {
                titles: vec!["peak: 8 at a time, no pause".to_owned()],
                columns: vec![column("requests/s", "1 331")],
            };
            let names = column("runtime", "roadrunner");
            table(&style, &names, vec![steady, peak]).swap_remove(0)
        };
        let peak = "peak: 8 at a time, no pause";
        assert_eq!(above(0), format!("            steady: 200 requests/s      {peak}"));
        assert_eq!(above(1), format!("            steady: 200/s       {peak}"));
        assert_eq!(above(2), format!("            200/s      {peak}"));
    }
}
