//! The pages of a load, each asked for once a run on a start of its own. So no measured start is
//! warmed by it.

use stampede_model::event::Phase;
use stampede_model::record::{ObservedState, PageRecord, TrialRecord};
use stampede_plan::model::{LoadChoice, RequestSpec, RuntimeChoice, StartState};
use stampede_results::store::TrialDirectory;
use stampede_stack::{App, Caches, PageRequest, Readiness, Stack, StackLoss, StartPurpose};

use super::phases::Phases;
use super::{
    NotMeasured, StateBeforeLoad, Subject, TrialContext, ending, page, sessions, start,
    verify_before_load,
};

/// How the pages of loads were answered earlier in the run.
#[derive(Default)]
pub struct Looks {
    known: Vec<Look>,
}

/// What one runtime answered to one list of requests.
struct Look {
    runtime: RuntimeChoice,
    /// Where the app is in memory: its name may not be the only one.
    app: *const App,
    requests: Vec<RequestSpec>,
    pages: Vec<PageRecord>,
}

impl Looks {
    /// The pages of this subject's load; `None`: they were not asked yet.
    pub(super) fn pages(&self, subject: &Subject<'_>) -> Option<&[PageRecord]> {
        let is_same = |look: &&Look| {
            look.runtime == *subject.runtime
                && std::ptr::eq(look.app, subject.app)
                && look.requests == subject.load.requests
        };
        self.known.iter().find(is_same).map(|look| look.pages.as_slice())
    }

    /// Remembers the pages of this subject's load.
    pub(super) fn add(&mut self, subject: &Subject<'_>, pages: &[PageRecord]) {
        let without_text = |page: &PageRecord| PageRecord { text: String::new(), ..page.clone() };
        self.known.push(Look {
            runtime: subject.runtime.clone(),
            app: std::ptr::from_ref(subject.app),
            requests: subject.load.requests.clone(),
            pages: pages.iter().map(without_text).collect(),
        });
    }
}

/// What a start before the measured one has shown.
pub(super) struct LookResult {
    pub(super) first_answer_ns: u64,
    pub(super) first_request_ns: u64,
    pub(super) shown: StateBeforeLoad,
    pub(super) page: PageRequest,
}

/// Starts the runtime, verifies it, asks for the pages of this load and of the other loads that this
/// stack gets, and stops it. Pages that are known are not asked for again: before a cold start, the
/// runtime is verified in each trial, since a cold start itself may get no request.
pub(super) fn look(
    ctx: &TrialContext<'_>,
    subject: &Subject<'_>,
    looks: &mut Looks,
    record: &mut TrialRecord,
    directory: &mut TrialDirectory,
    phases: &mut Phases<'_>,
) -> Result<LookResult, NotMeasured> {
    phases.enter(Phase::Start, None);
    let caches = match ctx.begin {
        StartState::Cold => Caches::Emptied,
        StartState::Warm(_) => Caches::Kept,
    };
    let page = sessions::page_before_login(subject.app, page(subject));
    let how = (caches, Readiness::RightAnswer, StartPurpose::Asked);
    let mut stack = start(ctx, subject, page, how)?;
    record.isolation = stack.isolation();
    record.runtime = stack.record();
    phases.enter(Phase::Verify, None);
    let before = &mut record.runtime.before;
    let shown = verify_before_load(subject, stack.as_mut(), before, (&mut *looks, &mut *directory));
    let shown = shown.map_err(|error| stack.gone().map_or(error, NotMeasured::Gone));
    if shown.is_err() {
        ending::save_logs(stack.as_ref(), directory);
    }
    let (runtime, page) = (stack.record(), stack.page());
    if shown.is_ok() {
        look_at_others(subject, stack.as_mut(), looks, directory);
    }
    phases.enter(Phase::Stop, None);
    let stopped = stack.stop();
    let shown = shown?;
    stopped.map_err(StackLoss::Lost)?;
    let (first_answer_ns, first_request_ns) = (runtime.first_answer_ns, runtime.first_request_ns);
    Ok(LookResult { first_answer_ns, first_request_ns, shown, page })
}

/// Asks for the pages of the other loads. What fails is left to the trial of that load, which will look
/// by itself and say why.
fn look_at_others(
    subject: &Subject<'_>,
    stack: &mut dyn Stack,
    looks: &mut Looks,
    directory: &mut TrialDirectory,
) {
    for load in &subject.others {
        let other = Subject { load, others: Vec::new(), ..*subject };
        if looks.pages(&other).is_some() {
            continue;
        }
        let is_turned =
            subject.app.manifest.settings.login.is_some() || stack.use_page(page(&other)).is_ok();
        let mut before: Option<ObservedState> = None;
        if is_turned {
            let sinks = (&mut *looks, &mut *directory);
            drop(verify_before_load(&other, stack, &mut before, sinks));
        }
    }
}

/// The loads of a stack with other requests than `load`.
pub(super) fn others<'a>(
    load: &LoadChoice,
    of_stack: impl Iterator<Item = &'a LoadChoice>,
) -> Vec<&'a LoadChoice> {
    of_stack.filter(|other| other.requests != load.requests).collect()
}
