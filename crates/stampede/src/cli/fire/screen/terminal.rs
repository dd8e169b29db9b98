//! The terminal, borrowed: whatever ends stampede but SIGKILL, it is given back.

use std::io::{self, Stderr};
use std::sync::{Mutex, Once, PoisonError};

use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::interrupt;

/// A second page of the terminal behind standard error. Given back when dropped, on a panic,
/// and when a third Ctrl-C ends the process at once.
pub struct Borrowed(Terminal<CrosstermBackend<Stderr>>);

impl Borrowed {
    /// Takes it.
    ///
    /// # Errors
    /// It cannot be written to, or has no size.
    pub fn take() -> io::Result<Borrowed> {
        HOOKS.call_once(|| {
            interrupt::before_exit(give_back);
            let earlier = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                earlier(panic);
            }));
        });
        let before = tcgetattr(io::stderr())?;
        // Ctrl-C stays a signal. What is typed would be drawn into the picture.
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(io::stderr(), OptionalActions::Now, &silent)?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let made = execute!(io::stderr(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        made.map(Borrowed).inspect_err(|_| give_back())
    }

    /// Draws a picture; what cannot be drawn is not drawn.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) {
        let _ = self.0.draw(picture);
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        give_back();
    }
}

/// Once, however often it is called.
fn give_back() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = taken {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
    }
}

/// How the terminal was, while it is borrowed.
static TAKEN: Mutex<Option<Termios>> = Mutex::new(None);
static HOOKS: Once = Once::new();

#[cfg(test)]
mod tests;
