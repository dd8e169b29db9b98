//! A program run to its end, with what it printed and what it cost.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

/// What a program printed and cost.
#[derive(Clone, Debug)]
pub struct Measured {
    pub printed: String,
    pub status: ExitStatus,
    /// User and system time of the process and of the children that it waited for.
    pub cpu_s: f64,
    /// The largest resident set.
    pub resident_bytes_max: u64,
}

/// Runs a command to its end. Its errors go where ours go.
pub fn run(command: &mut Command) -> io::Result<Measured> {
    // Waited for below by `wait4`, which alone tells the cost of this one process.
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut bytes = Vec::new();
    if let Some(output) = &mut child.stdout {
        output.read_to_end(&mut bytes)?;
    }
    let printed = String::from_utf8_lossy(&bytes).into_owned();
    let mut status = 0;
    // SAFETY: plain numbers, for which all zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are written by the call and live through it; the process is our child and
    // nobody else waits for it.
    let waited = unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
    if waited < 0 {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Measured {
        printed,
        status: ExitStatus::from_raw(status),
        cpu_s: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        resident_bytes_max: usage.ru_maxrss as u64 * 1024,
    })
}

/// The value behind `name` in lines of `name value`.
pub fn value(printed: &str, name: &str) -> Option<f64> {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}
