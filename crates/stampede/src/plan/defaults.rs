//! What stands where a plan and its flags say nothing.
//!
//! A plan may leave out its app, its runtimes or its loads. Each has a default of its own, so that
//! leaving out one never asks for another. Which app and which runtimes depends on the directory
//! and the machine, and is the caller's to fill in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{PlanError, Source};
use super::flags::{Flags, Overrides};
use super::model::Plan;
use super::read::{file_tree, home, resolve};
use super::tree::{self, Node, Value};

/// The parts that neither the plan nor a flag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// What is measured.
    pub app: bool,
    /// What it is measured on.
    pub runtimes: bool,
    /// What is sent.
    pub load: bool,
    /// How often.
    pub rounds: bool,
}

/// Looks for what is not said. `path`: the plan; `None`: flags alone.
///
/// # Errors
/// The file cannot be read.
pub fn gaps(path: Option<&Path>, flags: &Overrides) -> Result<Gaps, PlanError> {
    let tree = path.map(file_tree).transpose()?.map(|(_, tree)| tree);
    let has = |key: &str| tree.as_ref().is_some_and(|tree| tree.get(key).is_some());
    Ok(Gaps {
        app: !has("app") && !has("apps") && flags.app.is_none(),
        runtimes: !has("runtimes") && flags.runtimes.is_none(),
        load: !has("load") && !flags.says_load(),
        rounds: !has("rounds") && flags.rounds.is_none(),
    })
}

/// The loads of a comparison that names none: the most that each runtime serves, and how long its
/// answers take at a rate that all can serve. As a plan has them.
pub(super) fn loads(with_steady: bool) -> Result<Node, PlanError> {
    let steady = if with_steady { STEADY } else { "" };
    of_text(format!("{steady}peak: {{concurrency: {AT_A_TIME}, for: {LENGTH}}}\n"))
}

/// As many connections as the peak has: more would have to be closed after each request by runtimes
/// that hold a worker for each, and half of the peak rarely needs more.
const STEADY: &str = "steady: {rate: \"50%\", for: 10s, max_in_flight: 8}\n";
/// As many as a runtime has workers where nobody says it: a kept connection fits each, also where
/// it holds its worker.
pub const AT_A_TIME: &str = "8";
/// Of one trial: some thousand answers of most apps.
pub const LENGTH: &str = "10s";

/// A plan for a stack that nobody sends a load to.
///
/// # Errors
/// As [`super::from_flags`].
pub fn stack_from_flags(flags: &Overrides) -> Result<Plan, PlanError> {
    let mut root = of_text(format!("app: hello\n{STAND_INS}"))?;
    let plan = resolve(&mut root, &Flags::new(flags), home())?;
    Ok(Plan { text: String::new(), ..plan })
}

/// A plan of which only the apps are meant, those of a file or of flags.
///
/// # Errors
/// As [`super::read`].
pub fn apps(path: Option<&Path>, flags: &Overrides) -> Result<Plan, PlanError> {
    let (app, kind) = (flags.app.clone(), flags.kind.clone());
    let flags = Overrides { app, kind, ..Overrides::default() };
    let Some(path) = path else { return stack_from_flags(&flags) };
    let (_, plan) = file_tree(path)?;
    let mut root = of_text(STAND_INS.to_owned())?;
    for key in ["app", "apps"] {
        if let (Some((key, value)), Value::Map(entries)) = (plan.entry(key), &mut root.value) {
            entries.push((key.clone(), value.clone()));
        }
    }
    resolve(&mut root, &Flags::new(&flags), home())
}

/// Parts that every plan has; nobody wrote them, so no mistake points here.
const STAND_INS: &str =
    "runtimes: [external: {url: \"http://127.0.0.1\"}]\nload: [{concurrency: 1, requests: 1}]\n";

fn of_text(text: String) -> Result<Node, PlanError> {
    let (name, base) = ("default".to_owned(), PathBuf::new());
    tree::parse(&Arc::new(Source { name, text, base }))
}
