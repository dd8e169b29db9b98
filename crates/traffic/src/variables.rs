//! Variables of request files, `{{name}}`, and their values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use stampede_model::entry::Skip;

use super::{TrafficError, TrafficFile};

/// Values by name. A value may name other variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables {
    known: BTreeMap<String, String>,
}

impl Variables {
    /// The variables of the file's environment; none where there is no such file.
    pub(super) fn of(file: &TrafficFile) -> Result<Variables, TrafficError> {
        let Some(path) = &file.environment else { return Ok(Variables::default()) };
        let text = std::fs::read_to_string(path).map_err(|source| TrafficError::Unreadable {
            path: path.clone(),
            source: Arc::new(source),
        })?;
        read(&text).map_err(|source| TrafficError::Environment {
            path: path.clone(),
            source: Arc::new(source),
        })
    }

    /// Adds a value, unless there is one.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.known.entry(name.trim().to_owned()).or_insert_with(|| value.to_owned());
    }

    /// The value of a variable, as it is written.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.known.get(name).map(String::as_str)
    }

    /// The text with all variables replaced by their values; an error names one that has none.
    pub(super) fn filled(&self, text: &str) -> Result<String, Skip> {
        self.fill(text, 0)
    }

    /// The URL with all variables replaced. The target stands for a host with a variable that has no
    /// value; its name is returned too.
    pub(super) fn url(&self, text: &str) -> Result<(String, String), Skip> {
        let start = text.find("://").map_or(0, |place| place + 3);
        let end = text[start..].find(['/', '?']).map_or(text.len(), |place| start + place);
        let (host, path) = text.split_at(end);
        match self.filled(host) {
            Ok(host) => Ok((host + &self.filled(path)?, String::new())),
            Err(Skip::Variable { name }) => Ok((self.filled(path)?, name)),
            Err(other) => Err(other),
        }
    }

    fn fill(&self, text: &str, depth: usize) -> Result<String, Skip> {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, after)) = after.split_once("}}") else { break };
            out.push_str(before);
            let name = name.trim();
            let known =
                self.known.get(name).filter(|_| depth < DEPTH_MAX && out.len() < FILLED_MAX);
            let short = || name.chars().take(NAME_CHARS).collect();
            let value = known.ok_or_else(|| Skip::Variable { name: short() })?;
            out.push_str(&self.fill(value, depth + 1)?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// Reads Postman's environment (`values` with `key` and `value`), or an object of names and values.
fn read(text: &str) -> Result<Variables, serde_json::Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let document: Map<String, Value> = serde_json::from_str(text)?;
    let mut variables = Variables::default();
    match document.get("values").and_then(Value::as_array) {
        Some(list) => variables.add_list(list),
        None => document.iter().for_each(|(name, value)| variables.add(name, &text_of(value))),
    }
    Ok(variables)
}

impl Variables {
    /// Adds the enabled ones of a list of objects with `key` and `value`.
    pub(super) fn add_list(&mut self, list: &[Value]) {
        for one in list {
            let is_off = one.get("enabled") == Some(&Value::Bool(false))
                || one.get("disabled") == Some(&Value::Bool(true));
            let name = one.get("key").or(one.get("id")).and_then(Value::as_str);
            let value = one.get("value").filter(|value| !value.is_null());
            if let (Some(name), Some(value), false) = (name, value, is_off) {
                self.add(name, &text_of(value));
            }
        }
    }
}

/// The text of a value: that of a string without its quotes.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Longest chain of variables that name each other. A longer one is a circle.
const DEPTH_MAX: usize = 10;
/// Most bytes before a variable. Values that name a variable several times would grow without end.
const FILLED_MAX: usize = 1 << 20;
/// Most characters of a name in a reason.
const NAME_CHARS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn no_value(name: &str) -> Skip {
        Skip::Variable { name: name.to_owned() }
    }

    fn variables(list: &[(&str, &str)]) -> Variables {
        let mut all = Variables::default();
        list.iter().for_each(|(name, value)| all.add(name, value));
        all
    }

    #[test]
    fn variables_are_filled_in() {
        let all = variables(&[("a", "1"), ("b", "x{{a}}"), ("circle", "{{circle}}"), ("a", "2")]);
        let filled = |text: &str| all.filled(text);
        assert_eq!(filled("{{b}}/{{ a }}{{").as_deref(), Ok("x1/1{{"));
        assert_eq!(filled("{{none}}"), Err(no_value("none")));
        assert_eq!(filled("{{circle}}"), Err(no_value("circle")));
        let wide = variables(&[
            ("w", &"{{v}}".repeat(1_000)),
            ("v", &"{{u}}".repeat(1_000)),
            ("u", "0123456789"),
        ]);
        assert!(wide.filled("{{w}}").is_err(), "it does not grow without end");
    }

    #[test]
    fn the_target_stands_for_an_unknown_begin_of_a_url() {
        let all = variables(&[("host", "http://a.test/v1"), ("id", "7")]);
        let url = |text: &str| all.url(text);
        let of = |url: &str, name: &str| Ok((url.to_owned(), name.to_owned()));
        assert_eq!(url("{{host}}/x/{{id}}"), of("http://a.test/v1/x/7", ""));
        assert_eq!(url("{{base}}/x/{{id}}"), of("/x/7", "base"));
        assert_eq!(url("{{base}}:{{port}}/x?y"), of("/x?y", "base"));
        assert_eq!(url("{{base}}"), of("", "base"));
        assert_eq!(url("{{base}}/x/{{no}}"), Err(no_value("no")));
        assert_eq!(url("http://a/{{no}}"), Err(no_value("no")));
    }
}
