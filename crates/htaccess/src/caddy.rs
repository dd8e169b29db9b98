//! What Caddy and FrankenPHP are told: matchers of a site, and the head of its route.

use crate::pattern::{Flavour, Pattern};
use crate::rule::{Action, Condition, Rule, Test};
use crate::{Directory, Left, Why, Written};

/// The two parts of a site.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Caddy {
    /// Named matchers.
    pub matchers: String,
    /// The first directives of the route.
    pub route: String,
}

impl Directory {
    /// What Caddy is told; empty: nothing.
    pub fn caddy(&self) -> Written<Caddy> {
        let (mut matchers, mut route, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for (number, access) in self.access.iter().enumerate() {
            let Some(expression) = access.write(Flavour::Go) else {
                left.push(Left::new(access.place.clone(), Why::Pattern));
                continue;
            };
            matchers.push(format!("@htaccess_who{number} path_regexp \"{expression}\""));
            let word = if access.is_denied { "denied" } else { "granted" };
            route.push(format!("vars @htaccess_who{number} htaccess {word}"));
        }
        if !self.access.is_empty() {
            matchers.push("@htaccess_denied vars htaccess denied".into());
            route.push("respond @htaccess_denied 403".into());
        }
        for (number, rule) in self.rules.iter().enumerate() {
            match one(rule, &format!("htaccess{number}")) {
                Ok((matcher, steps)) => {
                    matchers.extend(matcher);
                    route.extend(steps);
                }
                Err(why) => left.push(Left::new(rule.place.clone(), why)),
            }
        }
        if self.rules.iter().any(|rule| matches!(rule.action, Action::Redirect(..))) {
            matchers.push("@htaccess_query vars_regexp htaccess_query htaccess_target [?].".into());
        }
        let text = |lines: Vec<String>, indent: &str| -> String {
            lines.iter().map(|line| format!("{indent}{line}\n")).collect()
        };
        Written {
            what: Caddy { matchers: text(matchers, "    "), route: text(route, "        ") },
            left,
        }
    }
}

fn one(rule: &Rule, name: &str) -> Result<(Vec<String>, Vec<String>), Why> {
    let pattern = rule.pattern.write(&rule.prefix, Flavour::Go).ok_or(Why::Pattern)?;
    let mut lines = vec![format!("@{name} {{"), "    not vars htaccess done".into()];
    lines.push(match rule.negated {
        true => format!("    not path_regexp \"{pattern}\""),
        false => format!("    path_regexp {name} \"{pattern}\""),
    });
    for below in &rule.not_below {
        let below = Pattern::literal(below).and_then(|one| one.write_plain_from_start(Flavour::Go));
        lines.push(format!("    not path_regexp \"{}\"", below.ok_or(Why::Pattern)?));
    }
    for group in &rule.conditions {
        match group.as_slice() {
            [one] if one.negated => lines.extend(within_not(matcher(one)?)),
            // A set may have each matcher once, so what must hold is not what does not.
            group => {
                let mut inner = Vec::new();
                for one in group {
                    let not = within_not(matcher(one)?);
                    inner.extend(if one.negated { within_not(not) } else { not });
                }
                lines.extend(within_not(inner));
            }
        }
    }
    lines.push("}".into());
    Ok((lines, steps(rule, name)))
}

fn steps(rule: &Rule, name: &str) -> Vec<String> {
    let mut steps = vec![format!("route @{name} {{")];
    if rule.is_last {
        steps.push("    vars htaccess done".into());
    }
    let group = |group: u8| format!("{{http.regexp.{name}.{group}}}");
    let own = "{http.request.uri.query}";
    match &rule.action {
        Action::Keep => {}
        Action::Status(status) => steps.push(format!("    respond {status}")),
        Action::Rewrite(target) => {
            let (path, query) = target.text(group, "{http.request.uri.path}");
            let query = match query {
                None => String::new(),
                Some(query) if query.is_empty() => "?".into(),
                Some(query) if target.appends => format!("?{query}&{own}"),
                Some(query) => format!("?{query}"),
            };
            steps.push(format!("    rewrite * \"{path}{query}\""));
        }
        Action::Redirect(status, target) => {
            let (path, query) = target.text(group, "{http.request.uri.path}");
            let (with, without) = match query {
                None => (format!("?{own}"), String::new()),
                Some(query) if query.is_empty() => (String::new(), String::new()),
                Some(query) if target.appends => (format!("?{query}&{own}"), format!("?{query}")),
                Some(query) => (format!("?{query}"), format!("?{query}")),
            };
            steps.push("    vars htaccess_target {http.request.uri}".into());
            steps.push(format!("    redir @htaccess_query \"{path}{with}\" {status}"));
            steps.push(format!("    redir * \"{path}{without}\" {status}"));
        }
    }
    steps.push("}".into());
    steps
}

/// `not` of these matchers together.
fn within_not(lines: Vec<String>) -> Vec<String> {
    let inner = lines.into_iter().map(|line| format!("    {line}"));
    std::iter::once("    not {".to_owned()).chain(inner).chain(["    }".to_owned()]).collect()
}

/// The matcher of what a condition is about.
fn matcher(one: &Condition) -> Result<Vec<String>, Why> {
    let lines: Vec<String> = match &one.what {
        // Behind a script nothing counts.
        Test::File(suffix) => {
            vec![
                "file {".into(),
                format!("    try_files {{path}}{suffix}"),
                "    split_path .php".into(),
                "}".into(),
            ]
        }
        Test::Directory => vec!["file {".into(), "    try_files {path}/".into(), "}".into()],
        Test::Path(pattern) => {
            let expression = pattern.write_plain("", Flavour::Go).ok_or(Why::Condition)?;
            vec![format!("path_regexp \"{expression}\"")]
        }
    };
    Ok(lines.into_iter().map(|line| format!("    {line}")).collect())
}
