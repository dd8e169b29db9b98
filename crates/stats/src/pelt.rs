//! Finds the levels of a series by PELT (Killick, Fearnhead and Eckley, JASA 107, 2012): an exact
//! search for the cheapest partition, with pruning.

/// Returns where levels begin, 0 first. The partition minimizes the squares around the levels'
/// means, in units of the noise's variance, plus `penalty` for each level. A level has `level_min`
/// values at least.
pub fn begins(logs: &[f64], penalty: f64, level_min: usize) -> Vec<usize> {
    let noise = noise(logs);
    let sums = |power: i32| {
        let mut sums = vec![0.0];
        sums.extend(logs.iter().scan(0.0, |sum, log| {
            *sum += log.powi(power);
            Some(*sum)
        }));
        sums
    };
    let (sums, squares) = (sums(1), sums(2));
    let cost = |from: usize, to: usize| {
        let sum = sums[to] - sums[from];
        (squares[to] - squares[from] - sum * sum / (to - from) as f64).max(0.0) / noise
    };
    let mut best = vec![-penalty];
    let mut before = vec![0];
    let mut candidates: Vec<usize> = Vec::new();
    for to in 1..=logs.len() {
        candidates.extend(
            (to >= level_min)
                .then(|| to - level_min)
                .filter(|from| *from == 0 || *from >= level_min),
        );
        let total = |from: usize| best[from] + cost(from, to) + penalty;
        let found = candidates.iter().copied().min_by(|a, b| total(*a).total_cmp(&total(*b)));
        let least = found.map_or(f64::INFINITY, total);
        // PELT's pruning: a beginning that is worse by a whole penalty cannot be the best later.
        candidates.retain(|from| best[*from] + cost(*from, to) <= least);
        best.push(least);
        before.push(found.unwrap_or(0));
    }
    let mut begins = Vec::new();
    let mut at = logs.len();
    while at > 0 {
        at = before[at];
        begins.push(at);
    }
    begins.reverse();
    begins
}

/// Returns the variance of the noise, from the median step between neighbours. Levels add only a
/// few large steps, which do not move the median. The standard deviation is at least the
/// histogram's resolution, 0.1 %.
fn noise(logs: &[f64]) -> f64 {
    let mut steps: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let median = steps.get(steps.len() / 2).copied().unwrap_or(0.0);
    // The median size of a normal variable is 0.6745 of its deviation; a step has twice the
    // variance.
    let deviation = median / 0.6745 / 2.0_f64.sqrt();
    deviation.max(0.001).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two levels without noise: the variance is the floor of 0.1 %, so a step of 1 % in each of ten
    /// values gains 5 × 0.01² × 2 ÷ 4 ÷ 0.001² = 250.
    #[test]
    fn a_step_is_worth_its_squares() {
        let logs: Vec<f64> = (0..10).map(|at| if at < 5 { 0.0 } else { 0.01 }).collect();
        assert_eq!(begins(&logs, 249.0, 3), [0, 5]);
        assert_eq!(begins(&logs, 251.0, 3), [0]);
    }

    #[test]
    fn a_level_is_not_shorter_than_asked() {
        let logs = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 9.0];
        assert_eq!(begins(&logs, 10.0, 2), [0, 8]);
        assert_eq!(begins(&logs, 10.0, 3).last(), Some(&7));
        assert_eq!(begins(&[], 10.0, 3), Vec::<usize>::new());
        assert_eq!(begins(&[1.0], 10.0, 3), [0]);
    }
}
