//! Which machines send a load, as the user names them.

use std::collections::BTreeSet;
use std::str::FromStr;

/// Agents as the user names them: `local:2`, `ssh:load1,load2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents(Vec<Place>);

/// Where an agent runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A process on this machine, with its number from 1.
    Local(u32),
    /// Another machine that `ssh` reaches by this name.
    Ssh(String),
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
                "write ssh:HOST,HOST with names that ssh knows, or local:2 to try it on this machine"
            }
            AgentsError::Count { .. } => "expected local:N, as local:2",
            AgentsError::Host { .. } => "expected ssh:HOST,HOST, as ssh:load1,me@10.0.0.5",
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

    /// Whether an agent runs on another machine.
    pub fn are_elsewhere(&self) -> bool {
        self.0.iter().any(|place| matches!(place, Place::Ssh(_)))
    }
}

impl FromStr for Agents {
    type Err = AgentsError;

    fn from_str(text: &str) -> Result<Agents, AgentsError> {
        let unknown = || AgentsError::Unknown { text: text.to_owned() };
        let (kind, which) = text.split_once(':').ok_or_else(unknown)?;
        match kind {
            "local" => {
                let count = which.parse().ok().filter(|count| (1..=LOCAL_MAX).contains(count));
                let count: u32 =
                    count.ok_or_else(|| AgentsError::Count { text: which.to_owned() })?;
                Ok(Agents((1..=count).map(Place::Local).collect()))
            }
            "ssh" => which.split(',').map(host).collect::<Result<_, _>>().map(Agents),
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
            Place::Local(number) => write!(formatter, "local {number}"),
            Place::Ssh(host) => formatter.write_str(host),
        }
    }
}

/// Most agents on this machine.
const LOCAL_MAX: u32 = 64;

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
        let is_elsewhere = |text: &str| text.parse::<Agents>().unwrap().are_elsewhere();
        assert_eq!((is_elsewhere("local:1"), is_elsewhere("ssh:a")), (false, true));
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        let lists: [&[&str]; 10] = [
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
