//! Tests reports as people and scripts see them. Read each snapshot that changes.

use console::measure_text_width;
use stampede_model::fact::Fact;
use stampede_model::record::Validity;
use stampede_results::report::{CharacterSet, Colour, Style, answer, csv, json, markdown, text};
use stampede_results::summary::model::CaseVerdict;
use stampede_results::summary::{RunData, summarize};

use crate::report_fixture::{
    Requests, add, case, closed, open, run, spread, steady_and_peak, troubled,
};
use crate::words::code_or;

fn page(run: &RunData, width: usize) -> String {
    text(&summarize(run), &Style::plain(width))
}

#[test]
fn text_for_every_width() {
    for width in [40, 60, 80, 120, 200] {
        assert_words!(format!("open_{width}"), page(&open(), width));
        assert_words!(format!("troubled_{width}"), page(&troubled(), width));
    }
    assert_words!("closed_80", page(&closed(), 80));
}

/// The first screen: headline, one table for both loads, and what is true of all rows.
#[test]
fn the_answer_fits_80_and_100_columns() {
    let summary = summarize(&steady_and_peak());
    for width in [40, 80, 100] {
        let page = answer(&summary, &Style::plain(width));
        for line in page.lines() {
            assert!(measure_text_width(line) <= width, "{width}: {line}");
        }
        assert_words!(format!("answer_{width}"), page);
    }
}

#[test]
fn the_answer_for_a_tie_a_failure_and_one_round() {
    let of = |run: &RunData| answer(&summarize(run), &Style::plain(100));
    let both = [of(&troubled()), of(&closed()), of(&open())].join("\n---\n");
    assert_words!("answer_others", both);
    let mut one_round = steady_and_peak();
    one_round.trials.truncate(10);
    one_round.record.order.truncate(1);
    assert_words!("answer_one_round", of(&one_round));
}

/// `docs/reading-a-report.md` quotes the answer: in the words that are printed.
#[test]
fn the_page_about_reports_quotes_what_is_printed() {
    let plain = |text: &str| -> String {
        let text = text.replace(['\u{202f}', '\u{a0}'], " ");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reading-a-report.md");
    let page = plain(&std::fs::read_to_string(path).expect("the page"));
    let print = |run: &RunData| plain(&answer(&summarize(run), &Style::plain(200)));
    let printed = [print(&steady_and_peak()), print(&closed()), print(&open())].join(" ");
    for words in [
        "× the requests of nginx-fpm on the same CPU (95 % interval",
        "requests/s its p95 is",
        "apache-modphp: too close to call against nginx-fpm; run again with `--rounds",
        "peak: 8 at a time, no pause",
        "All answers were correct.",
        "At peak every runtime used at least",
        "of its CPU, so the CPU was the limit, not a database.",
        "1 million requests cost",
        "CPU-minutes with nginx-fpm.",
        "MiB in every row.",
    ] {
        assert!(printed.contains(words), "not printed: {words}\n{printed}");
        assert!(page.contains(words), "not in the docs: {words}");
    }
}

#[test]
fn text_in_ascii_only() {
    let style = Style { width: 80, colour: Colour::Never, letters: CharacterSet::Ascii };
    let page = text(&summarize(&troubled()), &style);
    assert!(page.is_ascii());
    assert!(!page.contains('?') || !page.contains(" ? "), "a letter has no ASCII form");
    assert_words!("troubled_ascii", page);
}

#[test]
fn markdown_for_a_pull_request() {
    assert_words!("open_markdown", markdown(&summarize(&open())));
    assert_words!("troubled_markdown", markdown(&summarize(&troubled())));
    assert_words!("closed_markdown", markdown(&summarize(&closed())));
}

#[test]
fn csv_for_scripts() {
    assert_words!("open_csv", csv(&summarize(&open())));
    assert_words!("troubled_csv", csv(&summarize(&troubled())));
}

#[test]
fn json_for_machines() {
    insta::assert_snapshot!("closed_json", json(&summarize(&closed())));
}

/// Two of three trials count: the row keeps its figures, and the third trial is named below the
/// table.
#[test]
fn an_invalid_trial_beside_valid_ones_is_listed_and_the_row_stays_valid() {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(200,10s)")], 3);
    for verdict in [Validity::Valid, Validity::Invalid, Validity::Valid] {
        let why = if verdict == Validity::Valid { vec![] } else { vec!["p99 schedule lag 12 ms"] };
        let requests = Requests {
            answered_ns: spread(2_000, 2_000_000),
            verdict: (verdict, why),
            ..Requests::default()
        };
        add(&mut run, 0, requests);
    }
    let summary = summarize(&run);
    assert_eq!(summary.cases[0].verdict, CaseVerdict::Valid);
    assert!(summary.is_whole(), "two of three trials count");
    let page = page(&run, 160);
    assert!(page.contains("nginx-fpm ! │"), "{page}");
    let why = code_or("text", "p99 schedule lag 12 ms");
    let note = format!("! nginx-fpm: trial 2 invalid, not counted: {why}\n");
    assert!(page.contains(&note), "{page}");
}

/// A busy machine makes many trials suspect for the same reason, each with figures of its own.
#[test]
fn reasons_of_the_same_kind_share_a_line() {
    use stampede_model::fact::Generator;
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(200,10s)")], 5);
    for trial in 0..5_u32 {
        let answered_ns = spread(2_000, 2_000_000);
        add(&mut run, 0, Requests { answered_ns, ..Requests::default() });
        let verdict = &mut run.trials[trial as usize].record.verdict;
        let busy_share = 0.85 + 0.01 * f64::from(trial);
        verdict.judged = if trial < 4 { Validity::Invalid } else { Validity::Suspect };
        verdict.reasons = vec![Generator::Busy { busy_share }.into()];
    }
    let page = page(&run, 200);
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("! ")).collect();
    let [line] = lines[..] else { panic!("{page}") };
    assert!(line.starts_with("! nginx-fpm: trials 1, 2, 3 and 4 invalid"), "{line}");
    assert!(line.ends_with(" (trial 1; similar in the others)"), "{line}");
    assert!(page.contains("\n? nginx-fpm: trial 5 suspect: "), "{page}");
    assert_eq!(page.matches(" had ").count(), 3, "{page}");
    assert!(page.contains("the figures of trial 4 are in `summary.json`"), "{page}");
}

/// `summary.json` and the page have all evidence. The text has the first piece that adds to the
/// reason.
#[test]
fn a_reason_has_its_evidence_in_brackets() {
    let mut run = run(vec![case("nginx-fpm", "day", "open", "const(200,10s)")], 2);
    for (opcache, enabled) in [(false, "0"), (true, "1")] {
        let requests = Requests { answered_ns: spread(2_000, 2_000_000), ..Requests::default() };
        let before = add(&mut run, 0, requests).record.runtime.before.as_mut().expect("shown");
        before.opcache = opcache;
        before.ini.insert("opcache.enable".into(), enabled.into());
    }
    let words = "OPcache is off: every request compiles its files anew; set `opcache.enable=1`";
    let cause = code_or("opcache_off", words);
    let line = &format!("limit of nginx-fpm: {cause} (opcache.enable=0; in 1 of 2 trials)");
    let text = page(&run, 200);
    assert!(text.contains(line), "{text}");
    let markdown = markdown(&summarize(&run)).replace("opcache\\_off", "opcache_off");
    assert!(markdown.contains(line), "{markdown}");
}

/// Settings of the plan, and values that a SAPI forces, are notes and get no sign.
#[test]
fn settings_and_what_a_sapi_forces_are_notes() {
    let named = |runtime| case(runtime, "day", "open", "const(200,10s)");
    let mut run = run(vec![named("nginx-fpm"), named("small")], 1);
    for (index, limit) in [(0, "256M"), (1, "64M")] {
        let requests = Requests { answered_ns: spread(2_000, 2_000_000), ..Requests::default() };
        let runtime = &mut add(&mut run, index, requests).record.runtime;
        runtime.given.ini.insert("memory_limit".into(), limit.into());
        let before = runtime.before.as_mut().expect("the fixture has it");
        before.ini.insert("memory_limit".into(), limit.into());
        if index == 1 {
            runtime.given.forced_ini = vec!["cli.*".into()];
            before.ini.insert("cli.pager".into(), String::new());
        }
    }
    let page = page(&run, 160);
    let set =
        code_or("set by the plan: ini", "set by the plan: memory_limit `64M` instead of `256M`");
    assert!(page.contains(&format!("small: {set}")), "{page}");
    let forced = code_or("set by its SAPI: ini", "set by its SAPI: with cli.*");
    assert!(page.contains(&format!("small: {forced}")), "{page}");
    assert!(!page.contains('≠'), "{page}");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for summary in [open(), closed(), troubled()].map(|run| summarize(&run)) {
        for width in (32..=220).step_by(3) {
            for line in text(&summary, &Style::plain(width)).lines() {
                let word = line.split(' ').map(measure_text_width).max().unwrap_or(0);
                let fits = measure_text_width(line) <= width.max(word + 2);
                assert!(fits, "{width}: {} wide: {line}", measure_text_width(line));
            }
        }
    }
}

/// Every figure of the widest page is also on the narrowest, unbroken.
#[test]
fn no_width_loses_or_breaks_a_figure() {
    let figures = |page: String| -> Vec<String> {
        let unit = |word: &&str| ["ms", "µs", "s", "MiB", "KiB"].contains(word);
        let words: Vec<&str> = page.split([' ', '\n']).filter(|word| !word.is_empty()).collect();
        let pairs = words.windows(2).filter(|pair| unit(&pair[1]));
        let mut figures: Vec<String> = pairs
            .map(|pair| pair.join(" "))
            .filter(|text| text.starts_with(|first: char| first.is_ascii_digit()))
            .collect();
        figures.sort();
        figures
    };
    let wide = figures(page(&open(), 400));
    assert!(wide.len() > 80, "{}", wide.len());
    for width in [40, 60, 80, 120, 200] {
        assert_eq!(figures(page(&open(), width)), wide, "{width}");
    }
}

#[test]
fn colour_adds_nothing_but_escape_sequences() {
    for run in [open(), troubled()] {
        let style = Style { width: 100, colour: Colour::Always, letters: CharacterSet::Unicode };
        let coloured = text(&summarize(&run), &style);
        assert!(coloured.contains("\u{1b}[31m"));
        let plain = console::strip_ansi_codes(&coloured).into_owned();
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&plain), trimmed(&page(&run, 100)));
    }
}

#[test]
fn a_log_line_cannot_steer_the_terminal() {
    let mut run = troubled();
    run.trials[1].record.verdict.reasons =
        vec![Fact::bare("\u{1b}[2J\u{7}gone\r\nand | more".to_owned())];
    let page = page(&run, 80);
    assert!(page.lines().all(|line| !line.contains(char::is_control)), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(code_or("text", "[2Jgone and | more")), "{page}");
    let markdown = markdown(&summarize(&run));
    assert!(markdown.contains(code_or("text", "gone  and \\| more")), "{markdown}");
}

#[test]
fn every_csv_row_has_the_columns_of_the_header() {
    let table = csv(&summarize(&troubled()));
    let rows: Vec<Vec<String>> = table.trim_end().split("\r\n").map(fields).collect();
    assert_eq!(rows.len(), 8);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let runtime = rows[0].iter().position(|name| name == "runtime").expect("there is one");
    assert!(rows.iter().any(|row| row[runtime] == "'=cmd|' /C calc'!A0"), "{table}");
}

/// Splits a row of RFC 4180 that has no line breaks inside.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            letter => fields.last_mut().expect("never empty").push(letter),
        }
    }
    fields
}
