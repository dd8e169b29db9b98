//! Formats figures for people: three significant digits and a unit.

use crate::time::Nanos;

/// A time: `5.4 µs`, `583 µs`, `3.59 ms`, `11.0 s`. Measured times have steps of 64 ns, so none is
/// printed finer than 0.1 µs.
pub fn time(ns: f64) -> String {
    match ns {
        ns if ns < 50.0 => "< 0.1 µs".to_owned(),
        ns if ns < 99.95e3 => format!("{:.1} µs", ns / 1e3),
        // 999.5 µs and more would round to `1000 µs`.
        ns if ns < 999.5e3 => format!("{} µs", significant(ns / 1e3)),
        ns if ns < 999.5e6 => format!("{} ms", significant(ns / 1e6)),
        ns => format!("{} s", significant(ns / 1e9)),
    }
}

/// An amount of memory or data: `512 KiB`, `1.24 MiB`.
pub fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{value:.0} B"),
        _ => format!("{} {}", significant(value), UNITS[unit]),
    }
}

/// A rate: `0.50`, `99.98`, `199.9`, `12 345`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 99.995 => format!("{rate:.2}"),
        rate if rate < 999.95 => format!("{rate:.1}"),
        rate => count(rate.round() as u64),
    }
}

/// A percentage that may exceed 100: `6.12 %`, `87.3 %`, `100 %`.
pub fn percent(percent: f64) -> String {
    format!("{} %", significant(percent))
}

/// A share of correct answers in percent. It is rounded down, so that only the whole is `100 %`.
pub fn share(share: f64) -> String {
    let thousandths = (share * 100_000.0 + 1e-6).floor() as u64;
    if share > 0.0 && thousandths == 0 {
        return "< 0.001 %".to_owned();
    }
    let text = format!("{}.{:03}", thousandths / 1000, thousandths % 1000);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A ratio: `1.24 ×`.
pub fn ratio(ratio: f64) -> String {
    format!("{} ×", significant(ratio))
}

/// A whole number with digits in groups of three: `12 345`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits, never an exponent: `0.01`, `3.59`, `12.3`, `583`, `12 345`.
pub fn significant(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => count(value.round().max(0.0) as u64),
    }
}

/// Joins names: `a`, `a and b`, `a, b and c`.
pub fn list(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `trial 1`, `trials 1, 2 and 3`.
pub fn number_list(noun: &str, numbers: &[u32]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("{noun}{plural} {}", list(&numbers))
}

/// A percentage without zeros that say nothing: `3 %`, `7.5 %`, `100 %`.
pub fn short_percent(percent: f64) -> String {
    let text = significant(percent);
    match text.contains('.') {
        true => format!("{} %", text.trim_end_matches('0').trim_end_matches('.')),
        false => format!("{text} %"),
    }
}

/// Kinds of failure in short form: `502 and timeout` for `http:502` and `net:timeout`.
pub fn kinds(kinds: &[String]) -> String {
    let plain = |kind: &String| kind.rsplit(':').next().unwrap_or(kind).to_owned();
    list(&kinds.iter().map(plain).collect::<Vec<_>>())
}

/// Items on one line, limited in number: `a, b and 3 more`.
pub fn some_of(items: &[impl std::fmt::Display]) -> String {
    let shown: Vec<String> = items.iter().take(SOME).map(ToString::to_string).collect();
    match items.len().saturating_sub(SOME) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The most items in one sentence. More would make it unreadable.
const SOME: usize = 6;

/// `one trial`, `two trials`, `3 trials`.
pub fn number_of(count: u32, thing: &str) -> String {
    let many = if thing.ends_with('s') { "es" } else { "s" };
    match count {
        1 => format!("one {thing}"),
        2 => format!("two {thing}{many}"),
        count => format!("{count} {thing}{many}"),
    }
}

/// `1 request`, `12 345 requests`, `2 entries`.
pub fn quantity(number: u64, thing: &str) -> String {
    match (number, thing.strip_suffix('y')) {
        (1, _) => format!("1 {thing}"),
        (_, Some(stem)) => format!("{} {stem}ies", count(number)),
        _ => format!("{} {thing}s", count(number)),
    }
}

/// The text, cut to at most `letters` characters. A cut text ends with an ellipsis.
pub fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Formats a length as people say it: `8 s`, `2 min 5 s`, `1 h 4 min`.
pub fn length(length: Nanos) -> String {
    let seconds = (length.0 + 500_000_000) / 1_000_000_000;
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Formats a rate as it was requested: `2 350`, `12.5`.
pub fn target_rate(rate: f64) -> String {
    if rate >= 100.0 && rate.fract().abs() < 1e-6 {
        return count(rate.round() as u64);
    }
    let text = format!("{rate:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The words for a number of ended processes, such as `the kernel ended 3 processes`.
pub fn killed(kills: u64) -> String {
    match kills {
        1 => "the kernel ended a process".to_owned(),
        more => format!("the kernel ended {more} processes"),
    }
}

/// The words for a memory limit, such as `: the stack has 1.00 GiB`; empty if there is no limit.
pub fn memory_limit(limit_bytes: u64) -> String {
    match limit_bytes {
        0 => String::new(),
        limit => format!(": the stack has {}", bytes(limit as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_at_most_and_the_unit_that_fits() {
        let cases = [
            (32.0, "< 0.1 µs"),
            (96.0, "0.1 µs"),
            (5_440.0, "5.4 µs"),
            (9_970.0, "10.0 µs"),
            (99_949.0, "99.9 µs"),
            (99_950.0, "100 µs"),
            (583_400.0, "583 µs"),
            (999_499.0, "999 µs"),
            (999_500.0, "1.00 ms"),
            (3_594_000.0, "3.59 ms"),
            (9_996_000.0, "10.0 ms"),
            (1_160_000_000.0, "1.16 s"),
            (11e9, "11.0 s"),
            (3_600e9, "3 600 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(time(ns), text);
        }
    }

    #[test]
    fn only_a_full_share_is_shown_as_100_percent() {
        assert_eq!(share(1.0), "100 %");
        assert_eq!(share(449_996.0 / 450_000.0), "99.999 %");
        assert_eq!(share(0.999_999_9), "99.999 %");
        assert_eq!(share(0.999), "99.9 %");
        assert_eq!(share(0.000_000_1), "< 0.001 %");
        assert_eq!(share(0.0), "0 %");
    }

    #[test]
    fn counts_rates_and_bytes() {
        assert_eq!([count(7), count(1_234), count(12_345_678)], ["7", "1 234", "12 345 678"]);
        assert_eq!(
            [rate(0.5), rate(99.98), rate(199.94), rate(12_345.4)],
            ["0.50", "99.98", "199.9", "12 345"]
        );
        assert_eq!(
            [bytes(512.0), bytes(1_300_000.0), bytes(1_073_741_824.0)],
            ["512 B", "1.24 MiB", "1.00 GiB"]
        );
        assert_eq!([percent(6.123), percent(87.31), percent(100.0)], ["6.12 %", "87.3 %", "100 %"]);
    }

    #[test]
    fn lists_read_as_english() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            [list(&names[..1]), list(&names[..2]), list(&names)],
            ["a", "a and b", "a, b and c"]
        );
    }
}
