//! Reads the names of rows: a runtime of the plan, and an app.

use super::error::{Mistake, PlanError};
use super::keys::CONTROL;
use super::model::{AppChoice, AppPlace, Control, Plan};
use super::tree::{Node, Value};
use super::value::{Fields, name_of, text};

/// Reads the name of a runtime of the plan. The name of a sweep stands for its first variant.
pub(super) fn runtime(plan: &Plan, node: &Node) -> Result<String, PlanError> {
    let names = || plan.stack.runtimes.iter().map(|runtime| runtime.name.as_str());
    let wanted = text(node, "a runtime", "the name of a runtime of the plan")?;
    let is_variant =
        |name: &&str| name.strip_prefix(wanted).is_some_and(|rest| rest.starts_with(' '));
    if let Some(name) = names().find(is_variant).filter(|_| !names().any(|name| name == wanted)) {
        return Ok(name.to_owned());
    }
    name_of(node, "runtime of the plan", &names().collect::<Vec<_>>()).map(str::to_owned)
}

/// Reads `nginx-fpm`, or `{runtime: nginx-fpm, app: hello}`.
pub(super) fn control(plan: &Plan, node: &Node) -> Result<Control, PlanError> {
    let Value::Map(_) = node.value else {
        return Ok(Control { runtime: runtime(plan, node)?, app: None });
    };
    let fields = Fields::of(node, &CONTROL)?;
    let runtime = fields.get("runtime").ok_or_else(|| {
        let expected = "`control: nginx-fpm`, or `control: {runtime: nginx-fpm, app: hello}`";
        node.place.wrong(Mistake::Missing("runtime"), expected)
    })?;
    let runtime = self::runtime(plan, runtime)?;
    let names: Vec<&str> = plan.stack.apps.choices.iter().filter_map(name).collect();
    let app = fields.get("app").map(|node| name_of(node, "app of the plan", &names)).transpose()?;
    Ok(Control { runtime, app: app.map(str::to_owned) })
}

/// The name of an app in tables: that of the catalogue, or of its directory.
fn name(app: &AppChoice) -> Option<&str> {
    match &app.place {
        AppPlace::Named(name) => Some(name),
        AppPlace::Directory(directory) => directory.file_name()?.to_str(),
        AppPlace::Provided => None,
    }
}
