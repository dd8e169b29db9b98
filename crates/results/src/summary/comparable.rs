//! Determines whether all runtimes served the same app on the same PHP, as observed and not as the
//! plan asks for.

use stampede_model::fact::{Fact, Mismatch};
use stampede_model::observed::{self, ObservedRuntime};
use stampede_model::record::{TrialRecord, Validity};

use super::input::RunData;
use super::model::{CaseSummary, Group};

/// Records in the cases of a group how each differs from what most of them showed.
pub fn mark(cases: &mut [CaseSummary], group: &Group, run: &RunData) {
    let against = run.record.against.as_ref();
    let is_other = |case: &CaseSummary| {
        against.is_some_and(|against| against.version_of(&case.runtime).is_some())
    };
    // The other version of an app may answer differently, so it is compared separately.
    for version in [false, true] {
        let of_group: Vec<usize> = (0..cases.len())
            .filter(|index| cases[*index].app == group.app && cases[*index].load == group.load)
            .filter(|index| is_other(&cases[*index]) == version)
            .collect();
        mark_all(cases, of_group, run);
    }
}

fn mark_all(cases: &mut [CaseSummary], of_group: Vec<usize>, run: &RunData) {
    let own = some_only(&of_group, run, has_own_limits);
    let unlimited = some_only(&of_group, run, has_no_limits);
    let proxied = some_only(&of_group, run, is_proxied);
    let (indices, shown): (Vec<usize>, Vec<ObservedRuntime>) =
        of_group.into_iter().filter_map(|index| Some((index, shown(run, index)?))).unzip();
    for (index, found) in indices.into_iter().zip(observed::compare_observed(&shown)) {
        let case = &mut cases[index];
        case.not_comparable = found.not_comparable.into_iter().map(Fact::from).collect();
        case.asked = found.asked.into_iter().map(Fact::from).collect();
        case.forced = found.forced.into_iter().map(Fact::from).collect();
        case.kept = found.kept;
    }
    for index in own {
        cases[index].not_comparable.push(Mismatch::OwnLimits {}.into());
    }
    for index in unlimited {
        cases[index].not_comparable.push(Mismatch::LimitsMissing {}.into());
    }
    for index in proxied {
        cases[index].not_comparable.push(Mismatch::ThroughAProxy {}.into());
    }
}

/// The cases of which this holds, if it does not hold of all: what all have in common is no difference.
fn some_only(
    of_group: &[usize],
    run: &RunData,
    holds: impl Fn(&TrialRecord) -> bool,
) -> Vec<usize> {
    let is_one = |index: &usize| first_that_counts(run, *index).is_some_and(&holds);
    let some: Vec<usize> = of_group.iter().copied().filter(is_one).collect();
    if some.len() < of_group.len() { some } else { Vec::new() }
}

/// Whether requests reach it by a proxy of the container engine.
fn is_proxied(record: &TrialRecord) -> bool {
    record.runtime.containers.iter().any(|container| container.is_proxied)
}

/// Whether each of several containers had limits of its own.
fn has_own_limits(record: &TrialRecord) -> bool {
    let limits = [&record.isolation.cpu_set, &record.isolation.memory_limit];
    let within = record.runtime.containers.iter().filter(|container| !container.is_beside);
    within.count() > 1 && limits.iter().any(|by| *by == PER_SERVICE)
}

/// Whether its containers were only kept on CPUs, since the engine limits nothing.
fn has_no_limits(record: &TrialRecord) -> bool {
    !record.runtime.containers.is_empty() && record.isolation.cpu_set == "affinity"
}

/// How a record says that each container has limits of its own.
const PER_SERVICE: &str = "per-service";

/// The first trial of a case that counts.
fn first_that_counts(run: &RunData, case: usize) -> Option<&TrialRecord> {
    let of_case = run.trials.iter().map(|trial| &trial.record).filter(|one| one.case == case);
    let mut counted = of_case.filter(|record| record.verdict.judged != Validity::Invalid);
    counted.next()
}

/// What the first trial that counts showed before its load.
fn shown(run: &RunData, case: usize) -> Option<ObservedRuntime> {
    let of_case = run.trials.iter().map(|trial| &trial.record).filter(|one| one.case == case);
    let mut counted = of_case.filter(|record| record.verdict.judged != Validity::Invalid);
    counted.find_map(|record| {
        let observed = record.runtime.before.clone()?;
        let name = run.record.cases[case].runtime.clone();
        let body_bytes_mean = body_bytes_mean(record, observed.requests);
        Some(ObservedRuntime {
            name,
            given: record.runtime.given.clone(),
            observed,
            body_bytes_mean,
        })
    })
}

/// The mean size of a body in bytes. `None` with failures, because the mean would be about those.
/// Also `None` after a few passes of a list: then it depends on which requests came once more.
fn body_bytes_mean(record: &TrialRecord, requests: u64) -> Option<f64> {
    let counts = &record.load.as_ref()?.counts;
    let is_told = requests > 0 && counts.ok >= requests.saturating_mul(PASSES);
    (is_told && counts.failed_total() == 0).then(|| counts.body_bytes as f64 / counts.ok as f64)
}

/// The fewest passes. After these, an incomplete pass is at most 2 % of the requests.
const PASSES: u64 = 50;

#[cfg(test)]
mod tests {
    use stampede_model::record::ContainerRecord;

    use super::*;

    #[test]
    fn several_containers_with_limits_for_each_have_no_common_budget() {
        let record = |limit: &str, beside: &[bool]| {
            let mut record = TrialRecord::empty(1, 1, 0);
            record.isolation.memory_limit = limit.to_owned();
            let container =
                |is_beside: &bool| ContainerRecord { is_beside: *is_beside, ..Default::default() };
            record.runtime.containers = beside.iter().map(container).collect();
            record
        };
        assert!(has_own_limits(&record(PER_SERVICE, &[false, false])));
        assert!(!has_own_limits(&record("cgroup-v2", &[false, false])), "they share one");
        assert!(!has_own_limits(&record(PER_SERVICE, &[false])), "it is alone");
        assert!(!has_own_limits(&record(PER_SERVICE, &[false, true])), "a database is outside");
        let mut unlimited = record("none", &[false]);
        assert!(!has_no_limits(&unlimited));
        unlimited.isolation.cpu_set = "affinity".to_owned();
        assert!(has_no_limits(&unlimited));
        unlimited.runtime.containers.clear();
        assert!(!has_no_limits(&unlimited), "processes of this machine");
        let mut proxied = record("cgroup-v2", &[false]);
        assert!(!is_proxied(&proxied));
        proxied.runtime.containers[0].is_proxied = true;
        assert!(is_proxied(&proxied));
    }
}
