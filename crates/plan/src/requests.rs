//! Reads the requests of a load: method, path, headers and body, checked so that they can be sent.

use std::path::Path;

use stampede_model::fact::{LeftOutPart, RequestFile};

use super::error::{Help, Mistake, PlanError};
use super::imported::{self, ImportError, ImportedLoad, ImportedRequest};
use super::keys::{OF_REQUEST, REQUEST};
use super::model::RequestSpec;
use super::traffic_file::Requests;
use super::tree::{Node, Value};
use super::value::{Fields, entries, not_a, out_of_range, text};

/// Most requests of one load. They are prepared in memory before the trial.
pub(super) const REQUESTS_MAX: usize = 10_000;

/// Size of the largest body, in bytes.
const BODY_BYTES_MAX: usize = 1 << 20;

const PATH: &str = "a path such as `/` or `/search?q=1`: it begins with `/` and has no blanks";

/// The request that a load's own keys describe. The default is `GET /`.
pub(super) fn single_request(fields: &Fields<'_>) -> Result<RequestSpec, PlanError> {
    let get = RequestSpec {
        method: "GET".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        site: None,
    };
    changed(get, fields)
}

/// Whether the load has any key of a request.
pub(super) fn has_request_keys(fields: &Fields<'_>) -> bool {
    OF_REQUEST.keys.iter().any(|key| fields.get(key.name).is_some())
}

/// The requests in turn, each made from `base` with the changes of its entry.
pub(super) fn requests_of(
    items: &[Node],
    list: &Node,
    base: &RequestSpec,
) -> Result<Vec<RequestSpec>, PlanError> {
    if items.is_empty() {
        return Err(list.place.wrong(
            Mistake::NotA { found: "an empty list".to_owned(), wanted: "something to send" },
            "paths or requests, such as `[/, /about]`",
        ));
    }
    if items.len() > REQUESTS_MAX {
        let mistake = Mistake::TooMany { kind: "requests", found: items.len() };
        return Err(list.place.wrong(mistake, "at most 10 000"));
    }
    items
        .iter()
        .map(|item| match &item.value {
            Value::Map(_) => changed(base.clone(), &Fields::of(item, &REQUEST)?),
            _ => Ok(RequestSpec { path: path(item)?.to_owned(), ..base.clone() }),
        })
        .collect()
}

/// The requests of another tool's script, with the headers of `base` where they have none of that
/// name. What of the script is not taken over is told with them. `None`: the file is no script.
pub(super) fn requests_of_script(
    node: &Node,
    base: &RequestSpec,
) -> Result<Option<Requests>, PlanError> {
    let path = node.place.source.base.join(text(node, "a file", PATH)?);
    let refused = |error: ImportError| {
        let hint = error.hint();
        node.place.wrong(Mistake::refused(error), Help::todo(hint))
    };
    let Some(script) = imported::read(&path).map_err(refused)? else { return Ok(None) };
    if script.requests.len() > REQUESTS_MAX {
        let mistake = Mistake::TooMany { kind: "requests", found: script.requests.len() };
        return Err(node.place.wrong(mistake, "at most 10 000"));
    }
    let file = told(&script, &path);
    let with_base = |ImportedRequest { mut spec, .. }: ImportedRequest| {
        let is_given = |(name, _): &&(String, String)| {
            spec.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        let added: Vec<_> =
            base.headers.iter().filter(|header| !is_given(header)).cloned().collect();
        spec.headers.splice(0..0, added);
        spec
    };
    let requests = script.requests.into_iter().map(with_base).collect();
    Ok(Some(Requests { requests, file }))
}

/// What is told about a script. `None`: all of it is taken over.
fn told(script: &ImportedLoad, path: &Path) -> Option<RequestFile> {
    let left_out = script.left_out_by_kind().into_iter().map(|(what, lines)| LeftOutPart {
        what: what.to_string(),
        lines: lines.into_iter().map(|line| line as u64).collect(),
        instead: what.why().to_owned(),
    });
    let left_out: Vec<LeftOutPart> = left_out.collect();
    let requests = script.requests.len() as u64;
    (!left_out.is_empty()).then(|| RequestFile {
        file: path.display().to_string(),
        format: script.tool.name().to_owned(),
        requests,
        sent: requests,
        every: 1,
        skipped: Vec::new(),
        broken: None,
        left_out,
    })
}

/// `request` with the values of `fields` in place of its own.
fn changed(mut request: RequestSpec, fields: &Fields<'_>) -> Result<RequestSpec, PlanError> {
    if let Some(node) = fields.get("path") {
        request.path = path(node)?.to_owned();
    }
    if let Some(node) = fields.get("headers") {
        request.headers = headers(node)?;
    }
    if let Some(node) = fields.get("body") {
        let Some(body) = node.text() else { return Err(not_a(node, "a body", "a text")) };
        if body.len() > BODY_BYTES_MAX {
            return Err(out_of_range(node, "body", "at most 1 MiB"));
        }
        request.body = body.as_bytes().to_vec();
        // A body without a method means that the body is to be sent.
        if fields.get("method").is_none() && request.method == "GET" {
            request.method = "POST".to_owned();
        }
    }
    if let Some(node) = fields.get("method") {
        request.method = method(node)?.to_owned();
    }
    Ok(request)
}

/// A path and query as they stand in the request line. A blank or a line break would split the
/// line, so neither is allowed.
pub(super) fn path(node: &Node) -> Result<&str, PlanError> {
    let path = text(node, "a path", PATH)?;
    let fits = path.starts_with('/') && path.bytes().all(|b| b.is_ascii_graphic());
    if fits { Ok(path) } else { Err(not_a(node, "a path", PATH)) }
}

/// A method. CONNECT and TRACE make no sense for an app.
fn method(node: &Node) -> Result<&str, PlanError> {
    const EXPECTED: &str = "a method such as `GET` or `POST`";
    let method = text(node, "a method", EXPECTED)?;
    let fits = method.len() <= 32 && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    match fits && !matches!(method, "CONNECT" | "TRACE") {
        true => Ok(method),
        false => Err(not_a(node, "a method", EXPECTED)),
    }
}

/// Headers in order. Names are tokens and values have no line breaks (RFC 9110 section 5). The
/// headers that frame the message are set by stampede and are refused here.
pub(super) fn headers(node: &Node) -> Result<Vec<(String, String)>, PlanError> {
    const EXPECTED: &str = "headers, such as `{Accept: application/json}`";
    const OURS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];
    let mut all = Vec::new();
    for (key, value) in entries(node, EXPECTED)? {
        let (name, text) = header(key, value)?;
        if OURS.contains(&name.to_ascii_lowercase().as_str()) {
            let todo = "remove it: the body, `http` and `keep_alive` make `Content-Length`, \
                        `Transfer-Encoding` and `Connection`";
            return Err(not_a(key, "a header to choose", Help::todo(todo)));
        }
        all.push((name, text));
    }
    Ok(all)
}

/// A header's name and value.
pub(super) fn header(key: &Node, value: &Node) -> Result<(String, String), PlanError> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let name = key.text().unwrap_or("");
    if name.is_empty() || !name.bytes().all(token) {
        return Err(not_a(key, "a header's name", "letters, digits and `-`"));
    }
    let text = value.text().filter(|text| !text.contains(|c: char| c.is_control()));
    let Some(text) = text else {
        return Err(not_a(value, "a header's value", "a text of one line"));
    };
    Ok((name.to_owned(), text.to_owned()))
}
