//! Makes requests of calls such as `http.post(url, body, params)`.

use tree_sitter::Node;

use super::super::{Found, ImportedRequest, Omission, RequestPart, form, sent_headers};
use super::literal::{Constants, Literal, Piece};
use super::tree::{field, line, named};
use crate::model::RequestSpec;

/// Takes the requests of a call. `false`: the function sends none that is known.
pub(super) fn of_call<'t>(
    function: &str,
    call: Node<'t>,
    constants: &Constants<'t>,
    found: &mut Found,
) -> bool {
    let Some(arguments) = field(call, "arguments") else { return false };
    let arguments = named(arguments);
    let at = |index: usize| arguments.get(index).copied();
    let method = match function {
        "get" | "head" | "post" | "put" | "patch" | "options" => function.to_ascii_uppercase(),
        "del" | "delete" => "DELETE".to_owned(),
        "request" | "asyncRequest" => {
            let method = at(0).and_then(|node| constants.evaluate(node));
            let Some(Literal::Text(method)) = method else {
                found.leave_out(line(call), Omission::Request { part: RequestPart::Method });
                return true;
            };
            let parts = Parts { line: line(call), url: at(1), body: at(2), params: at(3) };
            parts.take(method.to_ascii_uppercase(), constants, found);
            return true;
        }
        "batch" => {
            batch(call, at(0), constants, found);
            return true;
        }
        _ => return false,
    };
    let (body, params) = match function {
        "get" | "head" => (None, at(1)),
        _ => (at(1), at(2)),
    };
    Parts { line: line(call), url: at(0), body, params }.take(method, constants, found);
    true
}

/// The arguments that a request is made of.
struct Parts<'t> {
    line: usize,
    url: Option<Node<'t>>,
    body: Option<Node<'t>>,
    params: Option<Node<'t>>,
}

impl<'t> Parts<'t> {
    fn take(self, method: String, constants: &Constants<'t>, found: &mut Found) {
        let line = self.line;
        match self.request(method, constants, found) {
            Ok(spec) => found.requests.push(ImportedRequest { line, spec }),
            Err(part) => found.leave_out(line, Omission::Request { part }),
        }
    }

    fn request(
        &self,
        method: String,
        constants: &Constants<'t>,
        found: &mut Found,
    ) -> Result<RequestSpec, RequestPart> {
        let url = self.url.ok_or(RequestPart::Url)?;
        let (site, path) = self::url(url, constants).ok_or(RequestPart::Url)?;
        let mut headers = match self.params {
            Some(params) => self::headers(params, constants, found)?,
            None => Vec::new(),
        };
        let body = match self.body {
            Some(body) => constants.evaluate(body).ok_or(RequestPart::Body)?,
            None => Literal::Null,
        };
        let body = match body {
            Literal::Null => String::new(),
            Literal::Object(_) => {
                if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                    headers.push(("Content-Type".to_owned(), FORM.to_owned()));
                }
                body.to_form().ok_or(RequestPart::Body)?
            }
            other => other.to_text().ok_or(RequestPart::Body)?,
        };
        let headers = sent_headers(found, self.line, headers);
        Ok(RequestSpec { method, path, headers, body: body.into_bytes(), site })
    }
}

/// The host and the path of a URL. A beginning that only a run would tell stands for the target.
fn url<'t>(node: Node<'t>, constants: &Constants<'t>) -> Option<(Option<String>, String)> {
    let node = constants.resolved(node);
    let mut pieces = constants.pieces_of(node);
    let is_open = pieces.first() == Some(&Piece::Unknown);
    if is_open {
        pieces.remove(0);
    }
    let text: String = pieces
        .into_iter()
        .map(|piece| match piece {
            Piece::Known(text) => Some(text),
            Piece::Unknown => None,
        })
        .collect::<Option<String>>()?;
    match is_open {
        true => text.starts_with('/').then(|| (None, form::path(&text))),
        false => form::url(&text).map(|(host, path)| (Some(host), path)),
    }
}

/// The headers of the parameters of a request. What else is there is noted.
fn headers<'t>(
    node: Node<'t>,
    constants: &Constants<'t>,
    found: &mut Found,
) -> Result<Vec<(String, String)>, RequestPart> {
    let params = constants.resolved(node);
    if params.kind() != "object" {
        return match constants.evaluate(params) {
            Some(Literal::Null) => Ok(Vec::new()),
            _ => Err(RequestPart::Headers),
        };
    }
    let mut headers = Vec::new();
    for (name, value) in constants.entries(params).ok_or(RequestPart::Headers)? {
        if name != "headers" {
            found.leave_out(line(value), Omission::Parameter { name });
            continue;
        }
        let Some(Literal::Object(fields)) = constants.evaluate(value) else {
            return Err(RequestPart::Headers);
        };
        for (name, value) in fields {
            headers.push((name, value.to_text().ok_or(RequestPart::Headers)?));
        }
    }
    Ok(headers)
}

/// Takes the requests of `http.batch`: URLs, lists `[method, url, body, params]`, or objects.
fn batch<'t>(call: Node<'t>, list: Option<Node<'t>>, constants: &Constants<'t>, found: &mut Found) {
    let requests = list.map(|list| constants.resolved(list));
    let requests = match requests.map(|list| (list.kind(), list)) {
        Some(("array", list)) => Some(named(list)),
        Some(("object", object)) => constants
            .entries(object)
            .map(|entries| entries.into_iter().map(|(_, value)| value).collect()),
        _ => None,
    };
    let Some(requests) = requests else {
        return found.leave_out(line(call), Omission::Request { part: RequestPart::Url });
    };
    for request in requests {
        of_batch(constants.resolved(request), constants, found);
    }
}

fn of_batch<'t>(node: Node<'t>, constants: &Constants<'t>, found: &mut Found) {
    let (method, parts) = match node.kind() {
        "array" => {
            let parts = named(node);
            let at = |index: usize| parts.get(index).copied();
            let parts = Parts { line: line(node), url: at(1), body: at(2), params: at(3) };
            (at(0), parts)
        }
        "object" => {
            let entries = constants.entries(node).unwrap_or_default();
            let of =
                |name: &str| entries.iter().find(|(known, _)| known == name).map(|entry| entry.1);
            let parts =
                Parts { line: line(node), url: of("url"), body: of("body"), params: of("params") };
            (of("method"), parts)
        }
        _ => {
            let parts = Parts { line: line(node), url: Some(node), body: None, params: None };
            return parts.take("GET".to_owned(), constants, found);
        }
    };
    match method.map(|method| constants.evaluate(method)) {
        None => parts.take("GET".to_owned(), constants, found),
        Some(Some(Literal::Text(method))) => {
            parts.take(method.to_ascii_uppercase(), constants, found);
        }
        Some(_) => found.leave_out(parts.line, Omission::Request { part: RequestPart::Method }),
    }
}

const FORM: &str = "application/x-www-form-urlencoded";
