//! Reads the budget: CPUs and memory of the whole stack, or CPUs by role.

use std::collections::BTreeMap;

use super::error::{Mistake, PlanError};
use super::flags::split;
use super::model::{Budget, BudgetFit};
use super::tree::{Node, Value};
use super::value::{Fields, not_a, size, switch, whole_u32};

/// Roles that a budget can be split by.
pub(super) const ROLES: [&str; 3] = ["php", "web", "load"];

/// Keys of a budget.
pub(super) const KEYS: [&str; 6] = ["cpus", "memory", "php", "web", "load", "or_less"];

/// Most CPUs. 8192 is the kernel's own limit (`CONFIG_NR_CPUS` on x86-64).
const CPUS_MAX: u32 = 8_192;

/// Reads a budget. Without one: half of the machine's CPUs and no memory limit.
pub(super) fn budget(node: Option<&Node>) -> Result<Budget, PlanError> {
    let Some(node) = node else { return Ok(Budget::Shared { cpus: vec![0], memory_bytes: 0 }) };
    let fields = Fields::of(node, "`budget`", &KEYS)?;
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
        None => vec![0],
    };
    Ok(Budget::Shared { cpus, memory_bytes })
}

/// Reads `or_less`.
pub(super) fn fit(node: Option<&Node>) -> Result<BudgetFit, PlanError> {
    match node.and_then(|node| node.get("or_less")) {
        Some(node) if switch(node)? => Ok(BudgetFit::OrLess),
        _ => Ok(BudgetFit::Exactly),
    }
}

/// One number or several: `cpus: [1, 2, 4]`, or `--cpus 1,2,4` as a flag.
fn cpu_counts(node: &Node) -> Result<Vec<u32>, PlanError> {
    const EXPECTED: &str = "each number once, 1 or more, such as `[1, 2, 4]`";
    let node = &match node.text() {
        Some(text) if text.contains(',') => split(node),
        _ => node.clone(),
    };
    let Value::List(items) = &node.value else {
        return Ok(vec![whole_u32(node, "number of CPUs", 0..=CPUS_MAX)?]);
    };
    let mut counts = Vec::new();
    for item in items {
        let count = whole_u32(item, "number of CPUs", 1..=CPUS_MAX)?;
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
