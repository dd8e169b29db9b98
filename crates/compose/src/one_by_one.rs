//! What podman-compose is given: a document that each of its versions understands, and for each service the
//! options that its documents have no word for. Services start one by one, since it has options for all at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::client::Client;
use crate::edit::{LABEL, variables};
use crate::health;
use crate::mount_forms::options_of_strange;
use crate::mounted_file::{Declared, MountedFile, Way, for_podman};
use crate::variables::{doubled, plain};

/// The label by which networks and volumes of a project are found.
const PROJECT: &str = "com.docker.compose.project";

/// A project for podman-compose.
#[derive(Debug, Default)]
pub(crate) struct OneByOne {
    pub document: Map<String, Value>,
    /// Commands of the client that create networks and volumes.
    pub creations: Vec<Vec<String>>,
    /// Files that are mounted: configurations and secrets that are not files of the machine as they shall be.
    pub files: BTreeMap<PathBuf, MountedFile>,
    /// In the order in which they start.
    pub services: Vec<ServiceStart>,
}

/// How a service starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServiceStart {
    pub name: String,
    /// Options of `podman run`.
    pub options: Vec<String>,
    /// Options that end with the id of another service's container, and what follows it.
    pub shared: Vec<(&'static str, String, String)>,
    /// Variables with secrets: they are not written on a command line, which everybody may read.
    pub secrets: Vec<(String, String)>,
    /// Services that it waits for, and until when.
    pub waits: Vec<(String, Condition)>,
    /// Networks that its options name.
    pub networks: Vec<String>,
    /// What podman-compose cannot do.
    pub refused: Option<String>,
    /// The line that says how it uses a network of another kind; `None`: it uses those of the project.
    pub network_mode: Option<String>,
}

/// What a service waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Started,
    Healthy,
    Completed,
}

impl OneByOne {
    /// `project` and `stack`: the names that everything has as its label. `directory` is where the files will be
    /// written.
    pub fn of(
        mut document: Map<String, Value>,
        (project, stack): (&str, &str),
        directory: &Path,
    ) -> OneByOne {
        // An own pod would be an own group beside that of the budget.
        document.insert("x-podman".to_owned(), json!({"in_pod": false}));
        let mut declared = Declared::take(&mut document, directory);
        let mut starts = BTreeMap::new();
        let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let services = document.get_mut("services").and_then(Value::as_object_mut);
        for (name, service) in services.into_iter().flatten() {
            let Value::Object(service) = service else { continue };
            let start = ServiceStart { name: name.clone(), ..Default::default() };
            let mut change = Change { start, service, project };
            for (other, alias) in change.apply(&mut declared) {
                aliases.entry(other).or_default().push(alias);
            }
            change.start.options.push(format!("--label={LABEL}={stack}"));
            starts.insert(name.clone(), change.start);
        }
        for (name, start) in &mut starts {
            let known = aliases.remove(name).unwrap_or_default();
            start.add_aliases(known.iter().map(String::as_str));
        }
        let mut creations = Vec::new();
        let services = document.get("services").cloned().unwrap_or_default();
        let more = starts.values().flat_map(|start| start.networks.iter().cloned()).collect();
        create_networks(&mut document, (&services, more), (project, stack), &mut creations);
        create_volumes(&mut document, (project, stack), &mut creations);
        OneByOne { document, creations, files: declared.files, services: in_order(starts) }
    }

    /// Starts this service after all others, unless one of them waits for it. Other tools start at the same time
    /// what nothing orders, and nginx ends where the name of its PHP-FPM is not known yet.
    pub fn start_last(&mut self, name: &str) {
        let needs = |start: &ServiceStart| {
            start.waits.iter().any(|(other, _)| other == name)
                || start.shared.iter().any(|(_, other, _)| other == name)
        };
        let place = self.services.iter().position(|start| start.name == name);
        let is_needed = self.services.iter().any(|start| start.name != name && needs(start));
        if let Some(place) = place.filter(|_| !is_needed) {
            self.services[place..].rotate_left(1);
        }
    }
}

impl ServiceStart {
    /// Lets other services know it by these names, too. Podman takes an option for all that podman-compose says of
    /// names, so its own name is repeated.
    fn add_aliases<'a>(&mut self, aliases: impl Iterator<Item = &'a str>) {
        let mut names = aliases.peekable();
        let own = names.peek().is_some().then(|| self.name.clone());
        let all = own.into_iter().chain(names.map(str::to_owned));
        for option in all.map(|name| format!("--network-alias={name}")) {
            if !self.options.contains(&option) {
                self.options.push(option);
            }
        }
    }
}

/// A service that is changed.
struct Change<'a> {
    start: ServiceStart,
    service: &'a mut Map<String, Value>,
    /// The name of the stack's project.
    project: &'a str,
}

/// Keys that are an option of `podman run` with the same value, or one for each item.
const OPTIONS: [(&str, &str); 21] = [
    ("cgroup", "--cgroupns"),
    ("cgroup_parent", "--cgroup-parent"),
    ("cpuset", "--cpuset-cpus"),
    ("cpu_period", "--cpu-period"),
    ("cpu_quota", "--cpu-quota"),
    ("device_cgroup_rules", "--device-cgroup-rule"),
    ("dns", "--dns"),
    ("dns_opt", "--dns-option"),
    ("dns_search", "--dns-search"),
    ("group_add", "--group-add"),
    ("ipc", "--ipc"),
    ("mac_address", "--mac-address"),
    ("mem_swappiness", "--memory-swappiness"),
    ("memswap_limit", "--memory-swap"),
    ("pid", "--pid"),
    ("pids_limit", "--pids-limit"),
    ("platform", "--platform"),
    ("stop_grace_period", ""),
    ("sysctls", "--sysctl"),
    ("userns_mode", "--userns"),
    ("uts", "--uts"),
];

impl Change<'_> {
    /// Returns the names by which it knows other services.
    fn apply(&mut self, declared: &mut Declared<'_>) -> Vec<(String, String)> {
        self.service.retain(|_, value| !value.is_null());
        self.move_shared();
        self.move_options();
        self.move_networks();
        self.move_secrets();
        self.mount(Declared::CONFIGS, declared);
        self.mount(Declared::SECRETS, declared);
        self.start.options.extend(options_of_strange(self.service));
        self.write_check();
        self.set_copies();
        if let Some(hosts) = self.service.remove("extra_hosts") {
            let hosts = items(&hosts, ':').into_iter().map(|host| host.replacen('=', ":", 1));
            self.service.insert("extra_hosts".to_owned(), hosts.collect());
        }
        self.move_waits()
    }

    fn move_waits(&mut self) -> Vec<(String, String)> {
        let depends = self.service.remove("depends_on").unwrap_or_default();
        for name in items(&depends, '=').into_iter().map(|item| first(&item, '=')) {
            let condition = match depends[name.as_str()]["condition"].as_str() {
                Some("service_healthy") => Condition::Healthy,
                Some("service_completed_successfully") => Condition::Completed,
                _ => Condition::Started,
            };
            self.start.waits.push((name, condition));
        }
        let links = self.service.remove("links").unwrap_or_default();
        let links = items(&links, ':');
        let known = |name: &String| self.start.waits.iter().any(|(known, _)| known == name);
        let more: BTreeSet<String> =
            links.iter().map(|link| first(link, ':')).filter(|name| !known(name)).collect();
        self.start.waits.extend(more.into_iter().map(|name| (name, Condition::Started)));
        let named = links.iter().filter_map(|link| link.split_once(':'));
        named.map(|(name, alias)| (name.to_owned(), alias.to_owned())).collect()
    }

    fn move_options(&mut self) {
        for (key, option) in OPTIONS {
            let Some(value) = self.service.remove(key).filter(|_| !option.is_empty()) else {
                continue;
            };
            let all =
                items(&value, '=').into_iter().map(|item| format!("{option}={}", plain(&item)));
            self.start.options.extend(all);
        }
    }

    /// What it shares with the container of another service.
    fn move_shared(&mut self) {
        for (key, option) in [("ipc", "--ipc=container:"), ("pid", "--pid=container:")] {
            let other = self.service.get(key).and_then(Value::as_str);
            if let Some(other) = other.and_then(|mode| mode.strip_prefix("service:")) {
                self.start.shared.push((option, other.to_owned(), String::new()));
                self.service.remove(key);
            }
        }
        let others = self.service.remove("volumes_from").unwrap_or_default();
        for item in items(&others, ':') {
            let (name, mode) = item.split_once(':').unwrap_or((&item, ""));
            let mode = if mode.is_empty() { String::new() } else { format!(":{mode}") };
            self.start.shared.push(("--volumes-from=", name.to_owned(), mode));
        }
    }

    /// Networks become a list, which every version reads.
    fn move_networks(&mut self) {
        let mode = self.service.get("network_mode").and_then(Value::as_str).map(str::to_owned);
        if let Some(mode) = mode.filter(|mode| !["bridge", "default"].contains(&mode.as_str())) {
            let other = mode.strip_prefix("service:").map(str::to_owned);
            self.start.waits.extend(other.map(|other| (other, Condition::Started)));
            self.start.network_mode = Some(format!("network_mode: {mode}"));
            self.service.remove("networks");
            return;
        }
        self.service.remove("network_mode");
        let networks = self.service.remove("networks").unwrap_or_default();
        let mut names: Vec<String> =
            items(&networks, '=').into_iter().map(|item| first(&item, '=')).collect();
        for (_, network) in networks.as_object().into_iter().flatten() {
            let aliases = network["aliases"].as_array().into_iter().flatten();
            self.start.add_aliases(aliases.filter_map(Value::as_str));
        }
        if names.is_empty() {
            names.push("default".to_owned());
        }
        if let [only] = names.as_slice() {
            let all = addresses(&networks[only]).into_iter();
            self.start.options.extend(all.map(|(name, address)| format!("--{name}={address}")));
        } else if names.iter().any(|name| !addresses(&networks[name]).is_empty()) {
            self.add_networks(&mut names, &networks);
        }
        self.service.insert("networks".to_owned(), json!(names));
    }

    /// Leaves podman-compose one of several networks, and gives Podman the others with their addresses: it takes
    /// no address beside several names.
    fn add_networks(&mut self, names: &mut Vec<String>, networks: &Value) {
        let free = names.iter().position(|name| addresses(&networks[name]).is_empty());
        let Some(free) = free else {
            self.start.refused = Some("an address in each of several networks".to_owned());
            return;
        };
        let left = names.swap_remove(free);
        for name in std::mem::replace(names, vec![left]) {
            let all = addresses(&networks[&name]).into_iter();
            let all: Vec<String> = all.map(|(name, address)| format!("{name}={address}")).collect();
            let sign = if all.is_empty() { "" } else { ":" };
            let option = format!("--network={}_{name}{sign}{}", self.project, all.join(","));
            self.start.options.push(option);
            self.start.networks.push(name);
        }
    }

    /// Variables become texts: podman-compose would write `True`. Secrets come from its own environment.
    fn move_secrets(&mut self) {
        let mut all = variables(self.service.get("environment").unwrap_or(&Value::Null));
        all.retain(|_, value| !value.is_null());
        for (name, value) in &mut all {
            let written = text(value);
            let known = plain(&written);
            let is_moved = Client::Podman.is_hidden(name, &known);
            *value = if is_moved { Value::Null } else { json!(written) };
            if is_moved {
                self.start.secrets.push((name.clone(), known));
            }
        }
        self.service.insert("environment".to_owned(), Value::Object(all.into_iter().collect()));
    }

    /// Files of configurations or secrets are mounted.
    fn mount(&mut self, kind: &'static str, declared: &mut Declared<'_>) {
        let used = self.service.remove(kind).unwrap_or_default();
        let mut left = Vec::new();
        for one in used.as_array().into_iter().flatten() {
            let name = one.as_str().or_else(|| one["source"].as_str()).unwrap_or_default();
            let source = match declared.way(kind, name, one) {
                Way::Mount(source) => source,
                Way::Unknown(what) => {
                    self.start.refused = Some(what);
                    continue;
                }
                Way::OfPodman => {
                    if kind == Declared::CONFIGS {
                        self.start.refused = Some(format!("configs: {name}"));
                    }
                    left.push(for_podman(one));
                    continue;
                }
            };
            let has_owner = declared.files.get(&source).is_some_and(MountedFile::has_owner);
            if has_owner && self.start.options.iter().any(|one| one.starts_with("--userns=")) {
                self.start.refused = Some(format!("an owner of {kind}: {name} and `userns_mode`"));
            }
            let target = one["target"].as_str().unwrap_or(name);
            // A path from the root stays as it is.
            let target = Path::new(if kind == Declared::SECRETS { "/run/secrets" } else { "/" })
                .join(target);
            let source = doubled(&source.display().to_string());
            let mount =
                json!({"type": "bind", "source": source, "target": target, "read_only": true});
            match self.service.get_mut("volumes") {
                Some(Value::Array(mounts)) => mounts.push(mount),
                _ => drop(self.service.insert("volumes".to_owned(), json!([mount]))),
            }
        }
        if !left.is_empty() {
            self.service.insert(kind.to_owned(), Value::Array(left));
        }
    }

    /// The command of a check as one text, and none in the form that every version reads.
    fn write_check(&mut self) {
        let Some(check) = self.service.remove("healthcheck") else { return };
        let command = health::check(&json!({"healthcheck": check}));
        let is_off = check["disable"] == true || check["test"] == json!(["NONE"]);
        let test = match command.as_deref() {
            _ if is_off => json!(["NONE"]),
            Some([_, _, line]) if check["test"].is_string() => json!(doubled(line)),
            Some(words) => json!(doubled(&shell_words::join(words))),
            None => return,
        };
        let mut changed = Map::from_iter([("test".to_owned(), test)]);
        for key in ["interval", "timeout", "start_period", "retries"] {
            if let Some(value) = check.get(key).filter(|value| !value.is_null() && !is_off) {
                changed.insert(key.to_owned(), value.clone());
            }
        }
        self.service.insert("healthcheck".to_owned(), Value::Object(changed));
    }

    /// The number of containers, where it is in the older place.
    fn set_copies(&mut self) {
        let Some(number) = self.service.remove("scale") else { return };
        let deploy = self.service.entry("deploy").or_insert_with(|| json!({}));
        if deploy["replicas"].is_null() {
            deploy["replicas"] = number;
        }
    }
}

/// The addresses that a service has in a network, as Podman names them.
fn addresses(network: &Value) -> Vec<(&'static str, String)> {
    let all = [("ipv4_address", "ip"), ("ipv6_address", "ip6")].into_iter();
    all.filter_map(|(key, name)| Some((name, network[key].as_str()?.to_owned()))).collect()
}

/// The networks that services use are created before, with all that the document says of them.
fn create_networks(
    document: &mut Map<String, Value>,
    (services, more): (&Value, BTreeSet<String>),
    (project, stack): (&str, &str),
    creations: &mut Vec<Vec<String>>,
) {
    let declared = document.remove("networks").unwrap_or_default();
    let all = services.as_object().into_iter().flatten();
    let listed: BTreeSet<String> =
        all.flat_map(|(_, service)| items(&service["networks"], '=')).collect();
    let mut networks = Map::new();
    for key in listed.union(&more) {
        let network = &declared[key.as_str()];
        let name = format!("{project}_{key}");
        let mut words = creation("network", project, stack);
        for (key, option) in [("internal", "--internal"), ("enable_ipv6", "--ipv6")] {
            words.extend((network[key] == true).then(|| option.to_owned()));
        }
        for range in network["ipam"]["config"].as_array().into_iter().flatten() {
            for (key, option) in
                [("subnet", "--subnet"), ("gateway", "--gateway"), ("ip_range", "--ip-range")]
            {
                words.extend(range[key].as_str().map(|value| format!("{option}={value}")));
            }
        }
        let size = &network["driver_opts"]["com.docker.network.driver.mtu"];
        words.extend((!size.is_null()).then(|| format!("--opt=mtu={}", text(size))));
        words.push(name.clone());
        creations.push(words);
        // The first versions refuse networks that no service lists.
        if listed.contains(key) {
            networks.insert(key.clone(), json!({"external": true, "name": name}));
        }
    }
    if !networks.is_empty() {
        document.insert("networks".to_owned(), Value::Object(networks));
    }
}

/// The same of volumes.
fn create_volumes(
    document: &mut Map<String, Value>,
    (project, stack): (&str, &str),
    creations: &mut Vec<Vec<String>>,
) {
    let Some(Value::Object(mut volumes)) = document.remove("volumes") else { return };
    for (key, volume) in &mut volumes {
        if crate::edit::is_external(volume) {
            continue;
        }
        let name = format!("{project}_{key}");
        let mut words = creation("volume", project, stack);
        let options = volume["driver_opts"].as_object().into_iter().flatten();
        words.extend(options.map(|(name, value)| format!("--opt={name}={}", plain(&text(value)))));
        words.push(name.clone());
        creations.push(words);
        *volume = json!({"external": true, "name": name});
    }
    document.insert("volumes".to_owned(), Value::Object(volumes));
}

fn creation(kind: &str, project: &str, stack: &str) -> Vec<String> {
    let labels = [format!("--label={PROJECT}={project}"), format!("--label={LABEL}={stack}")];
    [kind.to_owned(), "create".to_owned()].into_iter().chain(labels).collect()
}

/// Services after those that they wait for or share something with. Those that wait for each other come last.
fn in_order(mut left: BTreeMap<String, ServiceStart>) -> Vec<ServiceStart> {
    let mut ordered: Vec<ServiceStart> = Vec::new();
    while !left.is_empty() {
        let is_free = |start: &ServiceStart| {
            let waits = start.waits.iter().map(|(name, _)| name);
            let shared = start.shared.iter().map(|(_, name, _)| name);
            waits.chain(shared).all(|name| *name == start.name || !left.contains_key(name))
        };
        let next = left.values().find(|start| is_free(start)).or(left.values().next());
        let Some(name) = next.map(|start| start.name.clone()) else { break };
        ordered.extend(left.remove(&name));
    }
    ordered
}

/// A value as texts: each item of a list, `KEY=VALUE` of each pair of a map, or one.
fn items(value: &Value, sign: char) -> Vec<String> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(list) => list.iter().map(text).collect(),
        Value::Object(map) => {
            let pair = |(key, value): (&String, &Value)| match value {
                Value::Null | Value::Object(_) => key.clone(),
                other => format!("{key}{sign}{}", text(other)),
            };
            map.iter().map(pair).collect()
        }
        one => vec![text(one)],
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn first(item: &str, sign: char) -> String {
    item.split(sign).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[path = "one_by_one_tests.rs"]
mod tests;
