//! Which machines send a load, as the user names them.

use std::collections::BTreeSet;
use std::str::FromStr;

use crate::agents::AGENT_HERE;

/// Agents as the user names them: `local:2`, `ssh:load1,load2`, `nats://broker:4222`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents(Vec<Place>);

/// Where an agent runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A process on this machine, with its number from 1.
    Local(u32),
    /// Another machine that `ssh` reaches by this name.
    Ssh(String),
    /// Agents that wait there for orders.
    Meeting(Meeting),
    /// Agents that are started as a Job of Kubernetes, and then wait for orders.
    Kubernetes(Job),
}

/// A Job of Kubernetes whose pods are agents.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// How many pods there are.
    pub agents: u32,
    /// The image with a stampede.
    pub image: String,
    /// Where pods and coordinator meet.
    pub meeting: Meeting,
}

/// A place where a coordinator and the agents that wait for orders find each other.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Meeting {
    /// What they meet at.
    pub kind: MeetingKind,
    /// Its address: `nats://broker:4222`, which may have a user and a password; `0.0.0.0:7070`.
    pub address: String,
    /// How many agents are waited for. `None`: those that answer within a second.
    pub agents: Option<u32>,
}

/// What a coordinator and agents meet at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MeetingKind {
    /// A NATS broker.
    Nats,
    /// A TCP port at which the coordinator listens.
    Tcp,
}

/// Why agents cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentsError {
    /// There is no such kind of agent.
    #[error("`{text}` does not say how to reach an agent")]
    Unknown {
        /// What was written.
        text: String,
    },
    /// The number of local agents is none.
    #[error("`{text}` is not a number from 1 to {LOCAL_MAX}")]
    Count {
        /// What was written.
        text: String,
    },
    /// A host is empty, or would be read as an option.
    #[error("`{text}` is not the name of a host")]
    Host {
        /// What was written.
        text: String,
    },
    /// An address is incomplete, or its number of agents is none.
    #[error("`{text}` is not an address where agents wait")]
    Meeting {
        /// What was written, without a password.
        text: String,
    },
    /// A Job of Kubernetes is incomplete.
    #[error("`{text}` does not say how to start agents in Kubernetes")]
    Job {
        /// What was written, without a password.
        text: String,
    },
    /// An agent is named twice.
    #[error("{agent} is named twice")]
    Twice {
        /// What was written.
        agent: String,
    },
}

impl AgentsError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            AgentsError::Unknown { .. } => {
                "write ssh:HOST,HOST with names that ssh knows, nats://BROKER:4222 for agents that wait at a NATS \
                 broker, or local:2 to try it on this machine"
            }
            AgentsError::Count { .. } => "expected local:N, as local:2",
            AgentsError::Host { .. } => "expected ssh:HOST,HOST, as ssh:load1,me@10.0.0.5",
            AgentsError::Meeting { .. } => {
                "expected nats://HOST:4222 or nats://HOST:4222?agents=8, or tcp://ADDRESS:PORT?agents=8 with the \
                 address of this machine to listen at"
            }
            AgentsError::Job { .. } => {
                "expected kubernetes:8?image=IMAGE&meet=nats://BROKER:4222, or meet=tcp://ADDRESS:PORT with an address \
                 of this machine that the pods reach; the image has `stampede` in its PATH"
            }
            AgentsError::Twice { .. } => "name each agent once; more on this machine are `local:4`",
        }
    }
}

impl Agents {
    /// All places of several texts.
    ///
    /// # Errors
    /// A text cannot be understood, or a place is named twice.
    pub fn parse(texts: &[String]) -> Result<Agents, AgentsError> {
        let mut places = Vec::new();
        for text in texts {
            places.extend(text.parse::<Agents>()?.0);
        }
        let mut seen = BTreeSet::new();
        match places.iter().find(|place| !seen.insert((*place).clone())) {
            Some(twice) => Err(AgentsError::Twice { agent: twice.to_string() }),
            None => Ok(Agents(places)),
        }
    }

    /// The places, in the order in which they were named.
    pub fn places(&self) -> &[Place] {
        &self.0
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an agent runs on another machine, as agents that wait for orders do.
    pub fn are_elsewhere(&self) -> bool {
        self.0.iter().any(|place| !matches!(place, Place::Local(_)))
    }

    /// Whether an agent is started by `ssh`.
    pub fn need_ssh(&self) -> bool {
        self.0.iter().any(|place| matches!(place, Place::Ssh(_)))
    }

    /// How many agents there are at least. More may wait at a broker.
    pub fn at_least(&self) -> usize {
        let of = |place: &Place| match place {
            Place::Meeting(meeting) => meeting.agents.unwrap_or(1) as usize,
            Place::Kubernetes(job) => job.agents as usize,
            Place::Local(_) | Place::Ssh(_) => 1,
        };
        self.0.iter().map(of).sum()
    }
}

impl Meeting {
    /// Reads `nats://broker:4222?agents=8`, `tls://…` or `tcp://0.0.0.0:7070?agents=8`. The number may
    /// be left out at a broker.
    ///
    /// # Errors
    /// [`AgentsError::Unknown`]: it has no such scheme; [`AgentsError::Meeting`].
    pub fn parse(text: &str) -> Result<Meeting, AgentsError> {
        let unknown = || AgentsError::Unknown { text: without_password(text) };
        let wrong = || AgentsError::Meeting { text: without_password(text) };
        let (scheme, rest) = text.split_once("://").ok_or_else(unknown)?;
        let (host, query) = match rest.split_once('?') {
            Some((host, query)) => (host, Some(query)),
            None => (rest, None),
        };
        let agents = match query.map(|query| query.strip_prefix("agents=")) {
            None => None,
            Some(count) => {
                let count: Option<u32> = count.and_then(|count| count.parse().ok());
                Some(count.filter(|count| (1..=MEETING_MAX).contains(count)).ok_or_else(wrong)?)
            }
        };
        let host = host.trim_end_matches('/');
        let is_odd = |letter: char| letter.is_whitespace() || letter.is_control() || letter == '/';
        if host.rsplit('@').next().is_none_or(str::is_empty) || host.contains(is_odd) {
            return Err(wrong());
        }
        match scheme {
            "nats" | "tls" => {
                let address = format!("{scheme}://{host}");
                Ok(Meeting { kind: MeetingKind::Nats, address, agents })
            }
            "tcp" if has_port(host) => {
                Ok(Meeting { kind: MeetingKind::Tcp, address: host.to_owned(), agents })
            }
            "tcp" => Err(wrong()),
            _ => Err(unknown()),
        }
    }
}

impl Job {
    /// Reads `kubernetes:8?image=IMAGE&meet=nats://broker:4222`.
    ///
    /// # Errors
    /// [`AgentsError::Job`], or what is wrong with the place where agents meet.
    pub fn parse(text: &str) -> Result<Job, AgentsError> {
        let wrong = || AgentsError::Job { text: without_password(text) };
        let rest = text.strip_prefix("kubernetes:").ok_or_else(wrong)?;
        let (count, query) = rest.split_once('?').ok_or_else(wrong)?;
        let agents: Option<u32> =
            count.parse().ok().filter(|count| (1..=MEETING_MAX).contains(count));
        let agents = agents.ok_or_else(wrong)?;
        let (mut image, mut meeting) = (None, None);
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("image", name)) if is_image(name) => image = Some(name.to_owned()),
                // The number of agents is said once.
                Some(("meet", place)) if !place.contains('?') => {
                    meeting = Some(Meeting::parse(place)?)
                }
                _ => return Err(wrong()),
            }
        }
        let (Some(image), Some(mut meeting)) = (image, meeting) else { return Err(wrong()) };
        meeting.agents = Some(agents);
        Ok(Job { agents, image, meeting })
    }
}

fn is_image(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte))
}

fn has_port(host: &str) -> bool {
    host.rsplit_once(':')
        .is_some_and(|(name, port)| !name.is_empty() && port.parse::<u16>().is_ok())
}

/// The text without the user and the password of its URL.
fn without_password(text: &str) -> String {
    let (before, rest) = match text.split_once("://") {
        Some((before, rest)) => (format!("{before}://"), rest),
        None => (String::new(), text),
    };
    match rest.rsplit_once('@') {
        // Without a scheme, a name alone is that of a user for `ssh`.
        Some((user, host)) if !before.is_empty() || user.contains(':') => {
            format!("{before}***@{host}")
        }
        _ => text.to_owned(),
    }
}

impl std::fmt::Display for Meeting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            MeetingKind::Nats => formatter.write_str(&without_password(&self.address)),
            MeetingKind::Tcp => write!(formatter, "tcp://{}", self.address),
        }
    }
}

/// As [`Display`](std::fmt::Display), because an address may have a password.
impl std::fmt::Debug for Meeting {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{self} {:?}", self.agents)
    }
}

impl FromStr for Agents {
    type Err = AgentsError;

    fn from_str(text: &str) -> Result<Agents, AgentsError> {
        let unknown = || AgentsError::Unknown { text: without_password(text) };
        let (kind, which) = text.split_once(':').ok_or_else(unknown)?;
        match kind {
            "local" => {
                let count = which.parse().ok().filter(|count| (1..=LOCAL_MAX).contains(count));
                let count: u32 =
                    count.ok_or_else(|| AgentsError::Count { text: which.to_owned() })?;
                Ok(Agents((1..=count).map(Place::Local).collect()))
            }
            "ssh" => which.split(',').map(host).collect::<Result<_, _>>().map(Agents),
            "kubernetes" => Ok(Agents(vec![Place::Kubernetes(Job::parse(text)?)])),
            "nats" | "tls" | "tcp" => {
                let meeting = Meeting::parse(text)?;
                // Nobody answers a call at a port: agents come by themselves, sooner or later.
                if meeting.kind == MeetingKind::Tcp && meeting.agents.is_none() {
                    return Err(AgentsError::Meeting { text: without_password(text) });
                }
                Ok(Agents(vec![Place::Meeting(meeting)]))
            }
            _ => Err(unknown()),
        }
    }
}

/// A host for `ssh`. What begins with `-` would be an option, which can run any command.
fn host(text: &str) -> Result<Place, AgentsError> {
    let text = text.trim();
    let is_odd = |letter: char| letter.is_whitespace() || letter.is_control();
    match text.is_empty() || text.starts_with('-') || text.contains(is_odd) {
        true => Err(AgentsError::Host { text: text.to_owned() }),
        false => Ok(Place::Ssh(text.to_owned())),
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Local(number) => write!(formatter, "{AGENT_HERE}{number}"),
            Place::Ssh(host) => formatter.write_str(host),
            Place::Meeting(meeting) => meeting.fmt(formatter),
            Place::Kubernetes(job) => {
                write!(formatter, "kubernetes:{} at {}", job.agents, job.meeting)
            }
        }
    }
}

/// Most agents on this machine.
const LOCAL_MAX: u32 = 64;
/// Most agents that are waited for at one place.
const MEETING_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Result<Vec<String>, AgentsError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Agents::parse(&texts).map(|agents| agents.places().iter().map(Place::to_string).collect())
    }

    #[test]
    fn agents_are_named_by_kind() {
        assert_eq!(parsed(&["local:2"]).unwrap(), ["local 1", "local 2"]);
        assert_eq!(
            parsed(&["ssh:load1, me@10.0.0.5", "local:1"]).unwrap(),
            ["load1", "me@10.0.0.5", "local 1"]
        );
        assert_eq!(
            parsed(&["nats://me:secret@broker:4222?agents=8", "tcp://0.0.0.0:7070?agents=2"])
                .unwrap(),
            ["nats://***@broker:4222", "tcp://0.0.0.0:7070"]
        );
        assert_eq!(
            parsed(&["kubernetes:8?meet=tcp://10.0.0.5:7070&image=registry/stampede:1.0"]).unwrap(),
            ["kubernetes:8 at tcp://10.0.0.5:7070"]
        );
        let agents: Agents = "tls://broker?agents=8".parse().unwrap();
        assert_eq!(
            (agents.at_least(), agents.need_ssh(), agents.are_elsewhere()),
            (8, false, true)
        );
        let secret = "nats://me:secret@broker:4222".parse::<Agents>().unwrap();
        assert!(!format!("{secret:?}").contains("secret"), "{secret:?}");
        let is_elsewhere = |text: &str| text.parse::<Agents>().unwrap().are_elsewhere();
        assert_eq!((is_elsewhere("local:1"), is_elsewhere("ssh:a")), (false, true));
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        let lists: [&[&str]; 24] = [
            &["kubernetes:8"],
            &["kubernetes:0?image=stampede&meet=nats://broker"],
            &["kubernetes:8?image=stampede"],
            &["kubernetes:8?image=a b&meet=nats://broker"],
            &["kubernetes:8?image=stampede&meet=nats://me:secret@broker&cpus=2"],
            &["kubernetes:8?image=stampede&meet=tcp://broker"],
            &["nats://"],
            &["nats://broker:4222?agents=0"],
            &["nats://me:secret@broker?agents=x"],
            &["nats://me:secret@"],
            &["tcp://0.0.0.0?agents=2"],
            &["tcp://0.0.0.0:7070"],
            &["http://me:secret@broker"],
            &["me:secret@broker:4222"],
            &["load1"],
            &["shh:load1"],
            &["local:"],
            &["local:0"],
            &["local:65"],
            &["ssh:"],
            &["ssh:load1,,load2"],
            &["ssh:-oProxyCommand=id"],
            &["ssh:load 1"],
            &["ssh:load1", "ssh:load1"],
        ];
        let texts = lists.map(|list| {
            let error = parsed(list).unwrap_err();
            format!("{list:?}: {error}\n  hint: {}\n", error.hint())
        });
        insta::assert_snapshot!(texts.concat());
    }
}
