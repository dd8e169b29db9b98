//! Reads the rules of mod_rewrite in one file.

use crate::directory::File;
use crate::parse::Directive;
use crate::pattern::Pattern;
use crate::rule::{Action, Condition, Part, Rule, Target, Test};
use crate::target::{self, Read};
use crate::{Left, Why};

/// What a condition says.
enum Meaning {
    /// It always holds here, or says nothing about the answer.
    Always,
    /// It never holds here.
    Never,
    Is(Condition),
}

/// The flags of a rule that are understood.
#[derive(Clone, Copy, Default)]
struct Flags {
    ignores_case: bool,
    is_last: bool,
    appends: bool,
    drops: bool,
    redirect: Option<u16>,
    status: Option<u16>,
    sets: bool,
}

/// The rules of a file, and what of them is not understood. `below`: the directories with own rules.
pub(crate) fn read(file: &File, index: &str, below: &[String]) -> (Vec<Rule>, Vec<Left>) {
    let (mut rules, mut left) = (Vec::new(), Vec::new());
    let mut is_on = false;
    let prefix = file.prefix();
    let mut base = prefix.clone();
    for one in file.directives.iter().filter(|one| one.within.is_empty()) {
        match (one.name.as_str(), one.args.first()) {
            ("rewriteengine", Some(word)) => is_on = word.eq_ignore_ascii_case("on"),
            ("rewritebase", Some(path)) if path.starts_with('/') => {
                base = format!("{}/", path.trim_end_matches('/'));
            }
            _ => {}
        }
    }
    if !is_on {
        return (rules, left);
    }
    let mut conditions: Vec<&Directive> = Vec::new();
    // Rules that a chain or a skip of an earlier rule is about.
    let mut bound = 0usize;
    for one in file.directives.iter().filter(|one| one.within.is_empty()) {
        match one.name.as_str() {
            "rewritecond" => conditions.push(one),
            "rewriterule" => {
                let conditions = std::mem::take(&mut conditions);
                let context =
                    Context { file, one, conditions: &conditions, base: &base, index, below };
                let next = context.binds().max(bound.saturating_sub(1));
                let follows = std::mem::replace(&mut bound, next);
                match context.rule() {
                    _ if follows > 0 => left.push(Left::new(file.place(one), Why::Flag)),
                    Ok(Some(rule)) => rules.push(rule),
                    Ok(None) => {}
                    Err(why) => left.push(Left::new(file.place(one), why)),
                }
            }
            "rewriteoptions" | "rewritemap" => {
                left.push(Left::new(file.place(one), Why::ApacheOnly))
            }
            _ => {}
        }
    }
    (rules, left)
}

/// A rule with what precedes it.
struct Context<'a> {
    file: &'a File,
    one: &'a Directive,
    conditions: &'a [&'a Directive],
    base: &'a str,
    index: &'a str,
    below: &'a [String],
}

impl Context<'_> {
    fn flag_words(&self) -> Vec<String> {
        let flags = self.one.args.get(2).map(String::as_str).unwrap_or_default();
        let flags = flags.trim_start_matches('[').trim_end_matches(']');
        flags.split(',').map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
    }

    /// The number of rules behind it whose meaning depends on it.
    fn binds(&self) -> usize {
        let count = |word: String| match word.to_ascii_lowercase().split_once('=') {
            Some(("s" | "skip", count)) => count.parse().unwrap_or(1),
            None if matches!(word.to_ascii_lowercase().as_str(), "c" | "chain") => 1,
            _ => 0,
        };
        self.flag_words().into_iter().map(count).max().unwrap_or(0)
    }

    fn flags(&self) -> Result<Flags, Why> {
        let mut flags = Flags::default();
        for word in self.flag_words() {
            let lower = word.to_ascii_lowercase();
            let (name, value) = lower.split_once('=').unwrap_or((&lower, ""));
            match name {
                "nc" | "nocase" => flags.ignores_case = true,
                "l" | "last" | "end" => flags.is_last = true,
                "qsa" | "qsappend" => flags.appends = true,
                "qsd" | "qsdiscard" => flags.drops = true,
                "f" | "forbidden" => flags.status = Some(403),
                "g" | "gone" => flags.status = Some(410),
                "pt" | "passthrough" | "ne" | "noescape" | "ns" | "nosubreq" | "b" | "dpi" => {}
                "e" | "env" => flags.sets = true,
                "r" | "redirect" => {
                    let status = match value {
                        "" | "temp" => 302,
                        "permanent" => 301,
                        "seeother" => 303,
                        value => value.parse().map_err(|_| Why::Flag)?,
                    };
                    match status {
                        300..400 => flags.redirect = Some(status),
                        400..600 => flags.status = Some(status),
                        _ => return Err(Why::Flag),
                    }
                }
                _ => return Err(Why::Flag),
            }
        }
        Ok(flags)
    }

    /// The rule; nothing: without it the answers are the same.
    fn rule(&self) -> Result<Option<Rule>, Why> {
        let (Some(pattern), Some(to)) = (self.one.args.first(), self.one.args.get(1)) else {
            return Err(Why::Pattern);
        };
        let (negated, text) = match pattern.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, pattern.as_str()),
        };
        let flags = self.flags();
        let pattern = Pattern::read(text, flags.as_ref().is_ok_and(|flags| flags.ignores_case));
        let groups = match (&pattern, negated) {
            (Some(pattern), false) => pattern.groups,
            // Enough to see where it leads.
            (None, false) => 9,
            (_, true) => 0,
        };
        let appending =
            flags.as_ref().map(|flags| (flags.appends, flags.drops)).unwrap_or_default();
        let target = target::read(to, self.base, groups, appending);
        let is_default = matches!(&target, Read::To(target) if self.is_front_controller(target));
        let has_status = flags.as_ref().is_ok_and(|flags| flags.status.is_some());
        if matches!(target, Read::Back) {
            return Ok(None);
        }
        // It sets variables, or ends the search in an unknown case.
        let sets = matches!(target, Read::Nowhere) && !has_status;
        if sets && flags.as_ref().is_ok_and(|flags| flags.sets && !flags.is_last) {
            return Ok(None);
        }
        let is_harmless = is_default && flags.as_ref().is_ok_and(|flags| flags.redirect.is_none());
        let rule = self.understood(pattern, negated, flags, target);
        match rule {
            Ok(Some(mut rule)) => {
                rule.is_default = is_harmless || (rule.action == Action::Keep);
                Ok(Some(rule))
            }
            Ok(None) => Ok(None),
            // What leads to the front controller leads where each path leads.
            Err(_) if is_harmless || sets => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn understood(
        &self,
        pattern: Option<Pattern>,
        negated: bool,
        flags: Result<Flags, Why>,
        target: Read,
    ) -> Result<Option<Rule>, Why> {
        let mut groups: Vec<Vec<Condition>> = Vec::new();
        let (mut group, mut holds, mut is_never) = (Vec::new(), false, false);
        let mut unknown = None;
        for condition in self.conditions {
            match meaning(condition) {
                Ok(Meaning::Always) => holds = true,
                Ok(Meaning::Never) => {}
                Ok(Meaning::Is(condition)) => group.push(condition),
                Err(why) => unknown = Some(why),
            }
            if has_flag(condition, &["or", "ornext"]) {
                continue;
            }
            let group = std::mem::take(&mut group);
            match std::mem::take(&mut holds) {
                true => {}
                false if group.is_empty() && unknown.is_none() => is_never = true,
                false => groups.push(group),
            }
        }
        if is_never {
            return Ok(None);
        }
        if matches!(target, Read::Elsewhere) {
            return Err(Why::OtherHost);
        }
        unknown.map_or(Ok(()), Err)?;
        let flags = flags?;
        let pattern = pattern.ok_or(Why::Pattern)?;
        let action = match (flags.status, target) {
            (Some(status), _) => Action::Status(status),
            (None, Read::Nowhere) => Action::Keep,
            (None, Read::To(target)) => match flags.redirect {
                Some(status) => Action::Redirect(status, target),
                None => Action::Rewrite(target),
            },
            (None, _) => return Err(Why::Target),
        };
        let is_end = matches!(action, Action::Status(_) | Action::Redirect(..));
        // A rule that neither changes nor ends anything is none.
        if action == Action::Keep && !flags.is_last {
            return Ok(None);
        }
        Ok(Some(Rule {
            place: self.file.place(self.one),
            prefix: self.file.prefix(),
            not_below: self.below.to_vec(),
            pattern,
            negated,
            conditions: groups,
            action,
            is_last: flags.is_last || is_end,
            is_default: false,
        }))
    }

    /// Whether this is the front controller of the public directory, with no parameter.
    fn is_front_controller(&self, target: &Target) -> bool {
        let [Part::Text(path), ..] = target.path.as_slice() else { return false };
        let own = path.strip_prefix('/').unwrap_or(path);
        let rest = own.strip_prefix(self.index);
        let is_it = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // A path behind the front controller is what REQUEST_URI says.
        is_it && target.query.as_ref().is_none_or(Vec::is_empty)
    }
}

fn has_flag(condition: &Directive, names: &[&str]) -> bool {
    let flags = condition.args.get(2).map(|flags| flags.to_ascii_lowercase()).unwrap_or_default();
    flags.trim_matches(['[', ']']).split(',').any(|flag| names.contains(&flag.trim()))
}

fn meaning(condition: &Directive) -> Result<Meaning, Why> {
    let [subject, test, ..] = condition.args.as_slice() else { return Err(Why::Condition) };
    let (negated, test) = match test.strip_prefix('!') {
        Some(test) => (true, test),
        None => (false, test.as_str()),
    };
    let constant = |value: &str| {
        let is = match test {
            "on" | "=on" | "^on$" | "^on" => Some(value == "on"),
            "off" | "=off" | "^off$" => Some(value == "off"),
            "^$" | "=" | "=\"\"" => Some(value.is_empty()),
            "=200" | "200" | "^200$" | "." | "^." => Some(false),
            _ => None,
        };
        is.map(|is| if is == negated { Meaning::Never } else { Meaning::Always })
    };
    match subject.as_str() {
        "%{HTTPS}" => return constant("off").ok_or(Why::Condition),
        "%{ENV:REDIRECT_STATUS}" => return constant("").ok_or(Why::Condition),
        _ => {}
    }
    let file = [
        "%{REQUEST_FILENAME}",
        "%{SCRIPT_FILENAME}",
        "%{DOCUMENT_ROOT}%{REQUEST_URI}",
        "%{DOCUMENT_ROOT}/%{REQUEST_URI}",
    ]
    .into_iter()
    .find_map(|name| subject.strip_prefix(name));
    if let Some(suffix) = file {
        let is_plain = suffix
            .bytes()
            .all(|one| one.is_ascii_alphanumeric() || matches!(one, b'.' | b'/' | b'_' | b'-'));
        return match test {
            "-f" | "-s" if is_plain => is(negated, Test::File(suffix.to_owned())),
            "-d" if suffix.is_empty() => is(negated, Test::Directory),
            // No link that leads to a file or directory is meant alone.
            "-l" if negated => Ok(Meaning::Always),
            "-l" => Ok(Meaning::Never),
            _ => Err(Why::Condition),
        };
    }
    if subject != "%{REQUEST_URI}" || test.starts_with(['-', '<', '>']) {
        return Err(Why::Condition);
    }
    if let Some(path) = test.strip_prefix('=') {
        let pattern = Pattern::whole(path).ok_or(Why::Condition)?;
        return is(negated, Test::Path(pattern));
    }
    let pattern =
        Pattern::read(test, has_flag(condition, &["nc", "nocase"])).ok_or(Why::Condition)?;
    is(negated, Test::Path(pattern))
}

fn is(negated: bool, what: Test) -> Result<Meaning, Why> {
    Ok(Meaning::Is(Condition { what, negated }))
}
