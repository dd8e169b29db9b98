//! What directives say, in a form that each web server can be told.

use crate::pattern::{Flavour, Pattern};

/// The place of a directive in a file, and its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the app's directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
    /// What it says.
    pub text: String,
}

/// A step that a server takes for a path, in the order of the list.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub place: Place,
    /// What precedes the text that the pattern is about; empty: it is about the whole path.
    pub prefix: String,
    /// The directories whose own rules are in force instead.
    pub not_below: Vec<String>,
    pub pattern: Pattern,
    pub negated: bool,
    /// All groups must hold; of a group, one condition.
    pub conditions: Vec<Vec<Condition>>,
    pub action: Action,
    /// Whether no other rule is looked at once this one was taken.
    pub is_last: bool,
    /// Whether it leads to the page that it would get without the rule.
    pub is_default: bool,
}

/// What must hold for a rule to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub what: Test,
    pub negated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// The path with this suffix is a file.
    File(String),
    /// The path is a directory.
    Directory,
    /// The whole path matches.
    Path(Pattern),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing changes.
    Keep,
    /// Another path is served, within the server.
    Rewrite(Target),
    /// The client is sent there.
    Redirect(u16, Target),
    /// This status is the answer.
    Status(u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The path; it begins with a slash, or with the asked path.
    pub path: Vec<Part>,
    /// The query; `None`: the request's own stays.
    pub query: Option<Vec<Part>>,
    /// Whether the request's own query follows that one.
    pub appends: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    Group(u8),
    /// The asked path.
    Path,
}

/// A rule about who may see files. The last one that is about a path decides.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub place: Place,
    /// `/sub/`.
    pub prefix: String,
    /// The names of the files; `None`: all that is in the directory.
    pub name: Option<Pattern>,
    pub is_denied: bool,
}

impl Access {
    /// The expression for the paths that it is about.
    pub fn write(&self, flavour: Flavour) -> Option<String> {
        let any = if flavour == Flavour::Target { "[^?]*" } else { ".*" };
        match &self.name {
            None => Pattern::literal(&self.prefix)?.write_plain_from_start(flavour),
            Some(name) => {
                // The name is what follows the last slash.
                let before = Pattern::literal(&self.prefix)?.write_plain_from_start(flavour)?;
                let name = name.write_name(flavour)?;
                Some(format!("{before}(?:{any}/)?{name}"))
            }
        }
    }
}

impl Rule {
    /// Whether all paths are meant that are no file, and perhaps no directory.
    pub fn needs_no_file(&self) -> bool {
        self.has(&Test::File(String::new()), true)
    }

    /// Whether such a condition must hold.
    pub fn has(&self, what: &Test, negated: bool) -> bool {
        let is = |one: &Condition| one.what == *what && one.negated == negated;
        self.conditions.iter().any(|group| matches!(group.as_slice(), [one] if is(one)))
    }
}

impl Target {
    /// The path and the query as text; `group` writes a group, `path` the asked path. The own query
    /// is `own`, with `&` before it.
    pub fn text(&self, group: impl Fn(u8) -> String, path: &str) -> (String, Option<String>) {
        let write = |parts: &[Part]| -> String {
            let one = |part: &Part| match part {
                Part::Text(text) => text.clone(),
                Part::Group(number) => group(*number),
                Part::Path => path.to_owned(),
            };
            parts.iter().map(one).collect()
        };
        (write(&self.path), self.query.as_deref().map(write))
    }
}
