//! Programs that tests start as processes of their own: a stampede that only holds a stack, a
//! process that listens, and a sweep as another user. They are ignored tests of this test program,
//! which starts itself again, so the shipped program knows nothing of them.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stampede_keeper::spec::ProcessSetSpec;
use stampede_keeper::{
    CgroupUse, Keeper, KeeperError, KeeperOptions, NamespaceUse, WorkingDirectory, sweep_in,
};

use super::PROGRAM;

/// The programs of a case.
pub struct Programs {
    /// stampede, which is keeper and init.
    pub stampede: PathBuf,
    /// This test program.
    tests: PathBuf,
}

/// What a stampede that only holds a stack is told.
#[derive(Serialize, Deserialize)]
pub struct HoldFile {
    pub spec: ProcessSetSpec,
    pub program: PathBuf,
    pub namespaces: NamespaceUse,
    pub cgroups: CgroupUse,
    pub work: WorkingDirectory,
    pub journal: PathBuf,
}

/// What a held stack reports once it runs.
#[derive(Serialize, Deserialize)]
pub struct Ready {
    pub keeper: u32,
    pub init: u32,
}

/// The variable with the argument of a role.
const ARGUMENT: &str = "STAMPEDE_TEST_ROLE";
/// The line with which a held stack reports that it runs begins with this.
const READY: &str = "ready ";
/// How often the stack is checked while no order comes.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Number of files in the working directory. Writing them takes some ten milliseconds.
const FILES: u32 = 200;

impl Programs {
    pub fn built() -> Programs {
        let tests = std::env::current_exe().expect("this test program");
        Programs { stampede: PathBuf::from(PROGRAM), tests }
    }

    /// Copies that every user can execute: the build directory may be inside a home.
    pub fn copied(directory: &Path) -> Programs {
        let Programs { stampede, tests } = Programs::built();
        let copy = |program: &Path, name: &str| {
            let copy = directory.join(name);
            // Not `fs::copy`: if another test forks at that moment, its child holds the file open
            // for writing, and executing the file fails (ETXTBSY).
            assert!(Command::new("cp").arg(program).arg(&copy).status().unwrap().success());
            copy
        };
        Programs { stampede: copy(&stampede, "stampede"), tests: copy(&tests, "tests") }
    }

    /// A stampede that holds the stack that this file describes.
    pub fn hold(&self, file: &Path) -> Command {
        self.role("hold", file)
    }

    /// Sweeps this journal.
    pub fn sweep(&self, journal: &Path) -> Command {
        self.role("sweep", journal)
    }

    /// Program, arguments and environment of a process that listens and writes its port into `file`.
    pub fn listen(&self, file: &Path) -> (String, Vec<String>, (String, String)) {
        let arguments = arguments("listen").map(str::to_owned).to_vec();
        (
            self.tests.display().to_string(),
            arguments,
            (ARGUMENT.to_owned(), file.display().to_string()),
        )
    }

    fn role(&self, name: &str, argument: &Path) -> Command {
        let mut command = Command::new(&self.tests);
        command.args(arguments(name)).env(ARGUMENT, argument);
        command
    }
}

fn arguments(role: &str) -> [&str; 5] {
    let test = match role {
        "hold" => "keeper_support::roles::hold",
        "listen" => "keeper_support::roles::listen",
        _ => "keeper_support::roles::sweep",
    };
    [test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]
}

/// Reads the report of a held stack, which comes when the stack runs. `None`: it does not start.
pub fn ready(output: impl Read) -> Option<Ready> {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    // The test program's own words come before, on the same line.
    let report =
        lines.filter_map(|line| line.split_once(READY).map(|(_, json)| json.to_owned())).next();
    serde_json::from_str(&report?).ok()
}

fn argument() -> PathBuf {
    std::env::var_os(ARGUMENT).expect("the argument of the role").into()
}

#[test]
#[ignore = "a role: other tests start it"]
fn hold() {
    let text = fs::read(argument()).expect("the file");
    let held: HoldFile = serde_json::from_slice(&text).expect("what is held");
    hold_stack(held).unwrap_or_else(|error| panic!("{error}"));
}

fn hold_stack(held: HoldFile) -> Result<(), KeeperError> {
    let HoldFile { spec, program, namespaces, cgroups, work, journal } = held;
    let options = KeeperOptions { program, namespaces, cgroups, work, journal };
    let keeper = Keeper::guard(&spec.id, &spec.work, &options)?;
    fill(&spec.work);
    let stack = keeper.start(&spec)?;
    let ready = Ready { keeper: stack.keeper_pid(), init: stack.init_pid() };
    println!("{READY}{}", serde_json::json!(ready));
    let (send, orders) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    loop {
        match orders.recv_timeout(LOOK_EVERY) {
            Ok(_) => return Ok(()),
            _ if stack.lost().is_some() => return stack.stop().map(|_| ()),
            Err(RecvTimeoutError::Timeout) => {}
            // No more orders will come. The stack is held until something is killed.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// Fills the directory as the copy of an app would. A stampede killed meanwhile leaves it half
/// full.
fn fill(directory: &Path) {
    for number in 0..FILES {
        // The result is ignored. If the keeper was killed, the directory stays, and the start
        // reports the loss.
        let _ = fs::write(directory.join(format!("{number}.php")), [b'x'; 64 * 1024]);
    }
}

#[test]
#[ignore = "a role: other tests start it"]
fn listen() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = listener.local_addr().expect("the port").port();
    fs::write(argument(), port.to_string()).expect("written");
    listener.incoming().for_each(drop);
}

#[test]
#[ignore = "a role: other tests start it"]
fn sweep() {
    let swept = sweep_in(&argument()).expect("swept");
    assert!(swept.left.is_empty(), "{swept:?}");
}
