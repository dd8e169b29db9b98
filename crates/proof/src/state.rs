//! What has to be the same in the start on which PHP was asked and in a measured one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sha2::{Digest as _, Sha256};
use stampede_model::fact::php_proof::StartDifference;

use super::root::{names_in, text_in};

/// The most bytes of a file of php.ini that are read; PHP's own example has 70 KB.
const INI_BYTES: u64 = 1 << 20;

/// What a start is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartState {
    /// Service → id of its image, which is a hash of all that is in it.
    pub images: BTreeMap<String, String>,
    /// Files of php.ini, of the service whose PHP serves → SHA-256.
    pub ini_files: BTreeMap<String, String>,
    /// Service and program of each process that lasts.
    pub programs: BTreeSet<(String, String)>,
}

impl StartState {
    /// How a measured start differs from this one.
    pub fn differences(&self, measured: &StartState) -> Vec<StartDifference> {
        let images = differing(&self.images, &measured.images)
            .map(|service| StartDifference::Image { service });
        let files = differing(&self.ini_files, &measured.ini_files)
            .map(|file| StartDifference::IniFile { file });
        let programs = self.programs.symmetric_difference(&measured.programs);
        let programs = programs.map(|(service, program)| StartDifference::Program {
            service: service.clone(),
            program: program.clone(),
            is_measured: measured.programs.contains(&(service.clone(), program.clone())),
        });
        images.chain(files).chain(programs).collect()
    }
}

/// The keys of which the values differ, or that only one of the two has.
fn differing<'a>(
    one: &'a BTreeMap<String, String>,
    other: &'a BTreeMap<String, String>,
) -> impl Iterator<Item = String> + 'a {
    let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    keys.into_iter().filter(|key| one.get(*key) != other.get(*key)).cloned()
}

/// The files of php.ini in these directories of a container, with the SHA-256 of each.
pub fn ini_files(root: &Path, directories: &[String]) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for directory in directories {
        let inside = directory.trim_start_matches('/');
        for name in names_in(root, inside).into_iter().filter(|name| name.ends_with(".ini")) {
            let path = format!("{inside}/{name}");
            if let Some(text) = text_in(root, &path, INI_BYTES) {
                let hash = Sha256::digest(text.as_bytes());
                let hash = hash.iter().map(|byte| format!("{byte:02x}")).collect();
                files.insert(format!("/{path}"), hash);
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_of_php_ini_are_found_in_the_container_and_a_changed_one_is_named() {
        let root = tempfile::tempdir().unwrap();
        let conf = root.path().join("etc/php/conf.d");
        fs::create_dir_all(&conf).unwrap();
        fs::write(conf.join("20-opcache.ini"), "opcache.enable=1\n").unwrap();
        fs::write(conf.join("notes.txt"), "x").unwrap();
        fs::write(root.path().join("etc/php/php.ini"), "memory_limit=1G\n").unwrap();
        // A link leads to a place of the container.
        std::os::unix::fs::symlink("/etc/php/php.ini", conf.join("zz.ini")).unwrap();
        let directories = ["/etc/php", "/etc/php/conf.d", "/nowhere"].map(str::to_owned);
        let files = ini_files(root.path(), &directories);
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        let expected =
            ["/etc/php/conf.d/20-opcache.ini", "/etc/php/conf.d/zz.ini", "/etc/php/php.ini"];
        assert_eq!(names, expected);
        assert_eq!(files[expected[1]], files[expected[2]]);

        let before = StartState { ini_files: files, ..StartState::default() };
        assert_eq!(before.differences(&before), []);
        fs::write(conf.join("20-opcache.ini"), "opcache.enable=0\n").unwrap();
        fs::write(conf.join("30-xdebug.ini"), "xdebug.mode=develop\n").unwrap();
        let ini_files = ini_files(root.path(), &directories);
        let found = before.differences(&StartState { ini_files, ..StartState::default() });
        let of = |name: &str| StartDifference::IniFile { file: format!("/etc/php/conf.d/{name}") };
        assert_eq!(found, [of("20-opcache.ini"), of("30-xdebug.ini")]);
    }

    #[test]
    fn another_image_and_another_program_are_differences() {
        let of = |image: &str, programs: &[&str]| StartState {
            images: BTreeMap::from([("php".to_owned(), image.to_owned())]),
            programs: programs.iter().map(|one| ("php".to_owned(), (*one).to_owned())).collect(),
            ..StartState::default()
        };
        let (service, before) = ("php".to_owned(), of("sha256:a", &["/fpm"]));
        let other = before.differences(&of("sha256:b", &["/fpm"]));
        assert_eq!(other, [StartDifference::Image { service: service.clone() }]);
        let more = before.differences(&of("sha256:a", &["/fpm", "/cron"]));
        let program = "/cron".to_owned();
        assert_eq!(more, [StartDifference::Program { service, program, is_measured: true }]);
    }
}
