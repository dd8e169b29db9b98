//! The command `stampede serve`: shows the runs in a browser.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::PathBuf;

use stampede_linux::interrupt;
use stampede_model::record::RESULTS;

use super::args::ServeArgs;
use super::fail::CommandError;
use super::history::readable;
use super::shell::{print, print_message};
use super::{Failure, Outcome};
use stampede_serve::Server;

/// Serves until Ctrl-C.
pub fn run(args: &ServeArgs) -> Result<Outcome, Failure> {
    let results = args.results.clone().unwrap_or_else(|| PathBuf::from(RESULTS));
    readable(&results)?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    // A measurement may run on the same machine.
    let _ = rustix::process::nice(STEP_BACK);
    let port = args.port;
    let server =
        Server::bind(results, port).map_err(|source| ServeError::PortTaken { port, source })?;
    let address = server.address().map_err(|error| Failure::new(&error))?;
    print(format!("{address}\n").as_bytes())?;
    print_message("Ctrl-C ends it");
    let redirect_file = if !args.no_open && can_open() { redirect_file(&address) } else { None };
    let ended = server.run();
    drop(redirect_file);
    ended.map_err(|error| Failure::new(&error))?;
    Ok(Outcome::Fine)
}

/// Why the runs are not served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The port is in use, or this user may not bind it.
    #[error("port {port} of 127.0.0.1 cannot be taken")]
    PortTaken {
        /// The port.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
}

impl CommandError for ServeError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            ServeError::PortTaken { .. } => {
                "name another with `--port`, or none for a free one".to_owned()
            }
        })
    }
}

/// Opens the browser on a file that redirects to the address and that only its owner can read.
/// Every user of the machine can see the browser's command line, which must not contain the token.
/// If this fails, the printed address can be used.
fn redirect_file(address: &str) -> Option<tempfile::TempPath> {
    let mut file = tempfile::Builder::new().prefix("stampede-").suffix(".html").tempfile().ok()?;
    let address = address.replace('&', "&amp;");
    writeln!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={address}\">")
        .ok()?;
    let path = file.into_temp_path();
    open::that_detached(&path).ok()?;
    Some(path)
}

/// Whether a person uses a screen here, and not a server or a script.
fn can_open() -> bool {
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    has_screen && io::stdout().is_terminal()
}

/// Niceness, as of `nice -n 10`.
const STEP_BACK: i32 = 10;
