//! Services that a proxy in front of them finds by labels or variables: they publish no port themselves.
//!
//! Facts: the documentation of Traefik's Docker provider, of nginx-proxy and of caddy-docker-proxy.

use serde_json::Value;

use crate::choice::is_one_of;
use crate::edit::{Mount, variables};

/// The port that such a proxy takes if nothing names one.
const USUAL_PORT: u16 = 80;

/// Programs that lead requests to the services that they find at the engine, and those that help them.
const PROXIES: [&str; 8] = [
    "acme-companion",
    "caddy-docker-proxy",
    "docker-gen",
    "docker-socket-proxy",
    "letsencrypt-nginx-proxy-companion",
    "nginx-proxy",
    "socket-proxy",
    "traefik",
];

/// Whether a service leads requests to others, or looks at the containers of the whole machine for another reason.
/// It would find those of the user's own projects too.
pub(crate) fn looks_at_engine(name: &str, service: &Value) -> bool {
    let mounts = service["volumes"].as_array().into_iter().flatten();
    let mut sources = mounts.filter_map(Mount::of).filter_map(|mount| mount.source);
    let has_socket = sources
        .any(|source| ["docker.sock", "podman.sock"].iter().any(|socket| source.ends_with(socket)));
    has_socket || is_one_of(name, service, &PROXIES)
}

/// What a service says to a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// The port on which it shall be asked.
    Port(u16),
    /// None. Proxies then take what the image exposes.
    UsualPort,
}

impl Announced {
    /// The port, as far as the project's files tell.
    pub fn port(self) -> u16 {
        match self {
            Announced::Port(port) => port,
            Announced::UsualPort => USUAL_PORT,
        }
    }
}

/// What a service says of itself to a proxy that asks by HTTP. `None`: nothing.
pub(crate) fn announced(service: &Value) -> Option<Announced> {
    // Docker's swarm has the labels of a service there.
    let mut labels = variables(&service["deploy"]["labels"]);
    labels.extend(variables(&service["labels"]));
    let environment = variables(&service["environment"]);
    // docker-compose 1 prints `False` where a file has `false`.
    let is_false = |text: &str| text.eq_ignore_ascii_case("false");
    let is_off =
        |value: &Value| value == &Value::Bool(false) || value.as_str().is_some_and(is_false);
    if labels.get("traefik.enable").is_some_and(is_off) {
        return None;
    }
    let is_known = labels.keys().any(|label| {
        label == "traefik.enable" || label.starts_with("traefik.http.") || is_of_caddy(label)
    });
    let is_named = environment.get("VIRTUAL_HOST").is_some_and(|host| !host.is_null());
    let is_fastcgi = labels.keys().any(|label| label.ends_with("php_fastcgi"))
        || environment.get("VIRTUAL_PROTO").is_some_and(|proto| proto == "fastcgi");
    if is_fastcgi || !is_known && !is_named {
        return None;
    }
    let of_labels = labels.iter().find(|(label, _)| {
        label.ends_with(".loadbalancer.server.port") || label.ends_with("reverse_proxy")
    });
    let named = of_labels.map(|(_, value)| value).or(environment.get("VIRTUAL_PORT"));
    let exposed = service["expose"].as_array().and_then(|all| all.first());
    let port = named.and_then(last_number).or_else(|| exposed.and_then(last_number));
    Some(port.map_or(Announced::UsualPort, Announced::Port))
}

/// Whether a label is caddy-docker-proxy's: `caddy`, `caddy_1.reverse_proxy`.
fn is_of_caddy(label: &str) -> bool {
    let first = label.split('.').next().unwrap_or_default();
    let number = first.strip_prefix("caddy").map(|rest| rest.trim_start_matches('_'));
    number.is_some_and(|number| number.chars().all(|c| c.is_ascii_digit()))
}

/// The port of `80`, `"8080/tcp"`, `app:8080` or `{{upstreams 8080}}`.
fn last_number(value: &Value) -> Option<u16> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.split([' ', ':', '{', '}', '/']).filter_map(|word| word.parse().ok()).next_back()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_tells_a_proxy_its_port_in_every_form() {
        let port = "traefik.http.services.shop.loadbalancer.server.port";
        for (service, expected) in [
            (json!({"labels": {"traefik.enable": "true", port: "8080"}}), Some(8080)),
            (json!({"labels": ["traefik.enable=true", format!("{port}=9501")]}), Some(9501)),
            (json!({"labels": {"traefik.enable": true, port: 8000}}), Some(8000)),
            (
                json!({"labels": {"caddy": "shop.test", "caddy.reverse_proxy": "http://app2"}}),
                Some(80),
            ),
            (json!({"labels": {"caddy": "shop.test", "caddy.reverse_proxy": "app:81"}}), Some(81)),
            (
                json!({"labels": {"caddy": "shop.test", "caddy.php_fastcgi": "{{upstreams 9000}}"}}),
                None,
            ),
            (
                json!({"environment": {"VIRTUAL_HOST": "shop.test", "VIRTUAL_PROTO": "fastcgi"}}),
                None,
            ),
            (json!({"labels": {"traefik.http.routers.shop.rule": "Host(`shop.test`)"}}), Some(80)),
            (json!({"labels": {"traefik.enable": "true"}, "expose": ["8080/tcp"]}), Some(8080)),
            (json!({"labels": {"traefik.enable": "false", port: "80"}}), None),
            (json!({"labels": {"traefik.enable": "False"}}), None),
            (json!({"labels": {"traefik.tcp.routers.db.rule": "HostSNI(`*`)"}}), None),
            (
                json!({"labels": {"caddy": "shop.test", "caddy.reverse_proxy": "{{upstreams 8080}}"}}),
                Some(8080),
            ),
            (
                json!({"labels": {"caddy_0": "shop.test", "caddy_0.reverse_proxy": "{{upstreams}}"}}),
                Some(80),
            ),
            (
                json!({"deploy": {"labels": ["traefik.enable=true", format!("{port}=8080")]}}),
                Some(8080),
            ),
            (json!({"labels": {"caddyfile": "x"}}), None),
            (json!({"environment": ["VIRTUAL_HOST=shop.test", "VIRTUAL_PORT=3000"]}), Some(3000)),
            (json!({"environment": {"VIRTUAL_HOST": null}}), None),
            (json!({"labels": {"com.example": "traefik"}, "environment": {}}), None),
            (json!({}), None),
        ] {
            assert_eq!(announced(&service).map(Announced::port), expected, "{service}");
        }
    }

    #[test]
    fn a_proxy_is_known_by_its_image_or_by_the_engines_socket() {
        let is = |service: Value| looks_at_engine("front", &service);
        assert!(
            is(json!({"image": "traefik:v3.5"}))
                && is(json!({"image": "docker.io/nginxproxy/nginx-proxy"}))
        );
        assert!(is(json!({"build": ".", "volumes": ["/var/run/docker.sock:/tmp/docker.sock:ro"]})));
        let long = json!({"type": "bind", "source": "/run/user/1000/docker.sock", "target": "/s"});
        assert!(is(json!({"image": "x", "volumes": [long]})));
        assert!(!is(json!({"image": "nginx", "volumes": ["./nginx.conf:/etc/nginx/nginx.conf"]})));
    }
}
