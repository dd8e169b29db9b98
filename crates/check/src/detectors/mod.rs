//! Detectors look for findings, one detector for each family of kinds. [`DETECTORS`] lists them all;
//! whoever looks for findings goes through that list.

pub mod answers;
pub mod growth;
pub mod kept;
pub mod state;
#[cfg(test)]
mod tests;

use stampede_plan::model::RuntimeChoice;
use stampede_stack::RuntimeError;

use self::answers::AnswerDetector;
use self::growth::GrowthDetector;
use self::kept::KeptDetector;
use self::state::StateDetector;
use super::analyze::{Deviation, PassResult, ReferenceModel};
use super::grow::GrowthOptions;
use super::harness::Harness;
use super::investigation::{Investigation, Reference};
use super::kinds::FindingKind;
use super::model::{Finding, RuntimeResult, Step};
use super::text::indented;
use super::work::Progress;

/// Looks for the findings of one family of kinds: in the passes, or by requests of its own.
pub trait Detector {
    /// Returns the kinds that it finds. No other detector finds them.
    fn kinds(&self) -> &'static [FindingKind];

    /// Returns what a pass shows, in the order of the steps; of one step the most severe first. By
    /// default a pass shows nothing.
    fn deviations(&self, _pass_result: &PassResult, _known: &ReferenceModel) -> Vec<Deviation> {
        Vec::new()
    }

    /// Sends requests of its own after the passes, and adds to `checked` what they show. By default
    /// there are none.
    ///
    /// # Errors
    /// The runtime does not start or is lost.
    fn measure(
        &self,
        _target: &Target<'_>,
        _checked: &mut RuntimeResult,
        _progress: Progress<'_>,
    ) -> Result<(), RuntimeError> {
        Ok(())
    }

    /// Sends the requests of a finding again. Returns what shows it as text; `None` if nothing does.
    /// By default the requests are sent as in a pass.
    ///
    /// # Errors
    /// The runtime or the reference does not start or is lost.
    fn reproduce(
        &self,
        harness: &Harness,
        runtime: &RuntimeChoice,
        finding: &Finding,
        reference: &mut Reference<'_>,
    ) -> Result<Option<String>, RuntimeError> {
        let deviation = Investigation::new(harness, runtime).reproduce(finding, reference)?;
        Ok(deviation.map(|one| format!("  {}\n{}", one.what, indented(&one.evidence))))
    }
}

/// A runtime whose passes are over.
pub struct Target<'a> {
    /// What starts it.
    pub harness: &'a Harness,
    /// The runtime.
    pub choice: &'a RuntimeChoice,
    /// The steps of its first pass; empty if it had none.
    pub steps: &'a [Step],
    /// How growth is measured; `None` if it is not.
    pub growth: Option<GrowthOptions>,
}

/// All detectors.
pub const DETECTORS: [&dyn Detector; 4] =
    [&AnswerDetector, &KeptDetector, &StateDetector, &GrowthDetector];

/// Returns the detector that finds a kind.
pub fn of(kind: FindingKind) -> &'static dyn Detector {
    let detector = DETECTORS.into_iter().find(|detector| detector.kinds().contains(&kind));
    detector.expect("every kind of finding has a detector")
}

/// Returns everything that a pass shows.
pub fn deviations(pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
    DETECTORS.iter().flat_map(|detector| detector.deviations(pass_result, known)).collect()
}
