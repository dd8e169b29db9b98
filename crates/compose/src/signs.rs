//! Recognises a development configuration, which most repositories hold: what it measures is not
//! what production would serve.

use std::path::Path;

use serde_json::Value;
use stampede_model::fact::containers::DevelopmentSign;

use crate::edit::{Mount, variables};
use crate::project::Project;

/// Values of `APP_ENV` and its like that mean development.
const DEVELOPMENT: [&str; 4] = ["dev", "develop", "development", "local"];
/// The variables that name the environment.
const ENVIRONMENT: [&str; 5] =
    ["APP_ENV", "SYMFONY_ENV", "CI_ENVIRONMENT", "YII_ENV", "APPLICATION_ENV"];
/// The variables that turn debugging on.
const DEBUG: [&str; 4] = ["APP_DEBUG", "WORDPRESS_DEBUG", "WP_DEBUG", "YII_DEBUG"];
/// Files by which a directory of PHP code is recognised.
const OF_CODE: [&str; 5] =
    ["composer.json", "index.php", "artisan", "public/index.php", "web/index.php"];

/// What in the project shows a development configuration, each sign once. Services beside the
/// budget do not count. `env` is what stampede adds.
pub fn development_signs(
    project: &Project,
    beside: &[String],
    env: &std::collections::BTreeMap<String, String>,
) -> Vec<DevelopmentSign> {
    let mut signs: Vec<DevelopmentSign> = Vec::new();
    for (name, service) in
        project.services().filter(|(name, _)| !beside.iter().any(|one| one == name))
    {
        let of_variables = variable_signs(service, env);
        let of_code = mounted_code(service).map(|path| {
            let service = name.to_owned();
            DevelopmentSign::MountedCode { service, path }
        });
        for sign in of_variables.into_iter().chain(of_code) {
            if !signs.iter().any(|known| is_same(known, &sign)) {
                signs.push(sign);
            }
        }
    }
    signs
}

/// Whether two signs show the same. Several services may mount the same code.
fn is_same(one: &DevelopmentSign, other: &DevelopmentSign) -> bool {
    use DevelopmentSign::MountedCode;
    match (one, other) {
        (MountedCode { path, .. }, MountedCode { path: other, .. }) => path == other,
        (one, other) => one == other,
    }
}

fn variable_signs(
    service: &Value,
    env: &std::collections::BTreeMap<String, String>,
) -> Vec<DevelopmentSign> {
    let all = variables(&service["environment"]);
    let is_sign = |name: &str, value: &str| {
        let value = value.to_ascii_lowercase();
        ENVIRONMENT.contains(&name) && DEVELOPMENT.contains(&value.as_str())
            || DEBUG.contains(&name) && matches!(value.as_str(), "1" | "true" | "on" | "yes")
            || name == "XDEBUG_MODE" && !value.is_empty() && value != "off"
    };
    let given =
        all.into_iter().filter(|(name, _)| !env.contains_key(name)).filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => text,
                Value::Null => return None,
                other => other.to_string(),
            };
            Some((name, value))
        });
    let given = given.chain(env.clone());
    given
        .filter(|(name, value)| is_sign(name, value))
        .map(|(variable, value)| DevelopmentSign::Variable { variable, value })
        .collect()
}

/// A directory of code that is mounted from the machine; `None`: there is none.
fn mounted_code(service: &Value) -> Option<String> {
    let mounts = service["volumes"].as_array().into_iter().flatten().filter_map(Mount::of);
    let mut sources = mounts.filter_map(|mount| mount.bind_source().map(str::to_owned));
    sources.find(|source| OF_CODE.iter().any(|file| Path::new(source).join(file).is_file()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn signs(document: Value, env: &[(&str, &str)]) -> Vec<String> {
        let Value::Object(document) = document else { panic!("a map") };
        let project = Project { directory: "/srv".into(), name: "srv".to_owned(), document };
        let env: BTreeMap<String, String> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        development_signs(&project, &["db".to_owned()], &env)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn variables_of_development_are_signs_unless_they_are_overridden() {
        let services = || {
            json!({"services": {
                "php": {"environment": {"APP_ENV": "dev", "APP_DEBUG": 1, "XDEBUG_MODE": "develop,debug", "A": null}},
                "web": {"environment": ["APP_ENV=local", "APP_DEBUG=false", "XDEBUG_MODE=off"]},
                "db": {"environment": {"APP_ENV": "development"}},
            }})
        };
        assert_eq!(
            signs(services(), &[]),
            ["APP_DEBUG=1", "APP_ENV=dev", "XDEBUG_MODE=develop,debug", "APP_ENV=local"]
        );
        let env = [("APP_ENV", "prod"), ("APP_DEBUG", "0"), ("XDEBUG_MODE", "off")];
        assert_eq!(signs(services(), &env), [""; 0]);
    }

    #[test]
    fn code_that_is_mounted_is_a_sign_and_other_mounts_are_not() {
        let code = tempfile::tempdir().unwrap();
        std::fs::write(code.path().join("composer.json"), "{}").unwrap();
        let other = tempfile::tempdir().unwrap();
        let mount = |path: &Path| json!({"services": {"php": {"volumes": [format!("{}:/app", path.display())]}}});
        let found = signs(mount(code.path()), &[]);
        assert_eq!(
            found,
            [format!("the code of service php is mounted from {}", code.path().display())]
        );
        assert_eq!(signs(mount(other.path()), &[]), [""; 0]);
    }
}
