//! Describes the evidence behind a row's figures. The evidence is what was exhausted, whether the
//! row kept up, Little's law, what an answer costs, and the pages that were measured.

use stampede_mask::mask_foreign;
use stampede_model::record::PageRecord;
use stampede_model::words;

use crate::summary::agents::AgentFigures;
use crate::summary::cost::cpu_ns_per_million;
use crate::summary::exhausted::{Exhausted, LowerBound, lower_bound};
use crate::summary::in_flight::InFlight;
use crate::summary::kept_up::KeptUp;
use crate::summary::model::{CaseSummary, LoadModel};
use crate::summary::pages::{CommonPages, Pages};

/// The evidence of a row, as pairs of a label and a text.
pub fn of_case(case: &CaseSummary) -> Vec<(&'static str, String)> {
    let throughput = case.figures.throughput_per_second.value();
    let limit = match (case.model, lower_bound(case), throughput) {
        (LoadModel::Closed, Some(bound), Some(rate)) => Some(at_least(bound, rate)),
        (LoadModel::Closed, _, _) => case.exhausted.as_deref().map(exhausted),
        (LoadModel::Open, _, _) => None,
    };
    let pages = &case.pages;
    let facts = [
        ("limit", limit.or_else(|| not_known(case))),
        ("kept up", case.kept_up.map(kept_up)),
        ("requests in flight", case.in_flight.map(in_flight)),
        ("1 million requests", cpu_ns_per_million(case).map(cpu_time)),
        ("pages", (!pages.first.is_empty()).then(|| list_of(pages))),
    ];
    facts.into_iter().filter_map(|(what, known)| Some((what, known?))).collect()
}

/// The evidence of some rows, one line per row, for the details on a terminal.
pub fn details(cases: &[&CaseSummary]) -> Vec<String> {
    let line = |case: &&CaseSummary| {
        // The page has a table of them.
        let agents = (!case.agents.is_empty()).then(|| ("agents", agents(&case.agents)));
        let facts = of_case(case).into_iter().chain(agents);
        let facts = facts.map(|(what, known)| format!("{what}: {known}"));
        let facts: Vec<String> = facts.collect();
        (!facts.is_empty()).then(|| format!("{}: {}", case.runtime, facts.join("; ")))
    };
    cases.iter().filter(|case| case.trials_counted > 0).filter_map(line).collect()
}

fn not_known(case: &CaseSummary) -> Option<String> {
    (case.model == LoadModel::Closed).then(|| "not known".to_owned())
}

/// A lower bound in words: `at least 8 213 /s: nothing in the stack was exhausted`.
pub fn at_least(bound: LowerBound, per_second: f64) -> String {
    let why = match bound {
        LowerBound::NothingExhausted => "nothing in the stack was exhausted",
        LowerBound::Generator => "the load generator was at its limit",
    };
    format!("at least {} /s: {why}", words::rate(per_second))
}

/// The exhausted resources in words: `98 % of its CPU`. Several form a list.
pub fn exhausted(all: &[Exhausted]) -> String {
    match all {
        [] => "none was reached".to_owned(),
        all => words::list(&all.iter().map(exhausted_text).collect::<Vec<String>>()),
    }
}

fn exhausted_text(one: &Exhausted) -> String {
    let percent = |share: &f64| format!("{:.0} %", share * 100.0);
    match one {
        Exhausted::Generator { busy_share } => {
            format!("the load generator: {} busy", percent(busy_share))
        }
        Exhausted::Memory { .. } => memory(one),
        Exhausted::WebServer { program, lines } => {
            let times = if *lines == 1 {
                "once".to_owned()
            } else {
                format!("{} times", words::count(*lines))
            };
            format!("the connections of the web server: {program} said so {times}")
        }
        Exhausted::ListenQueue { listener, backlog, drops } => {
            let whose = if listener.is_empty() { String::new() } else { format!(" of {listener}") };
            let room = match backlog {
                0 => String::new(),
                backlog => format!(" (listen backlog {})", words::count((*backlog).into())),
            };
            let drops = match drops {
                0 => String::new(),
                drops => format!(", {} connections dropped", words::count(*drops)),
            };
            format!("a listen queue{whose}{room}{drops}")
        }
        Exhausted::Quota { share } => {
            format!("its CPU quota: throttled {} of the time", percent(share))
        }
        Exhausted::Database { share, cpus } => {
            format!("the database: {} of {}", percent(share), cpus.in_words())
        }
        Exhausted::Workers { workers: 1, share } => {
            format!("its only worker: busy in {} of the samples", percent(share))
        }
        Exhausted::Workers { workers, share } => {
            let workers = words::count((*workers).into());
            format!("all {workers} workers: busy in {} of the samples", percent(share))
        }
        Exhausted::Thread { role, share } => {
            format!("one thread of {role}: {} busy", percent(share))
        }
        Exhausted::Cpu { share, cpus } => {
            format!("{} of {}", percent(share), cpus.its())
        }
        Exhausted::RoleCpu { role, share, cpus } => {
            format!("{} of {} for {role}", percent(share), cpus.its())
        }
        Exhausted::CpuTaken { share, cpus } => format!(
            "{}: the stack got {}, other programs used the rest",
            cpus.its(),
            percent(share)
        ),
    }
}

fn memory(one: &Exhausted) -> String {
    let Exhausted::Memory { used_bytes, limit_bytes, kills } = one else { return String::new() };
    let of = match limit_bytes {
        0 => String::new(),
        limit => {
            format!(": {} of {}", words::bytes(*used_bytes as f64), words::bytes(*limit as f64))
        }
    };
    let ended = match kills {
        0 => String::new(),
        1 => ", the kernel ended 1 process".to_owned(),
        kills => format!(", the kernel ended {} processes", words::count(*kills)),
    };
    format!("its memory{of}{ended}")
}

/// `yes`, or `no: it answered 148.2 of 200.0 requests/s; 50 requests in flight at the half, …`.
pub fn kept_up(kept_up: KeptUp) -> String {
    match kept_up {
        KeptUp::Yes => "yes".to_owned(),
        KeptUp::No { why, answered_per_second, offered_per_second } => {
            let [answered, offered] = [answered_per_second, offered_per_second].map(words::rate);
            format!("no: it answered {answered} of {offered} requests/s; {why}")
        }
        KeptUp::TooShort => "too short to tell".to_owned(),
    }
}

/// Little's law in words: `3.97 on average; expected by Little's law …`. If the two values differ too
/// much, the difference follows.
pub fn in_flight(one: InFlight) -> String {
    let [mean, expected] = [one.mean, one.expected].map(words::significant);
    let checks = match one.holds() {
        true => ": they agree".to_owned(),
        false => format!(": {:.0} % apart", (one.ratio - 1.0).abs() * 100.0),
    };
    format!("{mean} on average; expected by Little's law (rate × time) {expected}{checks}")
}

/// The agents that sent the load: `load1: 1 500 planned, 1 490 ok, 10 failed, p50 1.05 ms, busiest
/// thread 12 %, start ±41 µs · load2: …`.
pub fn agents(agents: &[AgentFigures]) -> String {
    let all: Vec<String> = agents.iter().map(|one| agent(one).join(", ")).collect();
    all.join(" · ")
}

/// What an agent did, in two parts: its requests, and what else is known of it.
pub fn agent(agent: &AgentFigures) -> [String; 2] {
    let lost = match agent.lost {
        0 => String::new(),
        1 => "LOST, ".to_owned(),
        trials => format!("LOST in {trials} trials, "),
    };
    let (planned, ok) = (words::count(agent.planned), words::count(agent.ok));
    let mut counts = format!("{}: {lost}{planned} planned, {ok} ok", foreign(&agent.name));
    for (count, what) in [(agent.failed, "failed"), (agent.dropped, "dropped")] {
        if count > 0 {
            counts += &format!(", {} {what}", words::count(count));
        }
    }
    let is_whole = agent.lost == 0;
    let figures = [
        agent.service_time_p50_ns.map(|time| format!("p50 {}", words::time(time))),
        is_whole.then(|| format!("busiest thread {}", words::percent(agent.busy_share * 100.0))),
        agent.start_error_ns.map(|error| format!("start ±{}", words::time(error as f64))),
    ];
    [counts, figures.into_iter().flatten().collect::<Vec<String>>().join(", ")]
}

/// A CPU time in ns, in the unit that fits: `12 CPU-minutes`, `3.4 CPU-hours`, `45 CPU-seconds`.
pub fn cpu_time(ns: f64) -> String {
    let seconds = ns / 1e9;
    let (value, unit) = match seconds {
        seconds if seconds < 99.5 => (seconds, "seconds"),
        seconds if seconds < 99.5 * 60.0 => (seconds / 60.0, "minutes"),
        seconds => (seconds / 3600.0, "hours"),
    };
    match value {
        value if value < 0.995 => format!("{value:.2} CPU-{unit}"),
        value if value < 9.95 => format!("{value:.1} CPU-{unit}"),
        value => format!("{} CPU-{unit}", words::count(value.round() as u64)),
    }
}

/// The measured pages: `/ "Shop" 18.9 KB, /search 7.2 KB and 4 more`. Empty: there are none.
pub fn pages(common: &CommonPages) -> String {
    some(&common.pages, common.asked)
}

fn list_of(pages: &Pages) -> String {
    some(&pages.first, pages.asked)
}

fn some(pages: &[PageRecord], asked: u64) -> String {
    let shown: Vec<String> = pages.iter().take(SHOWN).map(page).collect();
    match asked.saturating_sub(shown.len() as u64) {
        0 => shown.join(", "),
        _ if shown.is_empty() => String::new(),
        more => format!("{} and {} more", shown.join(", "), words::count(more)),
    }
}

/// One page: `/ "Shop" 18.9 KB`. A status other than 200 is added.
fn page(page: &PageRecord) -> String {
    let path = foreign(&page.path);
    if page.status == 0 {
        return format!("{path} (no answer)");
    }
    // A title that changes is no information. If the body is not an HTML page, its first line is in
    // place of a title.
    let is_told = !page.title_changes && !page.title.starts_with(['{', '[', '<']);
    let title = if is_told { foreign(&page.title).replace('"', "'") } else { String::new() };
    let title = if title.is_empty() { title } else { format!(" \"{title}\"") };
    let status = if page.status == 200 { String::new() } else { format!(" ({})", page.status) };
    let size = if page.bytes == 0 { "(empty)".to_owned() } else { size(page.bytes) };
    format!("{path}{title}{status} {size}")
}

/// Text from outside: without secrets, at most as long as a table column, and without characters
/// that control a terminal or change the writing direction.
fn foreign(text: &str) -> String {
    let text = words::cut(mask_foreign(text).trim(), MOST_LETTERS);
    let shown = |letter: char| match letter.is_control() || is_zero_width(letter) {
        true => letter.escape_unicode().to_string(),
        false => letter.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Characters without a width, including those that change the writing direction.
fn is_zero_width(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A size in thousands, as browsers show it: `18.9 KB`.
fn size(bytes: u64) -> String {
    let thousands = bytes as f64 / 1e3;
    match thousands {
        _ if bytes < 1_000 => format!("{bytes} B"),
        kb if kb < 999.95 => format!("{kb:.1} KB"),
        kb => format!("{:.1} MB", kb / 1e3),
    }
}

/// Most pages in one sentence.
const SHOWN: usize = 3;
/// Most letters of a title or a path.
const MOST_LETTERS: usize = 40;

#[cfg(test)]
mod tests {
    use stampede_model::cpus::CpuCount;
    use stampede_model::fact::Behind;

    use super::*;

    fn record(path: &str, title: &str, bytes: u64) -> PageRecord {
        let (path, title) = (path.to_owned(), title.to_owned());
        PageRecord { path, title, bytes, status: 200, ..PageRecord::default() }
    }

    #[test]
    fn pages_are_described_by_title_and_size() {
        let all = [
            record("/", "Shop", 18_940),
            record("/search", "", 7_249),
            PageRecord { status: 404, ..record("/x", "Not found", 210) },
            record("/cart", "Cart", 3_100),
        ];
        let listed = |count: usize| some(&all[..count], count as u64).replace('\u{a0}', " ");
        assert_eq!(listed(2), "/ \"Shop\" 18.9 KB, /search 7.2 KB");
        assert_eq!(
            listed(4),
            "/ \"Shop\" 18.9 KB, /search 7.2 KB, /x \"Not found\" (404) 210 B and 1 more"
        );
        assert_eq!(some(&[], 0), "");
        let none = PageRecord { status: 0, ..record("/", "", 0) };
        assert_eq!(page(&none), "/ (no answer)");
        let changes = PageRecord { title_changes: true, ..record("/", "12:31", 1_000_000) };
        assert_eq!(page(&changes), "/ 1.0 MB");
        assert_eq!(page(&record("/api", "{ \"id\": 1 }", 525)), "/api 525 B");
    }

    #[test]
    fn a_title_cannot_control_a_terminal_or_show_a_secret() {
        let title = foreign("\u{1b}[2Jhi \u{202e}evil");
        assert_eq!(title, "\\u{1b}[2Jhi \\u{202e}evil");
        assert_eq!(foreign(&"x".repeat(50)).chars().count(), 40);
        let listed = page(&record("/?token=abcdef123456", "password=hunter2hunter2", 1));
        assert!(!listed.contains("hunter2") && !listed.contains("abcdef"), "{listed}");
    }

    #[test]
    fn cpu_time_has_the_unit_that_fits() {
        let each = [0.4, 9.4, 45.0, 740.0, 2_160.0, 12_240.0].map(|s| cpu_time(s * 1e9));
        assert_eq!(
            each,
            [
                "0.40 CPU-seconds",
                "9.4 CPU-seconds",
                "45 CPU-seconds",
                "12 CPU-minutes",
                "36 CPU-minutes",
                "3.4 CPU-hours"
            ]
        );
    }

    #[test]
    fn exhausted_resources_read_as_a_phrase() {
        let all = [
            (Exhausted::Cpu { share: 0.98, cpus: CpuCount::whole(1) }, "98 % of its CPU"),
            (
                Exhausted::Workers { workers: 8, share: 1.0 },
                "all 8 workers: busy in 100 % of the samples",
            ),
            (
                Exhausted::Database { share: 0.93, cpus: CpuCount::whole(1) },
                "the database: 93 % of 1 CPU",
            ),
            (
                Exhausted::RoleCpu {
                    role: "web".to_owned(),
                    share: 0.95,
                    cpus: CpuCount::whole(2),
                },
                "95 % of its 2 CPUs for web",
            ),
            (
                Exhausted::ListenQueue { listener: "fpm.sock".to_owned(), backlog: 511, drops: 3 },
                "a listen queue of fpm.sock (listen backlog 511), 3 connections dropped",
            ),
            (
                Exhausted::Memory { used_bytes: 1 << 20, limit_bytes: 1 << 20, kills: 1 },
                "its memory: 1.00 MiB of 1.00 MiB, the kernel ended 1 process",
            ),
        ];
        for (one, text) in all {
            assert_eq!(exhausted(&[one]).replace(['\u{a0}', '\u{202f}'], " "), text);
        }
        assert_eq!(exhausted(&[]), "none was reached");
        assert_eq!(
            at_least(LowerBound::NothingExhausted, 8_213.0).replace(['\u{a0}', '\u{202f}'], " "),
            "at least 8 213 /s: nothing in the stack was exhausted"
        );
    }

    #[test]
    fn littles_law_says_where_it_does_not_hold() {
        let one = InFlight { mean: 4.0, expected: 4.0, ratio: 1.0, max: 4 };
        assert_eq!(
            in_flight(one),
            "4.00 on average; expected by Little's law (rate × time) 4.00: they agree"
        );
        let off = InFlight { expected: 3.2, ratio: 1.25, ..one };
        assert_eq!(
            in_flight(off),
            "4.00 on average; expected by Little's law (rate × time) 3.20: 25 % apart"
        );
        let why = Behind::Growing { in_flight_at_half: 50, in_flight_at_end: 1_200 };
        let behind = KeptUp::No { why, answered_per_second: 148.2, offered_per_second: 200.0 };
        assert_eq!(
            kept_up(behind),
            "no: it answered 148.2 of 200.0 requests/s; 50 requests in flight at the half, 1 200 at the end"
        );
        assert_eq!(kept_up(KeptUp::TooShort), "too short to tell");
    }
}
