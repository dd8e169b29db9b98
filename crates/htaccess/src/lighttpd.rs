//! What lighttpd is told. It sees the target as the client sent it, and cannot ask for directories.

use crate::pattern::{Flavour, Pattern};
use crate::rule::{Action, Condition, Rule, Target, Test};
use crate::{Directory, Left, Why, Written};

/// The parts of a configuration.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct Lighttpd {
    /// Lines of the file: who is refused, and what is redirected.
    pub lines: String,
    /// Whether `mod_redirect` is needed.
    pub redirects: bool,
    /// Entries of `url.rewrite-once`.
    pub once: String,
    /// Entries for what is no file, before a directory is looked for.
    pub first: String,
    /// Entries once no index was found in the directory.
    pub unindexed: String,
    /// Entries for what has no final slash.
    pub missing: String,
}

/// Where an entry goes.
enum Entry {
    Once(String),
    First(String),
    /// For a path with a final slash, and for another one.
    Missing {
        unindexed: String,
        missing: String,
    },
    Redirect(u16, String),
}

impl Directory {
    /// What lighttpd is told; empty: nothing.
    pub fn lighttpd(&self) -> Written<Lighttpd> {
        let mut written = Written::<Lighttpd>::default();
        let mut redirects: Vec<(u16, String)> = Vec::new();
        for access in &self.access {
            let value = if access.is_denied { "( \"\" )" } else { "()" };
            match access.write(Flavour::Path) {
                Some(expression) => written.what.lines.push_str(&refusal(&expression, value)),
                None => written.left.push(Left::new(access.place.clone(), Why::Pattern)),
            }
        }
        // What ends the search for files holds for all rules behind it.
        let mut needs_no_file = false;
        for rule in &self.rules {
            if rule.action == Action::Keep && rule.pattern.is_any() && keeps_files(rule) {
                needs_no_file = true;
                continue;
            }
            let what = &mut written.what;
            if let (Action::Status(403), [], false) =
                (&rule.action, rule.conditions.as_slice(), rule.negated)
            {
                match expression(rule, Flavour::Target, "") {
                    Ok(expression) => what.lines.push_str(&refusal(&expression, "( \"\" )")),
                    Err(why) => written.left.push(Left::new(rule.place.clone(), why)),
                }
                continue;
            }
            match entry(rule, needs_no_file) {
                Ok(Entry::Once(line)) => what.once.push_str(&line),
                Ok(Entry::First(line)) => what.first.push_str(&line),
                Ok(Entry::Missing { unindexed, missing }) => {
                    what.unindexed.push_str(&unindexed);
                    what.missing.push_str(&missing);
                }
                // One status serves all.
                Ok(Entry::Redirect(status, line))
                    if redirects.first().is_none_or(|first| first.0 == status) =>
                {
                    redirects.push((status, line));
                }
                Ok(Entry::Redirect(..)) => {
                    written.left.push(Left::new(rule.place.clone(), Why::Flag))
                }
                Err(why) => written.left.push(Left::new(rule.place.clone(), why)),
            }
        }
        if let Some((status, _)) = redirects.first() {
            let lines: String = redirects.iter().map(|(_, line)| line.as_str()).collect();
            written.what.redirects = true;
            written
                .what
                .lines
                .push_str(&format!("url.redirect-code = {status}\nurl.redirect = (\n{lines})\n"));
        }
        written
    }
}

/// Says who is refused.
fn refusal(expression: &str, value: &str) -> String {
    format!("$HTTP[\"url\"] =~ \"{expression}\" {{\n    url.access-deny = {value}\n}}\n")
}

/// Whether a rule keeps files and directories as they are, and nothing else.
fn keeps_files(rule: &Rule) -> bool {
    let [group] = rule.conditions.as_slice() else { return false };
    let is_one = |one: &Condition| !one.negated && !matches!(one.what, Test::Path(_));
    !rule.negated
        && group.iter().all(is_one)
        && group.contains(&Condition { what: Test::File(String::new()), negated: false })
}

fn entry(rule: &Rule, no_file: bool) -> Result<Entry, Why> {
    let to = match &rule.action {
        Action::Keep => String::new(),
        Action::Rewrite(target) | Action::Redirect(_, target) => text(target)?,
        Action::Status(_) => return Err(Why::ServerLacks),
    };
    let line = |expression: String| format!("    \"{expression}\" => \"{to}\",\n");
    let is_missing = no_file || rule.needs_no_file();
    let is_no_directory = no_file || rule.has(&Test::Directory, true);
    if let Action::Redirect(status, _) = &rule.action {
        return match is_missing || is_no_directory {
            true => Err(Why::ServerLacks),
            false => Ok(Entry::Redirect(*status, line(expression(rule, Flavour::Target, "")?))),
        };
    }
    Ok(match (is_missing, is_no_directory) {
        (false, false) => Entry::Once(line(expression(rule, Flavour::Target, "")?)),
        (false, true) => return Err(Why::ServerLacks),
        (true, false) => Entry::First(line(expression(rule, Flavour::Target, "")?)),
        (true, true) => Entry::Missing {
            unindexed: line(expression(
                rule,
                Flavour::TargetOfIndex,
                "(?=[^?]*/index\\.html(?:[?]|$))",
            )?),
            missing: line(expression(rule, Flavour::Target, "(?![^?]*/(?:[?]|$))")?),
        },
    })
}

/// The expression of a rule with all that must hold.
fn expression(rule: &Rule, flavour: Flavour, ahead: &str) -> Result<String, Why> {
    let pattern = rule.pattern.write(&rule.prefix, flavour).ok_or(Why::Pattern)?;
    let (case, pattern) = match pattern.strip_prefix("(?i)") {
        Some(rest) => ("(?i)", rest.to_owned()),
        None => ("", pattern),
    };
    let mut all = format!("{case}^{ahead}");
    for below in &rule.not_below {
        let below =
            Pattern::literal(below).and_then(|one| one.write_plain_from_start(Flavour::Target));
        all.push_str(&format!("(?!{})", below.ok_or(Why::Pattern)?));
    }
    for group in &rule.conditions {
        let paths: Vec<&Condition> =
            group.iter().filter(|one| matches!(one.what, Test::Path(_))).collect();
        match (group.as_slice(), paths.as_slice()) {
            ([one], [_]) => {
                let Test::Path(path) = &one.what else { return Err(Why::Condition) };
                let path = path.write_plain("", flavour).ok_or(Why::Condition)?;
                // The case of a part alone.
                let path =
                    path.strip_prefix("(?i)").map_or(path.clone(), |rest| format!("(?i:{rest})"));
                all.push_str(&format!("(?{}{path})", if one.negated { '!' } else { '=' }));
            }
            ([one], []) if one.negated && one.what == Test::Directory => {}
            ([one], []) if one.negated && one.what == Test::File(String::new()) => {}
            _ => return Err(Why::ServerLacks),
        }
    }
    match rule.negated {
        true => all.push_str(&format!("(?!{pattern})")),
        false => all.push_str(pattern.trim_start_matches('^')),
    }
    Ok(all)
}

fn text(target: &Target) -> Result<String, Why> {
    if target.path.contains(&crate::rule::Part::Path) {
        return Err(Why::ServerLacks);
    }
    let (path, query) = target.text(|group| format!("${group}"), "");
    Ok(match query {
        None => format!("{path}${{qsa}}"),
        Some(query) if query.is_empty() => path,
        Some(query) if target.appends => format!("{path}?{query}${{qsa}}"),
        Some(query) => format!("{path}?{query}"),
    })
}
