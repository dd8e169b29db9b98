//! Compares what this machine sets with what a run sets: what changes answers or how long they take.
//!
//! A value that PHP, the web server or the distribution has by itself is no difference, whatever
//! the run has: nobody chose it. So an untouched installation has none.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::chosen::{Chosen, Server};
use crate::defaults::{WATCHED_INI, default_of, is_same};
use crate::php::Extension;
use crate::setting::{Place, Setting};

/// What a run sets for all runtimes.
#[derive(Clone, Debug, Default)]
pub struct RunSettings {
    /// The values of its php.ini.
    pub ini: BTreeMap<String, String>,
    /// The extensions that it loads as files.
    pub extensions: Vec<String>,
    /// Its number of workers.
    pub workers: u32,
}

impl RunSettings {
    /// Reads the php.ini that a run renders.
    pub fn of_php_ini(text: &str, extensions: Vec<String>, workers: u32) -> RunSettings {
        let entries = crate::ini::parse(text).entries;
        let ini = entries.into_iter().map(|entry| (entry.key, entry.value)).collect();
        RunSettings { ini, extensions, workers }
    }
}

/// Something that this machine sets, and the run does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The name, such as `session.save_handler`; `extension` for one that is loaded here alone, `no
    /// extension` for one that the run alone loads.
    pub name: String,
    /// The value here.
    pub here: String,
    /// The value of the run; `None`: it has none of its own.
    pub run: Option<String>,
    /// The line that sets it; `None`: no line does.
    pub at: Option<Place>,
}

/// What is set on the machine and differs from the run, the most important first.
pub fn differences(chosen: &Chosen<'_>, run: &RunSettings) -> Vec<Difference> {
    let mut all = of_ini(chosen, run);
    all.extend(of_extensions(chosen, run));
    all.extend(of_pool(chosen, run));
    all.extend(of_web(chosen));
    all.extend(missing_extensions(chosen, run));
    all
}

fn difference(name: &str, setting: &Setting, run: Option<&str>) -> Difference {
    let (name, here) = (name.to_owned(), setting.value.clone());
    Difference { name, here, run: run.map(str::to_owned), at: Some(setting.at.clone()) }
}

fn of_ini(chosen: &Chosen<'_>, run: &RunSettings) -> Vec<Difference> {
    let ini = chosen.ini();
    let is_off = |name: &str| ini.get(name).is_none_or(|set| is_same(name, &set.value, "0"));
    let has_files = ini.get("session.save_handler").is_none_or(|set| set.value == "files");
    let mut all = Vec::new();
    for name in WATCHED_INI {
        let Some(setting) = ini.get(*name) else { continue };
        let own = run.ini.get(*name).map(String::as_str);
        let default = default_of(name);
        let same = |other: &str| is_same(name, &setting.value, other);
        let is_said = match *name {
            // Which directory holds the files changes neither answers nor figures.
            "session.save_path" => !has_files,
            "opcache.jit" => !is_off("opcache.jit_buffer_size"),
            // Debian 11 and Ubuntu 20.04 switch these off, which no web app uses.
            "disable_functions" => setting.value.split(',').any(|name| {
                let name = name.trim();
                !name.is_empty() && !name.starts_with("pcntl_")
            }),
            _ => true,
        };
        if is_said && !own.is_some_and(same) && !default.is_some_and(same) {
            all.push(difference(name, setting, own.or(default)));
        }
    }
    all
}

fn of_extensions(chosen: &Chosen<'_>, run: &RunSettings) -> Vec<Difference> {
    let php = chosen.php;
    let here = php.extensions.iter().filter(|one| {
        let plain = plain(&one.name);
        !USUAL_EXTENSIONS.contains(&plain) && !run.extensions.iter().any(|name| name == plain)
    });
    let difference = |one: &Extension| Difference {
        name: "extension".to_owned(),
        here: plain(&one.name).to_owned(),
        run: None,
        at: Some(one.at.clone()),
    };
    here.map(difference).collect()
}

/// The extensions that the run alone loads.
fn missing_extensions(chosen: &Chosen<'_>, run: &RunSettings) -> Vec<Difference> {
    let here = &chosen.php.extensions;
    // A PHP without files for extensions has them built in.
    if here.is_empty() {
        return Vec::new();
    }
    let is_here = |name: &&String| here.iter().any(|one| plain(&one.name) == name.as_str());
    let difference = |name: &String| Difference {
        name: "no extension".to_owned(),
        here: name.clone(),
        run: Some(name.clone()),
        at: None,
    };
    run.extensions.iter().filter(|name| !is_here(name)).map(difference).collect()
}

/// Extensions of the distributions' basic packages (`php-common`, `php-readline`): nobody chose them.
const USUAL_EXTENSIONS: [&str; 19] = [
    "calendar",
    "ctype",
    "exif",
    "ffi",
    "fileinfo",
    "ftp",
    "gettext",
    "iconv",
    "opcache",
    "pdo",
    "phar",
    "posix",
    "readline",
    "shmop",
    "sockets",
    "sysvmsg",
    "sysvsem",
    "sysvshm",
    "tokenizer",
];

/// The extension's name without its directory.
pub(crate) fn plain(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".so").unwrap_or(file)
}

/// Values of a distribution's own `www.conf`: Debian's and Red Hat's.
const POOL: [(&str, &[&str]); 3] =
    [("pm", &["dynamic"]), ("pm.max_children", &["5", "50"]), ("pm.max_requests", &["0"])];
/// Values that the web servers, Debian or Red Hat have by themselves, besides a run's own.
const WEB: [(&str, &[&str]); 12] = [
    ("fastcgi_buffers", &["8 4k", "8 8k"]),
    ("fastcgi_buffer_size", &["4k", "8k"]),
    ("fastcgi_busy_buffers_size", &[]),
    ("fastcgi_buffering", &["on"]),
    ("fastcgi_request_buffering", &["on"]),
    ("fastcgi_cache", &["off"]),
    ("client_max_body_size", &["1m", "50m", "0"]),
    ("client_body_buffer_size", &["8k", "16k"]),
    ("keepalive_timeout", &["65", "75", "65s", "75s"]),
    ("MaxRequestWorkers", &["150", "256", "400"]),
    ("MaxConnectionsPerChild", &["0"]),
    ("KeepAlive", &["On", "on"]),
];

fn of_pool(chosen: &Chosen<'_>, run: &RunSettings) -> Vec<Difference> {
    let Some(pool) = chosen.pool else { return Vec::new() };
    let workers = run.workers.to_string();
    let own = |name: &str| match name {
        "pm" => Some("static"),
        "pm.max_children" => Some(workers.as_str()),
        _ => Some("0"),
    };
    let differs = |(name, usual): &(&str, &[&str])| {
        let setting = pool.settings.get(*name)?;
        let own = own(name);
        let is_usual = usual.contains(&setting.value.as_str());
        let is_said = !is_usual && own != Some(setting.value.as_str());
        is_said.then(|| difference(name, setting, own))
    };
    POOL.iter().filter_map(differs).collect()
}

fn of_web(chosen: &Chosen<'_>) -> Vec<Difference> {
    let differs = |(name, usual): &(&str, &[&str])| {
        let is_apaches = name.starts_with(|c: char| c.is_ascii_uppercase());
        if is_apaches == (chosen.server == Server::NginxFpm) {
            return None;
        }
        let setting = chosen.web(name)?;
        let is_usual = usual.iter().any(|usual| usual.eq_ignore_ascii_case(&setting.value));
        (!is_usual).then(|| difference(name, setting, None))
    };
    WEB.iter().filter_map(differs).collect()
}
