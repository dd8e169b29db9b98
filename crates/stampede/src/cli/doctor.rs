//! The command `stampede doctor`: shows what this machine allows, and how to fix what it does not.

use serde_json::json;
use stampede_keeper::{self, Capabilities, KeeperOptions, PidNamespace, Writable};
use stampede_monitor::machine;

use super::args::DoctorArgs;
use super::calibrate;
use super::doctor_engine::EngineView;
use super::shell::print;
use super::{Failure, Outcome};

/// Examines the machine and prints the findings.
pub fn run(args: &DoctorArgs) -> Result<Outcome, Failure> {
    let allowed = stampede_keeper::capabilities(&KeeperOptions::default().program);
    let facts = machine::facts();
    let findings = machine::findings(&facts);
    let engine = EngineView::look();
    let ceiling = if args.calibrate { Some(calibrate::measure()?) } else { None };
    if args.json {
        let mut value = json!({
            "machine": facts,
            "findings": findings,
            "isolation": {
                "cgroups": allowed.cgroups,
                "controllers": controllers(&allowed),
                "pid_namespace": namespace(allowed.pid_namespace),
                "guarantee": allowed.guarantee,
                "hints": allowed.hints,
            },
            "containers": engine,
        });
        if let Some(ceiling) = ceiling {
            value["ceiling"] = json!(ceiling);
        }
        return print(format!("{value:#}\n").as_bytes());
    }
    let mut text = String::from("How stampede stops and limits runtimes here\n\n");
    push(&mut text, "cgroups", allowed.cgroups);
    for (name, by) in controllers(&allowed) {
        push(&mut text, name, by);
    }
    push(&mut text, "PID namespace", namespace(allowed.pid_namespace));
    push(&mut text, "guarantee", &allowed.guarantee);
    for hint in &allowed.hints {
        push(&mut text, "fix", hint);
    }
    text.push_str("\nContainers\n\n");
    for (name, value) in engine.rows() {
        push(&mut text, name, value);
    }
    text.push_str("\nThe machine\n\n");
    for finding in &findings {
        for line in finding.to_string().lines() {
            text.push_str(&wrapped(&format!("  {line}"), 8));
        }
    }
    if let Some(ceiling) = ceiling {
        text.push_str(&ceiling.text());
    }
    print(text.as_bytes())
}

/// Adds a row with a name and what is to be said of it.
fn push(text: &mut String, name: &str, value: &str) {
    text.push_str(&wrapped(&format!("  {name:<15} {value}"), 18));
}

/// Wraps a line to the terminal's width and indents the lines after the first. Blanks before
/// `indent` align columns and are kept.
fn wrapped(line: &str, indent: usize) -> String {
    let at = line.char_indices().nth(indent).map_or(line.len(), |(at, _)| at);
    let (head, rest) = line.split_at(at);
    let kept = format!("{}{rest}", head.replace(' ', "\u{a0}"));
    let lines = super::report::style().wrap(&kept, indent);
    lines.iter().map(|line| format!("{}\n", line.replace('\u{a0}', " "))).collect()
}

fn controllers(allowed: &Capabilities) -> Vec<(&'static str, &'static str)> {
    let word = |writable| match writable {
        Writable::By(interface) => interface,
        Writable::No => "no",
    };
    allowed.controllers.iter().map(|one| (one.name, word(one.writable))).collect()
}

fn namespace(how: PidNamespace) -> &'static str {
    match how {
        PidNamespace::Root => "yes, as root",
        PidNamespace::User => "yes, within a user namespace",
        PidNamespace::No => "no",
    }
}
