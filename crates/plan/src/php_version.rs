//! Reads which versions of PHP a row is asked for: `php: 8.4`, `php: [8.2, 8.4]`.

use super::error::{Mistake, PlanError};
use super::tree::{Node, Value};
use super::value::{not_a, texts};

const EXPECTED: &str = "a version such as `8.4`, or a list such as `[8.2, 8.4]`";

/// The key and the setting that ask for a version.
pub const PHP: &str = "php";

/// The versions of PHP that a row is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PhpVersions {
    /// Each is `8.4` or `8.4.1`. Empty: the row has the PHP that it has.
    pub all: Vec<String>,
    /// Whether they are a list, so that each row has its version in its name.
    pub is_list: bool,
}

impl PhpVersions {
    /// # Errors
    /// Something is no version, or a version is there twice.
    pub(super) fn read(node: &Node) -> Result<PhpVersions, PlanError> {
        let mut all: Vec<String> = Vec::new();
        for item in texts(node, EXPECTED)? {
            let version = item.text().unwrap_or_default().to_owned();
            if !is_php_version(&version) {
                return Err(not_a(item, "a version of PHP", EXPECTED));
            }
            if all.contains(&version) {
                let mistake = Mistake::Twice { kind: "versions of PHP", name: version };
                return Err(item.place.wrong(mistake, "each version once"));
            }
            all.push(version);
        }
        match all.is_empty() {
            true => Err(not_a(node, "a version of PHP", EXPECTED)),
            false => Ok(PhpVersions { all, is_list: matches!(node.value, Value::List(_)) }),
        }
    }

    /// Each version with what it adds to the name of its row.
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, String)> {
        self.all.iter().map(|version| match self.is_list {
            true => (version.as_str(), format!(" {PHP}={version}")),
            false => (version.as_str(), String::new()),
        })
    }
}

/// Whether a text is `8.4` or `8.4.1`.
pub fn is_php_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number =
        |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    (2..=3).contains(&parts.len()) && parts.iter().all(is_number)
}
