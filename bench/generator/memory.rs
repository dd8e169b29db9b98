//! Measures the memory that connections and time take.

use crate::Settings;
use crate::closed::measure;
use crate::error::BenchError;
use crate::loaded::LoadRun;
use crate::nginx::Scheme;
use crate::peers::{ENGINES, Peer};
use crate::report::{Figure, Goal, Report};
use crate::stamped::{Serves, Stamped};
use crate::table::Table;

/// Measures the largest resident size with many connections, and over `minutes` if these are more
/// than one.
pub fn memory(settings: Settings) -> Result<Report, BenchError> {
    let mut table = Table::new(&["", "connections", "seconds", "MB resident"]);
    let mut goals = Vec::new();
    for peer in Peer::OURS.into_iter().filter(|peer| peer.installed()) {
        for (connections, seconds) in [(1_000, 5), (10_000, 5), (10_000, 30)] {
            let megabytes = measure(peer, Scheme::Http, connections, seconds)?.resident_mb;
            let figure = Figure { value: megabytes, decimals: 1, unit: " MB" };
            table.row([
                peer.name().to_owned(),
                connections.to_string(),
                seconds.to_string(),
                format!("{megabytes:.1}"),
            ]);
            if peer == Peer::Fire && connections == 10_000 {
                let what = format!("`stampede fire`, 10 000 connections, {seconds} s: resident");
                goals.push(Goal::at_most(what, 40.0, figure));
            }
        }
    }
    let minutes = settings.minutes.unwrap_or(1);
    let over_time =
        if minutes > 1 { over_time(minutes, settings.rate.unwrap_or(200))? } else { String::new() };
    Ok(Report { text: format!("\n{}{over_time}", table.markdown()), goals })
}

/// Compares the memory of a load of one minute with one of `minutes`; all loads run at the same
/// time.
fn over_time(minutes: u32, rate: u32) -> Result<String, BenchError> {
    let loads = ENGINES.into_iter().flat_map(|engine| [(engine, 1), (engine, minutes)]);
    let result: Vec<_> = loads
        .map(|(engine, minutes)| {
            let fire = move || {
                let server = Stamped::start(Serves::AT_ONCE)?;
                let command = engine.by_a_schedule(&server.target, rate, minutes * 60);
                LoadRun::of(command.ok_or(BenchError::NoSchedule)?, server)
            };
            (engine, minutes, std::thread::spawn(fire))
        })
        .collect();
    let mut table = Table::new(&["", "minutes", "requests", "ok", "MB resident", "CPU"]);
    for (engine, minutes, fire) in result {
        let run = fire.join().map_err(|_| BenchError::Panicked)??;
        table.row([
            engine.name().to_owned(),
            minutes.to_string(),
            format!("{:.0}", run.printed("planned")),
            format!("{:.3} %", 100.0 * run.printed("ok") / run.printed("planned")),
            format!("{:.2}", run.measured.resident_bytes_max as f64 / 1e6),
            format!("{:.1} %", 100.0 * run.measured.cpu_s / f64::from(minutes * 60)),
        ]);
    }
    Ok(format!("\n{rate} requests/s by a schedule\n\n{}", table.markdown()))
}
