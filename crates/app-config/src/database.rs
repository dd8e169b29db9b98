//! Finds the databases that settings name.

use std::sync::LazyLock;

use regex::Regex;

use crate::setting::Setting;

/// A database that a configuration file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDatabase {
    /// Host and port, or the path of a socket or file; without user and password.
    pub at: String,
    /// The file that names it, relative to the app's directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
}

/// How far the settings of one database are from each other, in lines.
const NEAR: u32 = 15;

/// `mysql://user:password@host:3306/name`.
static URL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:pdo[-_+])?(?:mysqli?|mariadb|pgsql|postgres(?:ql)?)://(?:[^@/]*@)?([^/?]+)")
});
/// `mysql:dbname=shop;host=db`.
static DSN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:mysql|mariadb|pgsql):(?:.*;)?(?:host|unix_socket)=([^;]+)"));
/// `sqlite:/srv/shop.db`.
static SQLITE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:sqlite3?|pdo-sqlite):(?://)?(/[^?;]+)"));
/// The plain name of a setting that has a database's host: `db_host`, `wg_dbserver`, `mysql_host`.
static HOST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?:^|_)(?:db|database|mysqli?|mariadb|pgsql|pg|postgres(?:ql)?)_?(?:host|hostname|host_name|server)$",
    )
});
static HOST_ALONE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(?:host|hostname|server)$"));
static OF_DATABASE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:db|databases?|mysqli?|pgsql|postgres(?:ql)?|servers|connections?)$")
});
static USER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:.*_)?(?:user|username|login|dbuser)$"));
static NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:.*_)?(?:db|dbname|database|dbase|db_name|database_name)$"));
static PORT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:.*_)?(?:db|database|mysql|pgsql|postgres)_?port$|^port$"));
/// What can be a host, a port or the path of a socket.
static PLACE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^[\w.\-\[\]:/]+$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of ours")
}

/// The databases that the settings name, each place once. Files of SQLite are among them only by
/// their whole path. An example's place (`your_host`) is none.
pub fn databases(settings: &[Setting]) -> Vec<NamedDatabase> {
    let mut found: Vec<NamedDatabase> = Vec::new();
    for (index, setting) in settings.iter().enumerate() {
        let Some(at) = place(settings, index) else { continue };
        if found.iter().all(|one| one.at != at) {
            found.push(NamedDatabase { at, file: setting.file.clone(), line: setting.line });
        }
    }
    found
}

/// The place of the database that a setting names; `None`: it names none.
fn place(settings: &[Setting], index: usize) -> Option<String> {
    let setting = &settings[index];
    let value = setting.value.trim();
    let by_value = [&*URL, &*DSN, &*SQLITE].into_iter().find_map(|form| form.captures(value));
    let by_value = by_value.map(|captures| captures[1].to_owned());
    let at = by_value.or_else(|| is_host(settings, index).then(|| with_port(settings, index)))?;
    let is_example = ["your", "example", "changeme"].iter().any(|word| at.contains(word));
    (PLACE.is_match(&at) && !is_example).then_some(at)
}

/// Whether a setting has the host of a database: by its name, by the names around it, or because
/// user and name of a database are near.
fn is_host(settings: &[Setting], index: usize) -> bool {
    let setting = &settings[index];
    let name = plain(setting.name());
    if HOST.is_match(&name) {
        return true;
    }
    let (_, around) = setting.names.split_last().unwrap_or((&setting.names[0], &[]));
    HOST_ALONE.is_match(&name)
        && (around.iter().any(|name| OF_DATABASE.is_match(&plain(name)))
            || is_near(settings, index, &USER).is_some()
                && is_near(settings, index, &NAME).is_some())
}

fn with_port(settings: &[Setting], index: usize) -> String {
    let host = settings[index].value.trim().to_owned();
    let is_number = |value: &&str| value.parse::<u16>().is_ok_and(|port| port > 0);
    match is_near(settings, index, &PORT).filter(is_number) {
        Some(port) if !host.contains([':', '/']) => format!("{host}:{port}"),
        _ => host,
    }
}

/// The value of a setting with such a name near another one in the same file.
fn is_near<'a>(settings: &'a [Setting], index: usize, name: &Regex) -> Option<&'a str> {
    let own = &settings[index];
    let near = settings.iter().filter(|one| {
        one.file == own.file
            && one.line.abs_diff(own.line) <= NEAR
            && name.is_match(&plain(one.name()))
    });
    near.min_by_key(|one| one.line.abs_diff(own.line)).map(|one| one.value.as_str())
}

/// A name in lower case, with `_` where a word begins: `dbHost` is `db_host`.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if was_lower && letter.is_uppercase() {
            plain.push('_');
        }
        was_lower = letter.is_lowercase();
        plain.extend(letter.to_lowercase());
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::settings;

    fn named(file: &str, text: &str) -> Vec<String> {
        let place = tempfile::tempdir().expect("directory");
        let path = place.path().join(file);
        fs::create_dir_all(path.parent().expect("parent")).expect("directory");
        fs::write(&path, text).expect("file");
        let shown = |one: NamedDatabase| format!("{} {}:{}", one.at, one.file, one.line);
        databases(&settings(place.path())).into_iter().map(shown).collect()
    }

    #[test]
    fn databases_are_found_in_the_shapes_that_apps_write() {
        for (file, text, at) in [
            (
                "wp-config.php",
                "<?php\ndefine('DB_HOST', 'localhost:3307');",
                "localhost:3307 wp-config.php:2",
            ),
            (
                "include/dbconfig.php",
                "<?php $config['dbHost'] = 'db1';",
                "db1 include/dbconfig.php:1",
            ),
            (
                "LocalSettings.php",
                "<?php $wgDBserver = \"127.0.0.1\";",
                "127.0.0.1 LocalSettings.php:1",
            ),
            (
                "config.php",
                "<?php $c['db_dsnw'] = 'mysql://u:p@db.lan/mail';",
                "db.lan config.php:1",
            ),
            (
                "a/config/database.php",
                "<?php $db['default'] = ['hostname' => 'h1',\n'username' => 'u',\n'database' => 'd'];",
                "h1 a/config/database.php:1",
            ),
            (
                "config.php",
                "<?php $txp['db'] = 'd';\n$txp['user'] = 'u';\n$txp['host'] = 'h2';",
                "h2 config.php:3",
            ),
            (
                "config/app.php",
                "<?php return ['dsn' => 'pgsql:dbname=x;host=pg1;port=1'];",
                "pg1 config/app.php:1",
            ),
            (
                "conf/conf.php",
                "<?php $main_db_host='10.0.0.9'; $main_db_port='3309';",
                "10.0.0.9:3309 conf/conf.php:1",
            ),
            (
                "settings.php",
                "<?php $databases['default']['default'] = ['database' => 'd',\n'username' => 'u', 'host' => 'h3', 'port' => '3308'];",
                "h3:3308 settings.php:2",
            ),
            (
                "config.php",
                "<?php const DSN = 'sqlite:/var/lib/x.db';",
                "/var/lib/x.db config.php:1",
            ),
            ("config.ini", "[database]\nhost = h4\nusername = u\ndbname = d\n", "h4 config.ini:2"),
        ] {
            assert_eq!(named(file, text), [at], "{text}");
        }
    }

    #[test]
    fn what_is_no_database_is_not_called_one() {
        for (file, text) in [
            ("config.php", "<?php $smtp['host'] = 'mail'; $smtp['user'] = 'u';"),
            ("config.php", "<?php define('DB_HOST', 'your_database_host');"),
            ("config-sample.php", "<?php define('DB_HOST', 'localhost');"),
            ("config.php", "<?php // define('DB_HOST', 'localhost');"),
            ("vendor/x/config.php", "<?php define('DB_HOST', 'localhost');"),
            ("config.php", "<?php const DSN = 'sqlite:data/x.db'; define('DB_NAME', 'shop');"),
            ("index.php", "<?php $db_host = 'localhost';"),
        ] {
            assert_eq!(named(file, text), [] as [String; 0], "{text}");
        }
    }

    #[test]
    fn the_same_place_is_named_once() {
        let text = "<?php define('DB_HOST', 'h');\ndefine('DB_SERVER', 'h');";
        assert_eq!(named("config.php", text), ["h config.php:1"]);
    }
}
