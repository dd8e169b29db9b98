//! The server of the open model: the null server in a separate process on its own CPU. It stamps
//! every request.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use stampede_known_server::{Freeze, IdleMode, Listen, NullServer, NullServerOptions};

use crate::error::BenchError;
use crate::{SERVER_CPU, itself};

/// A running server. It ends when its standard input closes.
pub struct Stamped {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
    pub url: String,
}

/// Arrival and answer of each request, in ns of the machine's monotonic clock.
pub type Stamps = Vec<(u64, u64)>;

/// When the server answers a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    AtOnce,
    /// After a millisecond of work, one request after another.
    InOneMs,
    /// At once, but frozen for 500 ms every 2 s.
    Frozen,
}

impl Stamped {
    /// Starts the server. If it spins, its stamps contain no delay from waking up, but it leaves
    /// other programs no CPU except the generator's.
    pub fn start(serves: Serves, waiting: IdleMode) -> Result<Stamped, BenchError> {
        let waiting = match waiting {
            IdleMode::Sleep => "sleeps",
            IdleMode::Spin => "spins",
        };
        let serves = match serves {
            Serves::AtOnce => "at-once",
            Serves::InOneMs => "in-one-ms",
            Serves::Frozen => "freezes",
        };
        let mut process = Command::new(itself())
            .args(["serve", serves, waiting])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| BenchError::NoProcess { child: "the null server", source })?;
        let output = process.stdout.take().expect("its output is piped");
        let mut output = BufReader::new(output);
        let mut address = String::new();
        output.read_line(&mut address)?;
        let url = format!("http://{}/", address.trim());
        Ok(Stamped { process, output, url })
    }

    /// Ends the server and returns its stamps, in the order of the requests' numbers if they have
    /// any, otherwise of arrival.
    pub fn finish(mut self) -> Result<Stamps, BenchError> {
        drop(self.process.stdin.take());
        let mut bytes = Vec::new();
        self.output.read_to_end(&mut bytes)?;
        let _ = self.process.wait();
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let stamps = bytes.chunks_exact(24).map(|stamp| stamp.chunks_exact(8).map(number));
        let mut stamps: Vec<Vec<u64>> = stamps.map(Iterator::collect).collect();
        stamps.sort_by_key(|stamp| stamp[0]);
        let is_numbered = stamps.iter().any(|stamp| stamp[0] > 0);
        let is_whole = stamps.iter().enumerate().all(|(run, stamp)| stamp[0] == run as u64);
        if is_numbered && !is_whole {
            return Err(BenchError::LostRequest);
        }
        Ok(stamps.iter().map(|stamp| (stamp[1], stamp[2])).collect())
    }
}

impl Drop for Stamped {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Runs the server in this process. As root, it gets priority on its CPU and locks its memory: the
/// measurement is about the generator's lag, not the server's.
pub fn serve(arguments: &[&str]) {
    let waiting = if arguments.contains(&"sleeps") { IdleMode::Sleep } else { IdleMode::Spin };
    // SAFETY: takes no memory of ours.
    let _ = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    come_first(waiting);
    let (at, lasts) = (Duration::from_secs(2), Duration::from_millis(500));
    let freeze = Freeze { at, lasts, every: Some(Duration::from_secs(2)) };
    let options = NullServerOptions {
        cpu: Some(SERVER_CPU),
        waiting,
        stamps: STAMPS,
        freeze: arguments.contains(&"freezes").then_some(freeze),
        work_time: Duration::from_millis(arguments.contains(&"in-one-ms").into()),
    };
    let server = NullServer::start_with(&Listen::Tcp, options).expect("a null server");
    println!("{}", server.address());
    let _ = std::io::stdin().read(&mut [0]);
    let mut bytes = Vec::new();
    for stamp in server.finish() {
        for number in [stamp.number, stamp.arrived_ns, stamp.answered_ns] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    let _ = std::io::stdout().write_all(&bytes);
}

/// Lets no other process run on the CPU while there is a request, if the user may do that. A nice
/// value counts only within a session: the agent of a cloud machine took 3 ms of the server's CPU a
/// second. A server that never sleeps cannot have real-time priority: the kernel stops a process
/// that takes all of it.
fn come_first(waiting: IdleMode) {
    // SAFETY: takes no memory of ours.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, FIRST) };
    if waiting == IdleMode::Sleep {
        let lowest = libc::sched_param { sched_priority: 1 };
        // SAFETY: reads one number, which is there.
        let _ = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const lowest) };
    }
}

/// The nice value with the highest priority.
const FIRST: i32 = -20;
/// Room for 50 000/s for a minute.
const STAMPS: usize = 3_000_000;
