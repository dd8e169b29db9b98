//! Secrets in JSON: its strings are masked, its numbers and its form stay.

/// `text`, which is JSON or lines of it, with each string as `mask` makes it, and the strings behind the names
/// that `is_secret` as `***`. What is no JSON comes back as it was.
pub(super) fn strings(
    text: &str,
    mask: impl Fn(&str) -> Option<String>,
    is_secret: impl Fn(&str) -> bool,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    // Behind a secret name: how deep in a list.
    let (mut secret, mut depth) = (false, 0_u32);
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
        let made = value.as_deref().and_then(|value| match secret && !is_name {
            true if !super::shapes::is_switch(value) => Some(super::MASK.to_owned()),
            _ => mask(value),
        });
        match made {
            Some(made) => out.push_str(&serde_json::Value::from(made).to_string()),
            None => out.push_str(literal),
        }
        secret =
            if is_name { value.as_deref().is_some_and(&is_secret) } else { secret && depth > 0 };
    }
    out + rest
}

/// Length of the literal that `text` begins with, its quotes included.
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

    #[test]
    fn numbers_and_form_stay() {
        let text = "{\n  \"a\": 123456, \"b\": [\"x 123456\", null, 1e5],\n  \"DB_PASS\": \"q\", \"c\": \"\\\"q\\u00fc\",\n  \
                    \"KEYS\": [\"u\", \"v\"], \"token\": [\"u\", [\"v\"]], \"d\": \"v\", \"key\": {\"a\": \"b\"}, \"key\": 1, \"e\": \"f\"}";
        let mask = |value: &str| value.contains("123456").then(|| value.replace("123456", "***"));
        let is_secret = |name: &str| ["DB_PASS", "token", "key"].contains(&name);
        let expected = "{\n  \"a\": 123456, \"b\": [\"x ***\", null, 1e5],\n  \"DB_PASS\": \"***\", \"c\": \"\\\"q\\u00fc\",\n  \
                    \"KEYS\": [\"u\", \"v\"], \"token\": [\"***\", [\"***\"]], \"d\": \"v\", \"key\": {\"a\": \"b\"}, \"key\": 1, \"e\": \"f\"}";
        assert_eq!(strings(text, mask, is_secret), expected);
        assert_eq!(strings("no JSON \"here", |_| None, |_| false), "no JSON \"here");
    }
}
