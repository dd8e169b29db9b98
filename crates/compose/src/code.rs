//! Puts code that a project mounts from the machine into the images of its services, as in production: an image
//! that has the code of its own loses the mount, and another one gets a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stampede_linux::run::{ProgramOutput, RunError, TimedCommand};
use stampede_model::fact::containers::ServiceCode;
use stampede_model::record::RESULTS;

use crate::build::{BUILT, image_name};
use crate::build_log::logged_build;
use crate::edit::{LABEL, Mount};
use crate::engine::{Engine, WORKS_WITHIN, mount_of};
use crate::error::ComposeError;
use crate::news::{LongWork, told};
use crate::private::write_private;
use crate::project::Project;
use crate::said::{failed, says_disk_is_full};
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
    /// Files of it, from there. An image that has all of them has the code.
    files: Vec<String>,
}

impl CodeMount {
    /// `None`: it is another mount.
    fn of(value: &Value) -> Option<CodeMount> {
        let mount = Mount::of(value)?;
        let source = PathBuf::from(plain(mount.bind_source()?));
        let entries = ENTRIES.iter().filter(|file| source.join(file).is_file());
        let mut files: Vec<String> = entries.map(|&file| file.to_owned()).collect();
        if files.is_empty() && source.join(MANIFEST).is_file() {
            // An image for development may have the manifest alone, to install packages.
            files = php_files(&source).into_iter().chain([MANIFEST.to_owned()]).collect();
        }
        let target = plain(&mount.target);
        (!files.is_empty()).then_some(CodeMount { source, target, files })
    }

    /// The directories of code that a service mounts, outer ones first.
    pub fn all(service: &Value) -> Vec<CodeMount> {
        let mounts = service["volumes"].as_array().into_iter().flatten();
        let mut all: Vec<CodeMount> = mounts.filter_map(CodeMount::of).collect();
        all.sort_by_key(|mount| mount.target.len());
        all
    }
}

/// Some PHP files of a directory and of those in it, without those that Composer writes.
fn php_files(directory: &Path) -> Vec<String> {
    let names = |below: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory.join(below)).into_iter().flatten().flatten();
        let mut names: Vec<PathBuf> = entries.map(|entry| below.join(entry.file_name())).collect();
        names.sort();
        names
    };
    let first = names(Path::new(""));
    let second = first.iter().filter(|name| *name != Path::new("vendor"));
    let second = second.filter(|name| directory.join(name).is_dir());
    let second: Vec<PathBuf> = second.flat_map(|name| names(name)).collect();
    let is_php = |name: &&PathBuf| name.extension().is_some_and(|end| end == "php");
    let found = first.iter().chain(&second).filter(is_php).filter_map(|name| name.to_str());
    found.take(FILES_MAX).map(str::to_owned).collect()
}

/// The most files by which a directory is recognised in an image.
const FILES_MAX: usize = 5;
/// The most bytes of a file that is compared with the image's.
const COMPARED_BYTES_MAX: usize = 64 << 10;

/// Services whose code is in their images from now on.
#[derive(Clone, Debug, Default)]
pub struct CodeInImages {
    /// The images that were made for it, by service.
    pub images: BTreeMap<String, String>,
    /// Where each service has its code from.
    pub services: Vec<ServiceCode>,
}

impl CodeInImages {
    /// Removes the mounts that are needless now.
    pub fn remove_mounts(&self, project: &mut Project) {
        for ServiceCode { service, own, copied, .. } in &self.services {
            let service = project.service_mut(service).and_then(|one| one.get_mut("volumes"));
            let Some(Value::Array(mounts)) = service else { continue };
            let is_needless = |mount: &Value| {
                CodeMount::of(mount).is_some_and(|found| {
                    own.contains(&found.target) || copied.contains(&found.target)
                })
            };
            mounts.retain(|mount| !is_needless(mount));
        }
    }
}

/// What images of services are made with.
pub struct ImagesOfCode<'a> {
    /// The engine, for one stack.
    pub engine: &'a Engine,
    /// The stack's id, by which its keeper removes what is left.
    pub stack: &'a str,
    /// What tells the images from those of other projects.
    pub hash: &'a str,
    /// An own directory for what the builds need.
    pub directory: &'a Path,
}

/// Copies that were made: by image and by what is mounted where, which of the mounts they have, and their names.
type Copies = BTreeMap<(String, Vec<(PathBuf, String)>), (Vec<bool>, String)>;

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
        let mut copies = Copies::new();
        for name in services {
            let Some(service) = project.service(name) else { continue };
            let mounts = CodeMount::all(service);
            let image = images.get(name).map(String::as_str).or(service["image"].as_str());
            let Some(image) = image.filter(|_| !mounts.is_empty()) else { continue };
            let mut found = ServiceCode { service: name.clone(), ..ServiceCode::default() };
            let has = self.look(image, &mounts)?;
            let (own, others): (Vec<_>, Vec<_>) =
                mounts.into_iter().zip(has).partition(|(_, has)| *has);
            found.own = own.into_iter().map(|(mount, _)| mount.target).collect();
            let others: Vec<CodeMount> = others.into_iter().map(|(mount, _)| mount).collect();
            if !others.is_empty() {
                let places = others.iter().map(|one| (one.source.clone(), one.target.clone()));
                let key = (image.to_owned(), places.collect());
                let (copied, made) = match copies.get(&key) {
                    Some(known) => known.clone(),
                    None => self.copy(name, image, &others)?,
                };
                copies.insert(key, (copied.clone(), made.clone()));
                for (mount, is_there) in others.into_iter().zip(copied) {
                    let list = if is_there { &mut found.copied } else { &mut found.mounted };
                    list.push(mount.target);
                }
                done.images.insert(name.clone(), made);
            }
            done.services.push(found);
        }
        Ok(done)
    }

    /// Whether an image has the code of each mount: the same files, since images of web servers have pages of
    /// their own.
    fn look(&self, image: &str, mounts: &[CodeMount]) -> Result<Vec<bool>, ComposeError> {
        let engine = self.engine;
        let label = format!("{LABEL}={}", self.stack);
        // The command is never run. An image may have none.
        let created = engine.run(&["create", "--label", &label, image, "true"])?;
        let id = created.split_whitespace().last().unwrap_or_default();
        let has = |mount: &CodeMount| {
            mount.files.iter().all(|file| {
                let place = format!("{id}:{}/{file}", mount.target.trim_end_matches('/'));
                let archive = engine.command(&["cp", &place, "-"]).run();
                let content = fs::read(mount.source.join(file)).unwrap_or_default();
                archive.is_ok_and(|archive| holds(&archive.stdout, &content))
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
            self.pack(image, &mount.source, &context.join(&archive))?;
            // An archive keeps owners and modes, which copying does not.
            let target = format!("{}/", mount.target.replace('$', "\\$"));
            dockerfile += &format!("ADD {}\n", json!([archive, target]));
        }
        write_private(&context.join("Dockerfile"), &dockerfile).map_err(unwritten)?;
        let tag = format!("{BUILT}/{}-{name}:code", self.hash);
        let own = ["image", "inspect", "--format", "{{.Id}}", &tag];
        let id = || self.engine.command(&own).run().map(|output| output.stdout).unwrap_or_default();
        let before = id();
        let place = context.display().to_string();
        let words = [self.engine.build(), &["--force-rm", "--tag", &tag, &place]].concat();
        let said_as = format!("{} build", self.engine.client.program());
        let log = format!("{}-{name}.code", self.hash);
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

    /// Packs a directory: owners, modes and links as a container of this image sees them. An engine without root,
    /// or with `userns-remap`, gives its containers users of its own: `www-data` is user 100032 of this machine there,
    /// and such an owner is refused in an image.
    fn pack(&self, image: &str, source: &Path, archive: &Path) -> Result<(), ComposeError> {
        let from = &source.display().to_string();
        let failed = |error: &RunError| Err(failed(&format!("tar {from}"), error));
        let inside = told(LongWork::Copy { from }, || self.in_container(image, source, archive));
        match inside {
            Ok(_) => return Ok(()),
            Err(error) if is_changed(&error) => return Ok(()),
            // The image has no such program, or the users of its containers may not write there.
            Err(RunError::Failed { .. }) => {}
            Err(error) => return failed(&error),
        }
        let without = without_results();
        let args = [
            Path::new("--create"),
            Path::new("--numeric-owner"),
            Path::new(&without),
            Path::new("--file"),
            archive,
            Path::new("--directory"),
            source,
            Path::new("."),
        ];
        let command = TimedCommand::new("tar", WORKS_WITHIN).env("LC_ALL", "C").args(args);
        match told(LongWork::Copy { from }, || command.interruptible().run()) {
            Ok(_) => Ok(()),
            Err(error) if is_changed(&error) => Ok(()),
            Err(error) => failed(&error),
        }
    }

    /// Packs a directory in a container, with options that BusyBox has too.
    fn in_container(
        &self,
        image: &str,
        source: &Path,
        archive: &Path,
    ) -> Result<ProgramOutput, RunError> {
        let [from, to] = ["/stampede-from", "/stampede-to"];
        let label = format!("{LABEL}={}", self.stack);
        let source = mount_of(source, Path::new(from)) + ",readonly";
        let context = archive.parent().unwrap_or(self.directory);
        let target = mount_of(context, Path::new(to));
        let name = archive.file_name().unwrap_or_default().to_string_lossy();
        let options = ["run", "--rm", "--network", "none", "--user", "0", "--label", &label];
        let mounts = ["--security-opt", "label=disable", "--mount", &source, "--mount", &target];
        let packed = format!("{to}/{name}");
        let command = [
            "--entrypoint",
            "tar",
            image,
            "-c",
            &without_results(),
            "-f",
            &packed,
            "-C",
            from,
            ".",
        ];
        self.engine.work(&[&options[..], &mounts, &command].concat()).run()
    }
}

/// The option of `tar` that leaves out what earlier runs measured: it is no code, and each run would make another
/// image.
fn without_results() -> String {
    format!("--exclude=./{RESULTS}")
}

/// Whether `tar` packed all but what changed or went meanwhile, as the log of a running project does. BusyBox ends so
/// where a disk is full, too.
fn is_changed(error: &RunError) -> bool {
    let RunError::Failed { status, output, .. } = error else { return false };
    status.code() == Some(1) && !says_disk_is_full(&String::from_utf8_lossy(&output.stderr))
}

/// Gives each service the mounts of code that it takes over from another one (`volumes_from: [php]`) as its own:
/// what an image has, others do not see.
pub fn own_lent(project: &mut Project) {
    let names: Vec<String> = project.services().map(|(name, _)| name.to_owned()).collect();
    for name in &names {
        for mount in lent_to(project, name, names.len()) {
            let Some(service) = project.service_mut(name) else { continue };
            if let Some(Value::Array(mounts)) = service.get_mut("volumes") {
                mounts.push(mount);
            } else {
                service["volumes"] = json!([mount]);
            }
        }
    }
}

/// The mounts of code that a service takes over, and has not at the same place itself. `depth`: from so many
/// services, one behind the other, since a wrong project may have a circle.
fn lent_to(project: &Project, name: &str, depth: usize) -> Vec<Value> {
    let service = project.service(name).cloned().unwrap_or_default();
    let targets = |mounts: &[Value]| -> BTreeSet<String> {
        mounts.iter().filter_map(Mount::of).map(|mount| mount.target).collect()
    };
    let mut taken = targets(service["volumes"].as_array().map_or(&[], Vec::as_slice));
    let mut lent = Vec::new();
    let lenders = service["volumes_from"].as_array().map_or(&[][..], Vec::as_slice).iter();
    // The last one wins.
    for lender in lenders.rev().filter_map(Value::as_str).filter(|_| depth > 0) {
        let (lender, mode) = lender.split_once(':').unwrap_or((lender, ""));
        let own = project.service(lender).and_then(|one| one["volumes"].as_array()).cloned();
        let further = lent_to(project, lender, depth - 1);
        for value in own.unwrap_or_default().into_iter().chain(further) {
            let Some(mount) = Mount::of(&value).filter(|_| CodeMount::of(&value).is_some()) else {
                continue;
            };
            let is_read_only = mount.is_read_only || mode == "ro";
            if let Some(source) = &mount.source
                && taken.insert(mount.target.clone())
            {
                lent.push(mount.bound(source, is_read_only));
            }
        }
    }
    lent
}

/// Whether an archive of one file has this content.
fn holds(archive: &[u8], content: &[u8]) -> bool {
    let content = &content[..content.len().min(COMPARED_BYTES_MAX)];
    content.is_empty() || archive.windows(content.len()).any(|part| part == content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_code_are_found_by_what_apps_begin_with_or_by_their_manifest() {
        let place = tempfile::tempdir().expect("a directory");
        for file in [
            "app/public/index.php",
            "app/composer.json",
            "app/artisan",
            "worker/composer.json",
            "worker/worker.php",
            "worker/src/Cart.php",
            "worker/vendor/autoload.php",
            "data/cache/a.php",
            "config/app.php",
            "conf/site.conf",
        ] {
            let path = place.path().join(file);
            fs::create_dir_all(path.parent().expect("a directory")).expect("directories");
            fs::write(path, "").expect("a file");
        }
        let of = |name: &str| {
            let mount = json!(format!("{}:/srv", place.path().join(name).display()));
            CodeMount::of(&mount).map(|found| found.files.join(" "))
        };
        assert_eq!(of("app").as_deref(), Some("artisan public/index.php"));
        assert_eq!(of("worker").as_deref(), Some("worker.php src/Cart.php composer.json"));
        for other in ["data", "config", "conf", "none", "conf/site.conf"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(CodeMount::of(&json!("data:/srv")), None);
        let mounts = ["app:/srv/lib", "app:/srv"]
            .map(|mount| json!(format!("{}/{mount}", place.path().display())));
        let targets = CodeMount::all(&json!({"volumes": mounts}));
        assert_eq!(
            targets.iter().map(|one| &*one.target).collect::<Vec<_>>(),
            ["/srv", "/srv/lib"]
        );
    }

    #[test]
    fn a_page_that_comes_with_an_image_is_not_the_apps() {
        let archive = [&[b'n'; 512][..], b"<?php require 'app.php';\n", &[0; 487]].concat();
        assert!(holds(&archive, b"<?php require 'app.php';\n") && holds(&archive, b""));
        assert!(!holds(&archive, b"<?php phpinfo();\n"));
    }

    /// They kept their mounts, without a word.
    #[test]
    fn what_a_service_takes_over_from_others_is_its_own() {
        let place = tempfile::tempdir().expect("a directory");
        let code = |name: &str| {
            let path = place.path().join(name);
            fs::create_dir(&path).expect("a directory");
            fs::write(path.join("index.php"), "").expect("a file");
            path.display().to_string()
        };
        let (app, lib) = (code("app"), code("lib"));
        let document = json!({"services": {
            "php": {"volumes": [format!("{app}:/app"), "data:/data"]},
            "code": {"volumes": [{"type": "bind", "source": lib, "target": "/lib"}], "volumes_from": ["php"]},
            "web": {"volumes_from": ["code:ro"]},
            "own": {"volumes": ["other:/app"], "volumes_from": ["php", "gone"]},
            "circle": {"volumes_from": ["circle"]},
        }});
        let Value::Object(document) = document else { panic!("a map") };
        let mut project = Project { directory: "/srv".into(), name: "srv".to_owned(), document };
        own_lent(&mut project);
        let of = |name: &str| -> Vec<String> {
            let mounts = project.service(name).expect("it")["volumes"].as_array().cloned();
            let mounts = mounts.unwrap_or_default();
            let mounts = mounts.iter().filter_map(Mount::of);
            mounts
                .map(|one| format!("{}{}", one.target, if one.is_read_only { " ro" } else { "" }))
                .collect()
        };
        assert_eq!(of("php"), ["/app", "/data"]);
        assert_eq!(of("code"), ["/lib", "/app"]);
        assert_eq!(of("web"), ["/lib ro", "/app ro"]);
        assert_eq!(of("own"), ["/app"]);
        assert_eq!(of("circle"), [""; 0]);
    }
}
