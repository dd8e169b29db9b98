//! The command `stampede runtimes`: lists what can be compared on this machine.

use stampede_stack::{self, Catalogue, RuntimeListing, RuntimeState, SearchPaths};

use super::args::RuntimesArgs;
use super::shell::print;
use super::{Failure, Outcome};

/// Lists the runtimes.
pub fn run(args: &RuntimesArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load(SearchPaths::from_env());
    for name in &args.names {
        if !catalogue.runtime_names().iter().any(|known| known.contains(name.as_str())) {
            catalogue.runtime(name)?;
        }
    }
    let is_asked = |one: &RuntimeListing| {
        args.names.is_empty() || args.names.iter().any(|name| one.name.contains(name.as_str()))
    };
    let listed: Vec<RuntimeListing> =
        stampede_stack::list(&catalogue).into_iter().filter(is_asked).collect();
    if args.json {
        let text = serde_json::to_string_pretty(&listed).map_err(|error| Failure::new(&error))?;
        return print(format!("{text}\n").as_bytes());
    }
    print(listed.iter().map(lines).collect::<String>().as_bytes())
}

/// Indent of an entry's later lines, so that they begin below its text.
const HANGING: usize = 4;

fn lines(one: &RuntimeListing) -> String {
    let style = super::report::style();
    let mut text = format!("{:<17} {:<12} {}\n", one.name, one.mode, one.title);
    let mut add = |line: String| {
        for line in style.wrap(&format!("  {line}"), HANGING) {
            text.push_str(&format!("{line}\n"));
        }
    };
    match &one.state {
        RuntimeState::Found { versions, .. } => {
            versions.iter().for_each(|(need, version)| add(format!("✔ {need}: {version}")));
        }
        RuntimeState::Missing { missing, install } => {
            add(format!("✘ missing: {}", missing.join(", ")));
            if let Some(command) = install {
                add(format!("  get it: {command}"));
            }
        }
        RuntimeState::Wrong { problem } => add(format!("✘ {problem}")),
    }
    text
}
