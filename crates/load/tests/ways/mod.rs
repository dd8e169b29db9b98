//! How a load is fired that meets servers of all kinds, whoever plays them.

use stampede_load::schedule::Segments;
use stampede_load::spec::{Arrivals, ConnectionHabit, EngineChoice, Model, Until, WhenFull};
use stampede_load::time::Nanos;

/// Where every answer ends by itself.
pub const LONG: Nanos = Nanos::from_secs(20);
/// Where none does.
pub const SHORT: Nanos = Nanos::from_millis(500);

/// Every way to fire: in turn by users or by a schedule, on kept connections or not.
pub const WAYS: [(Kind, ConnectionHabit); 4] = [
    (Kind::Open, ConnectionHabit::KeepAlive),
    (Kind::Open, ConnectionHabit::PerShot),
    (Kind::Closed, ConnectionHabit::KeepAlive),
    (Kind::Closed, ConnectionHabit::PerShot),
];

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Due, whatever was answered.
    Open,
    /// Users, each for itself.
    Closed,
}

/// `shots` of a schedule within 50 ms, or shared by `users`; where each shot lasts a whole
/// timeout, all fire at once.
pub fn model(kind: Kind, timeout: Nanos, shots: u64, users: u32) -> Model {
    let users = if timeout == SHORT { shots as u32 } else { users };
    match kind {
        Kind::Open => Model::Open {
            schedule: Segments::parse(&format!("const({},50ms)", shots * 20)).unwrap(),
            arrivals: Arrivals::Uniform,
            max_in_flight: 32,
            when_full: WhenFull::Queue,
        },
        Kind::Closed => Model::Closed { users, until: Until::Requests(shots) },
    }
}

/// The files whose names end in `_uring` are the same once more.
pub fn engine() -> EngineChoice {
    if module_path!().contains("uring") { EngineChoice::IoUring } else { EngineChoice::Epoll }
}
