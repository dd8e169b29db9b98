//! Runtimes of the catalogue whose programs come from container images.
//!
//! ```text
//! images by role ─look─▶ what they have ─add─▶ images with all that is needed ─start─▶ containers
//! ```
//! All else is as with programs of this machine: the files, the app's copy, the verification. The
//! containers have the stack's working directory at its own path, and the network of the machine. So
//! what differs from a row without images is the images alone.

mod supervise;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use stampede_compose::build::BUILT;
use stampede_compose::build_log::logged_build;
use stampede_compose::fetch::{check_architecture, fetch_image};
use stampede_compose::image::{
    Additions, FoundNeed, ImageContent, Packages, WantedNeed, can_have_php, script, with_php,
};
use stampede_model::record::CustomBuild;
use stampede_model::words;

use crate::answer::sha256;
use crate::app::App;
use crate::catalogue::RuntimeDirectory;
use crate::compose::ComposeError;
use crate::compose::build::HASH_LENGTH;
use crate::error::RuntimeError;
use crate::framework::distribution_directories;
use crate::locate::{ResolvedNeed, SearchPaths};
use crate::manifest::Need;
use crate::php_constraint::PhpRequirements;
use crate::setting::Settings;
use stampede_compose::engine::{Engine, WayIn};

pub(crate) use supervise::supervised_by;

/// The image of a role, as `runtime.yaml` names it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OfficialImage {
    /// Its name. `{php}` is the version of PHP.
    pub image: String,
    /// A program that another image brings, where this one lacks it.
    #[serde(default)]
    pub copy: Option<CopiedProgram>,
    /// Packages that bring the role's program, where the image lacks it.
    #[serde(default)]
    pub packages: Option<Packages>,
    /// Extensions of PHP that the runtime needs.
    #[serde(default)]
    pub extensions: Vec<String>,
}

/// A program of another image.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopiedProgram {
    /// The image.
    pub from: String,
    /// The path in it.
    pub path: String,
}

/// Versions of PHP, in the order in which they are tried where nobody asks for one.
const VERSIONS: [&str; 7] = ["8.4", "8.3", "8.5", "8.2", "8.1", "8.0", "7.4"];
/// The need for PHP's command line, with which the app is prepared.
const COMMAND_LINE: &str = "command line";

/// The image of a role.
#[derive(Clone, Debug)]
pub(crate) struct RoleImage {
    /// As the plan or the runtime names it.
    pub named: String,
    /// With what was added: the one that is started.
    pub used: String,
}

/// The images of a runtime, and what was found in them.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeImages {
    pub engine: Engine,
    pub by_role: BTreeMap<String, RoleImage>,
    /// The image with PHP's command line, and the program.
    pub php: Option<(String, PathBuf)>,
    /// Directories of this machine with the app's frameworks, which the containers see at their own
    /// paths and cannot write to.
    pub frameworks: BTreeSet<PathBuf>,
    needs: BTreeMap<String, ResolvedNeed>,
    content: ImageContent,
}

/// What images are looked for.
pub(crate) struct ImageRequest<'a> {
    /// The name of the row.
    pub name: &'a str,
    pub runtime: &'a RuntimeDirectory,
    /// The images that the plan names, by role.
    pub given: &'a BTreeMap<String, String>,
    pub settings: &'a Settings,
    pub app: &'a App,
    /// The versions of PHP that are allowed.
    pub required: &'a PhpRequirements,
    pub places: &'a SearchPaths,
}

impl RuntimeImages {
    /// Whether a shared object is in one of the images.
    pub fn has_object(&self, path: &Path) -> bool {
        self.content.objects.contains(path)
    }

    /// The directory of PHP's shared extensions.
    pub fn extension_dir(&self) -> Option<&Path> {
        self.content.extensions.as_deref()
    }

    /// Whether PHP has an extension as a file.
    pub fn has_extension_file(&self, name: &str) -> bool {
        self.extension_dir().is_some_and(|dir| self.has_object(&dir.join(format!("{name}.so"))))
    }

    /// The needs of the runtime: those of the images, and libraries of this machine.
    pub fn needs(&self) -> &BTreeMap<String, ResolvedNeed> {
        &self.needs
    }

    /// The names of the images in words: `nginx:1 and php:8.4-fpm`.
    pub fn in_words(&self) -> String {
        let mut names: Vec<String> = self.by_role.values().map(|one| one.named.clone()).collect();
        names.sort();
        names.dedup();
        words::list(&names)
    }

    /// All of it as data.
    pub fn facts(&self) -> Value {
        let images = self.by_role.iter().map(|(role, image)| (role, &image.used));
        json!({"engine": self.engine.version, "images": images.collect::<BTreeMap<_, _>>()})
    }
}

impl ImageRequest<'_> {
    /// Fetches the images, looks into them, and adds what the runtime and the app lack.
    ///
    /// # Errors
    /// There is no engine; an image cannot be had, or lacks a program.
    pub fn find(&self) -> Result<RuntimeImages, RuntimeError> {
        let failed = |problem| RuntimeError::Containers {
            runtime: self.name.to_owned(),
            problem: Box::new(problem),
        };
        self.check().map_err(failed)?;
        let engine = engine().map_err(failed)?;
        let (by_role, contents) = self.complete(&engine).map_err(failed)?;
        let mut content = ImageContent::default();
        let php_first = contents.iter().filter(|(_, one)| one.extensions.is_some());
        let others = contents.iter().filter(|(_, one)| one.extensions.is_none());
        php_first.chain(others).for_each(|(_, one)| content.extend(one));
        let command_line = |(image, one): &(&String, &ImageContent)| {
            let found = one.needs.get(COMMAND_LINE)?;
            Some(((*image).clone(), self.fitting(found)?.path.clone()))
        };
        let php = contents.iter().find_map(|one| command_line(&one));
        let needs = self.needs(&by_role, &contents)?;
        let frameworks = distribution_directories(self.app);
        Ok(RuntimeImages { engine, by_role, php, frameworks, needs, content })
    }

    /// Refuses what needs programs of this machine.
    fn check(&self) -> Result<(), ComposeError> {
        let refused = |what: &str| Err(ComposeError::NotWithImages { what: what.to_owned() });
        if self.runtime.database.is_some() {
            return refused("a database beside the runtime (`database`)");
        }
        let autoloader = self.settings.values.get(crate::deployed::AUTOLOADER);
        if autoloader.and_then(Value::as_str).is_some_and(|how| how != "as-is") {
            return refused("`autoloader`, which needs Composer,");
        }
        if let Some(program) = self.settings.programs.keys().next() {
            return refused(&format!("a program of this machine (`{program}`)"));
        }
        let processes = &self.runtime.manifest.processes;
        let has_two = |role: &str| processes.iter().filter(|one| one.role == role).count() > 1;
        if self.runtime.front.is_some() && processes.iter().any(|one| has_two(&one.role)) {
            return refused("`front` before a runtime that has a web server");
        }
        let known: Vec<String> = self.roles().map(|(role, _)| role.to_owned()).collect();
        match self.given.keys().find(|role| !known.contains(role)) {
            Some(role) => Err(ComposeError::NoRole { role: role.clone(), known }),
            None => Ok(()),
        }
    }

    /// The roles, each with the need that its first process runs.
    fn roles(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut seen = BTreeSet::new();
        let processes = self.runtime.manifest.processes.iter();
        processes.filter(move |process| seen.insert(process.role.as_str())).map(|process| {
            let run = process.run.value.as_str();
            (process.role.as_str(), run.split_whitespace().next().unwrap_or_default())
        })
    }

    /// The image of each role and what each image has, after additions.
    #[expect(clippy::type_complexity)]
    fn complete(
        &self,
        engine: &Engine,
    ) -> Result<(BTreeMap<String, RoleImage>, BTreeMap<String, ImageContent>), ComposeError> {
        let version = self.version();
        let (mut by_role, mut contents) = (BTreeMap::new(), BTreeMap::new());
        for (role, program) in self.roles() {
            let official = self.runtime.manifest.images.get(role);
            let named = self.image_of(role);
            let none = || ComposeError::NoOfficialImage { role: role.to_owned() };
            let named = with_php(named.ok_or_else(none)?, version)?;
            fetch_image(engine, &named)?;
            check_architecture(engine, role, &named)?;
            let content = self.look(engine, &named)?;
            let additions = self.missing(official, program, &content);
            let (used, content) = match add(engine, &named, &additions)? {
                Some(made) => (made.clone(), self.look(engine, &made)?),
                None => (named.clone(), content),
            };
            contents.insert(used.clone(), content);
            by_role.insert(role.to_owned(), RoleImage { named, used });
        }
        Ok((by_role, contents))
    }

    /// The image of a role, with placeholders; `None`: there is none.
    fn image_of(&self, role: &str) -> Option<&String> {
        let official = self.runtime.manifest.images.get(role).map(|official| &official.image);
        self.given.get(role).or(official)
    }

    /// The version of PHP: the one that is asked for, else the first that the app allows.
    fn version(&self) -> &str {
        let images = || self.roles().filter_map(|(role, _)| self.image_of(role));
        let allowed = |version: &&&str| {
            self.required.refused_by(&format!("{version}.99")).is_none()
                && images().all(|image| can_have_php(image, version))
        };
        let asked = self.settings.php.as_deref();
        asked.or(VERSIONS.iter().find(allowed).copied()).unwrap_or(VERSIONS[0])
    }

    /// What an image lacks for its role, whose process runs the need `program`.
    fn missing(
        &self,
        official: Option<&OfficialImage>,
        program: &str,
        content: &ImageContent,
    ) -> Additions {
        let packages = official.and_then(|official| official.packages.clone());
        let with_php = packages.as_ref().is_some_and(|packages| packages.with_php);
        let has_program = content.needs.contains_key(program);
        let packages = packages.and_then(|packages| match has_program {
            true if with_php => Some(Packages { debian: Vec::new(), ..packages }),
            true => None,
            false => Some(packages),
        });
        let copy = official.and_then(|official| official.copy.as_ref());
        let is_there = |copy: &&CopiedProgram| {
            let name = copy.path.rsplit('/').next().unwrap_or_default();
            content.needs.contains_key(name)
        };
        let copy = copy.filter(|copy| !is_there(copy));
        let copy = copy.map(|copy| (copy.from.clone(), copy.path.clone()));
        let of_runtime = official.map(|official| official.extensions.clone()).unwrap_or_default();
        // Extensions are of no use to an image without PHP.
        let wanted = of_runtime.iter().chain(&self.app.manifest.extensions);
        let wanted = wanted.filter(|_| with_php || content.extensions.is_some());
        let lacks: BTreeSet<String> =
            wanted.filter(|name| !content.has_extension(name)).cloned().collect();
        Additions { packages, copy, extensions: lacks.into_iter().collect() }
    }

    /// What an image has. Each image is asked once.
    fn look(&self, engine: &Engine, image: &str) -> Result<ImageContent, ComposeError> {
        static KNOWN: LazyLock<Mutex<HashMap<String, ImageContent>>> =
            LazyLock::new(Mutex::default);
        let script = script(&self.wanted());
        let id = engine.run(&["image", "inspect", "--format", "{{.Id}}", image])?;
        let key = format!("{id}{script}");
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = known().get(&key) {
            return Ok(content.clone());
        }
        let words = ["run", "--rm", "-i", "--network", "none", "--log-driver", "none"];
        let words = [&words[..], &["--user", "0", "--entrypoint", "sh", image, "-s"]].concat();
        let printed = engine.run_command(&words, |command| command.input(script.as_bytes()))?;
        let content = ImageContent::parse(&printed);
        known().insert(key, content.clone());
        Ok(content)
    }

    /// What is looked for in each image: the needs, and PHP's command line. Libraries of Composer are
    /// those of this machine.
    fn wanted(&self) -> Vec<WantedNeed> {
        let needs = self.runtime.manifest.needs.iter();
        let of_images = needs.filter(|(_, need)| need.library.is_none());
        let words = |line: &String| -> Vec<String> {
            let words = shell_words::split(line).unwrap_or_default();
            words.into_iter().skip(1).collect()
        };
        let wanted = |(name, need): (&String, &Need)| WantedNeed {
            name: name.clone(),
            programs: need.programs.clone(),
            files: need.files.clone(),
            version: need.version.as_ref().map(words),
            version_in_file: need.version_in_file.clone(),
            extension: need.extension.clone(),
        };
        let command_line = WantedNeed {
            name: COMMAND_LINE.to_owned(),
            programs: vec!["php*".to_owned()],
            version: Some(vec!["-n".to_owned(), "-v".to_owned()]),
            ..WantedNeed::default()
        };
        of_images.map(wanted).chain([command_line]).collect()
    }

    /// The needs, each from the image whose process runs it, else from any image.
    fn needs(
        &self,
        by_role: &BTreeMap<String, RoleImage>,
        contents: &BTreeMap<String, ImageContent>,
    ) -> Result<BTreeMap<String, ResolvedNeed>, RuntimeError> {
        let (mut needs, mut missing) = (BTreeMap::new(), Vec::new());
        for (name, need) in &self.runtime.manifest.needs {
            if need.library.is_some() {
                match self.places.find(name, need, None, None)? {
                    Some(found) => drop(needs.insert(name.clone(), found)),
                    None => missing.push(name.clone()),
                }
                continue;
            }
            let own =
                self.roles().find(|(_, run)| run == name).map(|(role, _)| &by_role[role].used);
            let all = own.into_iter().chain(contents.keys().filter(|_| own.is_none()));
            let mut found = all.filter_map(|image| contents[image].needs.get(name));
            match found.find_map(|all| self.fitting(all)) {
                Some(found) => {
                    let (path, version) = (found.path.clone(), found.version.clone());
                    let custom_build = CustomBuild::of_version(&version);
                    needs.insert(name.clone(), ResolvedNeed { path, version, custom_build });
                }
                None => missing.push(name.clone()),
            }
        }
        if missing.is_empty() {
            return Ok(needs);
        }
        let images = by_role.values().map(|one| one.named.clone()).collect::<BTreeSet<_>>();
        let images = images.into_iter().collect();
        Err(RuntimeError::Containers {
            runtime: self.name.to_owned(),
            problem: Box::new(ComposeError::NotInImages { needs: missing, images }),
        })
    }

    /// Of several programs the first whose version is allowed, else the first.
    fn fitting<'a>(&self, found: &'a [FoundNeed]) -> Option<&'a FoundNeed> {
        let fits = |one: &&FoundNeed| self.required.refused_by(&one.version).is_none();
        found.iter().find(fits).or(found.first())
    }
}

/// The engine of this machine, which is asked for once.
fn engine() -> Result<Engine, ComposeError> {
    static FOUND: OnceLock<Engine> = OnceLock::new();
    if let Some(engine) = FOUND.get() {
        return Ok(engine.clone());
    }
    let found = Engine::find()?;
    if found.way_in == WayIn::PublishedPort {
        let what = "an engine whose containers this machine does not reach (rootless)".to_owned();
        return Err(ComposeError::NotWithImages { what });
    }
    Ok(FOUND.get_or_init(|| found).clone())
}

/// Builds an image with the additions, unless it is there. Returns its name; `None`: there is nothing
/// to add.
fn add(engine: &Engine, base: &str, additions: &Additions) -> Result<Option<String>, ComposeError> {
    let Some(dockerfile) = additions.dockerfile(base) else { return Ok(None) };
    let mut ids = String::new();
    for image in additions.sources().into_iter().chain([base]) {
        fetch_image(engine, image)?;
        ids += &engine.run(&["image", "inspect", "--format", "{{.Id}}", image])?;
    }
    let hash = sha256(format!("{dockerfile}{ids}"));
    let name = format!("{BUILT}/{}:latest", &hash[..HASH_LENGTH]);
    if engine.command(&["image", "inspect", &name]).run().is_err() {
        let words = [engine.build(), &["--force-rm", "--tag", &name, "-"]].concat();
        let command = engine.work(&words).input(dockerfile.as_bytes());
        let verb = format!("{} build", engine.client.program());
        logged_build(command, &verb, &hash[..HASH_LENGTH], &[base.to_owned()])?;
    }
    Ok(Some(name))
}
