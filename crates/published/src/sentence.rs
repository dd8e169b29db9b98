//! Writes the sentences of a comparison: what follows for an order, for a claim, and in all.

use crate::comparison::{
    ClaimCheck, ClaimOutcome, Order, OrderVerdict, PairCounts, PublishedComparison,
};
use crate::figure::Better;
use crate::pairs::ROUNDS_MIN;
use crate::shown::{significant, tau};
use crate::tables::Claim;

/// The answer in all.
pub(crate) fn of_comparison(comparison: &PublishedComparison) -> String {
    let columns = comparison.tables.iter().flat_map(|table| &table.columns);
    let verdicts: Vec<OrderVerdict> =
        columns.flat_map(|column| column.orders.iter().map(|order| order.verdict)).collect();
    let checks: Vec<&ClaimCheck> =
        comparison.claims.iter().flat_map(|claim| &claim.checks).collect();
    let mut sentences = Vec::new();
    if verdicts.iter().any(|verdict| *verdict != OrderVerdict::NoPairs) {
        sentences.push(match too_few_rounds(comparison.rounds) {
            Some(rounds) => format!("No order can be judged here: {rounds}."),
            None => orders(&verdicts, &comparison.publication),
        });
    }
    if !checks.is_empty() {
        sentences.push(match too_few_rounds(comparison.rounds) {
            Some(rounds) => format!("No claim can be judged here: {rounds}."),
            None => claims(&checks),
        });
    }
    if checks.iter().any(|check| !check.equal_budgets) {
        sentences.push(UNEQUAL.to_owned());
    }
    match sentences.is_empty() {
        true => format!("Nothing of {} can be compared with this run.", comparison.publication),
        false => sentences.join(" "),
    }
}

/// Said of claims about rows whose budgets differ.
const UNEQUAL: &str = "The budgets are not equal, as published: with `--cpus` and `--memory`, and `limits: none` of compose projects, every runtime gets the same.";

/// `Of 40 rankings in article 000, 9 agree with this run; …`
fn orders(verdicts: &[OrderVerdict], publication: &str) -> String {
    let count =
        |is: fn(&OrderVerdict) -> bool| verdicts.iter().filter(|verdict| is(verdict)).count();
    let all = verdicts.len();
    let agree = count(|verdict| *verdict == OrderVerdict::Agrees);
    let others = [
        (
            count(|verdict| *verdict == OrderVerdict::PartlyAgrees),
            "agrees in part",
            "agree in part",
        ),
        (count(|verdict| *verdict == OrderVerdict::Disagrees), "disagrees", "disagree"),
        (
            count(|verdict| matches!(verdict, OrderVerdict::CannotBeJudged { .. })),
            "cannot be judged here",
            "cannot be judged here",
        ),
        (
            count(|verdict| *verdict == OrderVerdict::TooFewPairs),
            "has too few pairs for τ",
            "have too few pairs for τ",
        ),
        (
            count(|verdict| *verdict == OrderVerdict::NoPairs),
            "has nothing to compare",
            "have nothing to compare",
        ),
    ];
    let others = counted(&others);
    let rest = if others.is_empty() { String::new() } else { format!("; {}", listed(&others)) };
    let orders = plural(all, "ranking");
    let agrees = if agree == 1 { "agrees" } else { "agree" };
    format!("Of {all} {orders} in {publication}, {agree} {agrees} with this run{rest}.")
}

/// `1 disagrees`, `7 disagree`: numbers with the words for one and for many, without those of none.
fn counted(all: &[(usize, &str, &str)]) -> Vec<String> {
    let some = all.iter().filter(|(count, ..)| *count > 0);
    some.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }))
        .collect()
}

/// `Of 9 claimed ratios, 3 survive; 5 do not and 1 is too close to call.`
fn claims(checks: &[&ClaimCheck]) -> String {
    let count =
        |outcome: ClaimOutcome| checks.iter().filter(|check| check.outcome == outcome).count();
    let others = [
        (count(ClaimOutcome::Smaller), "does not", "do not"),
        (count(ClaimOutcome::Larger), "is larger here", "are larger here"),
        (count(ClaimOutcome::TooCloseToCall), "is too close to call", "are too close to call"),
        (count(ClaimOutcome::TooFewRounds), "cannot be judged", "cannot be judged"),
    ];
    let others = counted(&others);
    let rest = if others.is_empty() { String::new() } else { format!("; {}", listed(&others)) };
    let survive = count(ClaimOutcome::Survives);
    let survives = if survive == 1 { "survives" } else { "survive" };
    let ratios = plural(checks.len(), "ratio");
    format!("Of {} claimed {ratios}, {survive} {survives}{rest}.", checks.len())
}

/// The verdict about one order.
pub(crate) fn of_order(order: &Order, column: &str, rounds: u32) -> String {
    let what = column.replace('_', " ");
    let what = match &order.load {
        Some(load) => format!("{what} at load {load}"),
        None => what,
    };
    let counts = &order.counts;
    let pairs = counts.measured();
    let of_pairs = match order.tau {
        Some(value) => format!("{} of {pairs} pairs, τ = {}", counts.agree, tau(value)),
        None => format!("{} of {pairs} pairs", counts.agree),
    };
    match order.verdict {
        OrderVerdict::Agrees => format!("Order agrees for {what}: {of_pairs}{}.", rest(counts)),
        OrderVerdict::PartlyAgrees => {
            format!("Order agrees in part for {what}: {of_pairs}{}.", rest(counts))
        }
        OrderVerdict::Disagrees => {
            format!("Order disagrees for {what}: {of_pairs}{}.", rest(counts))
        }
        OrderVerdict::CannotBeJudged { told_apart, pairs } => match too_few_rounds(rounds) {
            Some(rounds) => format!("Order cannot be judged here for {what}: {rounds}."),
            None => format!(
                "Order cannot be judged here for {what}: {told_apart} of {pairs} {} could be told \
                 apart.",
                plural(pairs as usize, "pair")
            ),
        },
        OrderVerdict::TooFewPairs => match (pairs, counts.agree) {
            (1, 0) => format!("The only pair of {what} disagrees."),
            (1, _) => format!("The only pair of {what} agrees."),
            _ => format!("Too few pairs for τ of {what}: {of_pairs} agree{}.", rest(counts)),
        },
        OrderVerdict::NoPairs => format!("Nothing to compare for {what}."),
    }
}

/// `; 1 disagrees, 2 show no significant difference here`.
fn rest(counts: &PairCounts) -> String {
    let no_difference = counts.no_difference + counts.too_few_rounds;
    let mut parts = Vec::new();
    match counts.disagree {
        0 => {}
        1 => parts.push("1 disagrees".to_owned()),
        count => parts.push(format!("{count} disagree")),
    }
    match no_difference {
        0 => {}
        1 => parts.push("1 shows no significant difference here".to_owned()),
        count => parts.push(format!("{count} show no significant difference here")),
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("; {}", parts.join(", ")),
    }
}

/// What follows for each check of a claim.
pub(crate) fn of_claim(
    claim: &Claim,
    checks: &[ClaimCheck],
    publication: &str,
    rounds: u32,
) -> Vec<String> {
    if checks.is_empty() {
        let against = claim.against.join(", ");
        return vec![format!("Not measured: no load has both {} and {against}.", claim.runtime)];
    }
    checks.iter().map(|check| of_check(claim, check, publication, rounds)).collect()
}

fn of_check(claim: &Claim, check: &ClaimCheck, publication: &str, rounds: u32) -> String {
    let written = &claim.written;
    let says = format!("{publication} says {written} times");
    let place = format!("load {}", check.load);
    let Some(ratio) = check.ratio else {
        return format!(
            "Not measured: {} and {} have no common round at {place}; {says}.",
            claim.runtime, check.against
        );
    };
    let interval = check.interval.map_or_else(String::new, |(low, high)| {
        format!(" (95 % interval {} to {})", significant(low), significant(high))
    });
    let ratio = significant(ratio);
    let measured = match &claim.figure_name {
        Some(figure) if claim.figure.better() == Some(Better::Lower) => format!(
            "the {} of {} is {ratio} times that of {} at {place}{interval}",
            figure.replace('_', " "),
            check.against,
            claim.runtime
        ),
        _ => format!(
            "{} serves {ratio} times the requests of {} at {place}{interval}",
            claim.runtime, check.against
        ),
    };
    let resources = match check.equal_budgets {
        true => "equal resources",
        false => "this test, whose budgets are not equal",
    };
    match check.outcome {
        ClaimOutcome::Survives => format!("Survives {resources}: {measured}; {says}."),
        ClaimOutcome::Smaller => {
            let reversed = check.interval.is_some_and(|(_, high)| high < 1.0)
                && claim.times.least.is_some_and(|least| least >= 1.0);
            let turned = if reversed { ", so the order is reversed" } else { "" };
            format!("Does not survive {resources}: {says}; here {measured}{turned}.")
        }
        ClaimOutcome::Larger => {
            format!("The ratio is above the claim with {resources}: {measured}; {says}.")
        }
        ClaimOutcome::TooCloseToCall => format!("Too close to call: {measured}; {says}."),
        ClaimOutcome::TooFewRounds => {
            let few = match rounds {
                1 => "one round",
                2 => "two rounds",
                _ => "fewer than three common rounds",
            };
            format!("Cannot be judged in {few}: {measured}; {says}.")
        }
    }
}

/// Why nothing can be told apart in a run of so few rounds. `None`: it has enough.
pub(crate) fn too_few_rounds(rounds: u32) -> Option<String> {
    let why = "differences cannot be told from noise";
    match rounds {
        0 => Some(format!("no round was measured, so {why}")),
        1 => Some(format!("one round, so {why}; measure again with `--rounds 3`")),
        rounds if (rounds as usize) < ROUNDS_MIN => {
            Some(format!("two rounds, so {why}; measure again with `--rounds 3`"))
        }
        _ => None,
    }
}

/// `a, b and c`.
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { word.to_owned() } else { format!("{word}s") }
}
