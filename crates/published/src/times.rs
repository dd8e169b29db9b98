//! Reads how many times more a claim says: `~2`, `>10`, `<0.5`, `2-3`, `2.5`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The range of ratios that a claim allows. An end that is `None` is open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Times {
    /// The least ratio.
    pub least: Option<f64>,
    /// The greatest ratio.
    pub most: Option<f64>,
}

/// How far from an `about` value a ratio may lie. A quarter keeps `~2` apart from 1.5 and from 3,
/// which an author would have written as such.
const ABOUT: f64 = 0.25;

impl Times {
    /// Reads a claim's `times`. `None`: it has none of the forms.
    ///
    /// `~2` is 2 ± 25 %; `>10` and `<10` are bounds; `2-3` is a range; `2.5` is a rounded number:
    /// half a unit of its last digit to either side.
    pub fn parse(text: &str) -> Option<Times> {
        let text = text.trim();
        let range = |least: f64, most: f64| Times { least: Some(least), most: Some(most) };
        if let Some(rest) = text.strip_prefix('~') {
            let value = positive(rest)?;
            return Some(range(value * (1.0 - ABOUT), value * (1.0 + ABOUT)));
        }
        if let Some(rest) = text.strip_prefix('>') {
            return Some(Times { least: Some(positive(rest)?), most: None });
        }
        if let Some(rest) = text.strip_prefix('<') {
            return Some(Times { least: None, most: Some(positive(rest)?) });
        }
        if let Some((least, most)) = text.split_once('-') {
            let (least, most) = (positive(least)?, positive(most)?);
            return (least <= most).then(|| range(least, most));
        }
        let value = positive(text)?;
        let decimals = text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let half = 0.5 * 10.0_f64.powi(-i32::try_from(decimals).ok()?);
        Some(range((value - half).max(0.0), value + half))
    }
}

fn positive(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|value: &f64| plain && *value > 0.0 && value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(text: &str) -> Option<(Option<f64>, Option<f64>)> {
        Times::parse(text).map(|times| (times.least, times.most))
    }

    #[test]
    fn each_form_has_its_range() {
        assert_eq!(ends("~2"), Some((Some(1.5), Some(2.5))));
        assert_eq!(ends(">10"), Some((Some(10.0), None)));
        assert_eq!(ends("< 0.5"), Some((None, Some(0.5))));
        assert_eq!(ends("2-3"), Some((Some(2.0), Some(3.0))));
        assert_eq!(ends("2"), Some((Some(1.5), Some(2.5))));
        assert_eq!(ends("2.5"), Some((Some(2.45), Some(2.55))));
    }

    #[test]
    fn anything_else_is_none() {
        for wrong in ["", "~", "about 2", ">", "-2", "3-2", "2x", "0", "~0", "inf", "1e3", ">=2"] {
            assert_eq!(ends(wrong), None, "{wrong}");
        }
    }
}
