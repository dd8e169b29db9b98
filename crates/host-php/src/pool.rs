//! Reads the pools of PHP-FPM: `php-fpm.conf` and what it includes.

use serde::Serialize;

use crate::ini::{Entry, parse};
use crate::setting::{Place, Setting, Settings, learn};
use crate::tree::Tree;

/// A pool of PHP-FPM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pool {
    /// Its name, the section's.
    pub name: String,
    /// Where its section begins.
    pub at: Place,
    /// Its own settings: `pm`, `pm.max_children`, `listen`, `user` …
    pub settings: Settings,
    /// `php_value`, `php_flag` and the `php_admin_` ones. They win over php.ini.
    pub ini: Settings,
    /// `env[NAME]`.
    pub env: Settings,
}

impl Pool {
    /// The value of a setting.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(|setting| setting.value.as_str())
    }
}

/// More files that include each other than any server has.
const DEPTH_MAX: u32 = 8;

/// The pools that `file` and its includes define.
pub(crate) fn pools(tree: &Tree, file: &str) -> Vec<Pool> {
    let mut pools = Vec::new();
    read(tree, file, &mut None, &mut pools, 0);
    pools
}

/// Reads one file. `section` goes on from file to file, as PHP-FPM has it.
fn read(tree: &Tree, file: &str, section: &mut Option<String>, pools: &mut Vec<Pool>, depth: u32) {
    let Some(text) = tree.text(file).filter(|_| depth < DEPTH_MAX) else { return };
    for entry in parse(&text).entries {
        if entry.section.is_some() {
            section.clone_from(&entry.section);
        }
        let at = Place { file: file.to_owned(), line: entry.line };
        if entry.key == "include" {
            for included in tree.glob(&absolute(&entry.value, file)) {
                read(tree, &included, &mut section.clone(), pools, depth + 1);
            }
            continue;
        }
        let Some(name) = section.clone().filter(|name| name != "global") else { continue };
        set(pool(pools, &name, &at), entry, at);
    }
}

/// A path of PHP-FPM's file: without `/` at its beginning, it is below the installation's prefix,
/// which the file's own place shows: `/usr/local` of `/usr/local/etc/php-fpm.conf`.
fn absolute(path: &str, file: &str) -> String {
    let prefix = file.split("/etc/").next().unwrap_or_default();
    if path.starts_with('/') { path.to_owned() } else { format!("{prefix}/{path}") }
}

fn pool<'a>(pools: &'a mut Vec<Pool>, name: &str, at: &Place) -> &'a mut Pool {
    let known = pools.iter().position(|pool| pool.name == name);
    let index = known.unwrap_or_else(|| {
        let (name, at) = (name.to_owned(), at.clone());
        let (settings, ini, env) = (Settings::new(), Settings::new(), Settings::new());
        pools.push(Pool { name, at, settings, ini, env });
        pools.len() - 1
    });
    &mut pools[index]
}

fn set(pool: &mut Pool, entry: Entry, at: Place) {
    let Entry { key, index, value, is_known, .. } = entry;
    let value = value.replace("$pool", &pool.name);
    let name = index.unwrap_or_default();
    learn(if name.is_empty() { &key } else { &name }, &value);
    // `env[HOSTNAME] = $HOSTNAME` is a variable of the server's own environment.
    let is_known = is_known && !(key == "env" && value.starts_with('$'));
    let setting = Setting { value, at, is_known };
    match key.as_str() {
        "env" => pool.env.insert(name, setting),
        "php_value" | "php_admin_value" | "php_flag" | "php_admin_flag" => {
            pool.ini.insert(name, setting)
        }
        _ => pool.settings.insert(key, setting),
    };
}
