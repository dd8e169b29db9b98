//! Reads who may see files.

use crate::directory::File;
use crate::parse::{Directive, Section};
use crate::pattern::Pattern;
use crate::rule::Access;
use crate::{Left, Why};

/// What one section says.
#[derive(Default)]
struct Said {
    require: Option<bool>,
    order_allows: bool,
    has_order: bool,
    allows: bool,
    denies: bool,
    is_unknown: bool,
}

impl Said {
    fn add(&mut self, one: &Directive) {
        let words: Vec<String> = one.args.iter().map(|arg| arg.to_ascii_lowercase()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match (one.name.as_str(), words.as_slice()) {
            ("require", ["all", "denied"]) => self.require = Some(self.require.unwrap_or(false)),
            ("require", ["all", "granted"]) => self.require = Some(true),
            ("deny", ["from", "all"]) => self.denies = true,
            ("allow", ["from", "all"]) => self.allows = true,
            ("order", order) => {
                self.has_order = true;
                self.order_allows = order.first().is_some_and(|first| first.starts_with("deny"));
            }
            ("satisfy", _) => {}
            _ => self.is_unknown = true,
        }
    }

    /// Whether all are refused.
    fn is_denied(&self) -> bool {
        let order = match (self.allows, self.denies) {
            (true, true) => !self.order_allows && self.has_order,
            (false, true) => true,
            (true, false) => false,
            (false, false) => self.has_order && !self.order_allows,
        };
        order || self.require == Some(false)
    }
}

/// Adds what a file says. What depends on who asks is named.
pub(crate) fn read(file: &File, access: &mut Vec<Access>, left: &mut Vec<Left>) {
    let is_about = |one: &&Directive| {
        matches!(one.name.as_str(), "require" | "order" | "allow" | "deny" | "satisfy")
    };
    let mut groups: Vec<(&[Section], Vec<&Directive>)> = Vec::new();
    for one in file.directives.iter().filter(is_about) {
        match groups.iter_mut().find(|(within, _)| *within == one.within.as_slice()) {
            Some((_, group)) => group.push(one),
            None => groups.push((&one.within, vec![one])),
        }
    }
    // The directory itself is asked first, then its files.
    groups.sort_by_key(|(within, _)| !within.is_empty());
    for (within, group) in groups {
        let mut said = Said::default();
        group.iter().for_each(|one| said.add(one));
        let place = group
            .iter()
            .find(|one| one.name != "order" && one.name != "satisfy")
            .map_or_else(|| file.place(group[0]), |one| file.place(one));
        let name = match within {
            [] => Some(None),
            [one] => files(one).map(Some),
            _ => None,
        };
        let is_all = within.is_empty() && file.source.directory.is_empty();
        match name {
            _ if said.is_unknown => left.push(Left::new(place, Why::Login)),
            // An app that refuses everybody is no app to measure.
            Some(_) if is_all && said.is_denied() => left.push(Left::new(place, Why::RefusesAll)),
            Some(_) if is_all => {}
            Some(name) => access.push(Access {
                place,
                prefix: file.prefix(),
                name,
                is_denied: said.is_denied(),
            }),
            None => left.push(Left::new(place, Why::Section)),
        }
    }
    // What allows and refuses nothing that another refuses says nothing.
    if !access.iter().any(|one| one.is_denied) {
        access.clear();
    }
}

/// The names that a section is about.
fn files(section: &Section) -> Option<Pattern> {
    match (section.name.as_str(), section.args.as_slice()) {
        ("<files", [sign, pattern]) if sign == "~" => Pattern::read(pattern, false),
        ("<files", [name]) => Pattern::glob(name),
        ("<filesmatch", [pattern]) => match pattern.strip_prefix("(?i)") {
            Some(pattern) => Pattern::read(pattern, true),
            None => Pattern::read(pattern, false),
        },
        _ => None,
    }
}
