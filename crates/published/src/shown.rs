//! Formats published and measured values alike, in the unit of the publication.

use stampede_model::words;

use crate::comparison::CellValue;

/// A published value with all of its digits: `11 050`, `4.059`.
pub(crate) fn published(value: Option<f64>) -> String {
    let Some(value) = value else { return NOTHING.to_owned() };
    let text = value.to_string();
    let (whole, digits) = text.split_once('.').map_or((text.as_str(), None), |(w, d)| (w, Some(d)));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), words::count);
    match digits {
        Some(digits) => format!("{whole}.{digits}"),
        None => whole,
    }
}

/// A measured value with three significant digits. A share of correct answers is rounded down, so
/// that only the whole is 100.
pub(crate) fn measured(value: CellValue, is_share: bool) -> String {
    let number = |value: f64| match is_share {
        true => words::share(value / 100.0).trim_end_matches(" %").to_owned(),
        false => significant(value),
    };
    match value {
        CellValue::Exact { value, .. } => number(value),
        CellValue::AtLeast { value } => format!("≥ {}", number(value)),
        CellValue::Failed => "failed".to_owned(),
        CellValue::None => NOTHING.to_owned(),
    }
}

/// A ratio: `1.24 ×`.
pub(crate) fn ratio(ratio: Option<f64>, value: CellValue) -> String {
    match (ratio, value) {
        (None, _) => NOTHING.to_owned(),
        (Some(ratio), CellValue::AtLeast { .. }) => format!("≥ {} ×", significant(ratio)),
        (Some(ratio), _) => format!("{} ×", significant(ratio)),
    }
}

/// Three significant digits, also of small values: `0.00123`, `0.123`, `3.59`, `583`, `12 345`.
pub(crate) fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() >= 0.9995 {
        return words::significant(value);
    }
    // The number of zeros after the point, and three digits; below 1e-6 zeros say nothing more.
    // A value that would be rounded up to the next power of ten has a zero less.
    let rounded = value.abs() * 1.0005;
    let zeros = (-rounded.log10()).floor().clamp(0.0, 6.0) as usize;
    format!("{value:.*}", zeros + 3)
}

/// Tau with two digits and a real minus: `0.80`, `−0.20`.
pub(crate) fn tau(tau: f64) -> String {
    let text = format!("{tau:.2}");
    match text.strip_prefix('-') {
        Some("0.00") => "0.00".to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// What stands for a value that does not exist.
pub(crate) const NOTHING: &str = "—";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values_keep_their_digits() {
        let shown = |value| published(Some(value));
        assert_eq!(shown(11050.0), "11 050");
        assert_eq!(shown(4.059), "4.059");
        assert_eq!(shown(99.996), "99.996");
        assert_eq!(shown(1083.875), "1 083.875");
        assert_eq!(shown(0.0), "0");
        assert_eq!(published(None), "—");
    }

    #[test]
    fn measured_values_have_three_digits() {
        let shown = |value| measured(CellValue::Exact { value, interval: None }, false);
        assert_eq!(shown(0.001234), "0.00123");
        assert_eq!(shown(0.5), "0.500");
        assert_eq!([shown(0.099_999_99), shown(0.1), shown(0.0994)], ["0.100", "0.100", "0.0994"]);
        assert_eq!(shown(0.99949), "0.999");
        assert_eq!(shown(0.9999), "1.00");
        assert_eq!(shown(3.594), "3.59");
        assert_eq!(shown(12345.0), "12 345");
        assert_eq!(shown(0.0), "0");
        let share = CellValue::Exact { value: 99.9999, interval: None };
        assert_eq!(measured(share, true), "99.999", "only the whole is 100");
        assert_eq!(measured(CellValue::AtLeast { value: 9.0 }, false), "≥ 9.00");
        assert_eq!(ratio(Some(0.00417), CellValue::None), "0.00417 ×");
        assert_eq!([tau(-0.2), tau(-0.0001), tau(1.0)], ["−0.20", "0.00", "1.00"]);
    }
}
