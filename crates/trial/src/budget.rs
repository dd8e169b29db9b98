//! Checks whether a plan's budget fits into this machine, and its workers into the budget.

use stampede_keeper::Sharing;
use stampede_model::cpus::CpuCount;
use stampede_model::fact::Notice;
use stampede_model::machine::MachineFacts;
use stampede_model::words;
use stampede_plan::model::{Budget, BudgetFit, RuntimeChoice};
use stampede_plan::parts::StackPlan;
use stampede_plan::{self, Help, Subject};
use stampede_stack::RuntimeTraits;

use super::refusal::Refusal;

/// A budget that is larger than this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum OverBudget {
    /// The budget has more CPUs than the machine.
    #[error("a budget of {wanted} CPUs does not fit: this machine has {machine}")]
    Cpus {
        /// The number of CPUs that the plan asks for.
        wanted: CpuCount,
        /// The number of CPUs that this process may use.
        machine: u32,
    },
    /// The budget has more memory than the machine.
    #[error(
        "a budget of {} does not fit: this machine has {}",
        words::bytes(*wanted as f64),
        words::bytes(*machine as f64)
    )]
    Memory {
        /// Bytes that the plan asks for.
        wanted: u64,
        /// Bytes of memory of this machine.
        machine: u64,
    },
}

impl OverBudget {
    /// The notice that all of the machine is used instead.
    fn notice(self) -> Notice {
        match self {
            OverBudget::Cpus { wanted, machine } => {
                Notice::CpusTooMany { cpus: wanted, machine_cpus: machine }
            }
            OverBudget::Memory { wanted, machine } => {
                Notice::MemoryTooLarge { bytes: wanted, machine_bytes: machine }
            }
        }
    }
}

/// A fraction of a CPU that this machine cannot enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a budget of {} is a CPU quota, which cannot be set here", cpus.in_words())]
struct NoQuota {
    /// CPUs of the budget.
    cpus: CpuCount,
}

/// Fits a stack's budget into this machine. Returns the notices for the reader.
///
/// # Errors
/// The budget does not fit, and the plan does not say `or_less: true`. Or it has a fraction of a
/// CPU, and no quota can be set here.
pub fn fit(stack: &mut StackPlan, facts: &MachineFacts) -> Result<Vec<Notice>, Refusal> {
    check_quota(stack, stampede_keeper::cpu_quota_fix)?;
    let mut notices = fit_to_machine(stack, facts)?;
    if let Budget::Shared { cpus, .. } = &mut stack.budget {
        let machine = CpuCount::whole(facts.cpus_allowed.len().max(1) as u32);
        let (asked, above) = (cpus.len(), cpus.iter().filter(|count| **count > machine).copied());
        let above: Vec<CpuCount> = above.collect();
        cpus.iter_mut().for_each(|count| *count = (*count).min(machine));
        cpus.sort_unstable();
        cpus.dedup();
        if cpus.len() < asked && !above.is_empty() {
            notices.push(Notice::CpusLeftOut { asked: above });
        }
    }
    notices.extend(split_notice(&stack.budget));
    Ok(notices)
}

/// Refuses a budget with a fraction where `fix` names what keeps this machine from setting a quota.
fn check_quota(
    stack: &StackPlan,
    fix: impl FnOnce() -> Option<&'static str>,
) -> Result<(), Refusal> {
    let ours = stack.runtimes.iter().any(|choice| !choice.is_external());
    let quota = stack.budget.cpu_counts().into_iter().find_map(CpuCount::quota);
    let Some(cpus) = quota.filter(|_| ours) else { return Ok(()) };
    let Some(fix) = fix() else { return Ok(()) };
    let todo = Help::Do(format!("use a whole number of CPUs, or {fix}"));
    let subject = Subject::Budget("cpus");
    Err(Refusal::Plan(stampede_plan::refused(stack.written(), subject, NoQuota { cpus }, todo)))
}

/// The notice about what it costs if stack and load share cores or CPUs; `None`: they are apart.
pub fn sharing_notice(sharing: Sharing) -> Option<Notice> {
    match sharing {
        Sharing::Apart => None,
        Sharing::Cores => Some(Notice::CoresShared {}),
        Sharing::Cpus => Some(Notice::CpusShared {}),
    }
}

/// The notice about a budget by role: runtimes with different roles then get different resources.
fn split_notice(budget: &Budget) -> Option<Notice> {
    let Budget::ByRole { cpus, .. } = budget else { return None };
    let cpus = cpus.iter().map(|(role, count)| (role.clone(), *count)).collect();
    Some(Notice::BudgetSplit { cpus })
}

fn fit_to_machine(stack: &StackPlan, facts: &MachineFacts) -> Result<Vec<Notice>, Refusal> {
    let machine = facts.cpus_allowed.len().max(1) as u32;
    let mut lacking = Vec::new();
    for (key, wanted) in wanted(&stack.budget) {
        if wanted > CpuCount::whole(machine) {
            let why = OverBudget::Cpus { wanted, machine };
            lacking.push((key, why, format!("{machine} at most, or {OR_LESS}")));
        }
    }
    let memory = memory(&stack.budget);
    if facts.memory_bytes > 0 && memory > facts.memory_bytes {
        let machine = facts.memory_bytes;
        let why = OverBudget::Memory { wanted: memory, machine };
        let has = words::bytes(machine as f64);
        lacking.push(("memory", why, format!("{has} at most, or {OR_LESS}")));
    }
    match (lacking.first(), stack.fit) {
        (Some((key, why, expected)), BudgetFit::Exactly) => {
            let subject = Subject::Budget(key);
            Err(Refusal::Plan(stampede_plan::refused(stack.written(), subject, *why, expected)))
        }
        _ => {
            let notice = |(_, why, _): (_, OverBudget, _)| why.notice();
            Ok(lacking.into_iter().map(notice).collect())
        }
    }
}

const OR_LESS: &str = "`budget: {or_less: true}` in the plan";

/// The wanted number of CPUs, with the key that asks for it. A split budget is one sum, with the
/// load's CPUs in it.
fn wanted(budget: &Budget) -> Vec<(&'static str, CpuCount)> {
    match budget {
        Budget::Shared { cpus, .. } => cpus.iter().map(|&count| ("cpus", count)).collect(),
        Budget::ByRole { cpus, .. } => {
            let of = |role: &str| cpus.get(role).copied().unwrap_or(0);
            let key = if of("php") >= of("web") { "php" } else { "web" };
            vec![(key, CpuCount::whole(of("php") + of("web") + of("load")))]
        }
    }
}

fn memory(budget: &Budget) -> u64 {
    match budget {
        Budget::Shared { memory_bytes, .. } | Budget::ByRole { memory_bytes, .. } => *memory_bytes,
    }
}

/// Returns a notice for each runtime whose workers do not fit into the memory of the stack. Where
/// the stack has no limit, the machine's memory counts.
pub fn memory_notices(
    stack: &StackPlan,
    facts: &MachineFacts,
    traits: &[RuntimeTraits],
) -> Vec<Notice> {
    let (is_machine, memory_bytes) = match memory(&stack.budget) {
        0 if facts.memory_bytes == 0 => return Vec::new(),
        0 => (true, facts.memory_bytes),
        limit => (false, limit),
    };
    let one = |(choice, traits): (&RuntimeChoice, &RuntimeTraits)| {
        let (runtime, workers) = (choice.name.clone(), traits.workers);
        let least_bytes = BASE_BYTES + u64::from(workers) * WORKER_BYTES;
        (least_bytes > memory_bytes).then_some(Notice::Crowded {
            runtime,
            workers,
            least_bytes,
            memory_bytes,
            is_machine,
        })
    };
    let of_ours = stack.runtimes.iter().zip(traits).filter(|(choice, _)| !choice.is_external());
    of_ours.filter_map(one).collect()
}

/// Memory that all workers share, and what each worker adds once it has served a request. Measured
/// with `hello` on PHP 8.2, PHP-FPM and mod_php at 10 and 60 workers.
const BASE_BYTES: u64 = 8 << 20;
const WORKER_BYTES: u64 = 900 << 10;

#[cfg(test)]
mod tests {
    use stampede_plan::{Overrides, stack_from_flags};
    use stampede_stack::HeldBy;

    use super::*;
    use crate::comparison;

    fn stack(cpus: &str, memory: &str) -> StackPlan {
        let given = |text: &str| Some(text.to_owned());
        let flags = Overrides {
            app: given("hello"),
            runtimes: given("a"),
            cpus: given(cpus),
            memory: given(memory),
            ..Overrides::default()
        };
        stack_from_flags(&flags, None).expect("a stack")
    }

    fn machine() -> MachineFacts {
        MachineFacts { cpus_allowed: vec![0, 1], memory_bytes: 4 << 30, ..MachineFacts::default() }
    }

    fn sentences(notices: &[Notice]) -> Vec<String> {
        notices.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_budget_that_fits_causes_no_notice() {
        assert!(fit(&mut stack("1,2", "4GiB"), &machine()).expect("fits").is_empty());
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn a_budget_larger_than_the_machine_is_refused_at_its_place() {
        let refused = |cpus, memory| match fit(&mut stack(cpus, memory), &machine()) {
            Err(Refusal::Plan(error)) => error.render(stampede_plan::RenderStyle::Plain),
            other => panic!("{other:?}"),
        };
        insta::assert_snapshot!(refused("1,3", "1GiB") + &refused("1", "5GiB"));
    }

    #[test]
    fn or_less_uses_the_whole_machine_and_gives_a_notice() {
        let mut stack = StackPlan { fit: BudgetFit::OrLess, ..stack("2,3", "5GiB") };
        let said = fit(&mut stack, &machine()).expect("taken");
        assert_eq!(
            stack.budget.cpu_counts(),
            [CpuCount::whole(2)],
            "the same is not measured twice"
        );
        assert_eq!(
            sentences(&said),
            [
                "a budget of 3 CPUs does not fit: this machine has 2; all of it is used",
                "a budget of 5.00 GiB does not fit: this machine has 4.00 GiB; all of it is used",
                "CPU counts above this machine's number are skipped: 3",
            ]
        );
    }

    /// 1.5 needs two CPUs and fits; 2.5 does not fit.
    #[test]
    fn a_fraction_fits_into_the_cpus_that_it_needs() {
        assert!(fit_to_machine(&stack("1.5,500m", "1GiB"), &machine()).expect("fits").is_empty());
        assert!(fit_to_machine(&stack("2.5", "1GiB"), &machine()).is_err());
        let less = StackPlan { fit: BudgetFit::OrLess, ..stack("2.5", "1GiB") };
        assert_eq!(
            sentences(&fit_to_machine(&less, &machine()).expect("taken")),
            ["a budget of 2.5 CPUs does not fit: this machine has 2; all of it is used"]
        );
        let placements = comparison::assign_cpus(&stack("1,500m,1.5", "0")).placements;
        let quotas: Vec<Option<u32>> =
            placements.iter().map(|one| one.cpu_quota.map(CpuCount::thousandths)).collect();
        assert_eq!(quotas, [None, Some(500), Some(1_500)]);
        let budgets: Vec<String> =
            placements.iter().map(|one| one.budget_cpus().to_string()).collect();
        assert_eq!(budgets, ["1", "0.5", "1.5"]);
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn a_fraction_is_refused_where_no_quota_can_be_set() {
        let refused = |cpus| match check_quota(&stack(cpus, "1GiB"), || Some("run as root")) {
            Err(Refusal::Plan(error)) => error.render(stampede_plan::RenderStyle::Plain),
            other => panic!("{other:?}"),
        };
        insta::assert_snapshot!(refused("500m"));
        assert!(check_quota(&stack("0.5", "0"), || None).is_ok());
        let whole = check_quota(&stack("1,2000m", "0"), || panic!("a whole number is no quota"));
        assert!(whole.is_ok());
    }

    #[test]
    fn workers_that_do_not_fit_into_memory_cause_a_notice() {
        let traits = |workers| {
            [RuntimeTraits { held_by: HeldBy::Request, workers, closes: false, custom_build: None }]
        };
        let memory_notices =
            |memory, workers| memory_notices(&stack("1", memory), &machine(), &traits(workers));
        assert!(memory_notices("1GiB", 1_000).is_empty());
        assert!(memory_notices("0", 4_000).is_empty());
        assert!(
            sentences(&memory_notices("0", 5_000))[0].contains("but this machine has 4.00 GiB")
        );
        assert_eq!(
            sentences(&memory_notices("1GiB", 2_000)),
            [
                "`a`: 2 000 workers need at least 1.72 GiB even with a tiny app, but the stack has 1.00 GiB: use fewer workers or more memory"
            ]
        );
    }
}
