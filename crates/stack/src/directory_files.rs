//! An app's `.htaccess` and `.user.ini`: which there are, what servers and PHP are told of them, and
//! what the user should know.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stampede_htaccess as htaccess;
use stampede_htaccess::{Directory, Left, Place, Source};
use stampede_mask::mask_secrets;
use stampede_model::fact::{DirectoryFiles, DirectoryLine, LineReason, Notice};
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::catalogue::RuntimeDirectory;
use super::copy::{io_error, make_dir};
use super::error::RuntimeError;
use super::images::RuntimeImages;
use super::locate::ResolvedNeed;
use super::setting::Settings;

/// The most lines that a notice names.
const LINES_MAX: usize = 4;
/// The most characters of a line.
const CHARS_MAX: usize = 100;
/// The most bytes of a file that are read.
const BYTES_MAX: u64 = 1 << 20;
/// The most files, how deep they may lie, and the most directories that are looked at.
const FILES_MAX: usize = 200;
const DEPTH_MAX: usize = 6;
const DIRECTORIES_MAX: usize = 5000;
/// Directories of packages, which no browser asks for.
const SKIPPED: [&str; 3] = ["vendor", "node_modules", ".git"];
/// The names of the probe, which shows what PHP is. An app's rules may refuse files that it does not know.
const PROBES: &str = r"^stampede-probe-[0-9a-z]+\.php$";
const HTACCESS: &str = ".htaccess";
const USER_INI: &str = ".user.ini";
/// The setting of Apache runtimes.
const SETTING: &str = "htaccess";
/// The need of the Apache that has PHP in it.
const MOD_PHP: &str = "mod_php";

/// The web servers that can be told an app's rules, as a `runtime.yaml` names them.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum RuleForm {
    /// Apache's own lines.
    Apache,
    /// Lines of a `location`.
    Nginx,
    /// Lines of lighttpd's `url.rewrite` and `url.access-deny`.
    Lighttpd,
    /// Matchers and routes of a Caddyfile, which FrankenPHP reads too.
    Caddy,
    /// uWSGI's `route` lines.
    Uwsgi,
    /// Arrays for the router script of `php -S`.
    PhpBuiltin,
}

impl RuleForm {
    fn title(self) -> &'static str {
        match self {
            RuleForm::Apache => "Apache",
            RuleForm::Nginx => "nginx",
            RuleForm::Lighttpd => "lighttpd",
            RuleForm::Caddy => "Caddy",
            RuleForm::Uwsgi => "uWSGI",
            RuleForm::PhpBuiltin => "`php -S`",
        }
    }

    /// What this web server is not told.
    fn left(self, rules: &Directory) -> Vec<Left> {
        let own = match self {
            RuleForm::Apache => return rules.apache(|_| true, true).left,
            RuleForm::Nginx => rules.nginx().left,
            RuleForm::Lighttpd => rules.lighttpd().left,
            RuleForm::Caddy => rules.caddy().left,
            RuleForm::Uwsgi => rules.uwsgi().left,
            RuleForm::PhpBuiltin => rules.router().left,
        };
        rules.left().iter().cloned().chain(own).collect()
    }
}

/// What templates may name of an app's directory files, as `directory`: what the runtime's web server
/// is told.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Told {
    nginx: String,
    lighttpd: htaccess::Lighttpd,
    caddy: htaccess::Caddy,
    uwsgi: String,
    router: Option<htaccess::Router>,
    apache: ToldApache,
}

#[derive(Debug, Default, Serialize)]
struct ToldApache {
    modules: Vec<&'static str>,
    files: Vec<ToldFile>,
}

/// A file to include in the section of a directory.
#[derive(Debug, Serialize)]
struct ToldFile {
    /// What follows the public directory: empty, or `/sub`.
    directory: String,
    /// Its place in the directory `htaccess`.
    name: String,
}

impl Told {
    /// That of an app without such files.
    #[cfg(test)]
    pub(crate) fn none() -> Told {
        Told::default()
    }
}

/// The needs of a runtime, and what is beside them.
pub(crate) struct NeedFiles<'a> {
    pub needs: &'a BTreeMap<String, ResolvedNeed>,
    /// The images that they are in; `None`: they are on this machine.
    pub images: Option<&'a RuntimeImages>,
}

impl NeedFiles<'_> {
    /// Whether there is a file at this path.
    pub fn has(&self, path: &Path) -> bool {
        self.images.map_or_else(|| path.is_file(), |images| images.has_object(path))
    }
}

/// What the templates of a runtime may name. The files that its Apache includes are written to `dir`.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn told(
    app: &App,
    runtime: &RuntimeDirectory,
    settings: &Settings,
    files: &NeedFiles<'_>,
    dir: &Path,
) -> Result<Told, RuntimeError> {
    let Some(form) = runtime.manifest.app_rules else { return Ok(Told::default()) };
    let mut rules = app.rules().clone();
    rules.allow(PROBES);
    let mut told = Told::default();
    match form {
        RuleForm::Apache => {
            told.apache = told_apache(app, &rules, settings, (files, dir))?;
        }
        RuleForm::Nginx => told.nginx = rules.nginx().what,
        RuleForm::Lighttpd => told.lighttpd = rules.lighttpd().what,
        RuleForm::Caddy => told.caddy = rules.caddy().what,
        RuleForm::Uwsgi => told.uwsgi = rules.uwsgi().what,
        RuleForm::PhpBuiltin => {
            told.router =
                Some(rules.router().what).filter(|what| *what != htaccess::Router::default());
        }
    }
    Ok(told)
}

fn told_apache(
    app: &App,
    rules: &Directory,
    settings: &Settings,
    (files, dir): (&NeedFiles<'_>, &Path),
) -> Result<ToldApache, RuntimeError> {
    let modules: Vec<&Path> = files.needs.values().filter_map(|need| need.path.parent()).collect();
    let has = |name: &str| modules.iter().any(|at| files.has(&at.join(format!("mod_{name}.so"))));
    let with_php = files.needs.contains_key(MOD_PHP);
    match settings.values.get(SETTING).and_then(|how| how.as_str()) {
        Some("once") => included(rules.apache(has, with_php), dir),
        Some("per-request") => {
            let modules = htaccess::MODULES.into_iter().filter(|name| has(name)).collect();
            // Apache finds the app's own files by itself, and the framework's nowhere.
            let files = match app.has_rules_of_framework() {
                true => included(app.rules_of_framework().apache(has, with_php), dir)?.files,
                false => Vec::new(),
            };
            Ok(ToldApache { modules, files })
        }
        _ => Ok(ToldApache::default()),
    }
}

/// Writes each file to its own place, so that Apache's errors name it and the right line.
fn included(apache: htaccess::Apache, dir: &Path) -> Result<ToldApache, RuntimeError> {
    let mut files = Vec::new();
    for file in apache.files {
        let to = dir.join(SETTING).join(&file.file);
        make_dir(to.parent().unwrap_or(dir))?;
        fs::write(&to, &file.text).map_err(io_error("write", &to))?;
        let directory = match file.directory.as_str() {
            "" => String::new(),
            directory => format!("/{directory}"),
        };
        files.push(ToldFile { directory, name: file.file });
    }
    Ok(ToldApache { modules: apache.modules, files })
}

impl App {
    /// A path of the public directory, relative to the app's.
    fn public(&self, name: &str) -> String {
        match self.manifest.docroot.as_str() {
            "." => name.to_owned(),
            docroot => format!("{docroot}/{name}"),
        }
    }

    fn source(&self, directory: String) -> Option<Source> {
        let below = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let file = self.public(&format!("{below}{HTACCESS}"));
        let Some(bytes) = self.foreign_file(&file, BYTES_MAX) else {
            return self.source_of_framework().filter(|_| directory.is_empty());
        };
        Some(Source { directory, file, text: String::from_utf8_lossy(&bytes).into_owned() })
    }

    /// What is known of the app's framework for a public directory without such a file.
    fn source_of_framework(&self) -> Option<Source> {
        let framework = self.manifest.framework.as_ref()?;
        let (file, text) =
            (format!("frameworks/{}.yaml", framework.name), framework.htaccess.clone()?);
        Some(Source { directory: String::new(), file, text })
    }

    /// Whether the rules of the public directory are those of the framework.
    fn has_rules_of_framework(&self) -> bool {
        self.source_of_framework().is_some()
            && self.path().is_some()
            && self.only.is_none()
            && self.foreign_file(&self.public(HTACCESS), BYTES_MAX).is_none()
    }

    /// What the files of the public directory say. They are read once.
    fn rules(&self) -> &Directory {
        self.rules.get_or_init(|| self.read_rules())
    }

    fn read_rules(&self) -> Directory {
        let Some(path) = self.path().filter(|_| self.only.is_none()) else {
            return Directory::default();
        };
        let root = path.join(self.public("").trim_end_matches('/'));
        let (mut level, mut sources, mut seen) = (vec![String::new()], Vec::new(), 0);
        for _ in 0..=DEPTH_MAX {
            let mut next = Vec::new();
            for directory in level {
                seen += 1;
                if seen > DIRECTORIES_MAX || sources.len() >= FILES_MAX {
                    break;
                }
                next.extend(subdirectories(&root, &directory));
                sources.extend(self.source(directory));
            }
            next.sort();
            level = next;
        }
        Directory::read(sources, &self.manifest.index)
    }

    fn rules_of_framework(&self) -> Directory {
        let source = self.source_of_framework();
        Directory::read(source.into_iter().collect(), &self.manifest.index)
    }

    /// The settings of PHP in the public directory.
    fn own_php_ini(&self, rules: &Directory, to: &str) -> htaccess::Ini {
        let file = self.public(USER_INI);
        let own = self
            .path()
            .filter(|_| self.only.is_none())
            .and_then(|_| self.foreign_file(&file, BYTES_MAX));
        let text =
            own.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let from = self.path().map(|path| path.display().to_string());
        let mut ini = rules.ini(htaccess::read_user_ini(&file, &text), from.as_deref(), to);
        // Ours is the one file that PHP can include first.
        if self.manifest.settings.https == Some(true) {
            let (ours, others) =
                ini.settings.into_iter().partition(|(_, name, _)| name == "auto_prepend_file");
            let named =
                |(place, ..): (Place, String, String)| Left { place, why: LineReason::PlanDecides };
            ini.settings = others;
            ini.left.extend(Vec::from_iter::<Vec<_>>(ours).into_iter().map(named));
        }
        ini
    }

    /// The runtime of a plan, with the app's own settings of PHP below those of the plan.
    /// `at`: the path at which PHP sees the app.
    pub(crate) fn choice_with_own_php_ini(
        &self,
        choice: &RuntimeChoice,
        at: &Path,
    ) -> RuntimeChoice {
        let ini = self.own_php_ini(self.rules(), &at.display().to_string());
        let own = ini.settings.into_iter().map(|(_, name, value)| (name, value));
        let mut choice = choice.clone();
        let given = std::mem::take(&mut choice.php_ini);
        choice.php_ini = own.chain(given).collect();
        choice
    }

    /// The notice of what such files say, and of what these runtimes make of it; `None`: nothing that
    /// is special.
    pub(super) fn directory_notice(&self, runtimes: &[RuntimeDirectory]) -> Option<Notice> {
        let rules = self.rules();
        let ini = self.own_php_ini(rules, "");
        let forms: BTreeSet<RuleForm> =
            runtimes.iter().filter_map(|runtime| runtime.manifest.app_rules).collect();
        let mut lines = Lines::default();
        self.above().iter().chain(&ini.left).for_each(|left| lines.add(left, None));
        for form in &forms {
            form.left(rules).iter().for_each(|left| lines.add(left, Some(*form)));
        }
        let (applied_by, ignored_by) = names_by(runtimes, |one| one.manifest.app_rules.is_some());
        let files = DirectoryFiles {
            app: self.name.clone(),
            rules: rules.rules(),
            settings: ini.settings.len() as u64,
            count: lines.0.len() as u64,
            lines: lines.shown(forms.len()),
            applied_by,
            ignored_by,
        };
        let is_special = files.count + files.rules + files.settings > 0;
        is_special.then_some(Notice::DirectoryFiles(files))
    }

    /// What stands above the public directory.
    fn above(&self) -> Vec<Left> {
        let docroot = &self.manifest.docroot;
        if docroot == "." {
            return Vec::new();
        }
        let Some(bytes) = self.foreign_file(HTACCESS, BYTES_MAX) else { return Vec::new() };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let source = Source { directory: String::new(), file: HTACCESS.to_owned(), text };
        Directory::read(vec![source], &self.manifest.index).above(docroot)
    }
}

/// The lines that are not applied, in the order of the files, each with the web servers that do not
/// apply it. None: no runtime does.
#[derive(Default)]
struct Lines(BTreeMap<(String, u32), (Left, Vec<RuleForm>)>);

impl Lines {
    fn add(&mut self, left: &Left, by: Option<RuleForm>) {
        let key = (left.place.file.clone(), left.place.line);
        match (self.0.entry(key), by) {
            (Entry::Vacant(place), by) => {
                place.insert((left.clone(), Vec::from_iter(by)));
            }
            // Nobody applies it, whatever this one does.
            (Entry::Occupied(known), _) if known.get().1.is_empty() => {}
            (Entry::Occupied(mut known), Some(by)) => {
                let forms = &mut known.get_mut().1;
                if !forms.contains(&by) {
                    forms.push(by);
                }
            }
            (Entry::Occupied(mut known), None) => known.get_mut().1.clear(),
        }
    }

    /// The first of them. Of `forms` web servers in the run none is named where all of them leave a line.
    fn shown(&self, forms: usize) -> Vec<DirectoryLine> {
        let shown = |(left, by): &(Left, Vec<RuleForm>)| DirectoryLine {
            file: left.place.file.clone(),
            line: left.place.line,
            text: mask_secrets(&left.place.text).chars().take(CHARS_MAX).collect(),
            why: Some(left.why),
            not_by: match by.len() == forms {
                true => Vec::new(),
                false => by.iter().map(|form| form.title().to_owned()).collect(),
            },
        };
        self.0.values().take(LINES_MAX).map(shown).collect()
    }
}

/// The names of runtimes, once each: those that hold, and the others.
fn names_by(
    runtimes: &[RuntimeDirectory],
    holds: impl Fn(&RuntimeDirectory) -> bool,
) -> (Vec<String>, Vec<String>) {
    let (mut those, mut others) = (Vec::new(), Vec::new());
    for runtime in runtimes {
        let names = if holds(runtime) { &mut those } else { &mut others };
        if !names.contains(&runtime.name) {
            names.push(runtime.name.clone());
        }
    }
    (those, others)
}

/// The directories in one, with names that a configuration can hold.
fn subdirectories(root: &Path, directory: &str) -> Vec<String> {
    let entries = fs::read_dir(root.join(directory)).into_iter().flatten().flatten();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !SKIPPED.contains(&name.as_str()) && name.bytes().all(is_plain))
        .map(|name| if directory.is_empty() { name } else { format!("{directory}/{name}") })
        .collect()
}
