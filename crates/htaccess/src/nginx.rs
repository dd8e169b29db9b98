//! What nginx is told: directives of a `server`.

use crate::pattern::Flavour;
use crate::rule::{Access, Action, Condition, Rule, Test};
use crate::{Directory, Left, Why, Written};

/// The variable that says whether a rule is taken.
const IS: &str = "$htaccess";
/// The variable of one group of conditions.
const ONE: &str = "$htaccess_one";
/// The file that a path names; behind a script nothing counts.
const FILE: &str = "$htaccess_file";

impl Directory {
    /// What nginx is told, as lines of a `server`; empty: nothing.
    pub fn nginx(&self) -> Written<String> {
        let mut written = Written::<String>::default();
        let mut lines = Vec::new();
        if !self.access.is_empty() {
            lines.push(format!("set {IS} 0;"));
            for access in &self.access {
                match denial(access) {
                    Some(line) => lines.push(line),
                    None => written.left.push(Left::new(access.place.clone(), Why::Pattern)),
                }
            }
            lines.push(format!("if ({IS}) {{ return 403; }}"));
        }
        for rule in &self.rules {
            match one(rule) {
                Ok(all) => lines.extend(all),
                Err(why) => written.left.push(Left::new(rule.place.clone(), why)),
            }
        }
        if !lines.is_empty() {
            // These come before all locations.
            lines.insert(0, "if ($uri ~ \"/\\.(?!well-known(/|$))\") { return 403; }".into());
            written.what = lines.iter().map(|line| format!("        {line}\n")).collect();
        }
        written
    }
}

fn denial(access: &Access) -> Option<String> {
    let expression = access.write(Flavour::Path)?;
    Some(format!("if ($uri ~ \"{expression}\") {{ set {IS} {}; }}", u8::from(access.is_denied)))
}

fn one(rule: &Rule) -> Result<Vec<String>, Why> {
    let pattern = rule.pattern.write(&rule.prefix, Flavour::Path).ok_or(Why::Pattern)?;
    let mut lines = vec![format!("set {IS} 1;")];
    let unless = |test: String| format!("if ({test}) {{ set {IS} 0; }}");
    // Several `if` decide together.
    let sign = if rule.negated { "~" } else { "!~" };
    lines.push(unless(format!("$uri {sign} \"{pattern}\"")));
    for below in &rule.not_below {
        let below = crate::pattern::Pattern::literal(below)
            .and_then(|one| one.write_plain_from_start(Flavour::Path));
        lines.push(unless(format!("$uri ~ \"{}\"", below.ok_or(Why::Pattern)?)));
    }
    let has_file = rule.conditions.iter().flatten().any(|one| matches!(one.what, Test::File(_)));
    if has_file {
        lines.push(format!("set {FILE} $document_root$uri;"));
        lines.push(format!("if ($uri ~ \"^(.+?\\.php)/\") {{ set {FILE} $document_root$1; }}"));
    }
    for group in &rule.conditions {
        match group.as_slice() {
            [one] => lines.push(unless(test(one, true)?)),
            group => {
                lines.push(format!("set {ONE} 0;"));
                for one in group {
                    lines.push(format!("if ({}) {{ set {ONE} 1; }}", test(one, false)?));
                }
                lines.push(unless(format!("{ONE} = 0")));
            }
        }
    }
    let rule_pattern = if rule.negated { "^".to_owned() } else { pattern };
    let last = if rule.is_last { " last" } else { "" };
    let action = match &rule.action {
        Action::Keep => "break;".to_owned(),
        Action::Status(status) => format!("return {status};"),
        Action::Rewrite(target) | Action::Redirect(_, target) => {
            let (path, query) = target.text(|group| format!("${group}"), "$uri");
            // nginx itself adds the request's query, unless a question mark ends the target.
            let (query, end) = match query {
                None => (String::new(), ""),
                Some(query) if query.is_empty() => (query, "?"),
                Some(query) => (format!("?{query}"), if target.appends { "" } else { "?" }),
            };
            let flag = match &rule.action {
                Action::Redirect(301, _) => " permanent",
                Action::Redirect(302, _) => " redirect",
                Action::Redirect(..) => return Err(Why::Flag),
                _ => last,
            };
            format!("rewrite \"{rule_pattern}\" \"{path}{query}{end}\"{flag};")
        }
    };
    lines.push(format!("if ({IS}) {{ {action} }}"));
    Ok(lines)
}

/// A condition of `if`; `is_unless`: that it does not hold.
fn test(one: &Condition, is_unless: bool) -> Result<String, Why> {
    let is_not = one.negated != is_unless;
    let not = if is_not { "!" } else { "" };
    Ok(match &one.what {
        Test::File(suffix) if suffix.is_empty() => format!("{not}-f {FILE}"),
        Test::File(suffix) => format!("{not}-f \"${{{}}}{suffix}\"", &FILE[1..]),
        Test::Directory => format!("{not}-d $request_filename"),
        Test::Path(pattern) => {
            let expression = pattern.write_plain("", Flavour::Path).ok_or(Why::Condition)?;
            format!("$uri {not}~ \"{expression}\"")
        }
    })
}
