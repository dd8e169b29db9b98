//! The containers of a stack, as the engine knows them.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use stampede_linux::proc::Proc;
use stampede_linux::process::Identity;
use stampede_model::record::{ContainerLimits, ContainerRecord};
use stampede_proof::{EffectiveLimits, base_system, c_library, limits_inside};

use crate::edit::LABEL;
use crate::engine::Engine;
use crate::error::ComposeError;
use crate::project::Project;

/// The label by which every compose tool names a container's service.
pub const SERVICE: &str = "com.docker.compose.service";

/// A container of the stack.
#[derive(Clone, Debug)]
pub struct Container {
    /// Its id, which the engine chose.
    pub id: String,
    /// The service that it belongs to.
    pub service: String,
    /// The image as the project names it.
    pub image: String,
    /// The image's id.
    pub image_id: String,
    /// Its main process; `None`: it does not run.
    pub main: Option<Identity>,
    /// Its state as the engine says it: `running`, `exited` …
    pub state: String,
    /// The exit code of its main process; 0 as long as it runs.
    pub exit_code: i64,
    /// Its addresses in the networks of the project.
    pub addresses: Vec<IpAddr>,
    /// `host`, `container:ID`, or the name of a network.
    pub network_mode: String,
    /// What it is limited to itself.
    pub own: ContainerLimits,
}

/// The limits that the engine was told for a container, from its `HostConfig`.
fn own_limits(config: &Value) -> ContainerLimits {
    let number = |key: &str| config[key].as_u64().filter(|number| *number > 0);
    let of_quota = || {
        number("CpuQuota")?
            .checked_mul(1_000)?
            .checked_div(number("CpuPeriod").unwrap_or(PERIOD_US))
    };
    let thousandths = number("NanoCpus").map(|nano| nano / 1_000_000).or_else(of_quota);
    ContainerLimits {
        cpu_quota_thousandths: thousandths.and_then(|one| u32::try_from(one).ok()),
        memory_bytes: number("Memory").unwrap_or(0),
    }
}

/// The kernel's default length of a quota's period, in µs.
const PERIOD_US: u64 = 100_000;

impl Container {
    /// All containers of the stack, in the order of their services.
    ///
    /// # Errors
    /// The engine does not answer.
    pub fn all(engine: &Engine, stack: &str) -> Result<Vec<Container>, ComposeError> {
        settled(|| Container::look(engine, stack), LOOKS, LOOK_AGAIN)
    }

    /// What the engine says of the containers of the stack.
    fn look(engine: &Engine, stack: &str) -> Result<Vec<Container>, ComposeError> {
        let filter = format!("label={LABEL}={stack}");
        let ids = engine.run(&["ps", "-aq", "--no-trunc", "--filter", &filter])?;
        let ids: Vec<&str> = ids.split_whitespace().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let words: Vec<&str> = ["inspect"].into_iter().chain(ids).collect();
        let text = engine.run(&words)?;
        let found: Vec<Value> = serde_json::from_str(&text).unwrap_or_default();
        let mut all: Vec<Container> = found.iter().map(Container::of).collect();
        all.sort_by(|one, other| (&one.service, &one.id).cmp(&(&other.service, &other.id)));
        Ok(all)
    }

    /// Reads an entry of `inspect`, whose names Docker and Podman share.
    fn of(found: &Value) -> Container {
        let text = |pointer: &str| {
            found.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let pid = found.pointer("/State/Pid").and_then(Value::as_u64).unwrap_or(0);
        let networks = found.pointer("/NetworkSettings/Networks").and_then(Value::as_object);
        let own = found.pointer("/NetworkSettings/IPAddress").and_then(Value::as_str);
        let addresses = networks.into_iter().flatten().filter_map(|(_, network)| {
            network["IPAddress"]
                .as_str()
                .filter(|one| !one.is_empty())
                .or(network["GlobalIPv6Address"].as_str())
        });
        let addresses = addresses.chain(own).filter_map(|address| address.parse().ok());
        let label = found["Config"]["Labels"][SERVICE].as_str();
        Container {
            id: text("/Id"),
            service: label.unwrap_or_default().to_owned(),
            image: text("/Config/Image"),
            image_id: text("/Image"),
            main: u32::try_from(pid).ok().filter(|pid| *pid > 0).and_then(Identity::of),
            state: text("/State/Status"),
            exit_code: found.pointer("/State/ExitCode").and_then(Value::as_i64).unwrap_or(0),
            addresses: addresses.collect(),
            network_mode: text("/HostConfig/NetworkMode"),
            own: own_limits(&found["HostConfig"]),
        }
    }

    /// Whether its main process runs.
    pub fn runs(&self) -> bool {
        self.main.is_some_and(|main| main.alive())
    }

    /// Whether the engine says that it runs.
    pub fn is_said_to_run(&self) -> bool {
        self.state == "running"
    }

    /// How it ended: `ended with exit code 1`, and the others that have ended, too.
    pub fn end_in_words(&self, others: &[&Container]) -> String {
        let own = match self.state.as_str() {
            "exited" | "dead" => format!("ended with exit code {}", self.exit_code),
            other => format!("is {other}"),
        };
        let others =
            others.iter().map(|one| format!("`{}` with exit code {}", one.service, one.exit_code));
        let others = others.collect::<Vec<_>>().join(", ");
        if others.is_empty() { own } else { format!("{own} (also ended: {others})") }
    }

    /// Those of `all` that have ended beside this one, and may be why it has. One whose end others wait for has
    /// done its work.
    pub fn others_ended<'all>(
        &self,
        all: &'all [Container],
        project: &Project,
    ) -> Vec<&'all Container> {
        let is_cause = |one: &&Container| {
            one.id != self.id
                && one.state == "exited"
                && !project.is_waited_for_until_its_end(&one.service)
        };
        all.iter().filter(is_cause).collect()
    }

    /// What is known of the container and its image, for the record.
    pub fn record(&self, engine: &Engine, is_beside: bool) -> ContainerRecord {
        let words = ["image", "inspect", "--format", "{{json .}}", &self.image_id];
        let image: Value = engine
            .command(&words)
            .run()
            .ok()
            .and_then(|output| serde_json::from_slice(&output.stdout).ok())
            .unwrap_or_default();
        let digest = image["RepoDigests"][0].as_str().and_then(|digest| digest.split_once('@'));
        let root = self.root();
        let limits = self.main.map(|main| EffectiveLimits::of(main.pid)).unwrap_or_default();
        ContainerRecord {
            service: self.service.clone(),
            image: self.image.clone(),
            image_id: self.image_id.clone(),
            digest: digest.map(|(_, digest)| digest.to_owned()).unwrap_or_default(),
            architecture: image["Architecture"].as_str().unwrap_or_default().to_owned(),
            base: root.as_deref().map(base_system).unwrap_or_default(),
            libc: root.as_deref().map_or("", c_library).to_owned(),
            is_beside,
            is_proxied: false,
            cpus_allowed: limits.cpus_allowed,
            cpu_quota_thousandths: limits.cpu_quota_thousandths,
            memory_limit_bytes: limits.memory_limit_bytes,
            own: self.own,
            inside: root.as_deref().and_then(limits_inside),
        }
    }

    /// Whether the process that the engine named is seen here as the container's. The engine may number
    /// processes otherwise, in a virtual machine.
    pub fn is_seen(&self) -> bool {
        let Some(main) = self.main else { return false };
        let proc = Proc::default();
        // An engine without groups still mounts files of its own for each container.
        let names = |text: &str| !self.id.is_empty() && text.contains(&self.id);
        names(&proc.cgroup(main.pid)) || names(&proc.text(&format!("{}/mountinfo", main.pid)))
    }

    /// Its root as this machine sees it; `None`: it does not run.
    pub fn root(&self) -> Option<PathBuf> {
        let main = self.main?;
        Some(Path::new("/proc").join(main.pid.to_string()).join("root"))
    }
}

/// How often the engine is asked of containers whose processes have ended.
const LOOKS: u32 = 20;
/// The pause between two such questions.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The containers that `look` finds. An engine learns a moment later than the kernel that a process
/// has ended. It is asked again, `looks` times in all, while it calls a container running whose
/// process is not seen.
fn settled(
    mut look: impl FnMut() -> Result<Vec<Container>, ComposeError>,
    looks: u32,
    pause: Duration,
) -> Result<Vec<Container>, ComposeError> {
    let mut found = look()?;
    for _ in 1..looks {
        if found.iter().all(|one| one.runs() || !one.is_said_to_run()) {
            break;
        }
        std::thread::sleep(pause);
        found = look()?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_of_the_engine_is_read() {
        let found = json!({
            "Id": "4f1e", "Image": "sha256:ab",
            "State": {"Status": "exited", "Pid": 0, "ExitCode": 137},
            "Config": {"Image": "php:8.4-fpm", "Labels": {SERVICE: "php"}},
            "HostConfig": {"NetworkMode": "shop_default"},
            "NetworkSettings": {"IPAddress": "", "Networks": {"shop_default": {"IPAddress": "172.18.0.3"}, "x": {"IPAddress": ""}}},
        });
        let container = Container::of(&found);
        assert_eq!((container.service.as_str(), container.exit_code), ("php", 137));
        assert_eq!(container.addresses, ["172.18.0.3".parse::<IpAddr>().unwrap()]);
        assert!(!container.runs());
        assert_eq!(container.own, ContainerLimits::default());
        let own = |config: Value| own_limits(&config);
        let limits = |thousandths, memory_bytes| ContainerLimits {
            cpu_quota_thousandths: thousandths,
            memory_bytes,
        };
        assert_eq!(
            own(json!({"NanoCpus": 1_500_000_000_u64, "Memory": 1 << 30, "CpuQuota": 0})),
            limits(Some(1_500), 1 << 30)
        );
        assert_eq!(own(json!({"CpuQuota": 50_000, "CpuPeriod": 0})), limits(Some(500), 0));
        assert_eq!(
            own(json!({"CpuQuota": -1, "CpuPeriod": 100_000, "Memory": 0})),
            limits(None, 0)
        );
        let ours = json!({"State": {"Pid": std::process::id()}});
        assert!(Container::of(&ours).runs());
    }

    #[test]
    fn what_ended_names_what_else_has_ended() {
        let of = |id: &str, service: &str, state: &str, code: i64| {
            Container::of(&json!({
                "Id": id, "Config": {"Labels": {SERVICE: service}},
                "State": {"Status": state, "ExitCode": code},
            }))
        };
        let (web, php) = (of("1", "web", "exited", 1), of("2", "php", "exited", 0));
        let all = [web.clone(), php, of("3", "db", "running", 0), of("5", "migrate", "exited", 0)];
        let migrated = json!({"web": {"depends_on": {"migrate": {"condition": "service_completed_successfully"}}}});
        let document = json!({"services": migrated}).as_object().expect("a map").clone();
        let project = Project { directory: "/srv".into(), name: "shop".to_owned(), document };
        let both = "ended with exit code 1 (also ended: `php` with exit code 0)";
        assert_eq!(web.end_in_words(&web.others_ended(&all, &project)), both);
        assert_eq!(
            web.end_in_words(&web.others_ended(&all[..1], &project)),
            "ended with exit code 1"
        );
        let created = of("4", "web", "created", 0);
        assert_eq!(created.end_in_words(&created.others_ended(&all[2..], &project)), "is created");
    }

    #[test]
    fn an_engine_that_is_late_to_know_of_an_end_is_asked_again() {
        let of = |pid: u32, state: &str| {
            Container::of(&json!({"State": {"Status": state, "Pid": pid, "ExitCode": 7}}))
        };
        // No process has this number: it is above the kernel's limit.
        let gone = 1 << 23;
        let mut answers = vec![of(0, "exited"), of(gone, "running"), of(gone, "running")];
        let mut look = || Ok(vec![answers.pop().unwrap()]);
        let found = settled(&mut look, 9, Duration::ZERO).unwrap();
        assert_eq!((found[0].state.as_str(), found[0].exit_code), ("exited", 7));
        // One that stays unseen belongs to an engine whose processes are hidden.
        let mut looks = 0;
        let found = settled(
            || {
                looks += 1;
                Ok(vec![of(gone, "running")])
            },
            4,
            Duration::ZERO,
        );
        assert!(found.unwrap()[0].is_said_to_run());
        assert_eq!(looks, 4);
        // One that runs is asked for once.
        let mut looks = 0;
        let own = std::process::id();
        let found = settled(
            || {
                looks += 1;
                Ok(vec![of(own, "running"), of(0, "exited")])
            },
            4,
            Duration::ZERO,
        );
        assert!(found.unwrap()[0].runs());
        assert_eq!(looks, 1);
    }
}
