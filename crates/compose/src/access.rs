//! What services may do to the machine: a trial keeps it, since they may need it.

use serde_json::Value;

use crate::project::Project;

/// Keys with a value of this kind.
const SHARED: [&str; 4] = ["pid", "ipc", "uts", "cgroup"];

/// The services that are less isolated than a container usually is, each with the keys that say so:
/// `web (privileged, pid: host)`.
pub fn with_access(project: &Project) -> Vec<String> {
    let one = |(name, service): (&str, &Value)| {
        let privileged = (service["privileged"] == true).then(|| "privileged".to_owned());
        let shared = SHARED.into_iter().filter(|key| service[*key] == "host");
        let shared = shared.map(|key| format!("{key}: host"));
        let has_devices = service["devices"].as_array().is_some_and(|all| !all.is_empty());
        let devices = has_devices.then(|| "devices".to_owned());
        let all: Vec<String> = privileged.into_iter().chain(shared).chain(devices).collect();
        (!all.is_empty()).then(|| format!("{name} ({})", all.join(", ")))
    };
    project.services().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_reaches_beyond_the_container_is_named() {
        let Value::Object(document) = json!({"services": {
            "a": {"privileged": true, "pid": "host", "devices": ["/dev/null"]},
            "b": {"privileged": false, "ipc": "shareable", "devices": []},
            "c": {"cgroup": "host"},
        }}) else {
            panic!("a map")
        };
        let project = Project { directory: "/srv".into(), name: "srv".to_owned(), document };
        assert_eq!(
            with_access(&project),
            ["a (privileged, pid: host, devices)", "c (cgroup: host)"]
        );
    }
}
