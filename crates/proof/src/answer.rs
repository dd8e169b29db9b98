//! What a PHP says of itself.

use std::collections::BTreeMap;

use serde::Deserialize;
use stampede_model::record::ObservedState;

/// The answer of `prepend.php`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PhpAnswer {
    /// The service whose container it runs in.
    pub service: String,
    /// The pid within the container.
    pub pid: u32,
    /// `PHP_VERSION`.
    pub php_version: String,
    /// `PHP_SAPI`.
    pub sapi: String,
    /// The directories whose files of php.ini are read.
    pub ini_directories: Vec<String>,
    thread_safe: bool,
    extensions: Vec<String>,
    ini: BTreeMap<String, String>,
    opcache: bool,
    jit: bool,
    preloaded: u32,
}

impl PhpAnswer {
    /// Reads an answer; `None`: it is none.
    pub fn parse(text: &str) -> Option<PhpAnswer> {
        let answer: PhpAnswer = serde_json::from_str(text).ok()?;
        (!answer.php_version.is_empty()).then_some(answer)
    }

    /// Whether this PHP runs a program of the command line: a server written in PHP, a worker, or
    /// something else.
    pub fn is_of_command_line(&self) -> bool {
        self.sapi == "cli"
    }

    /// Adds it to what was observed.
    pub fn add_to(&self, observed: &mut ObservedState) {
        let mut extensions: Vec<String> =
            self.extensions.iter().map(|name| name.to_ascii_lowercase()).collect();
        extensions.sort();
        extensions.dedup();
        observed.php_version.clone_from(&self.php_version);
        observed.sapi.clone_from(&self.sapi);
        observed.ini.clone_from(&self.ini);
        observed.extensions = extensions;
        observed.thread_safe = self.thread_safe;
        observed.opcache = self.opcache;
        observed.jit = self.jit;
        observed.preloaded = self.preloaded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_php_said_becomes_what_was_observed() {
        let text = r#"{"pid":9,"php_version":"8.4.1","sapi":"fpm-fcgi","thread_safe":false,
            "extensions":["Core","Zend OPcache","core"],"ini":{"memory_limit":"128M"},
            "ini_directories":["/usr/local/etc/php"],"opcache":true,"jit":false,"preloaded":2}"#;
        let answer = PhpAnswer::parse(text).expect("an answer");
        let mut observed =
            ObservedState { php_version: "8.4.1".to_owned(), ..ObservedState::default() };
        answer.add_to(&mut observed);
        assert_eq!(observed.extensions, ["core", "zend opcache"]);
        assert_eq!((observed.opcache, observed.preloaded), (true, 2));
        assert_eq!((observed.sapi.as_str(), &*observed.ini["memory_limit"]), ("fpm-fcgi", "128M"));
        for other in ["", "<html>", "[]", r#"{"pid":1}"#, r#"{"php_version":""}"#] {
            assert_eq!(PhpAnswer::parse(other), None, "{other}");
        }
    }
}
