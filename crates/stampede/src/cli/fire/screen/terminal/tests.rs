//! Tests the terminal of a program that ends in several ways. Each test runs this test program
//! again, with a pseudo-terminal at its standard error.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::*;

/// Tells the program that it runs in the terminal, and how it ends.
const PART: &str = "STAMPEDE_TEST_TERMINAL";
/// The sequences that enter and leave the alternate screen.
const TAKEN: &str = "\u{1b}[?1049h";
const GIVEN_BACK: &str = "\u{1b}[?1049l";
const HIDDEN: &str = "\u{1b}[?25l";
const SHOWN: &str = "\u{1b}[?25h";

/// A program and its terminal.
struct TerminalProcess {
    child: Child,
    /// The program's end of the terminal.
    there: File,
    text: Arc<Mutex<String>>,
    reading: JoinHandle<()>,
}

impl TerminalProcess {
    /// Runs the test `name` of this program again, in the role `part`.
    fn start(name: &str, part: &str) -> TerminalProcess {
        let here = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&here).and_then(|()| unlockpt(&here)).expect("its other end");
        let path = ptsname(&here, Vec::new()).expect("its name").into_string().expect("text");
        let no_controlling = rustix::fs::OFlags::NOCTTY.bits() as i32;
        let mut open = OpenOptions::new();
        let there = open.read(true).write(true).custom_flags(no_controlling).open(path);
        let there = there.expect("its other end");
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&there, size).expect("a size");
        let child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", &format!("{}::{name}", module_path!().split_once("::").unwrap().1)])
            .arg("--nocapture")
            .env(PART, part)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(there.try_clone().expect("a descriptor"))
            .spawn()
            .expect("this program");
        let text = Arc::new(Mutex::new(String::new()));
        let (read, mut here) = (Arc::clone(&text), File::from(here));
        let reading = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails once nobody has the other end open.
            while let Ok(count @ 1..) = here.read(&mut bytes) {
                read.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        TerminalProcess { child, there, text, reading }
    }

    fn is_taken(&self) -> bool {
        self.text.lock().unwrap().contains(HIDDEN)
    }

    fn interrupt(&self) {
        let pid = Pid::from_raw(self.child.id() as i32).expect("a process");
        let _ = kill_process(pid, Signal::INT);
    }

    /// Returns how the program ended, whether typed characters are echoed again, and the written
    /// text.
    fn end(mut self) -> (ExitStatus, bool, String) {
        let status = self.child.wait().expect("its end");
        let is_echoed = tcgetattr(&self.there).expect("its modes").local_modes;
        let is_echoed = is_echoed.contains(LocalModes::ECHO);
        drop(self.there);
        self.reading.join().expect("all of it");
        let text = self.text.lock().unwrap().clone();
        (status, is_echoed, text)
    }
}

/// Whether the alternate screen was entered, and then left with a visible cursor.
fn is_given_back(text: &str) -> bool {
    let last = |what: &str| text.rfind(what);
    last(TAKEN).is_some() && last(GIVEN_BACK) > last(TAKEN) && last(SHOWN) > last(HIDDEN)
}

fn soon(mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "not within half a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_panic_gives_the_terminal_back() {
    if std::env::var_os(PART).is_some() {
        let _borrowed = AlternateScreen::take().expect("a terminal");
        panic!("told to");
    }
    let (status, is_echoed, text) =
        TerminalProcess::start("a_panic_gives_the_terminal_back", "panics").end();
    assert!(!status.success() && is_echoed && is_given_back(&text), "{status} {text:?}");
    let told = text.find("told to").expect("what it panicked with");
    assert!(text.find(GIVEN_BACK) < Some(told), "said where it can be read: {text:?}");
}

#[test]
fn an_ordinary_end_gives_the_terminal_back() {
    if std::env::var_os(PART).is_some() {
        drop(AlternateScreen::take().expect("a terminal"));
        return;
    }
    let seen = TerminalProcess::start("an_ordinary_end_gives_the_terminal_back", "ends");
    let (status, is_echoed, text) = seen.end();
    assert!(status.success() && is_echoed && is_given_back(&text), "{status} {text:?}");
}

/// Covers a load that does not end after the first two interrupts.
#[test]
fn the_third_interrupt_gives_the_terminal_back() {
    if std::env::var_os(PART).is_some() {
        interrupt::listen().expect("signals");
        let _borrowed = AlternateScreen::take().expect("a terminal");
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let mut seen = TerminalProcess::start("the_third_interrupt_gives_the_terminal_back", "hangs");
    soon(|| seen.is_taken());
    // Two signals that arrive together count as one.
    soon(|| {
        seen.interrupt();
        seen.child.try_wait().expect("its state").is_some()
    });
    let (status, is_echoed, text) = seen.end();
    assert_eq!(status.code(), Some(130), "{text:?}");
    assert!(is_echoed && is_given_back(&text), "{text:?}");
}
