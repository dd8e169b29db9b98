//! Compares the generator with its peers in the closed model: CPU time per request, and throughput.

use crate::error::BenchError;
use crate::measured::run;
use crate::nginx::{Nginx, Scheme};
use crate::peers::{Closed, Peer, on_path};
use crate::table::{Table, median, middle};

/// The figures of one load, per request where nothing else is said.
#[derive(Clone, Copy, Debug)]
struct Figure {
    cpu_us: f64,
    per_second: f64,
    /// The server's CPU time per answer in µs, including the connecting.
    server_us: f64,
    resident_mb: f64,
}

/// Measures every installed one of `peers` in rounds. Each round begins with another peer, so that
/// other activity affects all alike. Ratios to the first peer are taken within a round.
pub fn compare(
    peers: &[Peer],
    scheme: Scheme,
    connections: &[u32],
    seconds: u32,
    rounds: usize,
) -> Result<String, BenchError> {
    if scheme == Scheme::Https && !on_path("openssl") {
        return Ok("\nNot measured: there is no openssl to make a certificate.\n".to_owned());
    }
    let (there, missing): (Vec<Peer>, Vec<Peer>) = peers.iter().partition(|peer| peer.installed());
    let mut text = String::new();
    for &connections in connections {
        let mut taken: Vec<Vec<_>> = there.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for turn in 0..there.len() {
                let index = (turn + round) % there.len();
                taken[index].push(one(there[index], scheme, connections, seconds));
            }
        }
        text += &format!("\n{connections} connections, {rounds} rounds of {seconds} s\n\n");
        text += &table(&there, &taken);
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.into_iter().map(Peer::name).collect();
        text += &format!("\nNot installed, so left out: {}.\n", names.join(", "));
    }
    Ok(text)
}

/// Starts a server for each measurement, so that none inherits another's connections.
fn one(peer: Peer, scheme: Scheme, connections: u32, seconds: u32) -> Result<Figure, BenchError> {
    let nginx = Nginx::start(scheme)?;
    let load = Closed { url: &nginx.url, connections, seconds };
    let before_s = nginx.cpu_s()?;
    let measured = run(&mut peer.command(load))?;
    let server_s = nginx.cpu_s()? - before_s;
    if !measured.status.success() {
        return Err(BenchError::PeerFailed { status: measured.status });
    }
    let (answers, took_s) = peer.answers(&measured.printed, seconds).ok_or(BenchError::NoCount)?;
    if answers == 0.0 {
        return Err(BenchError::NoRightAnswer);
    }
    Ok(Figure {
        cpu_us: measured.cpu_s * 1e6 / answers,
        per_second: answers / took_s,
        server_us: server_s * 1e6 / answers,
        resident_mb: measured.resident_bytes_max as f64 / 1e6,
    })
}

fn table(peers: &[Peer], taken: &[Vec<Result<Figure, BenchError>>]) -> String {
    let ratio = format!("÷ {}", peers[0].name());
    let mut table = Table::new(&[
        "",
        "CPU µs per request",
        &ratio,
        "answers per s",
        &ratio,
        "server's CPU µs",
        "MB resident",
    ]);
    for (peer, figures) in peers.iter().zip(taken) {
        if let Some(Err(why)) = figures.iter().find(|figure| figure.is_err()) {
            table.row([peer.name().to_owned(), why.to_string()]);
            continue;
        }
        let mine: Vec<Figure> = figures.iter().flatten().copied().collect();
        let all = |of: fn(&Figure) -> f64| median(mine.iter().map(of));
        // Ratios use only rounds that both have, because the first may have failed in a round.
        let ratio = |of: fn(&Figure) -> f64| {
            let pairs = mine.iter().zip(&taken[0]);
            let ratios = pairs.filter_map(|(mine, one)| Some(of(mine) / of(one.as_ref().ok()?)));
            let ratios: Vec<f64> = ratios.collect();
            let (low, high) = middle(&ratios);
            match *peer == peers[0] {
                true => "1".to_owned(),
                false => format!("{:.3} ({low:.2} to {high:.2})", median(ratios)),
            }
        };
        table.row([
            peer.name().to_owned(),
            format!("{:.2}", all(|figure| figure.cpu_us)),
            ratio(|figure| figure.cpu_us),
            format!("{:.0}", all(|figure| figure.per_second)),
            ratio(|figure| figure.per_second),
            format!("{:.2}", all(|figure| figure.server_us)),
            format!("{:.1}", all(|figure| figure.resident_mb)),
        ]);
    }
    table.markdown()
}

/// Measures the memory that connections and time take; compares `minutes` with one minute, if
/// longer.
pub fn memory(minutes: u32, rate: u32) -> Result<String, BenchError> {
    let mut table = Table::new(&["", "connections", "seconds", "MB resident"]);
    for peer in [Peer::Epoll, Peer::IoUring] {
        for (connections, seconds) in [(1_000, 5), (10_000, 5), (10_000, 30)] {
            let figure = one(peer, Scheme::Http, connections, seconds)?;
            table.row([
                peer.name().to_owned(),
                connections.to_string(),
                seconds.to_string(),
                format!("{:.1}", figure.resident_mb),
            ]);
        }
    }
    let over_time = if minutes > 1 { crate::open::memory(minutes, rate)? } else { String::new() };
    Ok(format!("\n{}{over_time}", table.markdown()))
}
