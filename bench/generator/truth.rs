//! Whether what the generator prints is what the server saw.

use stampede_known_server::Waiting;

use crate::PERCENTILES;
use crate::open::{ENGINES, Shot};
use crate::stamped::{Freezes, Stamped, Stamps};
use crate::table::{Table, at_share, median};

/// Both models.
pub fn truth(rounds: usize) -> Result<String, String> {
    Ok(with_a_schedule(rounds)? + &with_a_user(rounds)?)
}

fn stamped(freezes: Freezes) -> Result<Stamped, String> {
    Stamped::start(freezes, Waiting::Sleep)
}

/// Response times as printed beside those that follow from the server's stamps, and beside
/// arithmetic where the server freezes. The i-th arrival is taken for the i-th shot, so the
/// machine has to let the server run.
fn with_a_schedule(rounds: usize) -> Result<String, String> {
    let mut table = Table::new(&[
        "",
        "server",
        "shots per s",
        "percentile",
        "printed µs",
        "stamped µs",
        "arithmetic µs",
        "apart",
        "exact",
        "lateness µs",
    ]);
    for (freezes, name) in SERVERS {
        for engine in ENGINES {
            let rate = 2_000;
            let shots: Result<Vec<Shot>, String> =
                (0..rounds).map(|_| Shot::fire(stamped(freezes)?, engine, rate, SECONDS)).collect();
            let shots = shots?;
            for (percentile, share) in PERCENTILES {
                let printed =
                    |shot: &Shot| shot.printed(&format!("response_time_{percentile}_ns")) / 1e3;
                let lateness =
                    |shot: &Shot| shot.printed(&format!("lateness_{percentile}_ns")) / 1e3;
                let stamped =
                    |shot: &Shot| at_share(&shot.behind_us(|(_, answered)| *answered), share);
                let apart = median(shots.iter().map(|shot| printed(shot) - stamped(shot)));
                let arithmetic = match freezes {
                    Freezes::Never => "–".to_owned(),
                    Freezes::EveryTwoSeconds => format!("{:.0}", frozen_us(share)),
                };
                table.row([
                    engine.name().to_owned(),
                    name.to_owned(),
                    rate.to_string(),
                    percentile.to_owned(),
                    format!("{:.1}", median(shots.iter().map(printed))),
                    format!("{:.1}", median(shots.iter().map(stamped))),
                    arithmetic,
                    format!("{apart:+.1} µs"),
                    yes(apart.abs() <= EXACT_US.max(EXACT * median(shots.iter().map(stamped)))),
                    format!("{:.1}", median(shots.iter().map(lateness))),
                ]);
            }
        }
    }
    Ok(format!("\nMedians of {rounds} rounds of {SECONDS} s\n\n{}", table.markdown()))
}

/// Service times of one user as printed. Each shot is started between the answer before and its
/// own arrival, so every percentile lies between that of the time inside the server and that of
/// the time from answer to answer.
fn with_a_user(rounds: usize) -> Result<String, String> {
    let mut table = Table::new(&[
        "",
        "server",
        "percentile",
        "inside the server µs",
        "printed µs",
        "answer to answer µs",
        "between",
    ]);
    for (freezes, name) in SERVERS {
        for engine in ENGINES {
            let shots: Result<Vec<Shot>, String> = (0..rounds)
                .map(|_| Shot::fire_closed(stamped(freezes)?, engine, 1, SECONDS))
                .collect();
            let shots = shots?;
            for (percentile, share) in PERCENTILES {
                let all = |of: &dyn Fn(&Shot) -> f64| median(shots.iter().map(of));
                let inside = all(&|shot| at_share(&inside_us(&shot.stamps), share));
                let between = all(&|shot| at_share(&answer_to_answer_us(&shot.stamps), share));
                let name_of = format!("service_time_{percentile}_ns");
                let printed = all(&|shot| shot.printed(&name_of) / 1e3);
                let holds = inside * (1.0 - EXACT) <= printed && printed <= between * (1.0 + EXACT);
                table.row([
                    engine.name().to_owned(),
                    name.to_owned(),
                    percentile.to_owned(),
                    format!("{inside:.1}"),
                    format!("{printed:.1}"),
                    format!("{between:.1}"),
                    yes(holds),
                ]);
            }
        }
    }
    let markdown = table.markdown();
    Ok(format!("\nClosed, one user, medians of {rounds} rounds of {SECONDS} s\n\n{markdown}"))
}

fn yes(holds: bool) -> String {
    if holds { "yes" } else { "NO" }.to_owned()
}

/// Sorted.
fn inside_us(stamps: &Stamps) -> Vec<f64> {
    sorted(stamps.iter().map(|(arrived, answered)| answered.saturating_sub(*arrived)))
}

/// Sorted. The first shot has no answer before it.
fn answer_to_answer_us(stamps: &Stamps) -> Vec<f64> {
    sorted(stamps.windows(2).map(|two| two[1].1.saturating_sub(two[0].1)))
}

fn sorted(ns: impl Iterator<Item = u64>) -> Vec<f64> {
    let mut us: Vec<f64> = ns.map(|ns| ns as f64 / 1e3).collect();
    us.sort_by(f64::total_cmp);
    us
}

/// Frozen for 500 ms at 2, 4, 6 and 8 s of 10: of all shots 4 × 0.5 ÷ 10 = 20 % wait, evenly
/// from 500 ms down to 0, so that a share of 0.4 × (0.5 − t) waits longer than t seconds.
fn frozen_us(share: f64) -> f64 {
    (0.5 - (1.0 - share) / 0.4).max(0.0) * 1e6
}

const SERVERS: [(Freezes, &str); 2] =
    [(Freezes::Never, "at once"), (Freezes::EveryTwoSeconds, "frozen")];
/// Of a load: four freezes are inside.
const SECONDS: u32 = 10;
/// How exact a printed percentile has to be: to this share of it, or to so many µs.
const EXACT: f64 = 0.01;
const EXACT_US: f64 = 20.0;
