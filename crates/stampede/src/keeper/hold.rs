//! A stampede that only holds a stack: what the tests kill at random moments.
//!
//! ```text
//! stampede __hold stack.json      prints `ready {…}`; takes `stop` and `drop` on its input
//! ```

use std::ffi::OsString;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::KeeperError;
use super::spec::StackSpec;
use super::stack::{CgroupUse, KeeperOptions, NamespaceUse, Stack, WorkFolder};

/// First argument of the hidden command; the second is the file.
pub(super) const ROLE: &str = "__hold";

/// How often the stack is looked at while nothing is ordered.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The file.
#[derive(Serialize, Deserialize)]
struct Held {
    spec: StackSpec,
    namespaces: NamespaceUse,
    cgroups: CgroupUse,
    work: WorkFolder,
    journal: PathBuf,
}

pub(super) fn main(mut args: impl Iterator<Item = OsString>) -> ! {
    let held = args
        .next()
        .and_then(|path| std::fs::read(path).ok())
        .and_then(|text| serde_json::from_slice::<Held>(&text).ok());
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

fn hold(held: Held) -> Result<(), KeeperError> {
    let options = KeeperOptions {
        namespaces: held.namespaces,
        cgroups: held.cgroups,
        work: held.work,
        journal: held.journal,
        ..KeeperOptions::default()
    };
    let stack = Stack::start(&held.spec, &options)?;
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
            _ if stack.lost() => return stack.stop().map(|_| ()),
            Err(RecvTimeoutError::Timeout) => {}
            // No more orders: held until something is killed.
            Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_EVERY),
        }
    }
}
