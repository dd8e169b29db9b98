//! Puts values in the place of variables, as compose tools do: `$NAME`, `${NAME}`, `${NAME:-default}`,
//! `${NAME-default}`, `${NAME:?message}`, `${NAME:+other}`; `$$` is a dollar sign.

use serde_json::{Map, Value};

/// Variables that have no value.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unset {
    /// Their names, each once.
    pub names: Vec<String>,
    /// Those of them that must have one, with what the file says of it.
    pub required: Vec<(String, String)>,
}

/// Replaces the variables in all texts of a document. Those without a value are added to `unset`.
pub fn interpolate(
    document: &mut Map<String, Value>,
    look: &dyn Fn(&str) -> Option<String>,
    unset: &mut Unset,
) {
    for value in document.values_mut() {
        in_value(value, look, unset);
    }
}

/// A text of a rendered document as it is meant: there, dollar signs stand twice.
pub(crate) fn plain(text: &str) -> String {
    text.replace("$$", "$")
}

/// A text as a document has it.
pub(crate) fn doubled(text: &str) -> String {
    text.replace('$', "$$")
}

fn in_value(value: &mut Value, look: &dyn Fn(&str) -> Option<String>, unset: &mut Unset) {
    match value {
        Value::String(text) if text.contains('$') => *text = in_text(text, look, unset),
        Value::Array(items) => items.iter_mut().for_each(|item| in_value(item, look, unset)),
        Value::Object(map) => interpolate(map, look, unset),
        _ => {}
    }
}

fn in_text(text: &str, look: &dyn Fn(&str) -> Option<String>, unset: &mut Unset) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        done += before;
        if let Some(after) = after.strip_prefix('$') {
            done.push('$');
            rest = after;
        } else if let Some(after) = after.strip_prefix('{') {
            let end = closing_brace(after);
            done += &of_braces(&after[..end], look, unset);
            rest = after.get(end + 1..).unwrap_or("");
        } else {
            let end = name_length(after);
            match end {
                0 => done.push('$'),
                _ => done += &value_of(&after[..end], look, unset),
            }
            rest = &after[end..];
        }
    }
    done + rest
}

/// What stands between braces: a name, and what follows if it has no value.
fn of_braces(inside: &str, look: &dyn Fn(&str) -> Option<String>, unset: &mut Unset) -> String {
    let (name, rest) = inside.split_at(name_length(inside));
    // With a colon, an empty value is none.
    let (sign, text, value) = match rest.strip_prefix(':') {
        Some(after) => (after.get(..1), after.get(1..), look(name).filter(|it| !it.is_empty())),
        None => (rest.get(..1), rest.get(1..), look(name)),
    };
    let text = text.unwrap_or("");
    match (sign.unwrap_or(""), value) {
        ("-", None) => in_text(text, look, unset),
        ("+", None) => String::new(),
        ("+", Some(_)) => in_text(text, look, unset),
        (_, Some(value)) => value,
        ("?", None) => {
            let message = in_text(text, look, unset);
            unset.required.push((name.to_owned(), message));
            unset.note(name);
            String::new()
        }
        (_, None) => value_of(name, look, unset),
    }
}

impl Unset {
    fn note(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }
}

fn value_of(name: &str, look: &dyn Fn(&str) -> Option<String>, unset: &mut Unset) -> String {
    look(name).unwrap_or_else(|| {
        unset.note(name);
        String::new()
    })
}

/// The bytes of the name at the beginning.
fn name_length(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts { text.find(|c| !is_part(c)).unwrap_or(text.len()) } else { 0 }
}

/// Where the brace that was opened before the text is closed; the text's end if it is not.
fn closing_brace(text: &str) -> usize {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> (String, Vec<String>) {
        let look = |name: &str| match name {
            "SET" => Some("yes".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let mut unset = Unset::default();
        (in_text(text, &look, &mut unset), unset.names)
    }

    #[test]
    fn every_form_of_a_variable_is_replaced() {
        for (from, to) in [
            ("a${SET}b", "ayesb"),
            ("$SET-1", "yes-1"),
            ("${SET:-no}", "yes"),
            ("${NONE:-no}:80", "no:80"),
            ("${NONE-${SET}}", "yes"),
            ("${NONE:-${OTHER:-a}b}c", "abc"),
            ("${SET:+other}${NONE:+other}", "other"),
            ("${SET:?must be}", "yes"),
            ("${EMPTY:-no}/${EMPTY-no}/${EMPTY:+other}/${EMPTY+other}", "no///other"),
            ("5$$ and $5 $", "5$ and $5 $"),
            ("${NONE:-open", "open"),
        ] {
            assert_eq!(text(from), (to.to_owned(), Vec::new()), "{from}");
        }
        let none = vec!["NONE".to_owned()];
        assert_eq!(text("${NONE}/$NONE/${NONE:?must be}"), ("//".to_owned(), none));
    }

    proptest! {
        /// No text makes it panic, and one without a dollar sign stays as it is.
        #[test]
        fn any_text_can_be_read(from in "[${}:?+a-cA-C_é-]{0,20}") {
            let (to, _) = text(&from);
            prop_assert!(from.contains('$') || to == from);
        }
    }
}
