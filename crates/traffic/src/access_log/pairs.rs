//! Pairs of name and value: `method=GET path="/a"`, and `method:GET` with tabs between (LTSV).

use super::fields::Fields;
use super::record::unescape;

/// The pairs of a line; without any, they are empty.
pub(super) fn fields(line: &[u8]) -> Fields {
    let mut fields = Fields::default();
    let labelled =
        |field: &&[u8]| field.iter().position(|byte| *byte == b':').is_some_and(|p| p > 0);
    if line.contains(&b'\t') && line.split(|byte| *byte == b'\t').filter(labelled).count() > 1 {
        for field in line.split(|byte| *byte == b'\t') {
            let colon = field.iter().position(|byte| *byte == b':').unwrap_or(field.len());
            let (name, value) = field.split_at(colon);
            let value = unescape(value.strip_prefix(b":").unwrap_or(value));
            // LTSV calls the client `host`, and the host that was asked for `vhost`.
            let name = if name == b"host" { &b"client"[..] } else { name };
            fields.add(&String::from_utf8_lossy(name), &value);
        }
        return fields;
    }
    let mut rest = line;
    while let Some(equals) = rest.iter().position(|byte| *byte == b'=') {
        let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.-@".contains(byte);
        let length = rest[..equals].iter().rev().take_while(is_of_name).count();
        let name = &rest[equals - length..equals];
        let (value, after) = value(&rest[equals + 1..]);
        if length > 0 {
            fields.add(&String::from_utf8_lossy(name), &value);
        }
        rest = after;
    }
    fields
}

/// A value, in quotes or up to the next blank, and what follows.
fn value(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let Some(quoted) = text.strip_prefix(b"\"") else {
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        return (text[..end].to_vec(), &text[end..]);
    };
    let mut is_escaped = false;
    let end = quoted.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    });
    let end = end.unwrap_or(quoted.len());
    (unescape(&quoted[..end]), quoted.get(end + 1..).unwrap_or_default())
}
