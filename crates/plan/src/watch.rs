//! What is watched of a server that runs already, in one grammar for plans and flags:
//! `container:shop`, in a plan also `{container: shop}`.

use serde::{Deserialize, Serialize};

/// Where the resource use of a server is read that stampede did not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Watch {
    /// A container of Docker or Podman, by name or id.
    Container(String),
    /// A systemd unit.
    Unit(String),
    /// A process and all its descendants.
    Pid(u32),
    /// Every container of a compose project that runs, by the project's name.
    Project(String),
    /// Another machine as a whole, as `ssh` takes it: `shop1`, `deploy@shop1`.
    Ssh(String),
}

impl std::fmt::Display for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Watch::Container(name) => write!(f, "container {name}"),
            Watch::Unit(name) => write!(f, "unit {name}"),
            Watch::Pid(pid) => write!(f, "pid {pid}"),
            Watch::Project(name) => write!(f, "project {name}"),
            Watch::Ssh(host) => write!(f, "machine {host}"),
        }
    }
}

/// Why a text names nothing to watch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchError {
    /// The part before the colon is none of the kinds, or there is no colon.
    #[error("`{text}` names nothing that can be watched")]
    Kind {
        /// The text.
        text: String,
    },
    /// The part after the colon cannot be the name of such a thing.
    #[error("`{name}` cannot be {}", thing(kind))]
    Name {
        /// `container`, `unit`, `pid`, `project` or `ssh`.
        kind: &'static str,
        /// The name.
        name: String,
    },
}

/// What a name stands for.
fn thing(kind: &str) -> String {
    match kind {
        "pid" => "the pid of a process".to_owned(),
        "ssh" => "the name of a machine".to_owned(),
        kind => format!("the name of a {kind}"),
    }
}

impl WatchError {
    /// What to write instead.
    pub fn hint(&self) -> String {
        match self {
            WatchError::Name { kind: "pid", .. } => "write it as `pid:4711`, as `pgrep` prints it",
            WatchError::Name { kind: "ssh", .. } => {
                "write it as `ssh:shop1` or `ssh:deploy@shop1`; a port and keys belong into `~/.ssh/config`"
            }
            WatchError::Kind { .. } | WatchError::Name { .. } => {
                "write `container:NAME`, `project:NAME`, `unit:NAME`, `pid:NUMBER` or, for another machine, \
                 `ssh:HOST`"
            }
        }
        .to_owned()
    }
}

impl std::str::FromStr for Watch {
    type Err = WatchError;

    /// Reads `container:shop`, `unit:php8.4-fpm.service`, `pid:4711`, `project:shop` or `ssh:shop1`.
    fn from_str(text: &str) -> Result<Watch, WatchError> {
        let (kind, name) = text.split_once(':').unwrap_or((text, ""));
        let of = |kind, make: fn(String) -> Watch| match is_name(name) {
            true => Ok(make(name.to_owned())),
            false => Err(WatchError::Name { kind, name: name.to_owned() }),
        };
        match kind {
            "container" => of("container", Watch::Container),
            "unit" => of("unit", Watch::Unit),
            "project" => of("project", Watch::Project),
            "pid" => match name.parse() {
                Ok(pid) if (1..=PID_MAX).contains(&pid) => Ok(Watch::Pid(pid)),
                _ => Err(WatchError::Name { kind: "pid", name: name.to_owned() }),
            },
            "ssh" => of("ssh", Watch::Ssh),
            _ => Err(WatchError::Kind { text: text.to_owned() }),
        }
    }
}

/// Whether this is a name that no program takes for one of its options.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-_.@:\\".contains(&b);
    (1..=NAME_MAX).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(fits)
}

/// The highest pid that Linux assigns (proc_sys_kernel(5), `pid_max`).
pub(crate) const PID_MAX: u32 = 1 << 22;
/// Longest name: 255 for units (systemd.unit(5)), and no more for containers.
const NAME_MAX: usize = 255;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_kind_has_its_word() {
        let read = |text: &str| text.parse::<Watch>();
        assert_eq!(read("container:shop"), Ok(Watch::Container("shop".to_owned())));
        assert_eq!(read("project:shop"), Ok(Watch::Project("shop".to_owned())));
        let unit = "getty@tty1.service".to_owned();
        assert_eq!(read("unit:getty@tty1.service"), Ok(Watch::Unit(unit)));
        assert_eq!(read("pid:4711"), Ok(Watch::Pid(4711)));
        assert_eq!(read("ssh:deploy@shop1"), Ok(Watch::Ssh("deploy@shop1".to_owned())));
    }

    #[test]
    fn what_is_none_of_them_is_said() {
        let mistakes = [
            "",
            "shop",
            "ssh:-oProxyCommand=x",
            "docker:shop",
            "container:",
            "container:-a",
            "container:a b",
            "pid:0",
            "pid:x",
            "pid:4194305",
            "unit:a;b",
            "project:../x",
        ];
        let said = mistakes.map(|text| {
            let error = text.parse::<Watch>().expect_err(text);
            format!("{error}\nhint: {}", error.hint())
        });
        insta::assert_snapshot!(said.join("\n"));
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_safe_as_an_argument(text in "[a-z]{0,9}:?.{0,20}") {
            match text.parse::<Watch>() {
                Ok(
                    Watch::Container(name)
                    | Watch::Unit(name)
                    | Watch::Project(name)
                    | Watch::Ssh(name),
                ) => {
                    prop_assert!(!name.starts_with('-') && !name.contains(char::is_whitespace));
                }
                Ok(Watch::Pid(pid)) => prop_assert!((1..=PID_MAX).contains(&pid)),
                Err(error) => prop_assert!(!error.hint().is_empty()),
            }
        }
    }
}
