//! Checks the limits of the machine before the first request.

use std::net::IpAddr;

use stampede_load::spec::Load;
use stampede_model::fact::Before;
use stampede_model::fact::before::WIDEN;
use stampede_model::load::{Address, ConnectionHabit, Model, Until};
use stampede_model::machine::MachineFacts;
use stampede_model::schedule::{MicroRate, Segment};
use stampede_model::words;

use crate::cli::fail::CommandError;

/// Where the number of connections comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitSource {
    /// A flag sets it.
    ByFlag,
    /// It is the client's default.
    ByDefault,
}

/// Why the machine does not allow the number of connections that a flag asks for.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitError {
    /// The hard limit of open files is too low.
    #[error(
        "{} connections need {} open files, and the hard limit is {}",
        words::count(*connections),
        words::count(*needed),
        words::count(*limit)
    )]
    FewFiles {
        /// The most connections that there may be.
        connections: u64,
        /// The open files that they need.
        needed: u64,
        /// The hard limit of open files.
        limit: u64,
    },
    /// There are fewer local ports than connections.
    #[error(
        "{} connections need as many local ports, and this machine has {}",
        words::count(*connections),
        words::count(*ports)
    )]
    FewPorts {
        /// The most connections that there may be.
        connections: u64,
        /// Number of local ports.
        ports: u64,
    },
}

impl CommandError for LimitError {
    fn hint(&self) -> Option<String> {
        Some(match *self {
            LimitError::FewFiles { connections, needed, limit } => {
                let raise =
                    format!("raise the limit: `ulimit -n {needed}` as root, or `LimitNOFILE`");
                match (connections + limit).saturating_sub(needed) {
                    0 => raise,
                    fewer => {
                        format!("ask for {} connections at most, or {raise}", words::count(fewer))
                    }
                }
            }
            LimitError::FewPorts { .. } => WIDEN.to_owned(),
        })
    }
}

/// The limits of the machine, to compare with what a load needs.
#[derive(Debug)]
pub struct Limits<'a> {
    /// The machine.
    pub machine: &'a MachineFacts,
    /// Where the number of connections comes from.
    pub source: LimitSource,
    /// Files that are open besides the connections, such as result files.
    pub spare_files: u64,
}

impl Limits<'_> {
    /// Returns notes for the user. Refuses a load that was explicitly requested and is impossible.
    pub fn check(&self, load: &Load) -> Result<Vec<Before>, LimitError> {
        let connections = match load.model {
            Model::Open { max_in_flight, .. } => u64::from(max_in_flight),
            Model::Closed { concurrency, .. } => u64::from(concurrency),
        };
        let mut notes = Vec::new();
        notes.extend(self.files(connections)?);
        // In 127.0.0.0/8, connections come from other addresses of this machine once the ports of
        // one address are used up.
        let others = |ip: IpAddr| matches!(ip, IpAddr::V4(v4) if v4.is_loopback());
        if matches!(load.target.first(), Address::Tcp(address) if !others(address.ip())) {
            // A local port serves one connection to each address.
            let ports = self.local_ports() * load.target.iter().count() as u64;
            notes.extend(self.ports(connections, ports)?);
            notes.extend(ports_over_time(load, ports));
        }
        Ok(notes)
    }

    fn files(&self, connections: u64) -> Result<Option<Before>, LimitError> {
        let (needed, limit) = (connections + self.spare_files, self.machine.open_files_hard);
        if limit == 0 || needed <= limit {
            return Ok(None);
        }
        match self.source {
            LimitSource::ByFlag => Err(LimitError::FewFiles { connections, needed, limit }),
            LimitSource::ByDefault => Ok(Some(Before::FewFiles { connections, needed, limit })),
        }
    }

    fn ports(&self, connections: u64, ports: u64) -> Result<Option<Before>, LimitError> {
        if ports == 0 || connections <= ports {
            return Ok(None);
        }
        match self.source {
            LimitSource::ByFlag => Err(LimitError::FewPorts { connections, ports }),
            LimitSource::ByDefault => Ok(Some(Before::FewPorts { connections, ports })),
        }
    }

    fn local_ports(&self) -> u64 {
        let (first, last) = (self.machine.ports_first, self.machine.ports_last);
        if last == 0 { 0 } else { u64::from(last.saturating_sub(first)) + 1 }
    }
}

/// Reports a load with one connection per request that needs too many ports. A closed connection
/// keeps its port for a minute (TIME_WAIT) if the kernel may not reuse it.
fn ports_over_time(load: &Load, ports: u64) -> Option<Before> {
    if load.habits.connection == ConnectionHabit::KeepAlive || ports == 0 {
        return None;
    }
    let most = most_in_a_minute(&load.model)?;
    let connections_per_minute = Some(most).filter(|most| *most != u64::MAX);
    (most > ports).then_some(Before::FewPortsOverTime { connections_per_minute, ports })
}

/// Returns the most requests in one minute. `u64::MAX`: as many as the server answers. `None`: as
/// many as the traffic has.
fn most_in_a_minute(model: &Model) -> Option<u64> {
    match model {
        Model::Open { schedule, .. } => {
            let highest = (schedule.max_rate() * 60.0).ceil() as u64;
            let all: u64 = schedule.segments().iter().map(requests).sum();
            Some(highest.min(all))
        }
        Model::Closed { until: Until::Requests(u64::MAX), .. } => None,
        Model::Closed { until: Until::For(_), .. } => Some(u64::MAX),
        Model::Closed { until: Until::Requests(requests), .. } => Some(*requests),
    }
}

/// Returns an upper bound of the requests in a segment.
fn requests(segment: &Segment) -> u64 {
    let highest = match *segment {
        Segment::Const { rate, .. } => rate,
        Segment::Line { from, to, .. } | Segment::Step { from, to, .. } => from.max(to),
    };
    let MicroRate(micro) = highest;
    (micro as f64 / 1e6 * segment.length().as_secs_f64()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use stampede_model::load::{Arrivals, Habits, HttpVersion, WhenFull};
    use stampede_model::schedule::Segments;
    use stampede_model::time::Nanos;
    use stampede_traffic::Request;

    use super::*;
    use crate::cli::Failure;

    fn machine() -> MachineFacts {
        let nothing = std::path::Path::new("/nonexistent");
        let facts = stampede_monitor::machine::facts_below(nothing, || {});
        MachineFacts { open_files_hard: 4_096, ports_first: 32_768, ports_last: 60_999, ..facts }
    }

    fn open(rate: u64, max_in_flight: u32, connection: ConnectionHabit) -> Load {
        let model = Model::Open {
            schedule: Segments::parse(&format!("const({rate},60s)")).expect("a schedule"),
            arrivals: Arrivals::Uniform,
            max_in_flight,
            when_full: WhenFull::Queue,
        };
        let target = Address::Tcp(([10, 0, 0, 1], 1).into());
        let habits = Habits { version: HttpVersion::Http11, connection };
        Load { habits, ..Load::new(target, model, Vec::<Request>::new()) }
    }

    fn checked(source: LimitSource, load: &Load) -> Result<Vec<Before>, LimitError> {
        Limits { machine: &machine(), source, spare_files: 128 }.check(load)
    }

    fn warnings(source: LimitSource, load: &Load) -> String {
        match checked(source, load) {
            Ok(notes) => notes.iter().map(|note| format!("note: {note}\n")).collect(),
            Err(error) => Failure::from(error).text(),
        }
    }

    #[test]
    fn what_the_machine_does_not_allow_is_said_before_the_first_request() {
        let kept = ConnectionHabit::KeepAlive;
        assert_eq!(warnings(LimitSource::ByFlag, &open(100_000, 3_968, kept)), "");
        let here = Address::Tcp(([127, 0, 0, 1], 1).into());
        let here = Load { target: here.into(), ..open(500, 100, ConnectionHabit::PerRequest) };
        assert_eq!(
            warnings(LimitSource::ByFlag, &here),
            "",
            "there are more addresses to come from"
        );
        assert_eq!(warnings(LimitSource::ByFlag, &open(470, 100, ConnectionHabit::PerRequest)), "");
        let endless = Model::Closed { concurrency: 1, until: Until::Requests(u64::MAX) };
        let endless = Load { model: endless, ..open(1, 1, ConnectionHabit::PerRequest) };
        assert_eq!(
            warnings(LimitSource::ByFlag, &endless),
            "",
            "how many the traffic has nobody knows"
        );
        let for_a_time = Model::Closed { concurrency: 1, until: Until::For(Nanos::SECOND) };
        let for_a_time = Load { model: for_a_time, ..open(1, 1, ConnectionHabit::PerRequest) };
        let few_files = LimitError::FewFiles { connections: 3_969, needed: 4_097, limit: 4_096 };
        assert_eq!(checked(LimitSource::ByFlag, &open(1, 3_969, kept)), Err(few_files));
        let sayings = [
            warnings(LimitSource::ByFlag, &open(1, 3_969, kept)),
            warnings(LimitSource::ByDefault, &open(1, 5_000, kept)),
            warnings(LimitSource::ByDefault, &open(1, 50_000, kept)),
            warnings(LimitSource::ByFlag, &open(500, 100, ConnectionHabit::PerRequest)),
            warnings(LimitSource::ByFlag, &for_a_time),
        ];
        if cfg!(not(feature = "codes-for-text")) {
            insta::assert_snapshot!(sayings.join("\n"));
        }
    }
}
