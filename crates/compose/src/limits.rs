//! Limits of a service alone, where services cannot share a group: those of the budget, or the project's
//! own where these are lower.

use serde_json::{Map, Value, json};

use stampede_linux::cpu_list;

use crate::edit::Limits;
use crate::project::Project;

/// The length of the period that `cpu_quota` is a part of, in µs, where the project names none.
const PERIOD_US: f64 = 100_000.0;

/// Keys of a service that limit it alone, beside `deploy.resources.limits`.
const OWN: [&str; 5] = ["cpus", "cpu_quota", "cpu_period", "mem_limit", "memswap_limit"];

/// Removes the limits of CPU time and memory that the project's files set for single services.
pub fn drop_own(project: &mut Project) {
    let services = project.document.get_mut("services").and_then(Value::as_object_mut);
    for service in services.into_iter().flatten().filter_map(|(_, one)| one.as_object_mut()) {
        for key in OWN {
            service.remove(key);
        }
        if let Some(Value::Object(limits)) =
            resources(service).and_then(|all| all.get_mut("limits"))
        {
            limits.remove("cpus");
            limits.remove("memory");
        }
    }
}

impl Limits {
    /// Removes limits of a service that allow it more CPUs than the budget has: they limit nothing, and the
    /// engine refuses those that are above what the machine has.
    pub(crate) fn drop_looser(&self, service: &mut Map<String, Value>) {
        if own_cpus(service).is_none_or(|own| own < self.whole()) {
            return;
        }
        for key in CPU_TIME {
            service.remove(key);
        }
        if let Some(Value::Object(limits)) =
            resources(service).and_then(|all| all.get_mut("limits"))
        {
            limits.remove("cpus");
        }
    }

    /// The CPUs of the budget.
    fn whole(&self) -> f64 {
        let listed = match cpu_list::parse(&self.cpus).len() {
            0 => f64::INFINITY,
            listed => listed as f64,
        };
        self.cpu_quota.unwrap_or(listed)
    }

    /// Gives a service the limits.
    pub(crate) fn add_to(&self, service: &mut Map<String, Value>) {
        if !self.cpus.is_empty() {
            service.insert("cpuset".to_owned(), json!(self.cpus));
        }
        self.limit_cpu_time(service);
        if self.memory_bytes > 0 {
            self.limit_memory(service);
        }
    }

    fn limit_cpu_time(&self, service: &mut Map<String, Value>) {
        let is_deployed = limit_of(service, "cpus").is_some();
        self.drop_looser(service);
        let least = own_cpus(service).into_iter().chain(self.cpu_quota).reduce(f64::min);
        let Some(least) = least else { return };
        // Two places or two forms of a limit at once are an error of the tools.
        for key in CPU_TIME {
            service.remove(key);
        }
        match is_deployed {
            true => set_limit(service, "cpus", json!(least.to_string())),
            false => {
                service.insert("cpus".to_owned(), json!(least));
            }
        }
    }

    fn limit_memory(&self, service: &mut Map<String, Value>) {
        let deployed = limit_of(service, "memory").as_ref().and_then(bytes);
        let own = service.get("mem_limit").and_then(bytes);
        let least = [deployed, own].into_iter().flatten().filter(|bytes| *bytes > 0);
        let least = least.chain([self.memory_bytes]).min().unwrap_or(self.memory_bytes);
        // A reservation above the limit is an error of the engine, and promises nothing here.
        service.remove("mem_reservation");
        if let Some(Value::Object(reserved)) =
            resources(service).and_then(|all| all.get_mut("reservations"))
        {
            reserved.remove("memory");
        }
        match deployed.is_some() {
            true => {
                service.remove("mem_limit");
                set_limit(service, "memory", json!(least.to_string()));
            }
            false => {
                service.insert("mem_limit".to_owned(), json!(least));
            }
        }
        // Without swap, as in the groups.
        service.insert("memswap_limit".to_owned(), json!(least));
    }
}

/// Keys of a service that limit its CPU time.
const CPU_TIME: [&str; 3] = ["cpus", "cpu_quota", "cpu_period"];

/// The lowest limit of CPU time that a service has of its own, in CPUs.
fn own_cpus(service: &Map<String, Value>) -> Option<f64> {
    let deployed = limit_of(service, "cpus").as_ref().and_then(number);
    let period = service.get("cpu_period").and_then(number).filter(|period| *period > 0.0);
    let quota = service.get("cpu_quota").and_then(number).filter(|quota| *quota > 0.0);
    let quota = quota.map(|quota| quota / period.unwrap_or(PERIOD_US));
    let own = [deployed, service.get("cpus").and_then(number), quota].into_iter().flatten();
    own.filter(|cpus| *cpus > 0.0).reduce(f64::min)
}

fn resources(service: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    match service.get_mut("deploy")?.get_mut("resources")? {
        Value::Object(resources) => Some(resources),
        _ => None,
    }
}

fn limit_of(service: &Map<String, Value>, key: &str) -> Option<Value> {
    service.get("deploy")?.pointer(&format!("/resources/limits/{key}")).cloned()
}

fn set_limit(service: &mut Map<String, Value>, key: &str, value: Value) {
    if let Some(Value::Object(limits)) = resources(service).and_then(|all| all.get_mut("limits")) {
        limits.insert(key.to_owned(), value);
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// An amount of memory as compose files have it: `128m`, `1g`, `134217728`.
fn bytes(value: &Value) -> Option<u64> {
    let text = match value {
        Value::String(text) => text.trim().to_ascii_lowercase(),
        other => return other.as_u64(),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let shift = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return None,
    };
    let number: f64 = digits.parse().ok()?;
    Some((number * (1_u64 << shift) as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(service: Value) -> Value {
        let Value::Object(mut service) = service else { panic!("a map") };
        let limits =
            Limits { cpus: "0,1".to_owned(), cpu_quota: Some(1.5), memory_bytes: 512 << 20 };
        limits.add_to(&mut service);
        Value::Object(service)
    }

    #[test]
    fn lower_limits_of_the_project_stay_and_higher_ones_do_not() {
        let of = |memory: u64, cpus: f64| json!({"cpuset": "0,1", "cpus": cpus, "mem_limit": memory, "memswap_limit": memory});
        assert_eq!(limited(json!({})), of(512 << 20, 1.5));
        assert_eq!(limited(json!({"mem_limit": "128m", "cpus": 0.5})), of(128 << 20, 0.5));
        assert_eq!(limited(json!({"mem_limit": 8_u64 << 30, "cpus": "4"})), of(512 << 20, 1.5));
        assert_eq!(
            limited(json!({"cpu_quota": 50_000, "mem_reservation": "2g"})),
            of(512 << 20, 0.5)
        );
        assert_eq!(
            limited(json!({"cpu_quota": 100_000, "cpu_period": 50_000})),
            of(512 << 20, 1.5)
        );
    }

    /// Docker refuses a limit above the CPUs of the machine.
    #[test]
    fn limits_above_the_budget_are_left_out() {
        let budget = Limits { cpus: "0-3".to_owned(), cpu_quota: None, memory_bytes: 0 };
        let without = |service: Value| {
            let Value::Object(mut service) = service else { panic!("a map") };
            budget.drop_looser(&mut service);
            Value::Object(service)
        };
        let deployed =
            |cpus: &str| json!({"deploy": {"resources": {"limits": {"cpus": cpus, "pids": 9}}}});
        assert_eq!(without(json!({"cpus": 16})), json!({}));
        assert_eq!(without(json!({"cpus": 2})), json!({"cpus": 2}));
        assert_eq!(without(json!({"cpu_quota": 800_000})), json!({}));
        assert_eq!(without(deployed("1")), deployed("1"));
        assert_eq!(
            without(deployed("16")),
            json!({"deploy": {"resources": {"limits": {"pids": 9}}}})
        );
        let mut alone = serde_json::Map::from_iter([("cpus".to_owned(), json!(16))]);
        budget.add_to(&mut alone);
        assert_eq!(Value::Object(alone), json!({"cpuset": "0-3"}), "where services share no group");
    }

    #[test]
    fn a_project_can_be_freed_of_its_limits() {
        let service = json!({"image": "a", "cpus": 1, "mem_limit": "1g", "memswap_limit": "1g",
            "deploy": {"replicas": 2, "resources": {"limits": {"cpus": "1", "memory": "1g", "pids": 9}}}});
        let document = json!({"services": {"php": service, "web": {"image": "b"}}});
        let Value::Object(document) = document else { panic!("a map") };
        let mut project = Project { directory: "/a".into(), name: "a".to_owned(), document };
        drop_own(&mut project);
        let freed =
            json!({"image": "a", "deploy": {"replicas": 2, "resources": {"limits": {"pids": 9}}}});
        assert_eq!(project.service("php"), Some(&freed));
        assert_eq!(project.service("web"), Some(&json!({"image": "b"})));
    }

    #[test]
    fn limits_of_a_deployment_stay_in_their_place() {
        let deployed = |memory: &str, cpus: &str| json!({"deploy": {"resources": {"limits": {"memory": memory, "cpus": cpus}, "reservations": {"memory": "4g"}}}});
        let higher = limited(deployed("8g", "4"));
        let limits = &higher["deploy"]["resources"]["limits"];
        assert_eq!((&limits["memory"], &limits["cpus"]), (&json!("536870912"), &json!("1.5")));
        assert_eq!(higher["deploy"]["resources"]["reservations"], json!({}));
        assert!(higher.get("mem_limit").is_none() && higher.get("cpus").is_none(), "{higher}");
        let lower = limited(deployed("64M", "0.25"));
        let limits = &lower["deploy"]["resources"]["limits"];
        assert_eq!((&limits["memory"], &limits["cpus"]), (&json!("67108864"), &json!("0.25")));
        assert_eq!(lower["memswap_limit"], 64 << 20);
    }

    #[test]
    fn amounts_are_read_as_compose_files_write_them() {
        let read = |text: &str| bytes(&json!(text));
        assert_eq!(read("1.5g"), Some(3 << 29));
        assert_eq!(
            [read("64mb"), read("64MiB"), read("64 m")],
            [Some(64 << 20), Some(64 << 20), None]
        );
        assert_eq!(
            [read("1000"), read("10k"), read("x"), read("")],
            [Some(1_000), Some(10_240), None, None]
        );
    }
}
