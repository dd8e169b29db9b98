//! Runs a command where the containers of an engine run, if that is in a virtual machine: by the image
//! `stampede:all`, in a container of this engine that sees its whole machine.
//!
//! Docker Desktop, Colima, Lima and their like run containers in a machine of their own. Their processes, groups and
//! addresses are not to be had from outside. So the whole of stampede runs beside the stack, its load too, with the
//! same arguments and the same directories.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Serialize;
use stampede_compose::client::Client;
use stampede_compose::engine::{is_in_container, mount_of};
use stampede_linux::interrupt;
use stampede_linux::run::TimedCommand;

use super::fail::{CommandError, Failure};
use super::shell::print_message;

/// The image that runs there.
pub(super) const IMAGE: &str = "stampede:all";
/// Tells the inner stampede that it is one: its end is the end of its input. The value is a name in the current
/// directory, so that it can see whether this is the same one.
const MARKER: &str = "STAMPEDE_IN_ENGINE";
/// The volume for working directories. It is on the engine's machine, which mounts parts of it into a stack's
/// containers: so the path inside must be the one outside.
const VOLUME: &str = "stampede-work";
/// How long the engine may take for a question.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);
/// The pause between two looks at the inner stampede.
const LOOK: Duration = Duration::from_millis(50);
/// The socket of an engine inside its own machine.
const SOCKET: &str = "/var/run/docker.sock";

/// Whether this stampede was started so.
fn is_inner() -> bool {
    std::env::var_os(MARKER).is_some()
}

/// In a stampede that was started so: ends in order when the one outside has ended, however that was.
///
/// # Errors
/// The engine does not share the current directory with its machine.
pub(super) fn begin() -> Result<(), Failure> {
    let Some(name) = std::env::var_os(MARKER) else { return Ok(()) };
    if !Path::new(&name).exists() {
        let directory = std::env::current_dir().unwrap_or_default();
        return Err(NotShared { directory }.into());
    }
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = kill_process(rustix::process::getpid(), Signal::INT);
    });
    Ok(())
}

/// The engine's machine has another directory at this path.
#[derive(Debug, thiserror::Error, Serialize)]
#[error("the container engine does not share the directory {} with its virtual machine", directory.display())]
struct NotShared {
    directory: PathBuf,
}

impl CommandError for NotShared {
    fn hint(&self) -> Option<String> {
        let how = "add it in the engine's settings (Docker Desktop: Resources, File sharing; Colima: `--mount`)";
        Some(format!("{how}, or work in your home directory"))
    }
}

/// Whether the engine has the image. A container would name directories that its machine does not have.
pub(super) fn has_image() -> bool {
    !is_inner()
        && !is_in_container()
        && client(&["image", "inspect", "--format", "{{.Id}}", IMAGE]).is_some()
}

/// What the client prints; `None`: it fails.
fn client(args: &[&str]) -> Option<String> {
    let output =
        TimedCommand::new(Client::Docker.program(), ANSWERS_WITHIN).args(args).run().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs the command of this process there. `None`: the engine does not have the image.
pub(super) fn run(system: &str) -> Option<ExitCode> {
    if !has_image() {
        return None;
    }
    client(&["volume", "create", VOLUME])?;
    let work = client(&["volume", "inspect", "--format", "{{.Mountpoint}}", VOLUME])?;
    print_message(&format!(
        "note: the containers of this engine run in a virtual machine ({system}): stampede and its load run there too, in a \
         container of `{IMAGE}`"
    ));
    note_other_version();
    remove_volume_later();
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let cwd = std::env::current_dir().ok()?;
    let inner =
        Inner { work: &work, cwd: &cwd, directories: directories(&cwd, &args), args: &args };
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let code = wait(inner.command(variables).spawn().ok()?);
    client(&["volume", "rm", VOLUME]);
    if code == NOT_STARTED {
        print_message(&format!(
            "\nhint: the engine could not start `{IMAGE}`: does it share the current directory with its virtual machine?"
        ));
        return Some(ExitCode::from(2));
    }
    Some(ExitCode::from(code))
}

/// The client's exit code if a container does not start.
const NOT_STARTED: u8 = 125;

/// Says that the image has another version of this program.
fn note_other_version() {
    let words =
        ["run", "--rm", "--network", "none", "--entrypoint", "stampede", IMAGE, "--version"];
    let Some(there) = client(&words) else { return };
    let there = there.rsplit(' ').next().unwrap_or_default();
    let here = env!("CARGO_PKG_VERSION");
    if there != here {
        print_message(&format!("note: `{IMAGE}` has stampede {there}, and this is {here}"));
    }
}

/// Removes the volume when this process has ended, however that was, and the container with it.
fn remove_volume_later() {
    const SCRIPT: &str = r#"
        while kill -0 "$1"; do sleep 1; done
        for try in $(seq 600); do
            docker volume inspect "$2" || exit 0
            docker volume rm "$2" && exit 0
            sleep 1
        done"#;
    let own = std::process::id().to_string();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT, "stampede", &own, VOLUME]).process_group(0);
    let none = || Stdio::null();
    let _ = command.stdin(none()).stdout(none()).stderr(none()).spawn();
}

/// A stampede in a container.
struct Inner<'a> {
    /// The directory of [`VOLUME`] on the engine's machine.
    work: &'a str,
    cwd: &'a Path,
    /// What it sees at the same paths.
    directories: BTreeSet<PathBuf>,
    args: &'a [OsString],
}

impl Inner<'_> {
    /// The client's command. `variables`: the names of those of this process.
    fn command(&self, variables: impl Iterator<Item = String>) -> Command {
        let mut command = Command::new(Client::Docker.program());
        command.args(["run", "--rm", "--interactive", "--privileged"]);
        command.args(["--pid", "host", "--network", "host", "--cgroupns", "host"]);
        command.args(["--volume", "/sys/fs/cgroup:/sys/fs/cgroup"]);
        command.arg("--volume").arg(format!("{SOCKET}:{SOCKET}"));
        command.arg("--volume").arg(format!("{VOLUME}:{}", self.work));
        for directory in &self.directories {
            command.arg("--mount").arg(mount_of(directory, directory));
        }
        command.arg("--workdir").arg(self.cwd);
        let entries = std::fs::read_dir(self.cwd).into_iter().flatten().flatten();
        let name = entries.filter_map(|entry| entry.file_name().into_string().ok()).next();
        let name = name.unwrap_or_else(|| ".".to_owned());
        for (name, value) in [("TMPDIR", self.work), (MARKER, &name)] {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        // By their names alone: values may be secrets, and arguments are seen by everybody.
        for name in variables.filter(|name| is_passed(name)) {
            command.args(["--env", &name]);
        }
        command.arg(IMAGE).args(self.args);
        // Ctrl-C reaches this process alone, which passes it on once.
        command.stdin(Stdio::piped()).process_group(0);
        command
    }
}

/// Whether a variable holds there too: the project's files may name it. Not those of this machine's programs and
/// directories.
fn is_passed(name: &str) -> bool {
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let of_machine = ["STAMPEDE_", "XDG_", "SSH_", "DBUS_"];
    is_name
        && !Client::Docker.reads(name)
        && !of_machine.iter().any(|begin| name.starts_with(begin))
}

/// The directories that the command reads and writes: the current one and those of paths among its arguments, each
/// with the whole repository that it is in, as a project may use what is above its compose file.
fn directories(cwd: &Path, args: &[OsString]) -> BTreeSet<PathBuf> {
    let text = args.iter().map(|arg| arg.to_string_lossy().into_owned());
    let parts = text.flat_map(|arg| {
        let value = arg.split_once('=').map_or(arg.clone(), |(_, value)| value.to_owned());
        let parts: Vec<String> = value.split(':').map(str::to_owned).collect();
        [vec![arg], vec![value], parts].concat()
    });
    let existing = parts.filter(|part| part.contains('/') || part.starts_with('.'));
    let existing = existing.filter_map(|part| cwd.join(part).canonicalize().ok());
    let directory = |path: PathBuf| match path.is_dir() {
        true => Some(path),
        false => path.parent().map(Path::to_owned),
    };
    let all: BTreeSet<PathBuf> = [cwd.to_owned()]
        .into_iter()
        .chain(existing.filter_map(directory))
        .filter(|path| !is_of_system(path))
        .map(|path| repository(&path).unwrap_or(path))
        .collect();
    let is_outermost =
        |path: &&PathBuf| !all.iter().any(|other| *path != other && path.starts_with(other));
    all.iter().filter(is_outermost).cloned().collect()
}

/// Whether a directory belongs to the system, of which the image has its own.
fn is_of_system(path: &Path) -> bool {
    let own = ["/bin", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/usr"];
    path == Path::new("/") || own.iter().any(|system| path.starts_with(system))
}

/// The top of the repository that a directory is in.
fn repository(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned)
}

/// Waits for the inner stampede, and passes on what asks this one to end. Returns its exit code.
fn wait(mut child: Child) -> u8 {
    // A handler that is there already does the same.
    let _ = interrupt::listen();
    // Open for as long as this process lives.
    let input = child.stdin.take();
    let mut is_passed_on = false;
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => return u8::try_from(status.code().unwrap_or(2)).unwrap_or(2),
            Err(_) => return 2,
        }
        if interrupt::is_requested() && !is_passed_on {
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
            is_passed_on = true;
        }
        std::thread::sleep(LOOK);
        debug_assert!(input.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inner_command_sees_the_same_directories_and_no_value_of_a_variable() {
        let place = tempfile::tempdir().expect("a directory");
        let place = place.path().canonicalize().expect("a path");
        for directory in ["shop/.git", "shop/docker/dev", "logs", "other"] {
            std::fs::create_dir_all(place.join(directory)).expect("a directory");
        }
        for file in ["shop/docker/fpm.yml", "logs/access.log", "other/franken.yml"] {
            std::fs::write(place.join(file), "").expect("a file");
        }
        let cwd = place.join("shop/docker");
        let args = [
            "compare",
            "--compose=./fpm.yml:dev/../fpm.yml",
            "--compose",
            "../../other/franken.yml",
            "--traffic",
            &place.join("logs/access.log").display().to_string(),
            "--ready",
            "/health",
            "--env=PATH_OF=/usr/lib",
        ]
        .map(OsString::from);
        let found = directories(&cwd, &args);
        let expected = ["logs", "other", "shop"].map(|name| place.join(name));
        assert_eq!(found, expected.into());
        let work = "/var/lib/docker/volumes/stampede-work/_data";
        let inner = Inner { work, cwd: &cwd, directories: found, args: &args };
        let names =
            ["APP_KEY", "PATH", "STAMPEDE_RR", "DOCKER_HOST", "DOCKER_TAG", "BASH_FUNC_x%%", "PWD"];
        let command = inner.command(names.map(str::to_owned).into_iter());
        let words: Vec<String> =
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let text = words.join(" ");
        assert!(
            text.contains(
                "--env APP_KEY --env DOCKER_TAG --env PWD stampede:all compare --compose=./fpm.yml"
            ),
            "{text}"
        );
        assert!(text.contains(&format!("--volume stampede-work:{work}")), "{text}");
        let marked =
            ["fpm.yml", "dev"].map(|name| format!("--env TMPDIR={work} --env {MARKER}={name}"));
        assert!(marked.iter().any(|marked| text.contains(marked)), "{text}");
        for other in ["PATH ", "STAMPEDE_RR", "DOCKER_HOST", "BASH_FUNC"] {
            assert!(!text.contains(&format!("--env {other}")), "{text}");
        }
    }
}
