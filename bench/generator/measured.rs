//! Runs a program to its end, and returns its output and its cost.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::str::FromStr;

/// The output and the cost of a program.
#[derive(Clone, Debug)]
pub struct Measured {
    pub printed: String,
    pub status: ExitStatus,
    /// User and system CPU time in s, of the process and of the children that it waited for.
    pub cpu_s: f64,
    /// The largest resident set in bytes.
    pub resident_bytes_max: u64,
}

/// Runs a command to its end. Its standard error is ours.
pub fn run(command: &mut Command) -> io::Result<Measured> {
    // `wait4` waits for it below: only that call returns the cost of this one process.
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut bytes = Vec::new();
    if let Some(output) = &mut child.stdout {
        output.read_to_end(&mut bytes)?;
    }
    let printed = String::from_utf8_lossy(&bytes).into_owned();
    let mut status = 0;
    // SAFETY: plain numbers, for which all zeroes are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both are written by the call and live through it; the process is our child and nobody
    // else waits for it.
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

/// Returns the value after `name` in lines of `name value`.
pub fn value<T: FromStr>(printed: &str, name: &str) -> Option<T> {
    let line = printed.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}
