//! Reads a description of an HTTP interface: OpenAPI 3 or Swagger 2, in JSON or YAML. Its GET
//! operations are requests where each parameter that they need has an example or a default value.

use serde_json::Value;
use stampede_model::entry::{EntryError, Skip};

use super::document::{self, DocumentEntry, DocumentError};
use super::recorded::Recorded;
use super::variables::text_of;

/// The requests of a description, in the order of its paths.
pub(super) fn entries(text: &str) -> Result<Vec<DocumentEntry>, DocumentError> {
    let document = match text.trim_start().starts_with('{') {
        true => document::json(text)?,
        false => yaml(text)?,
    };
    let Some(paths) = document.get("paths").and_then(Value::as_object) else {
        let what = EntryError::MemberMissing { name: "paths".to_owned() };
        return Err(DocumentError { line: 1, what });
    };
    let description = Description { document: &document };
    let base = description.base();
    let mut entries = Vec::new();
    for (path, item) in paths {
        let item = description.resolved(item);
        for (method, operation) in item.as_object().into_iter().flatten() {
            match method.as_str() {
                "get" => {
                    let url = format!("{base}{path}");
                    entries.push(description.recorded(url, item, operation).into());
                }
                "post" | "put" | "patch" | "delete" | "head" | "options" | "trace" | "query" => {
                    let method = method.to_ascii_uppercase();
                    entries.push(DocumentEntry::Skipped(Skip::Method { method }));
                }
                _ => {}
            }
        }
    }
    Ok(entries)
}

/// Reads YAML. Bounds keep a small document whose aliases repeat each other from growing.
fn yaml(text: &str) -> Result<Value, DocumentError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_documents: 2,
            max_depth: 128,
            max_nodes: NODES_MAX,
            max_events: 4 * NODES_MAX,
            max_aliases: 10_000,
            max_anchors: 10_000,
            max_total_scalar_bytes: text.len().saturating_mul(2).max(1 << 20),
        },
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(1, |location| location.line());
        let problem = error.to_string();
        let problem = problem.lines().next().unwrap_or_default().to_owned();
        DocumentError { line, what: EntryError::Document { format: "YAML".to_owned(), problem } }
    })
}

struct Description<'a> {
    document: &'a Value,
}

/// A parameter that is sent.
struct Sent<'a> {
    name: &'a str,
    value: &'a Value,
}

impl<'a> Description<'a> {
    /// What a reference within the document names; the value itself where it is none. References
    /// may follow each other.
    fn resolved(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..REFERENCES_MAX {
            let reference = value.get("$ref").and_then(Value::as_str);
            let Some(pointer) = reference.and_then(|text| text.strip_prefix('#')) else { break };
            let Some(named) =
                self.document.pointer(&pointer.replace("%7B", "{").replace("%7D", "}"))
            else {
                break;
            };
            value = named;
        }
        value
    }

    /// What comes before each path: the first server's URL, or Swagger's host and base path.
    fn base(&self) -> String {
        let server = self.document.pointer("/servers/0");
        let base = match server {
            Some(server) => {
                let mut url = text_of(server.get("url").unwrap_or(&Value::Null));
                let variables = server.get("variables").and_then(Value::as_object);
                for (name, variable) in variables.into_iter().flatten() {
                    let value = variable.get("default").map(text_of).unwrap_or_default();
                    url = url.replace(&format!("{{{name}}}"), &value);
                }
                url
            }
            None => {
                let host = self.document.get("host").map(text_of).unwrap_or_default();
                let path = self.document.get("basePath").map(text_of).unwrap_or_default();
                if host.is_empty() { path } else { format!("http://{host}{path}") }
            }
        };
        base.trim_end_matches('/').to_owned()
    }

    fn recorded(
        &self,
        path: String,
        item: &'a Value,
        operation: &'a Value,
    ) -> Result<Recorded, Skip> {
        let tag = operation.get("operationId").map(text_of).unwrap_or_default();
        let mut recorded =
            Recorded { line: 1, method: "GET".to_owned(), url: path, tag, ..Recorded::default() };
        for parameter in self.parameters(item, operation) {
            let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
            let place = parameter.get("in").and_then(Value::as_str).unwrap_or_default();
            let is_required =
                place == "path" || parameter.get("required") == Some(&Value::Bool(true));
            let Some(value) = self.example(parameter) else {
                match is_required {
                    true => {
                        return Err(Skip::Parameter {
                            name: name.chars().take(NAME_CHARS).collect(),
                        });
                    }
                    false => continue,
                }
            };
            let sent = Sent { name, value };
            match place {
                "path" => sent.into_path(&mut recorded),
                "query" => sent.into_query(parameter, &mut recorded),
                "header" => recorded.add_header(name, sent.joined()),
                "cookie" => recorded.add_header("Cookie", format!("{name}={}", sent.joined())),
                _ => {}
            }
        }
        // A parameter of the path that is described nowhere.
        match recorded.url.split_once('{').and_then(|(_, rest)| rest.split_once('}')) {
            Some((name, _)) => {
                Err(Skip::Parameter { name: name.chars().take(NAME_CHARS).collect() })
            }
            None => Ok(recorded),
        }
    }

    /// The parameters of an operation, and those of its path that it does not replace.
    fn parameters(&self, item: &'a Value, operation: &'a Value) -> Vec<&'a Value> {
        let list = |value: &'a Value| {
            value.get("parameters").and_then(Value::as_array).into_iter().flatten()
        };
        let key = |value: &Value| (value.get("name").cloned(), value.get("in").cloned());
        let mut all: Vec<&Value> = list(operation).map(|one| self.resolved(one)).collect();
        for one in list(item).map(|one| self.resolved(one)) {
            if all.iter().all(|known| key(known) != key(one)) {
                all.push(one);
            }
        }
        all
    }

    /// The value of a parameter: its example, its default value, or the first of few that it may
    /// have.
    fn example(&self, parameter: &'a Value) -> Option<&'a Value> {
        let given = |value: &'a Value| {
            let examples = value.get("examples").and_then(|examples| match examples {
                Value::Array(list) => list.first(),
                Value::Object(named) => named
                    .values()
                    .next()
                    .map(|one| self.resolved(one))
                    .and_then(|one| one.get("value")),
                _ => None,
            });
            let first = value.get("enum").and_then(|list| list.get(0));
            let named = ["example", "x-example", "default", "const"];
            let named = named.iter().find_map(|name| value.get(*name));
            named.or(examples).or(first).filter(|value| !value.is_null())
        };
        let schema = self.resolved(parameter.get("schema").unwrap_or(&Value::Null));
        let content = parameter.get("content").and_then(Value::as_object);
        let content = content.and_then(|content| content.values().next());
        let items =
            self.resolved(schema.get("items").or(parameter.get("items")).unwrap_or(&Value::Null));
        given(parameter)
            .or_else(|| given(schema))
            .or_else(|| content.and_then(given))
            .or_else(|| given(items))
    }
}

impl Sent<'_> {
    /// The values of a list, or the value itself.
    fn values(&self) -> Vec<String> {
        match self.value {
            Value::Array(list) => list.iter().map(text_of).collect(),
            value => vec![text_of(value)],
        }
    }

    fn joined(&self) -> String {
        self.values().join(",")
    }

    fn into_path(self, recorded: &mut Recorded) {
        let value = encoded(&self.joined());
        recorded.url = recorded.url.replace(&format!("{{{}}}", self.name), &value);
    }

    /// A list is repeated, unless the parameter says that its values are joined.
    fn into_query(self, parameter: &Value, recorded: &mut Recorded) {
        let joins = match parameter.get("collectionFormat").and_then(Value::as_str) {
            Some(format) => format != "multi",
            // Swagger has the type beside the name, and joins where it says nothing.
            None => {
                parameter.get("explode") == Some(&Value::Bool(false))
                    || (parameter.get("type").is_some() && parameter.get("schema").is_none())
            }
        };
        let values = if joins { vec![self.joined()] } else { self.values() };
        for value in values {
            recorded.add_query(&format!("{}={}", encoded(self.name), encoded(&value)));
        }
    }
}

/// Percent-encoded, as a part of a path or a query.
fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// References that follow each other. More are a circle.
const REFERENCES_MAX: usize = 16;
/// Most values of a YAML document. The largest descriptions have some hundred thousand.
const NODES_MAX: usize = 2_000_000;
/// Most characters of a name in a reason.
const NAME_CHARS: usize = 40;
