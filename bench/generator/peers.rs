//! The load generators: how each is called in the closed model, and how its output is read.

use std::path::Path;
use std::process::Command;

use crate::cases::{REQUESTS, Sends};
use crate::measured::value;
use crate::{LOAD_CPU, itself, stampede};

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Wrk,
    Epoll,
    /// Without the kernel's timestamps.
    Unstamped,
    IoUring,
    /// Our own program as people call it; it chooses its engine itself.
    Fire,
    Ab,
    H2load,
    Oha,
    Rewrk,
    Autocannon,
    Hey,
    Zrk,
    Gcannon,
    /// Our own program as it was at another revision.
    Base,
}

/// The closed load that every generator runs.
#[derive(Clone, Copy, Debug)]
pub struct Closed<'a> {
    pub url: &'a str,
    pub connections: u32,
    pub seconds: u32,
}

impl Peer {
    /// Our own generator, as a library with each engine and as the whole program.
    pub const OURS: [Peer; 3] = [Peer::Epoll, Peer::IoUring, Peer::Fire];

    /// The generators of others, besides wrk.
    pub const OTHERS: [Peer; 8] = [
        Peer::Ab,
        Peer::H2load,
        Peer::Oha,
        Peer::Rewrk,
        Peer::Autocannon,
        Peer::Hey,
        Peer::Zrk,
        Peer::Gcannon,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Peer::Wrk => "wrk",
            Peer::Epoll => "stampede, epoll",
            Peer::Unstamped => "stampede, epoll, no timestamps",
            Peer::IoUring => "stampede, io_uring",
            Peer::Fire => "stampede fire",
            Peer::Ab => "ab",
            Peer::H2load => "h2load",
            Peer::Oha => "oha",
            Peer::Rewrk => "rewrk",
            Peer::Autocannon => "autocannon",
            Peer::Hey => "hey",
            Peer::Zrk => "zrk",
            Peer::Gcannon => "gcannon",
            Peer::Base => "stampede fire, base",
        }
    }

    /// The program's name or path.
    pub fn program(self) -> String {
        match self {
            Peer::Epoll | Peer::Unstamped | Peer::IoUring => itself(),
            Peer::Fire => stampede(),
            Peer::Base => std::env::var(BASE_PROGRAM).unwrap_or_default(),
            _ => self.name().to_owned(),
        }
    }

    /// Whether the program is installed.
    pub fn installed(self) -> bool {
        let program = self.program();
        if program.contains('/') { Path::new(&program).exists() } else { on_path(&program) }
    }

    /// The command for one thread on the load's CPU.
    pub fn command(self, load: Closed<'_>) -> Command {
        let (connections, seconds) = (load.connections.to_string(), load.seconds.to_string());
        let (c, s, for_, url) = (&*connections, &*seconds, &*format!("{seconds}s"), load.url);
        let cpu = &*LOAD_CPU.to_string();
        let (users, length) = (&*format!("users={c}"), &*format!("seconds={s}"));
        let arguments: &[&str] = match self {
            Peer::Wrk => &["-t", "1", "-c", c, "-d", for_, url],
            Peer::Epoll => &["fire", url, users, length, "engine=epoll"],
            Peer::Unstamped => {
                &["fire", url, users, length, "engine=epoll", "timestamps=userspace"]
            }
            Peer::IoUring => &["fire", url, users, length, "engine=io_uring"],
            Peer::Fire | Peer::Base => {
                &["fire", url, "--connections", c, "--for", for_, "--load-cpus", cpu, "--json"]
            }
            // ab ends after 50 000 requests by default; a later `-n` raises that limit.
            Peer::Ab => &["-q", "-k", "-c", c, "-t", s, "-n", "100000000", url],
            Peer::H2load => &["--h1", "-t", "1", "-c", c, "-D", s, url],
            // oha checks certificates unless told otherwise.
            Peer::Oha => {
                &["--no-tui", "--insecure", "--output-format", "json", "-c", c, "-z", for_, url]
            }
            Peer::Rewrk => &["-t", "1", "-c", c, "-d", for_, "-h", url, "--json"],
            Peer::Autocannon => &["--json", "--no-progress", "-c", c, "-d", s, url],
            Peer::Hey => &["-cpus", "1", "-c", c, "-z", for_, url],
            Peer::Zrk => {
                &["--closed", "-t1", "-c", c, "-d", for_, "-k", "--plain", "--format", "json", url]
            }
            Peer::Gcannon => &[url, "-c", c, "-t", "1", "-d", for_, "--json"],
        };
        self.pinned(load.seconds, arguments)
    }

    /// The command for a schedule of `rate` requests a second. `None`: the peer has no schedule, or
    /// it is not known here.
    pub fn by_a_schedule(self, url: &str, rate: u32, seconds: u32) -> Option<Command> {
        let (r, for_) = (&*rate.to_string(), &*format!("{seconds}s"));
        let (rate, length) = (&*format!("rate={r}"), &*format!("seconds={seconds}"));
        let arguments: &[&str] = match self {
            Peer::Epoll => &["fire", url, rate, length, "engine=epoll"],
            Peer::IoUring => &["fire", url, rate, length, "engine=io_uring"],
            Peer::Oha => &["--no-tui", "-c", "100", "-q", r, "-z", for_, url],
            Peer::Zrk => &["-t", "1", "-c", "100", "-R", r, "-d", for_, "--plain", url],
            _ => return None,
        };
        Some(self.pinned(seconds, arguments))
    }

    /// The command for numbered requests, which only our own generator can send, with a record of
    /// each in a file.
    pub fn numbered(self, target: &str, sends: Sends, seconds: u32, records: &Path) -> Command {
        let engine = if self == Peer::IoUring { "engine=io_uring" } else { "engine=epoll" };
        let much = match sends {
            Sends::Users(users) => [format!("users={users}"), format!("requests={REQUESTS}")],
            Sends::PerSecond(rate) => [format!("rate={rate}"), format!("seconds={seconds}")],
        };
        let mut command = self.pinned(seconds, &["fire", target, engine]);
        command.args(much).arg(format!("records={}", records.display()));
        command
    }

    /// The whole program with a schedule on a limited number of connections. The file has one URI
    /// for each request.
    pub fn fire_file(url: &str, rate: u32, seconds: u32, connections: u32, uris: &Path) -> Command {
        let (cpu, for_) = (LOAD_CPU.to_string(), format!("{seconds}s"));
        let mut command = Peer::Fire.pinned(seconds, &["fire", url, "--json"]);
        command.args(["--load-cpus", &cpu, "--for", &for_, "--rate", &rate.to_string()]);
        command.args(["--connections", &connections.to_string()]);
        command.args(["--traffic-format", "uri", "--traffic"]).arg(uris);
        command
    }

    /// The whole program with agents of this machine, which run as `program`. The file `uris` has one
    /// URI for each request; the merged histograms are written to `hlog`.
    pub fn fire_agents(
        url: &str,
        (rate, seconds): (u32, u32),
        agents: usize,
        [program, uris, hlog]: [&Path; 3],
    ) -> Command {
        let mut command = Peer::Fire.pinned(seconds, &["fire", url, "--json"]);
        command.args(["--schedule", &format!("const({rate},{seconds}s)")]);
        command.args(["--arrivals", "uniform", "--agents", &format!("local:{agents}")]);
        command.arg("--agent-program").arg(program).arg("--hlog").arg(hlog);
        command.args(["--traffic-format", "uri", "--traffic"]).arg(uris);
        command
    }

    fn pinned(self, seconds: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &LOAD_CPU.to_string()]);
        // A peer that does not end by itself is killed.
        command.args(["timeout", "--foreground", "--signal=KILL"]);
        command.arg((seconds + SPARE_S).to_string());
        command.arg(self.program()).args(arguments);
        command
    }

    /// Reads the number of right answers and the seconds they took from a peer's output.
    pub fn answers(self, printed: &str, asked_seconds: u32) -> Option<(f64, f64)> {
        let asked = f64::from(asked_seconds);
        match self {
            Peer::Wrk => {
                // `  123456 requests in 5.00s, 12.3MB read`, or `in 1.10m,`
                let line = printed.lines().find(|line| line.contains(" requests in "))?;
                let (requests, rest) = line.trim().split_once(" requests in ")?;
                let length = rest.split_once(',')?.0;
                let (number, unit) = length.split_at(length.len().checked_sub(1)?);
                let seconds: f64 = number.parse().ok()?;
                let seconds = if unit == "m" { seconds * 60.0 } else { seconds };
                Some((requests.parse().ok()?, seconds))
            }
            Peer::Epoll | Peer::Unstamped | Peer::IoUring => {
                Some((value(printed, "ok")?, value::<f64>(printed, "lasted_ns")? / 1e9))
            }
            Peer::Fire | Peer::Base => Some((
                number_after(printed, "\"requests_ok\":")?,
                number_after(printed, "\"duration_s\":")?,
            )),
            Peer::Ab => Some((number_after(printed, "Complete requests:")?, asked)),
            Peer::H2load => {
                // `requests: 9 total, 9 started, 9 done, 9 succeeded, …`
                let line = printed.lines().find(|line| line.starts_with("requests: "))?;
                let before = line.split_once(" succeeded")?.0;
                Some((before.rsplit(' ').next()?.parse().ok()?, asked))
            }
            Peer::Oha => Some((number_after(printed, "\"200\":")?, asked)),
            Peer::Rewrk => Some((number_after(printed, "\"requests_total\":")?, asked)),
            // autocannon runs longer than asked if connecting took long.
            Peer::Autocannon => {
                Some((number_after(printed, "\"2xx\":")?, number_after(printed, "\"duration\":")?))
            }
            Peer::Hey => Some((number_after(printed, "[200]")?, asked)),
            Peer::Zrk => Some((number_after(printed, "\"achieved_rate\":")? * asked, asked)),
            // Its counters begin 0.1 s after its load.
            Peer::Gcannon => Some((
                number_after(printed, "\"2xx\":")?,
                number_after(printed, "\"elapsed_sec\":")?,
            )),
        }
    }
}

/// Whether a program of that name is on the `PATH`.
pub fn on_path(program: &str) -> bool {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&directories).any(|at| at.join(program).exists())
}

fn number_after(text: &str, mark: &str) -> Option<f64> {
    let rest = text.split_once(mark)?.1.trim_start();
    let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The variable with the path of our own program at another revision.
pub const BASE_PROGRAM: &str = "BASE_PROGRAM";
/// Seconds that a peer may take beyond its time, before it is killed.
const SPARE_S: u32 = 30;
/// Both engines.
pub const ENGINES: [Peer; 2] = [Peer::Epoll, Peer::IoUring];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_and_seconds_are_read_from_what_each_peer_prints() {
        let zrk = r#"{"duration_s": 2.0, "achieved_rate": 1500.5, "error_rate": 0.0}"#;
        let gcannon = r#"{"elapsed_sec": 2.001, "rps": 1500.00, "status": {"2xx": 3001}}"#;
        for (peer, printed, answers) in [
            (Peer::Wrk, "  3000 requests in 2.10s, 12.3MB read", (3_000.0, 2.1)),
            (Peer::Wrk, "  3000 requests in 1.10m, 12.3MB read", (3_000.0, 66.0)),
            (Peer::Epoll, "ok 3000\nlasted_ns 2000000000\n", (3_000.0, 2.0)),
            (Peer::H2load, "requests: 9 total, 9 started, 8 succeeded, 1 failed", (8.0, 2.0)),
            (Peer::Zrk, zrk, (3_001.0, 2.0)),
            (Peer::Gcannon, gcannon, (3_001.0, 2.001)),
        ] {
            assert_eq!(peer.answers(printed, 2), Some(answers), "{}", peer.name());
            assert_eq!(peer.answers("nothing", 2), None, "{}", peer.name());
        }
    }
}
