//! Times as data. The histogram is HDR V2 (deflated) in base64, as in the histogram logs of a run,
//! so a second with few different times takes some hundred bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{
    Deserializer as HdrDeserializer, Serializer as _, V2DeflateSerializer,
};
use hdrhistogram::{Counter, Histogram};
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{COARSE_DIGITS, DIGITS, LONGEST_NS, STEP_NS, Times};

/// What is written.
#[derive(Serialize, Deserialize)]
struct TimesData {
    /// The histogram, in base64.
    hdr_v2: String,
    /// How many times were longer than an hour.
    clipped: u64,
}

impl<C: Counter> Serialize for Times<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.histogram, &mut bytes)
            .map_err(S::Error::custom)?;
        TimesData { hdr_v2: STANDARD.encode(bytes), clipped: self.clipped }.serialize(serializer)
    }
}

impl<'de, C: Counter> Deserialize<'de> for Times<C> {
    /// Refuses a histogram whose bounds are not those of [`Times::new`] or [`Times::coarse`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Times<C>, D::Error> {
        let TimesData { hdr_v2, clipped } = TimesData::deserialize(deserializer)?;
        let bytes = STANDARD.decode(hdr_v2).map_err(D::Error::custom)?;
        let read = HdrDeserializer::new().deserialize(&mut bytes.as_slice());
        let read: Histogram<C> = read.map_err(D::Error::custom)?;
        let mut times = match (read.low(), read.high(), read.sigfig()) {
            (STEP_NS, LONGEST_NS, digits @ (DIGITS | COARSE_DIGITS)) => Times::with_digits(digits),
            _ => return Err(D::Error::custom("the histogram's bounds are not those of `Times`")),
        };
        times.histogram.add(&read).map_err(D::Error::custom)?;
        times.clipped = clipped;
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn travelled(times: &Times) -> Times {
        serde_json::from_str(&serde_json::to_string(times).unwrap()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn times_come_back_as_they_were_written(
            recorded in proptest::collection::vec((any::<u64>(), 1_u64..1 << 40, 0_u32..64), 0..50),
            is_coarse in any::<bool>(),
        ) {
            let mut times = if is_coarse { Times::coarse() } else { Times::new() };
            for (ns, count, shift) in recorded {
                times.record_many(ns >> shift, count);
            }
            prop_assert_eq!(travelled(&times), times);
        }
    }

    #[test]
    fn a_histogram_with_other_bounds_is_refused() {
        let mut bytes = Vec::new();
        let other = Histogram::<u32>::new_with_bounds(1, LONGEST_NS, DIGITS).unwrap();
        V2DeflateSerializer::new().serialize(&other, &mut bytes).unwrap();
        let data = TimesData { hdr_v2: STANDARD.encode(bytes), clipped: 0 };
        let text = serde_json::to_string(&data).unwrap();
        let error = serde_json::from_str::<Times>(&text).unwrap_err();
        assert!(error.to_string().contains("bounds"), "{error}");
    }

    #[test]
    fn a_second_of_similar_times_is_short() {
        let mut times = Times::new();
        (0..10_000).for_each(|ns| times.record(1_000_000 + ns));
        let text = serde_json::to_string(&times).unwrap();
        assert!(text.len() < 500, "{}", text.len());
    }
}
