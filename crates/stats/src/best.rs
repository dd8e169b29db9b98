//! Finds the setting values with the largest gain from few measured points.
//!
//! Settings are optimized one after the other. A number is tried at points evenly spaced in logs.
//! Then it is tried between the best point and its neighbours, as the gain bends somewhere and is
//! flat beyond. Of words, each is tried. A value that is not distinguishable from the best counts
//! as equally good. Of those, the smaller number, or the word named first, is chosen: workers
//! without benefit cost memory.

/// The values that a setting may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Any whole number from the first to the second, 1 or more.
    Numbers(u32, u32),
    /// One of this many words.
    Words(usize),
}

/// A setting's value: the number, or the index of the word.
pub type Value = u32;

/// The gain of a point; more is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// The estimate.
    pub value: f64,
    /// The upper end of its interval; the value itself where there is none.
    pub high: f64,
}

/// A measured point.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// A value for each axis.
    pub at: Vec<Value>,
    /// `None` if the measurement failed, so that any other point is better.
    pub gain: Option<Gain>,
}

/// The search. It does no I/O: [`Tuner::next`] returns the point to measure, [`Tuner::add`] takes
/// the result.
#[derive(Clone, Debug)]
pub struct Tuner {
    axes: Vec<Axis>,
    points: Vec<Point>,
}

impl Tuner {
    /// Returns a search without any measured point.
    pub fn new(axes: Vec<Axis>) -> Tuner {
        Tuner { axes, points: Vec::new() }
    }

    /// Returns all points measured so far.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Adds a measured point.
    pub fn add(&mut self, point: Point) {
        self.points.push(point);
    }

    /// Returns the point to choose among those measured so far; `None` if none has a gain.
    pub fn best(&self) -> Option<&Point> {
        let with = || self.points.iter().filter_map(|point| Some((point, point.gain?)));
        let most = with().map(|(_, gain)| gain.value).fold(0.0, f64::max);
        with().filter(|(_, gain)| gain.high >= most).map(|(point, _)| point).min_by_key(|p| &p.at)
    }

    /// Returns the next point to measure; `None` if enough is known.
    pub fn next(&self) -> Option<Vec<Value>> {
        let mut base: Vec<Value> = self.axes.iter().map(first).collect();
        for (index, axis) in self.axes.iter().enumerate() {
            let search = self.search_of_axis(&base, index);
            let missing = match axis {
                Axis::Numbers(from, to) => number(&search, *from, *to),
                Axis::Words(words) => {
                    (0..*words as u32).find(|word| search.points.iter().all(|p| p.at[0] != *word))
                }
            };
            if let Some(value) = missing {
                base[index] = value;
                return Some(base);
            }
            // Where all values have failed, the other settings are tried with the first value.
            base[index] = search.best().map_or(base[index], |best| best.at[0]);
        }
        None
    }

    /// Returns the points that differ from `base` in this axis alone, as a search of that axis.
    fn search_of_axis(&self, base: &[Value], axis: usize) -> Tuner {
        let beside = self.points.iter().filter(|point| {
            (0..base.len()).all(|other| other == axis || point.at[other] == base[other])
        });
        let points = beside.map(|point| Point { at: vec![point.at[axis]], gain: point.gain });
        Tuner { axes: vec![self.axes[axis].clone()], points: points.collect() }
    }
}

fn first(axis: &Axis) -> Value {
    match axis {
        Axis::Numbers(from, _) => *from,
        Axis::Words(_) => 0,
    }
}

/// Returns the next number: first of those evenly spaced, then between the best and its neighbours.
fn number(search: &Tuner, from: u32, to: u32) -> Option<Value> {
    let has = |value: u32| search.points.iter().any(|point| point.at[0] == value);
    if let Some(value) = evenly_spaced(from, to).into_iter().find(|value| !has(*value)) {
        return Some(value);
    }
    let best = search.best()?.at[0];
    let mut values: Vec<u32> = search.points.iter().map(|point| point.at[0]).collect();
    values.sort_unstable();
    let below = values.iter().rev().find(|value| **value < best);
    let above = values.iter().find(|value| **value > best);
    // The smallest number that is as good is wanted, so the gap below the best comes first.
    let between = [below.map(|below| (*below, best)), above.map(|above| (best, *above))];
    between.into_iter().flatten().find_map(|(low, high)| geometric_middle(low, high))
}

/// Returns numbers from `from` to `to`; each is about [`FIRST_FACTOR_MAX`] times the one before.
fn evenly_spaced(from: u32, to: u32) -> Vec<u32> {
    let logs = (f64::from(to) / f64::from(from)).ln();
    let steps = (logs / FIRST_FACTOR_MAX.ln()).ceil().clamp(1.0, STEPS_MAX);
    let mut values: Vec<u32> = (0..=steps as u32)
        .map(|step| (f64::from(from) * (logs * f64::from(step) / steps).exp()).round() as u32)
        .collect();
    values.dedup();
    values
}

/// Returns the middle of two numbers in logs; `None` if they are close enough.
fn geometric_middle(low: u32, high: u32) -> Option<u32> {
    let middle = (f64::from(low) * f64::from(high)).sqrt().round() as u32;
    let is_near = f64::from(high) <= f64::from(low) * NEAR_FACTOR;
    (!is_near && middle > low && middle < high).then_some(middle)
}

/// Largest factor between two of the first points: it gives five points for 2 to 64.
const FIRST_FACTOR_MAX: f64 = 2.5;
/// Most steps, however wide a range is: seven points.
const STEPS_MAX: f64 = 6.0;
/// Two numbers within this factor are not worth distinguishing.
const NEAR_FACTOR: f64 = 1.3;

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches to the end; returns the chosen point and the number of points it took.
    fn run(axes: &[Axis], mut gain: impl FnMut(&[u32]) -> Option<f64>) -> (Vec<u32>, usize) {
        let mut best = Tuner::new(axes.to_vec());
        while let Some(at) = best.next() {
            // The gain is known to 5 %, like a capacity.
            let gain = gain(&at).map(|value| Gain { value, high: value * 1.05 });
            assert!(best.points().iter().all(|point| point.at != at), "{at:?} twice");
            best.add(Point { at, gain });
            assert!(best.points().len() < 40);
        }
        (best.best().unwrap().at.clone(), best.points().len())
    }

    #[test]
    fn on_a_plateau_the_smallest_number_is_chosen() {
        // Workers that sleep: the CPU is full at 20 of them.
        let (at, points) = run(&[Axis::Numbers(2, 64)], |at| Some(f64::from(at[0]).min(20.0)));
        assert!((19..=24).contains(&at[0]), "{at:?}");
        assert!(points <= 9, "{points}");
    }

    #[test]
    fn a_peak_is_found_between_the_first_points() {
        let law = crate::usl::Usl { lambda: 1.0, sigma: 0.02, kappa: 0.004 };
        let (at, points) = run(&[Axis::Numbers(1, 128)], |at| Some(law.at(f64::from(at[0]))));
        let peak = (0.98_f64 / 0.004).sqrt();
        let lost = law.at(f64::from(at[0])) / law.at(peak);
        assert!(lost > 0.95, "{at:?} gives {lost} of the best");
        assert!(points <= 12, "{points}");
    }

    #[test]
    fn a_failed_point_is_never_chosen() {
        // Memory is exhausted above 30 workers.
        let (at, _) = run(&[Axis::Numbers(2, 64)], |at| (at[0] <= 30).then(|| f64::from(at[0])));
        assert!((24..=30).contains(&at[0]), "{at:?}");
        let mut best = Tuner::new(vec![Axis::Numbers(2, 4)]);
        while let Some(at) = best.next() {
            best.add(Point { at, gain: None });
        }
        assert_eq!(best.best(), None);
    }

    #[test]
    fn a_word_must_be_better_to_be_chosen_over_one_named_before_it() {
        let axes = [Axis::Numbers(2, 8), Axis::Words(3)];
        let gain = |at: &[u32]| Some(f64::from(at[0]) * [1.0, 1.02, 1.5][at[1] as usize]);
        assert_eq!(run(&axes, gain).0, [8, 2]);
        let gain = |at: &[u32]| Some(f64::from(at[0]) * [1.0, 1.02, 0.5][at[1] as usize]);
        assert_eq!(run(&axes, gain).0, [8, 0]);
    }

    #[test]
    fn few_points_cover_a_range() {
        assert_eq!(evenly_spaced(2, 64), [2, 5, 11, 27, 64]);
        assert_eq!(evenly_spaced(1, 4), [1, 2, 4]);
        assert_eq!(evenly_spaced(7, 7), [7]);
        assert_eq!(evenly_spaced(1, 100_000).len(), 7);
    }
}
