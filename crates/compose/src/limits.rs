//! Limits of a service alone, where services cannot share a group: those of the budget, or the project's
//! own where these are lower.

use serde_json::{Map, Value, json};

use crate::edit::Limits;

/// The length of the period that `cpu_quota` is a part of, in µs, where the project names none.
const PERIOD_US: f64 = 100_000.0;

impl Limits {
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
        let deployed = limit_of(service, "cpus").as_ref().and_then(number);
        let period = service.get("cpu_period").and_then(number).filter(|period| *period > 0.0);
        let quota = service.get("cpu_quota").and_then(number).filter(|quota| *quota > 0.0);
        let quota = quota.map(|quota| quota / period.unwrap_or(PERIOD_US));
        let own = [deployed, service.get("cpus").and_then(number), quota].into_iter().flatten();
        let own = own.filter(|cpus| *cpus > 0.0).reduce(f64::min);
        let least = own.into_iter().chain(self.cpu_quota).reduce(f64::min);
        let Some(least) = least else { return };
        // Two places or two forms of a limit at once are an error of the tools.
        for key in ["cpus", "cpu_quota", "cpu_period"] {
            service.remove(key);
        }
        match deployed.is_some() {
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
