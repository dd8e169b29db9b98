//! Reads the criteria of the section `autostop`.

use super::{Unsupported, pass_over};
use crate::autostop::{Autostop, AutostopError, Problem, UnsupportedMask};
use crate::error::{Help, Mistake, Place, PlanError};
use crate::tank_keys::{NO_MONITORING, NO_TAG};
use crate::tree::{Node, shortened};
use crate::value::{entries, texts};

/// A criterion that ends the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// The criterion as Tank writes it: `time(1s,10s)`.
    pub text: String,
    place: Place,
}

impl Criterion {
    /// The error that this criterion does not fit the load, at its place. `None`: `unfit` is about
    /// another criterion.
    pub fn misfit(&self, unfit: &UnsupportedMask) -> Option<PlanError> {
        const TODO: &str = "add `--status 200` to `--tank`: the criterion must cover all correct \
                            statuses or none";
        let criteria = Autostop::parse(&self.text).ok()?.to_string();
        let is_this = criteria == unfit.criterion;
        is_this.then(|| self.place.wrong(Mistake::refused(unfit.clone()), Help::todo(TODO)))
    }
}

/// The criteria of the section. What cannot be judged here goes into `unsupported`.
pub(super) fn autostop(
    node: &Node,
    unsupported: &mut Vec<Unsupported>,
) -> Result<Vec<Criterion>, PlanError> {
    const EXPECTED: &str = "criteria such as `time(1s,10s)`";
    let mut criteria = Vec::new();
    for (key, value) in entries(node, "`autostop: {autostop: […]}`")? {
        match key.text().unwrap_or_default() {
            "autostop" => {
                for text in texts(value, EXPECTED)? {
                    criteria.extend(criteria_in(text, unsupported)?);
                }
            }
            "enabled" | "package" => {}
            _ => pass_over(unsupported, "autostop.", key, "the summary says why a load ended"),
        }
    }
    Ok(criteria)
}

/// The criteria in a text that can be judged here. Tank's others go into `unsupported`.
fn criteria_in(
    node: &Node,
    unsupported: &mut Vec<Unsupported>,
) -> Result<Vec<Criterion>, PlanError> {
    let mut criteria = Vec::new();
    let mut at = 0;
    for text in node.text().unwrap_or_default().split_inclusive(')') {
        let lead = text.len() - text.trim_start_matches(BETWEEN).len();
        let written = text.trim_matches(BETWEEN);
        match Autostop::parse(text) {
            Ok(_) => {
                let place = node.inside(at + lead, written.len());
                criteria.push(Criterion { text: written.to_owned(), place });
            }
            Err(AutostopError { problem: Problem::Empty, .. }) => {}
            Err(error) => {
                let place = node.inside(at + error.offset, error.length);
                let why = match error.problem {
                    Problem::Monitoring { .. } => NO_MONITORING,
                    Problem::Tag => NO_TAG,
                    _ => {
                        let (expected, near) = (error.expected(), error.nearest());
                        let mistake = Mistake::refused(error);
                        return Err(place.wrong_name(mistake, expected, near.map(str::to_owned)));
                    }
                };
                unsupported.push(Unsupported {
                    key: shortened(written),
                    line: place.line_column().0,
                    why,
                });
            }
        }
        at += text.len();
    }
    Ok(criteria)
}

/// Characters that separate criteria.
const BETWEEN: [char; 5] = [' ', ',', '\n', '\r', '\t'];
