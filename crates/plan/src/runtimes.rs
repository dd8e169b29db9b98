//! Reads the runtimes of a plan: names, variants with settings, sweeps, and external runtimes.

use std::collections::BTreeMap;

use stampede_model::ini_text::ini_text;

use super::compose::{compose, settle_flags};
use super::error::{Help, Mistake, PlanError, nearest, one_of};
use super::external::external;
use super::images::{IMAGES, Images, images, names_php, none_of_today};
use super::keys::{OF_RUNTIME, PHP_INI, RUNTIME, SWEEP};
use super::model::{RuntimeChoice, RuntimeSource, Scalar};
use super::php_version::{PHP, PhpVersions, is_php_version};
use super::preset::PRESETS;
use super::read::{home, path};
use super::tree::{Node, Value, shortened};
use super::value::{
    Fields, entries, items, name_of, not_a, out_of_range, scalar, text, texts, whole,
};

/// Most runtimes and sweep values in one plan. A plan with more would take too long to be meant.
pub(super) const RUNTIMES_MAX: usize = 1_000;

/// Bounds of a runtime's number of workers.
pub(super) const WORKERS: std::ops::RangeInclusive<u64> = 1..=100_000;

/// Prefix of the settings that add raw lines to a file: lines for `nginx.conf` are the setting
/// `append.nginx.conf`.
pub(super) const APPEND: &str = "append.";

/// The plan's values for all runtimes. A runtime's own values take precedence.
pub(super) struct RuntimeDefaults {
    pub settings: BTreeMap<String, Scalar>,
    pub php_ini: BTreeMap<String, String>,
    pub env: BTreeMap<String, String>,
    /// Not for the row `today`, which has the PHP of this machine.
    pub php: PhpVersions,
    /// Not for the row `today` either.
    pub images: Images,
}

/// The runtime that is set up as this machine is.
pub(super) const TODAY: &str = "today";

/// The setting that names the file which OPcache preloads.
const PRELOAD: &str = "preload";

/// A runtime, with its name before the values of a sweep are appended.
pub(super) struct NamedRuntime {
    pub base: String,
    pub choice: RuntimeChoice,
}

const EXPECTED: &str =
    "a runtime's name, or its name with settings, such as `{nginx-fpm: {workers: 16}}`";

/// Reads the list of runtimes.
pub(super) fn runtimes(
    node: &Node,
    common: &RuntimeDefaults,
) -> Result<Vec<NamedRuntime>, PlanError> {
    let mut all: Vec<NamedRuntime> = Vec::new();
    for item in items(node, "a list of runtimes, such as `[nginx-fpm, roadrunner]`")? {
        for named in runtime(item, common)? {
            if all.iter().any(|other| other.choice.name == named.choice.name) {
                let mistake = Mistake::Twice { kind: "runtimes", name: named.choice.name };
                return Err(item.place.wrong(
                    mistake,
                    "a name of its own: `{other-name: {use: nginx-fpm, workers: 16}}`",
                ));
            }
            all.push(named);
        }
        if all.len() > RUNTIMES_MAX {
            let mistake = Mistake::TooMany { kind: "runtimes and sweep values", found: all.len() };
            return Err(item.place.wrong(mistake, "at most 1 000"));
        }
    }
    settle_flags(&mut all);
    match all.is_empty() {
        true => Err(not_a(node, "a choice of runtimes", EXPECTED)),
        false => Ok(all),
    }
}

/// Reads one item: one runtime, or one for each combination of swept values.
fn runtime(item: &Node, common: &RuntimeDefaults) -> Result<Vec<NamedRuntime>, PlanError> {
    let (name_node, body) = match &item.value {
        Value::Text(..) => (item, None),
        Value::Map(entries) => match entries.as_slice() {
            [(name, body)] => (name, Some(body)),
            several => {
                let mistake = Mistake::SeveralNames { found: several.len() };
                let place = several.get(1).map_or(&item.place, |(name, _)| &name.place);
                return Err(place.wrong(
                    mistake,
                    "one name; its settings stand below it, indented: `{nginx-fpm: {workers: 16}}`",
                ));
            }
        },
        _ => return Err(not_a(item, "a runtime", EXPECTED)),
    };
    let name = runtime_name(name_node)?;
    let body = body.filter(|body| !matches!(body.value, Value::Null));
    let own = match body {
        Some(body) => entries(body, "settings, such as `{workers: 16}`")?,
        None => &[],
    };
    if let Some(body) = body.filter(|body| body.get("compose").is_some()) {
        return compose(name, body, common);
    }
    let fields = body.map(|body| Fields::of(body, &RUNTIME)).transpose()?;
    let get = |key| fields.as_ref().and_then(|fields| fields.get(key));
    let used = get("use").map_or(Ok(name), runtime_name)?;
    if matches!(used, "external" | "live") {
        return Ok(vec![external(name_node, name, body)?]);
    }
    let mut choice = RuntimeChoice {
        name: name.to_owned(),
        source: RuntimeSource::Catalogue(used.to_owned()),
        settings: common.settings.clone(),
        php_ini: common.php_ini.clone(),
        env: common.env.clone(),
        images: images_of(get(IMAGES), used, common)?,
        as_today: None,
    };
    let is_fixed = used == TODAY || names_php(choice.images.as_ref());
    let versions = versions(get(PHP), get("sweep"), is_fixed, common)?;
    if used == TODAY {
        let settings = std::mem::take(&mut choice.settings);
        let php_ini = std::mem::take(&mut choice.php_ini);
        choice.source = RuntimeSource::Today { settings, php_ini };
    }
    if let Some(node) = get("php_ini") {
        choice.php_ini.extend(php_ini(node)?);
    }
    if let Some(node) = get("env") {
        choice.env.extend(env(node)?);
    }
    if let Some(node) = get("append") {
        choice.settings.extend(append(node)?);
    }
    let is_setting = |(key, value): &&(Node, Node)| match key.text().unwrap_or("") {
        PHP => is_program(value),
        name => !OF_RUNTIME.has(name),
    };
    for (key, value) in own.iter().filter(is_setting) {
        choice.settings.extend([setting(key, value)?]);
    }
    let mut all = Vec::new();
    for choice in with_versions(choice, &versions) {
        all.extend(swept(name, choice, get("sweep"))?);
    }
    Ok(all)
}

/// The versions of PHP of a runtime: its own, else the plan's. A sweep replaces what it sweeps.
/// `is_fixed`: the plan's are not for this runtime, whose version is another matter.
fn versions(
    own: Option<&Node>,
    sweep: Option<&Node>,
    is_fixed: bool,
    common: &RuntimeDefaults,
) -> Result<PhpVersions, PlanError> {
    let is_swept = sweep.is_some_and(|sweep| sweep.get(PHP).is_some());
    match own {
        _ if is_swept => Ok(PhpVersions::default()),
        Some(node) if is_program(node) => Ok(PhpVersions::default()),
        Some(node) => PhpVersions::read(node),
        None if is_fixed => Ok(PhpVersions::default()),
        None => Ok(common.php.clone()),
    }
}

/// The images of a runtime: its own, else the plan's.
fn images_of(
    own: Option<&Node>,
    used: &str,
    common: &RuntimeDefaults,
) -> Result<Images, PlanError> {
    match own {
        _ if used == TODAY => none_of_today(own).map(|()| None),
        Some(node) => images(node),
        None => Ok(common.images.clone()),
    }
}

/// Whether `php` names a program, as for other programs that a runtime needs, and no version.
fn is_program(node: &Node) -> bool {
    node.text().is_some_and(|text| {
        !is_php_version(text) && text.contains(|c: char| c.is_ascii_alphabetic())
    })
}

/// A row for each version of PHP. Without one: the row as it is.
fn with_versions(choice: RuntimeChoice, versions: &PhpVersions) -> Vec<RuntimeChoice> {
    let with = |(version, of_name): (&str, String)| {
        let mut choice = choice.clone();
        choice.name += &of_name;
        choice.settings.insert(PHP.to_owned(), Scalar::Text(version.to_owned()));
        choice
    };
    match versions.all.is_empty() {
        true => vec![choice],
        false => versions.each().map(with).collect(),
    }
}

/// A name that is fit for tables and for directories.
fn runtime_name(node: &Node) -> Result<&str, PlanError> {
    let fits = |name: &str| {
        name.len() <= 64
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    let is_yaml = |name: &str| [".yml", ".yaml"].iter().any(|end| name.ends_with(end));
    match node.text() {
        Some(file) if is_yaml(file) => {
            let help = format!("a compose file is compared by `stampede compare --compose {file}`");
            Err(not_a(node, "a runtime's name", Help::Do(help)))
        }
        Some(name) if fits(name) => Ok(name),
        _ => Err(not_a(
            node,
            "a runtime's name",
            "letters, digits, `-`, `_` and `.`, at most 64, such as `nginx-fpm`",
        )),
    }
}

/// Reads one setting, or a program that the runtime needs (`php-fpm: /opt/php/php-fpm`). A later
/// check reads the runtime's directory and finds out whether the runtime has such a setting.
pub(super) fn setting(key: &Node, value: &Node) -> Result<(String, Scalar), PlanError> {
    let name = key.text().unwrap_or("");
    if let Some(file) = name.strip_prefix(APPEND) {
        let expected = format!("`append: {{{}: \"…\"}}`", shortened(file));
        return Err(not_a(key, "a setting's name", &expected));
    }
    if let ("settings", Value::Map(_)) = (name, &value.value) {
        let mistake = Mistake::UnknownKey { key: name.to_owned(), place: RUNTIME.place };
        let todo = "remove the key `settings`: write `{nginx-fpm: {workers: 16}}`";
        return Err(key.place.wrong(mistake, Help::todo(todo)));
    }
    if name.contains('.') {
        let todo = format!(
            "write php.ini's values in a map of their own: `php_ini: {{{0}: …}}`; in a sweep: `sweep: {{php_ini: {{{0}: […]}}}}`",
            shortened(name)
        );
        return Err(not_a(key, "a setting's name", Help::Do(todo)));
    }
    // More characters than in any known name: an unknown name is reported later, with its nearest
    // known name.
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
    if name.is_empty() || !name.bytes().all(fits) {
        return Err(not_a(key, "a setting's name", "letters, digits, `_` and `-`"));
    }
    if name == "workers" {
        whole(value, "`workers`", WORKERS)?;
    }
    let scalar = scalar(value)?;
    match name {
        // `preload` names a file inside the app, wherever the plan is.
        PRELOAD => Ok((name.to_owned(), scalar)),
        _ => Ok((name.to_owned(), from_here(value, scalar)?)),
    }
}

/// Resolves a path to a program like all paths of a plan: `./php-fpm` starts at the plan's
/// directory.
fn from_here(node: &Node, scalar: Scalar) -> Result<Scalar, PlanError> {
    match &scalar {
        Scalar::Text(text) if ["./", "../", "~/"].iter().any(|begin| text.starts_with(begin)) => {
            let path = path(node, text, home().as_deref())?;
            Ok(Scalar::Text(path.display().to_string()))
        }
        _ => Ok(scalar),
    }
}

/// What a sweep varies: a setting or a php.ini value.
#[derive(Clone, Copy)]
enum Dimension<'a> {
    Setting(&'a Node),
    Ini(&'a Node),
}

const A_SWEEP: &str = "settings with lists of values, such as `{jit: [\"off\", tracing]}`";

/// The dimensions of a sweep, each with its values. `php_ini` in a sweep is a map, as elsewhere.
fn dimensions(sweep: &Node) -> Result<Vec<(Dimension<'_>, &Node)>, PlanError> {
    const OF_INI: &str =
        "php.ini's values with lists, such as `{php_ini: {opcache.jit_buffer_size: [0, 64M]}}`";
    let mut all = Vec::new();
    for (key, values) in entries(sweep, A_SWEEP)? {
        if SWEEP.find(key.text().unwrap_or("")).is_none() {
            all.push((Dimension::Setting(key), values));
            continue;
        }
        for (key, values) in entries(values, OF_INI)? {
            ini_name(key)?;
            all.push((Dimension::Ini(key), values));
        }
    }
    Ok(all)
}

impl Dimension<'_> {
    fn key(&self) -> &Node {
        match self {
            Dimension::Setting(key) | Dimension::Ini(key) => key,
        }
    }

    /// `choice` with this value set and appended to its name.
    fn set(&self, choice: &RuntimeChoice, value: &Node) -> Result<RuntimeChoice, PlanError> {
        let mut choice = choice.clone();
        let name = match self {
            Dimension::Setting(key) => {
                let (name, scalar) = setting(key, value)?;
                choice.settings.insert(name.clone(), scalar);
                name
            }
            Dimension::Ini(key) => {
                let name = ini_name(key)?.to_owned();
                choice.php_ini.insert(name.clone(), ini_value(value)?);
                name
            }
        };
        // The text as written: `off` reads better than the boolean it becomes.
        choice.name += &format!(" {name}={}", shortened(value.text().unwrap_or("")));
        Ok(choice)
    }
}

/// One runtime for each combination of swept values, with the values in its name.
fn swept(
    base: &str,
    choice: RuntimeChoice,
    sweep: Option<&Node>,
) -> Result<Vec<NamedRuntime>, PlanError> {
    let mut all = vec![choice];
    for (dimension, values) in sweep.map_or(Ok(Vec::new()), dimensions)? {
        let values = items(values, A_SWEEP)?;
        if values.is_empty() || all.len() * values.len() > RUNTIMES_MAX {
            let found = all.len() * values.len();
            let mistake = Mistake::TooMany { kind: "values of a sweep", found };
            let empty = Mistake::NotA { found: "an empty list".to_owned(), wanted: "a sweep" };
            let mistake = if found == 0 { empty } else { mistake };
            return Err(dimension.key().place.wrong(mistake, "1 to 1 000 combinations"));
        }
        let each = |choice| values.iter().map(move |value| dimension.set(choice, value));
        all = all.iter().flat_map(each).collect::<Result<_, _>>()?;
    }
    Ok(all.into_iter().map(|choice| NamedRuntime { base: base.to_owned(), choice }).collect())
}

/// Reads a preset's name, or a map of values that may start from a preset (`use`).
pub(super) fn php_ini(node: &Node) -> Result<BTreeMap<String, String>, PlanError> {
    const EXPECTED: &str =
        "a preset such as `article-000`, or values such as `{memory_limit: 512M}`";
    let Value::Map(values) = &node.value else {
        text(node, "a preset or a map of values", EXPECTED)?;
        return preset(node);
    };
    let mut ini = match Fields::of(node, &PHP_INI)?.get("use") {
        Some(name) => preset(name)?,
        None => BTreeMap::new(),
    };
    let is_value = |(key, _): &&(Node, Node)| PHP_INI.find(key.text().unwrap_or("")).is_none();
    for (key, value) in values.iter().filter(is_value) {
        ini.insert(ini_name(key)?.to_owned(), ini_value(value)?);
    }
    Ok(ini)
}

/// A value that a php.ini file can have.
fn ini_value(node: &Node) -> Result<String, PlanError> {
    let value = one_line(node)?;
    match ini_text(&value) {
        Ok(_) => Ok(value),
        Err(error) => Err(node.place.wrong(Mistake::refused(error), "a value without one of them")),
    }
}

fn ini_name(key: &Node) -> Result<&str, PlanError> {
    let name = key.text().unwrap_or("");
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    match !name.is_empty() && name.bytes().all(fits) {
        true => Ok(name),
        false => Err(not_a(key, "the name of a php.ini value", "a name such as `opcache.jit`")),
    }
}

fn preset(node: &Node) -> Result<BTreeMap<String, String>, PlanError> {
    let names = PRESETS.map(|(name, _)| name);
    let name = name_of(node, "php.ini preset", &names)?;
    let values = PRESETS.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, v)| v);
    Ok(values.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

/// Reads the app's environment variables.
pub(super) fn env(node: &Node) -> Result<BTreeMap<String, String>, PlanError> {
    let mut env = BTreeMap::new();
    for (key, value) in entries(node, "variables, such as `{APP_ENV: prod}`")? {
        let name = key.text().unwrap_or("");
        let fits = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || name.as_bytes()[0].is_ascii_digit() || !name.bytes().all(fits) {
            return Err(not_a(key, "a variable's name", "letters, digits and `_`"));
        }
        env.insert(name.to_owned(), one_line(value)?);
    }
    Ok(env)
}

/// A value of php.ini or of the environment, as written. No value is an empty text. Both are
/// written into files in which a line break would begin another value.
fn one_line(node: &Node) -> Result<String, PlanError> {
    match &node.value {
        Value::Null => Ok(String::new()),
        Value::Text(text, _) if !text.contains(|c: char| c.is_control()) => Ok(text.clone()),
        _ => Err(not_a(node, "a value of one line", "a number or a text without line breaks")),
    }
}

/// Reads raw lines for a runtime's files, as settings named `append.<file>`.
fn append(node: &Node) -> Result<Vec<(String, Scalar)>, PlanError> {
    const EXPECTED: &str = "lines for a file, such as `{nginx.conf: [\"aio threads;\"]}`";
    /// More than any configuration needs that is still essentially the runtime's own.
    const BYTES_MAX: usize = 64 << 10;
    let mut all = Vec::new();
    for (file, lines) in entries(node, EXPECTED)? {
        let lines = texts(lines, EXPECTED)?;
        let text: Vec<&str> = lines.iter().filter_map(|line| line.text()).collect();
        let text = text.join("\n");
        if text.len() > BYTES_MAX {
            return Err(out_of_range(file, "what is appended to", "at most 64 KiB"));
        }
        all.push((format!("{APPEND}{}", file.text().unwrap_or("")), Scalar::Text(text)));
    }
    Ok(all)
}

/// Reads a list of runtime names and returns full names. An item may be the full name of one of the
/// plan's runtimes, or the base name of a sweep.
pub(super) fn selection(node: &Node, all: &[NamedRuntime]) -> Result<Vec<String>, PlanError> {
    let mut chosen = Vec::new();
    for item in texts(node, "runtimes of this plan, such as `[nginx-fpm]`")? {
        let name = item.text().unwrap_or("");
        let matching = all.iter().filter(|named| named.choice.name == name || named.base == name);
        let before = chosen.len();
        chosen.extend(matching.map(|named| named.choice.name.clone()));
        if chosen.len() == before {
            let known = || all.iter().map(|named| named.choice.name.as_str());
            let mistake = Mistake::UnknownName { kind: "runtime", name: shortened(name) };
            return Err(item.place.wrong_name(mistake, one_of(known()), nearest(name, known())));
        }
    }
    Ok(chosen)
}
