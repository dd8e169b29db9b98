//! Searches for the capacity of runtimes: the highest target rate that meets the expectations.
//!
//! ```text
//! one user alone → many users → stats::search picks a rate, a trial measures it … → capacity.json
//! → text, chart
//! ```
//! [`capacity_search`] decides and does not measure; [`bench`] measures and does not decide.

pub mod bench;
pub mod capacity_search;
pub mod text;

use capacity_search::CapacitySearch;
use stampede_results::capacity::Point;
pub use text::text;

/// Searches all runtimes. Each turn measures one trial of each, in a random order from `seed`, so
/// that changes of the machine affect all of them alike. Calls `after` with the state after each
/// trial.
///
/// # Errors
/// The error of `measure` or `after`.
pub fn search<E>(
    searches: &mut [CapacitySearch],
    seed: u64,
    mut measure: impl FnMut(usize, &capacity_search::TrialSpec) -> Result<Option<Point>, E>,
    mut after: impl FnMut(&[CapacitySearch]) -> Result<(), E>,
) -> Result<(), E> {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let mut open: Vec<usize> =
            (0..searches.len()).filter(|index| searches[*index].next().is_some()).collect();
        if open.is_empty() {
            return Ok(());
        }
        random.shuffle(&mut open);
        for index in open {
            let Some(mut spec) = searches[index].next() else { continue };
            spec.left_s = searches
                .iter()
                .filter(|capacity_search| capacity_search.next().is_some())
                .map(CapacitySearch::left_s)
                .sum();
            let Some(point) = measure(index, &spec)? else { return Ok(()) };
            searches[index].add_result(&spec, point);
            after(searches)?;
        }
    }
}
