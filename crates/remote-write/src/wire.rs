//! The bytes of a `WriteRequest`. Four messages of protobuf with seven fields need no code generator.
//!
//! Source: the remote write specification 1.0, and the wire format of Protocol Buffers.
//!
//! ```text
//! WriteRequest { repeated TimeSeries timeseries = 1 }
//! TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2 }
//! Label        { string name = 1; string value = 2 }
//! Sample       { double value = 1; int64 timestamp = 2 }
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

/// The value that ends a series: a NaN with these bits (`StaleNaN` in Prometheus' `model/value`).
pub const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// A series: its labels, already as bytes of a `TimeSeries`.
#[derive(Clone, Debug)]
pub struct Series {
    /// Number of the series in this process.
    pub id: u32,
    labels: Arc<[u8]>,
}

impl Series {
    /// A series with these names and values. The specification wants the labels in the order of
    /// their names, each once; an empty value means the same as no label.
    pub fn new(id: u32, labels: &BTreeMap<&str, &str>) -> Series {
        let mut bytes = Vec::new();
        for (name, value) in labels.iter().filter(|(_, value)| !value.is_empty()) {
            let mut label = Vec::new();
            put_bytes(&mut label, 1, name.as_bytes());
            put_bytes(&mut label, 2, value.as_bytes());
            put_bytes(&mut bytes, 1, &label);
        }
        Series { id, labels: bytes.into() }
    }
}

/// One value of a series.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The series.
    pub series: Series,
    /// The value; [`STALE`] ends the series.
    pub value: f64,
    /// Milliseconds since the start of 1970, UTC.
    pub at_ms: i64,
}

/// The bytes of one `WriteRequest` with these samples, before compression. The samples of a series
/// keep their order, which has to be that of time.
pub fn write_request<'a>(samples: impl IntoIterator<Item = &'a Sample>) -> Vec<u8> {
    let mut all: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
    for sample in samples {
        let series = &sample.series;
        let bytes = all.entry(series.id).or_insert_with(|| series.labels.to_vec());
        put_bytes(bytes, 2, &sample_bytes(sample));
    }
    let mut request = Vec::new();
    for series in all.values() {
        put_bytes(&mut request, 1, series);
    }
    request
}

fn sample_bytes(sample: &Sample) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(16);
    put_varint(&mut bytes, 1 << 3 | FIXED64);
    bytes.extend_from_slice(&sample.value.to_bits().to_le_bytes());
    put_varint(&mut bytes, 2 << 3 | VARINT);
    // An int64 is the varint of its two's complement.
    put_varint(&mut bytes, sample.at_ms.cast_unsigned());
    bytes
}

fn put_bytes(to: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    put_varint(to, field << 3 | LENGTH);
    put_varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first; the top bit says that more follow.
fn put_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Types of the wire format.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read_back;

    /// A sample of the series with these labels.
    fn sample(id: u32, labels: &[(&str, &str)], value: f64, at_ms: i64) -> Sample {
        let labels = labels.iter().copied().collect();
        Sample { series: Series::new(id, &labels), value, at_ms }
    }

    #[test]
    fn the_bytes_are_those_worked_out_by_hand() {
        let one = sample(0, &[("a", "b"), ("__name__", "x"), ("none", "")], 1.5, 300);
        // Labels: 0a 0d = field 1, 13 bytes: 0a 08 `__name__` 12 01 `x`; then 0a 06: `a`, `b`.
        // Sample: 12 0c = field 2, 12 bytes: 09 and 1.5 (0x3ff8…, low byte first), 10 and 300.
        let expected = [
            &[0x0a, 0x25][..],
            &[0x0a, 0x0d, 0x0a, 0x08],
            b"__name__",
            &[0x12, 0x01, b'x', 0x0a, 0x06, 0x0a, 0x01, b'a', 0x12, 0x01, b'b'],
            &[0x12, 0x0c, 0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x10, 0xac, 0x02],
        ];
        assert_eq!(write_request([&one]), expected.concat());
    }

    proptest! {
        #[test]
        fn other_code_reads_what_was_written(
            samples in prop::collection::vec((0_usize..4, any::<u64>(), any::<i64>()), 0..50),
            texts in prop::collection::vec(("[a-z_]{1,9}", ".{0,200}"), 4),
        ) {
            let labels = |id: usize| {
                let number = id.to_string();
                let labels = [("id", number.as_str()), (&texts[id].0, &texts[id].1)];
                labels.into_iter().collect::<BTreeMap<_, _>>()
                    .into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>()
            };
            let all: Vec<Sample> = samples.iter().map(|&(id, bits, at_ms)| {
                let labels = labels(id);
                let labels = labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let series = Series::new(id as u32, &labels.collect());
                Sample { series, value: f64::from_bits(bits), at_ms }
            }).collect();
            let read = read_back::series(&write_request(&all));
            let ids: std::collections::BTreeSet<usize> = samples.iter().map(|one| one.0).collect();
            prop_assert_eq!(read.len(), ids.len());
            for (series, id) in read.iter().zip(ids) {
                prop_assert_eq!(&series.labels, &labels(id));
                let own = samples.iter().filter(|one| one.0 == id);
                let own: Vec<(u64, i64)> = own.map(|&(_, bits, at)| (bits, at)).collect();
                prop_assert_eq!(&series.samples, &own);
            }
        }
    }
}
