//! Shows a running load: as a screen on a terminal, as lines elsewhere. It is drawn only from the
//! load's seconds, by the thread that sends no requests.

mod picture;
mod terminal;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use stampede_mask::{MaskingWriter, mask_secrets};
use stampede_model::counts::Second;
use stampede_model::event::{Event, EventListener as _, Phase};
use stampede_model::load::Model;

use self::picture::Dashboard;
use self::terminal::AlternateScreen;
pub use self::terminal::guard_terminal;
use super::ready::PreparedLoad;
use crate::cli::args_fire::FireArgs;
use crate::progress::plain::LineProgress;
use stampede_trial::cases;

/// The output during a load.
pub enum LoadDisplay {
    /// A screen, on a terminal.
    Screen(Box<Screen>),
    /// Lines, in a pipe, in CI, or with `--json`.
    Lines,
}

/// A screen. Dropping it restores the terminal.
pub struct Screen {
    terminal: AlternateScreen,
    picture: Dashboard,
    drawn: Option<Instant>,
}

impl LoadDisplay {
    /// Chooses the form that fits standard error, and shows what will be sent.
    pub fn begin(args: &FireArgs, ready: &PreparedLoad) -> LoadDisplay {
        let load = cases::load_text(&ready.choice.model);
        let url = mask_secrets(&ready.url);
        let wanted = !args.json && is_for_a_person();
        // If the terminal cannot be used, lines are printed.
        if let Some(terminal) = wanted.then(|| AlternateScreen::take().ok()).flatten() {
            let picture = Dashboard::new(
                url,
                load,
                ready.notes().map(|note| mask_secrets(&note.to_string())).collect(),
            );
            return LoadDisplay::Screen(Box::new(Screen { terminal, picture, drawn: None }));
        }
        let mut lines = LineProgress::new(MaskingWriter::new(std::io::stderr()));
        lines.event(&Event::Notice(&format!("{load} at {url}")));
        ready.notes().for_each(|note| lines.event(&Event::Notice(&note.to_string())));
        LoadDisplay::Lines
    }

    /// Shows that a phase begins.
    pub fn enter(&mut self, phase: Phase, model: &Model) {
        if let LoadDisplay::Screen(screen) = self {
            screen.picture.enter(phase, model);
            screen.draw();
        }
    }

    /// Shows a second of the load.
    pub fn second(&mut self, second: &Second) {
        if let LoadDisplay::Screen(screen) = self {
            screen.picture.second(second);
            // Seconds that come late come together, and need only one drawing.
            if screen.drawn.is_none_or(|drawn| drawn.elapsed() >= FRAME) {
                screen.draw();
            }
        }
    }
}

impl Screen {
    /// Draws the screen. Errors are ignored, because a lost terminal must not cost the load.
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

/// Shortest time between two drawings: at most four per second.
const FRAME: Duration = Duration::from_millis(250);
