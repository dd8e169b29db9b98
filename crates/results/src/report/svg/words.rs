//! Words at the axes and in the notes of charts. A number and its unit cannot be separated by a
//! line break.

use stampede_model::words;
pub use stampede_model::words::cut;

/// A narrow no-break space, between groups of three digits and before a unit.
const THIN: &str = "\u{202f}";

/// A figure as in the tables, with spaces that do not break.
pub fn tied(figure: &str) -> String {
    figure.replace(' ', THIN)
}

/// A short number for an axis, with no more digits than it needs.
pub fn short(value: f64) -> String {
    if value.abs() >= 1_000.0 {
        return tied(&words::count(value.abs().round() as u64));
    }
    // Three significant digits, without trailing zeros.
    let digits = if value == 0.0 { 0 } else { 2 - value.abs().log10().floor() as i32 };
    let text = format!("{value:.*}", digits.clamp(0, 9) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A short time for an axis, from µs: `0`, `500 µs`, `1.5 ms`.
pub fn micros(us: f64) -> String {
    match us {
        0.0 => "0".to_owned(),
        us if us < 1.0 => with_unit(us * 1e3, "ns"),
        us if us < 1e3 => with_unit(us, "µs"),
        us if us < 1e6 => with_unit(us / 1e3, "ms"),
        us => with_unit(us / 1e6, "s"),
    }
}

/// A short time for an axis, from ns.
pub fn nanos(ns: f64) -> String {
    micros(ns / 1e3)
}

/// A share of the budget, in per cent.
pub fn percent(percent: f64) -> String {
    with_unit(percent, "%")
}

/// A rate per second.
pub fn per_second(rate: f64) -> String {
    with_unit(rate, "/s")
}

/// An amount of memory, from MiB.
pub fn mebibytes(mib: f64) -> String {
    if mib == 0.0 { "0".to_owned() } else { with_unit(mib, "MiB") }
}

/// The name of a percentile: `p50`, `p99.9`.
pub fn percentile(percent: f64) -> String {
    let text = format!("{percent:.6}");
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Lines of at most `width` letters, wrapped between words. A longer word is cut.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, width);
        let fits = |line: &String| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut().filter(|line| fits(line)) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word),
        }
    }
    lines
}

fn with_unit(value: f64, unit: &str) -> String {
    format!("{}{THIN}{unit}", short(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_no_more_digits_than_they_need() {
        let shown = [0.0, 0.5, 2.0, 25.0, 0.125, 100.0, 1_000.0, 250_000.0].map(short);
        assert_eq!(
            shown,
            ["0", "0.5", "2", "25", "0.125", "100", "1\u{202f}000", "250\u{202f}000"]
        );
        let times = [0.0, 0.5, 500.0, 1_500.0, 11e6].map(micros);
        assert_eq!(times, ["0", "500\u{202f}ns", "500\u{202f}µs", "1.5\u{202f}ms", "11\u{202f}s"]);
        assert_eq!([50.0, 99.9, 99.99].map(percentile), ["p50", "p99.9", "p99.99"]);
    }

    #[test]
    fn lines_break_between_words_and_long_words_are_cut() {
        assert_eq!(wrapped("aa bb  cc\ndd", 5), ["aa bb", "cc dd"]);
        assert_eq!(wrapped("aaaaaaaa b", 5), ["aaaa…", "b"]);
        assert_eq!(cut("aaaa", 4), "aaaa");
    }
}
