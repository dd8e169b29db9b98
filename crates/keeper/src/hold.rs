//! A stampede that only holds a stack. Tests kill it at random moments.
//!
//! ```text
//! stampede __hold stack.json      prints `ready {…}`; takes `stop` and `drop` on its input
//! ```

use std::ffi::OsString;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::KeeperError;
use super::spec::ProcessSetSpec;
use super::stack::{CgroupUse, Keeper, KeeperOptions, NamespaceUse, WorkingDirectory};

/// First argument of the hidden command; the second is the file with the stack.
pub(super) const ROLE: &str = "__hold";

/// First argument of another hidden command, a process of the stack that listens. The second
/// argument is a file to which it writes its port.
pub(super) const LISTENER: &str = "__listen";

/// How often the stack is checked while no order comes.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct HoldFile {
    spec: ProcessSetSpec,
    namespaces: NamespaceUse,
    cgroups: CgroupUse,
    work: WorkingDirectory,
    journal: PathBuf,
}

pub(super) fn main(mut args: impl Iterator<Item = OsString>) -> ! {
    let held = args
        .next()
        .and_then(|path| std::fs::read(path).ok())
        .and_then(|text| serde_json::from_slice::<HoldFile>(&text).ok());
    let Some(held) = held else {
        eprintln!("error: `__hold` wants a file");
        std::process::exit(2);
    };
    std::process::exit(match hold(held) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("error: {error}");
            1
        }
    })
}

pub(super) fn listen(mut args: impl Iterator<Item = OsString>) -> ! {
    let listening = args.next().map(|file| {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        std::fs::write(file, listener.local_addr()?.port().to_string())?;
        listener.incoming().for_each(drop);
        Ok::<(), std::io::Error>(())
    });
    std::process::exit(if matches!(listening, Some(Ok(()))) { 0 } else { 1 })
}

fn hold(held: HoldFile) -> Result<(), KeeperError> {
    let options = KeeperOptions {
        namespaces: held.namespaces,
        cgroups: held.cgroups,
        work: held.work,
        journal: held.journal,
        ..KeeperOptions::default()
    };
    let keeper = Keeper::guard(&held.spec.id, &held.spec.work, &options)?;
    fill(&held.spec.work);
    let stack = keeper.start(&held.spec)?;
    let pids: Vec<u32> = stack.processes().iter().map(|process| process.pid).collect();
    let (keeper, init) = (stack.keeper_pid(), stack.init_pid());
    println!("ready {}", serde_json::json!({"keeper": keeper, "init": init, "pids": pids}));

    let (send, orders) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    loop {
        match orders.recv_timeout(LOOK_EVERY) {
            Ok(order) if order == "stop" => {
                println!("stopped {}", serde_json::json!(stack.stop()?));
                return Ok(());
            }
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
        let _ = std::fs::write(directory.join(format!("{number}.php")), [b'x'; 64 * 1024]);
    }
}

/// Number of files. Writing them takes some ten milliseconds.
const FILES: u32 = 200;

/// First argument of a third hidden command, which sweeps the journal that the second argument
/// names.
pub(super) const SWEEPER: &str = "__sweep";

pub(super) fn sweep(mut args: impl Iterator<Item = OsString>) -> ! {
    let swept = args.next().map(|path| super::sweep_in(std::path::Path::new(&path)));
    let clean = matches!(swept, Some(Ok(swept)) if swept.left.is_empty());
    std::process::exit(if clean { 0 } else { 1 })
}
