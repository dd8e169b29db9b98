//! Parses and prints lengths of time as people write them: `540s`, `2m30s`, `500ms`, `1h`, `90`.

use std::fmt;

use super::{Quantity, QuantityError, in_units, split_number};
use crate::time::Nanos;

/// Longest length that is accepted. A load of more than a week is a mistake, and one bound keeps
/// every sum below far from integer overflow.
pub const LONGEST: Nanos = Nanos::from_secs(7 * 86_400);

/// Units in ns. Where one name begins with another, the longer comes first (`ms` before `m`).
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Parses a length: numbers with units (`d`, `h`, `m`, `s`, `ms`, `us`, `ns`), which are added up.
/// A number alone means seconds, as in Yandex Tank. Zero is allowed.
///
/// # Errors
/// Wrong syntax, or longer than [`LONGEST`].
pub fn parse_length(text: &str) -> Result<Nanos, QuantityError> {
    match in_units(text.trim(), Nanos::SECOND.0) {
        Some(ns) => bounded(ns),
        None => parse_length_with_unit(text),
    }
}

/// Parses a length likewise, but refuses a number alone, which may be meant in another unit.
///
/// # Errors
/// As [`parse_length`].
pub fn parse_length_with_unit(text: &str) -> Result<Nanos, QuantityError> {
    let malformed = QuantityError::Malformed(Quantity::Length);
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(malformed);
    }
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (number, after) = split_number(rest);
        let (unit_ns, after) = unit(after).ok_or(malformed)?;
        total += in_units(number, unit_ns).ok_or(malformed)?;
        rest = after;
    }
    bounded(total)
}

fn bounded(ns: u128) -> Result<Nanos, QuantityError> {
    let length = u64::try_from(ns).ok().map(Nanos).filter(|length| *length <= LONGEST);
    length.ok_or(QuantityError::TooLarge(Quantity::Length))
}

/// Prints a length so that [`parse_length`] reads it back exactly: in seconds, as published plans
/// do (`540s`), with the rest of a second in smaller units.
pub struct LengthText(pub Nanos);

impl fmt::Display for LengthText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.0;
        if rest == 0 {
            return f.write_str("0s");
        }
        for (name, ns) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)] {
            if rest >= ns {
                write!(f, "{}{name}", rest / ns)?;
                rest %= ns;
            }
        }
        Ok(())
    }
}

/// The unit that `text` begins with, in ns, and what follows it.
fn unit(text: &str) -> Option<(u64, &str)> {
    UNITS.iter().find_map(|&(name, ns)| text.strip_prefix(name).map(|rest| (ns, rest)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_as_people_write_them() {
        for (text, ns) in [
            ("540s", 540_000_000_000),
            ("2m30s", 150_000_000_000),
            ("500ms", 500_000_000),
            ("1h", 3_600_000_000_000),
            ("3h2m3s", 10_923_000_000_000),
            ("90", 90_000_000_000),
            ("0.1s", 100_000_000),
            (".5", 500_000_000),
            ("1.5m", 90_000_000_000),
            ("20us", 20_000),
            ("20µs", 20_000),
            ("7d", LONGEST.0),
            ("0", 0),
        ] {
            assert_eq!(parse_length(text), Ok(Nanos(ns)), "{text}");
        }
    }

    #[test]
    fn a_number_alone_is_refused_where_a_unit_is_needed() {
        assert_eq!(parse_length_with_unit("2m30s"), Ok(Nanos::from_secs(150)));
        for text in ["90", "0", ".5", ""] {
            let malformed = Err(QuantityError::Malformed(Quantity::Length));
            assert_eq!(parse_length_with_unit(text), malformed, "{text}");
        }
    }

    #[test]
    fn invalid_lengths_are_refused() {
        for text in
            ["", " ", "s", "5x", "5 s", "-1s", "1.2.3s", ".", "2m30", "1e3", "0.0123456789s"]
        {
            assert_eq!(
                parse_length(text),
                Err(QuantityError::Malformed(Quantity::Length)),
                "{text}"
            );
        }
        for text in ["8d", "604800001ms", "99999999999999999999999999999999999999999999s"] {
            assert_eq!(
                parse_length(text),
                Err(QuantityError::TooLarge(Quantity::Length)),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn written_lengths_read_back(ns in 0..=LONGEST.0) {
            prop_assert_eq!(parse_length(&LengthText(Nanos(ns)).to_string()), Ok(Nanos(ns)));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = parse_length(&text);
        }

        #[test]
        fn no_near_miss_panics(text in "[0-9.smhdnuµ ]{0,60}") {
            let _ = parse_length(&text);
        }
    }
}
