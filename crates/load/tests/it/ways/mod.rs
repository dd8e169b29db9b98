//! How a load is sent to servers of all kinds, shared by several tests.

use stampede_load::spec::EngineChoice;
use stampede_model::load::{Arrivals, ConnectionHabit, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::time::Nanos;

/// Timeout where every answer ends by itself.
pub const LONG: Nanos = Nanos::from_secs(20);
/// Timeout where no answer ends.
pub const SHORT: Nanos = Nanos::from_millis(500);

/// Every way to send: open or closed model, on kept connections or not.
pub const LOAD_KINDS: [(Kind, ConnectionHabit); 4] = [
    (Kind::Open, ConnectionHabit::KeepAlive),
    (Kind::Open, ConnectionHabit::PerRequest),
    (Kind::Closed, ConnectionHabit::KeepAlive),
    (Kind::Closed, ConnectionHabit::PerRequest),
];

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Requests are due whatever was answered.
    Open,
    /// Users that each send after an answer.
    Closed,
}

/// `requests` in a schedule of 50 ms, or shared by `concurrency` users. Where each request lasts a
/// whole timeout, all users send only once.
pub fn model(kind: Kind, timeout: Nanos, requests: u64, concurrency: u32) -> Model {
    let concurrency = if timeout == SHORT { requests as u32 } else { concurrency };
    match kind {
        Kind::Open => Model::Open {
            schedule: Segments::parse(&format!("const({},50ms)", requests * 20)).unwrap(),
            arrivals: Arrivals::Uniform,
            max_in_flight: 32,
            when_full: WhenFull::Queue,
        },
        Kind::Closed => Model::Closed { concurrency, until: Until::Requests(requests) },
    }
}

/// The engine of this binary. Files whose names end in `_uring` run the same tests with the other
/// engine.
pub fn engine() -> EngineChoice {
    if module_path!().contains("uring") { EngineChoice::IoUring } else { EngineChoice::Epoll }
}
