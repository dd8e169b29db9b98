//! Finds where response time begins to rise steeply. That point is not the capacity.

/// Returns the knee of response time over throughput: the throughput of the point with the greatest
/// throughput ÷ mean response time. There, a line from the origin touches the curve. Beyond it,
/// more throughput costs more response time in proportion (Kleinrock's *power*, ICC 1979; for M/M/1
/// half of the capacity). The knee is a measured point. `None` with fewer than three points, and
/// where the best is the first or the last: then no bend was measured.
pub fn knee(points: &[(f64, f64)]) -> Option<f64> {
    let mut points: Vec<(f64, f64)> =
        points.iter().copied().filter(|(rate, time)| *rate > 0.0 && *time > 0.0).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Trials at one rate count as one point.
    let mut merged: Vec<(f64, Vec<f64>)> = Vec::new();
    for (rate, time) in points {
        match merged.last_mut() {
            Some((last, times)) if *last == rate => times.push(time),
            _ => merged.push((rate, vec![time])),
        }
    }
    let power =
        |(rate, times): &(f64, Vec<f64>)| rate * times.len() as f64 / times.iter().sum::<f64>();
    let best =
        (0..merged.len()).max_by(|a, b| power(&merged[*a]).total_cmp(&power(&merged[*b])))?;
    (best > 0 && best + 1 < merged.len()).then(|| merged[best].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// M/M/1 with a capacity of 100 a second: mean response time 1 / (100 − λ), so power is
    /// greatest at 50.
    #[test]
    fn the_knee_of_a_single_queue_is_half_its_capacity() {
        let points: Vec<(f64, f64)> = (1..10)
            .map(|tens| f64::from(tens) * 10.0)
            .map(|rate| (rate, 1.0 / (100.0 - rate)))
            .collect();
        assert_eq!(knee(&points), Some(50.0));
    }

    #[test]
    fn trials_at_one_rate_are_one_point() {
        let points = [(10.0, 1.0), (20.0, 0.2), (20.0, 3.0), (30.0, 1.2), (40.0, 4.0)];
        assert_eq!(knee(&points), Some(30.0));
    }

    #[test]
    fn a_straight_line_has_no_knee() {
        assert_eq!(knee(&[(10.0, 1.0), (20.0, 1.0), (40.0, 1.0)]), None);
        assert_eq!(knee(&[(10.0, 1.0), (20.0, 9.0)]), None);
        assert_eq!(knee(&[]), None);
    }
}
