//! Changes a rendered project into one that can run beside the user's own, within a budget: it
//! takes no port, name, volume or directory of the machine.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use stampede_model::fact::containers::OwnLimit;
use stampede_model::words;

use crate::engine::parent_name;
use crate::mount_forms::{ShortMount, fits_short};
use crate::php_ini::PhpFiles;
use crate::project::{Project, Target};
use crate::variables::{doubled, plain};

/// What the edited project gets.
pub struct Edit<'a> {
    /// The label that everything of the stack has.
    pub stack: &'a str,
    /// The driver that keeps what the containers print.
    pub log_driver: &'a str,
    /// The group of each service within the budget.
    pub groups: &'a BTreeMap<String, PathBuf>,
    /// Limits of services that have no group.
    pub limits: &'a Limits,
    /// Services beside the budget.
    pub beside: &'a [String],
    /// CPUs of those; empty: all.
    pub cpus_beside: &'a [usize],
    /// Images of services that are built.
    pub images: &'a BTreeMap<String, String>,
    /// Variables of the services within the budget.
    pub env: &'a BTreeMap<String, String>,
    /// Declared volumes, by their key, and the volume of the engine that takes their place.
    pub volumes: &'a BTreeMap<String, String>,
    /// Copies of directories and files that the project mounts.
    pub copies: &'a BTreeMap<PathBuf, PathBuf>,
    /// The service whose port is published, and the address of this machine where it is.
    pub published: Option<(&'a Target, SocketAddrV4)>,
    /// What the PHP of services reads beside its own files of php.ini.
    pub php: &'a BTreeMap<String, PhpFiles>,
}

/// Limits of a service alone, where services cannot share a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The CPUs, as a list of the kernel; empty: all.
    pub cpus: String,
    /// A fraction of them; `None`: all.
    pub cpu_quota: Option<f64>,
    /// Bytes; 0: no limit.
    pub memory_bytes: u64,
}

/// Keys of a service that could collide with the machine, or with the budget.
const REMOVED: [&str; 14] = [
    "ports",
    "restart",
    "annotations",
    "labels",
    "build",
    "pull_policy",
    "develop",
    "cpuset",
    "cgroup_parent",
    "logging",
    "cpu_rt_period",
    "cpu_rt_runtime",
    "oom_kill_disable",
    "oom_score_adj",
];

impl Edit<'_> {
    /// The whole edited document.
    pub fn apply(&self, project: &Project) -> Value {
        let mut document = project.document.clone();
        document.remove("name");
        document.retain(|key, _| !key.starts_with("x-"));
        let addressed = networks_with_addresses(project);
        if let Some(Value::Object(networks)) = document.get_mut("networks") {
            for (key, network) in networks {
                edit_network(network, addressed.contains(key));
            }
        }
        self.edit_volumes(&mut document);
        if let Some(Value::Object(services)) = document.get_mut("services") {
            for (name, service) in services {
                let keeps_check = project.is_waited_for_until_healthy(name);
                if let Value::Object(service) = service {
                    self.edit_service(name, service, keeps_check);
                }
            }
        }
        Value::Object(document)
    }

    fn edit_service(&self, name: &str, service: &mut Map<String, Value>, keeps_check: bool) {
        for key in REMOVED {
            service.remove(key);
        }
        if let Some(Value::Object(deploy)) = service.get_mut("deploy") {
            for key in ["restart_policy", "placement", "update_config", "rollback_config"] {
                deploy.remove(key);
            }
        }
        service.insert("restart".to_owned(), json!("no"));
        service.insert("logging".to_owned(), json!({"driver": self.log_driver}));
        // Other services may know it by this name.
        if let Some(Value::String(own)) = service.remove("container_name") {
            add_alias(service, &own);
        }
        if !keeps_check {
            service.insert("healthcheck".to_owned(), json!({"disable": true}));
        }
        if let Some(image) = self.images.get(name) {
            service.insert("image".to_owned(), json!(image));
        }
        service.insert("labels".to_owned(), json!({LABEL: self.stack}));
        self.edit_mounts(service);
        self.limit(name, service);
        if !self.beside.iter().any(|beside| beside == name) {
            add_variables(service, self.env);
        }
        if let Some(files) = self.php.get(name) {
            files.add_to(service);
        }
        if let Some((target, place)) = self.published.filter(|(target, _)| target.service == name) {
            let published = format!("{place}:{}", target.port);
            service.insert("ports".to_owned(), json!([published]));
        }
    }

    /// Gives a service its place: its group within the budget, or limits of its own.
    fn limit(&self, name: &str, service: &mut Map<String, Value>) {
        if self.beside.iter().any(|beside| beside == name) {
            if !self.cpus_beside.is_empty() {
                let cpus: Vec<String> = self.cpus_beside.iter().map(usize::to_string).collect();
                service.insert("cpuset".to_owned(), json!(cpus.join(",")));
            }
            return;
        }
        if let Some(group) = self.groups.get(name) {
            service.insert("cgroup_parent".to_owned(), json!(parent_name(group)));
            self.limits.drop_looser(service);
            return;
        }
        self.limits.add_to(service);
    }

    /// Puts copies in place of what the project mounts from the machine.
    fn edit_mounts(&self, service: &mut Map<String, Value>) {
        let Some(Value::Array(mounts)) = service.get_mut("volumes") else { return };
        for mount in mounts {
            let Some(found) = Mount::of(mount) else { continue };
            let Some(source) = found.bind_source() else { continue };
            let path = plain(source);
            if let Some(copy) = self.copy_of(Path::new(&path)) {
                *mount = found.bound(&doubled(&copy.display().to_string()), found.is_read_only);
            } else if !found.is_read_only && !is_socket(&path) {
                // A directory of the system, which the trial must not change.
                *mount = found.bound(source, true);
            }
        }
    }

    /// The copy of a path, which may be below one that was copied whole. Read-only mounts see the
    /// copy too: another service may write there.
    fn copy_of(&self, source: &Path) -> Option<PathBuf> {
        let (root, copy) = self.copies.iter().find(|(root, _)| source.starts_with(root))?;
        let below = source.strip_prefix(root).ok()?;
        Some(if below == Path::new("") { copy.clone() } else { copy.join(below) })
    }

    fn edit_volumes(&self, document: &mut Map<String, Value>) {
        let Some(Value::Object(volumes)) = document.get_mut("volumes") else { return };
        for (key, volume) in volumes {
            *volume = match self.volumes.get(key) {
                Some(name) => json!({"external": true, "name": name}),
                None => new_volume(volume, self.stack),
            };
        }
    }
}

/// The label of everything that belongs to a stack.
pub const LABEL: &str = "org.stampede.stack";

/// A volume that is new in each trial. One in memory stays one: it is another thing to measure than a disk.
fn new_volume(given: &Value, stack: &str) -> Value {
    let options = given["driver_opts"]
        .as_object()
        .filter(|options| options.get("type") == Some(&json!("tmpfs")));
    let labels = json!({LABEL: stack});
    match options {
        Some(options) => json!({"driver_opts": options, "labels": labels}),
        None => json!({"labels": labels}),
    }
}

/// A network of the project becomes the stack's own, also one that exists outside the project: on
/// that one the stack's services would answer for the user's. Its addresses are chosen anew unless
/// services ask for addresses of theirs: the user's own project may have them now.
fn edit_network(network: &mut Value, keeps_addresses: bool) {
    if network.is_null() || is_external(network) {
        *network = json!({});
    }
    let Value::Object(network) = network else { return };
    network.remove("name");
    // Of the kinds of networks, a bridge needs nothing of the machine, and can be reached from it.
    if network.get("driver").is_some_and(|driver| driver != "bridge") {
        network.remove("driver");
        network.remove("driver_opts");
    }
    if !keeps_addresses {
        for key in ["ipam", "enable_ipv4", "enable_ipv6"] {
            network.remove(key);
        }
    }
    if let Some(Value::Object(options)) = network.get_mut("driver_opts") {
        options.remove("com.docker.network.bridge.name");
    }
}

/// The networks in which a service has an address of its own choice.
fn networks_with_addresses(project: &Project) -> BTreeSet<String> {
    let all = project.services().filter_map(|(_, service)| service["networks"].as_object());
    let has_address = |network: &Value| {
        ["ipv4_address", "ipv6_address"].iter().any(|key| network[*key].is_string())
    };
    let addressed = all.flatten().filter(|(_, network)| has_address(network));
    addressed.map(|(key, _)| key.clone()).collect()
}

/// Whether a network or volume is one that exists outside the project.
pub fn is_external(thing: &Value) -> bool {
    match &thing["external"] {
        Value::Bool(external) => *external,
        other => other.is_object(),
    }
}

/// Lets the other services of its networks find a service by this name.
fn add_alias(service: &mut Map<String, Value>, name: &str) {
    if service.contains_key("network_mode") {
        return;
    }
    let given = service.remove("networks").unwrap_or_else(|| json!({"default": null}));
    let mut networks: Map<String, Value> = match given {
        Value::Object(networks) => networks,
        Value::Array(list) => {
            let names = list.iter().filter_map(Value::as_str);
            names.map(|name| (name.to_owned(), Value::Null)).collect()
        }
        _ => Map::new(),
    };
    for network in networks.values_mut() {
        if network.is_null() {
            *network = json!({});
        }
        let aliases = network["aliases"].as_array().cloned().unwrap_or_default();
        network["aliases"] = aliases.into_iter().chain([json!(name)]).collect();
    }
    service.insert("networks".to_owned(), Value::Object(networks));
}

/// As [`Edit`] adds variables to a service.
pub fn add_variables_to(service: &mut Value, env: &BTreeMap<String, String>) {
    if let Value::Object(service) = service {
        add_variables(service, env);
    }
}

/// The limits of a service that its project's files set; `None`: there are none.
pub fn own_limit(name: &str, service: &Value) -> Option<OwnLimit> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let first = |deployed: &str, own: &str| {
        let deployed = text(&service["deploy"]["resources"]["limits"][deployed]);
        if deployed.is_empty() { text(&service[own]) } else { deployed }
    };
    let (cpus, memory) = (first("cpus", "cpus"), first("memory", "mem_limit"));
    let is_some = !cpus.is_empty() || !memory.is_empty();
    // Compose tools print bytes.
    let memory = memory.parse().map_or(memory, |bytes: u64| words::bytes(bytes as f64));
    is_some.then(|| OwnLimit { service: name.to_owned(), cpus, memory })
}

/// Adds variables to a service. A `$` would be read as the begin of a name.
fn add_variables(service: &mut Map<String, Value>, env: &BTreeMap<String, String>) {
    if env.is_empty() {
        return;
    }
    let mut all = variables(service.get("environment").unwrap_or(&Value::Null));
    for (name, value) in env {
        all.insert(name.clone(), json!(value.replace('$', "$$")));
    }
    service.insert("environment".to_owned(), Value::Object(all.into_iter().collect()));
}

/// The variables of a service, from both forms: a map, or a list of `NAME=VALUE`.
pub fn variables(environment: &Value) -> BTreeMap<String, Value> {
    match environment {
        Value::Object(map) => map.clone().into_iter().collect(),
        Value::Array(list) => {
            let one = |item: &Value| {
                let text = item.as_str()?;
                let (name, value) = match text.split_once('=') {
                    Some((name, value)) => (name, json!(value)),
                    None => (text, Value::Null),
                };
                Some((name.to_owned(), value))
            };
            list.iter().filter_map(one).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// A mount of a service, read from either form.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount {
    /// The path of the machine, or the volume's key; `None`: an anonymous volume.
    pub source: Option<String>,
    /// The path inside the container.
    pub target: String,
    /// Whether the container may not write there.
    pub is_read_only: bool,
    /// The long form, where it is one.
    long: Option<Map<String, Value>>,
    /// How the short form asks SELinux to label the files: `z` or `Z`.
    label: Option<String>,
    /// How the short form says that mounts below it are passed on: `rslave`.
    propagation: Option<String>,
}

impl Mount {
    /// `None`: it is no mount of a volume, a directory or a file.
    pub fn of(value: &Value) -> Option<Mount> {
        match value {
            Value::String(short) => {
                let short = ShortMount::of(short)?;
                Some(Mount {
                    source: short.source.map(str::to_owned),
                    target: short.target.to_owned(),
                    is_read_only: short.mode.split(',').any(|word| word == "ro"),
                    long: None,
                    label: short.label(),
                    propagation: short.propagation(),
                })
            }
            Value::Object(long) => {
                let kind = long.get("type").and_then(Value::as_str).unwrap_or("volume");
                if !matches!(kind, "bind" | "volume") {
                    return None;
                }
                let text = |key: &str| long.get(key).and_then(Value::as_str).map(str::to_owned);
                Some(Mount {
                    source: text("source"),
                    target: text("target")?,
                    is_read_only: long.get("read_only") == Some(&json!(true)),
                    long: Some(long.clone()),
                    label: None,
                    propagation: None,
                })
            }
            _ => None,
        }
    }

    /// The path of the machine that is mounted; `None`: it is a volume.
    pub fn bind_source(&self) -> Option<&str> {
        self.source.as_deref().filter(|source| source.starts_with('/'))
    }

    /// The key of the volume that is mounted; `None`: it is a path, or has no name.
    pub fn volume(&self) -> Option<&str> {
        self.source.as_deref().filter(|source| !source.starts_with(['/', '.', '~']))
    }

    /// The same mount of another path, which is written as in a document.
    pub(crate) fn bound(&self, source: &str, is_read_only: bool) -> Value {
        let Some(label) = self.label.as_ref().filter(|_| fits_short(source)) else {
            return Value::Object(self.long(source, is_read_only));
        };
        // docker-compose 1 has no long form of this.
        let mode = [if is_read_only { "ro" } else { "rw" }, label].into_iter();
        let mode: Vec<&str> = mode.chain(self.propagation.as_deref()).collect();
        json!(format!("{source}:{}:{}", self.target, mode.join(",")))
    }

    /// The same, in the long form whatever it asks for.
    pub(crate) fn long(&self, source: &str, is_read_only: bool) -> Map<String, Value> {
        let mut long = self.long.clone().unwrap_or_default();
        long.insert("type".to_owned(), json!("bind"));
        long.insert("source".to_owned(), json!(source));
        long.insert("target".to_owned(), json!(self.target));
        if is_read_only {
            long.insert("read_only".to_owned(), json!(true));
        }
        // Options of a volume.
        for key in ["consistency", "volume"] {
            long.remove(key);
        }
        for (key, value) in [("propagation", &self.propagation), ("selinux", &self.label)] {
            if let Some(value) = value {
                long.entry("bind").or_insert_with(|| json!({}))[key] = json!(value);
            }
        }
        long
    }
}

/// Paths of the machine that the project may write to, and those that do not exist, which the engine
/// would create in the user's project. Without sockets and without what belongs to the system. A path
/// below another one is not listed.
pub fn written_paths(project: &Project) -> BTreeSet<PathBuf> {
    let mounts = project.services().flat_map(|(_, service)| {
        service["volumes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Mount::of)
            .collect::<Vec<_>>()
    });
    let sources = mounts.filter_map(|mount| {
        let source = plain(mount.bind_source()?);
        let is_copied = !mount.is_read_only || !Path::new(&source).exists();
        (is_copied && !is_of_system(&source) && !is_socket(&source)).then(|| source.into())
    });
    let mut outermost: BTreeSet<PathBuf> = BTreeSet::new();
    // In this order a directory comes before what is in it.
    for path in sources.collect::<BTreeSet<PathBuf>>() {
        if !outermost.iter().any(|root| path.starts_with(root)) {
            outermost.insert(path);
        }
    }
    outermost
}

/// Directories of the system, which are mounted read-only in place of a copy.
fn is_of_system(path: &str) -> bool {
    const OF_SYSTEM: [&str; 12] = [
        "/boot",
        "/dev",
        "/etc",
        "/lib",
        "/lib64",
        "/proc",
        "/run",
        "/sys",
        "/usr",
        "/var/lib/containers",
        "/var/lib/docker",
        "/var/run",
    ];
    let path = Path::new(path);
    path == Path::new("/") || OF_SYSTEM.iter().any(|system| path.starts_with(system))
}

fn is_socket(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
