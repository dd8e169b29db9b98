//! Reads settings out of configuration files: names and their literal values.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use crate::database;
use crate::files::{self, TextFile};

/// A name and its literal value in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The file, relative to the app's directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
    /// The name and the names around it, from the outermost: `$config['database']['host']` is
    /// `config`, `database`, `host`. At least one.
    pub names: Vec<String>,
    /// The value.
    pub value: String,
}

impl Setting {
    /// The innermost name.
    pub fn name(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }
}

/// What a line of PHP sets: `define('A', 'b')`, `const A = 'b'`, `$a['b']->c = 'd'`, `'a' => 'b'`,
/// `putenv('A=b')`.
static OF_PHP: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let quoted = r#"(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")"#;
    [
        format!(r#"define\s*\(\s*['"](\w+)['"]\s*,\s*{quoted}"#),
        format!(r"\bconst\s+(?:string\s+)?(\w+)\s*=\s*{quoted}"),
        format!(r#"(\$\w+(?:->\w+|\s*\[\s*(?:'[^']*'|"[^"]*"|\$\w+|\d+)\s*\])*)\s*=\s*{quoted}"#),
        format!(r#"(?:^|[\s,(\[])((?:'[\w.-]+')|(?:"[\w.-]+"))\s*=>\s*{quoted}"#),
        r#"putenv\s*\(\s*['"](\w+)=()([^'"]*)['"]"#.to_owned(),
    ]
    .iter()
    .map(|pattern| Regex::new(pattern).expect("a pattern of ours"))
    .collect()
});
/// What a line of other files sets: `a = b`, `a: b`, with quotes or without.
static OF_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r##"^\s*(?:export\s+)?([\w.\[\]-]+)\s*[=:]\s*(?:'([^']*)'|"([^"]*)"|([^\s'"#;]+))"##)
        .expect("a pattern of ours")
});
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\w+").expect("a pattern of ours"));

/// The settings of all configuration files in the app's directory `root`. Lines that are comments
/// set nothing.
pub fn settings(root: &Path) -> Vec<Setting> {
    files::configuration(root).iter().flat_map(of_file).collect()
}

fn of_file(file: &TextFile) -> Vec<Setting> {
    let is_php = file.name.ends_with(".php") || file.name.ends_with(".inc");
    let mut found = Vec::new();
    let mut in_comment = false;
    for (line, text) in (1..).zip(file.text.lines()) {
        let start = text.trim_start();
        let start = start.strip_prefix("<?php").unwrap_or(start).trim_start();
        in_comment |= is_php && start.starts_with("/*");
        let is_comment =
            in_comment || ["#", "//", ";", "*"].iter().any(|mark| start.starts_with(mark));
        if in_comment && text.contains("*/") {
            in_comment = false;
        }
        if is_comment {
            continue;
        }
        let set = |names: &str, value: &str| Setting {
            file: file.name.clone(),
            line,
            names: WORD.find_iter(names).map(|word| word.as_str().to_owned()).collect(),
            value: value.to_owned(),
        };
        let patterns = if is_php { &OF_PHP[..] } else { std::slice::from_ref(&*OF_TEXT) };
        for captures in patterns.iter().flat_map(|pattern| pattern.captures_iter(text)) {
            let value = (2..captures.len()).filter_map(|group| captures.get(group));
            let value = value.map(|group| group.as_str()).find(|value| !value.is_empty());
            let setting = set(&captures[1], value.unwrap_or_default());
            // `${NAME:-default}` is computed by another program.
            let is_literal = !setting.value.is_empty() && !setting.value.contains("${");
            if !setting.names.is_empty() && is_literal {
                found.push(setting);
            }
        }
    }
    found
}

/// The settings that stand beside the settings of a database, or whose names say that they are
/// secret. Whoever writes about the app masks those whose names are secret.
pub fn secrets(settings: &[Setting]) -> impl Iterator<Item = &Setting> {
    let named = database::databases(settings);
    let of_database: Vec<String> = named.into_iter().map(|one| one.file).collect();
    settings.iter().filter(move |setting| of_database.contains(&setting.file))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(name: &str, text: &str) -> Vec<(String, String)> {
        let file = TextFile { name: name.to_owned(), text: text.to_owned() };
        let shown = |one: Setting| (one.names.join("."), one.value);
        of_file(&file).into_iter().map(shown).collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn php_sets_values_in_five_ways() {
        let text = "<?php\ndefine( 'DB_HOST', 'localhost' ); // the server\n\
            $config['database']['hostname'] = \"db.local\";\nconst SALT = 'a\\'b';\n\
            return ['host' => '127.0.0.1', 'port' => 3306,\n'dbname'   =>  'shop',\n];\n\
            $config->dbHost = 'h'; putenv('TTRSS_DB_HOST=pg');\n$cfg['Servers'][$i]['host'] = 'x';\n";
        let expected = [
            ("DB_HOST", "localhost"),
            ("config.database.hostname", "db.local"),
            ("SALT", "a\\'b"),
            ("host", "127.0.0.1"),
            ("dbname", "shop"),
            ("config.dbHost", "h"),
            ("TTRSS_DB_HOST", "pg"),
            ("cfg.Servers.i.host", "x"),
        ];
        assert_eq!(of("config.php", text), pairs(&expected));
    }

    #[test]
    fn comments_and_computed_values_set_nothing() {
        let text = "<?php\n# define('A', 'b');\n// $a = 'b';\n/* $b = 'c';\n$c = 'd';\n*/\n\
            $p = '${DB_PASSWORD:-shop}';\n$d = getenv('HOST');\n'host' => env('DB_HOST', 'x'),\n";
        assert_eq!(of("config.php", text), pairs(&[]));
    }

    #[test]
    fn other_files_set_values_with_equals_signs_and_colons() {
        let text = "; ini\n[database]\nhost = localhost ; here\nname=\"shop\"\n  db_host: '10.0.0.1'\n#x: y\n";
        let expected = [("host", "localhost"), ("name", "shop"), ("db_host", "10.0.0.1")];
        assert_eq!(of("config.ini", text), pairs(&expected));
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in ".{0,400}") {
            of("config.php", &text);
            of("config.ini", &text);
        }
    }
}
