//! `stampede runtimes`: what can be compared here.

use super::args::ListArgs;
use super::shell::print;
use super::{Failure, Outcome};
use crate::runtime::{self, Catalogue, Found};

/// Lists them.
pub fn run(args: &ListArgs) -> Result<Outcome, Failure> {
    let catalogue = Catalogue::load().map_err(|error| Failure::new(&error))?;
    let listed = runtime::list(&catalogue);
    if args.json {
        let text = serde_json::to_string_pretty(&listed).map_err(|error| Failure::new(&error))?;
        return print(format!("{text}\n").as_bytes());
    }
    let mut text = String::new();
    for one in &listed {
        text.push_str(&format!("{:<16} {:<12} {}\n", one.name, one.mode, one.title));
        match &one.found {
            Found::Here { versions } => {
                for (program, version) in versions {
                    text.push_str(&format!("{:<16} {:<12} ✔ {program}: {version}\n", "", ""));
                }
            }
            Found::Missing { what, command } => {
                text.push_str(&format!("{:<16} {:<12} ✘ missing: {}\n", "", "", what.join(", ")));
                text.push_str(&format!("{:<16} {:<12}   get it: {command}\n", "", ""));
            }
        }
    }
    print(text.as_bytes())
}
