//! Formats a check as an HTML page: one file without scripts and without other files.

mod code;
mod finding;
#[cfg(test)]
mod tests;

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use stampede_markup::{Element, classed, element};
use stampede_mask::mask_secrets;
use stampede_model::words;

use super::amount::amount;
use super::model::{CheckReport, Growth, RuntimeResult, SkippedRequest, Verdict};
use super::text::{self, NO_PROOF, VerdictText};

/// Returns the page: the answer first, then what was tried, each finding, growth, the code, what
/// was not requested, and how to check again. `command` sends a finding again, with `--finding N`
/// added.
pub fn html(report: &CheckReport, command: &str) -> String {
    let app = name(report);
    let main = element("main")
        .child(answer(report, &app))
        .child(tried(report))
        .children(finding::section(report, command))
        .children(growth(report))
        .child(code::section(report))
        .children(skipped(&report.skipped))
        .child(again(report));
    let page = classed("div", "page").child(head(report)).child(main).child(foot(report));
    let title = masked(&element("title").text(&format!("{app} · stampede check")));
    let policy = format!(
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{}'",
        STANDARD.encode(Sha256::digest(STYLE))
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         {title}<style>{STYLE}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
        masked(&page)
    )
}

/// Returns the markup of an element. All data of the page goes through here: secrets are masked in
/// each text and each attribute.
fn masked(element: &Element) -> String {
    element.html(mask_secrets)
}

/// Returns the last part of the path of the app's directory.
fn name(report: &CheckReport) -> String {
    let last = Path::new(&report.app).file_name();
    last.map_or_else(|| report.app.clone(), |name| name.to_string_lossy().into_owned())
}

fn head(report: &CheckReport) -> Element {
    let which = format!(" {}", report.name);
    let known = format!("{}, {}", report.app, report.kind);
    element("header")
        .child(element("h1").text("stampede check").child(element("span").text(&which)))
        .child(element("p").text(&known))
}

fn foot(report: &CheckReport) -> Element {
    let made = format!("stampede {} · {}", report.stampede, report.started_at);
    element("footer").child(element("p").text(&made))
}

/// Returns the answer with a card for each runtime.
fn answer(report: &CheckReport, app: &str) -> Element {
    let question = format!("Is `{app}` safe in a worker's memory?");
    classed("section", "answer").child(classed("h2", "kicker").prose(&question)).child(
        classed("div", "cards").children(report.runtimes.iter().map(|one| card(report, one))),
    )
}

fn card(report: &CheckReport, checked: &RuntimeResult) -> Element {
    let style = match checked.verdict {
        Verdict::Safe => "good",
        Verdict::SafeWith { .. } => "warning",
        Verdict::NotSafe => "bad",
        Verdict::NotChecked => "faint",
    };
    let VerdictText { message, more, .. } = text::verdict(report, checked);
    let note = |text: &str| classed("p", "note").prose(text);
    // With other verdicts, the text already says it.
    let sent = (checked.verdict == Verdict::NotSafe)
        .then(|| format!("{} sent", words::number_of(checked.sent as u32, "request")));
    classed("article", &format!("card {style}"))
        .child(element("h3").text(&checked.runtime))
        .child(classed("p", "verdict").prose(&message))
        .children(finding::counts(checked))
        .children((!more.is_empty()).then(|| note(&more)))
        .children(sent.map(|sent| note(&sent)))
}

fn tried(report: &CheckReport) -> Element {
    let tried = &report.tried;
    let passes = tried.passes.join(", ");
    let growth = match tried.growth_requests {
        0 => "growth was not measured".to_owned(),
        count => format!("and {} more for growth", words::count(count)),
    };
    let figures = [
        ("requests", words::count(tried.requests), "different ones"),
        ("passes", words::count(tried.passes.len() as u64), &passes),
        ("users", words::count(u64::from(tried.users)), "each with tokens of their own"),
        ("sent", words::count(tried.sent), &growth),
        ("time", text::took(tried.seconds), ""),
        ("against", report.reference.clone(), "which forgets after each request"),
        ("seed", report.seed.to_string(), ""),
    ];
    let figure = |(what, figure, more): (&str, String, &str)| {
        let more = Some(more).filter(|more| !more.is_empty());
        classed("div", "figure")
            .child(element("dt").text(what))
            .child(element("dd").text(&figure))
            .children(more.map(|more| classed("dd", "more").text(more)))
    };
    let early = report.interrupted.then(|| {
        classed("p", "problem").text("Ended early: it says less than a check that went to its end.")
    });
    block("What was tried", NO_PROOF)
        .children(early)
        .child(classed("dl", "tried").children(figures.map(figure)))
}

/// Returns the table of what grew and what did not.
fn growth(report: &CheckReport) -> Option<Element> {
    let all = report.runtimes.iter();
    let rows: Vec<Element> = all
        .flat_map(|checked| checked.growth.iter().map(|one| row(&checked.runtime, one)))
        .collect();
    let heads = element("tr").children(HEADS.map(|head| element("th").text(head)));
    let table = classed("table", "figures")
        .child(element("thead").child(heads))
        .child(element("tbody").children(rows.iter().cloned()));
    (!rows.is_empty()).then(|| {
        block("Growth", "of one worker, over thousands of requests")
            .child(classed("div", "scroll").child(table))
    })
}

fn row(runtime: &str, growth: &Growth) -> Element {
    let amount = |value| amount(growth.of, value);
    let limit = growth.max_requests.filter(|_| growth.grows);
    let cells = [
        amount(growth.begin),
        amount(growth.end),
        amount(growth.per_request),
        format!("{} to {}", amount(growth.per_request_low), amount(growth.per_request_high)),
        limit.map_or_else(|| "—".to_owned(), words::count),
    ];
    let over = format!(" over {} requests", words::count(growth.requests));
    let cells = HEADS[2..].iter().zip(cells);
    classed("tr", if growth.grows { "grows" } else { "steady" })
        .child(element("th").text(runtime))
        .child(element("td").text(text::what(growth.of)).child(element("small").text(&over)))
        .children(cells.map(|(head, cell)| element("td").with("data-title", head).text(&cell)))
}

/// Headings of the growth table; on narrow screens, each is shown beside its figure.
const HEADS: [&str; 7] =
    ["runtime", "what", "begin", "end", "per request", "95 % interval", "max_requests"];

fn skipped(all: &[SkippedRequest]) -> Option<Element> {
    let row = |one: &SkippedRequest| {
        element("li")
            .child(element("code").text(&one.request))
            .child(element("span").prose(&one.why.to_string()))
    };
    let list = classed("ul", "lines").children(all.iter().take(LISTED).map(row));
    let more = left(all.len().saturating_sub(LISTED));
    let count = words::number_of(all.len() as u32, "request");
    (!all.is_empty()).then(|| block("What was not sent", &count).child(list).children(more))
}

/// Returns a line with the number of entries that a list leaves out; `None` for 0.
fn left(count: usize) -> Option<Element> {
    let message = format!("… {count} more in check.json");
    (count > 0).then(|| classed("p", "note").text(&message))
}

/// Returns the command of the check. What only the user knows stands there as a name to fill in.
fn again(report: &CheckReport) -> Element {
    let command = classed("code", "command").child(element("span").text("stampede check"));
    let flags = report.asked.chunk_by(|_, next| !next.starts_with("--"));
    let command = flags.fold(command, |command, flag| {
        command.text(" ").child(element("span").text(&shell_words::join(flag)))
    });
    let flags = ["--login", "--basic-auth", "--login-field", "--cookie", "--header", "--env"];
    let is_lacking = |two: &[String], flag: &str| two[0] == flag && !two[1].starts_with('/');
    let lacks =
        flags.into_iter().filter(|flag| report.asked.windows(2).any(|two| is_lacking(two, flag)));
    let lacks: Vec<String> = lacks.map(|flag| format!("`{flag}`")).collect();
    let lacks = (!lacks.is_empty()).then(|| {
        let message = format!(
            "Passwords and values are not kept: behind {} stands the name alone.",
            words::list(&lacks)
        );
        classed("p", "problem").prose(&message)
    });
    block("Check again", "the same passes and tokens, by their seed")
        .child(element("pre").child(command))
        .children(lacks)
        .child(classed("p", "note").prose(
            "Another `--seed` is another shuffled pass, and more requests and users find more. \
             `--baseline check.json` accepts these findings, so that only what is new counts.",
        ))
}

/// Returns a section with its heading and a short note beside it.
fn block(title: &str, about: &str) -> Element {
    let about = Some(about).filter(|about| !about.is_empty());
    let about = about.map(|about| classed("span", "about").prose(about));
    classed("section", "block").child(element("h2").text(title).children(about))
}

/// Most lines of a list; an app in poor condition has thousands.
const LISTED: usize = 200;

/// Style sheet of the page, in colours and type of the report.
const STYLE: &str = include_str!("html/page.css");
