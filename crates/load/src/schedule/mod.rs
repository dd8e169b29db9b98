//! When shots are due: Yandex Tank's grammar, one cumulative count over all segments,
//! inverted per shot.

use crate::time::Nanos;

/// Says when each shot is due. Reads no clock, so a schedule is tested as a list.
pub trait Schedule: Send {
    /// Due time of the next shot; `None` ends the load. Never decreases.
    fn next_due(&mut self) -> Option<Nanos>;
}

/// Segments of offered rate: `line(1,100,60s) const(100,540s)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Segments {}
