//! Checks what a publication's text says in numbers: a runtime serves so many times the requests of
//! another.

use stampede_stats::compare;
use stampede_stats::estimate::Estimate;

use crate::comparison::{ClaimCheck, ClaimComparison, ClaimOutcome};
use crate::figure::{Better, Figure};
use crate::measured::{Budget, Measured, MeasuredCase, RoundValue, figure as figure_of};
use crate::sentence;
use crate::tables::{Claim, Tables};
use crate::times::Times;

/// Two cases of a claim.
struct Checked<'a> {
    claim: usize,
    case: &'a MeasuredCase,
    against: &'a MeasuredCase,
}

/// Checks all claims, whose intervals hold together.
pub(crate) fn checked(tables: &Tables, measured: &Measured) -> Vec<ClaimComparison> {
    let checked: Vec<Checked> = (0..)
        .zip(&tables.claims)
        .flat_map(|(index, claim)| cases(index, claim, measured))
        .collect();
    let of_one = |one: &Checked| ratios(one, tables.claims[one.claim].figure);
    let ratios: Vec<Vec<f64>> = checked.iter().map(of_one).collect();
    let estimates = compare::compare(&ratios);
    let of_claim = |(index, claim): (usize, &Claim)| {
        let own = checked.iter().zip(&estimates).filter(|(checked, _)| checked.claim == index);
        let checks: Vec<ClaimCheck> =
            own.map(|(checked, compared)| check(checked, compared.ratio, claim.times)).collect();
        ClaimComparison {
            text: claim.text.clone(),
            runtime: claim.runtime.clone(),
            written: claim.written.clone(),
            times: claim.times,
            sentences: sentence::of_claim(claim, &checks, &tables.name, measured.rounds),
            checks,
        }
    };
    tables.claims.iter().enumerate().map(of_claim).collect()
}

/// The cases that a claim is about: of each app and load, unless it names one.
fn cases<'a>(index: usize, claim: &Claim, measured: &'a Measured) -> Vec<Checked<'a>> {
    let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
    let mut found = Vec::new();
    for against in &claim.against {
        let of = |case: &&MeasuredCase| case.runtime == claim.runtime;
        for case in measured.cases.iter().filter(of) {
            let other = measured.cases.iter().find(|other| {
                other.runtime == *against && other.app == case.app && other.load == case.load
            });
            if let Some(against) = other
                && is(&claim.app, &case.app)
                && is(&claim.load, &case.load)
            {
                found.push(Checked { claim: index, case, against });
            }
        }
    }
    found
}

/// The ratios of the claim's figure, one for each round that has both: how many times this runtime is
/// better. A lower bound gives none: its ratio says nothing about one of the ends.
fn ratios(checked: &Checked, figure: Figure) -> Vec<f64> {
    let rounds =
        |case: &MeasuredCase| figure_of(&case.figures, figure, None).map(|figure| figure.rounds);
    let is_lower_better = figure.better() == Some(Better::Lower);
    let (Some(own), Some(other)) = (rounds(checked.case), rounds(checked.against)) else {
        return Vec::new();
    };
    let both = own.into_iter().zip(other).filter_map(|pair| match pair {
        (Some(RoundValue::Exactly(own)), Some(RoundValue::Exactly(other)))
            if own > 0.0 && other > 0.0 =>
        {
            Some(if is_lower_better { other / own } else { own / other })
        }
        _ => None,
    });
    both.collect()
}

fn check(checked: &Checked, ratio: Option<Estimate>, times: Times) -> ClaimCheck {
    let Checked { case, against, .. } = checked;
    let interval = ratio.and_then(|ratio| ratio.interval);
    ClaimCheck {
        against: against.runtime.clone(),
        app: case.app.clone(),
        load: case.load.clone(),
        ratio: ratio.map(|ratio| ratio.value),
        interval,
        outcome: interval.map_or(ClaimOutcome::TooFewRounds, |interval| outcome(times, interval)),
        equal_budgets: case.budget == Budget::Equal && against.budget == Budget::Equal,
    }
}

fn outcome(times: Times, (low, high): (f64, f64)) -> ClaimOutcome {
    let least = times.least.unwrap_or(0.0);
    let most = times.most.unwrap_or(f64::INFINITY);
    match () {
        () if high < least => ClaimOutcome::Smaller,
        () if low > most => ClaimOutcome::Larger,
        () if low >= least && high <= most => ClaimOutcome::Survives,
        () => ClaimOutcome::TooCloseToCall,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_decides_beside_the_claimed_range() {
        use ClaimOutcome::{Larger, Smaller, Survives, TooCloseToCall};
        let about = Times::parse("~2").expect("a form");
        let cases = [
            ((1.6, 2.4), Survives),
            ((1.0, 1.4), Smaller),
            ((0.5, 0.9), Smaller),
            ((2.6, 3.0), Larger),
            ((1.4, 1.6), TooCloseToCall),
            ((2.4, 2.6), TooCloseToCall),
            ((1.0, 9.0), TooCloseToCall),
        ];
        for (interval, expected) in cases {
            assert_eq!(outcome(about, interval), expected, "{interval:?}");
        }
        let over = Times::parse(">10").expect("a form");
        assert_eq!(outcome(over, (10.5, 99.0)), Survives);
        assert_eq!(outcome(over, (9.0, 9.9)), Smaller);
        assert_eq!(outcome(over, (9.0, 11.0)), TooCloseToCall);
        let under = Times::parse("<0.5").expect("a form");
        assert_eq!(outcome(under, (0.1, 0.4)), Survives);
        assert_eq!(outcome(under, (0.6, 0.7)), Larger);
    }
}
