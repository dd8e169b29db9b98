//! Reads how a load logs in to an app.

use std::collections::BTreeMap;

use super::app_settings::{LoginSettings, SESSIONS_MAX};
use super::apps::basic_auth;
use super::error::PlanError;
use super::keys::LOGIN;
use super::requests;
use super::tree::{Node, Value};
use super::value::{ANY_LENGTH, Fields, entries, length, not_a, text, texts, whole_u32};

/// What `login` says.
#[derive(Default)]
pub(super) struct LoginKeys {
    pub form: Option<LoginSettings>,
    pub basic_auth: Option<String>,
    pub cookies: Vec<(String, String)>,
}

/// Reads `/login` or `{path: /login, form: {email: ann@shop.test, password: secret}}`; also
/// `{basic: ann:secret}` and `{cookie: SID=5f1c}`, which stand for `basic_auth` and `cookies`.
pub(super) fn login(node: &Node) -> Result<LoginKeys, PlanError> {
    let Value::Map(_) = node.value else {
        let path = requests::path(node)?.to_owned();
        let form = Some(LoginSettings { path, ..LoginSettings::default() });
        return Ok(LoginKeys { form, ..LoginKeys::default() });
    };
    let fields = Fields::of(node, &LOGIN)?;
    let values = fields.get("form").map_or(Ok(BTreeMap::new()), form_values)?;
    let path = fields.get("path").map(requests::path).transpose()?;
    let pause = fields.get("pause");
    let pause = pause.map(|node| length(node, "time on the page", ANY_LENGTH)).transpose()?;
    let is_said = path.is_some() || !values.is_empty() || pause.is_some();
    let path = path.unwrap_or_default().to_owned();
    let form = is_said.then_some(LoginSettings { path, form: values, pause });
    let pair = |node: &Node| {
        let whole = text(node, "a cookie", "`NAME=VALUE`")?;
        let pair = whole.split_once('=').filter(|_| !whole.contains([';', '\n', '\r']));
        let (name, value) = pair.ok_or_else(|| not_a(node, "a cookie", "`NAME=VALUE`"))?;
        Ok::<_, PlanError>((name.trim().to_owned(), value.trim().to_owned()))
    };
    let cookies = fields.get("cookie").map_or(Ok(Vec::new()), |node| {
        texts(node, "`NAME=VALUE`, or a list of them")?.into_iter().map(pair).collect()
    })?;
    let basic_auth = fields.get("basic").map(basic_auth).transpose()?;
    Ok(LoginKeys { form, basic_auth, cookies })
}

/// The values of a form, by the names of its fields.
fn form_values(node: &Node) -> Result<BTreeMap<String, String>, PlanError> {
    const EXPECTED: &str =
        "the fields of the form, such as `{email: ann@shop.test, password: secret}`";
    let field = |(key, value): &(Node, Node)| {
        let name = key.text().ok_or_else(|| not_a(key, "a field", EXPECTED))?;
        let value = value.text().ok_or_else(|| not_a(value, "a text", EXPECTED))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    entries(node, EXPECTED)?.iter().map(field).collect()
}

pub(super) fn sessions(node: &Node) -> Result<u32, PlanError> {
    whole_u32(node, "the number of sessions", 1..=SESSIONS_MAX)
}
