//! Compares generators in the closed model: CPU time per request, and throughput.

use crate::Settings;
use crate::error::BenchError;
use crate::measured::run;
use crate::nginx::{Nginx, Scheme};
use crate::peers::{Closed, Peer, on_path};
use crate::report::{Goal, Ratio, Report};
use crate::table::{Table, median, middle};

/// Which generators are compared, and with what.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// Ratios are to this one.
    pub baseline: Peer,
    pub others: &'a [Peer],
    pub scheme: Scheme,
    pub connections: &'a [u32],
    /// Rounds if the settings do not say: each round measures every generator once.
    pub rounds: usize,
    /// The most CPU time of `stampede fire`, as a share of the baseline's, for each number of
    /// connections. Empty: there are no goals.
    pub cpu_goals: &'a [f64],
}

/// The figures of one load, per request where nothing else is said.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    cpu_us: f64,
    per_second: f64,
    /// The server's CPU time per answer in µs, including the connecting.
    server_us: f64,
    pub resident_mb: f64,
}

/// All rounds of one generator.
type Rounds = Vec<Result<Figures, BenchError>>;

impl Comparison<'_> {
    /// Measures every installed generator in rounds. Each round begins with another one, so that
    /// other activity affects all alike.
    pub fn measure(&self, settings: Settings) -> Result<Report, BenchError> {
        if self.scheme == Scheme::Https && !on_path("openssl") {
            let text = "\nNot measured: there is no openssl to make a certificate.\n";
            return Ok(Report::new(text.to_owned()));
        }
        let rounds = settings.rounds.unwrap_or(self.rounds);
        let seconds = settings.seconds.unwrap_or(2);
        let all = [self.baseline].into_iter().chain(self.others.iter().copied());
        let (there, missing): (Vec<Peer>, Vec<Peer>) = all.partition(|peer| peer.installed());
        let mut report = Report::default();
        for (at, &connections) in self.connections.iter().enumerate() {
            let mut taken: Vec<Rounds> = there.iter().map(|_| Vec::new()).collect();
            for round in 0..rounds {
                for turn in 0..there.len() {
                    let index = (turn + round) % there.len();
                    taken[index].push(measure(there[index], self.scheme, connections, seconds));
                }
            }
            let taken: Vec<(Peer, Rounds)> = there.iter().copied().zip(taken).collect();
            report.text +=
                &format!("\n{connections} connections, {rounds} rounds of {seconds} s\n\n");
            report.text += &self.table(&taken);
            if let Some(limit) = self.cpu_goals.get(at) {
                report.goals.extend(self.goals(&taken, connections, *limit));
            }
        }
        if !missing.is_empty() {
            let names: Vec<&str> = missing.iter().map(|peer| peer.name()).collect();
            report.text += &format!("\nNot installed, so left out: {}.\n", names.join(", "));
        }
        if missing.contains(&self.baseline) {
            let name = self.baseline.name();
            report.text += &format!("There are no ratios: {name} is not installed.\n");
        }
        Ok(report)
    }

    fn table(&self, taken: &[(Peer, Rounds)]) -> String {
        let ratio = format!("÷ {}", self.baseline.name());
        let mut table = Table::new(&[
            "",
            "CPU µs per request",
            &ratio,
            "answers per s",
            &ratio,
            "server's CPU µs",
            "MB resident",
        ]);
        for (peer, rounds) in taken {
            if let Some(Err(why)) = rounds.iter().find(|figures| figures.is_err()) {
                table.row([peer.name().to_owned(), why.to_string()]);
                continue;
            }
            let all = |of: fn(&Figures) -> f64| median(rounds.iter().flatten().map(of));
            let ratio = |of: fn(&Figures) -> f64| match *peer == self.baseline {
                true => "1".to_owned(),
                false => self.ratio(taken, *peer, of).map_or(String::new(), |it| it.to_string()),
            };
            table.row([
                peer.name().to_owned(),
                format!("{:.2}", all(|figures| figures.cpu_us)),
                ratio(|figures| figures.cpu_us),
                format!("{:.0}", all(|figures| figures.per_second)),
                ratio(|figures| figures.per_second),
                format!("{:.2}", all(|figures| figures.server_us)),
                format!("{:.1}", all(|figures| figures.resident_mb)),
            ]);
        }
        table.markdown()
    }

    /// A generator's figure ÷ the baseline's, taken within each round that both have. `None`: there
    /// is no such round.
    fn ratio(
        &self,
        taken: &[(Peer, Rounds)],
        peer: Peer,
        of: fn(&Figures) -> f64,
    ) -> Option<Ratio> {
        let rounds_of = |wanted: Peer| taken.iter().find(|(peer, _)| *peer == wanted);
        let ((_, own), (_, baseline)) = (rounds_of(peer)?, rounds_of(self.baseline)?);
        let pairs = own.iter().zip(baseline);
        let ratios: Vec<f64> = pairs
            .filter_map(|(own, other)| Some(of(own.as_ref().ok()?) / of(other.as_ref().ok()?)))
            .collect();
        let (low, high) = middle(&ratios);
        (!ratios.is_empty()).then(|| Ratio { median: median(ratios), low, high })
    }

    fn goals(&self, taken: &[(Peer, Rounds)], connections: u32, cpu: f64) -> [Goal; 2] {
        let tls = if self.scheme == Scheme::Https { ", TLS" } else { "" };
        let name = self.baseline.name();
        let ratio = |of: fn(&Figures) -> f64| self.ratio(taken, Peer::Fire, of);
        [
            Goal::ratio_at_most(
                format!("{connections} connections{tls}: CPU per request ÷ {name}"),
                cpu,
                ratio(|figures| figures.cpu_us),
            ),
            Goal::ratio_reaches(
                format!("{connections} connections{tls}: throughput ÷ {name}"),
                THROUGHPUT,
                ratio(|figures| figures.per_second),
            ),
        ]
    }
}

/// Measures one generator. Starts a server for each measurement, so that none inherits another's
/// connections.
pub fn measure(
    peer: Peer,
    scheme: Scheme,
    connections: u32,
    seconds: u32,
) -> Result<Figures, BenchError> {
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
    Ok(Figures {
        cpu_us: measured.cpu_s * 1e6 / answers,
        per_second: answers / took_s,
        server_us: server_s * 1e6 / answers,
        resident_mb: measured.resident_bytes_max as f64 / 1e6,
    })
}

/// The interval of the throughput ratio must reach this.
const THROUGHPUT: f64 = 0.97;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;

    const AGAINST_WRK: Comparison<'_> = Comparison {
        baseline: Peer::Wrk,
        others: &Peer::OURS,
        scheme: Scheme::Http,
        connections: &[10],
        rounds: 9,
        cpu_goals: &[0.95],
    };

    fn rounds(cpu_us: f64, per_second: f64) -> Rounds {
        let figures = Figures { cpu_us, per_second, server_us: 1.0, resident_mb: 1.0 };
        (0..9).map(|_| Ok(figures)).collect()
    }

    fn verdicts(taken: &[(Peer, Rounds)]) -> [Verdict; 2] {
        AGAINST_WRK.goals(taken, 10, 0.95).map(|goal| goal.verdict)
    }

    #[test]
    fn goals_are_about_ratios_to_the_baseline() {
        let taken = |fire| [(Peer::Wrk, rounds(4.0, 100.0)), (Peer::Fire, fire)];
        assert_eq!(verdicts(&taken(rounds(3.8, 97.0))), [Verdict::Met; 2]);
        assert_eq!(verdicts(&taken(rounds(3.9, 96.0))), [Verdict::Missed; 2]);
    }

    #[test]
    fn without_the_baseline_there_is_no_ratio_to_another() {
        let taken = [(Peer::Epoll, rounds(4.0, 100.0)), (Peer::Fire, rounds(3.0, 120.0))];
        assert_eq!(AGAINST_WRK.ratio(&taken, Peer::Fire, |figures| figures.cpu_us), None);
        assert_eq!(verdicts(&taken), [Verdict::NotMeasured; 2]);
        let table = AGAINST_WRK.table(&taken);
        let row = table.lines().find(|line| line.contains("stampede fire")).unwrap();
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[2..6], ["3.00", "", "120", ""], "{table}");
    }

    #[test]
    fn a_failed_round_has_no_ratio_and_is_named() {
        let mut fire = rounds(2.0, 200.0);
        fire[3] = Err(BenchError::NoRightAnswer);
        let taken = [(Peer::Wrk, rounds(4.0, 100.0)), (Peer::Fire, fire)];
        let ratio = AGAINST_WRK.ratio(&taken, Peer::Fire, |figures| figures.cpu_us);
        assert_eq!(ratio, Some(Ratio { median: 0.5, low: 0.5, high: 0.5 }));
        assert!(AGAINST_WRK.table(&taken).contains("no right answer"));
    }
}
