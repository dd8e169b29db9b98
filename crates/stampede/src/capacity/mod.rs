//! The highest offered rate that a runtime bears, searched trial by trial.
//!
//! ```text
//! one user alone → many users → stats::search asks, a trial answers … → capacity.json → words,
//! chart
//! ```
//! [`capacity_search`] decides and measures nothing; [`bench`] measures and decides nothing.

pub mod bench;
pub mod capacity_search;
pub mod model;
pub mod text;

use capacity_search::CapacitySearch;
pub use model::CapacityReport;
pub use text::text;

/// Searches on all runtimes, by turns in an order that the seed gives anew each time round: what
/// the machine does meanwhile meets all alike. `after` each trial what is known is shown.
///
/// # Errors
/// What measuring returns.
pub fn search<E>(
    hunts: &mut [CapacitySearch],
    seed: u64,
    mut measure: impl FnMut(usize, &capacity_search::TrialSpec) -> Result<Option<model::Point>, E>,
    mut after: impl FnMut(&[CapacitySearch]) -> Result<(), E>,
) -> Result<(), E> {
    let mut random = fastrand::Rng::with_seed(seed);
    loop {
        let mut open: Vec<usize> =
            (0..hunts.len()).filter(|index| hunts[*index].next().is_some()).collect();
        if open.is_empty() {
            return Ok(());
        }
        random.shuffle(&mut open);
        for index in open {
            let Some(mut spec) = hunts[index].next() else { continue };
            spec.left_s = hunts
                .iter()
                .filter(|capacity_search| capacity_search.next().is_some())
                .map(CapacitySearch::left_s)
                .sum();
            let Some(point) = measure(index, &spec)? else { return Ok(()) };
            hunts[index].told(&spec, point);
            after(hunts)?;
        }
    }
}
