//! Where the figures go: the address, who may write there, and the labels of the user. None of it
//! ever shows a secret.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use url::Url;

use crate::metrics::{COMMON_LABELS, METRICS};

/// The variable with the address.
pub const URL_VARIABLE: &str = "STAMPEDE_REMOTE_WRITE_URL";
/// The variable with the user's name.
pub const USER_VARIABLE: &str = "STAMPEDE_REMOTE_WRITE_USER";
/// The variable with the user's password.
pub const PASSWORD_VARIABLE: &str = "STAMPEDE_REMOTE_WRITE_PASSWORD";
/// The variable with a bearer token, in place of user and password.
pub const TOKEN_VARIABLE: &str = "STAMPEDE_REMOTE_WRITE_TOKEN";

/// Why figures cannot be sent to where the user wants them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetError {
    /// The address cannot be read. It is not shown, because it may have a password.
    #[error("the address for remote write is not a URL")]
    NotAUrl,
    /// Another scheme than HTTP.
    #[error("remote write needs `http` or `https`, and the address has `{scheme}`")]
    Scheme {
        /// The scheme as given.
        scheme: String,
    },
    /// The address names a server, and not where it takes figures.
    #[error("the address for remote write `{address}` has no path")]
    NoPath {
        /// The address, without secrets.
        address: String,
    },
    /// Both kinds of credentials are there.
    #[error("`{TOKEN_VARIABLE}` and `{USER_VARIABLE}` are both set")]
    TwoCredentials,
    /// A password that belongs to nobody.
    #[error("`{PASSWORD_VARIABLE}` is set without `{USER_VARIABLE}`")]
    NoUser,
    /// The token has a character that no header can have.
    #[error(
        "the token in `{TOKEN_VARIABLE}` has a space, a line break or another invisible character"
    )]
    Token,
    /// A label without a name or a value.
    #[error("the label `{given}` is not `NAME=VALUE`")]
    NotALabel {
        /// The label as given.
        given: String,
    },
    /// A name that Prometheus does not take.
    #[error("`{name}` cannot be the name of a label")]
    LabelName {
        /// The name as given.
        name: String,
    },
    /// A label that stampede sets itself.
    #[error("the label `{name}` is set by stampede")]
    LabelTaken {
        /// The name as given.
        name: String,
    },
    /// A label that was given before.
    #[error("the label `{name}` is given twice")]
    LabelTwice {
        /// The name as given.
        name: String,
    },
}

impl TargetError {
    /// Returns what to do next.
    pub fn hint(&self) -> String {
        match self {
            TargetError::NotAUrl | TargetError::Scheme { .. } => {
                "write it like `http://127.0.0.1:9090/api/v1/write`".to_owned()
            }
            TargetError::NoPath { address } => format!(
                "Prometheus takes figures at `/api/v1/write`: `{}/api/v1/write`",
                address.trim_end_matches('/')
            ),
            TargetError::TwoCredentials => "unset one of them".to_owned(),
            TargetError::NoUser => format!("set `{USER_VARIABLE}` too"),
            TargetError::Token => "set it to the token alone, without `Bearer`".to_owned(),
            TargetError::NotALabel { .. } => "write it like `team=shop`".to_owned(),
            TargetError::LabelName { .. } => {
                "use letters, digits and `_`, no digit first, and no `__` first".to_owned()
            }
            TargetError::LabelTaken { .. } | TargetError::LabelTwice { .. } => {
                "choose another name".to_owned()
            }
        }
    }
}

/// An address that takes figures, and the header that lets stampede in. `Display` and `Debug` show
/// the address without user, password and query.
#[derive(Clone)]
pub struct Target {
    /// Without user and password.
    url: Url,
    authorization: Option<String>,
}

impl Target {
    /// Reads an address (`https://user:password@host/api/v1/write`). Credentials in it come before
    /// those of the environment, which `variable` returns by name. The masker learns all of them.
    ///
    /// # Errors
    /// The address is no URL of HTTP with a path, or the credentials contradict each other.
    pub fn parse(
        address: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Target, TargetError> {
        stampede_mask::text(address);
        let mut url = Url::parse(address.trim()).map_err(|_| TargetError::NotAUrl)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TargetError::Scheme { scheme: url.scheme().to_owned() });
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let given = match (decoded(url.username()), url.password().map(decoded)) {
            (user, None) if user.is_empty() => None,
            (user, password) => Some(basic(&user, &password.unwrap_or_default())),
        };
        // Neither fails for a URL that has a host, as those of HTTP have.
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        url.set_fragment(None);
        let authorization = match given {
            Some(given) => Some(given),
            None => from_environment(variable)?,
        };
        let target = Target { url, authorization };
        if target.url.path() == "/" {
            return Err(TargetError::NoPath { address: target.to_string() });
        }
        Ok(target)
    }

    /// The address to send to, which may have a secret in its query.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    /// The value of the header `Authorization`; `None`: no credentials are needed.
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.url.clone();
        if shown.query().is_some() {
            shown.set_query(Some(stampede_mask::MASK));
        }
        write!(f, "{shown}")
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

fn from_environment(
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<String>, TargetError> {
    // An empty variable is one that a CI system did not fill in.
    let get = |name: &str| variable(name).filter(|value| !value.is_empty());
    let (user, password) = (get(USER_VARIABLE), get(PASSWORD_VARIABLE));
    for (name, value) in [(PASSWORD_VARIABLE, &password), (TOKEN_VARIABLE, &get(TOKEN_VARIABLE))] {
        if let Some(value) = value {
            stampede_mask::named(name, value);
        }
    }
    match (user, password, get(TOKEN_VARIABLE)) {
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => Err(TargetError::TwoCredentials),
        (None, Some(_), None) => Err(TargetError::NoUser),
        (None, None, Some(token)) if !token.chars().all(|c| c.is_ascii_graphic()) => {
            Err(TargetError::Token)
        }
        (None, None, Some(token)) => Ok(Some(format!("Bearer {token}"))),
        (Some(user), password, None) => Ok(Some(basic(&user, &password.unwrap_or_default()))),
        (None, None, None) => Ok(None),
    }
}

/// The header of HTTP's basic authentication (RFC 7617).
fn basic(user: &str, password: &str) -> String {
    let value = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    stampede_mask::header("Authorization", &value);
    value
}

/// Reads labels of the user, each as `NAME=VALUE`.
///
/// # Errors
/// One is no label, is given twice, or has a name that stampede sets itself.
pub fn user_labels<'a>(
    given: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<(String, String)>, TargetError> {
    let mut labels: Vec<(String, String)> = Vec::new();
    for given in given {
        let not = || TargetError::NotALabel { given: given.to_owned() };
        let (name, value) = given.split_once('=').ok_or_else(not)?;
        if name.is_empty() || value.is_empty() {
            return Err(not());
        }
        let begins = |c: char| c.is_ascii_alphabetic() || c == '_';
        let goes_on = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = name.to_owned();
        if name.starts_with("__") || !name.starts_with(begins) || !name.chars().all(goes_on) {
            return Err(TargetError::LabelName { name });
        }
        let mut own = METRICS.iter().flat_map(|metric| metric.labels).chain(&COMMON_LABELS);
        if own.any(|own| *own == name) {
            return Err(TargetError::LabelTaken { name });
        }
        if labels.iter().any(|(known, _)| *known == name) {
            return Err(TargetError::LabelTwice { name });
        }
        labels.push((name, value.to_owned()));
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn credentials_are_sent_and_never_shown() {
        let address = "https://ann:s%40cret-9081@prom.example:8443/api/v1/write?key=k3y-k3y-9081";
        let target = Target::parse(address, none).expect("a target");
        // printf 'ann:s@cret-9081' | base64
        assert_eq!(target.authorization(), Some("Basic YW5uOnNAY3JldC05MDgx"));
        assert_eq!(
            target.url().as_str(),
            "https://prom.example:8443/api/v1/write?key=k3y-k3y-9081"
        );
        let shown = format!("{target} {target:?}");
        let expected = "https://prom.example:8443/api/v1/write?***";
        assert_eq!(shown, format!("{expected} Target({expected})"));
        let masked = stampede_mask::mask_secrets("s@cret-9081 YW5uOnNAY3JldC05MDgx");
        assert_eq!(masked, "*** ***");
    }

    #[test]
    fn the_environment_gives_a_user_or_a_token() {
        let parse = |set: &[(&str, &str)]| {
            let set: Vec<(String, String)> =
                set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let get = move |name: &str| {
                set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
            };
            Target::parse("http://127.0.0.1:9/w", get).map(|target| target.authorization)
        };
        let (user, password) = ((USER_VARIABLE, "ann"), (PASSWORD_VARIABLE, "pw"));
        assert_eq!(parse(&[]), Ok(None));
        assert_eq!(parse(&[user, password]), Ok(Some("Basic YW5uOnB3".to_owned())));
        assert_eq!(parse(&[(TOKEN_VARIABLE, "t0")]), Ok(Some("Bearer t0".to_owned())));
        assert_eq!(parse(&[(TOKEN_VARIABLE, ""), user, password]), parse(&[user, password]));
        assert_eq!(parse(&[(TOKEN_VARIABLE, "t0"), user]), Err(TargetError::TwoCredentials));
        assert_eq!(parse(&[password]), Err(TargetError::NoUser));
        assert_eq!(parse(&[(TOKEN_VARIABLE, "a\r\nb: c")]), Err(TargetError::Token));
        let own = |get: &str| (get == USER_VARIABLE).then(|| "env".to_owned());
        let target = Target::parse("http://url@127.0.0.1/w", own).expect("a target");
        assert_eq!(target.authorization(), Some("Basic dXJsOg=="), "the address comes first");
    }

    #[test]
    fn mistakes_say_what_to_do() {
        let address = |text: &str| Target::parse(text, none).map(|target| target.to_string());
        let label = |text: &[&str]| user_labels(text.iter().copied()).map(|_| String::new());
        let said: Vec<String> = [
            address("127.0.0.1:9090"),
            address("prometheus/api/v1/write"),
            address("ftp://127.0.0.1/x"),
            address("http://ann:hunter2@127.0.0.1:9090"),
            label(&["team"]),
            label(&["=x"]),
            label(&["1a=x"]),
            label(&["__name__=x"]),
            label(&["run=x"]),
            label(&["quantile=x"]),
            label(&["a=1", "a=2"]),
        ]
        .into_iter()
        .map(|result| match result {
            Ok(address) => format!("no mistake: {address}"),
            Err(error) => format!("{error}\n  hint: {}", error.hint()),
        })
        .chain(
            [TargetError::TwoCredentials, TargetError::NoUser, TargetError::Token]
                .map(|error| format!("{error}\n  hint: {}", error.hint())),
        )
        .collect();
        insta::assert_snapshot!(said.join("\n"));
    }

    #[test]
    fn labels_keep_their_order_and_all_of_their_value() {
        let expected = vec![("b".to_owned(), "1=2".to_owned()), ("_a9".to_owned(), "ä".to_owned())];
        assert_eq!(user_labels(["b=1=2", "_a9=ä"]), Ok(expected));
    }
}
