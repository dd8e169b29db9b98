//! Times as data. The histogram is HDR V2 (deflated) in base64, as in the histogram logs of a run,
//! so a second with few different times takes some hundred bytes. It is added to others without
//! being unfolded: what costs is the number of different times, not the size of a histogram.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Counter;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{COARSE_DIGITS, DIGITS, LONGEST_NS, STEP_NS, Times, recorded};

/// Times as they are written and sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedTimes {
    /// The histogram, in base64.
    hdr_v2: String,
    /// How many times were longer than an hour.
    clipped: u64,
}

/// Why packed times cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    /// They are cut off, or no histogram at all.
    #[error("this is no histogram of HDR V2 in base64")]
    Damaged,
    /// The histogram has other steps than [`Times::new`] and [`Times::coarse`], or others than the
    /// times to which it is added.
    #[error("the histogram's bounds are not those of `Times`")]
    Bounds,
}

impl PackedTimes {
    /// Packs times.
    pub fn of<C: Counter>(times: &Times<C>) -> PackedTimes {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&times.histogram, &mut bytes)
            .expect("a vector takes all bytes, and no count reaches 2^63");
        PackedTimes { hdr_v2: STANDARD.encode(bytes), clipped: times.clipped }
    }
}

/// Reads packed times. It is kept, so that a million of them need its memory once.
#[derive(Debug)]
pub struct Unpacker {
    inflate: Decompress,
    packed: Vec<u8>,
    /// Not longer than any histogram of ours: who sends one does not choose how much memory it takes.
    bytes: Box<[u8; BYTES_MAX]>,
}

impl Unpacker {
    /// A reader that has read nothing yet.
    pub fn new() -> Unpacker {
        let bytes = Box::new([0; BYTES_MAX]);
        Unpacker { inflate: Decompress::new(true), packed: Vec::new(), bytes }
    }

    /// Adds packed times to `to`, as [`Times::merge`] does.
    ///
    /// # Errors
    /// [`UnpackError`]. A part may have been added then.
    pub fn add<C: Counter>(
        &mut self,
        times: &PackedTimes,
        to: &mut Times<C>,
    ) -> Result<(), UnpackError> {
        let (digits, length) = self.unfold(times)?;
        if digits != to.histogram.sigfig() {
            return Err(UnpackError::Bounds);
        }
        let tops = tops(digits);
        let (mut rest, mut index) = (&self.bytes[HEAD_BYTES..length], 0);
        while !rest.is_empty() {
            let number = signed(&mut rest).ok_or(UnpackError::Damaged)?;
            match u64::try_from(number) {
                // A run of steps without a time.
                Err(_) | Ok(0) => {
                    let run = usize::try_from(number.unsigned_abs().max(1));
                    index = run.map_or(usize::MAX, |run| index.saturating_add(run));
                }
                Ok(count) => {
                    let top = tops.get(index).ok_or(UnpackError::Damaged)?;
                    let count = C::from_u64(count).ok_or(UnpackError::Damaged)?;
                    to.histogram.saturating_record_n(recorded(*top), count);
                    index += 1;
                }
            }
        }
        to.clipped = to.clipped.saturating_add(times.clipped);
        Ok(())
    }

    /// Inflates a histogram into `bytes`. Returns its significant digits and its length.
    fn unfold(&mut self, times: &PackedTimes) -> Result<(u8, usize), UnpackError> {
        self.packed.clear();
        self.inflate.reset(true);
        STANDARD.decode_vec(&times.hdr_v2, &mut self.packed).map_err(|_| UnpackError::Damaged)?;
        let (cookie, deflated) =
            number_of_32(&self.packed, 0).zip(self.packed.get(8..)).ok_or(UnpackError::Damaged)?;
        if cookie != COOKIE_DEFLATED {
            return Err(UnpackError::Damaged);
        }
        let to = self.bytes.as_mut_slice();
        let status = self.inflate.decompress(deflated, to, FlushDecompress::Finish);
        let length = usize::try_from(self.inflate.total_out()).unwrap_or(BYTES_MAX);
        let bytes = &self.bytes[..length];
        let head = [0, 4, 8, 12].map(|at| number_of_32(bytes, at));
        let bounds = [16, 24, 32].map(|at| number_of_64(bytes, at));
        let [Some(COOKIE), Some(given), Some(offset), Some(digits)] = head else {
            return Err(UnpackError::Damaged);
        };
        if !matches!(status, Ok(Status::StreamEnd))
            || given as usize != length.saturating_sub(HEAD_BYTES)
            || offset != 0
        {
            return Err(UnpackError::Damaged);
        }
        let digits = u8::try_from(digits).unwrap_or(u8::MAX);
        let expected = [STEP_NS, LONGEST_NS, 1_f64.to_bits()].map(Some);
        match digits {
            DIGITS | COARSE_DIGITS if bounds == expected => Ok((digits, length)),
            _ => Err(UnpackError::Bounds),
        }
    }
}

impl Default for Unpacker {
    fn default() -> Unpacker {
        Unpacker::new()
    }
}

/// The longest time of each step, by the step's index in a written histogram.
fn tops(digits: u8) -> &'static [u64] {
    static TOPS: [OnceLock<Vec<u64>>; 2] = [const { OnceLock::new() }; 2];
    let place = &TOPS[usize::from(digits == COARSE_DIGITS)];
    place.get_or_init(|| {
        let times = Times::<u64>::with_digits(digits);
        times.histogram.iter_all().map(|step| step.value_iterated_to()).collect()
    })
}

/// Takes a number off the front: LEB128 with the sign in the lowest bit, at most nine bytes.
fn signed(rest: &mut &[u8]) -> Option<i64> {
    let mut bits = 0_u64;
    for place in 0..9 {
        let (byte, more) = rest.split_first()?;
        *rest = more;
        // The ninth byte has no bit that says whether another follows.
        let is_last = place == 8 || byte & 0x80 == 0;
        let low = if place == 8 { *byte } else { byte & 0x7f };
        bits |= u64::from(low) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((bits >> 1) as i64 ^ -((bits & 1) as i64))
}

fn number_of_32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn number_of_64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Begins an HDR V2 histogram that is deflated, and one that is not.
const COOKIE_DEFLATED: u32 = 0x1c84_9314;
const COOKIE: u32 = 0x1c84_9313;
/// Cookie, length, offset, digits, bounds and ratio.
const HEAD_BYTES: usize = 40;
/// Nine bytes for each of the 27 648 steps of three digits.
const BYTES_MAX: usize = HEAD_BYTES + 9 * 27_648;

impl<C: Counter> Serialize for Times<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        PackedTimes::of(self).serialize(serializer)
    }
}

impl<'de, C: Counter> Deserialize<'de> for Times<C> {
    /// Refuses a histogram whose bounds are not those of [`Times::new`] or [`Times::coarse`].
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Times<C>, D::Error> {
        let packed = PackedTimes::deserialize(deserializer)?;
        let mut unpacker = Unpacker::new();
        let (digits, _) = unpacker.unfold(&packed).map_err(D::Error::custom)?;
        let mut times = Times::with_digits(digits);
        unpacker.add(&packed, &mut times).map_err(D::Error::custom)?;
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    fn travelled(times: &Times) -> Times {
        serde_json::from_str(&serde_json::to_string(times).unwrap()).unwrap()
    }

    fn times_of(recorded: &[(u64, u64, u32)], is_coarse: bool) -> Times {
        let mut times = if is_coarse { Times::coarse() } else { Times::new() };
        for (ns, count, shift) in recorded {
            times.record_many(ns >> shift, *count);
        }
        times
    }

    fn some_times() -> impl Strategy<Value = Vec<(u64, u64, u32)>> {
        proptest::collection::vec((any::<u64>(), 1_u64..1 << 40, 0_u32..64), 0..50)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn times_come_back_as_they_were_written(
            recorded in some_times(),
            is_coarse in any::<bool>(),
        ) {
            let times = times_of(&recorded, is_coarse);
            prop_assert_eq!(travelled(&times), times);
        }

        #[test]
        fn packed_times_are_added_as_others_are(
            there in some_times(),
            more in some_times(),
            is_coarse in any::<bool>(),
        ) {
            let (mut sum, more) = (times_of(&there, is_coarse), times_of(&more, is_coarse));
            let mut packed_sum = sum.clone();
            sum.merge(&more);
            let mut unpacker = Unpacker::new();
            unpacker.add(&PackedTimes::of(&more), &mut packed_sum).unwrap();
            prop_assert_eq!(packed_sum, sum);
        }

        /// Whatever is sent, it is read or refused.
        #[test]
        fn damaged_histograms_are_refused(
            recorded in some_times(),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut packed = PackedTimes::of(&times_of(&recorded, false));
            let mut bytes = STANDARD.decode(&packed.hdr_v2).unwrap();
            let place = place.index(bytes.len());
            bytes[place] ^= byte;
            bytes.truncate(cut.index(bytes.len()) + 1);
            packed.hdr_v2 = STANDARD.encode(bytes);
            let _ = Unpacker::new().add(&packed, &mut Times::new());
        }
    }

    /// Packs a histogram that was not made by us: its head, and what follows.
    fn packed(head: [u32; 4], bounds: [u64; 3], payload: &[u8]) -> PackedTimes {
        let mut inner: Vec<u8> = head.iter().flat_map(|number| number.to_be_bytes()).collect();
        inner.extend(bounds.iter().flat_map(|number| number.to_be_bytes()));
        inner.extend(payload);
        let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut deflated, &inner).unwrap();
        let deflated = deflated.finish().unwrap();
        let mut bytes = COOKIE_DEFLATED.to_be_bytes().to_vec();
        bytes.extend((deflated.len() as u32).to_be_bytes());
        bytes.extend(deflated);
        PackedTimes { hdr_v2: STANDARD.encode(bytes), clipped: 0 }
    }

    fn read(times: &PackedTimes) -> Result<Times, UnpackError> {
        let mut read = Times::new();
        Unpacker::new().add(times, &mut read).map(|()| read)
    }

    #[test]
    fn a_histogram_cannot_ask_for_memory_or_name_steps_that_are_not_there() {
        let bounds = [STEP_NS, LONGEST_NS, 1_f64.to_bits()];
        let three = u32::from(DIGITS);
        // One time in the first step: 1 with its sign is 2.
        let right = read(&packed([COOKIE, 1, 0, three], bounds, &[2])).unwrap();
        assert_eq!((right.len(), right.min()), (1, 32));
        for (head, bounds, payload, expected) in [
            ([COOKIE, u32::MAX, 0, three], bounds, &[2][..], UnpackError::Damaged),
            ([COOKIE, 1, 1, three], bounds, &[2], UnpackError::Damaged),
            ([COOKIE, 1, 0, 5], bounds, &[2], UnpackError::Bounds),
            ([COOKIE, 1, 0, 2], bounds, &[2], UnpackError::Bounds),
            ([COOKIE, 1, 0, three], [1, u64::MAX, bounds[2]], &[2], UnpackError::Bounds),
            // A number that does not end, and steps beyond the last one.
            ([COOKIE, 1, 0, three], bounds, &[0x80], UnpackError::Damaged),
            (
                [COOKIE, 10, 0, three],
                bounds,
                &[255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
                UnpackError::Damaged,
            ),
        ] {
            assert_eq!(read(&packed(head, bounds, payload)), Err(expected), "{head:?} {payload:?}");
        }
        // A megabyte of zeros in a kilobyte.
        let zeros = packed([COOKIE, 1 << 20, 0, three], bounds, &vec![0; 1 << 20]);
        assert!(zeros.hdr_v2.len() < 2_000);
        assert_eq!(read(&zeros), Err(UnpackError::Damaged));
    }

    #[test]
    fn a_histogram_with_other_bounds_is_refused() {
        let mut bytes = Vec::new();
        let other = Histogram::<u32>::new_with_bounds(1, LONGEST_NS, DIGITS).unwrap();
        V2DeflateSerializer::new().serialize(&other, &mut bytes).unwrap();
        let data = PackedTimes { hdr_v2: STANDARD.encode(bytes), clipped: 0 };
        let text = serde_json::to_string(&data).unwrap();
        let error = serde_json::from_str::<Times>(&text).unwrap_err();
        assert!(error.to_string().contains("bounds"), "{error}");
    }

    #[test]
    fn every_step_has_a_place() {
        assert!(BYTES_MAX >= HEAD_BYTES + 9 * tops(DIGITS).len());
        assert_eq!(tops(DIGITS).len(), Times::new().histogram.distinct_values());
        assert_eq!(tops(COARSE_DIGITS).len(), Times::coarse().histogram.distinct_values());
    }

    #[test]
    fn a_second_of_similar_times_is_short() {
        let mut times = Times::new();
        (0..10_000).for_each(|ns| times.record(1_000_000 + ns));
        let text = serde_json::to_string(&times).unwrap();
        assert!(text.len() < 500, "{}", text.len());
    }
}
