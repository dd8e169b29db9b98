//! Reads a collection of Postman (schema.getpostman.com, version 2.1; 2.0 differs in nothing that is
//! read here): requests in nested folders, with variables.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use stampede_model::entry::{EntryError, Skip};

use super::body_file::BodyFiles;
use super::document::{self, DocumentEntry, DocumentError};
use super::form::{self, Part, URL_ENCODED};
use super::input::shown;
use super::recorded::Recorded;
use super::variables::{Variables, text_of};

/// The requests of a collection. `known` has the values of its environment, which come before those
/// of the collection.
pub(super) fn entries(
    text: &str,
    known: &Variables,
    files: &BodyFiles,
) -> Result<Vec<DocumentEntry>, DocumentError> {
    let document = document::json(text)?;
    let collection = document.get("collection").unwrap_or(&document);
    let mut variables = known.clone();
    variables.add_list(list(collection, "variable"));
    let Some(items) = collection.get("item").and_then(Value::as_array) else {
        let what = EntryError::MemberMissing { name: "item".to_owned() };
        return Err(DocumentError { line: 1, what });
    };
    let mut entries = Vec::new();
    let reader = Collection { variables, files };
    let auth = collection.get("auth").filter(|auth| !auth.is_null());
    add_scripts(collection, &mut entries);
    reader.read(items, "", auth, &mut entries);
    Ok(entries)
}

struct Collection<'a> {
    variables: Variables,
    files: &'a BodyFiles,
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Names the scripts of a collection, a folder or a request. Nobody runs them, so what they would
/// change is not changed. Postman writes an empty one where there is none.
fn add_scripts(of: &Value, entries: &mut Vec<DocumentEntry>) {
    for event in enabled(of, "event") {
        let code = event.pointer("/script/exec").unwrap_or(&Value::Null);
        let is_written = |line: &Value| line.as_str().is_some_and(|line| !line.trim().is_empty());
        let is_code = match code {
            Value::Array(lines) => lines.iter().any(is_written),
            other => is_written(other),
        };
        if is_code || event.pointer("/script/src").is_some() {
            let when = shown(text(event, "listen").as_bytes());
            entries.push(DocumentEntry::Skipped(Skip::Script { when }));
        }
    }
}

/// The entries of a list of objects that are not switched off.
fn enabled<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    list(value, name).iter().filter(|one| one.get("disabled") != Some(&Value::Bool(true)))
}

fn member(value: &Value, name: &str) -> String {
    value.get(name).map(text_of).unwrap_or_default()
}

impl Collection<'_> {
    /// Reads folders and requests. The JSON of a document has at most 128 levels, so this ends.
    fn read(
        &self,
        items: &[Value],
        folder: &str,
        auth: Option<&Value>,
        entries: &mut Vec<DocumentEntry>,
    ) {
        for item in items {
            let name = text(item, "name");
            let name = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            add_scripts(item, entries);
            let own = item.get("auth").filter(|auth| !auth.is_null());
            if let Some(items) = item.get("item").and_then(Value::as_array) {
                self.read(items, &name, own.or(auth), entries);
            } else if let Some(request) = item.get("request") {
                entries.push(self.recorded(request, name, own.or(auth)).into());
            }
        }
    }

    fn fill(&self, text: &str) -> Result<String, Skip> {
        self.variables.filled(text)
    }

    fn recorded(
        &self,
        request: &Value,
        tag: String,
        auth: Option<&Value>,
    ) -> Result<Recorded, Skip> {
        let url = match request {
            Value::String(url) => url.clone(),
            _ => raw_url(request.get("url").unwrap_or(&Value::Null)),
        };
        let (url, target_variable) = self.variables.url(url.trim())?;
        let method = match text(request, "method") {
            "" => "GET".to_owned(),
            method => self.fill(method)?,
        };
        let mut recorded =
            Recorded { line: 1, method, url, tag, target_variable, ..Recorded::default() };
        self.check_url(&mut recorded, request)?;
        for header in enabled(request, "header") {
            let name = self.fill(text(header, "key").trim())?;
            if !name.is_empty() {
                recorded.headers.push((name, self.fill(&member(header, "value"))?));
            }
        }
        if let Some(body) =
            request.get("body").filter(|body| body.get("disabled") != Some(&Value::Bool(true)))
        {
            self.add_body(body, &mut recorded)?;
        }
        let auth = request.get("auth").filter(|auth| !auth.is_null()).or(auth);
        if let Some(auth) = auth {
            self.sign_in(auth, &mut recorded)?;
        }
        Ok(recorded)
    }

    /// Fills in the variables of the path, `/:id`, and completes a URL without a scheme.
    fn check_url(&self, recorded: &mut Recorded, request: &Value) -> Result<(), Skip> {
        let url = request.get("url").unwrap_or(&Value::Null);
        for variable in list(url, "variable") {
            let name = member(variable, "key");
            let value = self.fill(&member(variable, "value"))?;
            let (path, query) = match recorded.url.split_once('?') {
                Some((path, query)) => (path.to_owned(), format!("?{query}")),
                None => (recorded.url.clone(), String::new()),
            };
            let segment = format!(":{name}");
            let segments: Vec<&str> = path
                .split('/')
                .map(|part| if part == segment { value.as_str() } else { part })
                .collect();
            recorded.url = segments.join("/") + &query;
        }
        let scheme = super::url::scheme(&recorded.url).filter(|_| recorded.url.contains("://"));
        match scheme.map(str::to_ascii_lowercase).as_deref() {
            Some("http" | "https") => Ok(()),
            Some("ws" | "wss") => Err(Skip::WebSocket {}),
            Some(other) => Err(Skip::Scheme { scheme: other.to_owned() }),
            None if recorded.url.is_empty() && recorded.target_variable.is_empty() => {
                Err(Skip::NoPath {})
            }
            None if recorded.url.starts_with('/') || !recorded.target_variable.is_empty() => Ok(()),
            None => {
                recorded.url.insert_str(0, "http://");
                Ok(())
            }
        }
    }

    fn add_body(&self, body: &Value, recorded: &mut Recorded) -> Result<(), Skip> {
        match text(body, "mode") {
            "raw" => {
                recorded.body = self.fill(text(body, "raw"))?.into_bytes();
                let language = body.pointer("/options/raw/language").and_then(Value::as_str);
                let media_type = match language {
                    Some("json") => "application/json",
                    Some("xml") => "application/xml",
                    Some("html") => "text/html",
                    Some("javascript") => "application/javascript",
                    _ => "text/plain",
                };
                if !recorded.body.is_empty() {
                    recorded.add_header("Content-Type", media_type);
                }
            }
            "urlencoded" => {
                let pairs = enabled(body, "urlencoded").map(|pair| {
                    Ok((self.fill(&member(pair, "key"))?, self.fill(&member(pair, "value"))?))
                });
                let pairs = pairs.collect::<Result<Vec<_>, Skip>>()?;
                recorded.body = form::url_encoded(&pairs).into_bytes();
                recorded.add_header("Content-Type", URL_ENCODED);
            }
            "formdata" => {
                let parts = enabled(body, "formdata").map(|field| self.parts(field));
                let parts = parts.collect::<Result<Vec<_>, Skip>>()?;
                let (body, media_type) = form::multipart(&parts.concat(), None);
                recorded.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
                recorded.add_header("Content-Type", media_type);
                recorded.body = body;
            }
            "graphql" => {
                recorded.body = self.graph(body.get("graphql").unwrap_or(&Value::Null))?;
                recorded.add_header("Content-Type", "application/json");
            }
            "file" => {
                let path = body.pointer("/file/src").and_then(Value::as_str).unwrap_or_default();
                recorded.body = match body.pointer("/file/content").and_then(Value::as_str) {
                    Some(content) => self.fill(content)?.into_bytes(),
                    None if path.is_empty() => return Err(Skip::BodyFileNotNamed {}),
                    None => self.files.read(&self.fill(path)?)?,
                };
                recorded.add_header("Content-Type", "application/octet-stream");
            }
            "" | "none" => {}
            kind => return Err(Skip::BodyKind { kind: shown(kind.as_bytes()) }),
        }
        Ok(())
    }

    /// The body of a query of GraphQL.
    fn graph(&self, graph: &Value) -> Result<Vec<u8>, Skip> {
        let variables = match graph.get("variables") {
            Some(Value::String(text)) if !text.trim().is_empty() => {
                let broken = |_| Skip::BodyKind { kind: "graphql".to_owned() };
                serde_json::from_str(&self.fill(text)?).map_err(broken)?
            }
            Some(Value::String(_)) | None => Value::Null,
            Some(other) => other.clone(),
        };
        let query = self.fill(text(graph, "query"))?;
        let mut json = serde_json::json!({"query": query, "variables": variables});
        let operation = self.fill(text(graph, "operationName"))?;
        if !operation.is_empty() {
            json["operationName"] = operation.into();
        }
        Ok(json.to_string().into_bytes())
    }

    /// The parts of a field: one, or one for each of its files.
    fn parts(&self, field: &Value) -> Result<Vec<Part>, Skip> {
        let name = self.fill(&member(field, "key"))?;
        let given = text(field, "contentType");
        let mut part = Part { name, ..Part::default() };
        part.content_type = (!given.is_empty()).then(|| given.to_owned());
        if text(field, "type") != "file" {
            part.value = self.fill(&member(field, "value"))?.into_bytes();
            return Ok(vec![part]);
        }
        part.content_type.get_or_insert("application/octet-stream".to_owned());
        let paths: Vec<&str> = match field.get("src") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            Some(one) => one.as_str().into_iter().collect(),
            None => Vec::new(),
        };
        if paths.iter().all(|path| path.is_empty()) {
            return Err(Skip::FormFile { field: shown(part.name.as_bytes()) });
        }
        let of_file = |path: &str| {
            let value = self.files.read(&self.fill(path)?)?;
            let file_name = Some(path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned());
            Ok(Part { value, file_name, ..part.clone() })
        };
        paths.into_iter().filter(|path| !path.is_empty()).map(of_file).collect()
    }

    /// Adds what the collection, a folder or the request says about signing in.
    fn sign_in(&self, auth: &Value, recorded: &mut Recorded) -> Result<(), Skip> {
        let kind = text(auth, "type");
        // Version 2.1 has a list of keys and values, 2.0 an object.
        let parameter = |name: &str| {
            let of = auth.get(kind).unwrap_or(&Value::Null);
            let listed = of.as_array().and_then(|list| {
                list.iter().find(|one| text(one, "key") == name).and_then(|one| one.get("value"))
            });
            self.fill(&listed.or_else(|| of.get(name)).map(text_of).unwrap_or_default())
        };
        match kind {
            "bearer" => {
                recorded.add_header("Authorization", format!("Bearer {}", parameter("token")?))
            }
            "basic" => {
                let login = format!("{}:{}", parameter("username")?, parameter("password")?);
                recorded.add_header("Authorization", format!("Basic {}", STANDARD.encode(login)));
            }
            "apikey" => {
                let (name, value) = (parameter("key")?, parameter("value")?);
                match parameter("in")?.as_str() {
                    "query" => recorded.add_query(&form::url_encoded(&[(name, value)])),
                    _ if name.is_empty() => {}
                    _ => recorded.add_header(&name, value),
                }
            }
            "oauth2" if !parameter("accessToken")?.is_empty() => {
                recorded
                    .add_header("Authorization", format!("Bearer {}", parameter("accessToken")?));
            }
            "noauth" | "" => {}
            kind => return Err(Skip::Authentication { kind: shown(kind.as_bytes()) }),
        }
        Ok(())
    }
}

/// The URL as it was typed. It is put together from its parts where only those are there.
fn raw_url(url: &Value) -> String {
    if let Some(raw) = url
        .as_str()
        .or_else(|| url.get("raw").and_then(Value::as_str))
        .filter(|raw| !raw.is_empty())
    {
        return raw.to_owned();
    }
    let joined = |name: &str, between: &str| match url.get(name) {
        Some(Value::Array(parts)) => parts.iter().map(segment).collect::<Vec<_>>().join(between),
        Some(other) => text_of(other),
        None => String::new(),
    };
    let (host, path, port) = (joined("host", "."), joined("path", "/"), member(url, "port"));
    let protocol = member(url, "protocol");
    let mut out = if protocol.is_empty() { String::new() } else { format!("{protocol}://") };
    out.push_str(&host);
    if !port.is_empty() {
        out.push_str(&format!(":{port}"));
    }
    if !path.is_empty() {
        out.push('/');
        out.push_str(path.trim_start_matches('/'));
    }
    let query: Vec<String> = enabled(url, "query")
        .map(|pair| format!("{}={}", member(pair, "key"), member(pair, "value")))
        .collect();
    if query.is_empty() { out } else { format!("{out}?{}", query.join("&")) }
}

/// A part of a host or a path, which may be an object with its value.
fn segment(part: &Value) -> String {
    part.get("value").map_or_else(|| text_of(part), text_of)
}
