//! Programs that stampede puts together itself, from pinned modules, in a folder of its own.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::Failure;
use crate::interrupt;
use crate::runtime::{Assemble, Catalogue, RuntimeFolder};

/// One program: what it is made of, with what, and where it goes.
#[derive(Debug)]
pub struct Assembly {
    parts: Assemble,
    sources: Vec<(&'static str, Vec<u8>)>,
    go: PathBuf,
    folder: PathBuf,
}

/// What is to be assembled for these runtimes, each program once. `lacks` says which of its needs a
/// runtime lacks.
///
/// # Errors
/// There is no Go, or no home to keep programs in.
pub fn wanted(
    catalogue: &Catalogue,
    runtimes: &[&RuntimeFolder],
    lacks: impl Fn(&RuntimeFolder) -> Vec<String>,
) -> Result<Vec<Assembly>, Failure> {
    let mut wanted: Vec<Assembly> = Vec::new();
    for runtime in runtimes {
        let Some(parts) = &runtime.manifest.assemble else { continue };
        let is_new = wanted.iter().all(|one| one.parts.need != parts.need);
        if is_new && lacks(runtime).contains(&parts.need) {
            wanted.push(Assembly::new(catalogue, parts)?);
        }
    }
    Ok(wanted)
}

impl Assembly {
    fn new(catalogue: &Catalogue, parts: &Assemble) -> Result<Assembly, Failure> {
        let need = &parts.need;
        let go = go(catalogue).ok_or_else(|| {
            let text = format!("`{need}` is missing, and there is no Go to assemble it with");
            let variable = need.to_uppercase().replace('-', "_");
            Failure::rendered(text).hint(format!(
                "name its release with STAMPEDE_{variable} or put it into PATH; or install Go \
                 {} or newer, and ask again",
                parts.go
            ))
        })?;
        let folder = catalogue.places.own.clone().ok_or_else(|| {
            Failure::rendered("there is no folder of stampede's own to put it into".to_owned())
                .hint("set HOME or XDG_DATA_HOME")
        })?;
        let file = |name: &'static str| {
            let bytes = catalogue.runtime_file(&parts.runtime, &format!("assemble/{name}"));
            bytes.map(|bytes| (name, bytes)).ok_or_else(|| {
                let place = format!("runtimes/{}/assemble/{name}", parts.runtime);
                Failure::rendered(format!("`{place}` is not there"))
            })
        };
        let sources = FILES.into_iter().map(file).collect::<Result<_, _>>()?;
        Ok(Assembly { parts: parts.clone(), sources, go, folder })
    }

    /// What it will be called in words for people.
    pub fn name(&self) -> String {
        format!("{} (assembled)", self.parts.need)
    }

    /// The commands that do the same, for a person.
    pub fn commands(&self) -> String {
        let quoted = |path: &Path| shell_words::quote(&path.display().to_string()).into_owned();
        let (folder, program) = (quoted(&self.folder), quoted(&self.folder.join(&self.parts.need)));
        let mut text = String::new();
        let _ = writeln!(
            text,
            "# Into a new folder, from runtimes/{}/assemble of stampede's source: {}. There:",
            self.parts.runtime,
            FILES.join(", ")
        );
        let env: Vec<String> =
            self.env().iter().map(|(key, value)| format!("{key}={value}")).collect();
        let words = shell_words::join(BUILD);
        let _ = writeln!(text, "{} {} {words} {} .", env.join(" "), quoted(&self.go), PROGRAM);
        let _ = writeln!(text, "mkdir -p {folder} && install -m 755 {PROGRAM} {program}");
        text
    }

    /// Builds it elsewhere and moves it to its place whole; interrupted (the caller listens), it
    /// leaves nothing there.
    ///
    /// # Errors
    /// Go fails, after its own words; or a file cannot be written.
    pub fn run(&self) -> Result<(), Failure> {
        let failed = |what: &str, error: std::io::Error| {
            Failure::rendered(format!("cannot {what}: {error}"))
        };
        let place = tempfile::Builder::new()
            .prefix("stampede-assemble-")
            .tempdir()
            .map_err(|error| failed("make a temporary folder", error))?;
        for (name, bytes) in &self.sources {
            std::fs::write(place.path().join(name), bytes)
                .map_err(|error| failed("write a temporary file", error))?;
        }
        eprintln!("assembling `{}` from its modules; this takes a minute or two", self.parts.need);
        self.build(place.path())?;
        let program = self.folder.join(&self.parts.need);
        // The same name each time: what a killed one left is written over, and never found.
        let part = self.folder.join(format!(".{}.part", self.parts.need));
        let into_place = || {
            std::fs::create_dir_all(&self.folder)?;
            std::fs::copy(place.path().join(PROGRAM), &part)?;
            std::fs::set_permissions(&part, std::fs::Permissions::from_mode(0o755))?;
            std::fs::rename(&part, &program)
        };
        into_place().map_err(|error| failed(&format!("write `{}`", program.display()), error))
    }

    fn build(&self, place: &Path) -> Result<(), Failure> {
        let mut child = Command::new(&self.go)
            .args(BUILD)
            .args([PROGRAM, "."])
            .envs(self.env())
            .current_dir(place)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::rendered(format!("cannot run `{}`: {error}", self.go.display()))
            })?;
        let mut told = false;
        loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() && !interrupt::asked() => return Ok(()),
                Ok(Some(_)) if interrupt::asked() => {
                    let text = format!("interrupted: `{}` is still missing", self.parts.need);
                    return Err(Failure::rendered(text));
                }
                Ok(Some(_)) => {
                    let text = format!("Go could not assemble `{}`", self.parts.need);
                    return Err(Failure::rendered(text)
                        .hint("the reason stands above; `--print` shows the commands"));
                }
                Err(error) => return Err(Failure::new(&error)),
                Ok(None) => {}
            }
            // It removes what it made on the way, where it is asked to end.
            if interrupt::asked() && !told {
                told = true;
                let _ = kill_process(Pid::from_child(&child), Signal::INT);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What the builder's own settings must not decide. The sums of all modules are in go.sum; the
    /// public database of sums lacks those of one maker.
    fn env(&self) -> [(&'static str, &str); 4] {
        [
            ("GOFLAGS", "-mod=readonly"),
            ("GOWORK", "off"),
            ("CGO_ENABLED", "0"),
            ("GONOSUMDB", &self.parts.without_sum),
        ]
    }
}

/// STAMPEDE_GO, PATH, or where Go's own installation puts it.
fn go(catalogue: &Catalogue) -> Option<PathBuf> {
    let places = &catalogue.places;
    let named = places.named.get("STAMPEDE_GO").map(PathBuf::from).into_iter();
    let in_path = places.path.iter().map(|folder| folder.join("go"));
    named.chain(in_path).chain([PathBuf::from(GO)]).find(|path| path.is_file())
}

const FILES: [&str; 3] = ["main.go", "go.mod", "go.sum"];
const BUILD: [&str; 5] = ["build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o"];
const PROGRAM: &str = "program";
const GO: &str = "/usr/local/go/bin/go";
/// Between two looks whether Go has ended; nobody notices.
const LOOK: Duration = Duration::from_millis(50);
