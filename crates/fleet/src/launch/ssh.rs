//! Starts an agent on another machine: the system's own `ssh`, with its configuration and keys. The
//! binary is copied there if it is missing, and found again by its hash.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::LinkError;

/// The program that other machines get.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    hash: String,
    bytes: u64,
}

impl Program {
    /// Reads and hashes the program.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> io::Result<Program> {
        let (hash, bytes) = crate::hash::of(File::open(path)?)?;
        Ok(Program { path: path.to_owned(), hash, bytes })
    }

    /// What the shell of the other machine does. It says with one line what it needs, and then runs
    /// the agent. One line, because the user's shell may be any.
    pub(super) fn script(&self, arguments: &[String]) -> String {
        let Program { hash, bytes, .. } = self;
        let run = format!("exec \"$f\" agent{}", quoted(arguments));
        let machine = format!("Linux {}", std::env::consts::ARCH);
        format!(
            "d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/stampede/agents\"; f=\"$d/{hash}\"; \
             if [ -x \"$f\" ]; then echo {MARK}have; {run}; fi; \
             m=\"$(uname -sm)\"; if [ \"$m\" != \"{machine}\" ]; then echo \"{MARK}other $m\"; exit 0; fi; \
             umask 077; mkdir -p \"$d\" || exit 1; t=\"$f.$$\"; trap 'rm -f \"$t\"' EXIT; echo {MARK}need; \
             head -c {bytes} > \"$t\" || exit 1; \
             if [ \"$(sha256sum < \"$t\" | cut -c 1-64)\" != {hash} ]; then echo {MARK}broken; exit 0; fi; \
             chmod 700 \"$t\" && mv \"$t\" \"$f\" || exit 1; \
             find \"$d\" -type f ! -name {hash} -mtime +30 -exec rm -f {{}} +; \
             echo {MARK}stored; {run}"
        )
    }

    /// Waits until the agent runs there, and sends the program where it is missing.
    pub(super) fn deliver(
        &self,
        to: &mut impl Write,
        from: &mut impl Read,
    ) -> Result<(), LinkError> {
        loop {
            match mark(from)?.as_str() {
                "have" | "stored" => return Ok(()),
                "need" => {
                    let mut file = File::open(&self.path)?;
                    io::copy(&mut file, to)?;
                    to.flush()?;
                }
                "broken" => return Err(LinkError::Damaged),
                other => match other.strip_prefix("other ") {
                    Some(machine) => return Err(LinkError::OtherMachine(machine.to_owned())),
                    None => return Err(LinkError::Foreign),
                },
            }
        }
    }
}

/// What the shell runs where the program is already there.
pub(super) fn script_of(program: &Path, arguments: &[String]) -> String {
    let program = quote(&program.display().to_string());
    format!("echo {MARK}have; exec {program} agent{}", quoted(arguments))
}

/// Waits until the shell says that it runs the agent.
pub(super) fn wait_for_start(from: &mut impl Read) -> Result<(), LinkError> {
    match mark(from)?.as_str() {
        "have" => Ok(()),
        _ => Err(LinkError::Foreign),
    }
}

/// A command for `sh`, in the quotes of every shell.
pub(super) fn in_sh(script: &str) -> String {
    format!("exec sh -c {}", quote(script))
}

fn quoted(arguments: &[String]) -> String {
    arguments.iter().map(|argument| format!(" {}", quote(argument))).collect()
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Reads up to the next line of the script. What the user's shell prints at its start is passed
/// over. Byte by byte, because what follows the line is for somebody else.
fn mark(from: &mut impl Read) -> Result<String, LinkError> {
    let (mut line, mut passed) = (Vec::new(), 0);
    loop {
        let mut byte = [0];
        if from.read(&mut byte)? == 0 {
            return Err(LinkError::Ended);
        }
        passed += 1;
        if passed > GREETING_BYTES_MAX {
            return Err(LinkError::Foreign);
        }
        if byte[0] != b'\n' {
            line.push(byte[0]);
            continue;
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        if let Some(place) = text.find(MARK) {
            return Ok(text[place + MARK.len()..].trim_end().to_owned());
        }
        line.clear();
    }
}

/// Begins the lines of the script. Nobody's greeting has it.
const MARK: &str = "stampede-agent:";
/// Most that a shell may print before.
const GREETING_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs the script as the shell of the other machine does, and what `deliver` makes of it.
    fn delivered(program: &Program, home: &Path) -> (Result<(), LinkError>, String) {
        let mut shell = Command::new("sh")
            .arg("-c")
            .arg(in_sh(&program.script(&["--max-rate".to_owned(), "it's 5".to_owned()])))
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut to, mut from) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        let delivered = program.deliver(&mut to, &mut from);
        drop(to);
        let mut rest = String::new();
        from.read_to_string(&mut rest).unwrap();
        shell.wait().unwrap();
        (delivered, rest)
    }

    #[test]
    fn the_program_is_copied_once_and_found_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, "#!/bin/sh\necho \"runs: $*\"\n").unwrap();
        let program = Program::read(&path).unwrap();
        for _ in 0..2 {
            let (delivered, rest) = delivered(&program, directory.path());
            assert!(delivered.is_ok(), "{delivered:?}");
            assert_eq!(rest, "runs: agent --max-rate it's 5\n");
        }
        let copies = directory.path().join(".cache/stampede/agents");
        let copies: Vec<_> = std::fs::read_dir(copies).unwrap().map(Result::unwrap).collect();
        assert_eq!(copies.len(), 1);
        assert_eq!(copies[0].metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_damaged_copy_is_not_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, "#!/bin/sh\necho runs\n").unwrap();
        let program = Program { hash: "0".repeat(64), ..Program::read(&path).unwrap() };
        let (delivered, rest) = delivered(&program, directory.path());
        assert!(matches!(delivered, Err(LinkError::Damaged)), "{delivered:?}");
        assert_eq!(rest, "");
        let copies = directory.path().join(".cache/stampede/agents");
        assert_eq!(std::fs::read_dir(copies).unwrap().count(), 0);
    }

    #[test]
    fn greetings_of_a_shell_are_passed_over() {
        let mut greeting: &[u8] = b"Welcome!\n\x1b[0mstampede-agent:other Linux aarch64\r\nrest";
        assert_eq!(mark(&mut greeting).unwrap(), "other Linux aarch64");
        assert_eq!(greeting, b"rest");
        assert!(matches!(mark(&mut greeting), Err(LinkError::Ended)));
        let mut endless: &[u8] = &[b'x'; GREETING_BYTES_MAX + 1];
        assert!(matches!(mark(&mut endless), Err(LinkError::Foreign)));
    }
}
