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

/// Files by which a directory of PHP code is recognised.
const OF_CODE: [&str; 5] =
    ["composer.json", "index.php", "artisan", "public/index.php", "web/index.php"];

/// A directory of code that a service mounts from the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeMount {
    /// The directory of the machine.
    pub source: PathBuf,
    /// Its path in the container.
    pub target: String,
    /// Files of code in it, from there.
    files: Vec<String>,
}

impl CodeMount {
    /// `None`: it is another mount.
    fn of(value: &Value) -> Option<CodeMount> {
        let mount = Mount::of(value)?;
        let source = PathBuf::from(plain(mount.bind_source()?));
        let files = files_of_code(&source);
        let target = plain(&mount.target);
        (!files.is_empty()).then_some(CodeMount { source, target, files })
    }

    /// The directories of code that a service mounts.
    pub fn all(service: &Value) -> Vec<CodeMount> {
        service["volumes"].as_array().into_iter().flatten().filter_map(CodeMount::of).collect()
    }
}

/// Some files by which a directory is one of PHP code: those that apps begin with, or PHP files in it and one
/// level below.
fn files_of_code(directory: &Path) -> Vec<String> {
    let known = OF_CODE.iter().filter(|file| directory.join(file).is_file());
    let mut files: Vec<String> = known.map(|&file| file.to_owned()).collect();
    if files.is_empty() {
        let names = |below: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(directory.join(below)).into_iter().flatten().flatten();
            let entries = entries.take(ENTRIES_MAX).map(|entry| below.join(entry.file_name()));
            entries.collect()
        };
        let first = names(Path::new(""));
        let second = first.iter().filter(|name| directory.join(name).is_dir());
        let second: Vec<PathBuf> = second.flat_map(|name| names(name)).collect();
        let is_php = |name: &&PathBuf| name.extension().is_some_and(|end| end == "php");
        let found = first.iter().chain(&second).filter(is_php).filter_map(|name| name.to_str());
        files.extend(found.take(FILES_MAX).map(str::to_owned));
    }
    files
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
                let (copied, made) = self.copy(name, image, &others)?;
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
            mount.files.iter().any(|file| {
                let place = format!("{id}:{}/{file}", mount.target.trim_end_matches('/'));
                engine.command(&["cp", &place, "-"]).run().is_ok()
            })
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
        let words = [self.engine.build(), &["--force-rm", "--tag", &tag, &place]].concat();
        let said_as = format!("{} build", self.engine.client.program());
        let log = format!("{}-{name}-code", self.hash);
        let built = logged_build(self.engine.work(&words), &said_as, &log, &[service.to_owned()]);
        let _ = fs::remove_dir_all(&context);
        built?;
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
