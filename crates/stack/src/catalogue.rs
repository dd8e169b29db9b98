//! Reads the catalogue: runtimes, apps, fronts and databases as directories of data, embedded or the
//! user's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use include_dir::{Dir, include_dir};
use minijinja::Value;
use serde::de::DeserializeOwned;
use stampede_frameworks::KnownFramework;
use stampede_model::app_kind::AppKind;
use stampede_plan::app_settings::{AppSettings, SettingSource};
use stampede_plan::model::{AppChoice, AppPlace, RuntimeChoice, RuntimeSource, Scalar};

use super::app::App;
use super::app_file::AppFile;
use super::app_manifest::AppManifest;
use super::common_need;
use super::database::Database;
use super::detect::{AppYaml, DetectedParts, detect};
use super::directory::{COMMON, Directory, Sources, embedded, on_disk};
use super::error::{RuntimeError, nearest};
use super::front::Front;
use super::locate::SearchPaths;
use super::manifest::{BuildRecipe, RuntimeManifest, VariantManifest};
use super::setting;
use super::template::render_including;

static RUNTIMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../runtimes");
static APPS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../apps");
static FRONTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../fronts");
static DATABASES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../databases");

/// The subdirectory of `common` with the files that scripts of recipes share.
const COMMON_GET: &str = "get";

/// All known runtimes and apps, and what may stand before and beside a runtime.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// The places where programs are looked for.
    pub places: SearchPaths,
    runtimes: BTreeMap<String, Directory>,
    apps: BTreeMap<String, Directory>,
    pub(super) fronts: BTreeMap<String, Directory>,
    pub(super) databases: BTreeMap<String, Directory>,
    /// The files of frameworks by name: their paths for messages and their texts.
    frameworks: BTreeMap<String, (String, String)>,
    /// The recipes that get needs, by the need's name. Read at first use.
    recipes: OnceLock<BTreeMap<String, BuildRecipe>>,
}

/// A runtime's directory, read and checked.
#[derive(Clone, Debug)]
pub struct RuntimeDirectory {
    /// The directory's name.
    pub name: String,
    /// The runtime's `runtime.yaml`.
    pub manifest: Arc<RuntimeManifest>,
    /// The web server in front of the runtime; `None`: the plan asks for none.
    pub front: Option<Front>,
    /// The database beside the runtime; `None`: the app has none.
    pub database: Option<Arc<Database>>,
    pub(super) sources: Sources,
}

impl Catalogue {
    /// Loads the embedded directories, then those of `~/.config/stampede` (`runtimes`, `apps`,
    /// `fronts`, `databases`, `frameworks`), then the directories of `STAMPEDE_RUNTIMES`, `STAMPEDE_APPS` and so
    /// on. Later directories override earlier ones of the same name. Manifests are read when they
    /// are needed.
    pub fn load(places: SearchPaths) -> Catalogue {
        let all = |name: &str, shipped: &'static Dir<'static>, named: &[PathBuf]| {
            let mut directories = embedded(shipped);
            let own = places.config.iter().map(|config| config.join(name));
            for directory in own.chain(named.iter().cloned()) {
                directories.extend(on_disk(&directory));
            }
            directories
        };
        let runtimes = all("runtimes", &RUNTIMES, &places.runtimes);
        let apps = all("apps", &APPS, &places.apps);
        let fronts = all("fronts", &FRONTS, &places.fronts);
        let databases = all("databases", &DATABASES, &places.databases);
        let own = places.config.iter().map(|config| config.join("frameworks"));
        let frameworks: Vec<PathBuf> = own.chain(places.frameworks.iter().cloned()).collect();
        let frameworks = stampede_frameworks::texts(&frameworks);
        let recipes = OnceLock::new();
        Catalogue { places, runtimes, apps, fronts, databases, frameworks, recipes }
    }

    /// Names of all runtimes, sorted.
    pub fn runtime_names(&self) -> Vec<&str> {
        self.runtimes.keys().map(String::as_str).filter(|name| *name != COMMON).collect()
    }

    /// Names of all apps, sorted.
    pub fn app_names(&self) -> Vec<&str> {
        self.apps.keys().map(String::as_str).collect()
    }

    /// Reads a runtime's directory.
    ///
    /// # Errors
    /// An unknown name, or a wrong `runtime.yaml`.
    pub fn runtime(&self, name: &str) -> Result<RuntimeDirectory, RuntimeError> {
        let directory = self.runtimes.get(name).filter(|_| name != COMMON).ok_or_else(|| {
            RuntimeError::UnknownRuntime {
                name: name.into(),
                nearest: nearest(name, self.runtime_names()),
                known: self.runtime_names().into_iter().map(String::from).collect(),
            }
        })?;
        let (file, text) = directory.manifest(name, "runtime.yaml")?;
        if text.lines().any(|line| line.starts_with("use:")) {
            return self.variant(name, &file, parse(&file, &text)?);
        }
        let mut manifest: RuntimeManifest = parse(&file, &text)?;
        let common = self.runtimes.get(COMMON).cloned().unwrap_or(Directory::Embedded(&RUNTIMES));
        let sources = Sources::new(directory.clone(), common);
        common_need::add(&sources, &file, &manifest.common_needs, &mut manifest.needs)?;
        setting::check_manifest(&file, &manifest)?;
        self.add_recipes(name, &mut manifest);
        let (name, manifest) = (name.to_string(), Arc::new(manifest));
        Ok(RuntimeDirectory { name, manifest, front: None, database: None, sources })
    }

    /// The directories of those choices that stampede starts from one. Wrong ones are left out: they are
    /// reported where they are used.
    pub fn directories_of(&self, choices: &[RuntimeChoice]) -> Vec<RuntimeDirectory> {
        let directory = |choice: &RuntimeChoice| match &choice.source {
            RuntimeSource::Catalogue(name) => self.runtime(name).ok(),
            RuntimeSource::External { .. }
            | RuntimeSource::Compose(_)
            | RuntimeSource::Today { .. } => None,
        };
        choices.iter().filter_map(directory).collect()
    }

    /// Adds the recipes of other runtimes to those of `manifest`, which come first. A need has one
    /// name in all directories, and the same recipe serves all of them.
    fn add_recipes(&self, name: &str, manifest: &mut RuntimeManifest) {
        for get in &mut manifest.get {
            name.clone_into(&mut get.of);
        }
        let own: Vec<&str> = manifest.get.iter().map(|get| get.need.value.as_str()).collect();
        let others = manifest.needs.keys().filter(|need| !own.contains(&need.as_str()));
        let added: Vec<BuildRecipe> =
            others.filter_map(|need| self.recipes().get(need).cloned()).collect();
        manifest.get.extend(added);
    }

    /// All recipes, by the need's name. Directories with errors are skipped: the error is reported
    /// when that runtime is asked for.
    fn recipes(&self) -> &BTreeMap<String, BuildRecipe> {
        self.recipes.get_or_init(|| {
            let mut recipes = BTreeMap::new();
            for name in self.runtime_names() {
                let read = self.runtimes[name].manifest(name, "runtime.yaml");
                let read = read.and_then(|(file, text)| parse::<RuntimeManifest>(&file, &text));
                for get in read.map(|manifest| manifest.get).unwrap_or_default() {
                    let get = BuildRecipe { of: name.to_owned(), ..get };
                    recipes.entry(get.need.value.clone()).or_insert(get);
                }
            }
            recipes
        })
    }

    /// The files that a recipe's script finds beside it: those of its own directory, and the shared
    /// ones.
    pub fn files_of(&self, get: &BuildRecipe) -> BTreeMap<String, Vec<u8>> {
        let own = Path::new(&get.run).parent().unwrap_or(Path::new(""));
        let of = |name: &str, sub| self.runtimes.get(name).map(|directory| directory.files(sub));
        let common = of(COMMON, Path::new(COMMON_GET));
        common.into_iter().chain(of(&get.of, own)).flatten().collect()
    }

    /// Reads a directory that stands for another runtime with other settings. Its files are that
    /// runtime's.
    fn variant(
        &self,
        name: &str,
        file: &str,
        variant: VariantManifest,
    ) -> Result<RuntimeDirectory, RuntimeError> {
        let of = &variant.of;
        let wrong = |problem: String, nearest| RuntimeError::Manifest {
            file: file.into(),
            line: of.referenced.line(),
            column: of.referenced.column(),
            problem,
            nearest,
        };
        let directory = self.runtimes.get(&of.value).filter(|_| of.value != COMMON);
        let (_, text) = directory
            .ok_or_else(|| {
                let others = self.runtime_names().into_iter().filter(|known| *known != name);
                wrong(
                    format!("there is no runtime `{}` to use", of.value),
                    nearest(&of.value, others),
                )
            })?
            .manifest(&of.value, "runtime.yaml")?;
        // Only one step is allowed, since a variant of a variant could lead back to itself.
        if text.lines().any(|line| line.starts_with("use:")) {
            return Err(wrong(format!("`{}` is a variant itself", of.value), None));
        }
        let used = self.runtime(&of.value)?;
        let mut manifest = RuntimeManifest::clone(&used.manifest);
        manifest.title = variant.title;
        manifest.default = variant.default;
        for (key, value) in variant.settings {
            let known = || manifest.settings.keys().map(String::as_str);
            let near = nearest(&key, known());
            let Some(spec) = manifest.settings.get_mut(&key) else {
                let problem = format!("`{}` has no setting `{key}` of its own", of.value);
                return Err(wrong(problem, near));
            };
            if !setting::allows(spec, &value) {
                return Err(wrong(format!("`{key}` cannot be `{value}`"), None));
            }
            spec.default = value;
        }
        Ok(RuntimeDirectory { name: name.to_string(), manifest: Arc::new(manifest), ..used })
    }

    /// Reads an app from the catalogue or from a directory.
    ///
    /// # Errors
    /// An unknown name, a directory without an app, or a wrong `app.yaml`.
    pub fn app(&self, choice: &AppChoice) -> Result<App, RuntimeError> {
        let mut app = self.app_alone(choice)?;
        app.checkouts.clone_from(&choice.checkouts);
        Ok(app)
    }

    fn app_alone(&self, choice: &AppChoice) -> Result<App, RuntimeError> {
        let frameworks = stampede_frameworks::read(&self.frameworks, parse)?;
        let of_kind = |settings: &AppSettings| {
            stampede_frameworks::of_kind(&frameworks, settings.kind.unwrap_or(AppKind::Script))
        };
        match &choice.place {
            AppPlace::Named(name) => {
                let directory = self.apps.get(name).ok_or_else(|| RuntimeError::UnknownApp {
                    name: name.clone(),
                    nearest: nearest(name, self.app_names()),
                    known: self.app_names().into_iter().map(String::from).collect(),
                })?;
                let (file, text) = directory.manifest(name, APP_YAML)?;
                let (own, said) = AppFile::parse(&file, &text)?;
                let settings = said.overlaid(&choice.settings);
                let framework = of_kind(&settings);
                let parts = DetectedParts { framework, ..DetectedParts::default() };
                let manifest = AppManifest::new(name, own, settings, parts);
                App::new(name.clone(), &file, manifest, directory.clone())
            }
            AppPlace::Directory(directory) => {
                let mut app = app_in(directory, &choice.settings, &frameworks)?;
                let home = choice.copy_of.as_ref().and_then(|home| home.canonicalize().ok());
                app.home = home.or(app.home);
                Ok(app)
            }
            AppPlace::Provided => Ok(App::provided(&choice.settings, of_kind(&choice.settings))),
        }
    }
}

/// The app in the directory `path`: what is detected there, below what its `app.yaml` says, below
/// `said`.
fn app_in(
    path: &Path,
    said: &AppSettings,
    known: &[Arc<KnownFramework>],
) -> Result<App, RuntimeError> {
    let no_app = || RuntimeError::NoApp { directory: path.to_path_buf(), entries: Vec::new() };
    let path = path.canonicalize().map_err(|_| no_app())?;
    if path.is_file() {
        return lone_file(&path, said);
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let directory = Directory::OnDisk(path.clone());
    let (file, own, given, yaml) = match path.join(APP_YAML).is_file() {
        true => {
            let (file, text) = directory.manifest(&name, APP_YAML)?;
            let (own, given) = AppFile::parse(&file, &text)?;
            (file, own, given, AppYaml::There)
        }
        false => {
            (APP_YAML.to_owned(), AppFile::default(), AppSettings::default(), AppYaml::Missing)
        }
    };
    let has_kind = given.kind.is_some();
    let given = given.overlaid(said);
    let detection = detect(&name, &path, &given, yaml, known)?;
    let settings = detection.settings.clone().overlaid(&given);
    let manifest = AppManifest::new(&name, own, settings, detection.parts.clone());
    let mut app = App::new(name, &file, manifest, directory)?;
    app.home = Some(path);
    app.said = (!has_kind).then(|| detection.describe(&app, &given));
    Ok(app)
}

/// The app that is one PHP file. Only this file is copied, not its neighbours.
fn lone_file(path: &Path, said: &AppSettings) -> Result<App, RuntimeError> {
    let directory = path.parent().unwrap_or(path).to_path_buf();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if !name.ends_with(".php") {
        return Err(RuntimeError::NoApp { directory: path.to_path_buf(), entries: Vec::new() });
    }
    let found = AppSettings {
        kind: Some(AppKind::Script),
        index: Some(name.clone()),
        ..AppSettings::default()
    };
    let settings = found.said_by(SettingSource::Detected).overlaid(said);
    let manifest =
        AppManifest::new(&name, AppFile::default(), settings, DetectedParts::of_any_project());
    let mut app = App::new(name.clone(), APP_YAML, manifest, Directory::OnDisk(directory))?;
    app.only = Some(name);
    Ok(app)
}

/// The file in which an app says what is not detected.
const APP_YAML: &str = "app.yaml";

impl RuntimeDirectory {
    /// Whether the runtime supports the common setting `name`, and does not merely behave like its
    /// default.
    pub fn honours(&self, name: &str) -> bool {
        setting::honours(&self.manifest, name)
    }

    /// Whether the runtime has the setting `name`, a common one or its own.
    pub fn has(&self, name: &str) -> bool {
        self.honours(name) || self.manifest.settings.contains_key(name)
    }

    /// The names of the runtime's own settings and of its needs.
    pub fn own_setting_names(&self) -> impl Iterator<Item = &str> {
        self.manifest.settings.keys().chain(self.manifest.needs.keys()).map(String::as_str)
    }

    /// How a plan gives the runtime's own setting or needed program `name`: `pm: static`, with
    /// `value` if the setting allows it. `None`: there is no such setting or program.
    pub fn setting_example(&self, name: &str, value: Option<&Scalar>) -> Option<String> {
        // These characters need no quotes in YAML.
        let plain = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
        let shown = value.map(ToString::to_string).filter(|text| text.chars().all(plain));
        let value = match (self.manifest.settings.get(name), shown) {
            (Some(spec), shown) => shown
                .filter(|_| value.is_some_and(|value| setting::allows(spec, value)))
                .unwrap_or_else(|| spec.default.to_string()),
            (None, shown) => {
                self.manifest.needs.get(name)?;
                shown.filter(|path| path.contains('/')).unwrap_or(format!("/path/to/{name}"))
            }
        };
        Some(format!("{name}: {value}"))
    }

    /// The text of a file of the runtime, or of the shared directory where `file` begins with
    /// `common/`.
    ///
    /// # Errors
    /// There is no such file.
    pub fn text(&self, file: &str) -> Result<String, RuntimeError> {
        self.sources.text(file).ok_or_else(|| RuntimeError::Io {
            what: "read",
            path: self.sources.shown(&self.name, file).into(),
            source: std::io::ErrorKind::NotFound.into(),
        })
    }

    /// The text of a file that all runtimes share.
    ///
    /// # Errors
    /// The file does not exist: an overriding `common` directory lacks it.
    pub fn common_text(&self, file: &str) -> Result<String, RuntimeError> {
        self.text(&format!("{COMMON}/{file}"))
    }

    /// Renders `text`, which is that of the file `file`. What it includes is looked for as `file`
    /// itself is.
    ///
    /// # Errors
    /// A wrong template, or an unknown name.
    pub(super) fn render(
        &self,
        file: &str,
        text: &str,
        values: &Value,
    ) -> Result<String, RuntimeError> {
        let sources = self.sources.clone();
        let name = self.sources.shown(&self.name, file);
        render_including(&name, text, values, move |included| sources.text(included))
    }
}

/// Reads YAML into a manifest. Errors name the file, line, column and the nearest field.
pub(crate) fn parse<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, RuntimeError> {
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.without_snippet();
        let place = error.location();
        let (problem, near) = match error {
            serde_saphyr::Error::SerdeUnknownField { field, expected, .. } => {
                (format!("unknown field `{field}`"), nearest(field, expected.iter().copied()))
            }
            serde_saphyr::Error::SerdeUnknownVariant { variant, expected, .. } => {
                let problem = format!("unknown value `{variant}`; known: {}", expected.join(", "));
                (problem, nearest(variant, expected.iter().copied()))
            }
            serde_saphyr::Error::SerdeMissingField { field, .. } => {
                (format!("field `{field}` is missing"), None)
            }
            other => (plain(&other.to_string()), None),
        };
        RuntimeError::Manifest {
            file: file.into(),
            line: place.map_or(0, |place| place.line()),
            column: place.map_or(0, |place| place.column()),
            problem,
            nearest: near,
        }
    })
}

/// The parser's message without its " at line 1, column 2", which the error has already.
fn plain(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    text.split(" at line ").next().unwrap_or(text).to_string()
}

#[cfg(test)]
mod tests {
    use minijinja::context;
    use minijinja::value::Serde;
    use serde_json::json;

    use super::super::manifest::rendered_name;
    use super::super::setting::DirectoryNames;
    use super::*;

    /// What the templates of a runtime may name, on a machine that has all of its needs.
    fn values(runtime: &RuntimeDirectory, settings: &setting::Settings, user: bool) -> Value {
        let manifest = &runtime.manifest;
        let needs = manifest.needs.keys();
        let needs: BTreeMap<String, String> =
            needs.map(|name| (name.replace('-', "_"), format!("/usr/bin/{name}"))).collect();
        let ports: BTreeMap<&str, u16> =
            manifest.ports.iter().map(|name| (name.as_str(), 9000)).collect();
        let cpus_of: BTreeMap<&str, usize> =
            manifest.processes.iter().map(|process| (process.role.as_str(), 2)).collect();
        let user = user.then(|| json!({"name": "www", "group": "www", "uid": 33, "gid": 33}));
        Value::from(Serde(json!({
            "dir": "/run/stack", "docroot": "/run/stack/app/public", "index": "index.php",
            "app": {"dir": "/run/stack/app", "kind": "script"}, "host": "127.0.0.1",
            "port": 8080, "ports": ports, "front": {"port": 8081, "kept": true},
            "worker": manifest.worker, "threads": manifest.php_threads,
            "workers": settings.workers(), "settings": settings.values, "needs": needs,
            "cpus": 2, "cpus_of": cpus_of, "env": {"APP_ENV": "prod"}, "user": user,
            "extensions": [], "zend_extensions": [], "php_ini": {}, "preload": null,
            "https": user.is_some(), "directory": crate::directory_files::Told::none(),
        })))
    }

    /// Also one that is another with other settings (`use`).
    #[test]
    fn every_role_of_every_runtime_has_an_official_image() {
        let catalogue = Catalogue::load(SearchPaths::default());
        for name in catalogue.runtime_names() {
            let manifest = &catalogue.runtime(name).expect(name).manifest;
            for process in &manifest.processes {
                assert!(manifest.images.contains_key(&process.role), "{name}: {}", process.role);
            }
        }
    }

    /// No runtime need be installed: a name that a template does not have, or an include that is
    /// not there, is an error for each value that a setting may have.
    #[test]
    fn every_file_of_every_runtime_can_be_rendered() {
        let catalogue = Catalogue::load(SearchPaths::default());
        let directories = DirectoryNames::of(&catalogue);
        for name in catalogue.runtime_names() {
            let runtime = catalogue.runtime(name).expect(name);
            let own = runtime.manifest.settings.iter();
            let given = own.flat_map(|(key, spec)| {
                spec.one_of.iter().map(move |value| BTreeMap::from([(key.clone(), value.clone())]))
            });
            for given in std::iter::once(BTreeMap::new()).chain(given) {
                let settings = setting::resolve(name, &runtime.manifest, &given, &directories);
                let settings = settings.expect(name);
                for (file, user) in
                    runtime.manifest.files.iter().flat_map(|file| [(file, false), (file, true)])
                {
                    let values = values(&runtime, &settings, user);
                    let values = context! { append => "", ..values };
                    let text = runtime.text(&file.value).expect(name);
                    let rendered = runtime.render(&file.value, &text, &values);
                    let rendered = rendered.unwrap_or_else(|error| panic!("{name}: {error:?}"));
                    assert!(!rendered.contains("{%"), "{name}: {rendered}");
                    if rendered_name(&file.value).ends_with(".yaml") {
                        parse::<serde_json::Value>(&file.value, &rendered).expect(name);
                    }
                }
            }
        }
    }
}
