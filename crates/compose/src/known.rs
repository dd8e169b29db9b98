//! What is special to the skeletons that many projects come from.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::dockerfile;
use crate::edit::{Mount, variables};
use crate::project::{Project, Target};

/// The skeleton that a project comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// None that is known.
    Plain,
    /// Laravel Sail, which serves the app with PHP's development server unless it is told otherwise.
    Sail {
        /// Whether the app has Laravel Octane.
        has_octane: bool,
    },
    /// Symfony Docker, and what was derived from it: FrankenPHP, whose Caddy asks for HTTPS by default.
    SymfonyDocker,
    /// DDEV, whose files are no compose project before it has rendered them.
    Ddev {
        /// Whether it has: `ddev start` does.
        is_rendered: bool,
        /// `nginx-fpm`, `apache-fpm` or another one; empty: not said.
        webserver: String,
        /// PHP's version as the configuration has it; empty: not said.
        php: String,
    },
}

impl Kind {
    /// The kind of a project, by what its measured service is given.
    pub fn of(project: &Project, target: &Target, directory: &Path) -> Kind {
        let service = project.service(&target.service).cloned().unwrap_or_default();
        let has = |name: &str| variables(&service["environment"]).contains_key(name);
        if has("LARAVEL_SAIL") {
            let text = fs::read_to_string(directory.join("composer.json")).unwrap_or_default();
            return Kind::Sail { has_octane: text.contains("\"laravel/octane\"") };
        }
        let build = service["build"]["target"].as_str().unwrap_or_default();
        if has("SERVER_NAME")
            && (build.starts_with("frankenphp") || has("MERCURE_PUBLISHER_JWT_KEY"))
        {
            return Kind::SymfonyDocker;
        }
        Kind::Plain
    }
}

/// The name by which a server with Caddy asks for HTTPS, which a load by plain HTTP cannot follow;
/// `None`: it answers on any name, or is none. `image_variables`: what an image sets that is not built.
pub fn https_name(
    service: &Value,
    image_variables: impl Fn(&str) -> BTreeMap<String, String>,
) -> Option<String> {
    let all = variables(&service["environment"]);
    let own = all.get("SERVER_NAME").and_then(Value::as_str).map(str::to_owned);
    let name = own.or_else(|| name_of_image(service, image_variables))?;
    let first = name.split([',', ' ']).find(|one| !one.is_empty())?;
    let is_plain = first.starts_with(':') || first.starts_with("http://") || first.contains(":80");
    (!is_plain).then_some(name)
}

/// The name that a service has where only its image says one.
fn name_of_image(
    service: &Value,
    image_variables: impl Fn(&str) -> BTreeMap<String, String>,
) -> Option<String> {
    let mut mounts = service["volumes"].as_array().into_iter().flatten().filter_map(Mount::of);
    let is_configured = mounts.any(|mount| {
        ["/etc/caddy", "/etc/frankenphp"].iter().any(|place| mount.target.starts_with(place))
    });
    if is_configured {
        return None;
    }
    let (image, variables) = match dockerfile::built_image(service) {
        Some(built) if built.has_caddyfile => return None,
        Some(built) => (built.base, built.variables),
        None => {
            let image = service["image"].as_str()?;
            (image.to_owned(), image_variables(image))
        }
    };
    // The Caddyfile of FrankenPHP's images has this name, where nobody names another.
    let by_default = || image.contains("frankenphp").then(|| "localhost".to_owned());
    variables.get("SERVER_NAME").cloned().or_else(by_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_without_a_port_is_served_by_https() {
        let none = |_: &str| BTreeMap::new();
        let name = |value: &str| https_name(&json!({"environment": {"SERVER_NAME": value}}), none);
        for https in ["localhost", "localhost, php:80", "shop.example", "https://shop.example"] {
            assert_eq!(name(https).as_deref(), Some(https));
        }
        for plain in [":80", "http://localhost", "php:80, localhost", ""] {
            assert_eq!(name(plain), None, "{plain}");
        }
        assert_eq!(https_name(&json!({}), none), None);
        let franken = "dunglas/frankenphp:php8.4";
        assert_eq!(https_name(&json!({"image": franken}), none).as_deref(), Some("localhost"));
        let set = |_: &str| BTreeMap::from([("SERVER_NAME".to_owned(), ":8080".to_owned())]);
        assert_eq!(https_name(&json!({"image": franken}), set), None);
        let mounted =
            json!({"image": franken, "volumes": ["./Caddyfile:/etc/frankenphp/Caddyfile"]});
        assert_eq!(https_name(&mounted, none), None);
        let built = |rest: &str| {
            let text = format!("FROM {franken} AS base\nFROM base\n{rest}\n");
            https_name(&json!({"build": {"context": "/srv", "dockerfile_inline": text}}), none)
        };
        assert_eq!(built("RUN true").as_deref(), Some("localhost"));
        assert_eq!(built("ENV SERVER_NAME=:80"), None);
        assert_eq!(built("COPY docker/Caddyfile /etc/frankenphp/"), None);
        assert_eq!(https_name(&json!({"image": "nginx"}), none), None);
    }
}
