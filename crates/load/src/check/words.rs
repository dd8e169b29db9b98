//! Says in words what an answer had instead of what was demanded. Only for examples.

use stampede_model::time::Nanos;

use super::{BODY_BYTES_MAX, Condition, HeaderDemand};
use stampede_traffic::fields::{unfolded, values};

/// What `condition` found in an answer that breaks it.
pub(super) fn describe(condition: &Condition, head: &[u8], size: u64, body: &[u8]) -> String {
    match condition {
        Condition::Header { name, value } => header(name, value, head),
        Condition::BodyContains(text) => does_not_contain(text, size),
        Condition::BodyMatches(_) => format!("no match in the body's {size} bytes"),
        Condition::Json { path, value } => match (path.value(body), value) {
            (Some(there), Some(wanted)) => {
                let (path, there) = (path.text(), shown(there.as_bytes()));
                format!("`{path}` is `{there}`, not `{wanted}`")
            }
            (_, _) if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() => {
                format!("the JSON has no `{}`", path.text())
            }
            (_, _) => format!("the body's {size} bytes are not JSON"),
        },
        Condition::Size(..) => format!("the body has {size} bytes"),
        Condition::Time(_) => String::new(),
    }
}

fn header(name: &str, wanted: &HeaderDemand, head: &[u8]) -> String {
    let values = values(head, name).map(|value| unfolded(value).collect::<Vec<u8>>());
    let values: Vec<String> = values.map(|value| shown(&value)).collect();
    match (values.as_slice(), wanted) {
        ([], _) => format!("no header `{name}`"),
        (values, HeaderDemand::Anything) => format!("header `{name}` is `{}`", values.join("`, `")),
        (values, HeaderDemand::Equal(wanted)) => {
            format!("header `{name}` is `{}`, not `{}`", values.join("`, `"), shown(wanted))
        }
        (values, HeaderDemand::Containing(part)) => {
            let values = values.join("`, `");
            format!("header `{name}` is `{values}`, without `{}`", shown(part))
        }
    }
}

/// Says that the body does not contain `text`.
pub(super) fn does_not_contain(text: &[u8], size: u64) -> String {
    format!("no `{}` in the body's {size} bytes", shown(text))
}

/// Says that the body was too large to be kept.
pub(super) fn too_large(size: u64) -> String {
    let limit = BODY_BYTES_MAX >> 20;
    format!("the body has {size} bytes, a pattern or JSON is looked for in {limit} MiB at most")
}

/// Says how long the answer took.
pub(crate) fn took(service_time: Nanos) -> String {
    format!("took {:.1} ms", service_time.0 as f64 / 1e6)
}

/// Bytes from elsewhere as one line that cannot affect a terminal.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut line = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == SHOWN_MAX {
            line.push('…');
            break;
        }
        match c {
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

/// Most characters of a value that are shown.
const SHOWN_MAX: usize = 120;
