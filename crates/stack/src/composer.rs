//! Reads a project's composer.json and composer.lock.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::copy::io_error;
use super::error::RuntimeError;

/// The file that says what a project requires.
pub(super) const COMPOSER: &str = "composer.json";
const LOCK: &str = "composer.lock";

/// The files of Composer. Without them, both are null.
#[derive(Clone, Debug, Default)]
pub(super) struct Composer {
    json: Value,
    lock: Value,
}

impl Composer {
    /// Reads the files of the project in `path`.
    ///
    /// # Errors
    /// One of them cannot be parsed.
    pub fn read(path: &Path) -> Result<Composer, RuntimeError> {
        Ok(Composer { json: json(path, COMPOSER)?, lock: json(path, LOCK)? })
    }

    /// Whether there is no composer.json.
    pub fn is_missing(&self) -> bool {
        self.json.is_null()
    }

    /// Whether composer.json itself requires `package`.
    pub fn requires(&self, package: &str) -> bool {
        self.json["require"].get(package).is_some()
    }

    /// The directory into which Composer puts packages.
    pub fn vendor(&self) -> &str {
        let named = self.json["config"]["vendor-dir"].as_str().unwrap_or("vendor");
        named.trim_end_matches('/').trim_start_matches("./")
    }

    /// The packages that composer.json itself requires. Names without a slash are PHP itself, its
    /// extensions and libraries.
    pub fn packages(&self) -> Vec<String> {
        let required = self.json["require"].as_object().into_iter().flat_map(|map| map.keys());
        required.filter(|name| name.contains('/')).cloned().collect()
    }

    /// The versions of PHP that the project and its packages require: package and constraint. The
    /// project itself is called `composer.json`.
    pub fn php(&self) -> Vec<(String, String)> {
        let packages = self.lock["packages"].as_array().into_iter().flatten();
        let required = packages.chain([&self.json]).filter_map(|package| {
            let name = package["name"].as_str().filter(|_| package != &self.json);
            let constraint = package["require"]["php"].as_str()?;
            Some((name.unwrap_or(COMPOSER).to_owned(), constraint.to_owned()))
        });
        required.collect()
    }

    /// The PHP extensions that the project and its packages require, as PHP calls them. Libraries
    /// (`lib-curl`) and properties of PHP itself (`php-64bit`) are none.
    pub fn extensions(&self) -> Vec<String> {
        let packages = self.lock["packages"].as_array().into_iter().flatten();
        let requires =
            packages.chain([&self.json]).filter_map(|package| package["require"].as_object());
        let mut names: Vec<String> = requires
            .flat_map(|require| require.keys())
            .filter_map(|name| name.to_ascii_lowercase().strip_prefix("ext-").map(php_name))
            .collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The name that PHP gives an extension which Composer calls `name`: Composer writes `-` for a blank,
/// and people write it for `_`, too.
fn php_name(name: &str) -> String {
    match name {
        "zend-opcache" => "opcache".to_owned(),
        name => name.replace('-', "_"),
    }
}

/// Reads a JSON file of Composer; null: there is no such file.
fn json(directory: &Path, file: &str) -> Result<Value, RuntimeError> {
    let path = directory.join(file);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Value::Null),
        read => read.map_err(io_error("read", &path))?,
    };
    let wrong = |line, column, problem: &str| {
        let (path, problem) = (path.clone(), problem.to_owned());
        RuntimeError::Composer { path, line, column, problem }
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or(&said);
        // serde reports column 0 for an empty file.
        wrong(error.line(), error.column().max(1), &format!("this is not JSON: {said}"))
    })?;
    match value.is_object() {
        true => Ok(value),
        false => Err(wrong(1, 1, "this is not an object in braces")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_project_gets_the_extensions_that_it_and_its_packages_require() {
        let json = json!({"require": {"php": ">=8.2", "ext-intl": "*"}});
        let lock = json!({"packages": [
            {"name": "a/b", "require": {"ext-ctype": "*", "ext-intl": "*"}},
            {"name": "c/d"},
        ]});
        assert_eq!(Composer { json, lock }.extensions(), ["ctype", "intl"]);
        assert_eq!(Composer::default().extensions(), Vec::<String>::new());
    }

    #[test]
    fn extensions_have_the_names_that_php_gives_them() {
        let json = json!({"require": {
            "ext-zend-opcache": "*", "ext-pdo_mysql": "*", "ext-pdo-sqlite": "*", "ext-SimpleXML": "*",
            "lib-curl": "*", "php-64bit": "*", "php": "*", "composer-runtime-api": "^2", "a/ext-b": "1",
        }});
        let names = Composer { json, lock: Value::Null }.extensions();
        assert_eq!(names, ["opcache", "pdo_mysql", "pdo_sqlite", "simplexml"]);
    }

    #[test]
    fn every_package_may_require_a_php() {
        let json = json!({"name": "x/y", "require": {"php": ">=8.1"}});
        let lock =
            json!({"packages": [{"name": "a/b", "require": {"php": "^8.3"}}, {"name": "c/d"}]});
        let php = Composer { json, lock }.php();
        let pair = |name: &str, php: &str| (name.to_owned(), php.to_owned());
        assert_eq!(php, [pair("a/b", "^8.3"), pair("composer.json", ">=8.1")]);
    }
}
