//! Named clients: what a published table was sent with, by name.

use crate::spec::{ConnectionHabit, Habits, HttpVersion, WhenFull};

/// A client's habits, where a plan says nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// As in plans: `tank`.
    pub name: &'static str,
    /// HTTP version, and what becomes of a connection after an answer.
    pub habits: Habits,
    /// Requests under way at once, in the open model.
    pub max_in_flight: u32,
    /// What becomes of a request that is due beyond that.
    pub when_full: WhenFull,
}

impl Client {
    /// All of them, in the order in which they are listed to people.
    pub const ALL: [Client; 4] = [
        Client {
            name: "stampede",
            habits: Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Queue,
        },
        // Yandex Tank's phantom: `instances = 1000` and `header_http = 1.0` by default; with
        // no instance free it sends later, and its schedule with it.
        Client {
            name: "tank",
            habits: Habits {
                version: HttpVersion::Http10,
                connection: ConnectionHabit::PerRequest,
            },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Stretch,
        },
        // ApacheBench speaks HTTP/1.0 and keeps no connection without `-k`. It knows users
        // only: the open model's two values are ours.
        Client {
            name: "ab",
            habits: Habits {
                version: HttpVersion::Http10,
                connection: ConnectionHabit::PerRequest,
            },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Queue,
        },
        // k6's arrival-rate executors count an iteration for which no VU is free as dropped.
        Client {
            name: "k6",
            habits: Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Drop,
        },
    ];

    /// The client of that name; `None` when there is none.
    pub fn named(name: &str) -> Option<Client> {
        Client::ALL.into_iter().find(|client| client.name == name)
    }
}

/// Tank's default; more would be a sign of a server that is gone.
const IN_FLIGHT: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tank_is_phantom() {
        let tank = Client::named("tank").unwrap();
        assert_eq!(tank.habits.version, HttpVersion::Http10);
        assert_eq!(tank.habits.connection, ConnectionHabit::PerRequest);
        assert_eq!((tank.max_in_flight, tank.when_full), (1_000, WhenFull::Stretch));
        assert_eq!(Client::named("Tank"), None);
    }
}
