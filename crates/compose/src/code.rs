//! Puts code that a project mounts from the machine into the images of its services, as in production: an image
//! that has the code of its own loses the mount, and another one gets a copy.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stampede_linux::run::{RunError, TimedCommand};
use stampede_model::fact::containers::ServiceCode;

use crate::build::{BUILT, image_name};
use crate::build_log::logged_build;
use crate::edit::{LABEL, Mount};
use crate::engine::{Engine, WORKS_WITHIN, failed};
use crate::error::ComposeError;
use crate::news::{self, LongWork, News, told};
use crate::private::write_private;
use crate::project::Project;
use crate::variables::plain;

/// Files that requests to apps begin with.
const ENTRIES: [&str; 4] = ["index.php", "artisan", "public/index.php", "web/index.php"];
/// The file of apps that consist of packages.
const MANIFEST: &str = "composer.json";

/// A directory of code that a service mounts from the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMount {
    /// The directory of the machine.
    pub source: PathBuf,
    /// Its path in the container.
    pub target: String,
    /// Files of code in it, from there.
    files: Vec<String>,
    /// Whether an image has the code if it has one of the files; else it must have all.
    is_one_enough: bool,
}

impl CodeMount {
    /// `None`: it is another mount.
    fn of(value: &Value) -> Option<CodeMount> {
        let mount = Mount::of(value)?;
        let source = PathBuf::from(plain(mount.bind_source()?));
        let target = plain(&mount.target);
        let of = |files: Vec<String>, is_one_enough: bool| {
            let (source, target) = (source.clone(), target.clone());
            (!files.is_empty()).then_some(CodeMount { source, target, files, is_one_enough })
        };
        let has = |file: &&str| source.join(file).is_file();
        let known = |files: &[&str]| files.iter().copied().filter(has).map(str::to_owned).collect();
        // An image for development may have the manifest alone, to install packages.
        of(known(&ENTRIES), false)
            .or_else(|| of(php_files(&source), true))
            .or_else(|| of(known(&[MANIFEST]), true))
    }

    /// The directories of code that a service mounts.
    pub fn all(service: &Value) -> Vec<CodeMount> {
        service["volumes"].as_array().into_iter().flatten().filter_map(CodeMount::of).collect()
    }
}

/// PHP files of a directory and of those in it; some.
fn php_files(directory: &Path) -> Vec<String> {
    let names = |below: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory.join(below)).into_iter().flatten().flatten();
        let names = entries.take(ENTRIES_MAX).map(|entry| below.join(entry.file_name()));
        let mut names: Vec<PathBuf> = names.collect();
        names.sort();
        names
    };
    let first = names(Path::new(""));
    let second = first.iter().filter(|name| directory.join(name).is_dir());
    let second: Vec<PathBuf> = second.flat_map(|name| names(name)).collect();
    let is_php = |name: &&PathBuf| name.extension().is_some_and(|end| end == "php");
    let found = first.iter().chain(&second).filter(is_php).filter_map(|name| name.to_str());
    found.take(FILES_MAX).map(str::to_owned).collect()
}

/// The most entries of a directory that are looked at.
const ENTRIES_MAX: usize = 1_000;
/// The most files by which a directory is recognised in an image.
const FILES_MAX: usize = 5;

/// Services whose code is in their images from now on.
#[derive(Clone, Debug, Default)]
pub struct CodeInImages {
    /// The images that were made for it, by service.
    pub images: BTreeMap<String, String>,
    /// Where each service has its code from.
    pub services: Vec<ServiceCode>,
    /// The mounts that are needless, by service: their paths in the containers.
    targets: BTreeMap<String, Vec<String>>,
}

impl CodeInImages {
    /// Removes the mounts.
    pub fn remove_mounts(&self, project: &mut Project) {
        for (name, targets) in &self.targets {
            let service = project.service_mut(name).and_then(|service| service.get_mut("volumes"));
            let Some(Value::Array(mounts)) = service else { continue };
            let is_needless = |mount: &Value| {
                CodeMount::of(mount).is_some_and(|found| targets.contains(&found.target))
            };
            mounts.retain(|mount| !is_needless(mount));
        }
    }
}

/// What images of services are made with.
pub struct ImagesOfCode<'a> {
    /// The engine, for one stack.
    pub engine: &'a Engine,
    /// The stack's id.
    pub stack: &'a str,
    /// What tells the images from those of other projects.
    pub hash: &'a str,
    /// An own directory for what the builds need.
    pub directory: &'a Path,
}

impl ImagesOfCode<'_> {
    /// Makes the images for the code of these services. `images`: those of services that are built.
    ///
    /// # Errors
    /// The engine fails, or the code cannot be read.
    pub fn of(
        &self,
        project: &Project,
        services: &[String],
        images: &BTreeMap<String, String>,
    ) -> Result<CodeInImages, ComposeError> {
        let mut done = CodeInImages::default();
        // Workers often have the image and the code of the service that requests go to.
        let mut known: BTreeMap<(String, Vec<(PathBuf, String)>), (Vec<bool>, String)> =
            BTreeMap::new();
        for name in services {
            let Some(service) = project.service(name) else { continue };
            let mounts = CodeMount::all(service);
            let image = images.get(name).map(String::as_str).or(service["image"].as_str());
            let Some(image) = image.filter(|_| !mounts.is_empty()) else { continue };
            let has = self.look(image, &mounts)?;
            let (own, others): (Vec<_>, Vec<_>) =
                mounts.into_iter().zip(has).partition(|(_, has)| *has);
            let others: Vec<CodeMount> = others.into_iter().map(|(mount, _)| mount).collect();
            let mut needless: Vec<String> =
                own.into_iter().map(|(mount, _)| mount.target).collect();
            let mut found = ServiceCode {
                own: needless.clone(),
                service: name.clone(),
                ..ServiceCode::default()
            };
            if !others.is_empty() {
                let places = others.iter().map(|one| (one.source.clone(), one.target.clone()));
                let key = (image.to_owned(), places.collect());
                let (copied, made) = match known.get(&key) {
                    Some(known) => known.clone(),
                    None => self.copy(name, image, &others)?,
                };
                known.insert(key, (copied.clone(), made.clone()));
                for (mount, is_there) in others.iter().zip(copied) {
                    let list = if is_there { &mut found.copied } else { &mut found.mounted };
                    list.push(mount.target.clone());
                }
                needless.extend(found.copied.iter().cloned());
                done.images.insert(name.clone(), made);
            }
            done.targets.insert(name.clone(), needless);
            news::tell(&News::Code(&found));
            done.services.push(found);
        }
        Ok(done)
    }

    /// Whether an image has the code of each mount.
    fn look(&self, image: &str, mounts: &[CodeMount]) -> Result<Vec<bool>, ComposeError> {
        let engine = self.engine;
        let label = format!("{LABEL}={}", self.stack);
        // The command is never run. An image may have none.
        let created = engine.run(&["create", "--label", &label, image, "true"])?;
        let id = created.split_whitespace().last().unwrap_or_default();
        let has = |mount: &CodeMount| {
            let is_there = |file: &String| {
                let place = format!("{id}:{}/{file}", mount.target.trim_end_matches('/'));
                engine.command(&["cp", &place, "-"]).run().is_ok()
            };
            match mount.is_one_enough {
                true => mount.files.iter().any(is_there),
                false => mount.files.iter().all(is_there),
            }
        };
        let found = mounts.iter().map(has).collect();
        engine.run(&["rm", "--force", "--volumes", id])?;
        Ok(found)
    }

    /// Makes an image with a copy of the code. Returns for each mount whether it is there: what comes after a
    /// `VOLUME` of its image, some engines drop.
    fn copy(
        &self,
        service: &str,
        image: &str,
        mounts: &[CodeMount],
    ) -> Result<(Vec<bool>, String), ComposeError> {
        let name = image_name(service);
        let context = self.directory.join(format!("code-{name}"));
        let unwritten = |error: std::io::Error| ComposeError::unwritten(&context, &error);
        fs::create_dir(&context).map_err(unwritten)?;
        let mut dockerfile = format!("FROM {image}\n");
        for (number, mount) in mounts.iter().enumerate() {
            let archive = format!("{number}.tar");
            self.pack(&mount.source, &context.join(&archive))?;
            // An archive keeps owners and modes, which copying does not.
            let target = format!("{}/", mount.target.replace('$', "\\$"));
            dockerfile += &format!("ADD {}\n", json!([archive, target]));
        }
        write_private(&context.join("Dockerfile"), &dockerfile).map_err(unwritten)?;
        let tag = format!("{BUILT}/{}-{name}-code:latest", self.hash);
        let place = context.display().to_string();
        let own = ["image", "inspect", "--format", "{{.Id}}", &tag];
        let id = || self.engine.command(&own).run().map(|output| output.stdout).unwrap_or_default();
        let before = id();
        let words = [self.engine.build(), &["--force-rm", "--tag", &tag, &place]].concat();
        let said_as = format!("{} build", self.engine.client.program());
        let log = format!("{}-{name}-code", self.hash);
        let built = logged_build(self.engine.work(&words), &said_as, &log, &[service.to_owned()]);
        let _ = fs::remove_dir_all(&context);
        built?;
        if !before.is_empty() && before != id() {
            // The code of an earlier run, which nothing names any more.
            let before = String::from_utf8_lossy(&before).trim().to_owned();
            let _ = self.engine.command(&["image", "rm", &before]).run();
        }
        Ok((self.look(&tag, mounts)?, tag))
    }

    /// Packs a directory. Owners, modes and links stay as they are.
    fn pack(&self, source: &Path, archive: &Path) -> Result<(), ComposeError> {
        let from = &source.display().to_string();
        let args = [
            Path::new("--create"),
            Path::new("--numeric-owner"),
            Path::new("--file"),
            archive,
            Path::new("--directory"),
            source,
            Path::new("."),
        ];
        let command = TimedCommand::new("tar", WORKS_WITHIN).args(args).interruptible();
        match told(LongWork::Copy { from }, || command.run()) {
            Ok(_) => Ok(()),
            // A file changed meanwhile, as the log of a running project does.
            Err(RunError::Failed { status, .. }) if status.code() == Some(1) => Ok(()),
            Err(error) => Err(failed(&format!("tar {from}"), &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_code_are_found_by_what_apps_begin_with_or_by_their_files() {
        let place = tempfile::tempdir().expect("a directory");
        for file in [
            "app/public/index.php",
            "app/composer.json",
            "app/artisan",
            "lib/src/Shop/Cart.php",
            "package/composer.json",
            "data/uploads/2026/11/a.php",
            "conf/site.conf",
        ] {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
            fs::write(path, "").expect("a file");
        }
        let of = |name: &str| {
            let mount = json!(format!("{}:/srv", place.path().join(name).display()));
            let found = CodeMount::of(&mount)?;
            Some((found.files.join(" "), found.is_one_enough))
        };
        assert_eq!(of("app"), Some(("artisan public/index.php".to_owned(), false)));
        assert_eq!(of("lib/src"), Some(("Shop/Cart.php".to_owned(), true)));
        assert_eq!(of("package"), Some(("composer.json".to_owned(), true)));
        assert_eq!(
            [of("data"), of("conf"), of("none"), of("conf/site.conf")],
            [None, None, None, None]
        );
        assert_eq!(CodeMount::of(&json!("data:/srv")), None);
    }
}
