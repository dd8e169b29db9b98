//! Shows the suspects of the app's code, by kind.

use std::collections::BTreeMap;

use stampede_markup::{Element, classed, element};
use stampede_model::words;
use stampede_php::{CodeScan, Suspect, SuspectKind};

use super::{LISTED, block, left};
use crate::model::CheckReport;
use crate::text;

/// Returns the suspects that no finding names. The reason for a kind is given once.
pub fn section(report: &CheckReport) -> Element {
    let scan = &report.code;
    let unnamed_suspects = text::unnamed_suspects(report);
    let message = match (scan.files, scan.suspects.len(), unnamed_suspects.len()) {
        (0, ..) => "No file of the app was read.",
        (_, 0, _) => "Nothing in it is suspect.",
        (.., 0) => "What is suspect in it stands with the findings.",
        _ => {
            "These places are suspect, but no finding names them: the requests did not show that they do \
             harm, or did not come by."
        }
    };
    let mut kinds: BTreeMap<SuspectKind, Vec<&Suspect>> = BTreeMap::new();
    for suspect in unnamed_suspects {
        kinds.entry(suspect.kind).or_default().push(suspect);
    }
    let read = format!("{} read", words::number_of(scan.files as u32, "file"));
    let missing = usize::try_from(scan.suspects_left_out).unwrap_or(usize::MAX);
    let missing = (missing > 0).then(|| {
        let message = format!("… {} more that are listed nowhere", words::count(missing as u64));
        classed("p", "note").text(&message)
    });
    block("What the code says", &read)
        .child(classed("p", "note").text(message))
        .children(kinds.into_iter().map(|(kind, suspects)| of_kind(kind, &suspects)))
        .children(missing)
        .children(unread(scan))
}

fn of_kind(kind: SuspectKind, suspects: &[&Suspect]) -> Element {
    let line = |suspect: &&Suspect| {
        let within = Some(&suspect.within).filter(|within| !within.is_empty());
        let within = within.map(|within| element("small").text(&format!(" in {within}")));
        let what = element("span").child(element("code").text(&suspect.what)).children(within);
        element("li")
            .child(element("code").text(&format!("{}:{}", suspect.file, suspect.line)))
            .child(what)
    };
    let count = suspects.len().to_string();
    classed("article", "kind")
        .child(element("h3").text(kind.title()).child(classed("span", "about").text(&count)))
        .child(element("p").prose(kind.why()))
        .child(element("p").child(element("b").text("Fix: ")).prose(kind.fix()))
        .child(classed("ul", "lines").children(suspects.iter().take(LISTED).map(line)))
        .children(left(suspects.len().saturating_sub(LISTED)))
}

fn unread(scan: &CodeScan) -> Option<Element> {
    let all = &scan.unread;
    let message =
        format!("{} not read, or not to the end", words::number_of(all.len() as u32, "file"));
    let lines = all.iter().take(LISTED).map(|one| {
        let at = one.line.map_or_else(String::new, |line| format!(":{line}"));
        element("li")
            .child(element("code").text(&format!("{}{at}", one.file)))
            .child(element("span").prose(&one.why))
    });
    (!all.is_empty()).then(|| {
        element("details")
            .child(element("summary").text(&message))
            .child(classed("ul", "lines").children(lines))
            .children(left(all.len().saturating_sub(LISTED)))
    })
}
