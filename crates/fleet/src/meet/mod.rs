//! Agents that wait for orders, at a NATS broker or for a TCP port to open.
//!
//! Both sides show that they know the same token before anything else is said, and neither sends it:
//!
//! ```text
//! coordinator ── Call {its nonce} ──────────────────▶ agent
//!             ◀─ Answer {own nonce, proof of both} ──
//!             ── Hello {another proof of both} ──────▶  and then as with any other agent
//! ```

mod nats;
mod pipe;
mod serve;
mod tcp;

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use stampede_model::agent_places::{Meeting, MeetingKind};
use stampede_model::stop::Stop;

use crate::hash::hexadecimal;
use crate::message::VERSION;

pub(crate) use nats::Broker;
pub use serve::{Served, Serving, Worker, serve};

/// What a coordinator and its agents know and nobody else does.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why agents and their coordinator did not meet.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// There is no token.
    #[error("agents that wait for orders need a token, and there is none")]
    NoToken,
    /// The token is too short to be a secret.
    #[error("the token has fewer than {TOKEN_MIN} letters")]
    ShortToken,
    /// The file with the token cannot be read.
    #[error("cannot read the token in {path}")]
    TokenFile {
        /// Its path.
        path: String,
        /// Error of the system.
        source: io::Error,
    },
    /// The broker cannot be reached, or does not let us in.
    #[error("the NATS broker {place} cannot be used: {message}")]
    Broker {
        /// Its address, without a password.
        place: String,
        /// What its client says.
        message: String,
    },
    /// The port cannot be opened.
    #[error("cannot listen for agents at {place}")]
    Listen {
        /// The address.
        place: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Too few agents came.
    #[error("{come} of {wanted} agents have come to {place} in {within_s} s")]
    Few {
        /// Where they were to come.
        place: String,
        /// How many came.
        come: usize,
        /// How many were waited for.
        wanted: u32,
        /// How long.
        within_s: u64,
    },
    /// Agents answered that have another token, and no others.
    #[error("agents at {place} have another token")]
    OtherToken {
        /// Where they are.
        place: String,
    },
    /// An agent is of another version.
    #[error(
        "agent {host} speaks version {version} of the agents' protocol, this stampede {VERSION}"
    )]
    Version {
        /// Its name for itself.
        host: String,
        /// Its version.
        version: u32,
    },
    /// The user stopped before all had come.
    #[error("stopped while agents were waited for")]
    Stopped,
}

impl MeetError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            MeetError::NoToken | MeetError::ShortToken => {
                "make one with `openssl rand -hex 16 > token`, and give the same file to the coordinator and its \
                 agents: --token-file token, or the environment variable STAMPEDE_AGENT_TOKEN"
            }
            MeetError::TokenFile { .. } | MeetError::Stopped => return None,
            MeetError::Broker { .. } => {
                "stampede takes what the `nats` tool takes: a user in the URL, or NATS_USER and NATS_PASSWORD, \
                 NATS_TOKEN, NATS_CREDS, NATS_NKEY; NATS_CA, NATS_CERT and NATS_KEY for TLS"
            }
            MeetError::Listen { .. } => "expected an address of this machine and a free port",
            MeetError::Few { .. } => {
                "start agents with `stampede agent --connect`, with the same token; one agent serves one coordinator \
                 at a time"
            }
            MeetError::OtherToken { .. } => "give the same token to the coordinator and its agents",
            MeetError::Version { .. } => "use the same version of stampede on all machines",
        })
    }
}

impl Token {
    /// A token that nobody else knows.
    pub fn new() -> Token {
        Token(nonce())
    }

    /// The token itself, for whoever has to get it.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The token in this file; without a file that of `STAMPEDE_AGENT_TOKEN`.
    ///
    /// # Errors
    /// There is none, it is too short, or it cannot be read.
    pub fn read(file: Option<&Path>) -> Result<Token, MeetError> {
        let text = match file {
            Some(path) => std::fs::read_to_string(path).map_err(|source| MeetError::TokenFile {
                path: path.display().to_string(),
                source,
            })?,
            None => std::env::var(TOKEN_VARIABLE).map_err(|_| MeetError::NoToken)?,
        };
        match text.trim() {
            "" => Err(MeetError::NoToken),
            short if short.len() < TOKEN_MIN => Err(MeetError::ShortToken),
            token => Ok(Token(token.to_owned())),
        }
    }

    fn proof(&self, side: Side, call: &str, answer: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        hexadecimal(hmac::sign(&key, signed(side, call, answer).as_bytes()).as_ref())
    }

    /// A key for what is said afterwards.
    fn key(&self, call: &str, answer: &str) -> Vec<u8> {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        let text = format!("stampede agents {VERSION} seal {call} {answer}");
        hmac::sign(&key, text.as_bytes()).as_ref().to_vec()
    }

    fn is_proven(&self, side: Side, call: &str, answer: &str, proof: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        let Some(proof) = bytes_of(proof) else { return false };
        hmac::verify(&key, signed(side, call, answer).as_bytes(), &proof).is_ok()
    }
}

impl Default for Token {
    fn default() -> Token {
        Token::new()
    }
}

/// Shows nothing of it.
impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Token(***)")
    }
}

/// Who proves something. A proof of one side is none of the other.
#[derive(Clone, Copy, Debug)]
enum Side {
    Agent,
    Coordinator,
}

fn signed(side: Side, call: &str, answer: &str) -> String {
    format!("stampede agents {VERSION} {side:?} {call} {answer}")
}

fn bytes_of(hexadecimal: &str) -> Option<Vec<u8>> {
    let digits = hexadecimal.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<u8>>>()
        .filter(|bytes| bytes.len() * 2 == hexadecimal.len())
}

/// What nobody can guess and nobody has seen before.
pub(crate) fn nonce() -> String {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).expect("the kernel has random numbers");
    hexadecimal(&bytes)
}

/// Whether it is one of ours. It becomes a part of a subject.
fn is_nonce(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A coordinator looks for agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Call {
    version: u32,
    nonce: String,
}

impl Call {
    fn new() -> Call {
        Call { version: VERSION, nonce: nonce() }
    }
}

/// An agent would take orders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Answer {
    version: u32,
    host: String,
    nonce: String,
    proof: String,
}

impl Answer {
    fn to(call: &Call, token: &Token) -> Answer {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let nonce = nonce();
        let proof = token.proof(Side::Agent, &call.nonce, &nonce);
        Answer { version: VERSION, host, nonce, proof }
    }

    /// Whether it is an answer to this call from who knows the token.
    fn fits(&self, call: &Call, token: &Token) -> bool {
        is_nonce(&self.nonce) && token.is_proven(Side::Agent, &call.nonce, &self.nonce, &self.proof)
    }

    /// What shows this agent who gives orders.
    fn token_of_coordinator(&self, call: &Call, token: &Token) -> String {
        token.proof(Side::Coordinator, &call.nonce, &self.nonce)
    }
}

/// An agent that came.
pub(crate) struct Joined {
    /// Its name for itself, with a number if another has the same.
    pub name: String,
    /// What shows it who gives orders.
    pub token: String,
    pub from: Box<dyn Read + Send>,
    pub to: Box<dyn Write + Send>,
    /// Ends the connection, so that nothing waits for it any more.
    pub close: pipe::Closer,
}

/// Agents that came, and what has to live as long as their connections.
pub(crate) struct Come {
    pub agents: Vec<Joined>,
    pub broker: Option<Broker>,
}

/// Waits for agents at a meeting point.
pub(crate) fn gather(meeting: &Meeting, token: &Token, stop: &Stop) -> Result<Come, MeetError> {
    let mut come = match meeting.kind {
        MeetingKind::Nats => nats::gather(meeting, token, stop)?,
        MeetingKind::Tcp => Come { agents: tcp::gather(meeting, token, stop)?, broker: None },
    };
    come.agents.sort_by(|a, b| a.name.cmp(&b.name));
    number(come.agents.iter_mut().map(|agent| &mut agent.name));
    Ok(come)
}

/// Numbers names that occur several times; they are sorted.
fn number<'a>(names: impl Iterator<Item = &'a mut String>) {
    let (mut last, mut times) = (None, 0);
    for name in names {
        times = if last.as_ref() == Some(name) { times + 1 } else { 1 };
        last = Some(name.clone());
        if times > 1 {
            *name += &format!(" #{times}");
        }
    }
}

/// What an agent's name for itself becomes in a terminal and in files.
fn shown(host: &str) -> String {
    let plain: String = host.chars().filter(|letter| !letter.is_control()).take(64).collect();
    if plain.is_empty() { "agent".to_owned() } else { plain }
}

/// Fewest letters of a token.
const TOKEN_MIN: usize = 16;
/// Where a token is, if not in a file.
pub const TOKEN_VARIABLE: &str = "STAMPEDE_AGENT_TOKEN";
/// Where an agent waits, if no option says it: an address may have a password, and options are seen by
/// everybody on a machine.
pub const CONNECT_VARIABLE: &str = "STAMPEDE_AGENT_CONNECT";
/// A coordinator says something every second, also between loads. One that has been silent for so long
/// is gone, and the agent is free for the next one.
const SILENCE_MAX: Duration = Duration::from_secs(8);
/// How long a number of agents is waited for.
const GATHER_MAX: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> Token {
        Token(text.to_owned())
    }

    #[test]
    fn each_side_proves_that_it_knows_the_token() {
        let (ours, other) = (token("a token of some length"), token("another token than that"));
        let call = Call::new();
        let answer = Answer::to(&call, &ours);
        assert!(answer.fits(&call, &ours));
        assert!(!answer.fits(&call, &other));
        assert!(!answer.fits(&Call::new(), &ours), "a proof is for one call");
        let proof = answer.token_of_coordinator(&call, &ours);
        assert!(ours.is_proven(Side::Coordinator, &call.nonce, &answer.nonce, &proof));
        assert_ne!(proof, answer.proof, "nobody can send an agent's proof back to it");
        let odd = |nonce: &str| {
            let proof = ours.proof(Side::Agent, &call.nonce, nonce);
            Answer { nonce: nonce.to_owned(), proof, ..answer.clone() }.fits(&call, &ours)
        };
        assert!(!odd("*") && !odd(">") && !odd("") && !odd(&"é".repeat(16)));
        for damaged in ["", "0", "zz", "é", &answer.proof[2..]] {
            assert!(!ours.is_proven(Side::Agent, &call.nonce, &answer.nonce, damaged));
        }
    }

    #[test]
    fn a_token_is_read_and_never_shown() {
        let directory = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            let path = directory.path().join("token");
            std::fs::write(&path, text).unwrap();
            Token::read(Some(&path))
        };
        let token = read("0123456789abcdef\n").unwrap();
        assert_eq!(token.0, "0123456789abcdef");
        assert!(!format!("{token:?}").contains("0123"));
        assert!(matches!(read(" \n"), Err(MeetError::NoToken)));
        assert!(matches!(read("short"), Err(MeetError::ShortToken)));
        let gone = Token::read(Some(&directory.path().join("gone")));
        assert!(matches!(gone, Err(MeetError::TokenFile { .. })));
    }

    #[test]
    fn equal_names_are_numbered() {
        let mut names = ["a", "b", "b", "b", "c"].map(str::to_owned);
        number(names.iter_mut());
        assert_eq!(names, ["a", "b", "b #2", "b #3", "c"]);
        assert_eq!(shown("load\x1b[1"), "load[1");
        assert_eq!(shown(""), "agent");
    }
}
