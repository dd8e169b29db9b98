//! The health checks of a project. At a start stampede runs them itself until they succeed once, and during a
//! load none of them runs.

use serde_json::Value;

use crate::dockerfile;
use crate::project::Project;
use crate::variables::plain;

/// The services among these of which a check runs during a load: others wait for it, and the project or their image has
/// it. `of_image`: whether an image has one.
pub fn running(
    project: &Project,
    names: Vec<String>,
    of_image: impl Fn(&str) -> bool,
) -> Vec<String> {
    let has_check = |service: &Value| {
        let own = &service["healthcheck"];
        if own["disable"] == true || !own["test"].is_null() {
            return check(service).is_some();
        }
        match dockerfile::built_image(service) {
            Some(built) => built.has_check.unwrap_or_else(|| of_image(&built.base)),
            None => service["image"].as_str().is_some_and(&of_image),
        }
    };
    let runs = |name: &String| {
        project.is_waited_for_until_healthy(name) && project.service(name).is_some_and(has_check)
    };
    names.into_iter().filter(runs).collect()
}

/// The command of a service's check, for `exec` in its container; `None`: it has none, or it is off.
pub fn check(service: &Value) -> Option<Vec<String>> {
    let check = &service["healthcheck"];
    if check["disable"] == true {
        return None;
    }
    let by_shell =
        |text: &str| ["sh", "-c"].map(str::to_owned).into_iter().chain([plain(text)]).collect();
    match &check["test"] {
        Value::String(text) => Some(by_shell(text)),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                ["CMD-SHELL", text, ..] => Some(by_shell(text)),
                ["CMD", command @ ..] if !command.is_empty() => {
                    Some(command.iter().map(|word| plain(word)).collect())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A service without one was named, too.
    #[test]
    fn only_checks_that_exist_run_during_a_load() {
        let waits = |names: &[&str]| -> Value {
            let all = names.iter().map(|name| (*name, json!({"condition": "service_healthy"})));
            all.collect()
        };
        let built = |text: &str| json!({"context": "/srv", "dockerfile_inline": text});
        let document = json!({"services": {
            "web": {"depends_on": waits(&["db", "none", "off", "empty", "image", "own", "base", "stopped", "timed"])},
            "db": {"image": "a", "healthcheck": {"test": "true"}},
            "none": {"image": "a"},
            "off": {"image": "with-check", "healthcheck": {"disable": true}},
            "empty": {"image": "with-check", "healthcheck": {"test": ["NONE"]}},
            "image": {"image": "with-check"},
            "own": {"build": built("FROM a\nHEALTHCHECK --interval=1s CMD true\n")},
            "base": {"build": built("FROM with-check AS x\nFROM x\n")},
            "stopped": {"build": built("FROM with-check\nhealthcheck none\n")},
            "timed": {"image": "with-check", "healthcheck": {"interval": "3s"}},
            "alone": {"image": "with-check", "healthcheck": {"test": "true"}},
        }});
        let Value::Object(document) = document else { panic!("a map") };
        let project = Project { directory: "/srv".into(), name: "shop".to_owned(), document };
        let names = project.services().map(|(name, _)| name.to_owned()).collect();
        let found = running(&project, names, |image| image == "with-check");
        assert_eq!(found, ["db", "image", "own", "base", "timed"]);
    }

    #[test]
    fn a_check_is_read_in_each_of_its_forms() {
        let of = |test: Value| {
            check(&json!({"healthcheck": {"test": test}})).map(|words| words.join("|"))
        };
        let shell = Some("sh|-c|pg_isready -U $USER".to_owned());
        assert_eq!(of(json!("pg_isready -U $$USER")), shell);
        assert_eq!(of(json!(["CMD-SHELL", "pg_isready -U $$USER"])), shell);
        assert_eq!(of(json!(["CMD", "mysqladmin", "ping"])).as_deref(), Some("mysqladmin|ping"));
        for none in [json!(["NONE"]), json!(["CMD"]), json!([]), json!(null), json!(["a", "b"])] {
            assert_eq!(of(none.clone()), None, "{none}");
        }
        assert_eq!(check(&json!({})), None);
        assert_eq!(check(&json!({"healthcheck": {"disable": true, "test": "true"}})), None);
    }
}
