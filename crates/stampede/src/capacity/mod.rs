//! The highest offered rate that a runtime bears, searched trial by trial.
//!
//! ```text
//! one user alone → many users → stats::search asks, a trial answers … → capacity.json → words, chart
//! ```
//! [`hunt`] decides and measures nothing; [`bench`] measures and decides nothing.

pub mod bench;
pub mod hunt;
pub mod model;
pub mod text;

use hunt::Hunt;
pub use model::CapacityReport;
pub use text::text;

/// Searches on all runtimes, by turns in an order that the seed gives anew each time round: what the
/// machine does meanwhile meets all alike. `after` each trial what is known is shown.
///
/// # Errors
/// What measuring returns.
pub fn search<E>(
    hunts: &mut [Hunt],
    seed: u64,
    mut measure: impl FnMut(usize, &hunt::Shot) -> Result<Option<model::Point>, E>,
    mut after: impl FnMut(&[Hunt]) -> Result<(), E>,
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
            let Some(mut shot) = hunts[index].next() else { continue };
            shot.left_s = hunts.iter().filter(|hunt| hunt.next().is_some()).map(Hunt::left_s).sum();
            let Some(point) = measure(index, &shot)? else { return Ok(()) };
            hunts[index].told(&shot, point);
            after(hunts)?;
        }
    }
}
