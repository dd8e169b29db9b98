//! Reads a `WriteRequest` for tests, with the code of `prost` and not our own. The integration tests
//! include this file too.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

/// A series as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadSeries {
    /// Names and values, in the order of the message.
    pub labels: Vec<(String, String)>,
    /// The bits of each value and its time in ms. Bits, because a NaN is not equal to itself.
    pub samples: Vec<(u64, i64)>,
}

impl ReadSeries {
    /// The value of a label; empty: the series has no such label.
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// The series of a request that is not compressed.
pub fn series(request: &[u8]) -> Vec<ReadSeries> {
    let request = WriteRequest::decode(request).expect("a WriteRequest");
    let read = |one: TimeSeries| ReadSeries {
        labels: one.labels.into_iter().map(|label| (label.name, label.value)).collect(),
        samples: one.samples.iter().map(|one| (one.value.to_bits(), one.timestamp)).collect(),
    };
    request.timeseries.into_iter().map(read).collect()
}
