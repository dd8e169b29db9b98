//! Computes the cost of an answer: CPU time of the whole stack.

use super::model::CaseSummary;

/// CPU time of the whole stack for a million correct answers, in ns, including a database that runs
/// beside it. `None`: no CPU time was read, or there was no correct answer.
pub fn cpu_ns_per_million(case: &CaseSummary) -> Option<f64> {
    const MILLION: f64 = 1e6;
    case.figures.cpu_cost_us.known().map(|us| us * 1e3 * MILLION)
}
