//! What uWSGI is told: routes, before all others.

use crate::pattern::{Flavour, Pattern};
use crate::rule::{Action, Condition, Rule, Test};
use crate::{Directory, Left, Why, Written};

impl Directory {
    /// What uWSGI is told, as lines of its file; empty: nothing.
    pub fn uwsgi(&self) -> Written<String> {
        let mut written = Written::<String>::default();
        let mut lines: Vec<String> = Vec::new();
        if !self.access.is_empty() {
            // The last rule that is about a path decides, so they are asked from behind.
            for access in self.access.iter().rev() {
                let to =
                    if access.is_denied { "break:403 Forbidden" } else { "goto:htaccess-rules" };
                match access.write(Flavour::Ini) {
                    Some(expression) => lines.push(format!("route = {expression} {to}")),
                    None => written.left.push(Left::new(access.place.clone(), Why::Pattern)),
                }
            }
            lines.push("route-label = htaccess-rules".into());
        }
        for (number, rule) in self.rules.iter().enumerate() {
            match one(rule, number) {
                Ok(all) => lines.extend(all),
                Err(why) => written.left.push(Left::new(rule.place.clone(), why)),
            }
        }
        if !lines.is_empty() {
            lines.push("route-label = htaccess-end".into());
            written.what = lines.iter().map(|line| format!("{line}\n")).collect();
        }
        written
    }
}

fn one(rule: &Rule, number: usize) -> Result<Vec<String>, Why> {
    let pattern = rule.pattern.write(&rule.prefix, Flavour::Ini).ok_or(Why::Pattern)?;
    let skip = format!("goto:htaccess-{number}");
    let mut lines = Vec::new();
    for below in &rule.not_below {
        let below =
            Pattern::literal(below).and_then(|one| one.write_plain_from_start(Flavour::Ini));
        lines.push(format!("route = {} {skip}", below.ok_or(Why::Pattern)?));
    }
    match rule.negated {
        true => lines.push(format!("route = {pattern} {skip}")),
        false => lines.push(format!("route-if-not = regexp:${{PATH_INFO}};{pattern} {skip}")),
    }
    for (group_number, group) in rule.conditions.iter().enumerate() {
        match group.as_slice() {
            [one] => lines.extend(test(one, true, &skip)?),
            group => {
                let label = format!("htaccess-{number}-{group_number}");
                for one in group {
                    lines.extend(test(one, false, &format!("goto:{label}"))?);
                }
                lines.push(format!("route-run = {skip}"));
                lines.push(format!("route-label = {label}"));
            }
        }
    }
    let any = if rule.negated { "^".to_owned() } else { pattern };
    match &rule.action {
        Action::Keep => {}
        Action::Status(410) => lines.push("route-run = break:410 Gone".into()),
        Action::Status(404) => lines.push("route-run = break:404 Not Found".into()),
        Action::Status(403) => lines.push("route-run = break:403 Forbidden".into()),
        Action::Status(_) => return Err(Why::Flag),
        Action::Rewrite(target) | Action::Redirect(_, target) => {
            let (path, query) = target.text(|group| format!("${group}"), "${PATH_INFO}");
            let own = "${QUERY_STRING}";
            let query = match query {
                None => format!("?{own}"),
                Some(query) if query.is_empty() => String::new(),
                Some(query) if target.appends => format!("?{query}&{own}"),
                Some(query) => format!("?{query}"),
            };
            let bare = query.replace(&format!("&{own}"), "").replace(&format!("?{own}"), "");
            match &rule.action {
                Action::Redirect(status @ (301 | 302), _) => {
                    let word = if *status == 301 { "redirect-301" } else { "redirect" };
                    lines.push(format!(
                        "route-if = empty:${{QUERY_STRING}} goto:htaccess-{number}-bare"
                    ));
                    lines.push(format!("route = {any} {word}:{path}{query}"));
                    lines.push(format!("route-label = htaccess-{number}-bare"));
                    lines.push(format!("route = {any} {word}:{path}{bare}"));
                }
                Action::Redirect(..) => return Err(Why::Flag),
                // uWSGI itself puts the request's query behind the target's.
                _ => lines.push(format!("route = {any} rewrite:{path}{bare}")),
            }
        }
    }
    if rule.is_last {
        lines.push("route-run = goto:htaccess-end".into());
    }
    lines.push(format!("route-label = htaccess-{number}"));
    Ok(lines)
}

/// Leaves for `to` if a condition holds, or, with `is_unless`, if it does not.
fn test(one: &Condition, is_unless: bool, to: &str) -> Result<Vec<String>, Why> {
    let word = if one.negated == is_unless { "route-if" } else { "route-if-not" };
    Ok(match &one.what {
        Test::File(suffix) => {
            // Behind a script nothing counts.
            vec![
                "route-run = addvar:HTACCESS_FILE=${DOCUMENT_ROOT}${PATH_INFO}".into(),
                "route = ^(.+?\\.php)/ addvar:HTACCESS_FILE=${DOCUMENT_ROOT}$1".into(),
                format!("{word} = isfile:${{HTACCESS_FILE}}{suffix} {to}"),
            ]
        }
        Test::Directory => vec![format!("{word} = isdir:${{DOCUMENT_ROOT}}${{PATH_INFO}} {to}")],
        Test::Path(pattern) => {
            let expression = pattern.write_plain("", Flavour::Ini).ok_or(Why::Condition)?;
            vec![format!("{word} = regexp:${{PATH_INFO}};{expression} {to}")]
        }
    })
}
