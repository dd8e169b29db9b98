//! Tests stampede with three servers whose truth is known: two take 20 ms for each answer, and one
//! takes 5 % more. stampede must find that one, and must not call the other two different.
//!
//! `cargo build --release -p stampede && cargo run --release -p stampede --example planted -- 5`

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer};

/// The answer of the app `hello`.
const BODY: &str = include_str!("../../apps/hello/expected.json");

/// Long compared with the 0.1 ms that server and kernel add.
const TAKES: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let rounds = std::env::args().nth(1).unwrap_or_else(|| "5".to_owned());
    match compared(&rounds) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether exactly the planted difference was found.
fn compared(rounds: &str) -> Result<bool, Box<dyn std::error::Error>> {
    let answer =
        || Answer::new(200, BODY.replace(": ", ":")).field("Content-Type", "application/json");
    let server = |takes| KnownServer::start(Behaviour::answering_after(takes, answer()));
    let servers = [
        ("base", server(TAKES)?),
        ("same", server(TAKES)?),
        ("slower", server(TAKES.mul_f64(1.05))?),
    ];
    let runtimes = servers.iter().map(|(name, server)| {
        format!("  - {{{name}: {{use: external, url: \"http://{}\"}}}}\n", server.address())
    });
    let plan = format!(
        "app: hello\nruntimes:\n{}load: [{{concurrency: 4, for: 3s}}]\nwarm_up: 500ms\nrounds: {rounds}\n",
        runtimes.collect::<String>()
    );
    let path = std::env::temp_dir().join(format!("stampede-planted-{}.yaml", std::process::id()));
    std::fs::write(&path, plan)?;
    let ran = Command::new(stampede()?).arg("compare").arg(&path).arg("--json").output();
    std::fs::remove_file(&path)?;
    let ran = ran?;
    eprint!("{}", String::from_utf8_lossy(&ran.stderr));
    let summary: Value = serde_json::from_slice(&ran.stdout)?;
    let group = &summary["groups"][0];
    println!("{}", group["sentence"].as_str().unwrap_or_default());
    let mut letters = std::collections::BTreeMap::new();
    for case in summary["cases"].as_array().into_iter().flatten() {
        let (runtime, own) = (&case["runtime"], &case["letters"]);
        println!(
            "{}: {}",
            runtime.as_str().unwrap_or_default(),
            own.as_str().unwrap_or("no letter")
        );
        letters.insert(runtime.as_str().unwrap_or_default(), own.clone());
    }
    let judged = group["comparisons"].as_array().into_iter().flatten();
    let slower = judged.filter(|other| other["judged"] == "smaller").count();
    // Throughput: only the slower server has less of it.
    let is_found =
        slower == 1 && letters["base"] == letters["same"] && letters["base"] != letters["slower"];
    println!("{}", if is_found { "found, and nothing else" } else { "NOT as planted" });
    Ok(is_found)
}

/// Why the program to run was not found.
#[derive(Debug, thiserror::Error)]
enum ProgramError {
    /// The path of this program is unknown.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// `stampede` was not built.
    #[error(
        "there is no `stampede` beside this\n\nhint: `cargo build --release -p stampede` first"
    )]
    NotBuilt,
}

/// The `stampede` beside this program.
fn stampede() -> Result<PathBuf, ProgramError> {
    let here = std::env::current_exe()?;
    let built = here.ancestors().nth(2).map(|directory| directory.join("stampede"));
    built.filter(|path| path.is_file()).ok_or(ProgramError::NotBuilt)
}
