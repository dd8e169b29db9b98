//! Formats figures as text: the report's functions, and some that only progress needs.

use stampede_compose::news::{LongWork, News};
use stampede_model::time::Nanos;
use stampede_stats::percentile::Percentile;

pub use stampede_model::words::{bytes, count, length, list, number_of, percent, rate, share};

/// A time in ns with its unit.
pub fn time_ns(ns: u64) -> String {
    stampede_model::words::time(ns as f64)
}

/// Formats a percentile, or why there is none.
pub fn percentile(percentile: Percentile) -> String {
    match percentile {
        Percentile::At(ns) => time_ns(ns),
        Percentile::Failed => "failed".to_owned(),
        Percentile::TooFew => "—".to_owned(),
    }
}

/// Says what happens while a stack starts.
pub fn news(news: &News<'_>) -> String {
    match news {
        News::Long(work) => long_work(work),
        News::Code { row, service } => format!("note: `{row}`: {service}"),
        News::Unreached { service, address } => format!(
            "note: the container of service `{service}` is not reached at {address}: it is started again with a port on \
             127.0.0.1, and the engine's proxy is a part of what is measured"
        ),
    }
}

/// Says what takes long.
fn long_work(work: &LongWork<'_>) -> String {
    match work {
        LongWork::Fetch { image } => format!("note: downloading image `{image}`"),
        LongWork::Build { of: [] } => {
            "note: building the images of the project; this is done once".to_owned()
        }
        LongWork::Build { of } => {
            format!("note: building the images for {}; this is done once", list(of))
        }
        LongWork::Copy { from } => format!("note: copying `{from}` for the trial"),
    }
}

/// Describes what will run: `3 trials, about 45 s (5 s of warm-up in each)`.
pub fn announcement(trials: u32, expected: Nanos, warm_up: Nanos) -> String {
    let all = format!("{}, about {}", number_of(trials, "trial"), length(expected));
    let each = if trials == 1 { "in it" } else { "in each" };
    match warm_up.0 {
        0 => all,
        ns if ns < Nanos::SECOND.0 => format!("{all} ({} of warm-up {each})", time_ns(ns)),
        _ => format!("{all} ({} of warm-up {each})", length(warm_up)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_two_units_at_most() {
        let say = |seconds| length(Nanos::from_secs(seconds));
        assert_eq!(say(8), "8 s");
        assert_eq!(say(125), "2 min 5 s");
        assert_eq!(say(120), "2 min");
        assert_eq!(say(3_899), "1 h 4 min");
        assert_eq!(length(Nanos::from_millis(1_499)), "1 s");
    }

    #[test]
    fn the_announcement_mentions_the_warm_up() {
        let say = |trials, ms| announcement(trials, Nanos::from_secs(45), Nanos::from_millis(ms));
        assert_eq!(say(3, 5_000), "3 trials, about 45 s (5 s of warm-up in each)");
        assert_eq!(say(1, 500), "one trial, about 45 s (500 ms of warm-up in it)");
        assert_eq!(say(1, 0), "one trial, about 45 s");
    }
}
