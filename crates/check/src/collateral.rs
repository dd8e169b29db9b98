//! Tells apart what a worker's end does to other requests: while a worker is replaced, requests fail
//! that did nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::analyze::{self, Deviation, PassResult};
use super::model::{CheckRequest, Finding};
use super::orders;
use super::subject::Subject;

/// Returns whether another request is to blame. While a worker is replaced, the next request may
/// fail, and so may all until one reaches the app again. A request that was sent together with a
/// `deadly` one, or right after it, may fail too.
pub fn is_collateral(
    deviation: &Deviation,
    all: &[Deviation],
    pass_result: &PassResult,
    deadly: &BTreeSet<Subject>,
) -> bool {
    let is_blamed = deviation.kind.row().may_be_collateral
        && pass_result.actual[deviation.at].status()
            != pass_result.reference[deviation.at].status();
    let own = orders::moment(&pass_result.steps, deviation.at);
    if !is_blamed || own.start == 0 && own.len() == 1 {
        return false;
    }
    if own.len() > 1 {
        let near = orders::moment(&pass_result.steps, own.start.saturating_sub(1)).start..own.end;
        return pass_result.steps[near]
            .iter()
            .map(|step| Subject::request(&step.request))
            .any(|near| near != deviation.subject && deadly.contains(&near));
    }
    let is_death =
        |at: &usize| all.iter().any(|other| other.kind.row().ends_worker && other.at == *at);
    let unreached = |at: &usize| !analyze::has_reached(pass_result, *at);
    let until_death = (0..deviation.at).rev().find(|at| is_death(at) || !unreached(at));
    let next = deviation.at.checked_sub(1).filter(is_death).is_some();
    next || (unreached(&deviation.at) && until_death.is_some_and(|at| is_death(&at)))
}

/// Removes deaths right after a request that ends a worker by itself: the worker was about to end,
/// and had begun one more request.
pub fn remove_follow_up_deaths(findings: &mut Vec<Finding>) {
    let is_death = |one: &Finding| one.kind.row().ends_worker && one.is_repeatable;
    let deadly: BTreeSet<Arc<CheckRequest>> = findings
        .iter()
        .filter(|one| is_death(one))
        .filter_map(|one| match &one.steps[..] {
            [only] => Some(only.request.clone()),
            _ => None,
        })
        .collect();
    findings.retain(|one| {
        let before = one.steps.len().checked_sub(2).map(|before| &one.steps[before].request);
        !(is_death(one) && before.is_some_and(|before| deadly.contains(before)))
    });
}
