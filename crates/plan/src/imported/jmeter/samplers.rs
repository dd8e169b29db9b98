//! Makes requests of HTTP samplers, with the headers and defaults that hold for them.

use roxmltree::Node;

use super::super::{Found, ImportedRequest, Omission, RequestPart, form, sent_headers};
use super::values::{Values, is_enabled, property};
use crate::model::RequestSpec;

/// What holds for all samplers of a `hashTree`.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    headers: Vec<(String, String)>,
    /// A header has a variable that only a run would fill in.
    has_unknown_header: bool,
    pub defaults: Defaults,
}

/// What the samplers say that do not say it themselves. `None`: only a run would tell.
#[derive(Clone, Debug)]
pub(super) struct Defaults {
    protocol: Option<String>,
    domain: Option<String>,
    port: Option<String>,
    path: Option<String>,
}

impl Default for Defaults {
    fn default() -> Defaults {
        let none = || Some(String::new());
        Defaults { protocol: none(), domain: none(), port: none(), path: none() }
    }
}

impl Defaults {
    /// Takes what an element says.
    pub fn take(&mut self, element: Node<'_, '_>, values: &Values) {
        *self = self.of(element, values);
    }

    /// What an element says, or else what these say.
    fn of(&self, element: Node<'_, '_>, values: &Values) -> Defaults {
        let part = |name: &str, outer: &Option<String>| match values.text(element, name) {
            Some(own) if own.is_empty() => outer.clone(),
            own => own,
        };
        Defaults {
            protocol: part("HTTPSampler.protocol", &self.protocol),
            domain: part("HTTPSampler.domain", &self.domain),
            port: part("HTTPSampler.port", &self.port),
            path: part("HTTPSampler.path", &self.path),
        }
    }

    /// The host and the path. A host that only a run would tell is that of the target.
    fn target(&self) -> Option<(Option<String>, String)> {
        let path = self.path.as_deref()?;
        if let Some((host, path)) = form::url(path) {
            return Some((Some(host), path));
        }
        let path = form::path(path);
        // People also write a whole URL, or a host with its port.
        let domain = self.domain.as_deref().unwrap_or_default();
        let domain = domain.split_once("://").map_or(domain, |(_, host)| host);
        let domain = domain.trim_end_matches('/');
        let protocol = self.protocol.as_deref().filter(|name| !name.is_empty()).unwrap_or("http");
        let port = self.port.as_deref().filter(|port| !port.is_empty() && *port != "0");
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let site = form::url(&format!("{protocol}://{domain}{port}/")).map(|(host, _)| host);
        Some((site.filter(|_| !domain.is_empty()), path))
    }
}

impl Scope {
    /// Adds headers. One with the same name goes before an outer one.
    pub fn add_headers(
        &mut self,
        headers: Vec<(String, Option<String>)>,
        line: usize,
        found: &mut Found,
    ) {
        let mut known = Vec::new();
        for (name, value) in headers {
            match value {
                Some(value) => known.push((name, value)),
                None if AT_LEISURE.iter().any(|one| name.eq_ignore_ascii_case(one)) => {
                    found.leave_out(line, Omission::UnknownHeader { name });
                }
                None => self.has_unknown_header = true,
            }
        }
        for (name, value) in sent_headers(found, line, known) {
            self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
            self.headers.push((name, value));
        }
    }
}

/// The headers of a header manager. A value is `None` where only a run would tell it, or the name.
pub(super) fn headers(element: Node<'_, '_>, values: &Values) -> Vec<(String, Option<String>)> {
    let fields = fields(element, "HeaderManager.headers").into_iter();
    let header = |field| match values.text(field, "Header.name") {
        Some(name) => (name, values.text(field, "Header.value")),
        None => ("?".to_owned(), None),
    };
    fields.map(header).filter(|(name, _)| !name.is_empty()).collect()
}

/// Whether defaults are those of HTTP.
pub(super) fn is_http(element: Node<'_, '_>) -> bool {
    let names = |name: &str| property(element, name).is_some();
    names("HTTPSampler.domain") || names("HTTPSampler.path") || names("HTTPsampler.Arguments")
}

/// The request of a sampler.
pub(super) fn request(
    element: Node<'_, '_>,
    scope: Scope,
    values: &Values,
) -> Result<ImportedRequest, RequestPart> {
    let is_upload = values.is_on(element, "HTTPSampler.DO_MULTIPART_POST");
    let files = property(element, "HTTPsampler.Files").into_iter();
    let mut files = files.flat_map(|files| files.descendants());
    if is_upload || files.any(|node| node.attribute("elementType") == Some("HTTPFileArg")) {
        return Err(RequestPart::Upload);
    }
    if scope.has_unknown_header {
        return Err(RequestPart::Headers);
    }
    let method = values.text(element, "HTTPSampler.method").ok_or(RequestPart::Method)?;
    let method = if method.is_empty() { "GET".to_owned() } else { method.to_ascii_uppercase() };
    let target = scope.defaults.of(element, values).target();
    let (site, mut path) = target.ok_or(RequestPart::Url)?;
    let fields = arguments(element, values).ok_or(RequestPart::Body)?;
    let mut headers = scope.headers;
    let is_raw = values.is_on(element, "HTTPSampler.postBodyRaw");
    let body = match () {
        () if is_raw => fields.into_iter().map(|field| field.value).collect(),
        () if fields.is_empty() => String::new(),
        () if matches!(method.as_str(), "GET" | "HEAD" | "DELETE" | "OPTIONS") => {
            let between = if path.contains('?') { '&' } else { '?' };
            path.push(between);
            path.push_str(&joined(&fields));
            String::new()
        }
        () => {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                headers.push(("Content-Type".to_owned(), FORM.to_owned()));
            }
            joined(&fields)
        }
    };
    let body = body.into_bytes();
    let spec = RequestSpec { method, path, headers, body, site };
    Ok(ImportedRequest { line: values.line(element), spec })
}

/// A field of a form or a query.
struct Field {
    name: String,
    value: String,
    is_encoded: bool,
}

/// The arguments of a sampler. `None`: one has a variable that only a run would fill in.
fn arguments(element: Node<'_, '_>, values: &Values) -> Option<Vec<Field>> {
    let of = property(element, "HTTPsampler.Arguments");
    let fields = of.map(|of| fields(of, "Arguments.arguments")).unwrap_or_default();
    let field = |node: Node<'_, '_>| {
        // A body is sent as it stands, with the blanks around it.
        let value = property(node, "Argument.value").and_then(|value| value.text());
        Some(Field {
            name: values.text(node, "Argument.name")?,
            value: values.filled(value.unwrap_or_default())?,
            is_encoded: !values.is_on(node, "HTTPArgument.always_encode"),
        })
    };
    fields.into_iter().map(field).collect()
}

/// The elements of a collection that are not switched off.
fn fields<'a, 'i>(element: Node<'a, 'i>, name: &str) -> Vec<Node<'a, 'i>> {
    let all = property(element, name).into_iter().flat_map(|all| all.children());
    all.filter(|node| node.is_element() && is_enabled(*node)).collect()
}

fn joined(fields: &[Field]) -> String {
    let pair = |Field { name, value, is_encoded }: &Field| match (is_encoded, name.is_empty()) {
        (true, true) => value.clone(),
        (false, true) => form::escaped(value),
        (true, false) => format!("{name}={value}"),
        (false, false) => form::encoded([(name.as_str(), value.as_str())].into_iter()),
    };
    fields.iter().map(pair).collect::<Vec<_>>().join("&")
}

/// Headers without which a request means the same.
const AT_LEISURE: [&str; 2] = ["Referer", "Origin"];
const FORM: &str = "application/x-www-form-urlencoded";
