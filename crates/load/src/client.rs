//! Named clients: the connection habits of well-known load generators, to reproduce their published
//! tables.

use stampede_model::load::{ConnectionHabit, Habits, HttpVersion, WhenFull};

/// The habits of a client. A plan may override each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Name as it is written in plans, for example `tank`.
    pub name: &'static str,
    /// HTTP version, and whether connections are kept.
    pub habits: Habits,
    /// Most requests in flight at once, in the open model.
    pub max_in_flight: u32,
    /// What happens to a request that is due beyond that number.
    pub when_full: WhenFull,
}

impl Client {
    /// All clients, in the order in which they are listed to people.
    pub const ALL: [Client; 4] = [
        Client {
            name: "stampede",
            habits: Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Queue,
        },
        // Yandex Tank's phantom has `instances = 1000` and `header_http = 1.0` by default. When no
        // instance is free, it sends later and shifts its whole schedule.
        Client {
            name: "tank",
            habits: Habits {
                version: HttpVersion::Http10,
                connection: ConnectionHabit::PerRequest,
            },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Stretch,
        },
        // ApacheBench speaks HTTP/1.0 and keeps no connection without `-k`. It has only a closed
        // model, so the two values of the open model are our choice.
        Client {
            name: "ab",
            habits: Habits {
                version: HttpVersion::Http10,
                connection: ConnectionHabit::PerRequest,
            },
            max_in_flight: IN_FLIGHT,
            when_full: WhenFull::Queue,
        },
        // k6's arrival-rate executors count an iteration as dropped when no VU is free for it.
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

/// Tank's default. More requests in flight would only show that the server is gone.
const IN_FLIGHT: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_tank_has_the_habits_of_phantom() {
        let tank = Client::named("tank").unwrap();
        assert_eq!(tank.habits.version, HttpVersion::Http10);
        assert_eq!(tank.habits.connection, ConnectionHabit::PerRequest);
        assert_eq!((tank.max_in_flight, tank.when_full), (1_000, WhenFull::Stretch));
        assert_eq!(Client::named("Tank"), None);
    }
}
