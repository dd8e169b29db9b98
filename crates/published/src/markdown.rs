//! Renders a comparison as GitHub's Markdown: first the answer, then each table.

use crate::comparison::{PublishedComparison, TableComparison};
use crate::text::{HEADS, answers, cell, label, measured, title};

/// Renders a comparison.
pub fn markdown(comparison: &PublishedComparison) -> String {
    let mut out = format!("### Published beside measured: {}", escape(&comparison.publication));
    if let Some(title) = &comparison.title {
        out += &format!(", {}", escape(title));
    }
    out += &format!("\n\n{}\n\n", escape(&comparison.sentence));
    if let Some(source) = &comparison.source {
        out += &format!("Source: {}\n\n", escape(source));
    }
    for table in &comparison.tables {
        out += &format!("#### {}\n\n", escape(&table.title));
        out += &list(&answers(table, comparison.rounds));
        let measured = measured(table);
        if !measured.columns.is_empty() {
            rows(&measured, &mut out);
        }
        out += &list(&[table.note.as_slice(), &table.notes].concat());
    }
    if !comparison.claims.is_empty() {
        out += "#### Claims of the text\n\n";
    }
    for claim in &comparison.claims {
        out += &format!("- {}: “{}”\n", escape(&claim.runtime), escape(&claim.text));
        for sentence in &claim.sentences {
            out += &format!("  - {}\n", escape(sentence));
        }
    }
    out.trim_end().to_owned() + "\n"
}

/// A list; a line that begins with spaces belongs to the one before it.
fn list(lines: &[String]) -> String {
    let item = |line: &String| {
        let text = line.trim_start();
        format!("{}- {}\n", if text.len() < line.len() { "  " } else { "" }, escape(text))
    };
    let mut text: String = lines.iter().map(item).collect();
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn rows(table: &TableComparison, out: &mut String) {
    let mut head = "| |".to_owned();
    let mut line = "|:--|".to_owned();
    for column in &table.columns {
        for (index, field) in HEADS.iter().enumerate() {
            let text = match index {
                0 => format!("{} {field}", title(column)),
                _ => (*field).to_owned(),
            };
            head += &format!(" {} |", escape(&text));
            line += "--:|";
        }
    }
    *out += &format!("{head}\n{line}\n");
    for row in 0..table.rows.len() {
        *out += &format!("| {} |", escape(&label(table, row)));
        for column in &table.columns {
            for field in cell(column, row) {
                *out += &format!(" {} |", escape(&field));
            }
        }
        out.push('\n');
    }
    out.push('\n');
}

/// Text without characters that mean something in Markdown or HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '|' | '*' | '`' | '[' | ']' | '\\' | '~' | '#' => {
                out.push('\\');
                out.push(letter);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\t' => out.push(' '),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}
