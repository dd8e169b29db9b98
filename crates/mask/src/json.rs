//! Masks secrets in JSON. Only its texts are masked. Names, numbers, structure and stampede's own
//! words stay, so that no secret can break a record.

use super::{names, own, shapes};

/// Returns `text`, which is JSON or lines of JSON, with each text masked by `mask`. Texts under
/// names for which `is_secret` is true become `***`. A name, such as a path, is masked only if no
/// field, variable, header or file can have it. Anything but JSON is returned unchanged.
pub(super) fn strings(
    text: &str,
    mask: impl Fn(&str) -> Option<String>,
    is_secret: impl Fn(&str) -> bool,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // After a secret name: how deep the position is inside lists.
    let (mut secret, mut depth) = (false, 0_u32);
    let mut is_weak = false;
    while let Some(begin) = rest.find(['"', '[', ']', '{', ',', '}']) {
        out.push_str(&rest[..begin]);
        rest = &rest[begin..];
        if !rest.starts_with('"') {
            match rest.as_bytes()[0] {
                b'[' if secret => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            secret &= depth > 0 && !rest.starts_with('{');
            out.push_str(&rest[..1]);
            rest = &rest[1..];
            continue;
        }
        let (literal, behind) = rest.split_at(length(rest));
        rest = behind;
        let value: Option<String> = serde_json::from_str(literal).ok();
        let is_name = behind.trim_start().starts_with(':');
        let made = value.as_deref().and_then(|value| {
            let is_value = secret && !is_name && (!is_weak || shapes::is_token(value));
            match is_value {
                true if !shapes::is_switch(value) => Some(super::MASK.to_owned()),
                _ if is_name && is_field(value) || !is_name && own::is_of_record(value) => None,
                _ => mask(value),
            }
        });
        match made {
            Some(made) => out.push_str(&serde_json::Value::from(made).to_string()),
            None => out.push_str(literal),
        }
        if is_name {
            is_weak = value.as_deref().is_some_and(names::is_weak);
        }
        secret =
            if is_name { value.as_deref().is_some_and(&is_secret) } else { secret && depth > 0 };
    }
    out + rest
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
}
