//! Files of histograms: what each agent kept on its own side, and what the coordinator wrote.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use stampede_stats::histogram::Times;

use crate::error::BenchError;

/// A histogram for each second and kind of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histograms(BTreeMap<(u64, String), Histogram<u64>>);

/// What an agent kept of a load.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its number, from 0.
    pub agent: usize,
    /// The zero of its load on its monotonic clock.
    pub zero_ns: u64,
    pub histograms: Histograms,
}

/// How two sets of histograms compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// Seconds and kinds of time, each with one histogram.
    pub histograms: usize,
    /// Those of them that differ in any count.
    pub different: usize,
    /// Times in all histograms of the first set.
    pub times: u64,
}

impl Histograms {
    /// Reads a histogram log.
    pub fn read(path: &Path) -> Result<Histograms, BenchError> {
        let bytes = read(path)?;
        Histograms::parse(&bytes).ok_or_else(|| BenchError::NotALog { path: path.to_owned() })
    }

    fn parse(bytes: &[u8]) -> Option<Histograms> {
        let mut deserializer = Deserializer::new();
        let mut all = Histograms::default();
        for entry in IntervalLogIterator::new(bytes) {
            let LogEntry::Interval(line) = entry.ok()? else { continue };
            let encoded = STANDARD.decode(line.encoded_histogram()).ok()?;
            let histogram = deserializer.deserialize(&mut encoded.as_slice()).ok()?;
            let kind = line.tag()?.as_str().to_owned();
            all.add(line.start_timestamp().as_secs(), kind, &histogram)?;
        }
        Some(all)
    }

    fn add(&mut self, second: u64, kind: String, histogram: &Histogram<u64>) -> Option<()> {
        match self.0.get_mut(&(second, kind.clone())) {
            Some(sum) => sum.add(histogram).ok(),
            None => {
                self.0.insert((second, kind), histogram.clone());
                Some(())
            }
        }
    }

    /// The sum of several.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Histograms>) -> Histograms {
        let mut sum = Histograms::default();
        for ((second, kind), histogram) in all.flat_map(|one| &one.0) {
            // All have the bounds of the first, so this cannot fail.
            let _ = sum.add(*second, kind.clone(), histogram);
        }
        sum
    }

    /// Each time of this kind multiplied by a factor.
    pub fn scaled(&self, factor: f64) -> Histograms {
        let mut all = self.clone();
        for histogram in all.0.values_mut() {
            let old = histogram.clone();
            histogram.clear();
            for bar in old.iter_recorded() {
                let value = (bar.value_iterated_to() as f64 * factor) as u64;
                histogram.saturating_record_n(value, bar.count_since_last_iteration());
            }
        }
        all
    }

    /// All seconds of this kind of time together.
    pub fn total(&self, kind: &str) -> Times {
        let of_kind = self.0.iter().filter(|((_, own), _)| own == kind);
        let mut total = Times::new();
        for times in of_kind.filter_map(|(_, histogram)| Times::from_histogram(histogram)) {
            total.merge(&times);
        }
        total
    }

    /// Compares count for count.
    pub fn compared(&self, other: &Histograms) -> Compared {
        let mut keys: Vec<&(u64, String)> = self.0.keys().chain(other.0.keys()).collect();
        keys.sort();
        keys.dedup();
        let different = keys.iter().filter(|key| self.0.get(key) != other.0.get(key)).count();
        let times = self.0.values().map(Histogram::len).sum();
        Compared { histograms: keys.len(), different, times }
    }
}

impl Kept {
    /// What the agents kept in a directory, in the order of their numbers.
    pub fn all(directory: &Path) -> Result<Vec<Kept>, BenchError> {
        let mut all = Vec::new();
        for entry in std::fs::read_dir(directory)?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "hlog") {
                all.push(Kept::read(&path)?);
            }
        }
        all.sort_by_key(|kept| kept.agent);
        Ok(all)
    }

    fn read(path: &Path) -> Result<Kept, BenchError> {
        let text = String::from_utf8_lossy(&read(path)?).into_owned();
        let Some((agent, zero_ns)) = text.lines().find_map(head) else {
            return Err(BenchError::NotALog { path: path.to_owned() });
        };
        Ok(Kept { agent, zero_ns, histograms: Histograms::read(path)? })
    }
}

/// `#[stampede: agent 1 of 2, zero at 123 ns of its monotonic clock]`
fn head(line: &str) -> Option<(usize, u64)> {
    let rest = line.strip_prefix("#[stampede: agent ")?;
    let (number, rest) = rest.split_once(" of ")?;
    let zero = rest.split_once(", zero at ")?.1.split_once(" ns ")?.0;
    let number: usize = number.parse().ok()?;
    Some((number.checked_sub(1)?, zero.parse().ok()?))
}

fn read(path: &Path) -> Result<Vec<u8>, BenchError> {
    let failed = |source| BenchError::File { path: PathBuf::from(path), source };
    std::fs::read(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[(u64, &str, &[u64])]) -> Histograms {
        let mut all = Histograms::default();
        for (second, kind, values) in lines {
            let mut times = Times::new();
            values.iter().for_each(|value| times.record(*value));
            all.add(*second, (*kind).to_owned(), times.histogram()).expect("the same bounds");
        }
        all
    }

    #[test]
    fn a_sum_has_every_count() {
        let one = log(&[(0, "service_time", &[5_000, 7_000]), (1, "service_time", &[9_000])]);
        let other = log(&[(0, "service_time", &[5_000]), (1, "schedule_lag", &[40])]);
        let sum = Histograms::sum([&one, &other].into_iter());
        assert_eq!(sum.total("service_time").len(), 4);
        let whole = log(&[
            (0, "service_time", &[5_000, 5_000, 7_000]),
            (1, "service_time", &[9_000]),
            (1, "schedule_lag", &[40]),
        ]);
        let same = Compared { histograms: 3, different: 0, times: 5 };
        assert_eq!(whole.compared(&sum), same);
    }

    #[test]
    fn one_count_in_another_second_or_place_is_found() {
        let whole = log(&[(0, "service_time", &[5_000, 7_000])]);
        let later = log(&[(0, "service_time", &[5_000]), (1, "service_time", &[7_000])]);
        assert_eq!(whole.compared(&later), Compared { histograms: 2, different: 2, times: 2 });
        let moved = log(&[(0, "service_time", &[5_000, 7_100])]);
        assert_eq!(whole.compared(&moved), Compared { histograms: 1, different: 1, times: 2 });
        let falsified = whole.scaled(1.02);
        assert_eq!(
            (falsified.compared(&whole).different, falsified.compared(&whole).times),
            (1, 2)
        );
        assert_eq!(whole.scaled(1.0), whole);
    }

    #[test]
    fn an_agents_file_says_whose_it_is() {
        let line = "#[stampede: agent 2 of 2, zero at 123 ns of its monotonic clock]";
        assert_eq!(head(line), Some((1, 123)));
        assert_eq!(
            head("#[stampede: starts and lengths in s since measuring began, values in ns]"),
            None
        );
        assert_eq!(head("#[stampede: agent 0 of 2, zero at 123 ns of its monotonic clock]"), None);
    }
}
