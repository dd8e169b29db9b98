//! The kinds of finding, with the facts about each: how severe it is, how it is judged and shown
//! again, its texts.
//!
//! A new kind is a variant and a row here, and a detector in [`crate::detectors`]. Everything else
//! asks the row, so that no other place has to learn of the kind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stampede_php::SuspectKind;

use super::subject::SubjectForm;

/// What kind of thing was found; the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// One user's data in another user's answer.
    Leak,
    /// A request ended the worker.
    Death,
    /// An answer that the reference does not give.
    Answer,
    /// A user's data that the worker keeps after the request.
    Kept,
    /// A setting of the process that a request changed for those after it.
    State,
    /// Memory, descriptors, connections or files that no request gives back.
    Growth,
}

impl FindingKind {
    /// Returns the facts about the kind.
    pub fn row(self) -> &'static Kind {
        &KINDS[self.rank()]
    }

    /// Returns the kind's place in a report: 0 for the most severe kind. It is that of its row; the
    /// order of the variants means nothing.
    pub fn rank(self) -> usize {
        let row = KINDS.iter().position(|row| row.kind == self);
        row.expect("every kind of finding has a row")
    }
}

/// The facts about a kind of finding.
#[derive(Debug)]
pub struct Kind {
    /// The kind.
    pub kind: FindingKind,
    /// Its code in JSON, also the beginning of a finding's fingerprint.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Whether a finding is dropped as chance if no fresh start shows it again. The others are too
    /// severe for that and are reported as seen.
    pub needs_confirmation: bool,
    /// Whether it says that a request ended its worker. Then requests at the same time or right
    /// after it may fail too, one more request is needed to show it again, and no growth can be
    /// measured with it.
    pub ends_worker: bool,
    /// Whether a worker that another request ended may cause the same.
    pub may_be_collateral: bool,
    /// Kinds that say more about the same subject. If one of them was found, this one is left out.
    pub implied_by: &'static [FindingKind],
    /// Whether it is harmless if workers are replaced in time (`max_requests`).
    pub is_fixed_by_recycling: bool,
    /// Whether the code that it names may also cause other findings of the same requests.
    pub names_causes: bool,
    /// The form of its subjects.
    pub subject: SubjectForm,
    /// The lines of code that can cause it.
    pub suspects: Suspects,
    /// A few words for a heading.
    pub title: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// The usual fix.
    pub fix: &'static str,
}

/// How bad a kind of finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Users see what is not theirs, or get no answer.
    Severe,
    /// Requests depend on earlier ones.
    Moderate,
    /// Workers last only for a number of requests.
    Minor,
}

/// The kinds of suspect that can cause a finding.
#[derive(Clone, Copy, Debug)]
pub enum Suspects {
    /// These, whatever the finding is about.
    Of(&'static [SuspectKind]),
    /// Those that change the state that the finding is about.
    OfState,
}

/// Code that keeps something from one request to the next.
const KEEPERS: &[SuspectKind] = &[
    SuspectKind::KeepsRequest,
    SuspectKind::StaticWritten,
    SuspectKind::StaticVariable,
    SuspectKind::Global,
    SuspectKind::Session,
];

/// The fix for code that keeps something.
const KEEP_NOTHING: &str = "keep nothing of a request in statics, globals or shared services; \
     pass it as an argument, or reset it at the request's end";

/// The facts about each kind, in the order of a report: the most severe first.
pub static KINDS: [Kind; 6] = [
    Kind {
        kind: FindingKind::Leak,
        id: "leak",
        severity: Severity::Severe,
        needs_confirmation: false,
        ends_worker: false,
        may_be_collateral: false,
        implied_by: &[],
        is_fixed_by_recycling: false,
        names_causes: false,
        subject: SubjectForm::Request,
        suspects: Suspects::Of(KEEPERS),
        title: "one user sees another's data",
        why: "the next user may see private data",
        fix: KEEP_NOTHING,
    },
    Kind {
        kind: FindingKind::Death,
        id: "death",
        severity: Severity::Severe,
        needs_confirmation: false,
        ends_worker: true,
        may_be_collateral: true,
        implied_by: &[],
        is_fixed_by_recycling: false,
        names_causes: false,
        subject: SubjectForm::Request,
        suspects: Suspects::Of(&[SuspectKind::Exit]),
        title: "a worker dies",
        why: "a new worker has to boot while clients wait, and the next request may fail",
        fix: "return an answer or throw; no exit, die or fatal error in request code",
    },
    Kind {
        kind: FindingKind::Answer,
        id: "answer",
        severity: Severity::Moderate,
        needs_confirmation: true,
        ends_worker: false,
        may_be_collateral: true,
        implied_by: &[FindingKind::Leak, FindingKind::Death],
        is_fixed_by_recycling: false,
        names_causes: false,
        subject: SubjectForm::Request,
        suspects: Suspects::Of(&[
            SuspectKind::KeepsRequest,
            SuspectKind::StaticWritten,
            SuspectKind::StaticVariable,
            SuspectKind::Global,
            SuspectKind::Header,
            SuspectKind::Output,
            SuspectKind::Superglobal,
            SuspectKind::Session,
            SuspectKind::Sapi,
            SuspectKind::Transaction,
            SuspectKind::DatabaseSession,
        ]),
        title: "another answer",
        why: "clients get another answer than under the reference",
        fix: "let the framework's request and response carry it; initialise what changes in each \
              request",
    },
    Kind {
        kind: FindingKind::Kept,
        id: "kept",
        severity: Severity::Moderate,
        needs_confirmation: true,
        ends_worker: false,
        may_be_collateral: false,
        implied_by: &[],
        is_fixed_by_recycling: false,
        names_causes: true,
        subject: SubjectForm::Place,
        suspects: Suspects::Of(KEEPERS),
        title: "a user's data stays",
        why: "any later request of the same worker may show it",
        fix: KEEP_NOTHING,
    },
    Kind {
        kind: FindingKind::State,
        id: "state",
        severity: Severity::Moderate,
        needs_confirmation: true,
        ends_worker: false,
        may_be_collateral: false,
        implied_by: &[],
        is_fixed_by_recycling: false,
        names_causes: false,
        subject: SubjectForm::State,
        suspects: Suspects::OfState,
        title: "a setting stays",
        why: "later requests behave differently, depending on who came before",
        fix: "set it once at boot, or set it back at the request's end",
    },
    Kind {
        kind: FindingKind::Growth,
        id: "growth",
        severity: Severity::Minor,
        needs_confirmation: true,
        ends_worker: false,
        may_be_collateral: false,
        implied_by: &[],
        is_fixed_by_recycling: true,
        names_causes: false,
        subject: SubjectForm::RequestOrAny,
        suspects: Suspects::Of(&[
            SuspectKind::StaticWritten,
            SuspectKind::StaticVariable,
            SuspectKind::FileHandle,
            SuspectKind::Handler,
        ]),
        title: "it grows",
        why: "the worker reaches its limit and dies, or uses up the machine's memory or files",
        fix: "bound what is kept, or let the worker be replaced in time (max_requests)",
    },
];

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
