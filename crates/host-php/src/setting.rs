//! A setting, and the line that makes it.

use std::collections::BTreeMap;

use serde::Serialize;
use stampede_mask::{MASK, is_secret_name, mask_secrets};

/// A line of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// The path on the machine.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The value, as the program that reads the file has it.
    pub value: String,
    /// Where it is set. The last line wins.
    pub at: Place,
    /// Whether the value is the whole one. Not where it names a variable of the environment.
    pub is_known: bool,
}

/// Settings by name.
pub type Settings = BTreeMap<String, Setting>;

/// The value as it may be printed: without what looks like a secret, by its name or by its form.
pub fn shown(name: &str, value: &str) -> String {
    if value.is_empty() {
        return "\"\"".to_owned();
    }
    // `redis[auth]` is no name that a list knows; a DSN has its secret in the value.
    if is_secret_name(name) {
        return MASK.to_owned();
    }
    let masked = mask_secrets(&format!("{name}={value}"));
    masked.strip_prefix(&format!("{name}=")).map_or_else(|| MASK.to_owned(), str::to_owned)
}

/// Makes a secret known to the process, so that it is masked wherever it appears.
pub(crate) fn learn(name: &str, value: &str) {
    stampede_mask::named(name, value);
    // Redis: `tcp://host:6379?auth[]=user&auth[]=secret`.
    for part in value.split(['?', '&']) {
        if let Some((key, secret)) = part.split_once('=').filter(|(key, _)| key.starts_with("auth"))
        {
            stampede_mask::named(key.trim_end_matches("[]"), secret);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_by_name_and_by_form() {
        assert_eq!(shown("memory_limit", "512M"), "512M");
        assert_eq!(shown("mysqli.default_pw", "hunter22"), "***");
        assert_eq!(shown("env[DB_PASSWORD]", "hunter22"), "***");
        assert_eq!(shown("auto_prepend_file", ""), "\"\"");
        let redis = shown("session.save_path", "tcp://10.0.0.5:6379?auth=hunter22secret");
        assert!(!redis.contains("hunter22secret") && redis.contains("10.0.0.5"), "{redis}");
        let redis = shown("session.save_path", "tcp://u:hunter22secret@10.0.0.5:6379");
        assert!(!redis.contains("hunter22secret"), "{redis}");
    }
}
