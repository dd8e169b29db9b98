//! The command line: reads the arguments and runs the commands.

mod agent;
mod agent_files;
mod args;
mod args_app;
mod args_check;
mod args_fire;
mod args_limits;
mod args_load;
mod args_log;
mod args_traffic;
mod calibrate;
mod capacity;
mod check;
mod check_again;
mod check_database;
mod check_error;
mod check_file;
mod check_flags;
mod compare;
mod demo;
mod diff;
mod doctor;
mod doctor_engine;
mod fail;
mod fairness;
mod fire;
mod foreign;
mod get;
mod history;
mod in_engine;
mod init;
mod install;
mod peak;
mod plan_flags;
mod remote;
mod report;
mod runtimes;
mod schemas;
mod serve;
mod shell;
mod traffic;
mod tune;
mod up;

use std::process::ExitCode;

use clap::Parser as _;
use stampede_mask::Masked;

pub use args::Cli;
use args::Command;
pub use fail::{Failure, Outcome};

/// Runs the command of the arguments. Results go to stdout, everything else to stderr.
pub fn run() -> ExitCode {
    crate::own_words::set();
    shell::mask_panics();
    fire::guard_terminal();
    stampede_compose::news::tell_by(crate::progress::tell);
    stampede_mask::environment(std::env::vars_os());
    stampede_mask::args(
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()),
    );
    if let Err(failure) = in_engine::begin() {
        return failure.print();
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_understood(&foreign::explained(error)),
    };
    match dispatch(cli) {
        Ok(outcome) => outcome.into(),
        // It can be done where the engine's containers run.
        Err(failure) => {
            failure.hidden_engine().and_then(in_engine::run).unwrap_or_else(|| failure.print())
        }
    }
}

/// Prints clap's message without secrets, because it quotes what was typed. Help and version are
/// such messages too.
fn not_understood(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if *stampede_mask::mask_known(&text) == *text {
        error.exit();
    }
    match error.use_stderr() {
        true => shell::print_error(&Masked::text(&text)),
        false => drop(shell::print(stampede_mask::mask_secrets(&text).as_bytes())),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn dispatch(cli: Cli) -> Result<Outcome, Failure> {
    match cli.command {
        Command::Compare(args) => compare::run(*args),
        Command::Demo(args) => demo::run(&args),
        Command::Fire(args) => fire::run(*args),
        Command::Agent(args) => agent::run(args),
        Command::Traffic(args) => traffic::run(&args),
        Command::Capacity(args) => capacity::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Up(args) => up::run(args),
        Command::Runtimes(args) => runtimes::run(&args),
        Command::Install(args) => install::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::History(args) => history::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Schema { of } => shell::schema(of),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man => shell::man(),
    }
}
