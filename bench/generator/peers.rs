//! The load generators: how each is called in the closed model, and how its output is read.

use std::path::Path;
use std::process::Command;

use crate::measured::value;
use crate::{LOAD_CPU, itself, stampede};

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Wrk,
    Epoll,
    IoUring,
    /// Our own program as people call it; it chooses its engine itself.
    Fire,
    Ab,
    H2load,
    Oha,
    Rewrk,
    Autocannon,
    Hey,
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
    /// All peers. wrk comes first, because the others are compared with it.
    pub const ALL: [Peer; 10] = [
        Peer::Wrk,
        Peer::Epoll,
        Peer::IoUring,
        Peer::Fire,
        Peer::Ab,
        Peer::H2load,
        Peer::Oha,
        Peer::Rewrk,
        Peer::Autocannon,
        Peer::Hey,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Peer::Wrk => "wrk",
            Peer::Epoll => "stampede, epoll",
            Peer::IoUring => "stampede, io_uring",
            Peer::Fire => "stampede fire",
            Peer::Ab => "ab",
            Peer::H2load => "h2load",
            Peer::Oha => "oha",
            Peer::Rewrk => "rewrk",
            Peer::Autocannon => "autocannon",
            Peer::Hey => "hey",
            Peer::Base => "stampede fire, base",
        }
    }

    /// The program's name or path.
    pub fn program(self) -> String {
        match self {
            Peer::Epoll | Peer::IoUring => itself(),
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
        let arguments: &[&str] = match self {
            Peer::Wrk => &["-t", "1", "-c", c, "-d", for_, url],
            Peer::Epoll => &["fire-closed", url, c, s, "epoll"],
            Peer::IoUring => &["fire-closed", url, c, s, "io_uring"],
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
        };
        self.pinned(load.seconds, arguments)
    }

    /// The command for a schedule of `rate` requests a second. `None`: the peer has no schedule, or
    /// it is not known here.
    pub fn by_a_schedule(self, url: &str, rate: u32, seconds: u32) -> Option<Command> {
        let (rate, s, for_) = (&*rate.to_string(), &*seconds.to_string(), &*format!("{seconds}s"));
        let arguments: &[&str] = match self {
            Peer::Epoll => &["fire-open", url, rate, s, "epoll"],
            Peer::IoUring => &["fire-open", url, rate, s, "io_uring"],
            Peer::Oha => &["--no-tui", "-c", "100", "-q", rate, "-z", for_, url],
            _ => return None,
        };
        Some(self.pinned(seconds, arguments))
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
            Peer::Epoll | Peer::IoUring => {
                Some((value(printed, "ok")?, value(printed, "lasted_ns")? / 1e9))
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
