//! Detectors look for findings, one detector for each family of kinds. [`DETECTORS`] lists them all;
//! whoever looks for findings goes through that list.

pub mod answers;
pub mod kept;
pub mod state;
#[cfg(test)]
mod tests;

use self::answers::AnswerDetector;
use self::kept::KeptDetector;
use self::state::StateDetector;
use super::analyze::{Deviation, PassResult, ReferenceModel};
use super::kinds::FindingKind;

/// Looks for the findings of one family of kinds.
pub trait Detector {
    /// Returns the kinds that it finds. No other detector finds them.
    fn kinds(&self) -> &'static [FindingKind];

    /// Returns what a pass shows, in the order of the steps; of one step the most severe first.
    fn deviations(&self, pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation>;
}

/// All detectors.
pub const DETECTORS: [&dyn Detector; 3] = [&AnswerDetector, &KeptDetector, &StateDetector];

/// Returns everything that a pass shows.
pub fn deviations(pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
    DETECTORS.iter().flat_map(|detector| detector.deviations(pass_result, known)).collect()
}
