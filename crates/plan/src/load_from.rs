//! Reads which machines send the load, and where the stack listens for them.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};

use stampede_model::agent_places::Agents;

use super::edit::set;
use super::error::PlanError;
use super::flags::Flags;
use super::keys::LOAD_FROM;
use super::model::LoadFrom;
use super::read::path;
use super::tree::{Node, Value};
use super::value::{Fields, not_a, text, texts};

/// Applies `--agents`, `--agent-program`, `--token-file` and `--listen`.
pub(super) fn apply(flags: &Flags, plan: &mut Node) {
    if let Some(value) = flags.get("listen") {
        set(plan, "listen", value.clone());
    }
    let agents: Vec<Node> = flags.all("agents").cloned().collect();
    let Some(place) = agents.first().map(|agent| agent.place.clone()) else { return };
    let mut body = Node { place: place.clone(), value: Value::Map(Vec::new()) };
    set(&mut body, "agents", Node { place, value: Value::List(agents) });
    for (flag, key) in [("agent-program", "program"), ("token-file", "token_file")] {
        if let Some(value) = flags.get(flag) {
            set(&mut body, key, value.clone());
        }
    }
    set(plan, "load_from", body);
}

/// Reads `ssh:load1,load2`, a list of such texts, or `{agents: ssh:load1, program: /opt/stampede}`.
pub(super) fn load_from(node: &Node, home: Option<&Path>) -> Result<LoadFrom, PlanError> {
    let Value::Map(_) = node.value else {
        return Ok(LoadFrom { agents: agents(node)?, ..LoadFrom::default() });
    };
    let fields = Fields::of(node, &LOAD_FROM)?;
    let program = |node| text(node, "a program", "the path of stampede on the agents");
    let program = fields.get("program").map(program).transpose()?.map(PathBuf::from);
    let agents = fields.get("agents").map(agents).transpose()?.unwrap_or_default();
    let token_file = |node| path(node, text(node, "a file", "a file with a token")?, home);
    let token_file = fields.get("token_file").map(token_file).transpose()?;
    Ok(LoadFrom { agents, program, token_file })
}

fn agents(node: &Node) -> Result<Agents, PlanError> {
    const EXPECTED: &str = "`ssh:load1,load2`, `nats://broker:4222`, `local:2`, or a list of them";
    let mut all = Vec::new();
    for node in texts(node, EXPECTED)? {
        all.push(text(node, "agents", EXPECTED)?.to_owned());
        // A machine that is named twice is found at its second place.
        Agents::parse(&all).map_err(|error| not_a(node, "agents", error.hint()))?;
    }
    Agents::parse(&all).map_err(|error| not_a(node, "agents", error.hint()))
}

/// Reads an address of this machine.
pub(super) fn listen(node: &Node) -> Result<Ipv4Addr, PlanError> {
    const EXPECTED: &str = "an IPv4 address of this machine, such as `10.0.0.5`";
    let address = text(node, "an address", EXPECTED)?.parse().ok();
    // A socket can be bound to own addresses only.
    let is_own =
        |address: &Ipv4Addr| !address.is_unspecified() && UdpSocket::bind((*address, 0)).is_ok();
    address.filter(is_own).ok_or_else(|| not_a(node, "an address of this machine", EXPECTED))
}
