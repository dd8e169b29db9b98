//! Objects of JSON, a line each, also behind the prefix of a collector of logs.

use serde_json::Value;

use super::fields::Fields;

/// The fields of the object that a line ends with; `None` where it ends with none.
pub(super) fn fields(line: &[u8]) -> Option<Fields> {
    let line = line.trim_ascii();
    if line.last() != Some(&b'}') {
        return None;
    }
    let opens = line.iter().enumerate().filter(|(_, byte)| **byte == b'{').map(|(place, _)| place);
    let value: Value =
        opens.take(TRIES).find_map(|place| serde_json::from_slice(&line[place..]).ok())?;
    let Value::Object(_) = &value else { return None };
    let mut fields = Fields::default();
    // Breadth first: what an outer object says is nearer to the request.
    let mut level = vec![(String::new(), &value)];
    for _ in 0..DEPTH_MAX {
        let mut inner = Vec::new();
        for (path, object) in level {
            let Value::Object(members) = object else { continue };
            for (name, value) in members {
                let full = format!("{path}{name}");
                match value {
                    Value::String(text) => fields.add(&full, text.as_bytes()),
                    Value::Number(number) => fields.add(&full, number.to_string().as_bytes()),
                    Value::Object(_) if !is_of_other_things(name) => {
                        inner.push((full + ".", value));
                    }
                    _ => {}
                }
            }
        }
        level = inner;
    }
    Some(fields)
}

/// Objects that are about the machine, the collector or the headers: a `path` or a `host` in them is
/// not the request's.
fn is_of_other_things(name: &str) -> bool {
    const OTHER: [&str; 14] = [
        "headers",
        "request_headers",
        "response_headers",
        "resp_headers",
        "requestheaders",
        "responseheaders",
        "file",
        "log",
        "kubernetes",
        "container",
        "agent",
        "process",
        "tls",
        "geoip",
    ];
    OTHER.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Most places of a line at which an object may begin.
const TRIES: usize = 4;
/// Depth of objects in which fields are looked for.
const DEPTH_MAX: usize = 4;
