//! Says what a runtime of the catalogue takes over, so that it serves an app as this machine does.
//!
//! A run sets values of its own where this machine sets none. There the variant goes back to what PHP
//! or the web server has by itself, for that is what serves the app today.

mod apache;
mod fpm;
mod nginx;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::chosen::{Chosen, Server};
use crate::defaults::{WATCHED_INI, default_of, is_same};
use crate::differences::{RunSettings, plain};
use crate::setting::{Place, Setting, shown};

/// Something that was taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Taken {
    /// Its name as the machine's file has it.
    pub name: String,
    /// The value, with secrets masked.
    pub value: String,
    /// The line that sets it; `None`: it is what the program has by itself.
    pub at: Option<Place>,
}

/// Why a setting is not in force, or what the user must know about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyNot {
    /// It is in force, and leads to a server that other programs use too.
    ReachedForReal,
    /// The user of the stack cannot read the path.
    NotReadable,
    /// It names a variable of the server's environment, which is not known here.
    NotKnown,
    /// stampede decides it for every runtime: users, addresses, logs, CPUs.
    Ours,
    /// The runtime has no place for it.
    NoPlace,
}

/// A setting that is not in force as on the machine, or that needs a word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotTaken {
    /// Its name as the machine's file has it.
    pub name: String,
    /// The value, with secrets masked.
    pub value: String,
    /// The line that sets it.
    pub at: Option<Place>,
    /// Why.
    pub why: WhyNot,
}

/// What a runtime takes over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TakenOver {
    /// The catalogue's runtime.
    pub runtime: &'static str,
    /// The title for people.
    pub title: &'static str,
    /// Settings of the runtime by name, as a plan has them.
    pub settings: BTreeMap<String, String>,
    /// Values for php.ini.
    pub php_ini: BTreeMap<String, String>,
    /// Variables of the environment.
    pub env: BTreeMap<String, String>,
    /// Raw lines, by the rendered file that they are appended to.
    pub append: BTreeMap<&'static str, Vec<String>>,
    /// The extensions that are loaded, without those of the engine.
    pub extensions: Vec<String>,
    /// What was taken over.
    pub taken: Vec<Taken>,
    /// What was not, or needs a word.
    pub not_taken: Vec<NotTaken>,
}

/// Settings of php.ini that belong to a run: its paths, its mail, its way to log.
const OURS: [&str; 22] = [
    "cgi.",
    "cli_server.",
    "engine",
    "error_log",
    "extension_dir",
    "fastcgi.",
    "mail.",
    "opcache.enable_cli",
    "opcache.error_log",
    "opcache.file_cache",
    "opcache.file_update_protection",
    "opcache.lockfile_path",
    "opcache.preload_user",
    "opcache.restrict_api",
    "sendmail_",
    "session.gc_",
    "sys_temp_dir",
    "syslog.",
    "upload_tmp_dir",
    "user_ini.",
    "xdebug.log",
    "xdebug.output_dir",
];

/// What the runtime takes over from what serves the app on this machine. `app` is the app's
/// directory; `can_read` says whether the user of the stack can read a path.
pub fn take_over(
    chosen: &Chosen<'_>,
    run: &RunSettings,
    app: Option<&Path>,
    can_read: &dyn Fn(&Path) -> bool,
) -> TakenOver {
    let mut over = TakenOver {
        runtime: chosen.server.runtime(),
        title: chosen.server.title(),
        ..TakenOver::default()
    };
    over.take_ini(chosen, run, app, can_read);
    over.take_extensions(chosen, run);
    over.take_pool(chosen);
    match chosen.server {
        Server::NginxFpm => over.take_nginx(chosen),
        Server::ApacheFpm | Server::ApacheModphp => over.take_apache(chosen),
    }
    // The highest version is found by itself.
    let first = chosen.host.setups.iter().find(|php| php.sapi == chosen.php.sapi);
    if let Some(program) = chosen.php.program.as_ref().filter(|_| first != Some(chosen.php)) {
        let need = if chosen.server == Server::ApacheModphp { "mod_php" } else { "php-fpm" };
        over.settings.insert(need.to_owned(), program.clone());
        over.say(need, program, None);
    }
    over.taken.sort_by_key(|one| rank(&one.name));
    over
}

/// The place of a setting among those that were taken over: workers, then what is watched, then the
/// rest.
fn rank(name: &str) -> usize {
    let watched = WATCHED_INI.iter().position(|watched| *watched == name);
    match name {
        "pm" | "pm.max_children" | "MaxRequestWorkers" => 0,
        _ => watched.map_or(WATCHED_INI.len() + 1, |position| position + 1),
    }
}

impl TakenOver {
    /// Lists something that was taken over.
    fn say(&mut self, name: &str, value: &str, at: Option<&Place>) {
        let (name, value) = (name.to_owned(), shown(name, value));
        self.taken.push(Taken { name, value, at: at.cloned() });
    }

    fn say_not(&mut self, name: &str, setting: &Setting, why: WhyNot) {
        let (value, at) = (shown(name, &setting.value), Some(setting.at.clone()));
        self.not_taken.push(NotTaken { name: name.to_owned(), value, at, why });
    }

    fn append(&mut self, file: &'static str, line: String) {
        self.append.entry(file).or_default().push(line);
    }

    fn take_ini(
        &mut self,
        chosen: &Chosen<'_>,
        run: &RunSettings,
        app: Option<&Path>,
        can_read: &dyn Fn(&Path) -> bool,
    ) {
        let mut ini = chosen.ini();
        let is_ours = |name: &str| {
            OURS.iter()
                .any(|own| *own == name || own.ends_with(['.', '_']) && name.starts_with(own))
        };
        ini.retain(|name, _| !is_ours(name));
        let handler = ini.get("session.save_handler").map(|set| set.value.clone());
        if handler.is_none_or(|handler| handler == "files") {
            ini.remove("session.save_path");
        }
        for (name, setting) in &ini {
            if !setting.is_known {
                self.say_not(name, setting, WhyNot::NotKnown);
            } else if name == "open_basedir" && !setting.value.is_empty() {
                // The copy of the app is elsewhere; its place is known when PHP starts.
                self.append(
                    "php.ini",
                    format!("open_basedir=\"{}:${{TMPDIR}}/../\"", setting.value),
                );
                self.say(name, &setting.value, Some(&setting.at));
            } else if name == "opcache.preload" && !setting.value.is_empty() {
                self.take_preload(setting, app);
            } else if unreadable(name, &setting.value, can_read) {
                self.say_not(name, setting, WhyNot::NotReadable);
            } else {
                self.take_value(name, &setting.value, Some(&setting.at), run);
            }
            let is_address = ["session.save_path", "memcached.sess_"]
                .iter()
                .any(|begin| name.starts_with(begin))
                && setting.value.contains(':');
            if is_address && setting.is_known {
                self.say_not(name, setting, WhyNot::ReachedForReal);
            }
        }
        // Where the machine sets nothing, PHP's own value is in force.
        let unset = run.ini.keys().filter(|name| !ini.contains_key(*name) && !is_ours(name));
        for name in unset {
            if let Some(default) = default_of(name) {
                self.take_value(name, default, None, run);
            }
        }
    }

    /// Takes a value, unless the run has the same.
    fn take_value(&mut self, name: &str, value: &str, at: Option<&Place>, run: &RunSettings) {
        let own = run.ini.get(name).map(String::as_str).or(default_of(name));
        if own.is_some_and(|own| is_same(name, own, value)) {
            return;
        }
        let setting = match (name, value) {
            ("memory_limit", _) => Some(("memory_limit", value)),
            ("opcache.enable", _) if is_same(name, value, "0") => Some(("opcache", "off")),
            ("opcache.enable", _) => Some(("opcache", "on")),
            ("opcache.jit", "disable" | "off" | "tracing" | "function") => Some(("jit", value)),
            ("opcache.jit", "0" | "") => Some(("jit", "off")),
            ("opcache.jit", "1") => Some(("jit", "tracing")),
            _ => None,
        };
        match setting {
            Some((name, value)) => self.settings.insert(name.to_owned(), value.to_owned()),
            None => self.php_ini.insert(name.to_owned(), value.to_owned()),
        };
        self.say(name, value, at);
    }

    /// A file of the app is preloaded from its copy.
    fn take_preload(&mut self, setting: &Setting, app: Option<&Path>) {
        let own = app.and_then(|app| Path::new(&setting.value).strip_prefix(app).ok());
        match own.and_then(Path::to_str) {
            Some(own) => {
                self.settings.insert("preload".to_owned(), own.to_owned());
                self.say("opcache.preload", &setting.value, Some(&setting.at));
            }
            None => self.say_not("opcache.preload", setting, WhyNot::NoPlace),
        }
    }

    fn take_extensions(&mut self, chosen: &Chosen<'_>, run: &RunSettings) {
        let php = chosen.php;
        let mut has_opcache = false;
        for one in &php.extensions {
            let name = plain(&one.name);
            if name == "opcache" {
                has_opcache = true;
                continue;
            }
            let has_path = one.name.contains('/');
            if one.is_zend || has_path {
                let directive = if one.is_zend { "zend_extension" } else { "extension" };
                self.append("php.ini", format!("{directive}={}", one.name));
            } else {
                self.extensions.push(name.to_owned());
            }
            if !run.extensions.iter().any(|known| known == name) {
                self.say("extension", name, Some(&one.at));
            }
        }
        let is_here = |name: &&String| php.extensions.iter().any(|one| plain(&one.name) == *name);
        for name in run.extensions.iter().filter(|name| !is_here(name)) {
            self.say("no extension", name, None);
        }
        // From PHP 8.5 on it is built in.
        let number = |text: &str| text.split('.').filter_map(|part| part.parse().ok()).collect();
        let version: Vec<u32> = php.version.as_deref().map(number).unwrap_or_default();
        if !has_opcache && version < vec![8, 5] {
            self.settings.insert("opcache".to_owned(), "off".to_owned());
            self.say("opcache.enable", "0", None);
        }
    }
}

/// Whether a setting names files of which one cannot be read. Relative paths are the app's.
fn unreadable(name: &str, value: &str, can_read: &dyn Fn(&Path) -> bool) -> bool {
    if !["auto_prepend_file", "auto_append_file", "include_path"].contains(&name) {
        return false;
    }
    let paths = value.split(':').map(Path::new).filter(|path| path.is_absolute());
    // A directory of include_path that does not exist does no harm.
    let counts = |path: &&Path| name != "include_path" || path.exists();
    paths.filter(counts).any(|path| !can_read(path))
}
