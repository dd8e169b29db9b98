//! Runs the inputs that the fuzzers begin with once through the same functions: `fuzz/corpus` on
//! any toolchain.

use std::path::{Path, PathBuf};

#[path = "../../../../fuzz/entries/check.rs"]
mod check;
#[path = "../../../../fuzz/entries/chunked.rs"]
mod chunked;
#[path = "../../../../fuzz/entries/fastcgi.rs"]
mod fastcgi;
#[path = "../../../../fuzz/entries/http1.rs"]
mod http1;
#[path = "../../../../fuzz/entries/schedule.rs"]
mod schedule;
#[path = "../../../../fuzz/entries/torn.rs"]
mod torn;
#[path = "../../../../fuzz/entries/traffic.rs"]
mod traffic;

/// What a target takes.
#[derive(Clone, Copy)]
enum Run {
    Bytes(fn(&[u8])),
    /// Text; inputs that are no text are skipped.
    Text(fn(&str)),
}

const TARGETS: [(&str, Run); 6] = [
    ("traffic", Run::Bytes(traffic::run)),
    ("check", Run::Text(check::run)),
    ("chunked", Run::Bytes(chunked::run)),
    ("fastcgi", Run::Bytes(fastcgi::run)),
    ("http1", Run::Bytes(http1::run)),
    ("schedule", Run::Text(schedule::run)),
];
/// Targets whose test is in another crate.
const ELSEWHERE: [&str; 5] = ["agents", "autostop", "code", "load_yaml", "script"];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_fuzz_input_passes() {
    for (target, run) in TARGETS {
        for name in names_in(&corpus().join(target)) {
            // Shown if the test panics.
            println!("{target}/{name}");
            let bytes = std::fs::read(corpus().join(target).join(name)).unwrap();
            match (run, str::from_utf8(&bytes)) {
                (Run::Bytes(run), _) => run(&bytes),
                (Run::Text(run), Ok(text)) => run(text),
                (Run::Text(_), Err(_)) => {}
            }
        }
    }
}

#[test]
fn every_fuzz_target_is_tested() {
    let mut known: Vec<&str> = TARGETS.iter().map(|(target, _)| *target).collect();
    known.extend(ELSEWHERE);
    known.sort_unstable();
    assert_eq!(names_in(&corpus()), known);
    let programs = names_in(&corpus().join("../fuzz_targets"));
    let programs: Vec<&str> =
        programs.iter().filter_map(|program| program.strip_suffix(".rs")).collect();
    assert_eq!(programs, known);
}
