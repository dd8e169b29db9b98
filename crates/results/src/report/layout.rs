//! Lays out words and tables on a terminal of a given width: measures, cuts, wraps and aligns.

use console::measure_text_width;

use super::{CharacterSet, Colour, Style};

/// The role of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Normal text.
    #[default]
    Plain,
    /// A heading, or an important value.
    Strong,
    /// Secondary information.
    Faint,
    /// A warning.
    Warning,
    /// An error.
    Bad,
}

/// One field of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Field {
    /// The text of the field.
    pub text: String,
    /// The role of the text.
    pub tone: Tone,
    /// The sign that replaces a plain figure, for the legend.
    pub sign: Option<Sign>,
}

/// A sign that a table prints in place of a plain figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `—`.
    Nothing,
    /// `failed`.
    Failed,
    /// `≥ 12.0 ms`.
    AtLeast,
}

impl Field {
    /// A field without emphasis.
    pub fn plain(text: impl Into<String>) -> Field {
        Field { text: text.into(), tone: Tone::Plain, sign: None }
    }
}

/// One column: its title and a field for each row.
#[derive(Clone, Debug)]
pub struct Column {
    /// The title above the column.
    pub title: String,
    /// One field for each row.
    pub fields: Vec<Field>,
}

/// Columns that belong together, under one title.
#[derive(Clone, Debug)]
pub struct Section {
    /// The title above the columns.
    pub title: String,
    /// The columns in order.
    pub columns: Vec<Column>,
}

impl Style {
    /// The number of columns to write in.
    pub fn columns(&self) -> usize {
        self.width.max(32)
    }

    /// `text` in the characters that may be written, without control characters. A log line or a
    /// name must not control the terminal.
    pub fn letters(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for letter in text.chars() {
            match (self.letters, letter) {
                (_, '\n' | '\t') => out.push(' '),
                (_, control) if control.is_control() => {}
                // No-break spaces are kept until the lines are wrapped.
                (_, '\u{a0}') => out.push(letter),
                (CharacterSet::Unicode, letter) => out.push(letter),
                (CharacterSet::Ascii, letter) if letter.is_ascii() => out.push(letter),
                (CharacterSet::Ascii, letter) => out.push_str(ascii(letter)),
            }
        }
        out
    }

    /// `text` in the colour of its tone, if colours may be written.
    pub fn paint(&self, text: &str, tone: Tone) -> String {
        let code = match tone {
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Warning => "33",
            Tone::Bad => "31",
        };
        match self.colour {
            Colour::Always if !code.is_empty() && !text.is_empty() => {
                format!("\u{1b}[{code}m{text}\u{1b}[0m")
            }
            _ => text.to_owned(),
        }
    }

    /// `text` cut to at most `width` columns. The middle is replaced by `…`, because names of
    /// variants differ at their end.
    pub fn cut(&self, text: &str, width: usize) -> String {
        let text = self.letters(text);
        if measure_text_width(&text) <= width {
            return text;
        }
        let dots = self.letters("…");
        let room = width.saturating_sub(dots.len().min(measure_text_width(&dots)));
        let tail_width = room / 2;
        let head = fitting(text.chars(), room - tail_width);
        let tail: String = fitting(text.chars().rev(), tail_width).chars().rev().collect();
        format!("{head}{dots}{tail}")
    }

    /// `text` wrapped between words, with later lines indented by `indent`. The first keeps the blanks
    /// that it begins with. A number stays together with its unit and its groups of three digits. A
    /// word longer than a line stays whole.
    pub fn wrap(&self, text: &str, indent: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let blanks = text.len() - text.trim_start_matches(' ').len();
        let mut line = " ".repeat(blanks);
        for piece in pieces(&self.letters(text)) {
            let width = measure_text_width(&line) + 1 + measure_text_width(&piece);
            if line.trim().is_empty() {
                line.push_str(&piece);
            } else if width <= self.columns() {
                line.push(' ');
                line.push_str(&piece);
            } else {
                lines.push(std::mem::replace(&mut line, " ".repeat(indent) + &piece));
            }
        }
        lines.push(line);
        lines
    }
}

fn ascii(letter: char) -> &'static str {
    match letter {
        'µ' => "u",
        '≥' => ">=",
        '≤' => "<=",
        '≠' => "!=",
        '±' => "+-",
        '×' => "x",
        '†' => "^",
        '·' | '—' | '–' | '−' | '─' => "-",
        '│' => "|",
        '┼' => "+",
        '…' => "...",
        '→' => "->",
        '\u{2009}' | '\u{202f}' => " ",
        _ => "?",
    }
}

fn fitting(letters: impl Iterator<Item = char>, width: usize) -> String {
    let mut out = String::new();
    for letter in letters {
        out.push(letter);
        if measure_text_width(&out) > width {
            out.pop();
            break;
        }
    }
    out
}

/// The words of a text, with numbers, their digit groups and their units kept together.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match pieces.last_mut() {
            Some(last) if belongs(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces
}

fn belongs(before: &str, word: &str) -> bool {
    let bare = word.trim_end_matches([',', '.', ';', ':', ')']);
    let after_digit = before.ends_with(|letter: char| letter.is_ascii_digit());
    let group = bare.len() == 3 && bare.bytes().all(|byte| byte.is_ascii_digit());
    let before_number = matches!(before.rsplit(' ').next(), Some("≥" | ">=" | "<" | "±"));
    (after_digit && (UNITS.contains(&bare) || group)) || before_number
}

/// Units that belong to the number before them.
const UNITS: [&str; 14] =
    ["ns", "µs", "us", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB", "%", "×", "x", "/s"];

/// Tables that fit the width. Sections are side by side while there is room, else below each other.
/// A section wider than the terminal is split. Every piece begins with the names. `None`: not even
/// one column fits beside the names.
pub fn tables(style: &Style, names: &Column, sections: &[Section]) -> Option<Vec<String>> {
    let name_width = width_of(style, names).min(LONGEST_NAME).min(style.columns() / 3);
    let room = style.columns().checked_sub(name_width)?;
    let mut packed: Vec<Vec<Section>> = Vec::new();
    let mut left = 0;
    for section in split(style, sections, room)? {
        let width = section_width(style, &section);
        if width > left || packed.is_empty() {
            packed.push(Vec::new());
            left = room;
        }
        left -= width;
        packed.last_mut()?.push(section);
    }
    let mut lines = Vec::new();
    for (place, sections) in packed.iter().enumerate() {
        if place > 0 {
            lines.push(String::new());
        }
        table(style, names, name_width, sections, &mut lines);
    }
    Some(lines)
}

/// The longest name. A longer one is cut, because it would push the figures off the screen.
const LONGEST_NAME: usize = 32;
/// Blanks before a column, and before a section's title.
const GAP: usize = 2;

fn width_of(style: &Style, column: &Column) -> usize {
    let fields = column.fields.iter().map(|field| measure_text_width(&style.letters(&field.text)));
    fields.max().unwrap_or(0).max(measure_text_width(&style.letters(&column.title)))
}

fn section_width(style: &Style, section: &Section) -> usize {
    let columns: usize = section.columns.iter().map(|column| GAP + width_of(style, column)).sum();
    // The title has to fit too. A long title is cut: it does not make the section wider.
    let title = GAP + measure_text_width(&style.letters(&section.title)).min(LONGEST_TITLE);
    columns.max(title) + BAR
}

/// The longest title of a section that is itself narrower.
const LONGEST_TITLE: usize = 24;

/// ` │` before a section.
const BAR: usize = 2;

/// Splits sections so that each piece fits into `room`. A section gets as few pieces as possible,
/// with about the same number of columns each.
fn split(style: &Style, sections: &[Section], room: usize) -> Option<Vec<Section>> {
    let mut fitting = Vec::new();
    for section in sections {
        let most = section.columns.len();
        let mut pieces = (1..=most).map(|pieces| in_pieces(section, most.div_ceil(pieces)));
        let fits =
            |pieces: &Vec<Section>| pieces.iter().all(|piece| section_width(style, piece) <= room);
        fitting.extend(pieces.find(fits)?);
    }
    Some(fitting)
}

fn in_pieces(section: &Section, columns: usize) -> Vec<Section> {
    let piece =
        |columns: &[Column]| Section { title: section.title.clone(), columns: columns.to_vec() };
    section.columns.chunks(columns).map(piece).collect()
}

fn table(
    style: &Style,
    names: &Column,
    name_width: usize,
    sections: &[Section],
    out: &mut Vec<String>,
) {
    let bar = style.paint(&style.letters("│"), Tone::Faint);
    let mut titles = " ".repeat(name_width);
    let mut heads = left(&style.letters(&names.title), name_width);
    let mut rule = style.letters(&"─".repeat(name_width));
    for section in sections {
        let width = section_width(style, section) - BAR;
        let title = left(&style.cut(&section.title, width - GAP), width - GAP);
        titles += &format!(" {bar}  {}", style.paint(&title, Tone::Strong));
        let columns = section
            .columns
            .iter()
            .map(|column| right(&style.letters(&column.title), GAP + width_of(style, column)));
        heads += &format!(" {bar}{}", left(&columns.collect::<String>(), width));
        rule += &style.letters(&format!("─┼{}", "─".repeat(width)));
    }
    out.push(titles.trim_end().to_owned());
    out.push(heads.trim_end().to_owned());
    out.push(style.paint(&rule, Tone::Faint));
    for (row, name) in names.fields.iter().enumerate() {
        let mut line =
            style.paint(&left(&style.cut(&name.text, name_width), name_width), name.tone);
        for section in sections {
            let mut used = 0;
            line += &format!(" {bar}");
            for column in &section.columns {
                let width = GAP + width_of(style, column);
                let field = &column.fields[row];
                line += &style.paint(&right(&style.letters(&field.text), width), field.tone);
                used += width;
            }
            line += &" ".repeat(section_width(style, section) - BAR - used);
        }
        out.push(line.trim_end().to_owned());
    }
}

fn left(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(measure_text_width(text)))
}

fn right(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(measure_text_width(text))) + text
}

/// One block for each row, for terminals too narrow for a table. A block has pairs of title and
/// figure, as many side by side as fit.
pub fn blocks(style: &Style, names: &Column, sections: &[Section]) -> Vec<String> {
    let mut lines = Vec::new();
    for (row, name) in names.fields.iter().enumerate() {
        if row > 0 {
            lines.push(String::new());
        }
        let tone = if name.tone == Tone::Plain { Tone::Strong } else { name.tone };
        lines.push(style.paint(&style.cut(&name.text, style.columns()), tone));
        for section in sections {
            let title = style.cut(&section.title, style.columns() - 2);
            lines.push(format!("  {}", style.paint(&title, Tone::Faint)));
            lines.extend(pairs(style, section, row));
        }
    }
    lines
}

fn pairs(style: &Style, section: &Section, row: usize) -> Vec<String> {
    let title = |column: &Column| style.letters(&column.title);
    let width = |text: &str| measure_text_width(text);
    let there = section.columns.iter().filter(|column| !column.fields[row].text.is_empty());
    let columns: Vec<&Column> = there.collect();
    let titles = columns.iter().map(|column| width(&title(column))).max().unwrap_or(0);
    let texts = columns.iter().map(|column| style.letters(&column.fields[row].text));
    let fields = texts.map(|text| width(&text)).max().unwrap_or(0);
    let pair = titles + 1 + fields;
    let indent = 4;
    let a_line = ((style.columns() - indent + 3) / (pair + 3)).max(1);
    let mut lines = Vec::new();
    // Down first, then across, so that percentiles rise down the page.
    let rows = columns.len().div_ceil(a_line);
    for line in 0..rows {
        let mut text = " ".repeat(indent);
        for column in columns.iter().skip(line).step_by(rows) {
            let field = &column.fields[row];
            let figure = style.paint(&right(&style.letters(&field.text), fields), field.tone);
            text += &format!("{} {figure}   ", left(&title(column), titles));
        }
        lines.push(text.trim_end().to_owned());
    }
    lines
}
