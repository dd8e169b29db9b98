//! Fills in defaults for the parts that a plan and its flags leave out.
//!
//! A plan may leave out its app, its runtimes or its loads. Each has its own default, so that
//! leaving out one part never requires another. Which app and which runtimes are chosen depends on
//! the directory and the machine, so the caller fills them in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compose::all_bring_their_app;
use super::error::{PlanError, Source};
use super::flags::Overrides;
use super::read::file_tree;
use super::tree::{self, Node};

/// The parts that neither the plan nor a flag gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingParts {
    /// The app.
    pub app: bool,
    /// The runtimes.
    pub runtimes: bool,
    /// The loads.
    pub load: bool,
    /// The number of rounds.
    pub rounds: bool,
}

/// Finds the parts that are not given. `path` is the plan's; `None`: there are only flags.
///
/// # Errors
/// The file cannot be read.
pub fn missing_parts(path: Option<&Path>, flags: &Overrides) -> Result<MissingParts, PlanError> {
    let tree = path.map(file_tree).transpose()?.map(|(_, tree)| tree);
    let is_compose = !flags.compose.files.is_empty();
    let brings_app = match (&flags.runtimes, &tree) {
        (Some(_), _) => false,
        (None, Some(tree)) => {
            let runtimes = tree.get("runtimes");
            runtimes.map_or(is_compose, |_| all_bring_their_app(runtimes))
        }
        (None, None) => is_compose,
    };
    let has = |key: &str| tree.as_ref().is_some_and(|tree| tree.get(key).is_some());
    Ok(MissingParts {
        app: !has("app") && !has("apps") && flags.app.is_none() && !brings_app,
        runtimes: !has("runtimes") && flags.runtimes.is_none() && !is_compose,
        load: !has("load") && !flags.sets_load(),
        rounds: !has("rounds") && flags.rounds.is_none(),
    })
}

/// The default loads, in the form of a plan. They show the peak of each runtime, and the times of
/// its answers at a rate that all runtimes can serve.
pub(super) fn loads(with_steady: bool) -> Result<Node, PlanError> {
    let steady = if with_steady { STEADY } else { "" };
    of_text(format!("{steady}peak: {{concurrency: {AT_A_TIME}, for: {LENGTH}}}\n"))
}

/// `max_in_flight` equals the peak's concurrency. With more connections, runtimes that hold a
/// worker per connection would need a new connection for each request. Half of the peak rarely
/// needs more.
const STEADY: &str = "steady: {rate: \"50%\", for: 10s, max_in_flight: 8}\n";
/// The peak's concurrency. It equals the default number of workers, so that each kept-alive
/// connection has a worker even in runtimes that hold a worker per connection.
pub const AT_A_TIME: &str = "8";
/// Length of one trial: long enough for some thousand answers of most apps.
pub const LENGTH: &str = "10s";

fn of_text(text: String) -> Result<Node, PlanError> {
    let (name, base) = ("default".to_owned(), PathBuf::new());
    tree::parse(&Arc::new(Source { name, text, base }))
}
