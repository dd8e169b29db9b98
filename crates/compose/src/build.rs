//! Plans how the images of a project are built: under names of stampede's own, and those first that others are
//! built from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::dockerfile::text;
use crate::dockerfile_images::with_images;
use crate::edit::variables;
use crate::engine::Engine;
use crate::error::ComposeError;
use crate::private::write_private;
use crate::project::Project;
use crate::variables::doubled;

/// The prefix of the images that stampede builds.
pub const BUILT: &str = "stampede-build";

/// How the images of a project are built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BuildPlan {
    /// The document for the tool. The user's images keep their names: it has others.
    pub document: Map<String, Value>,
    /// The images of services that are built, or that use an image of one that is.
    pub images: BTreeMap<String, String>,
    /// The services to build, in steps: none needs an image of its own step or of a later one.
    pub steps: Vec<Vec<String>>,
    /// Files that the document names: Dockerfiles with the other names.
    pub files: BTreeMap<PathBuf, String>,
}

impl BuildPlan {
    /// Plans the builds of a project. `arguments` are added to each. `hash` tells its images from those of
    /// other projects. `directory` is where the files will be written.
    pub fn of(
        project: &Project,
        arguments: &BTreeMap<String, String>,
        hash: &str,
        directory: &Path,
    ) -> BuildPlan {
        let mut plan = BuildPlan { document: project.document.clone(), ..BuildPlan::default() };
        plan.document.remove("name");
        plan.document.retain(|key, _| !key.starts_with("x-"));
        let Some(Value::Object(services)) = plan.document.get_mut("services") else {
            return plan;
        };
        let mut names = ImageNames::default();
        for (name, service) in services.iter_mut() {
            let Value::Object(service) = service else { continue };
            if add_arguments(service, arguments) {
                let image = format!("{BUILT}/{hash}-{}:latest", image_name(name));
                let given = service.insert("image".to_owned(), json!(image));
                names.add(&project.name, name, given.as_ref().and_then(Value::as_str));
                plan.images.insert(name.clone(), image);
            }
        }
        let mut needs = BTreeMap::new();
        for (name, service) in
            services.iter_mut().filter(|(name, _)| plan.images.contains_key(*name))
        {
            let mut used =
                Used { names: &names, images: &plan.images, own: name, services: BTreeSet::new() };
            plan.files.extend(used.rename(
                &mut service["build"],
                &directory.join(format!("Dockerfile.{}", image_name(name))),
            ));
            needs.insert(name.clone(), used.services);
        }
        plan.steps = steps(needs);
        for (name, service) in project.services() {
            let built = service["image"].as_str().and_then(|image| names.service(image));
            if let Some(image) = built.and_then(|built| plan.images.get(built)).cloned() {
                plan.images.entry(name.to_owned()).or_insert(image);
            }
        }
        plan
    }

    /// Builds the images, under names of our own: the user's keep theirs. `directory` takes the files while they
    /// are needed.
    ///
    /// # Errors
    /// A build fails; the error has the tool's last lines.
    pub fn run(
        &self,
        engine: &Engine,
        project: &Project,
        hash: &str,
        directory: &Path,
    ) -> Result<(), ComposeError> {
        if self.steps.is_empty() {
            return Ok(());
        }
        let file = directory.join("build.json");
        let mut files = self.files.clone();
        files.insert(file.clone(), Value::Object(self.document.clone()).to_string());
        for (path, text) in &files {
            write_private(path, text).map_err(|error| ComposeError::unwritten(path, &error))?;
        }
        let project_name = format!("{BUILT}-{hash}");
        let of_project = (project_name.as_str(), project.directory.as_path());
        let built = self.run_steps(engine, hash, &file, of_project);
        for path in files.keys() {
            let _ = fs::remove_file(path);
        }
        built
    }
}

/// The services that are built, by the names that their images have in the project.
#[derive(Debug, Default)]
struct ImageNames(BTreeMap<String, String>);

impl ImageNames {
    /// `given`: the name that the project gives. Without one, the tools make one of project and service.
    fn add(&mut self, project: &str, service: &str, given: Option<&str>) {
        let made = [format!("{project}-{service}"), format!("{project}_{service}")];
        let made = if given.is_none() && !project.is_empty() { &made[..] } else { &[] };
        for name in given.into_iter().chain(made.iter().map(String::as_str)) {
            // Of services with one image, the first builds it.
            self.0.entry(whole(name)).or_insert_with(|| service.to_owned());
        }
    }

    fn service(&self, image: &str) -> Option<&String> {
        self.0.get(&whole(image))
    }
}

/// The name of an image with its tag, and without the registry that is meant if none is named.
fn whole(image: &str) -> String {
    let short = image.strip_prefix("docker.io/").unwrap_or(image);
    let short = short.strip_prefix("library/").unwrap_or(short);
    let last = short.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) { short.to_owned() } else { format!("{short}:latest") }
}

/// Finds which images of the project a build uses.
struct Used<'a> {
    names: &'a ImageNames,
    images: &'a BTreeMap<String, String>,
    /// The service that is built.
    own: &'a str,
    /// The services whose images it uses.
    services: BTreeSet<String>,
}

impl Used<'_> {
    fn image(&mut self, name: &str) -> Option<String> {
        self.image_of(&self.names.service(name)?.clone())
    }

    /// The image of another service that is built.
    fn image_of(&mut self, service: &str) -> Option<String> {
        let image = self.images.get(service).filter(|_| service != self.own)?;
        self.services.insert(service.to_owned());
        Some(image.clone())
    }

    /// Gives a build the other names. Returns the files that it then needs; `file` is for its Dockerfile.
    fn rename(&mut self, build: &mut Value, file: &Path) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let given = variables(&build["args"]);
        let given = given.iter().filter_map(|(name, value)| Some((name.clone(), text(value)?)));
        let given = given.collect();
        let contexts = self.rename_contexts(build);
        let mut renamed =
            |content: &str| with_images(content, &given, &contexts, &mut |name| self.image(name));
        if let Some(inline) = build["dockerfile_inline"].as_str() {
            build["dockerfile_inline"] = json!(renamed(inline));
            return files;
        }
        let Some(context) = build["context"].as_str() else { return files };
        let path = Path::new(context).join(build["dockerfile"].as_str().unwrap_or("Dockerfile"));
        let Ok(content) = fs::read_to_string(&path) else { return files };
        let other = renamed(&content);
        if other != content {
            build["dockerfile"] = json!(file.display().to_string());
            files.insert(file.to_owned(), other);
            // What a build leaves out may be written beside its Dockerfile.
            let ignored = |path: &Path| PathBuf::from(format!("{}.dockerignore", path.display()));
            let beside = fs::read_to_string(ignored(&path));
            files.extend(beside.ok().map(|text| (ignored(file), text)));
        }
        files
    }

    /// Gives contexts that are images of the project the other names. Returns the names of all contexts.
    fn rename_contexts(&mut self, build: &mut Value) -> Vec<String> {
        let mut contexts = variables(&build["additional_contexts"]);
        for value in contexts.values_mut() {
            let value_text = value.as_str().unwrap_or_default();
            let of_image = || self.names.service(value_text.strip_prefix(IMAGE_CONTEXT)?);
            let service = value_text.strip_prefix(SERVICE_CONTEXT).map(str::to_owned);
            let service = service.or_else(|| of_image().cloned());
            if let Some(other) = service.and_then(|service| self.image_of(&service)) {
                *value = json!(format!("{IMAGE_CONTEXT}{other}"));
            }
        }
        let names = contexts.keys().cloned().collect();
        if !contexts.is_empty() {
            build["additional_contexts"] = Value::Object(contexts.into_iter().collect());
        }
        names
    }
}

/// How a build names an image, and a service, as one of its contexts.
const IMAGE_CONTEXT: &str = "docker-image://";
const SERVICE_CONTEXT: &str = "service:";

/// The services in the order of their needs. Services that need each other come last: the tool says what is
/// wrong with them.
fn steps(mut needs: BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let mut steps = Vec::new();
    while !needs.is_empty() {
        let is_free = |used: &BTreeSet<String>| used.iter().all(|name| !needs.contains_key(name));
        let free = needs.iter().filter(|(_, used)| is_free(used)).map(|(name, _)| name.clone());
        let mut step: Vec<String> = free.collect();
        if step.is_empty() {
            step = needs.keys().cloned().collect();
        }
        needs.retain(|name, _| !step.contains(name));
        steps.push(step);
    }
    steps
}

/// Adds arguments to the build of a service. Returns whether it is built at all.
fn add_arguments(service: &mut Map<String, Value>, arguments: &BTreeMap<String, String>) -> bool {
    let Some(build) = service.get_mut("build") else { return false };
    if build.is_null() {
        return false;
    }
    if let Value::String(context) = build {
        *build = json!({"context": context});
    }
    let Value::Object(build) = build else { return false };
    // They would replace the user's images and caches.
    build.remove("tags");
    build.remove("cache_to");
    if !arguments.is_empty() {
        let mut all = variables(build.get("args").unwrap_or(&Value::Null));
        all.extend(arguments.iter().map(|(name, value)| (name.clone(), json!(doubled(value)))));
        build.insert("args".to_owned(), Value::Object(all.into_iter().collect()));
    }
    true
}

/// A service's name in the form that names of images have. Each service has another one.
pub(crate) fn image_name(service: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let plain: String = service.chars().map(fits).collect();
    // FNV-1a: `a_b` and `a.b` are two.
    let sum = service
        .bytes()
        .fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    if plain == service { plain } else { format!("{plain}-{sum:08x}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_added_to_every_form_of_a_build() {
        let arguments = BTreeMap::from([("PHP".to_owned(), "8.4".to_owned())]);
        let built = |service: Value| {
            let Value::Object(mut service) = service else { panic!("a map") };
            let is_built = add_arguments(&mut service, &arguments);
            (is_built, service.get("build").cloned().unwrap_or_default())
        };
        let of_args = |args: Value| json!({"context": "/srv", "args": args});
        assert_eq!(built(json!({"build": "/srv"})), (true, of_args(json!({"PHP": "8.4"}))));
        let list = json!({"build": of_args(json!(["A=1", "PHP=8.2"]))});
        assert_eq!(built(list), (true, of_args(json!({"A": "1", "PHP": "8.4"}))));
        assert_eq!(built(json!({"image": "nginx"})), (false, Value::Null));
        assert!(!built(json!({"image": "nginx", "build": null})).0);
        assert_eq!(image_name("my-app"), "my-app");
        assert!(image_name("My_App.1").starts_with("my-app-1-"));
        assert_ne!(image_name("a_b"), image_name("a.b"));
    }

    fn plan(services: Value, directory: &Path) -> BuildPlan {
        let Value::Object(document) = json!({"name": "shop", "x-php": 1, "services": services})
        else {
            panic!("a map")
        };
        let project =
            Project { directory: directory.to_owned(), name: "shop".to_owned(), document };
        BuildPlan::of(&project, &BTreeMap::new(), "4f1e", Path::new("/run/it"))
    }

    #[test]
    fn images_that_others_are_built_from_come_first_and_under_the_same_name() {
        let place = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| {
            let path = place.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        let context = |name: &str| place.path().join(name).display().to_string();
        write("web/Dockerfile", "FROM nginx\nCOPY --from=shop_php:latest /srv /srv\n");
        write("web/Dockerfile.dockerignore", "vendor\n");
        write("php/Dockerfile", "FROM docker.io/acme/base\n");
        write("base/Dockerfile", "FROM php:8.4-fpm\n");
        let plan = plan(
            json!({
                "web": {"build": context("web")},
                "php": {"build": {"context": context("php")}},
                "base": {"image": "acme/base", "build": {"context": context("base")}},
                "cron": {"image": "acme/base:latest", "command": "cron"},
                "worker": {"build": {"context": "/srv", "dockerfile_inline": "FROM shop-php"}},
                "jobs": {"build": {"context": "/srv", "args": {"TAG": 2}, "dockerfile_inline": "ARG TAG\nFROM shop-worker:${TAG}"}},
                "worker2": {"image": "shop-worker:2", "build": {"context": "/srv", "dockerfile_inline": "FROM shop-worker"}},
                "next": {"build": {"context": "/srv", "additional_contexts": {"php": "docker-image://shop-php", "base": "service:base", "src": "/srv/src"}}},
                "db": {"image": "mariadb:11"},
            }),
            place.path(),
        );
        let own = |name: &str| format!("stampede-build/4f1e-{name}:latest");
        assert_eq!(
            plan.steps,
            [
                vec!["base"],
                vec!["php"],
                vec!["next", "web", "worker"],
                vec!["worker2"],
                vec!["jobs"]
            ]
        );
        assert_eq!(plan.images["cron"], own("base"));
        assert!(!plan.images.contains_key("db"));
        let services = &plan.document["services"];
        assert_eq!(services["web"]["build"]["dockerfile"], "/run/it/Dockerfile.web");
        assert_eq!(
            services["worker"]["build"]["dockerfile_inline"],
            format!("FROM {}", own("php"))
        );
        let jobs = format!("ARG TAG\nFROM {}", own("worker2"));
        assert_eq!(services["jobs"]["build"]["dockerfile_inline"], jobs);
        let image = |name: &str| format!("docker-image://{}", own(name));
        let contexts = json!({"base": image("base"), "php": image("php"), "src": "/srv/src"});
        assert_eq!(services["next"]["build"]["additional_contexts"], contexts);
        assert_eq!(services["base"]["build"], json!({"context": context("base")}));
        let files: Vec<(String, &str)> = plan
            .files
            .iter()
            .map(|(path, text)| (path.display().to_string(), text.as_str()))
            .collect();
        let web = format!("FROM nginx\nCOPY --from={} /srv /srv\n", own("php"));
        let php = format!("FROM {}\n", own("base"));
        assert_eq!(
            files,
            [
                ("/run/it/Dockerfile.php".to_owned(), php.as_str()),
                ("/run/it/Dockerfile.web".to_owned(), web.as_str()),
                ("/run/it/Dockerfile.web.dockerignore".to_owned(), "vendor\n"),
            ]
        );
        assert!(!plan.document.contains_key("x-php") && !plan.document.contains_key("name"));
    }

    #[test]
    fn services_that_need_each_other_or_an_image_of_their_own_name_are_built_all_the_same() {
        let inline =
            |from: &str| json!({"context": "/srv", "dockerfile_inline": format!("FROM {from}")});
        let plan = plan(
            json!({
                "a": {"image": "x/a:1", "build": inline("x/b:1")},
                "b": {"image": "x/b:1", "build": inline("x/a:1")},
                // An image that is built on an older one of the same name.
                "php": {"image": "php:8.4", "build": inline("php:8.4")},
            }),
            Path::new("/srv"),
        );
        assert_eq!(plan.steps, [vec!["php"], vec!["a", "b"]]);
        let own = &plan.document["services"]["php"]["build"]["dockerfile_inline"];
        assert_eq!(own, "FROM php:8.4");
    }

    #[test]
    fn names_of_images_are_compared_whole() {
        for (one, other) in [
            ("shop", "shop:latest"),
            ("docker.io/library/php:8.4", "php:8.4"),
            ("docker.io/acme/shop", "acme/shop:latest"),
            ("127.0.0.1:5000/shop", "127.0.0.1:5000/shop:latest"),
            ("shop@sha256:4f1e", "shop@sha256:4f1e"),
        ] {
            assert_eq!(whole(one), other);
        }
    }
}
