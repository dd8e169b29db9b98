//! Finds values that stand on the lines after their names: blocks and lists of YAML, `value:` below
//! `name:`, and what PHP's `var_dump` shows.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::names::{is_weak, secrecy_of};
use super::value::is_public;

/// What the lines so far say about the next one.
#[derive(Default)]
pub(super) enum Following {
    /// It is a line like any other.
    #[default]
    Nothing,
    /// It is the value.
    Dumped,
    /// It is the field `value` that belongs to the name above.
    Pair,
    /// Lines that are indented more than that belong to the value.
    Yaml { indent: usize, scalar: Scalar },
}

/// How YAML writes a value below its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    /// After `|` or `>`: each line is text.
    Block,
    /// A list, a text, or names of its own.
    Plain,
}

/// A line that is a name alone, or a name with the sign of a block.
static YAML: LazyLock<Regex> = LazyLock::new(|| {
    let name = r#"^(\s*(?:- )?)["']?([A-Za-z0-9_.-]+)["']?:"#;
    Regex::new(&format!(r"{name}\s*([|>][-+0-9]*)?\s*(?:#.*)?\r?$")).expect("it is well-formed")
});
/// `["password"]=>` and `["password":"App\User":private]=>`.
static DUMP: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"\[["']?([A-Za-z0-9_.-]+)["']?(?::[^\]]*)?\]\s*=>\s*$"#)
        .expect("it is well-formed")
});
/// `name: DB_PASS`, `"name": "Cookie",`.
static NAME: LazyLock<Regex> = LazyLock::new(|| {
    let key = r#"^\s*-?\s*\{?\s*["']?(?:name|key|header)["']?\s*[:=]\s*"#;
    Regex::new(&format!(r#"{key}["']?([A-Za-z0-9_.-]+)["']?\s*,?\s*$"#)).expect("it is well-formed")
});
/// `value: TEXT`, `"value": "TEXT"`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^\s*["']?value["']?\s*[:=]\s*(\S.*?)\s*,?\s*$"#).expect("it is well-formed")
});

impl Following {
    /// Takes the next line. Returns the part of it that is the value of a name above.
    pub fn place(&mut self, line: &str) -> Option<Range<usize>> {
        let place = self.of_line(line).filter(|place| !is_public(&line[place.clone()]));
        if place.is_none() {
            self.begin(line);
        }
        place
    }

    fn of_line(&mut self, line: &str) -> Option<Range<usize>> {
        let indent = line.len() - line.trim_start().len();
        let body = indent..indent + line.trim().len();
        match *self {
            Following::Nothing => None,
            Following::Dumped => {
                *self = Following::Nothing;
                Some(body)
            }
            Following::Pair => {
                *self = Following::Nothing;
                Some(VALUE.captures(line)?.get(1)?.range())
            }
            Following::Yaml { .. } if body.is_empty() => None,
            Following::Yaml { indent: above, scalar } => {
                let item = line[body.clone()].strip_prefix("- ").map(|item| body.end - item.len());
                let is_below = indent > above || indent == above && item.is_some();
                let value = item.unwrap_or(body.start)..body.end;
                let has_names =
                    || line[value.clone()].contains(": ") || line[value.clone()].ends_with(':');
                match scalar {
                    Scalar::Block if indent > above => Some(body),
                    Scalar::Plain if is_below && !has_names() => Some(value),
                    _ => {
                        *self = Following::Nothing;
                        None
                    }
                }
            }
        }
    }

    /// Looks whether the line is a name whose value follows.
    fn begin(&mut self, line: &str) {
        let is_secret = |name: &str| secrecy_of(name).is_some() && !is_weak(name);
        let end = line.trim_end();
        if line.len() > LINE_MAX {
            return;
        }
        if end.ends_with("=>") {
            if DUMP.captures(line).is_some_and(|found| is_secret(&found[1])) {
                *self = Following::Dumped;
            }
            return;
        }
        if let Some(found) = YAML.captures(line).filter(|found| is_secret(&found[2])) {
            let scalar = if found.get(3).is_some() { Scalar::Block } else { Scalar::Plain };
            *self = Following::Yaml { indent: found[1].len(), scalar };
        } else if NAME.captures(line).is_some_and(|found| is_secret(&found[1])) {
            *self = Following::Pair;
        }
    }
}

/// A longer line is not a name alone.
const LINE_MAX: usize = 300;

#[cfg(test)]
mod tests {
    use crate::known::masked;
    use crate::shapes::places;

    fn mask(text: &str) -> String {
        masked(text, places(text))
    }

    #[test]
    fn a_value_below_its_name_is_masked() {
        for (text, expected) in [
            (
                "a:\n  password: |\n    hunter2\n\n    more\n  b: 1",
                "a:\n  password: |\n    ***\n\n    ***\n  b: 1",
            ),
            ("tokens:\n  - hunter2\n  - 'x'\nb: 1", "tokens:\n  - ***\n  - ***\nb: 1"),
            ("tokens:\n- hunter2\nb: 1", "tokens:\n- ***\nb: 1"),
            ("secret:\n  hunter2\nb: 1", "secret:\n  ***\nb: 1"),
            ("- name: DB_PASS\n  value: hunter2\n", "- name: DB_PASS\n  value: ***\n"),
            (
                "{\"name\": \"X-Api-Key\",\n \"value\": \"hunter2\"\n",
                "{\"name\": \"X-Api-Key\",\n \"value\": ***\n",
            ),
            ("[\"password\"]=>\n  string(7) \"hunter2\"\n", "[\"password\"]=>\n  ***\n"),
            ("[\"token\":protected]=>\n  string(7) \"hunter2\"\n", "[\"token\":***]=>\n  ***\n"),
        ] {
            assert_eq!(mask(text), expected, "{text}");
        }
    }

    #[test]
    fn lines_below_other_names_stay() {
        for text in [
            "auth:\n  user: joe\n  host: db\n",
            "session:\n  driver: file\n  - x\n",
            "Password:\nready\n",
            "bad token:\n    at /srv/index.php\n",
            "name: shop\nvalue: 3\n",
            "keys:\n  - one\n",
        ] {
            assert_eq!(mask(text), text);
        }
    }
}
