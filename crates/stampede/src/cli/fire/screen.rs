//! What a person sees while a load runs: a screen on a terminal, lines elsewhere. Drawn from
//! the load's seconds and nothing else, on the thread that sends none.

mod picture;
mod terminal;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use stampede_load::report::Second;
use stampede_load::spec::Model;

use self::picture::Picture;
use self::terminal::Borrowed;
use super::ready::Ready;
use crate::cli::args_fire::FireArgs;
use crate::event::{Event, Listen as _, Phase};
use crate::mask::{Masked, mask_secrets};
use crate::progress::plain::Plain;
use crate::trial::cases;

/// A screen, or lines.
pub enum Shown {
    /// On a terminal.
    Screen(Box<Screen>),
    /// In a pipe, in CI, beside `--json`.
    Lines,
}

/// The terminal is given back when this is dropped.
pub struct Screen {
    terminal: Borrowed,
    picture: Picture,
    drawn: Option<Instant>,
}

impl Shown {
    /// What fits standard error; says what is sent.
    pub fn begin(args: &FireArgs, ready: &Ready) -> Shown {
        let load = cases::load_text(&ready.choice.model);
        let url = mask_secrets(&ready.url);
        let wanted = !args.json && is_for_a_person();
        // Not to be had: lines, then.
        if let Some(terminal) = wanted.then(|| Borrowed::take().ok()).flatten() {
            let picture = Picture::new(
                url,
                load,
                ready.notes.iter().map(|note| mask_secrets(note)).collect(),
            );
            return Shown::Screen(Box::new(Screen { terminal, picture, drawn: None }));
        }
        let mut lines = Plain::new(Masked(std::io::stderr()));
        lines.event(&Event::Notice(&format!("{load} at {url}")));
        ready.notes.iter().for_each(|note| lines.event(&Event::Notice(note)));
        Shown::Lines
    }

    /// A phase begins.
    pub fn enter(&mut self, phase: Phase, model: &Model) {
        if let Shown::Screen(screen) = self {
            screen.picture.enter(phase, model);
            screen.draw();
        }
    }

    /// A second is over.
    pub fn second(&mut self, second: &Second) {
        if let Shown::Screen(screen) = self {
            screen.picture.second(second);
            // Seconds that come late come together.
            if screen.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
                screen.draw();
            }
        }
    }
}

impl Screen {
    /// A terminal that went away must not cost the load, so what cannot be drawn is not drawn.
    fn draw(&mut self) {
        let picture = &self.picture;
        self.terminal.draw(|frame| picture.draw(frame));
        self.drawn = Some(Instant::now());
    }
}

fn is_for_a_person() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    std::io::stderr().is_terminal() && !dumb && !ci
}

/// At most four frames a second.
const FRAME: Duration = Duration::from_millis(250);
