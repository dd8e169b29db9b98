//! Reads clients: named sets of connection habits, as the tools behind published figures have them,
//! with the changes that a plan makes.

use stampede_load::client as load;
use stampede_model::load::{ConnectionHabit, HttpVersion, WhenFull};

use super::error::PlanError;
use super::keys::CLIENT;
use super::model::{Client, KeepAlive};
use super::tree::{Node, Value};
use super::value::{Fields, name_of, not_a, value_of, whole_u32};

/// All habits of one client.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClientHabits {
    pub client: Client,
    pub max_in_flight: u32,
    pub when_full: WhenFull,
}

/// Names of the known clients.
pub(super) const NAMES: [&str; 4] = {
    let all = load::Client::ALL;
    [all[0].name, all[1].name, all[2].name, all[3].name]
};

/// Most requests in flight at once. File descriptors and ports run out earlier.
pub(super) const IN_FLIGHT_MAX: u32 = 1_000_000;

/// Values of `when_full`: what happens to a request that finds no free place.
pub(super) const WHEN_FULL: [&str; 3] = ["queue", "drop", "stretch"];

impl ClientHabits {
    /// The habits of a known client. Any other name gets the habits of `stampede`.
    pub fn named(name: &str) -> ClientHabits {
        let known = load::Client::named(name).unwrap_or(load::Client::ALL[0]);
        let http = known.habits.version;
        let keep_alive = match known.habits.connection {
            ConnectionHabit::PerRequest => KeepAlive::Off,
            // Our own client adapts to the runtimes. The other clients behave as the tool itself
            // does.
            ConnectionHabit::KeepAlive if known == load::Client::ALL[0] => KeepAlive::Auto,
            ConnectionHabit::KeepAlive => KeepAlive::On,
        };
        let client = Client { name: known.name.to_owned(), http, keep_alive };
        ClientHabits { client, max_in_flight: known.max_in_flight, when_full: known.when_full }
    }

    /// These habits, changed by `node`. A name replaces them all; a map changes single habits.
    pub fn with(&self, node: &Node) -> Result<ClientHabits, PlanError> {
        match &node.value {
            Value::Map(_) => {
                let fields = Fields::of(node, &CLIENT)?;
                let start = match fields.get("use") {
                    Some(name) => ClientHabits::named(client_name(name)?),
                    None => self.clone(),
                };
                start.changed_by(&fields)
            }
            _ => Ok(ClientHabits::named(client_name(node)?)),
        }
    }

    /// These habits, changed by the keys of a client or a load.
    pub fn changed_by(mut self, fields: &Fields<'_>) -> Result<ClientHabits, PlanError> {
        if let Some(node) = fields.get("keep_alive") {
            self.client.keep_alive = keep_alive(node)?;
        }
        if let Some(node) = fields.get("http") {
            self.client.http = http_version(node)?;
        }
        if let Some(node) = fields.get("max_in_flight") {
            self.max_in_flight = whole_u32(node, "`max_in_flight`", 1..=IN_FLIGHT_MAX)?;
        }
        if let Some(node) = fields.get("when_full") {
            self.when_full = match value_of(node, "when_full", &WHEN_FULL)? {
                "drop" => WhenFull::Drop,
                "stretch" => WhenFull::Stretch,
                _ => WhenFull::Queue,
            };
        }
        Ok(self)
    }
}

/// Reads `1.0` or `1.1`.
pub(super) fn http_version(node: &Node) -> Result<HttpVersion, PlanError> {
    let name = name_of(node, "HTTP version", &HttpVersion::ALL.map(HttpVersion::name))?;
    Ok(HttpVersion::named(name).unwrap_or(HttpVersion::Http11))
}

fn client_name(node: &Node) -> Result<&str, PlanError> {
    name_of(node, "client", &NAMES)
}

/// Reads `auto`, `on` or `off`.
pub(super) fn keep_alive(node: &Node) -> Result<KeepAlive, PlanError> {
    match node.text() {
        Some("auto") => Ok(KeepAlive::Auto),
        Some("on" | "true" | "yes") => Ok(KeepAlive::On),
        Some("off" | "false" | "no") => Ok(KeepAlive::Off),
        _ => Err(not_a(node, "a way to keep connections", "`auto`, `on` or `off`")),
    }
}
