//! What the router of PHP's built-in web server is told: data.

use serde::Serialize;

use crate::pattern::{Flavour, Pattern};
use crate::rule::{Action, Condition, Part, Rule, Target, Test};
use crate::{Directory, Left, Why, Written};

/// The rules for the router.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Router {
    /// Expression, and whether what it is about is refused. The last one decides.
    pub access: Vec<(String, bool)>,
    /// The rules in their order.
    pub rules: Vec<RouterRule>,
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RouterRule {
    /// Expressions that the whole path must not match.
    pub unless: Vec<String>,
    /// The expression for the whole path.
    pub pattern: String,
    /// Whether the path must not match it.
    pub negated: bool,
    /// Of each group one must hold: what, argument, negated.
    pub conditions: Vec<Vec<(&'static str, String, bool)>>,
    /// The status of the answer; 0: another path is served, or none.
    pub status: u16,
    /// The parts of the path; a number is a group, `true` the asked path. Null: it stays.
    pub path: Option<Vec<RouterPart>>,
    /// The parts of the query; null: it stays.
    pub query: Option<Vec<RouterPart>>,
    /// Whether the request's own query follows.
    pub appends: bool,
    /// Whether the search ends here.
    pub last: bool,
}

/// A part of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RouterPart {
    /// This text.
    Text(String),
    /// A group of the expression.
    Group(u8),
    /// The asked path.
    Path(bool),
}

impl Directory {
    /// What the router is told; empty: nothing.
    pub fn router(&self) -> Written<Router> {
        let mut written = Written::<Router>::default();
        for access in &self.access {
            match access.write(Flavour::Path) {
                Some(expression) => written.what.access.push((expression, access.is_denied)),
                None => written.left.push(Left::new(access.place.clone(), Why::Pattern)),
            }
        }
        for rule in &self.rules {
            match one(rule) {
                Ok(one) => written.what.rules.push(one),
                Err(why) => written.left.push(Left::new(rule.place.clone(), why)),
            }
        }
        written
    }
}

fn one(rule: &Rule) -> Result<RouterRule, Why> {
    let below = |one: &String| {
        let pattern =
            Pattern::literal(one).and_then(|one| one.write_plain_from_start(Flavour::Path));
        pattern.ok_or(Why::Pattern)
    };
    let (status, target) = match &rule.action {
        Action::Keep => (0, None),
        Action::Status(status) => (*status, None),
        Action::Rewrite(target) => (0, Some(target)),
        Action::Redirect(status, target) => (*status, Some(target)),
    };
    let group = |group: &Vec<Condition>| group.iter().map(condition).collect();
    Ok(RouterRule {
        unless: rule.not_below.iter().map(below).collect::<Result<_, _>>()?,
        pattern: rule.pattern.write(&rule.prefix, Flavour::Path).ok_or(Why::Pattern)?,
        negated: rule.negated,
        conditions: rule.conditions.iter().map(group).collect::<Result<_, _>>()?,
        status,
        path: target.map(|Target { path, .. }| parts(path)),
        query: target.and_then(|Target { query, .. }| query.as_deref().map(parts)),
        appends: target.is_some_and(|target| target.appends),
        last: rule.is_last,
    })
}

fn condition(one: &Condition) -> Result<(&'static str, String, bool), Why> {
    let (what, argument) = match &one.what {
        Test::File(suffix) => ("file", suffix.clone()),
        Test::Directory => ("directory", String::new()),
        Test::Path(pattern) => {
            ("path", pattern.write_plain("", Flavour::Path).ok_or(Why::Condition)?)
        }
    };
    Ok((what, argument, one.negated))
}

fn parts(parts: &[Part]) -> Vec<RouterPart> {
    let one = |part: &Part| match part {
        Part::Text(text) => RouterPart::Text(text.clone()),
        Part::Group(group) => RouterPart::Group(*group),
        Part::Path => RouterPart::Path(true),
    };
    parts.iter().map(one).collect()
}
