//! Masks secrets in JSON. Only its texts are masked. Names, numbers, structure and stampede's own
//! words stay, so that no secret can break a record.

use super::{names, own, value};

/// Returns `text`, which is JSON or lines of JSON, with each text masked by `mask`. Texts under
/// names for which `is_secret` is true become `***`: also in lists and objects below the name, in the
/// field `value` beside a field `name`, and behind a flag in a list of arguments. A name, such as a
/// path, is masked only if no field, variable, header or file can have it. Anything but JSON is
/// returned unchanged.
pub(super) fn strings(
    text: &str,
    mask: impl Fn(&str) -> Option<String>,
    is_secret: impl Fn(&str) -> bool,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // In lines of JSON each line begins anew, also after one that was cut.
    let mut walk = Walk { levels: vec![Level::default()], is_secret };
    while let Some(begin) = rest.find(['"', '[', ']', '{', ',', '}', '\n']) {
        out.push_str(&rest[..begin]);
        rest = &rest[begin..];
        if !rest.starts_with('"') {
            match rest.starts_with("\n{") {
                true => walk.levels = vec![Level::default()],
                false => walk.sign(rest.as_bytes()[0]),
            }
            out.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        }
        let (literal, behind) = rest.split_at(length(rest));
        rest = behind;
        let value: Option<String> = serde_json::from_str(literal).ok();
        let is_name = behind.trim_start().starts_with(':');
        let made = value.as_deref().and_then(|value| match is_name {
            true => walk.name(value).then(|| mask(value)).flatten(),
            false => match walk.text(value) {
                Secrecy::Secret => Some(super::MASK.to_owned()),
                Secrecy::Own => None,
                Secrecy::Other => mask(value),
            },
        });
        match made {
            Some(made) => out.push_str(&serde_json::Value::from(made).to_string()),
            None => out.push_str(literal),
        }
    }
    out + rest
}

/// A list or an object that is open at this place of the text.
#[derive(Default)]
struct Level {
    is_list: bool,
    /// Whether it belongs to the name of a secret.
    is_secret: bool,
    /// What the name in front of the next value says.
    next: Next,
    /// The last text of a list, or the name that an object names itself by (`{"name": …}`).
    before: Option<String>,
}

/// What a name says about its value.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Plain,
    /// Secret, if it looks like a token.
    Weak,
    Secret,
    /// The name of something else: of a header, a variable, a field of a form.
    Names,
    /// Belongs to the name beside it.
    OfName,
}

enum Secrecy {
    Secret,
    /// A word of stampede's own.
    Own,
    Other,
}

/// A way through JSON, from its beginning to its end.
struct Walk<F> {
    levels: Vec<Level>,
    is_secret: F,
}

impl<F: Fn(&str) -> bool> Walk<F> {
    /// Takes a bracket or a comma.
    fn sign(&mut self, sign: u8) {
        match sign {
            b'[' | b'{' => {
                let next = self.next();
                let is_secret = match self.level() {
                    level if level.is_list => level.is_secret,
                    level => level.is_secret || next == Next::Secret,
                };
                self.level().next = Next::Plain;
                let next = if sign == b'[' { next } else { Next::Plain };
                let is_list = sign == b'[';
                self.levels.push(Level { is_list, is_secret, next, before: None });
            }
            b']' | b'}' if self.levels.len() > 1 => drop(self.levels.pop()),
            b',' if !self.level().is_list => self.level().next = Next::Plain,
            _ => {}
        }
    }

    fn level(&mut self) -> &mut Level {
        if self.levels.is_empty() {
            self.levels.push(Level::default());
        }
        let last = self.levels.len() - 1;
        &mut self.levels[last]
    }

    fn next(&mut self) -> Next {
        self.level().next
    }

    /// Takes a name. Returns whether it may be masked.
    fn name(&mut self, name: &str) -> bool {
        let is_secret = (self.is_secret)(name);
        let of = self.level().before.as_deref();
        self.level().next = match name {
            _ if is_secret && names::is_weak(name) => Next::Weak,
            _ if is_secret => Next::Secret,
            "name" | "key" | "header" => Next::Names,
            "value" if of.is_some() => Next::OfName,
            _ => Next::Plain,
        };
        !is_field(name)
    }

    /// Takes a text that is no name.
    fn text(&mut self, text: &str) -> Secrecy {
        let is_below = self.level().is_secret;
        let (next, before) = (self.next(), self.level().before.take());
        let is_of = |name: &str, text: &str| {
            (self.is_secret)(name) && (!names::is_weak(name) || value::is_token(text))
        };
        let is_list = self.levels.last().is_some_and(|level| level.is_list);
        let is_secret = match next {
            Next::Secret => true,
            Next::Weak => value::is_token(text),
            Next::OfName => before.as_deref().is_some_and(|name| is_of(name, text)),
            Next::Plain | Next::Names if is_list => {
                let flag = before.as_deref().filter(|flag| flag.starts_with('-'));
                is_below || flag.is_some_and(|flag| !flag.contains('=') && is_of(flag, text))
            }
            Next::Plain | Next::Names => is_below,
        };
        let level = self.level();
        if level.is_list {
            level.before = Some(text.to_owned());
        } else {
            level.before = if next == Next::Names { Some(text.to_owned()) } else { before };
            level.next = Next::Plain;
        }
        match is_secret && !value::is_public(text) {
            true => Secrecy::Secret,
            false if own::is_of_record(text) => Secrecy::Own,
            false => Secrecy::Other,
        }
    }
}

/// Whether a text can be the name of a field, variable, header, setting or file. Names are not
/// secret.
pub fn is_field(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Returns the length of the literal at the start of `text`, including its quotes.
fn length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'"' if !escaped => return at + 1,
            b'\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::set_words_of_tests;

    #[test]
    fn numbers_and_structure_are_unchanged() {
        let text = "{\n  \"a\": 123456, \"b\": [\"x 123456\", null, 1e5],\n  \"DB_PASS\": \"q\", \"c\": \"\\\"q\\u00fc\",\n  \
                    \"KEYS\": [\"u\", \"v\"], \"token\": [\"u\", [\"v\"]], \"d\": \"v\", \"key\": {\"a\": \"b\"}, \"key\": 1, \"e\": \"f\"}";
        let mask = |value: &str| value.contains("123456").then(|| value.replace("123456", "***"));
        let is_secret = |name: &str| ["DB_PASS", "token", "key"].contains(&name);
        let expected = "{\n  \"a\": 123456, \"b\": [\"x ***\", null, 1e5],\n  \"DB_PASS\": \"***\", \"c\": \"\\\"q\\u00fc\",\n  \
                    \"KEYS\": [\"u\", \"v\"], \"token\": [\"***\", [\"***\"]], \"d\": \"v\", \"key\": {\"a\": \"b\"}, \"key\": 1, \"e\": \"f\"}";
        assert_eq!(strings(text, mask, is_secret), expected);
        set_words_of_tests();
        let text = "{\"throughput\": \"valid\", \"xyzw valid\": \"xyzw valid\", \"valid\": \"xyzw: valid\", \"key\": \"name\"}";
        let mask = |value: &str| Some(value.replace("valid", "***"));
        let expected = "{\"throughput\": \"valid\", \"xyzw ***\": \"xyzw ***\", \"valid\": \"xyzw: ***\", \"key\": \"name\"}";
        assert_eq!(strings(text, mask, is_secret), expected);
        assert_eq!(strings("no JSON \"here", |_| None, |_| false), "no JSON \"here");
    }

    #[test]
    fn a_secret_below_or_beside_its_name_is_masked() {
        let masked =
            |text: &str| strings(text, |_| None, |name| crate::names::secrecy_of(name).is_some());
        for (text, expected) in [
            (
                r#"{"auth": {"user": "a", "in": [{"b": "c"}], "n": 1}, "d": "e"}"#,
                r#"{"auth": {"user": "***", "in": [{"b": "***"}], "n": 1}, "d": "e"}"#,
            ),
            (
                r#"[{"name": "DB_PASS", "at": 1, "value": "a"}, {"name": "DB", "value": "b"}]"#,
                r#"[{"name": "DB_PASS", "at": 1, "value": "***"}, {"name": "DB", "value": "b"}]"#,
            ),
            (
                r#"{"args": ["-a", "--requirepass", "b", "c", "--auth=d", "e"]}"#,
                r#"{"args": ["-a", "--requirepass", "***", "c", "--auth=d", "e"]}"#,
            ),
            (
                "{\"token\": [\"a\"\n{\"name\": \"b\", \"c\": \"d\"}\n",
                "{\"token\": [\"***\"\n{\"name\": \"b\", \"c\": \"d\"}\n",
            ),
            // Where a secret is kept is none.
            (
                r#"["--cookies", "/etc/passwd", "--auth", "/no/such/file"]"#,
                r#"["--cookies", "/etc/passwd", "--auth", "***"]"#,
            ),
            (r#"{"token_file": "/etc/passwd"}"#, r#"{"token_file": "/etc/passwd"}"#),
        ] {
            assert_eq!(masked(text), expected);
        }
    }
}
