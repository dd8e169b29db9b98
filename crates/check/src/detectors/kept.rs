//! Finds data of users that a worker keeps after the request.

use super::Detector;
use crate::analyze::{
    Deviation, PassResult, ReferenceModel, ServedTurn, name, served_alone, user_name,
};
use crate::kinds::FindingKind;
use crate::model::Step;
use crate::signs::Signs;
use crate::subject::Subject;
use crate::users;

/// Looks for users' tokens among what the watch found in the workers after each request.
pub struct KeptDetector;

impl Detector for KeptDetector {
    fn kinds(&self) -> &'static [FindingKind] {
        &[FindingKind::Kept]
    }

    fn deviations(&self, pass_result: &PassResult, known: &ReferenceModel) -> Vec<Deviation> {
        let all = served_alone(pass_result).into_iter();
        all.flat_map(|(at, step, served)| kept_tokens(known, step, &served, at)).collect()
    }
}

/// A superglobal that Octane's RoadRunner client keeps, and replaces completely at the next
/// request: no user ever sees its old content.
const REPLACED_BY_EACH_REQUEST: &str = "$_SERVER";

fn kept_tokens(
    known: &ReferenceModel,
    step: &Step,
    served: &ServedTurn<'_>,
    at: usize,
) -> Vec<Deviation> {
    let mut all: Vec<Deviation> = Vec::new();
    let held = served.turn.held.iter().filter(|held| held.place != REPLACED_BY_EACH_REQUEST);
    for held in held {
        let owner = users::owner(known.seed, known.users, &held.token);
        let Some((user, token_place)) = owner else { continue };
        let subject = Subject::Kept { place: held.place.clone() };
        if all.iter().any(|deviation| deviation.subject == subject) {
            continue;
        }
        all.push(Deviation {
            kind: FindingKind::Kept,
            subject,
            what: format!(
                "after {} the worker keeps what belongs to {} in {}",
                name(&step.request),
                user_name(user),
                held.place
            ),
            evidence: format!("  {}: the {}, `{}`", held.place, token_place.words(), held.token),
            signs: Signs::new(),
            at,
        });
    }
    all
}
