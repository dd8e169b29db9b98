//! Renders a comparison of two runs, for a terminal and for a pull request.

use stampede_model::fact::{Fact, NoChange};
use stampede_model::words;

use super::Style;
use super::columns::{figure, interval};
use super::layout::{Column, Field, Section, Tone, blocks, tables};
use super::markdown::{escape, row};
use crate::summary::diff::{
    CaseDiff, Change, ChangeExpectation, Diff, Difference, FigureDiff, Outcome, Pairing, Side,
};

/// Renders a comparison as text.
pub fn diff_text(diff: &Diff, style: &Style) -> String {
    let mut lines = Vec::new();
    let mut add = |text: &str, tone: Tone| {
        lines.extend(style.wrap(text, 2).iter().map(|line| style.paint(line, tone)));
    };
    for side in sides(diff) {
        add(&side, Tone::Faint);
    }
    for notice in notices(diff) {
        add(&notice, Tone::Warning);
    }
    for case in &diff.cases {
        lines.push(String::new());
        of_case(diff, case, style, &mut lines);
    }
    for after in [noise_lines(diff), only_in_lines(diff)] {
        if !after.is_empty() {
            lines.push(String::new());
            lines.extend(after.iter().flat_map(|one| style.wrap(one, 2)));
        }
    }
    lines.join("\n").replace('\u{a0}', " ") + "\n"
}

fn of_case(diff: &Diff, case: &CaseDiff, style: &Style, lines: &mut Vec<String>) {
    let mut add = |text: &str, tone: Tone| {
        lines.extend(style.wrap(text, 2).iter().map(|line| style.paint(line, tone)));
    };
    add(&title(case), Tone::Strong);
    add(&case.sentence, Tone::Plain);
    let (names, section) = table(diff, case);
    let sections = [section];
    let table = tables(style, &names, &sections);
    // The section needs no title: the sides are named above all cases.
    let rows = table.map_or_else(|| blocks(style, &names, &sections), |lines| lines[1..].to_vec());
    lines.extend(rows);
    let mut add = |text: &str, tone: Tone| {
        lines.extend(style.wrap(text, 2).iter().map(|line| style.paint(line, tone)));
    };
    for one in &case.expectations {
        let tone = if one.outcome == Outcome::Met { Tone::Plain } else { Tone::Bad };
        add(&expected(one), tone);
    }
    let notes = case.notes.iter().map(ToString::to_string);
    for note in reasons(case).into_iter().chain(notes) {
        add(&note, Tone::Warning);
    }
}

fn table(diff: &Diff, case: &CaseDiff) -> (Column, Section) {
    let shown = shown(case);
    let column = |title: &str, field: &dyn Fn(&FigureDiff) -> Field| Column {
        title: title.to_owned(),
        fields: shown.iter().map(|one| field(one)).collect(),
    };
    let names = column("", &|one| {
        let tone = if one.figure == case.primary { Tone::Strong } else { Tone::Plain };
        Field { tone, ..Field::plain(one.measure().title()) }
    });
    let mut columns = vec![
        column(&diff.base.label, &|one| figure(one.base, |value| one.measure().words(value))),
        column(&diff.other.label, &|one| figure(one.other, |value| one.measure().words(value))),
        column("ratio", &|one| field(ratio(one))),
        column("95 % interval", &|one| field(interval_text(one))),
        column("result", &|one| Field { tone: tone(one), ..Field::plain(judged(one)) }),
    ];
    if shown.iter().all(|one| interval_text(one).is_none()) {
        columns.remove(3);
    }
    (names, Section { title: String::new(), columns })
}

/// The figures that at least one side has.
pub(super) fn shown(case: &CaseDiff) -> Vec<&FigureDiff> {
    use crate::summary::model::Figure;
    let is_there = |one: &&FigureDiff| (one.base, one.other) != (Figure::None, Figure::None);
    case.figures.iter().filter(is_there).collect()
}

/// The ratio `1.24 ×`, or for a share the difference `−0.80 points`.
pub(super) fn ratio(one: &FigureDiff) -> Option<String> {
    let points = one.points.map(|points| format!("{} points", signed(points.value)));
    one.ratio.map(|ratio| words::ratio(ratio.value)).or(points)
}

pub(super) fn interval_text(one: &FigureDiff) -> Option<String> {
    let of_ratio = one.ratio.and_then(|ratio| ratio.interval);
    let of_points = one.points.and_then(|points| points.interval);
    let points = of_points.map(|(low, high)| format!("{} – {}", signed(low), signed(high)));
    of_ratio.map(|(low, high)| interval(low, high)).or(points)
}

/// Percentage points: `+0.20`, `−0.80`, `0`.
fn signed(share: f64) -> String {
    let points = share * 100.0;
    match points {
        none if none.abs() < 0.005 => "0".to_owned(),
        less if less < 0.0 => format!("−{}", words::significant(-less)),
        more => format!("+{}", words::significant(more)),
    }
}

pub(super) fn judged(one: &FigureDiff) -> &'static str {
    one.judged.map_or("not compared", |judged| one.measure().verdict(judged))
}

fn tone(one: &FigureDiff) -> Tone {
    match one.judged {
        Some(Change::Worse) => Tone::Bad,
        Some(Change::Better) => Tone::Strong,
        _ => Tone::Plain,
    }
}

fn field(text: Option<String>) -> Field {
    text.map_or(Field { tone: Tone::Faint, ..Field::plain("—") }, Field::plain)
}

/// The reasons why figures of a case are not compared, each once.
fn reasons(case: &CaseDiff) -> Vec<String> {
    let mut reasons: Vec<(&Fact<NoChange>, Vec<String>)> = Vec::new();
    for one in shown(case) {
        let Some(why) = &one.why_not else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(one.measure().title()),
            None => reasons.push((why, vec![one.measure().title()])),
        }
    }
    let each = reasons.into_iter();
    each.map(|(why, names)| format!("not compared: {}: {why}", words::list(&names))).collect()
}

/// An expectation with its outcome: `p95 worse < 5%: broken: p95 24.1 % worse (…)`.
fn expected(one: &ChangeExpectation) -> String {
    let outcome = match one.outcome {
        Outcome::Met => "met",
        Outcome::Broken => "not met",
        Outcome::NotShown => "not proven",
    };
    format!("{}: {outcome}: {}", one.text, one.found)
}

/// Outcomes of expectations, why figures are not compared, why trials do not count.
pub(super) fn case_notes(case: &CaseDiff) -> Vec<String> {
    let expected = case.expectations.iter().map(expected);
    let notes = case.notes.iter().map(ToString::to_string);
    expected.chain(reasons(case)).chain(notes).collect()
}

/// The title of a case: `nginx-fpm · hello · day: const(200,10s)`.
pub(super) fn title(case: &CaseDiff) -> String {
    let load = match case.load == case.load_text {
        true => case.load.clone(),
        false => format!("{}: {}", case.load, case.load_text),
    };
    format!("{} · {} · {load}", case.runtime, case.app)
}

/// The sides in words: `A: 20261121-101500-3f9a · stampede 0.1.0 · 2026-11-21T10:15:00+00:00 · 5
/// rounds`.
fn sides(diff: &Diff) -> Vec<String> {
    let one = |side: &Side| {
        let Side { run, started_at, stampede, rounds, .. } = side;
        let rounds = words::number_of(*rounds, "round");
        format!("{run} · stampede {stampede} · {started_at} · {rounds}")
    };
    let (base, other) = (&diff.base, &diff.other);
    match diff.pairing {
        Pairing::BetweenRuns => {
            vec![
                format!("{}: {}", base.label, one(base)),
                format!("{}: {}", other.label, one(other)),
            ]
        }
        Pairing::WithinRounds => {
            vec![format!(
                "{} against {}, in the same rounds: {}",
                other.label,
                base.label,
                one(other)
            )]
        }
    }
}

/// The differences in circumstances, followed by the notices.
fn notices(diff: &Diff) -> Vec<String> {
    let differences = difference_lines(&diff.differences, [&diff.base.label, &diff.other.label]);
    let compared = differences.iter().map(|one| format!("compared although not alike: {one}"));
    compared.chain(diff.notices.iter().map(ToString::to_string)).collect()
}

/// The differences in circumstances, one line each, with both values.
pub fn difference_lines(all: &[Difference], [base, other]: [&str; 2]) -> Vec<String> {
    let value = |text: &str| match text {
        "" => "none".to_owned(),
        text => format!("`{text}`"),
    };
    let one = |one: &Difference| {
        let of = match one.of.as_slice() {
            [] => String::new(),
            names => format!(" ({})", words::list(names)),
        };
        let (a, b) = (value(&one.base), value(&one.other));
        format!("{}: {a} in {base}, {b} in {other}{of}", one.what)
    };
    all.iter().map(one).collect()
}

/// What the base shows when it is compared with itself: the primary figure of each case. Empty: it
/// was measured once.
pub(super) fn noise_lines(diff: &Diff) -> Vec<String> {
    let of_primary = |case: &CaseDiff| {
        let about = case.figures.iter().find(|one| one.figure == case.primary)?;
        let ratio = about.ratio?;
        let text = match ratio.interval {
            Some((low, high)) => format!("{} ({})", words::ratio(ratio.value), interval(low, high)),
            None => words::ratio(ratio.value),
        };
        let line = format!("{} · {}: {} {text}", case.runtime, case.load, about.measure().title());
        let bound = ratio.interval.map(|(low, high)| {
            let widest = (low - 1.0).abs().max((high - 1.0).abs());
            let (noun, widest) = (about.measure().title(), words::percent(widest * 100.0));
            format!("; a difference in {noun} up to {widest} may be noise")
        });
        Some(line + &bound.unwrap_or_default())
    };
    if diff.noise.is_empty() {
        return Vec::new();
    }
    let lines: Vec<String> = diff.noise.iter().filter_map(of_primary).collect();
    let head = match lines.is_empty() {
        true => "has too few figures to compare it with itself.",
        false => "against itself, in the same rounds:",
    };
    [vec![format!("Noise of the day: {} {head}", diff.base.label)], lines].concat()
}

fn only_in_lines(diff: &Diff) -> Vec<String> {
    let one = |label: &str| {
        let of: Vec<String> = diff
            .only
            .iter()
            .filter(|one| one.label == label)
            .map(|one| format!("{} · {} · {}", one.runtime, one.app, one.load))
            .collect();
        (!of.is_empty()).then(|| format!("only in {label}: {}", of.join(", ")))
    };
    [&diff.base, &diff.other].iter().filter_map(|side| one(&side.label)).collect()
}

/// Renders a comparison as GitHub's Markdown.
pub fn diff_markdown(diff: &Diff) -> String {
    let mut out = String::new();
    for case in &diff.cases {
        out += &format!("### {}\n\n{}\n\n", escape(&title(case)), escape(&case.sentence));
        let heads = ["", &diff.base.label, &diff.other.label, "ratio", "95 % interval", "result"];
        out += &row(&heads.map(escape));
        out += "|:--|--:|--:|--:|--:|:--|\n";
        for one in shown(case) {
            let words = |value| one.measure().words(value);
            let none = || "—".to_owned();
            out += &row(&[
                one.measure().title(),
                figure(one.base, words).text,
                figure(one.other, words).text,
                ratio(one).unwrap_or_else(none),
                interval_text(one).unwrap_or_else(none),
                match one.judged {
                    Some(Change::Worse) => format!("**{}**", judged(one)),
                    _ => judged(one).to_owned(),
                },
            ]);
        }
        out.push('\n');
        out += &list(&case_notes(case));
    }
    out += &list(&[notices(diff), noise_lines(diff), only_in_lines(diff)].concat());
    out + &format!(
        "<sub>{}</sub>\n",
        sides(diff).iter().map(|side| escape(side)).collect::<Vec<_>>().join("<br>")
    )
}

fn list(items: &[String]) -> String {
    let items: String = items.iter().map(|item| format!("- {}\n", escape(item))).collect();
    if items.is_empty() { items } else { items + "\n" }
}
