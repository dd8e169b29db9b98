//! Reads sizes in bytes.

use super::{Quantity, QuantityError, in_units, split_number};

/// Reads a size in bytes: `1GiB`, `512M`, `256 MB`, `1.5GiB`, `1048576`. Upper and lower case mean
/// the same. Parts of a byte are cut off.
///
/// # Errors
/// Wrong syntax, an unknown unit, less than a byte but not 0, or more than 64 bits hold.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let malformed = QuantityError::Malformed(Quantity::Size);
    let (number, unit) = split_number(text.trim());
    let unit = unit.trim_start().to_ascii_lowercase();
    let (_, bytes) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(malformed)?;
    let size = in_units(number, *bytes).ok_or(malformed)?;
    if size == 0 && number.bytes().any(|digit| matches!(digit, b'1'..=b'9')) {
        return Err(malformed);
    }
    u64::try_from(size).map_err(|_| QuantityError::TooLarge(Quantity::Size))
}

/// Reads a size as php.ini has it: a whole number of bytes, with `K`, `M` or `G` for 1024, 1024²
/// and 1024³; -1 means no limit.
///
/// # Errors
/// Another form, or more than 63 bits hold.
pub fn parse_php_size(text: &str) -> Result<i64, QuantityError> {
    let (number, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1 << 20),
        Some(b'g' | b'G') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1_i64),
    };
    let number: i64 = number.parse().map_err(|_| QuantityError::Malformed(Quantity::Size))?;
    number.checked_mul(unit).ok_or(QuantityError::TooLarge(Quantity::Size))
}

/// Units of sizes, in bytes. `M` is 1024², as in PHP, Docker and cgroups; `MB` is 10⁶.
const UNITS: [(&str, u64); 15] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("bytes", 1),
    ("b", 1),
    ("", 1),
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("1048576", 1 << 20),
            ("1GiB", 1 << 30),
            (" 512M ", 512 << 20),
            ("256 MB", 256_000_000),
            ("1.5gib", 3 << 29),
            (".5k", 512),
            ("100 bytes", 100),
            ("1.0001kB", 1_000),
            ("0", 0),
            ("0.0GiB", 0),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        let malformed = Err(QuantityError::Malformed(Quantity::Size));
        for text in ["", " ", "MB", ".", "1.2.3M", "-1", "1e3", "1 PB", "many", "1M B", "0.1B"] {
            assert_eq!(parse_size(text), malformed, "{text}");
        }
        for text in ["18446744073709551616", "16777216TiB", "99999999999999999999999999999G"] {
            assert_eq!(parse_size(text), Err(QuantityError::TooLarge(Quantity::Size)), "{text}");
        }
    }

    #[test]
    fn sizes_of_php_ini() {
        for (text, bytes) in
            [("128M", 128 << 20), ("1g", 1 << 30), ("64K", 64 << 10), ("4096", 4096), ("-1", -1)]
        {
            assert_eq!(parse_php_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "1.5M", "128MB", "128MM", "1 M", "off"] {
            let malformed = Err(QuantityError::Malformed(Quantity::Size));
            assert_eq!(parse_php_size(text), malformed, "{text}");
        }
        let too_large = Err(QuantityError::TooLarge(Quantity::Size));
        assert_eq!(parse_php_size("9999999999999G"), too_large);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (parse_size(&text), parse_php_size(&text));
        }
    }
}
