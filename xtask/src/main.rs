//! Runs the project's own chores, such as `cargo xtask tidy` and `cargo xtask ci`.

mod ci;
mod dist;
mod error;
mod keys;
mod php;
mod picture;
mod programs;
mod report_ui;
mod stampede;
mod tidy;
mod tree;
mod types;
mod workers;
mod xdebug;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ci::Tier;
use error::ChoreError;
use programs::Results;

const USAGE: &str = "\
usage: cargo xtask <chore>

  tidy      check the house rules that no other tool checks (see STYLE.md)
  check     format, lints, tidy, unit tests, the types of the page's data, the keys in the docs
  ci        the same, the dependencies, the report's page, PHP, and all tests but the longest
  all       the same, and every other test; `all 75m` starts no long test after 75 minutes
  codes     the tests that are not ignored, in a build that prints codes in place of sentences
  report-ui build the report's page from report-ui/ into the source
  keys      write the reference of a plan's keys, a part of docs/plans.md, from the program's table
  php       PHP alone: syntax, and where they are installed phpcs, phpstan and phpunit
  types     write the types of the page's data, report-ui/src/data.generated.ts, from the program's
  dist      static binaries with sums, SBOM and licences in target/dist; `dist x86_64`: only this one;
            `dist --verify` builds them again at another path, and compares
  deb       Debian packages of the binaries in target/dist
  picture   standard input, a terminal's text, as SVG on standard output";

fn main() -> ExitCode {
    let chores: Vec<String> = std::env::args().skip(1).collect();
    let result = match chores.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["check"] => ci::run(&root(), Tier::Check, None, tidy),
        ["ci"] => ci::run(&root(), Tier::Test, None, tidy),
        ["all"] => ci::run(&root(), Tier::All, None, tidy),
        ["all", minutes] if minutes_of(minutes).is_some() => {
            ci::run(&root(), Tier::All, minutes_of(minutes), tidy)
        }
        ["codes"] => ci::run_codes(&root()),
        ["report-ui"] => report_ui::build(&root()),
        ["keys"] => keys::write(&root()),
        ["php"] => php::check(&root(), &mut Results::default()),
        ["types"] => types::write(&root()),
        ["dist", "--verify", ref architectures @ ..] => dist::verify(&root(), architectures),
        ["dist", ref architectures @ ..] => dist::make(&root(), architectures),
        ["deb", ref architectures @ ..] => dist::pack(&root(), architectures),
        ["picture"] => std::io::read_to_string(std::io::stdin())
            .map(|text| print!("{}", picture::svg(&text)))
            .map_err(ChoreError::Io),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

/// A number of minutes: `75m`.
fn minutes_of(text: &str) -> Option<Duration> {
    let minutes: u64 = text.strip_suffix('m')?.parse().ok()?;
    Some(Duration::from_secs(60 * minutes))
}

/// The workspace's directory: the parent of this crate's directory.
fn root() -> PathBuf {
    // Read at run time, not at build time: two checkouts may share a target directory.
    let asked = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let own = asked.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    own.parent().map_or(own.clone(), PathBuf::from)
}

fn tidy() -> Result<(), ChoreError> {
    let tree = tree::Tree::read(&root())?;
    let findings = tidy::check(&tree);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} files are as STYLE.md wants them", tree.files().len());
            Ok(())
        }
        findings => Err(ChoreError::Untidy { findings, files: tree.files().len() }),
    }
}
