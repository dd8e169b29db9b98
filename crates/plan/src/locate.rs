//! Finds places in the text of a resolved plan, for checks that come after reading. Only the
//! catalogue knows whether a runtime, an app or a setting exists. Each part of a plan holds the text
//! and the flags that it was made of, so a place can be found again.

use std::sync::Arc;

use super::error::{Help, Mistake, Place, PlanError, Source, nearest, one_of};
use super::flags::Flags;
use super::model::{AppChoice, AppPlace};
use super::parts::Written;
use super::read::to_present_form;
use super::runtimes::APPEND;
use super::tree::{self, Node, Value, shortened};

/// What a later check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject<'a> {
    /// An app, and its number among the plan's apps, from 0. A resolved path of a directory differs
    /// from what was written, so only the number finds it again.
    App(usize, &'a AppChoice),
    /// A runtime by its name in the plan (`RuntimeChoice::name`).
    Runtime(&'a str),
    /// A setting of a runtime: the runtime's own, one of a sweep, or the plan's.
    Setting {
        /// `RuntimeChoice::name`.
        runtime: &'a str,
        /// The setting's name.
        name: &'a str,
    },
    /// A load by its name.
    Load(&'a str),
    /// A key of the budget.
    Budget(&'a str),
}

/// Returns an error for an unknown name: at its place in the plan, with the nearest of `known`.
pub fn unknown(written: &Written, subject: Subject<'_>, known: &[&str]) -> PlanError {
    let FlaggedPlace { place, flag } = place_of(written, subject, Side::Key);
    let (kind, written) = match subject {
        Subject::App(_, app) => match &app.place {
            AppPlace::Named(name) => ("app", name.as_str()),
            AppPlace::Directory(directory) => ("app", directory.to_str().unwrap_or("")),
            AppPlace::Provided => ("app", ""),
        },
        Subject::Runtime(name) => ("runtime", base_name(name)),
        Subject::Setting { name, .. } => match name.strip_prefix(APPEND) {
            Some(file) => ("file", file),
            None => ("setting", name),
        },
        Subject::Load(name) => ("load", name),
        Subject::Budget(key) => ("key of the budget", key),
    };
    // For a variant, the unknown name is the one after `use`, not the variant's own name.
    let found = match place.text() {
        "" => written,
        text => text.trim_matches(['"', '\'']),
    };
    let known: Vec<&str> = match kind {
        "file" => known.iter().filter_map(|name| name.strip_prefix(APPEND)).collect(),
        _ => known.to_vec(),
    };
    let near = match kind {
        // If a directory of that name is beside the plan, the user most likely meant the directory.
        "app" if place.source.base.join(found).is_dir() => Some(format!("./{found}")),
        _ => nearest(found, known.iter().copied()),
    };
    let help = match kind {
        "app" => Help::from(one_of(known) + ", or a directory such as `./shop`"),
        "file" if known.is_empty() => Help::todo("remove `append`: this runtime has no files"),
        _ => Help::from(one_of(known)),
    };
    let mistake = Mistake::UnknownName { kind, name: shortened(found) };
    place.wrong_name(mistake, help.of_flag(flag), near)
}

/// Returns an error for a value that a later check refuses. `expected` says what would be valid.
pub fn refused(
    written: &Written,
    subject: Subject<'_>,
    why: impl std::error::Error + Send + Sync + 'static,
    help: impl Into<Help>,
) -> PlanError {
    let FlaggedPlace { place, flag } = place_of(written, subject, Side::Value);
    place.wrong(Mistake::refused(why), help.into().of_flag(flag))
}

/// A place, and the name of the flag whose value it is.
struct FlaggedPlace {
    place: Place,
    flag: Option<String>,
}

/// The part of `name: value` that an error points at.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Key,
    Value,
}

/// Whether a runtime gets `setting` from the plan's top level, where it applies to all runtimes.
pub fn is_set_for_all(written: &Written, runtime_name: &str, setting: &str) -> bool {
    let flags = Flags::as_recorded(&written.flags);
    let (_, Some(root)) = tree_with_flags(written, &flags) else { return false };
    let body = runtime(&root, runtime_name).and_then(|(_, body)| body);
    root.entry(setting).is_some() && body.is_none_or(|body| of_body(body, setting).is_none())
}

/// The place of `subject`, or the start of the plan if it is not found.
fn place_of(written: &Written, subject: Subject<'_>, side: Side) -> FlaggedPlace {
    let flags = Flags::as_recorded(&written.flags);
    let (begin, root) = tree_with_flags(written, &flags);
    let place = root.and_then(|root| find(&root, subject, side)).unwrap_or(begin);
    let flag = flags.of_place(&place).map(str::to_owned);
    FlaggedPlace { place, flag }
}

/// The start of the plan, and the plan's tree with the flags applied. `None`: the recorded text or
/// flags cannot be read.
fn tree_with_flags(written: &Written, flags: &Flags) -> (Place, Option<Node>) {
    let source = match &written.source {
        Some(path) => Arc::new(Source {
            name: path.display().to_string(),
            text: written.text.clone(),
            base: path.parent().map(Into::into).unwrap_or_default(),
        }),
        None => Arc::clone(flags.source()),
    };
    let begin = Place::begin_of(&source);
    let root = match &written.source {
        Some(_) => tree::parse(&source).ok(),
        None => Some(flags.empty_plan()),
    };
    let root = root.and_then(|mut root| {
        to_present_form(&mut root);
        flags.apply_to(&mut root).ok().map(|()| root)
    });
    (begin, root)
}

fn find(root: &Node, subject: Subject<'_>, side: Side) -> Option<Place> {
    let part = |(key, value): (&Node, &Node)| match side {
        Side::Key => key.place.clone(),
        Side::Value => value.place.clone(),
    };
    match subject {
        Subject::App(number, _) => {
            let listed = root.get("apps").into_iter().flat_map(list);
            let node = root.get("app").into_iter().chain(listed).nth(number)?;
            let written = node.get("path").or_else(|| node.get("name")).unwrap_or(node);
            Some(written.place.clone())
        }
        Subject::Runtime(name) => {
            let (key, body) = runtime(root, name)?;
            let used = body.and_then(|body| body.get("use"));
            Some(used.unwrap_or(key).place.clone())
        }
        Subject::Setting { runtime: name, name: setting } => {
            let body = runtime(root, name).and_then(|(_, body)| body);
            let own = body.and_then(|body| of_body(body, setting));
            if let (None, Some((key, values))) = (own, body.and_then(|body| swept(body, setting))) {
                return Some(part((key, swept_value(name, setting, values))));
            }
            own.or_else(|| root.entry(setting)).map(part)
        }
        Subject::Budget(key) => root.get("budget")?.entry(key).map(part),
        Subject::Load(name) => {
            let load = root.get("load")?;
            let named = load.entry(name).map(|(key, _)| key);
            Some(named.unwrap_or(load).place.clone())
        }
    }
}

/// The key and value of a setting in a runtime's body. `append.FILE` stands for lines added to
/// FILE.
fn of_body<'a>(body: &'a Node, setting: &str) -> Option<(&'a Node, &'a Node)> {
    match setting.strip_prefix(APPEND) {
        Some(file) => body.get("append")?.entry(file),
        None => body.entry(setting),
    }
}

fn swept<'a>(body: &'a Node, setting: &str) -> Option<(&'a Node, &'a Node)> {
    body.get("sweep")?.entry(setting)
}

/// The value of a sweep that the runtime's name ends with (`nginx-fpm pm=static`).
fn swept_value<'a>(name: &str, setting: &str, values: &'a Node) -> &'a Node {
    let is_named = |value: &&Node| {
        let written = format!("{setting}={}", shortened(value.text().unwrap_or("")));
        name.split(' ').any(|part| part == written)
    };
    list(values).iter().find(is_named).unwrap_or(values)
}

/// The name and the body of one of the plan's runtimes.
fn runtime<'a>(root: &'a Node, name: &str) -> Option<(&'a Node, Option<&'a Node>)> {
    let base = base_name(name);
    list(root.get("runtimes")?).iter().find_map(|item| match &item.value {
        Value::Map(entries) => entries
            .iter()
            .find(|(key, _)| key.text() == Some(base))
            .map(|(key, body)| (key, Some(body))),
        _ => (item.text() == Some(base)).then_some((item, None)),
    })
}

/// The name without a sweep's values. A name itself has no blanks.
fn base_name(name: &str) -> &str {
    name.split(' ').next().unwrap_or(name)
}

pub(super) fn list(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Overrides, RenderStyle, from_flags, read};
    use super::*;
    use crate::parts::StackPlan;

    /// The error of a later check.
    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Why(&'static str);

    const TEXT: &str = "\
app: helo
workers: 4
front: none
runtimes:
  - ngnix-fpm
  - fpm-80: {use: nginx-fmp, wrokers: 80, sweep: {jti: [\"off\", tracing]}}
load: {day: \"const(5,1s)\"}
";

    fn plan() -> StackPlan {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plan.yaml");
        std::fs::write(&path, TEXT).unwrap();
        let mut stack = read(&path, &Overrides::default()).unwrap().stack;
        stack.apps.written.source = Some("plan.yaml".into());
        stack
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn what_is_found_out_later_points_into_the_plan() {
        let (plan, runtimes) = (plan(), ["nginx-fpm", "apache-modphp"]);
        let swept = plan.runtimes[1].name.as_str();
        let of = |name| Subject::Setting { runtime: swept, name };
        let errors = [
            unknown(plan.written(), Subject::App(0, &plan.apps.choices[0]), &["hello"]),
            unknown(plan.written(), Subject::Runtime("ngnix-fpm"), &runtimes),
            unknown(plan.written(), Subject::Runtime(swept), &runtimes),
            unknown(plan.written(), of("wrokers"), &["workers", "front"]),
            unknown(plan.written(), of("jti"), &["jit"]),
            refused(
                plan.written(),
                of("front"),
                Why("it has no front"),
                Help::todo("remove `front`"),
            ),
            refused(
                plan.written(),
                Subject::Load("day"),
                Why("connections exceed workers"),
                "`keep_alive: off`",
            ),
            refused(plan.written(), Subject::Load("night"), Why("there is no night"), "a day"),
        ];
        let shown: String =
            errors.iter().map(|error| error.render(RenderStyle::Plain) + "\n").collect();
        insta::assert_snapshot!(shown);
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn and_into_the_command_line() {
        let flags = Overrides {
            app: Some("./it's here".into()),
            runtimes: Some("a, ngnix-fpm".into()),
            workers: Some("4".into()),
            rate: Some("5".into()),
            for_: Some("1s".into()),
            ..Overrides::default()
        };
        let plan = from_flags(&flags).unwrap().stack;
        let setting = Subject::Setting { runtime: "a", name: "workers" };
        let errors = [
            refused(
                plan.written(),
                Subject::App(0, &plan.apps.choices[0]),
                Why("no app is here"),
                "a directory with an `app.yaml`",
            ),
            unknown(plan.written(), Subject::Runtime("ngnix-fpm"), &["nginx-fpm"]),
            refused(plan.written(), setting, Why("4 workers are too many"), "3"),
        ];
        let shown: String =
            errors.iter().map(|error| error.render(RenderStyle::Plain) + "\n").collect();
        insta::assert_snapshot!(shown);
    }
}
