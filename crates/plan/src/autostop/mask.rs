//! A mask of codes: digits, with `x` for any digit.

use std::fmt;

/// A mask such as `5xx`, `404`, `11x`, `xx` or `0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mask(String);

impl Mask {
    /// Parses one to three characters, each a digit or `x` in either case; `None` for anything
    /// else.
    pub fn parse(text: &str) -> Option<Mask> {
        let text = text.to_ascii_lowercase();
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'x');
        (plain && (1..=3).contains(&text.len())).then_some(Mask(text))
    }

    /// Whether `code` matches in decimal: it has as many digits, each equal to the mask's or under
    /// an `x`.
    pub fn matches(&self, code: u32) -> bool {
        let code = code.to_string();
        code.len() == self.0.len()
            && self.0.bytes().zip(code.bytes()).all(|(mask, digit)| mask == b'x' || mask == digit)
    }

    /// Whether the mask consists only of `x`.
    pub fn is_any(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'x')
    }
}

impl fmt::Display for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
