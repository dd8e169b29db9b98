//! Shows each finding with its evidence.

use stampede_markup::{Element, classed, element};
use stampede_mask::mask_secrets;
use stampede_model::words;

use super::{block, left};
use crate::analyze::{name, user_name};
use crate::kinds::{KINDS, Kind, Severity};
use crate::model::{CheckReport, CodeLocation, Finding, RuntimeResult, Step};
use crate::text::NOT_AGAIN;

/// Returns the number of findings of each kind, without those accepted by the baseline.
pub fn counts(checked: &RuntimeResult) -> Option<Element> {
    let open = || checked.findings.iter().filter(|finding| !finding.is_accepted);
    let item = |row: &Kind| {
        let kind = row.kind;
        let of_kind = || open().filter(move |finding| finding.kind == kind);
        let first = of_kind().next()?.number;
        let link = element("a").with("href", &format!("#finding-{first}")).text(row.title);
        Some(element("li").child(element("b").text(&of_kind().count().to_string())).child(link))
    };
    let items: Vec<Element> = KINDS.iter().filter_map(item).collect();
    (!items.is_empty()).then(|| classed("ul", "counts").children(items))
}

/// Returns the findings, the most severe first, the accepted ones last.
pub fn section(report: &CheckReport, command: &str) -> Option<Element> {
    let all = group_findings(report);
    let about = match all.iter().any(|one| one.runtimes.len() > 1) {
        true => "the worst first; what several runtimes show stands once",
        false => "the worst first",
    };
    (!all.is_empty()).then(|| {
        block("What was found", about).children(all.iter().map(|one| article(one, command)))
    })
}

/// A finding, and the runtimes that show it in the same words.
struct FindingGroup<'a> {
    finding: &'a Finding,
    runtimes: Vec<(&'a str, u32)>,
}

fn group_findings(report: &CheckReport) -> Vec<FindingGroup<'_>> {
    let mut all: Vec<FindingGroup<'_>> = Vec::new();
    for checked in &report.runtimes {
        for finding in &checked.findings {
            let runtime = (checked.runtime.as_str(), finding.number);
            match all.iter_mut().find(|group| is_same(group.finding, finding)) {
                Some(group) => group.runtimes.push(runtime),
                None => all.push(FindingGroup { finding, runtimes: vec![runtime] }),
            }
        }
    }
    all.sort_by_key(|FindingGroup { finding, .. }| {
        (finding.is_accepted, finding.kind.rank(), finding.number)
    });
    all
}

/// Returns whether two findings differ only in number and fingerprint.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let of =
        |finding: &Finding| Finding { number: 0, fingerprint: String::new(), ..finding.clone() };
    of(one) == of(other)
}

fn article(group: &FindingGroup<'_>, command: &str) -> Element {
    let finding = group.finding;
    let kind = finding.kind.row();
    let style = match kind.severity {
        Severity::Severe => "bad",
        Severity::Moderate => "odd",
        Severity::Minor => "warning",
    };
    let style = if finding.is_accepted { "faint" } else { style };
    // Links in the page's first section lead to each number.
    let anchors = group
        .runtimes
        .iter()
        .map(|(_, number)| element("span").with("id", &format!("finding-{number}")));
    let why = element("dl")
        .child(element("dt").text("Why it matters"))
        .child(element("dd").prose(kind.why))
        .child(element("dt").text("The usual fix"))
        .child(element("dd").prose(kind.fix));
    let shows = element("div")
        .child(element("h4").text("To see it"))
        .child(steps(&finding.steps))
        .child(commands(group, command));
    let means = element("div").children(places(&finding.places)).child(why);
    classed("article", &format!("finding {style}"))
        .children(anchors)
        .child(heading(group))
        .child(classed("p", "what").prose(&finding.what))
        .children(evidence(&finding.evidence))
        .child(classed("div", "sides").child(shows).child(means))
}

fn heading(group: &FindingGroup<'_>) -> Element {
    let numbers: Vec<String> =
        group.runtimes.iter().map(|(_, number)| number.to_string()).collect();
    let badge = |style: &str, words: &str| classed("span", &format!("badge {style}")).text(words);
    let mut marks: Vec<Element> =
        group.runtimes.iter().map(|(runtime, _)| badge("quiet", runtime)).collect();
    if group.finding.is_accepted {
        marks.push(badge("live", "accepted by the baseline"));
    }
    if !group.finding.is_repeatable {
        marks.push(badge("warning", NOT_AGAIN));
    }
    let title = element("span").text(group.finding.kind.row().title);
    classed("div", "head")
        .child(
            element("h3")
                .child(classed("span", "number").text(&words::list(&numbers)))
                .child(title),
        )
        .child(classed("p", "badges").children(marks))
}

/// Returns the evidence. A line that only the reference has begins with `-`, one that only the
/// worker has with `+`.
fn evidence(text: &str) -> Option<Element> {
    let masked = mask_secrets(text);
    let line = |line: &str| {
        let style = match line.trim_start().chars().next() {
            Some('-') => "less",
            Some('+') => "more",
            _ => "same",
        };
        classed("span", style).text(line).text("\n")
    };
    let indent = masked.lines().filter(|line| !line.trim().is_empty());
    let indent = indent.map(|line| line.len() - line.trim_start_matches(' ').len()).min();
    let lines = masked.lines().map(|line| line.get(indent.unwrap_or(0)..).unwrap_or(line));
    (!masked.trim().is_empty()).then(|| classed("pre", "evidence").children(lines.map(line)))
}

fn steps(steps: &[Step]) -> Element {
    let list = classed("ol", "steps").children(steps.iter().take(STEPS).map(step));
    match steps {
        [] => classed("p", "note").text("No request of its own shows it."),
        [first @ .., last] if first.len() >= OPEN => {
            let said = format!(
                "{}, the last {} ({})",
                words::number_of(steps.len() as u32, "request"),
                name(&last.request),
                user_name(last.user)
            );
            element("details")
                .child(element("summary").text(&said))
                .child(list)
                .children(left(steps.len().saturating_sub(STEPS)))
        }
        _ => list,
    }
}

fn step(step: &Step) -> Element {
    let request = &step.request;
    let user = format!("user u{}", step.user % 4);
    let headers = request.headers.iter().map(|(name, value)| format!("{name}: {value}"));
    let body = Some(request.body.clone()).filter(|body| !body.is_empty());
    let more = headers.chain(body).map(|line| classed("code", "more").text(&line));
    element("li")
        .child(
            element("code")
                .child(element("b").text(&request.method))
                .text(" ")
                .text(&request.target),
        )
        .text(" ")
        .child(classed("span", &user).text(&user_name(step.user)))
        .text(if step.with_next { ", at once with" } else { "" })
        .children(more)
}

fn commands(group: &FindingGroup<'_>, command: &str) -> Element {
    let line = |(runtime, number): &(&str, u32)| {
        let on = if group.runtimes.len() > 1 { format!("  # {runtime}") } else { String::new() };
        element("code")
            .text(&format!("{command} --finding {number}"))
            .child(classed("span", "faint").text(&on))
            .text("\n")
    };
    element("pre").children(group.runtimes.iter().map(line))
}

fn places(all: &[CodeLocation]) -> Option<Element> {
    let place = |place: &CodeLocation| {
        element("li")
            .child(element("code").text(&format!("{}:{}", place.file, place.line)))
            .child(element("span").child(element("code").text(&place.what)))
    };
    let list = classed("ul", "lines").children(all.iter().map(place));
    let title = match all.iter().any(|place| place.is_named) {
        true => "Where in the code",
        false => "Possible cause in the code",
    };
    (!all.is_empty()).then(|| element("div").child(element("h4").text(title)).child(list))
}

/// Steps that are shown unfolded: more would push the fix off the screen.
const OPEN: usize = 8;
/// Most steps that are listed: nobody reads on, and `check.json` has all of them.
const STEPS: usize = 100;
