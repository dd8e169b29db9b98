//! Renders all figures of a run for a terminal.

use stampede_model::words;

use super::columns::{names, rows, sections};
use super::evidence;
use super::layout::{Tone, blocks, tables};
use super::lines::Lines;
use super::notes::{self, Importance};
use super::{Colour, Style};
use crate::summary::Summary;
use crate::summary::model::{CaseSummary, Group, LoadModel};

/// Renders a run as text. No line is wider than the style's width unless a single word is.
pub fn text(summary: &Summary, style: &Style) -> String {
    let mut page = Lines::new(*style);
    page.paragraph(&super::heading(summary), Tone::Faint, 2);
    for notice in &summary.notices {
        page.paragraph(&notice.to_string(), Tone::Warning, 2);
    }
    for group in &summary.groups {
        let cases: Vec<&CaseSummary> = summary.cases_of(group).collect();
        page.blank();
        page.group(group, &cases);
    }
    page.finish()
}

impl Lines {
    fn group(&mut self, group: &Group, cases: &[&CaseSummary]) {
        self.paragraph(&title(group, cases), Tone::Strong, 2);
        self.paragraph(&group.sentence, Tone::Plain, 0);
        let shown = rows(cases);
        let sections = sections(group, &shown);
        if !shown.is_empty() {
            self.blank();
            let style = self.style();
            let names = names(&shown);
            let table =
                if style.columns() < NARROW { None } else { tables(&style, &names, &sections) };
            let lines = table.unwrap_or_else(|| blocks(&style, &names, &sections));
            self.extend(lines);
        }
        let notes = notes::of(group, cases);
        let legend =
            if shown.is_empty() { Vec::new() } else { notes::legend(group, cases, &sections) };
        if !notes.is_empty() || !legend.is_empty() {
            self.blank();
        }
        for note in &notes {
            let tone = match note.importance {
                Importance::Bad => Tone::Bad,
                Importance::Doubt => Tone::Warning,
                Importance::Plain => Tone::Plain,
            };
            self.paragraph(&note.text, tone, 2);
        }
        for line in evidence::details(cases) {
            self.paragraph(&line, Tone::Plain, 2);
        }
        for line in legend {
            self.paragraph(&line, Tone::Faint, 2);
        }
    }
}

/// With fewer columns, a block for each runtime is easier to read than many small tables.
const NARROW: usize = 56;

/// The title of a group: `hello · rush: 50 at a time, no pause, for 60 s · closed model · 1 CPU,
/// 1.00 GiB`.
pub fn title(group: &Group, cases: &[&CaseSummary]) -> String {
    let load = if group.load == group.load_text {
        group.load.clone()
    } else {
        format!("{}: {}", group.load, group.load_text)
    };
    let model = match group.model {
        LoadModel::Open => "open model",
        LoadModel::Closed => "closed model",
    };
    let shown = rows(cases);
    let budget = shown.first().map_or(String::new(), |case| {
        let cpus = case.budget_cpus.in_words();
        let memory = match case.budget_memory_bytes {
            0 => String::new(),
            bytes => format!(", {}", words::bytes(bytes as f64)),
        };
        format!(" · {cpus}{memory}")
    });
    format!("{} · {load} · {model}{budget}", group.app)
}

impl Style {
    /// Plain text of this width with all characters, for files and tests.
    pub fn plain(width: usize) -> Style {
        Style { width, colour: Colour::Never, letters: super::CharacterSet::Unicode }
    }
}
