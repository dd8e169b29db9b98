//! What a project uses that is outside of it: containers and networks of others, and volumes that are
//! directories of this machine.

use std::path::Path;

use serde_json::Value;

use crate::edit::Mount;
use crate::project::Project;

impl Project {
    /// A service that uses a container or a network which is no part of the project, and the line by which it
    /// does; `None`: there is none.
    pub fn with_other_container(&self) -> Option<(&str, String)> {
        self.services().find_map(|(name, service)| Some((name, other_container(service)?)))
    }

    /// The volumes whose files are kept by something else than this machine's disk, such as a network file
    /// system: `files (nfs)`. Those that no service mounts are left out.
    pub fn volumes_elsewhere(&self) -> Vec<String> {
        let volumes = self.document.get("volumes").and_then(Value::as_object);
        let named = volumes.into_iter().flatten().filter(|(key, _)| self.mounts_volume(key));
        named.filter_map(|(key, volume)| Some(format!("{key} ({})", kept_by(volume)?))).collect()
    }

    /// Whether a service mounts this volume.
    fn mounts_volume(&self, key: &str) -> bool {
        self.services().any(|(_, service)| {
            let mounts = service["volumes"].as_array().into_iter().flatten();
            mounts.filter_map(Mount::of).any(|mount| mount.volume() == Some(key))
        })
    }

    /// Mounts volumes that stand for directories of this machine (`o: bind`) as what they are. The engine knows
    /// such a volume only once the user has started the project.
    pub(crate) fn mount_bound_volumes(&mut self) {
        let volumes = self.document.get("volumes").and_then(Value::as_object).cloned();
        let volumes = volumes.unwrap_or_default();
        let directory = self.directory.clone();
        let Some(Value::Object(services)) = self.document.get_mut("services") else { return };
        for service in services.values_mut() {
            let Some(Value::Array(mounts)) = service.get_mut("volumes") else { continue };
            for mount in mounts {
                let bound = Mount::of(mount).and_then(|found| {
                    let path = bound_directory(volumes.get(found.volume()?)?, &directory)?;
                    Some(found.bound(&path, found.is_read_only))
                });
                if let Some(bound) = bound {
                    *mount = bound;
                }
            }
        }
    }
}

/// How a service uses a container or a network of others: `network_mode: container:db`.
fn other_container(service: &Value) -> Option<String> {
    let text = |key: &str| service[key].as_str().unwrap_or_default().to_owned();
    let mode = text("network_mode");
    // The name of a network, too: the service would answer there for those of another project.
    let is_own = ["", "bridge", "default", "host", "none"].contains(&mode.as_str())
        || mode.starts_with("service:");
    if !is_own {
        return Some(format!("network_mode: {mode}"));
    }
    let is_other = |text: &str| text.starts_with("container:");
    let by_mode = ["ipc", "pid"].into_iter().find(|key| is_other(&text(key)));
    let items = |key: &str| service[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    let by_volumes = items("volumes_from").find(|item| is_other(item));
    let by_link = items("external_links").next();
    by_mode
        .map(|key| format!("{key}: {}", text(key)))
        .or_else(|| Some(format!("volumes_from: [{}]", by_volumes?)))
        .or_else(|| Some(format!("external_links: [{}]", by_link?)))
}

/// What keeps a volume's files; `None`: this machine's disk or memory.
fn kept_by(volume: &Value) -> Option<&str> {
    let driver = volume["driver"].as_str().filter(|driver| *driver != "local");
    const OF_NETWORKS: [&str; 8] =
        ["9p", "ceph", "cifs", "davfs", "glusterfs", "nfs", "nfs4", "smb3"];
    let kind = volume["driver_opts"]["type"].as_str();
    driver.or(kind.filter(|kind| OF_NETWORKS.contains(kind) || kind.starts_with("fuse")))
}

/// The directory or file of this machine that a volume stands for; `None`: it is no such volume.
fn bound_directory(volume: &Value, project: &Path) -> Option<String> {
    let options = &volume["driver_opts"];
    let is_bound = options["o"].as_str()?.split(',').any(|word| word == "bind" || word == "rbind");
    let device = options["device"].as_str().filter(|device| is_bound && !device.is_empty())?;
    let path = if device.starts_with('.') { project.join(device) } else { device.into() };
    path.is_absolute().then(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn project(document: Value) -> Project {
        let Value::Object(document) = document else { panic!("a map") };
        Project { directory: "/srv/shop".into(), name: "shop".to_owned(), document }
    }

    #[test]
    fn what_belongs_to_others_is_found() {
        for (service, expected) in [
            (json!({"network_mode": "container:db"}), Some("network_mode: container:db")),
            (json!({"network_mode": "traefik_default"}), Some("network_mode: traefik_default")),
            (json!({"pid": "container:x"}), Some("pid: container:x")),
            (
                json!({"volumes_from": ["php:ro", "container:x"]}),
                Some("volumes_from: [container:x]"),
            ),
            (json!({"external_links": ["redis_1:redis"]}), Some("external_links: [redis_1:redis]")),
            (json!({"network_mode": "service:php", "pid": "host", "external_links": []}), None),
            (json!({"network_mode": "none", "volumes_from": ["php"], "ipc": "shareable"}), None),
            (json!({}), None),
        ] {
            let project = project(json!({"services": {"db": {}, "web": service}}));
            let expected = expected.map(|line| ("web", line.to_owned()));
            assert_eq!(project.with_other_container(), expected);
        }
    }

    #[test]
    fn volumes_of_other_machines_are_found() {
        let nfs =
            json!({"driver_opts": {"type": "nfs", "o": "addr=10.0.0.9,rw", "device": ":/files"}});
        let project = project(json!({
            "services": {
                "web": {"volumes": ["files:/files:ro", "plain:/plain", "memory:/tmp", "disk:/disk", "./x:/x"]},
                "db": {"volumes": [{"type": "volume", "source": "cloud", "target": "/data"}]},
            },
            "volumes": {
                "files": nfs, "unused": nfs, "plain": null, "cloud": {"driver": "rexray/ebs"},
                "memory": {"driver": "local", "driver_opts": {"type": "tmpfs", "device": "tmpfs"}},
                "disk": {"driver_opts": {"type": "ext4", "device": "/dev/sdb1"}},
            },
        }));
        assert_eq!(project.volumes_elsewhere(), ["files (nfs)", "cloud (rexray/ebs)"]);
    }

    #[test]
    fn a_volume_that_is_a_directory_is_mounted_as_one() {
        let mut project = project(json!({
            "services": {"web": {"volumes": [
                "data:/data:ro",
                {"type": "volume", "source": "files", "target": "/files", "volume": {"nocopy": true}},
                "named:/named", "tmp:/tmp", "/srv/x:/x", "/anonymous",
            ]}, "php": {}},
            "volumes": {
                "data": {"driver_opts": {"type": "none", "o": "bind", "device": "/srv/data"}},
                "files": {"driver_opts": {"o": "rw,bind", "device": "./files"}},
                "named": null,
                "tmp": {"driver_opts": {"type": "tmpfs", "o": "size=1m", "device": "tmpfs"}},
            },
        }));
        project.mount_bound_volumes();
        assert_eq!(
            project.document["services"]["web"]["volumes"],
            json!([
                {"type": "bind", "source": "/srv/data", "target": "/data", "read_only": true},
                {"type": "bind", "source": "/srv/shop/./files", "target": "/files"},
                "named:/named", "tmp:/tmp", "/srv/x:/x", "/anonymous",
            ])
        );
    }
}
