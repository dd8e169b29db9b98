//! A number of CPUs, which may have a fraction: `2`, `0.5`, or `500m` as in Kubernetes.
//!
//! A whole number is that many CPUs. A fraction is a share of CPU time on the next whole number of
//! CPUs: a quota. Counted in thousandths, so that equal numbers are equal however they are written.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::words;

/// A number of CPUs in thousandths. In files it is an integer where it is whole, else a float.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuCount {
    thousandths: u32,
}

impl CpuCount {
    /// The least share of a CPU: the kernel takes no quota below 1 ms in a period of 100 ms
    /// (`min_cfs_quota_period` in `kernel/sched/core.c`).
    pub const LEAST: CpuCount = CpuCount { thousandths: 10 };

    /// The most CPUs. 8192 is the kernel's own limit (`CONFIG_NR_CPUS` on x86-64).
    pub const MOST: CpuCount = CpuCount::whole(8_192);

    /// This many CPUs.
    pub const fn whole(cpus: u32) -> CpuCount {
        CpuCount { thousandths: cpus.saturating_mul(1_000) }
    }

    /// This many thousandths of a CPU.
    pub const fn of_thousandths(thousandths: u32) -> CpuCount {
        CpuCount { thousandths }
    }

    /// Thousandths of a CPU.
    pub const fn thousandths(self) -> u32 {
        self.thousandths
    }

    /// The number as a float.
    pub fn as_f64(self) -> f64 {
        f64::from(self.thousandths) / 1_000.0
    }

    /// Whether it is zero: not known, or not decided yet.
    pub const fn is_zero(self) -> bool {
        self.thousandths == 0
    }

    /// The number if it has a fraction, and therefore is a quota.
    pub fn quota(self) -> Option<CpuCount> {
        (!self.thousandths.is_multiple_of(1_000)).then_some(self)
    }

    /// The whole number of CPUs that it needs: 2 for 1.5.
    pub const fn needed(self) -> u32 {
        self.thousandths.div_ceil(1_000)
    }

    /// `1 CPU`, `2 CPUs`, `0.5 CPU`, `1.5 CPUs`.
    pub fn in_words(self) -> String {
        let is_one_at_most = !self.is_zero() && self <= CpuCount::whole(1);
        format!("{self} CPU{}", if is_one_at_most { "" } else { "s" })
    }

    /// The same with small whole numbers spelled out: `one CPU`, `two CPUs`.
    pub fn spelled(self) -> String {
        match self.quota() {
            Some(_) => self.in_words(),
            None => words::number_of(self.needed(), "CPU"),
        }
    }

    /// `its CPU`, `its 2 CPUs`, `its 0.5 CPU`: all that a stack has.
    pub fn its(self) -> String {
        match self {
            one if one == CpuCount::whole(1) => "its CPU".to_owned(),
            other => format!("its {}", other.in_words()),
        }
    }
}

impl fmt::Display for CpuCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.thousandths / 1_000, self.thousandths % 1_000);
        match rest {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{}", format!("{rest:03}").trim_end_matches('0')),
        }
    }
}

/// Why a text is no number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuCountError {
    /// It is not a number.
    #[error("not a number of CPUs")]
    NotANumber,
    /// It is a number outside of [`CpuCount::LEAST`] to [`CpuCount::MOST`], or finer than a
    /// thousandth.
    #[error("out of range")]
    OutOfRange,
}

impl FromStr for CpuCount {
    type Err = CpuCountError;

    /// Reads `2`, `0.5` or `500m`.
    fn from_str(text: &str) -> Result<CpuCount, CpuCountError> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let (whole, fraction, thousandths_of_one) = match unsigned.strip_suffix('m') {
            Some(thousandths) => (thousandths, "", 1),
            None => {
                let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
                if fraction.is_empty() {
                    return Err(CpuCountError::NotANumber);
                }
                (whole, fraction, 1_000)
            }
        };
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return Err(CpuCountError::NotANumber);
        }
        let fraction = fraction.trim_end_matches('0');
        if unsigned != text || fraction.len() > 3 {
            return Err(CpuCountError::OutOfRange);
        }
        let out_of_range = |_| CpuCountError::OutOfRange;
        let whole: u64 = whole.parse().map_err(out_of_range)?;
        let fraction: u64 = format!("{fraction:0<3}").parse().map_err(out_of_range)?;
        let thousandths = whole.saturating_mul(thousandths_of_one).saturating_add(fraction);
        let thousandths = u32::try_from(thousandths).map_err(|_| CpuCountError::OutOfRange)?;
        let count = CpuCount { thousandths };
        match (CpuCount::LEAST..=CpuCount::MOST).contains(&count) {
            true => Ok(count),
            false => Err(CpuCountError::OutOfRange),
        }
    }
}

impl Serialize for CpuCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.quota() {
            Some(_) => serializer.serialize_f64(self.as_f64()),
            None => serializer.serialize_u32(self.needed()),
        }
    }
}

impl<'de> Deserialize<'de> for CpuCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CpuCount, D::Error> {
        let thousandths = (f64::deserialize(deserializer)? * 1_000.0).round();
        match (0.0..=f64::from(u32::MAX)).contains(&thousandths) {
            true => Ok(CpuCount { thousandths: thousandths as u32 }),
            false => Err(D::Error::custom("not a number of CPUs")),
        }
    }
}

impl JsonSchema for CpuCount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "CpuCount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn parsed(text: &str) -> Result<CpuCount, CpuCountError> {
        text.parse()
    }

    #[test]
    fn the_same_number_is_written_in_several_ways() {
        for (text, thousandths) in [
            ("2", 2_000),
            ("2000m", 2_000),
            ("2.0", 2_000),
            ("0.5", 500),
            ("0.500000", 500),
            ("500m", 500),
            ("1.25", 1_250),
            ("10m", 10),
            ("8192", 8_192_000),
        ] {
            assert_eq!(parsed(text), Ok(CpuCount::of_thousandths(thousandths)), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_differs_from_a_number_out_of_range() {
        for text in ["", "-", "m", "12x", "half", ".5", "1.", "1.5m", "1e3", "0,5", "+1", "--1"] {
            assert_eq!(parsed(text), Err(CpuCountError::NotANumber), "{text}");
        }
        let long = "9".repeat(30);
        for text in ["0", "-1", "-0.5", "0.0001", "9m", "0.0005", "1.0005", "8192.001", &long] {
            assert_eq!(parsed(text), Err(CpuCountError::OutOfRange), "{text}");
        }
    }

    #[test]
    fn a_fraction_is_a_quota_on_the_next_whole_number_of_cpus() {
        let of = |text: &str| parsed(text).expect("a number");
        assert_eq!((of("1.5").quota(), of("1.5").needed()), (Some(of("1500m")), 2));
        assert_eq!((of("0.5").quota(), of("0.5").needed()), (Some(of("500m")), 1));
        assert_eq!((of("2000m").quota(), of("2000m").needed()), (None, 2));
    }

    #[test]
    fn in_words() {
        let of = |text: &str| parsed(text).expect("a number");
        let words = ["0.5", "1", "1.5", "2"].map(|text| of(text).in_words());
        assert_eq!(words, ["0.5 CPU", "1 CPU", "1.5 CPUs", "2 CPUs"]);
        let spelled = ["0.5", "1", "2", "3"].map(|text| of(text).spelled());
        assert_eq!(spelled, ["0.5 CPU", "one CPU", "two CPUs", "3 CPUs"]);
        assert_eq!(
            ["0.5", "1", "2"].map(|text| of(text).its()),
            ["its 0.5 CPU", "its CPU", "its 2 CPUs"]
        );
    }

    #[test]
    fn a_whole_number_is_an_integer_in_files_as_before() {
        assert_eq!(serde_json::to_value(CpuCount::whole(2)).expect("JSON"), json!(2));
        let half = CpuCount::of_thousandths(500);
        assert_eq!(serde_json::to_value(half).expect("JSON"), json!(0.5));
        let read = |value| serde_json::from_value::<CpuCount>(value).ok();
        assert_eq!(read(json!(2)), Some(CpuCount::whole(2)), "by an earlier version");
        assert_eq!([read(json!(-1)), read(json!("2"))], [None, None]);
    }

    proptest! {
        #[test]
        fn every_number_survives_a_round_trip(thousandths in 10_u32..=8_192_000) {
            let count = CpuCount::of_thousandths(thousandths);
            prop_assert_eq!(parsed(&format!("{thousandths}m")), Ok(count));
            prop_assert_eq!(parsed(&count.to_string()), Ok(count));
            let text = serde_json::to_string(&count).expect("JSON");
            prop_assert_eq!(serde_json::from_str::<CpuCount>(&text).expect("a number"), count);
            prop_assert!(count.as_f64() <= f64::from(count.needed()));
            prop_assert!(f64::from(count.needed()) - count.as_f64() < 1.0);
        }
    }
}
