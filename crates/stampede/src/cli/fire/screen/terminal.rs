//! Borrows the terminal. It is restored however stampede ends, except by SIGKILL.

use std::io::{self, Stderr};
use std::sync::{Mutex, Once, PoisonError};

use ratatui::Frame;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use stampede_linux::interrupt;

/// The alternate screen of the terminal at standard error. It is left when this value is dropped,
/// on a panic, and when a third Ctrl-C ends the process at once.
pub struct AlternateScreen(Terminal<CrosstermBackend<Stderr>>);

impl AlternateScreen {
    /// Switches to the alternate screen.
    ///
    /// # Errors
    /// The terminal cannot be written to, or has no size.
    pub fn take() -> io::Result<AlternateScreen> {
        guard_terminal();
        let before = tcgetattr(io::stderr())?;
        // Ctrl-C stays a signal. Echo is off, because typed characters would be drawn into the
        // picture.
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO;
        tcsetattr(io::stderr(), OptionalActions::Now, &silent)?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        let made = execute!(io::stderr(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        made.map(AlternateScreen).inspect_err(|_| give_back())
    }

    /// Draws a picture. Errors are ignored.
    pub fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) {
        let _ = self.0.draw(picture);
    }
}

impl Drop for AlternateScreen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Sets what restores the terminal at a panic and at a third Ctrl-C. Called at the start of the
/// program: see [`stampede_linux::guarded_thread`].
pub fn guard_terminal() {
    HOOKS.call_once(|| {
        interrupt::before_exit(give_back);
        let earlier = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            earlier(panic);
        }));
    });
}

/// Restores the terminal. Further calls do nothing.
fn give_back() {
    let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = taken {
        let _ = execute!(io::stderr(), LeaveAlternateScreen, Show);
        let _ = tcsetattr(io::stderr(), OptionalActions::Now, &before);
    }
}

/// The terminal's settings before it was borrowed; `None` while it is not borrowed.
static TAKEN: Mutex<Option<Termios>> = Mutex::new(None);
static HOOKS: Once = Once::new();

#[cfg(test)]
mod tests;
