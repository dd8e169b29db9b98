//! `stampede runtimes`: what can be compared here.

use super::args::ListArgs;
use super::shell::print;
use super::{Failure, Outcome};
use crate::runtime::{self, Catalogue, Listed, Places, State};

/// Lists them.
pub fn run(args: &ListArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load(Places::from_env());
    let listed = runtime::list(&catalogue);
    if args.json {
        let text = serde_json::to_string_pretty(&listed).map_err(|error| Failure::new(&error))?;
        return print(format!("{text}\n").as_bytes());
    }
    print(listed.iter().map(lines).collect::<String>().as_bytes())
}

fn lines(one: &Listed) -> String {
    let mut text = format!("{:<16} {:<12} {}\n", one.name, one.mode, one.title);
    let mut add = |line: String| text.push_str(&format!("{:<16} {:<12} {line}\n", "", ""));
    match &one.state {
        State::Found { versions, .. } => {
            versions.iter().for_each(|(need, version)| add(format!("✔ {need}: {version}")));
        }
        State::Missing { missing, install } => {
            add(format!("✘ missing: {}", missing.join(", ")));
            if let Some(command) = install {
                add(format!("  get it: {command}"));
            }
        }
        State::Wrong { problem } => add(format!("✘ {problem}")),
    }
    text
}
