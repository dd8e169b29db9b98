//! The directory that is mounted into a container on the start on which PHP is asked.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::answer::PhpAnswer;
use super::root::{names_in, text_in};

/// The header that has the token. PHP knows it as `HTTP_X_STAMPEDE_PROOF`.
pub const HEADER: &str = "X-Stampede-Proof";

/// Where the directory is in the container. `prepend.php` names it too.
const AT: &str = "/stampede";
/// Below it: the file of php.ini.
const INI: &str = "php";
/// Below it: what processes wrote when they began. It alone can be written to.
const STARTED: &str = "started";
/// The name is read last of those in a directory.
const INI_FILE: &str = "zz-stampede.ini";
const PREPENDED: &str = "prepend.php";
const PREPEND: &str = include_str!("prepend.php");
/// In the text of the file, in place of the token and of the service's name.
const TOKEN: &str = "{{ token }}";
const SERVICE: &str = "{{ service }}";
/// The most bytes of a file that a process wrote; the values of all extensions have some 30 KB.
const ANSWER_BYTES: u64 = 1 << 20;

/// A directory for one service of one start.
#[derive(Clone, Debug)]
pub struct ProofDirectory {
    path: PathBuf,
}

impl ProofDirectory {
    /// Creates it at `path`, which must be free. A request with `token` is answered by the PHP of
    /// `service`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(path: &Path, service: &str, token: &str) -> io::Result<ProofDirectory> {
        // Users of containers are other ones than ours.
        let create = |path: &Path| fs::DirBuilder::new().mode(0o755).create(path);
        create(path)?;
        create(&path.join(INI))?;
        create(&path.join(STARTED))?;
        for open in [path, &path.join(INI)] {
            fs::set_permissions(open, Permissions::from_mode(0o755))?;
        }
        fs::set_permissions(path.join(STARTED), Permissions::from_mode(0o1777))?;
        let ini = format!("auto_prepend_file = {AT}/{PREPENDED}\n");
        // Compose tools allow letters, digits, `.`, `_` and `-`; no other would end the PHP text.
        let service = service.replace(['\'', '\\'], "");
        let prepend = PREPEND.replace(TOKEN, token).replace(SERVICE, &service);
        for (file, text) in [(path.join(INI).join(INI_FILE), ini), (path.join(PREPENDED), prepend)]
        {
            fs::write(&file, text)?;
            fs::set_permissions(&file, Permissions::from_mode(0o644))?;
        }
        Ok(ProofDirectory { path: path.to_owned() })
    }

    /// The mounts, as compose files have them: in the long form, since there may be a colon in the path, and with
    /// dollar signs twice.
    pub fn mounts(&self) -> [Value; 2] {
        let path = self.path.display().to_string().replace('$', "$$");
        let mount = |source: String, target: String, is_read_only: bool| json!({"type": "bind", "source": source, "target": target, "read_only": is_read_only});
        let started = mount(format!("{path}/{STARTED}"), format!("{AT}/{STARTED}"), false);
        [mount(path, AT.to_owned(), true), started]
    }

    /// What processes wrote when they began. The directory is the containers': no link of it is
    /// followed to another place, and what is no answer is left out.
    pub fn started(&self) -> Vec<PhpAnswer> {
        let root = self.path.join(STARTED);
        let names = names_in(&root, ".").into_iter().filter(|name| name.ends_with(".json"));
        names.filter_map(|name| PhpAnswer::parse(&text_in(&root, &name, ANSWER_BYTES)?)).collect()
    }
}

/// The directory in the container that has its php.ini.
pub const INI_DIRECTORY: &str = "/stampede/php";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_what_php_reads_and_a_place_that_every_user_may_write_to() {
        let place = tempfile::tempdir().unwrap();
        let directory = ProofDirectory::write(&place.path().join("web"), "web", "s3cr3t").unwrap();
        let text = |name: &str| fs::read_to_string(directory.path.join(name)).unwrap();
        assert_eq!(text("php/zz-stampede.ini"), "auto_prepend_file = /stampede/prepend.php\n");
        assert!(text("prepend.php").contains("hash_equals('s3cr3t', "), "{}", text("prepend.php"));
        assert!(text("prepend.php").contains("'service' => 'web',"), "{}", text("prepend.php"));
        assert!(!text("prepend.php").contains("{{"), "{}", text("prepend.php"));
        let mode = |name: &str| {
            fs::metadata(directory.path.join(name)).unwrap().permissions().mode() & 0o7777
        };
        assert_eq!((mode("started"), mode("php"), mode("prepend.php")), (0o1777, 0o755, 0o644));
        let path = place.path().display();
        let [whole, started] = directory.mounts();
        assert_eq!(whole["source"], format!("{path}/web"));
        assert_eq!((&whole["target"], &whole["read_only"]), (&json!("/stampede"), &json!(true)));
        assert_eq!(started["source"], format!("{path}/web/started"));
        assert_eq!(started["target"], "/stampede/started");
        assert_eq!(started["read_only"], false);
        assert!(ProofDirectory::write(&place.path().join("web"), "web", "again").is_err());
        assert_eq!(INI_DIRECTORY, format!("{AT}/{INI}"));
    }

    /// The containers may write anything there.
    #[test]
    fn only_answers_in_plain_files_are_read() {
        let place = tempfile::tempdir().unwrap();
        let directory = ProofDirectory::write(&place.path().join("php"), "php", "t").unwrap();
        let started = directory.path.join(STARTED);
        let outside = place.path().join("outside.json");
        fs::write(&outside, r#"{"pid":1,"php_version":"8.4.1"}"#).unwrap();
        std::os::unix::fs::symlink(&outside, started.join("1.json")).unwrap();
        fs::create_dir(started.join("2.json")).unwrap();
        fs::write(started.join("3.json"), "{").unwrap();
        fs::write(started.join("4.json"), "{}").unwrap();
        fs::write(started.join("5.txt"), r#"{"pid":5,"php_version":"8.4.1"}"#).unwrap();
        assert_eq!(directory.started(), []);
        fs::write(started.join("7.json"), r#"{"pid":7,"php_version":"8.2.29","sapi":"cli"}"#)
            .unwrap();
        let found = directory.started();
        assert_eq!((found.len(), found[0].pid, found[0].sapi.as_str()), (1, 7, "cli"));
    }

    /// Runs `script` with the file prepended; `STAMPEDE` in its text stands for the directory.
    fn php(directory: &ProofDirectory, script: &str, token: Option<&str>) -> Option<String> {
        let root = directory.path.display().to_string();
        let prepend = directory.path.join("of-test.php");
        let text = fs::read_to_string(directory.path.join(PREPENDED)).unwrap();
        fs::write(&prepend, text.replace("'/stampede/", &format!("'{root}/"))).unwrap();
        let file = directory.path.join("script.php");
        fs::write(&file, script.replace("STAMPEDE", &root)).unwrap();
        let mut command = std::process::Command::new("php");
        command.arg("-d").arg(format!("auto_prepend_file={}", prepend.display())).arg(&file);
        let own = directory.path.with_file_name("own").display().to_string();
        command.env("PHP_INI_SCAN_DIR", format!(":{root}/php:{own}"));
        command.envs(token.map(|token| ("HTTP_X_STAMPEDE_PROOF", token)));
        let Ok(output) = command.output() else {
            println!("SKIPPED: php is not installed");
            return None;
        };
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    #[test]
    fn a_real_php_answers_the_token_alone_and_writes_once_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        let own = place.path().join("own");
        fs::create_dir(&own).unwrap();
        let prepended = place.path().join("prepended.php");
        fs::write(&prepended, "<?php echo isset($stampede) ? 'set ' : '', 'before ';").unwrap();
        let ini = format!("auto_prepend_file = \"{}\"\n", prepended.display());
        fs::write(own.join("10-own.ini"), ini).unwrap();
        let directory = ProofDirectory::write(&place.path().join("php"), "php", "t0ken").unwrap();
        let script = "<?php echo 'app ', PHP_VERSION, isset($stampede) ? ' left' : '';";
        let Some(printed) = php(&directory, script, Some("another")) else { return };
        let started = directory.started();
        let [said] = started.as_slice() else { panic!("{started:?}") };
        // What the project prepends comes before the app, and nothing is left in its scope.
        assert!(printed.starts_with("set before app "), "{printed}");
        assert!(printed.ends_with(&said.php_version), "{printed}");
        assert_eq!((said.sapi.as_str(), said.service.as_str()), ("cli", "php"));
        assert!(said.ini_directories.contains(&own.display().to_string()), "{said:?}");

        let body = php(&directory, script, Some("t0ken")).expect("php");
        let answer = PhpAnswer::parse(&body).unwrap_or_else(|| panic!("no answer: {body}"));
        assert_eq!(answer.php_version, said.php_version);
        let mut observed = stampede_model::record::ObservedState::default();
        answer.add_to(&mut observed);
        assert!(observed.extensions.iter().any(|name| name == "standard"), "{observed:?}");
        assert!(observed.ini.contains_key("memory_limit"), "{observed:?}");
        assert_eq!(observed.ini["auto_prepend_file"], prepended.display().to_string());
        assert_eq!(directory.started().len(), 1, "an answer writes nothing");
    }
}
