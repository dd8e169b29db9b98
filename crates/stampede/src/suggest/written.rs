//! Writes the plan of `stampede init`: the suggestion, with alternatives as comments.

use stampede_model::app_kind::AppKind;
use stampede_model::fact::{self, Notice};
use stampede_stack::App;

use super::{SuggestedRuntime, Suggestion};

/// Returns a plan's text. `app` comes with what is known of it, `choice` is the app as the plan names it, `command` runs the plan, and
/// `cpus` is the number of CPUs of the whole stack.
pub fn plan_text(
    (app, notices): (&App, &[Notice]),
    choice: &str,
    suggestion: &Suggestion,
    cpus: u32,
    command: &str,
) -> String {
    [
        head(command),
        app_part(app, notices, choice),
        runtimes(suggestion),
        budget(cpus),
        LOAD.to_owned(),
        REST.to_owned(),
    ]
    .join("\n")
}

fn head(command: &str) -> String {
    format!(
        "# Which PHP runtime should serve this app? This plan starts each with it, one after another,
# sends load at it and compares:
#
#   {command} --dry-run    what would run, and how long it takes
#   {command}
#
# What else a plan can say: docs/plans.md; for an editor: stampede schema
"
    )
}

fn app_part(app: &App, notices: &[Notice], choice: &str) -> String {
    let mut text = String::new();
    for notice in notices {
        text += &commented(&fact::sentence(notice));
        if matches!(notice, Notice::AppDetected { .. }) && !choice.starts_with('{') {
            let other = match app.manifest.kind {
                AppKind::Script => AppKind::Symfony,
                _ => AppKind::Script,
            };
            let other = format!("{{path: {choice}, kind: {}}}", other.name());
            text += &format!("# If it is something else: app: {other}\n");
        }
    }
    text += &format!("app: {choice}\n");
    if let Some(database) = &app.manifest.database {
        let any_of = &database.any_of;
        let first = any_of.first().map_or("", String::as_str);
        text += &format!("database: {first}    # of {}\n", any_of.join(", "));
    }
    text
}

fn runtimes(suggestion: &Suggestion) -> String {
    let every = [&suggestion.defaults, &suggestion.others].into_iter().flatten();
    let left = suggestion.left_out.iter().flat_map(|left| &left.runtimes);
    let width = every.chain(left).map(|one| one.name.len()).max().unwrap_or(0);
    let line = |one: &SuggestedRuntime| format!("{:width$}   # {}\n", one.name, one.title);
    let mut text = "runtimes:\n".to_owned();
    for one in &suggestion.defaults {
        text += &format!("  - {}", line(one));
    }
    let mut off = |head: &str, runtimes: &[SuggestedRuntime]| {
        text += &commented(head).lines().map(|line| format!("  {line}\n")).collect::<String>();
        for one in runtimes {
            text += &format!("  # - {}", line(one));
        }
    };
    if !suggestion.others.is_empty() {
        off("Here too:", &suggestion.others);
    }
    for left in &suggestion.left_out {
        let todo = left.todo().map_or(String::new(), |todo| format!("; {todo}"));
        let mut why = format!("{}{todo}:", left.why);
        why[..1].make_ascii_uppercase();
        off(&why, &left.runtimes);
    }
    text + &more(&suggestion.defaults[0].name)
}

/// Returns commented examples with variants of the runtime `name`.
fn more(name: &str) -> String {
    format!(
        "  # One with settings of its own, and one with a row for each value:
  # - few-workers: {{use: {name}, workers: 2}}
  # - {name}-workers: {{use: {name}, sweep: {{workers: [4, 8, 16]}}}}
  # What already runs, by its address:
  # - external: {{url: \"http://127.0.0.1:8080\"}}
# missing: skip         # leave out what another machine does not have, and say so
"
    )
}

fn budget(cpus: u32) -> String {
    format!(
        "# Limits of the whole stack, web server included; the load uses other CPUs. or_less: a smaller
# machine uses what it has.
budget: {{cpus: {cpus}, memory: 1GiB, or_less: true}}
workers: 8              # one number for every runtime
# php_ini: {{memory_limit: 256M}}
# env: {{APP_ENV: prod}}
"
    )
}

/// The load of a plan, with alternatives.
pub(super) const LOAD: &str = "load:
  # Closed model: 8 at a time, each sends the next request after its answer:
  rush: {concurrency: 8, for: 10s}
  # Open model: sent on schedule, answered or not; and a rising rate, to find where it breaks:
  # day: {rate: 100, for: 60s}
  # climb: line(1,500,2m)
  # Several pages in turn; or a file with one path or URL on each line (traffic: urls.txt):
  # pages: {concurrency: 8, for: 10s, traffic: [/, /about]}
";

/// What follows it.
pub(super) const REST: &str = "warm_up: 5s             # sent before each trial, and thrown away
# cold: true            # no warm-up: the first requests count too
rounds: 3               # how often each is measured, in shuffled order
# expect: [\"p95 < 200ms\", \"ok >= 99.9%\"]    # what must hold; if not, the exit code is 1
";

/// Returns `text` as comment lines, wrapped to the width of the rest of the plan.
pub(super) fn commented(text: &str) -> String {
    const WIDTH: usize = 96;
    let mut lines = vec![String::from("#")];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("it begins with one");
        match last.chars().count() + 1 + word.chars().count() > WIDTH && last != "#" {
            true => lines.push(format!("# {word}")),
            false => *last += &format!(" {word}"),
        }
    }
    lines.join("\n") + "\n"
}
