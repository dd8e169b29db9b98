//! What an engine says of itself, and what follows for a measurement.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use serde_json::Value;
use stampede_keeper::spec::GroupMaker;

use crate::engine::{EngineKind, Grouping, WayIn};
use crate::error::ComposeError;

/// Whether an engine is older than the oldest that is tried.
fn is_old(version: &str, oldest: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let known = numbers.next().zip(numbers.next());
    known.is_some_and(|known| known < oldest)
}

/// The name that images have for an architecture of the kernel.
fn image_architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "armv7l" | "armv6l" => "arm",
        "i686" | "i386" => "386",
        other => other,
    }
}

/// Engines that run in a virtual machine of their own, as they call their system.
const IN_MACHINES: [&str; 3] = ["Docker Desktop", "OrbStack", "Rancher"];

/// Where stampede runs.
pub(crate) struct Here {
    /// The release of the kernel.
    pub kernel: String,
    /// Whether this process may make groups.
    pub is_root: bool,
    /// Whether it is in a container, and so may be in the virtual machine of an engine.
    pub is_in_container: bool,
    /// Whether the engine's socket is an ordinary user's: Podman does not say that it runs without root.
    pub is_socket_of_user: bool,
    /// Whether systemd answers this process.
    pub reaches_systemd: fn() -> bool,
}

impl Here {
    /// Looks at this machine.
    pub fn look() -> Here {
        let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
        let is_in_container =
            ["/.dockerenv", "/run/.containerenv"].iter().any(|file| Path::new(file).exists());
        let socket = std::env::var("DOCKER_HOST").unwrap_or_default();
        let socket = socket.strip_prefix("unix://").and_then(|path| std::fs::metadata(path).ok());
        Here {
            kernel,
            is_root: rustix::process::geteuid().is_root(),
            is_in_container,
            is_socket_of_user: socket.is_some_and(|socket| socket.uid() != 0),
            reaches_systemd: stampede_keeper::reaches_systemd,
        }
    }

    /// Whether an engine with this system and kernel is in another machine, also a virtual one. In Windows'
    /// subsystem for Linux all have one kernel, and the engine hides its processes all the same.
    fn is_outside(&self, system: &str, kernel: &str) -> bool {
        let is_desktop = IN_MACHINES.iter().any(|name| system.contains(name));
        let is_known = !kernel.is_empty() && kernel != "<unknown>";
        let is_other = is_known && three_numbers(kernel) != three_numbers(&self.kernel);
        is_other || is_desktop && !self.is_in_container
    }
}

/// A release of the kernel as Docker writes it: `6.11-amd64` becomes `6.11.0-amd64`.
fn three_numbers(release: &str) -> String {
    let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    let (numbers, rest) = release.split_at(end);
    match numbers.matches('.').count() {
        1 => format!("{numbers}.0{rest}"),
        _ => release.to_owned(),
    }
}

/// What `info` says of an engine.
pub(crate) struct EngineFacts {
    pub kind: EngineKind,
    pub version: String,
    pub architecture: String,
    pub grouping: Grouping,
    pub way_in: WayIn,
}

impl EngineFacts {
    /// Reads what the client's `info` printed. `is_podman`: asks whether an engine whose version is none of
    /// Docker's is Podman.
    ///
    /// # Errors
    /// The engine is too old, or its processes cannot be seen from here.
    pub fn of(
        info: &Value,
        here: &Here,
        is_podman: impl Fn() -> bool,
    ) -> Result<EngineFacts, ComposeError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let system = text(&info["OperatingSystem"]);
        if here.is_outside(&system, &text(&info["KernelVersion"])) {
            return Err(ComposeError::EngineHidden { system });
        }
        let security = info["SecurityOptions"].as_array().cloned().unwrap_or_default();
        let version = text(&info["ServerVersion"]);
        let kind = match is_old(&version, EngineKind::Docker.oldest()) && is_podman() {
            true => EngineKind::Podman,
            false => EngineKind::Docker,
        };
        let is_users_podman = kind == EngineKind::Podman && here.is_socket_of_user;
        let is_rootless =
            is_users_podman || security.iter().any(|one| text(one).contains("rootless"));
        let may_group = here.is_root && !is_rootless;
        // Podman ignores limits there, and does not say so.
        let ignores = is_users_podman && text(&info["CgroupVersion"]) == "1";
        let limits_memory = info["MemoryLimit"] != Value::Bool(false) && !ignores;
        let grouping =
            match (text(&info["CgroupDriver"]).as_str(), text(&info["CgroupVersion"]).as_str()) {
                ("none", _) => Grouping::CpusAlone,
                // systemd may not have given the user's engine this controller.
                _ if is_rootless && !limits_memory => Grouping::CpusAlone,
                ("cgroupfs", _) if may_group => Grouping::OneBudget(GroupMaker::Keeper),
                ("systemd", _) if may_group && (here.reaches_systemd)() => {
                    Grouping::OneBudget(GroupMaker::Systemd)
                }
                _ => Grouping::PerService,
            };
        let architecture = text(&info["Architecture"]);
        EngineFacts::checked(kind, &version, &architecture, grouping, is_rootless)
    }

    /// Reads what Podman's own client says by `info`. `is_at_socket`: it talks to a socket of this machine.
    ///
    /// # Errors
    /// As [`EngineFacts::of`].
    pub fn of_podman(
        info: &Value,
        here: &Here,
        is_at_socket: bool,
    ) -> Result<EngineFacts, ComposeError> {
        let host = &info["host"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let is_remote = host["serviceIsRemote"] == true && !is_at_socket;
        if is_remote || here.is_outside("", &text(&host["kernel"])) {
            let distribution = &host["distribution"];
            let system = format!(
                "Podman on {} {}",
                text(&distribution["distribution"]),
                text(&distribution["version"])
            );
            return Err(ComposeError::EngineHidden { system });
        }
        let is_rootless = host["security"]["rootless"] == true;
        let controllers = host["cgroupControllers"].as_array().cloned().unwrap_or_default();
        // systemd may not have given them to the user.
        let has_all =
            ["cpu", "cpuset", "memory"].iter().all(|one| controllers.iter().any(|it| it == one));
        let manager = text(&host["cgroupManager"]);
        let grouping = match (manager.as_str(), text(&host["cgroupVersion"]).as_str()) {
            ("systemd", "v2") if is_rootless && has_all => Grouping::PerService,
            _ if is_rootless => Grouping::CpusAlone,
            ("cgroupfs", _) if here.is_root => Grouping::OneBudget(GroupMaker::Keeper),
            ("systemd", _) if here.is_root && (here.reaches_systemd)() => {
                Grouping::OneBudget(GroupMaker::Systemd)
            }
            _ => Grouping::PerService,
        };
        let version = text(&info["version"]["Version"]);
        let architecture = text(&host["arch"]);
        EngineFacts::checked(EngineKind::Podman, &version, &architecture, grouping, is_rootless)
    }

    fn checked(
        kind: EngineKind,
        version: &str,
        architecture: &str,
        grouping: Grouping,
        is_rootless: bool,
    ) -> Result<EngineFacts, ComposeError> {
        let (name, oldest) = (kind.name(), kind.oldest());
        if is_old(version, oldest) {
            let oldest = format!("{}.{}", oldest.0, oldest.1);
            return Err(ComposeError::EngineOld { name, version: version.to_owned(), oldest });
        }
        Ok(EngineFacts {
            kind,
            version: format!("{name} {version}"),
            architecture: image_architecture(architecture).to_owned(),
            grouping,
            way_in: if is_rootless { WayIn::PublishedPort } else { WayIn::ContainerAddress },
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn here(kernel: &str, is_root: bool) -> Here {
        let (kernel, is_in_container) = (kernel.to_owned(), false);
        let reaches_systemd = || true;
        Here { kernel, is_root, is_in_container, is_socket_of_user: false, reaches_systemd }
    }

    #[test]
    fn an_engine_says_how_its_containers_are_grouped_and_reached() {
        let docker = |driver: &str, system: &str, security: Value, is_root| {
            let (driver, version) = driver.split_once(' ').unwrap_or((driver, "2"));
            let info = json!({
                "ServerVersion": "28.2.2", "CgroupDriver": driver, "OperatingSystem": system,
                "SecurityOptions": security, "CgroupVersion": version,
            });
            EngineFacts::of(&info, &here("6.1.0-9", is_root), || false)
                .map(|facts| (facts.grouping, facts.way_in))
        };
        let (debian, seccomp) = ("Debian GNU/Linux 12 (bookworm)", || json!(["name=seccomp"]));
        let near = |grouping| Some((grouping, WayIn::ContainerAddress));
        let one = |maker| near(Grouping::OneBudget(maker));
        let (own, each) = (one(GroupMaker::Keeper), near(Grouping::PerService));
        assert_eq!(docker("cgroupfs", debian, seccomp(), true).ok(), own);
        assert_eq!(docker("cgroupfs", debian, seccomp(), false).ok(), each, "no group can be made");
        let slices = one(GroupMaker::Systemd);
        assert_eq!(docker("systemd", "Ubuntu 24.04", Value::Null, true).ok(), slices);
        assert_eq!(docker("systemd", "Ubuntu 24.04", Value::Null, false).ok(), each);
        assert_eq!(docker("systemd 1", "Debian GNU/Linux 11", seccomp(), true).ok(), slices);
        assert_eq!(docker("systemd 1", "Debian GNU/Linux 11", seccomp(), false).ok(), each);
        for version in ["1", "2"] {
            let info = json!({"CgroupDriver": "systemd", "CgroupVersion": version});
            let without = Here { reaches_systemd: || false, ..here("6.1", true) };
            let alone = EngineFacts::of(&info, &without, || false).expect("facts");
            assert_eq!(alone.grouping, Grouping::PerService, "a container without its bus");
        }
        let none = docker("none 1", debian, json!(["name=seccomp", "name=rootless"]), false).ok();
        assert_eq!(none, Some((Grouping::CpusAlone, WayIn::PublishedPort)));
        let far = Some((Grouping::PerService, WayIn::PublishedPort));
        assert_eq!(docker("cgroupfs", debian, json!(["name=rootless"]), true).ok(), far);
        let hidden = docker("cgroupfs", "Docker Desktop", seccomp(), true);
        assert!(matches!(hidden, Err(ComposeError::EngineHidden { .. })), "{hidden:?}");
        let desktop = json!({
            "ServerVersion": "28.2.2", "CgroupDriver": "cgroupfs", "OperatingSystem": "Docker Desktop",
            "KernelVersion": "6.10.14-linuxkit",
        });
        let same = here("6.10.14-linuxkit", true);
        let outside = EngineFacts::of(&desktop, &same, || false);
        assert!(matches!(outside, Err(ComposeError::EngineHidden { .. })), "Windows' Linux");
        let same = Here { is_in_container: true, ..same };
        let inside = EngineFacts::of(&desktop, &same, || false).expect("the same kernel");
        assert_eq!(inside.grouping, Grouping::OneBudget(GroupMaker::Keeper));
        let near = |kernel: &str, own: &str| {
            EngineFacts::of(&json!({"KernelVersion": kernel}), &here(own, true), || false).is_ok()
        };
        // Docker prints what it has parsed.
        assert!(
            near("6.11.0-amd64", "6.11-amd64") && near("<unknown>", "6.1") && near("6.8.0", "6.8")
        );
        assert!(!near("6.11.0-amd64", "6.11-arm64") && !near("6.8.1", "6.8"));
        let colima =
            json!({"OperatingSystem": "Ubuntu 24.04.1 LTS", "KernelVersion": "6.8.0-50-generic"});
        let other = EngineFacts::of(&colima, &here("6.1.0-9", true), || false);
        assert!(
            matches!(other, Err(ComposeError::EngineHidden { .. })),
            "a virtual machine without a name"
        );
        let old = json!({"ServerVersion": "18.09.1"});
        let found = EngineFacts::of(&old, &here("6.1", true), || false);
        assert!(matches!(found, Err(ComposeError::EngineOld { name: "Docker", .. })));
        let is_old = |version: &str| is_old(version, EngineKind::Docker.oldest());
        assert!(!is_old("20.10.24+dfsg1") && !is_old("dev") && is_old("20.9.0"));
    }

    #[test]
    fn podman_at_a_socket_is_known() {
        let podman = |version: &str| {
            let info = json!({"ServerVersion": version, "CgroupDriver": "cgroupfs"});
            EngineFacts::of(&info, &here("6.1", true), || true).map(|facts| facts.version)
        };
        assert_eq!(podman("4.3.1").ok().as_deref(), Some("Podman 4.3.1"));
        let of_user = |cgroups: &str| {
            let info = json!({"ServerVersion": "4.3.1", "CgroupDriver": "cgroupfs", "CgroupVersion": cgroups});
            let here = Here { is_socket_of_user: true, ..here("6.1", false) };
            EngineFacts::of(&info, &here, || true).ok().map(|facts| (facts.grouping, facts.way_in))
        };
        assert_eq!(of_user("1"), Some((Grouping::CpusAlone, WayIn::PublishedPort)));
        assert_eq!(of_user("2"), Some((Grouping::PerService, WayIn::PublishedPort)));
        assert!(matches!(podman("3.0.1"), Err(ComposeError::EngineOld { name: "Podman", .. })));
    }

    #[test]
    fn podmans_own_client_says_it_in_another_form() {
        let of = |changed: Value, is_root: bool, is_at_socket: bool| {
            let mut host = json!({
                "arch": "amd64", "cgroupManager": "cgroupfs", "cgroupVersion": "v1", "kernel": "6.1.0-9",
                "cgroupControllers": ["cpu", "cpuset", "memory"], "serviceIsRemote": false,
                "distribution": {"distribution": "fedora", "version": "41"}, "security": {"rootless": false},
            });
            for (key, value) in changed.as_object().expect("a map") {
                host[key] = value.clone();
            }
            let info = json!({"host": host, "version": {"Version": "4.3.1"}});
            EngineFacts::of_podman(&info, &here("6.1.0-9", is_root), is_at_socket)
        };
        let grouping = |changed: Value| {
            let is_root = changed["security"]["rootless"] != true;
            of(changed, is_root, false).map(|facts| (facts.grouping, facts.way_in)).ok()
        };
        let found = of(json!({}), true, false).expect("an engine");
        assert_eq!(
            (found.version.as_str(), found.architecture.as_str()),
            ("Podman 4.3.1", "amd64")
        );
        let near = |grouping| Some((grouping, WayIn::ContainerAddress));
        let far = |grouping| Some((grouping, WayIn::PublishedPort));
        assert_eq!(grouping(json!({})), near(Grouping::OneBudget(GroupMaker::Keeper)));
        let systemd = |version: &str| json!({"cgroupManager": "systemd", "cgroupVersion": version});
        for version in ["v1", "v2"] {
            let found = grouping(systemd(version));
            assert_eq!(found, near(Grouping::OneBudget(GroupMaker::Systemd)), "{version}");
        }
        let rootless = |controllers: Value, version: &str| {
            json!({"security": {"rootless": true}, "cgroupManager": "systemd", "cgroupVersion": version,
                "cgroupControllers": controllers})
        };
        let all = json!(["cpu", "cpuset", "io", "memory", "pids"]);
        assert_eq!(grouping(rootless(all.clone(), "v2")), far(Grouping::PerService));
        assert_eq!(grouping(rootless(json!(["memory", "pids"]), "v2")), far(Grouping::CpusAlone));
        assert_eq!(grouping(rootless(all, "v1")), far(Grouping::CpusAlone));
        let remote = || json!({"serviceIsRemote": true});
        let hidden = of(remote(), true, false).map(drop);
        assert!(
            matches!(&hidden, Err(ComposeError::EngineHidden { system }) if system == "Podman on fedora 41")
        );
        assert!(of(remote(), true, true).is_ok(), "a socket of this machine");
        let machine = of(json!({"kernel": "6.11.5-300.fc41.x86_64"}), true, true);
        assert!(matches!(machine, Err(ComposeError::EngineHidden { .. })));
    }
}
