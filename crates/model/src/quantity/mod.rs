//! Lengths of time and sizes as people write them.

mod length;
mod size;

pub use length::{LONGEST, LengthText, parse_length, parse_length_with_unit};
pub use size::{parse_php_size, parse_size};

/// A kind of quantity; its text goes on a sentence with "not".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// A length of time.
    Length,
    /// A size in bytes.
    Size,
}

impl Quantity {
    const fn name(self) -> &'static str {
        match self {
            Quantity::Length => "a length of time",
            Quantity::Size => "a size",
        }
    }

    const fn beyond(self) -> &'static str {
        match self {
            Quantity::Length => "longer than 7 days",
            Quantity::Size => "more than 16 EiB",
        }
    }
}

/// Why a text is no quantity of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// Wrong syntax, or an unknown unit.
    #[error("not {}", .0.name())]
    Malformed(Quantity),
    /// A length above [`LONGEST`], or a size that 64 bits cannot hold.
    #[error("{}", .0.beyond())]
    TooLarge(Quantity),
}

/// Splits `text` behind the number (digits and points) that it begins with.
fn split_number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// `number` (digits with at most one point) times `unit`; parts of a whole are cut off. `None`: it
/// is no such number.
fn in_units(number: &str, unit: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    if fraction.len() > DECIMALS_MAX {
        return None;
    }
    // Saturates far above all that is accepted.
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(1 << 64) };
    let whole = whole.min(1 << 64) * u128::from(unit);
    if fraction.is_empty() {
        return Some(whole);
    }
    let scale = 10_u128.pow(fraction.len() as u32);
    let fraction: u128 = fraction.parse().ok()?;
    Some(whole + fraction * u128::from(unit) / scale)
}

/// Most decimals of a number; nine are enough for nanoseconds of a second.
const DECIMALS_MAX: usize = 9;
