//! What is special to the skeletons that many projects come from.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::edit::variables;
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
/// `None`: it answers on any name, or is none.
pub fn https_name(service: &Value) -> Option<String> {
    let all = variables(&service["environment"]);
    let name = all.get("SERVER_NAME")?.as_str()?.to_owned();
    let first = name.split([',', ' ']).find(|one| !one.is_empty())?;
    let is_plain = first.starts_with(':') || first.starts_with("http://") || first.contains(":80");
    (!is_plain).then_some(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_without_a_port_is_served_by_https() {
        let name = |value: &str| https_name(&json!({"environment": {"SERVER_NAME": value}}));
        for https in ["localhost", "localhost, php:80", "shop.example", "https://shop.example"] {
            assert_eq!(name(https).as_deref(), Some(https));
        }
        for plain in [":80", "http://localhost", "php:80, localhost", ""] {
            assert_eq!(name(plain), None, "{plain}");
        }
        assert_eq!(https_name(&json!({})), None);
    }
}
