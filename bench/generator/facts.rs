//! Collects the facts that a result needs to mean anything: the machine, the programs, the date.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::error::BenchError;
use crate::itself;
use crate::peers::Peer;

/// Returns the head of a result.
pub fn head() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
    let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let virtual_ = if cpus.contains(" hypervisor ") { "virtual machine" } else { "bare metal" };
    let mut text = format!(
        "# The generator, {}\n\n- {} × {}, {virtual_}\n- {}\n- load average at the start: {}\n- commit {}\n",
        day(),
        count,
        model.trim_start_matches([' ', '\t', ':']),
        said("uname", &["-sr"]),
        load.split(' ').take(3).collect::<Vec<_>>().join(" "),
        said("git", &["describe", "--always", "--dirty"]),
    );
    let words: Vec<String> = std::env::args().skip(1).collect();
    text += &format!("- `make bench`, or `generator {}`\n", words.join(" "));
    // SAFETY: reads a number of the calling thread.
    if unsafe { libc::sched_getscheduler(0) } != libc::SCHED_OTHER {
        text += "- under `chrt`: the machine was not idle\n";
    }
    text += &format!("- {}\n", said("nginx", &["-v"]));
    text += &format!("- {}\n", said("openssl", &["version"]));
    let peers = [Peer::Fire, Peer::Wrk].into_iter().chain(Peer::OTHERS);
    for peer in peers.filter(|peer| peer.installed()) {
        let version = match peer {
            Peer::Gcannon => "gcannon".to_owned(),
            Peer::Wrk => said("wrk", &["-v"]),
            Peer::Ab => said("ab", &["-V"]),
            Peer::Hey => "hey".to_owned(),
            _ => said(&peer.program(), &["--version"]),
        };
        text += &format!("- {version}\n");
    }
    text
}

/// Writes the result beside this program, in place of an earlier one. What is worth keeping of it
/// goes into bench/README.md.
pub fn write(report: &str) -> Result<String, BenchError> {
    let path = PathBuf::from(itself()).with_file_name("generator.md");
    match fs::write(&path, report) {
        Ok(()) => Ok(path.display().to_string()),
        Err(source) => Err(BenchError::File { path, source }),
    }
}

fn day() -> String {
    said("date", &["-u", "+%F"])
}

/// The first line that a program prints.
fn said(program: &str, arguments: &[&str]) -> String {
    let Ok(output) = Command::new(program).args(arguments).output() else { return "?".to_owned() };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("?").trim().to_owned()
}
