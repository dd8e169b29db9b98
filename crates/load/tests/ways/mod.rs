//! How a load is run that meets servers of all kinds, whoever plays them.

use stampede_load::schedule::Segments;
use stampede_load::spec::{Arrivals, ConnectionHabit, EngineChoice, Model, Until, WhenFull};
use stampede_load::time::Nanos;

/// Where every answer ends by itself.
pub const LONG: Nanos = Nanos::from_secs(20);
/// Where none does.
pub const SHORT: Nanos = Nanos::from_millis(500);

/// Every way to send: in turn by users or by a schedule, on kept connections or not.
pub const WAYS: [(Kind, ConnectionHabit); 4] = [
    (Kind::Open, ConnectionHabit::KeepAlive),
    (Kind::Open, ConnectionHabit::PerRequest),
    (Kind::Closed, ConnectionHabit::KeepAlive),
    (Kind::Closed, ConnectionHabit::PerRequest),
];

#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Due, whatever was answered.
    Open,
    /// Users, each for itself.
    Closed,
}

/// `requests` of a schedule within 50 ms, or shared by `concurrency`; where each request lasts a
/// whole timeout, all send to once.
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

/// The files whose names end in `_uring` are the same once more.
pub fn engine() -> EngineChoice {
    if module_path!().contains("uring") { EngineChoice::IoUring } else { EngineChoice::Epoll }
}
