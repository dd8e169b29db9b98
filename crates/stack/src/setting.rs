//! Resolves settings: the common ones, with one meaning for all runtimes, and a runtime's own.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_saphyr::Location;
use stampede_model::quantity::parse_php_size;
use stampede_plan::model::Scalar;
use stampede_plan::php_version::{PHP, is_php_version};

use super::catalogue::Catalogue;
use super::database::{CPUS, CPUS_OF, SETTING};
use super::deployed::{AUTOLOADER, AUTOLOADERS, PRELOAD};
use super::error::{RuntimeError, nearest};
use super::front;
use super::manifest::{RuntimeManifest, SettingSpec, rendered_name};

/// A setting with the same meaning for every runtime.
pub struct CommonSetting {
    /// The name as written in plans.
    pub name: &'static str,
    /// The meaning in one line.
    pub meaning: &'static str,
    /// The allowed values.
    pub kind: SettingKind,
}

/// The allowed values of a common setting, and its default.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// A whole number, at least `min`.
    Number {
        /// The default.
        default: i64,
        /// The smallest allowed number.
        min: i64,
    },
    /// On or off.
    Switch {
        /// The default.
        default: bool,
    },
    /// A size in the format of php.ini: `256M`, `-1`.
    Size {
        /// The default.
        default: &'static str,
    },
    /// One of a few words; the first is the default.
    Word(&'static [&'static str]),
    /// One of a few words, of which the first is the default, or a file of the app.
    WordOrFile(&'static [&'static str]),
    /// A directory of the catalogue by its name, or `none`, the default.
    Directory(DirectoryKind),
}

/// The directories of the catalogue that a common setting may name.
#[derive(Clone, Copy, Debug)]
pub enum DirectoryKind {
    /// A web server in front of the runtime.
    Front,
    /// A database beside it.
    Database,
}

/// The names of the directories that common settings may name, sorted.
pub(super) struct DirectoryNames<'a> {
    fronts: Vec<&'a str>,
    databases: Vec<&'a str>,
}

impl<'a> DirectoryNames<'a> {
    /// The names in this catalogue.
    pub(super) fn of(catalogue: &'a Catalogue) -> DirectoryNames<'a> {
        DirectoryNames {
            fronts: catalogue.fronts.keys().map(String::as_str).collect(),
            databases: catalogue.databases.keys().map(String::as_str).collect(),
        }
    }

    /// The words that a setting of this kind may have.
    fn words(&self, kind: DirectoryKind) -> Vec<&'a str> {
        let names = match kind {
            DirectoryKind::Front => &self.fronts,
            DirectoryKind::Database => &self.databases,
        };
        std::iter::once(NONE).chain(names.iter().copied()).collect()
    }
}

/// The value of a setting that names no directory.
const NONE: &str = "none";

/// All common settings. The defaults are those of docs/how-it-measures.md ("The same conditions").
pub const COMMON: &[CommonSetting] = &[
    // The default of 8 is the same on every machine, and enough to keep four CPUs busy without I/O.
    common("workers", "PHP workers", SettingKind::Number { default: 8, min: 1 }),
    common("max_requests", "requests after which a worker is replaced; 0: never", ZERO),
    common("memory_limit", "php.ini memory_limit", SettingKind::Size { default: "256M" }),
    common("opcache", "OPcache", SettingKind::Switch { default: true }),
    common("jit", "OPcache's JIT", SettingKind::Word(&["disable", "off", "tracing", "function"])),
    common(
        PRELOAD,
        "PHP file of the app that OPcache preloads",
        SettingKind::WordOrFile(&["off", "app"]),
    ),
    common(AUTOLOADER, "Composer's autoloader in the app's copy", SettingKind::Word(&AUTOLOADERS)),
    common("access_log", "a log line per request", SettingKind::Switch { default: false }),
    common("compression", "compressed answers", SettingKind::Switch { default: false }),
    common(
        "keep_alive",
        "connections stay open after an answer",
        SettingKind::Switch { default: true },
    ),
    common("keepalive_timeout", "seconds an idle connection stays open", SEVENTY_FIVE),
    common("buffers", "KiB of an answer that the web server takes off PHP's hands", BUFFERS),
    common(front::SETTING, "web server before it", FRONT),
    common(SETTING, "what the app keeps its data in", DATABASE),
    common(CPUS, "whose CPUs it runs on", SettingKind::Word(&CPUS_OF)),
];

/// The settings that do not depend on the runtime: every runtime has them.
const OF_ALL: [&str; 3] = [SETTING, CPUS, AUTOLOADER];

/// The default is 16 buffers of 16 KiB.
const BUFFERS: SettingKind = SettingKind::Number { default: 256, min: 32 };
const FRONT: SettingKind = SettingKind::Directory(DirectoryKind::Front);
const DATABASE: SettingKind = SettingKind::Directory(DirectoryKind::Database);
const ZERO: SettingKind = SettingKind::Number { default: 0, min: 0 };
const SEVENTY_FIVE: SettingKind = SettingKind::Number { default: 75, min: 1 };
/// The prefix of raw lines for a rendered file: `append.nginx.conf`, in a plan `append:
/// {nginx.conf: "…"}`.
const APPEND: &str = "append.";

const fn common(name: &'static str, meaning: &'static str, kind: SettingKind) -> CommonSetting {
    CommonSetting { name, meaning, kind }
}

/// The settings in force for one runtime.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Name → value, including defaults. Common settings that the runtime does not support have
    /// their default.
    pub values: BTreeMap<String, Value>,
    /// Need → the program that the plan names.
    pub programs: BTreeMap<String, String>,
    /// The version of PHP that the plan asks for; `None`: any.
    pub php: Option<String>,
    /// Rendered file → the raw lines to append.
    pub append: BTreeMap<String, String>,
}

impl Settings {
    /// The number of workers asked for.
    pub fn workers(&self) -> u32 {
        u32::try_from(self.number("workers")).unwrap_or(1).max(1)
    }

    /// The value as a whole number; 0: it is none.
    pub fn number(&self, name: &str) -> i64 {
        self.values.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or(false)
    }
}

/// Resolves the settings that a plan gives for the runtime `name`.
///
/// # Errors
/// Unknown names (with the nearest known one), and values that the setting does not allow.
pub(super) fn resolve(
    name: &str,
    manifest: &RuntimeManifest,
    given: &BTreeMap<String, Scalar>,
    directories: &DirectoryNames<'_>,
) -> Result<Settings, RuntimeError> {
    let mut settings = Settings { values: defaults(manifest), ..Settings::default() };
    for (key, value) in given {
        if let Some(file) = key.strip_prefix(APPEND) {
            check_file(name, manifest, key, file)?;
            settings.append.insert(file.into(), value.to_string());
        } else if key == PHP && manifest.php.is_some() && is_php_version(&value.to_string()) {
            settings.php = Some(value.to_string());
        } else if manifest.needs.contains_key(key) && !settings.values.contains_key(key) {
            settings.programs.insert(key.clone(), value.to_string());
        } else {
            settings.values.insert(key.clone(), accept((name, manifest), key, value, directories)?);
        }
    }
    Ok(settings)
}

/// Checks that a `runtime.yaml` lists and restricts only existing common settings, and that its
/// roles and needs agree.
///
/// # Errors
/// The first error, with its place if the parser kept it.
pub fn check_manifest(file: &str, manifest: &RuntimeManifest) -> Result<(), RuntimeError> {
    let wrong = |place: Location, problem: String, nearest| RuntimeError::Manifest {
        file: file.into(),
        line: place.line(),
        column: place.column(),
        problem,
        nearest,
    };
    for name in &manifest.common {
        if find(&name.value).is_none() {
            let problem = format!("`{}` is not a common setting", name.value);
            let near = nearest(&name.value, COMMON.iter().map(|common| common.name));
            return Err(wrong(name.referenced, problem, near));
        }
    }
    let workers = &manifest.effective_workers;
    let program = workers.processes.iter().filter_map(|count| count.program.as_ref());
    let made = manifest.get.iter().map(|get| &get.need);
    for need in manifest.php.iter().chain(program).chain(made) {
        if !manifest.needs.contains_key(&need.value) {
            let near = nearest(&need.value, manifest.needs.keys().map(String::as_str));
            let problem = format!("`{}` is not listed under `needs:`", need.value);
            return Err(wrong(need.referenced, problem, near));
        }
    }
    for process in &manifest.processes {
        let first = process.run.value.split_whitespace().next().unwrap_or_default();
        if !first.contains("{{") && !manifest.needs.contains_key(first) {
            let near = nearest(first, manifest.needs.keys().map(String::as_str));
            let role = &process.role;
            let problem = format!("`run` of role `{role}` begins with `{first}`, not with a need");
            return Err(wrong(process.run.referenced, problem, near));
        }
    }
    if manifest.processes.first().is_some_and(|first| first.after.is_some()) {
        let problem = "`after` waits for a process above it: the first has none".to_string();
        return Err(wrong(Location::UNKNOWN, problem, None));
    }
    if workers.status.is_some() == workers.processes.is_some() {
        let problem = "`effective_workers` needs either `status` or `processes`".to_string();
        return Err(wrong(Location::UNKNOWN, problem, None));
    }
    let roles = || manifest.processes.iter().map(|process| process.role.as_str());
    let counted = workers.processes.iter().map(|count| &count.role);
    for role in counted.chain(manifest.surplus.iter().map(|surplus| &surplus.role)) {
        if !roles().any(|known| known == role.value) {
            let problem = format!("no process has the role `{}`", role.value);
            return Err(wrong(role.referenced, problem, nearest(&role.value, roles())));
        }
    }
    Ok(())
}

fn find(name: &str) -> Option<&'static CommonSetting> {
    COMMON.iter().find(|common| common.name == name)
}

/// Whether a runtime supports a common setting.
pub(super) fn honours(manifest: &RuntimeManifest, name: &str) -> bool {
    OF_ALL.contains(&name) || manifest.common.iter().any(|common| common.value == name)
}

fn defaults(manifest: &RuntimeManifest) -> BTreeMap<String, Value> {
    let mut values: BTreeMap<String, Value> = COMMON
        .iter()
        .map(|common| (common.name.to_string(), common.kind.default_value()))
        .collect();
    for (name, spec) in &manifest.settings {
        values.insert(name.clone(), json(&spec.default));
    }
    values
}

fn accept(
    (name, manifest): (&str, &RuntimeManifest),
    key: &str,
    value: &Scalar,
    directories: &DirectoryNames<'_>,
) -> Result<Value, RuntimeError> {
    let bad = |because: &str, allowed: String| RuntimeError::BadSetting {
        runtime: name.into(),
        setting: key.into(),
        value: value.to_string(),
        because: if because.is_empty() { String::new() } else { format!(": {because}") },
        allowed,
    };
    let spec = manifest.settings.get(key);
    if let Some(spec) = spec {
        let because = spec.because.as_deref().unwrap_or_default();
        let accepted = restrict(spec, value).ok_or_else(|| bad(because, allowed_by(spec)))?;
        if find(key).is_none() {
            return Ok(accepted);
        }
    }
    let Some(common) = find(key) else {
        let known = known(manifest);
        return Err(RuntimeError::UnknownSetting {
            runtime: name.into(),
            setting: key.into(),
            nearest: nearest(key, known.iter().map(String::as_str)),
            known,
        });
    };
    let accepted = common.kind.accept(value, directories);
    let accepted = accepted.ok_or_else(|| bad("", common.kind.allowed(directories)))?;
    // One list of settings serves all runtimes of a plan. So a setting that the runtime does not
    // support may be given if its value is the default.
    if !honours(manifest, key) && accepted != common.kind.default_value() {
        let default = scalar_text(&common.kind.default_value());
        return Err(bad(
            "it has no such setting",
            format!("{default}, which is already the default"),
        ));
    }
    Ok(accepted)
}

fn known(manifest: &RuntimeManifest) -> Vec<String> {
    let mut known: Vec<String> = manifest.common.iter().map(|name| name.value.clone()).collect();
    known.extend(manifest.settings.keys().cloned());
    known.extend(manifest.needs.keys().cloned());
    known.sort();
    known.dedup();
    known
}

fn check_file(
    name: &str,
    manifest: &RuntimeManifest,
    key: &str,
    file: &str,
) -> Result<(), RuntimeError> {
    let mut files: Vec<String> =
        manifest.files.iter().map(|file| rendered_name(&file.value).to_string()).collect();
    if manifest.php.is_some() {
        files.push("php.ini".into());
    }
    if files.iter().any(|known| known == file) {
        return Ok(());
    }
    let known: Vec<String> = files.iter().map(|file| format!("{APPEND}{file}")).collect();
    Err(RuntimeError::UnknownSetting {
        runtime: name.into(),
        setting: key.into(),
        nearest: nearest(key, known.iter().map(String::as_str)),
        known,
    })
}

impl SettingKind {
    /// The value if the plan gives none.
    pub fn default_value(self) -> Value {
        match self {
            SettingKind::Number { default, .. } => default.into(),
            SettingKind::Switch { default } => default.into(),
            SettingKind::Size { default } => default.into(),
            SettingKind::Word(words) | SettingKind::WordOrFile(words) => words[0].into(),
            SettingKind::Directory(_) => NONE.into(),
        }
    }

    fn accept(self, value: &Scalar, directories: &DirectoryNames<'_>) -> Option<Value> {
        let one_of = |words: &[&str]| {
            words.iter().find(|word| is_word(value, word)).map(|word| Value::from(*word))
        };
        match self {
            SettingKind::Number { min, .. } => match value {
                Scalar::Int(number) if *number >= min => Some((*number).into()),
                _ => None,
            },
            SettingKind::Switch { .. } => switch(value).map(Value::from),
            SettingKind::Size { .. } => {
                let text = value.to_string();
                parse_php_size(&text).is_ok().then(|| text.into())
            }
            SettingKind::Word(words) => one_of(words),
            SettingKind::WordOrFile(words) => {
                let file = || match value {
                    Scalar::Text(file) if file.ends_with(".php") && is_plain(file) => {
                        Some(file.as_str().into())
                    }
                    _ => None,
                };
                one_of(words).or_else(file)
            }
            SettingKind::Directory(kind) => one_of(&directories.words(kind)),
        }
    }

    fn allowed(self, directories: &DirectoryNames<'_>) -> String {
        match self {
            SettingKind::Number { min, .. } => format!("a whole number from {min}"),
            SettingKind::Switch { .. } => "on, off".into(),
            SettingKind::Size { .. } => "a size like `256M`, or -1 for none".into(),
            SettingKind::Word(words) => words.join(", "),
            SettingKind::WordOrFile(words) => {
                format!("{}, or a PHP file of the app", words.join(", "))
            }
            SettingKind::Directory(kind) => directories.words(kind).join(", "),
        }
    }
}

fn restrict(spec: &SettingSpec, value: &Scalar) -> Option<Value> {
    if !spec.one_of.is_empty() {
        return spec.one_of.iter().find(|one| same(one, value)).map(json);
    }
    match (&spec.default, value) {
        (Scalar::Bool(_), value) => switch(value).map(Value::from),
        (Scalar::Int(_), Scalar::Int(number)) => {
            spec.min.is_none_or(|min| *number >= min).then(|| (*number).into())
        }
        (Scalar::Float(_), Scalar::Int(_) | Scalar::Float(_)) => Some(json(value)),
        (Scalar::Text(_), value) => {
            Some(value.to_string()).filter(|text| is_plain(text)).map(Into::into)
        }
        _ => None,
    }
}

/// Whether a text stays one value wherever a template has it: it ends no line, directive or block of a
/// configuration.
fn is_plain(text: &str) -> bool {
    !text.contains(|letter: char| letter.is_control() || ";{}".contains(letter))
}

/// Whether a setting allows this value.
pub(super) fn allows(spec: &SettingSpec, value: &Scalar) -> bool {
    restrict(spec, value).is_some()
}

fn allowed_by(spec: &SettingSpec) -> String {
    if !spec.one_of.is_empty() {
        return spec
            .one_of
            .iter()
            .map(|one| scalar_text(&json(one)))
            .collect::<Vec<_>>()
            .join(", ");
    }
    match (&spec.default, spec.min) {
        (Scalar::Bool(_), _) => "on, off".into(),
        (Scalar::Int(_), Some(min)) => format!("a whole number from {min}"),
        (Scalar::Int(_), None) => "a whole number".into(),
        (Scalar::Float(_), _) => "a number".into(),
        (Scalar::Text(_), _) => "a text on one line, without `;`, `{` and `}`".into(),
    }
}

/// The value of a switch. YAML reads an unquoted `off` as a switch in some places and as a text in
/// others.
fn switch(value: &Scalar) -> Option<bool> {
    match value {
        Scalar::Bool(value) => Some(*value),
        Scalar::Text(text) => match text.as_str() {
            "on" | "true" | "yes" => Some(true),
            "off" | "false" | "no" => Some(false),
            _ => None,
        },
        Scalar::Int(_) | Scalar::Float(_) => None,
    }
}

fn is_word(value: &Scalar, word: &str) -> bool {
    match value {
        Scalar::Bool(false) => word == "off" || word == "none",
        Scalar::Bool(true) => word == "on",
        other => other.to_string() == word,
    }
}

fn same(one: &Scalar, value: &Scalar) -> bool {
    one == value
        || (switch(one).is_some() && switch(one) == switch(value))
        || one.to_string() == value.to_string()
}

fn json(value: &Scalar) -> Value {
    match value {
        Scalar::Bool(value) => (*value).into(),
        Scalar::Int(value) => (*value).into(),
        Scalar::Float(value) => (*value).into(),
        Scalar::Text(value) => value.clone().into(),
    }
}

fn scalar_text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "on".into(),
        Value::Bool(false) => "off".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Such a text goes into a configuration as it is.
    #[test]
    fn a_free_text_of_a_runtimes_own_setting_ends_no_directive() {
        let spec = |one_of: &[&str]| SettingSpec {
            default: Scalar::Text("info".into()),
            one_of: one_of.iter().map(|one| Scalar::Text((*one).into())).collect(),
            min: None,
            because: None,
        };
        let allowed = |text: &str| allows(&spec(&[]), &Scalar::Text(text.into()));
        for plain in ["debug", "a b", "/srv/x.log", "a=b,c", "ü \"'", ""] {
            assert!(allowed(plain), "{plain:?}");
        }
        for other in ["a;", "a { b", "}", "a\nb", "a\rb", "a\0", "\u{1b}[0m", "a\tb"] {
            assert!(!allowed(other), "{other:?}");
        }
        // What a runtime lists itself is its own matter.
        assert!(allows(&spec(&["{a};"]), &Scalar::Text("{a};".into())));
        let preload = SettingKind::WordOrFile(&["off", "app"]);
        let directories = DirectoryNames { fronts: vec![], databases: vec![] };
        let file = |text: &str| preload.accept(&Scalar::Text(text.into()), &directories);
        assert!(file("config/preload.php").is_some());
        assert!(file("x.php\nextension=y.php").is_none());
    }

    #[test]
    fn plan_wide_settings_are_the_common_settings() {
        let mut plan: Vec<_> =
            stampede_plan::settings().map(|(name, default)| (name, default.to_owned())).collect();
        let default = |common: &CommonSetting| scalar_text(&common.kind.default_value());
        let common = COMMON.iter().filter(|common| common.name != "keep_alive");
        let mut common: Vec<_> = common.map(|common| (common.name, default(common))).collect();
        plan.sort_unstable();
        common.sort_unstable();
        assert_eq!(plan, common);
    }
}
