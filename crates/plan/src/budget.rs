//! Reads the budget: CPUs and memory of the whole stack, or CPUs by role.

use std::collections::BTreeMap;

use stampede_model::cpus::{CpuCount, CpuCountError};

use super::edit::split;
use super::error::{Mistake, PlanError};
use super::keys::BUDGET;
use super::model::{Budget, BudgetFit};
use super::tree::{Node, Value};
use super::value::{Fields, not_a, out_of_range, size, switch, whole_u32};

/// Roles that a budget can be split by.
pub(super) const ROLES: [&str; 3] = ["php", "web", "load"];

/// Most CPUs of a role. A role has whole CPUs: a quota is for the whole stack.
pub(super) const CPUS_MAX: u32 = CpuCount::MOST.needed();

/// Stands for half of the machine's CPUs.
const HALF: CpuCount = CpuCount::whole(0);

/// Reads a budget. Without one: half of the machine's CPUs and no memory limit.
pub(super) fn budget(node: Option<&Node>) -> Result<Budget, PlanError> {
    let Some(node) = node else { return Ok(Budget::Shared { cpus: vec![HALF], memory_bytes: 0 }) };
    let fields = Fields::of(node, &BUDGET)?;
    let memory_bytes = match fields.get("memory") {
        Some(node) => size(node, "memory")?,
        None => 0,
    };
    let mut by_role = BTreeMap::new();
    for role in ROLES {
        fields.not_both("cpus", role)?;
        if let Some(node) = fields.get(role) {
            by_role.insert(role.to_owned(), whole_u32(node, "number of CPUs", 1..=CPUS_MAX)?);
        }
    }
    if !by_role.is_empty() {
        return Ok(Budget::ByRole { cpus: by_role, memory_bytes });
    }
    let cpus = match fields.get("cpus") {
        Some(node) => cpu_counts(node)?,
        None => vec![HALF],
    };
    Ok(Budget::Shared { cpus, memory_bytes })
}

/// Reads `or_less`.
pub(super) fn fit(node: Option<&Node>) -> Result<BudgetFit, PlanError> {
    let Some(node) = node else { return Ok(BudgetFit::Exactly) };
    match Fields::of(node, &BUDGET)?.get("or_less") {
        Some(node) if switch(node)? => Ok(BudgetFit::OrLess),
        _ => Ok(BudgetFit::Exactly),
    }
}

/// One number or several: `cpus: [1, 2, 4]`, or `--cpus 1,2,4` as a flag.
fn cpu_counts(node: &Node) -> Result<Vec<CpuCount>, PlanError> {
    const EXPECTED: &str = "each number once, such as `[1, 2, 4]` or `[500m, 1]`";
    let node = &match node.text() {
        Some(text) if text.contains(',') => split(node),
        _ => node.clone(),
    };
    let Value::List(items) = &node.value else {
        return Ok(vec![cpu_count(node)?]);
    };
    let mut counts = Vec::new();
    for item in items {
        let count = cpu_count(item)?;
        if counts.contains(&count) {
            let mistake = Mistake::Twice { kind: "numbers of CPUs", name: count.to_string() };
            return Err(item.place.wrong(mistake, EXPECTED));
        }
        counts.push(count);
    }
    match counts.is_empty() {
        true => Err(not_a(node, "a choice of numbers of CPUs", EXPECTED)),
        false => Ok(counts),
    }
}

/// Reads `2`, `0.5` or `500m`.
fn cpu_count(node: &Node) -> Result<CpuCount, PlanError> {
    const EXPECTED: &str =
        "a number from 0.01 to 8 192 with three decimals at most, such as `2`, `0.5` or `500m`";
    match node.text().map(str::parse::<CpuCount>) {
        Some(Ok(count)) => Ok(count),
        Some(Err(CpuCountError::OutOfRange)) => Err(out_of_range(node, "number of CPUs", EXPECTED)),
        Some(Err(CpuCountError::NotANumber)) | None => {
            Err(not_a(node, "a number of CPUs", EXPECTED))
        }
    }
}
