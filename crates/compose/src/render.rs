//! Renders a project where no tool does: podman-compose shows no rendered project, or not a whole one. The result is
//! what docker-compose prints, also that dollar signs stand twice.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::edit::{Mount, variables};
use crate::error::{ComposeError, FileProblem};
use crate::layers::{Included, Reader, Tags, absolute_paths, by_name, merge, variables_of_file};
use crate::mount_forms::ShortMount;
use crate::variables::{Unset, doubled, interpolate};

/// The document of the files. `look`: the values of variables.
///
/// # Errors
/// A file cannot be read, a variable is missing that must be there, or a service names what is not declared.
pub(crate) fn document(
    files: &[PathBuf],
    directory: &Path,
    look: &dyn Fn(&str) -> Option<String>,
) -> Result<Map<String, Value>, ComposeError> {
    let (problems, unset) = (RefCell::new(Vec::new()), RefCell::new(Unset::default()));
    let reader = Reader {
        tags: Tags::Refused,
        prepare: &|document, included| {
            let look = |name: &str| look(name).or_else(|| included.get(name).cloned());
            interpolate(document, &look, &mut unset.borrow_mut());
            give_values(document, &look, included);
        },
        problem: &|file, problem| problems.borrow_mut().push((file.to_owned(), problem)),
    };
    let mut document = Map::new();
    for file in files {
        merge(&mut document, &reader.load(file).unwrap_or_default());
    }
    let first = problems.into_inner().into_iter().next();
    if let Some((file, problem)) = first {
        return Err(ComposeError::File { file, problem });
    }
    if let Some((name, message)) = unset.into_inner().required.into_iter().next() {
        return Err(ComposeError::Variable { name, message, example: None });
    }
    if !document.get("services").is_some_and(Value::is_object) {
        let file = files.first().cloned().unwrap_or_default();
        return Err(ComposeError::File { file, problem: FileProblem::NoServices {} });
    }
    absolute_paths(&mut document, directory);
    let services = document.get_mut("services").and_then(Value::as_object_mut);
    for (name, service) in services.into_iter().flatten() {
        if let Value::Object(service) = service {
            settle(name, service, look)?;
        }
    }
    check_names(&document)?;
    let mut document = Value::Object(document);
    double_dollars(&mut document);
    let Value::Object(document) = document else { return Ok(Map::new()) };
    Ok(document)
}

/// Gives variables of a file the values that they have there: those of services only if it is included, since the
/// value of another file may take their place.
fn give_values(
    document: &mut Map<String, Value>,
    look: &dyn Fn(&str) -> Option<String>,
    included: &Included,
) {
    for kind in ["configs", "secrets"] {
        let all = document.get_mut(kind).and_then(Value::as_object_mut);
        for one in all.into_iter().flatten().filter_map(|(_, one)| one.as_object_mut()) {
            if let Some(value) = one.get("environment").and_then(Value::as_str).and_then(look) {
                one.remove("environment");
                one.insert("content".to_owned(), json!(value));
            }
        }
    }
    if included.is_empty() {
        return;
    }
    let services = document.get_mut("services").and_then(Value::as_object_mut);
    for (_, service) in services.into_iter().flatten() {
        for place in ["/environment", "/build/args"] {
            let Some(given) = service.pointer_mut(place) else { continue };
            let mut all = variables(given);
            for (name, value) in all.iter_mut().filter(|(_, value)| value.is_null()) {
                *value = look(name).map_or(Value::Null, Value::String);
            }
            *given = Value::Object(all.into_iter().collect());
        }
    }
}

/// Brings a service into its long form, with the variables of its files.
fn settle(
    name: &str,
    service: &mut Map<String, Value>,
    look: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ComposeError> {
    service.retain(|_, value| !value.is_null());
    for key in FLAGS {
        if let Some(flag) = service.get_mut(key) {
            match flag.as_str() {
                Some("true") => *flag = json!(true),
                Some("false") => *flag = json!(false),
                _ => {}
            }
        }
    }
    let mut all = Map::new();
    for file in service.remove("env_file").iter().filter_map(Value::as_array).flatten() {
        let path = file.as_str().or_else(|| file["path"].as_str()).unwrap_or_default();
        let path = PathBuf::from(path);
        if !path.is_file() {
            if file["required"] == false {
                continue;
            }
            let service = name.to_owned();
            return Err(ComposeError::NoEnvFile { service, file: path, example: None });
        }
        all.extend(variables_of_file(&path).into_iter().map(|(name, value)| (name, json!(value))));
    }
    all.extend(variables(service.get("environment").unwrap_or(&Value::Null)));
    let all = known_values(all, look);
    if !all.is_empty() {
        service.insert("environment".to_owned(), Value::Object(all));
    } else {
        service.remove("environment");
    }
    if let Some(build) = service.get_mut("build") {
        if let Value::String(context) = build {
            *build = json!({"context": context});
        }
        if let Value::Object(build) = build {
            let given = variables(build.get("args").unwrap_or(&Value::Null));
            let all = known_values(given.into_iter().collect(), look);
            build.remove("args");
            if !all.is_empty() {
                build.insert("args".to_owned(), Value::Object(all));
            }
        }
    }
    if let Some(others) = service.get_mut("depends_on") {
        let mut all = by_name(others);
        for how in all.values_mut().filter(|how| how["condition"].is_null()) {
            *how = json!({"condition": "service_started"});
        }
        *others = Value::Object(all);
    }
    let mounts = service.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let mut written = mounts.filter_map(Value::as_str);
    if let Some(wrong) = written.find(|text| ShortMount::of(text).is_none()) {
        let (service, mount) = (name.to_owned(), wrong.to_owned());
        return Err(ComposeError::WrongMount { service, mount });
    }
    if let Some(Value::Array(ports)) = service.get_mut("ports") {
        *ports = ports.iter().flat_map(each_port).collect();
    }
    if let Some(networks) = service.get_mut("networks") {
        *networks = Value::Object(by_name(networks));
    }
    Ok(())
}

/// A range of ports as single ports inside the container; anything else as it is.
fn each_port(port: &Value) -> Vec<Value> {
    let text = port.as_str().unwrap_or_default();
    let (ports, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let inside = ports.rsplit(':').next().unwrap_or_default().split_once('-');
    let range = inside.and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    match range {
        Some::<(u16, u16)>((first, last)) => {
            (first..=last).map(|port| json!(format!("{port}/{protocol}"))).collect()
        }
        None => vec![port.clone()],
    }
}

/// Keys whose value is true or false, also where a variable gave it.
const FLAGS: [&str; 5] = ["init", "privileged", "read_only", "stdin_open", "tty"];

/// Variables as texts. One without a value has that of the user's own, or is left out.
fn known_values(
    given: Map<String, Value>,
    look: &dyn Fn(&str) -> Option<String>,
) -> Map<String, Value> {
    let known = |(name, value): (String, Value)| {
        let value = match value {
            Value::Null => look(&name)?,
            Value::String(text) => text,
            other => other.to_string(),
        };
        Some((name, json!(value)))
    };
    given.into_iter().filter_map(known).collect()
}

/// Refuses services that use what is not declared, as the tools do.
fn check_names(document: &Map<String, Value>) -> Result<(), ComposeError> {
    let names = |kind: &str| -> BTreeSet<&str> {
        let all = document.get(kind).and_then(Value::as_object).into_iter().flatten();
        all.map(|(name, _)| name.as_str()).collect()
    };
    let (services, networks, volumes) = (names("services"), names("networks"), names("volumes"));
    let (configs, secrets) = (names("configs"), names("secrets"));
    for (service, value) in document["services"].as_object().into_iter().flatten() {
        let keys = |key: &str| {
            let all = value[key].as_object().into_iter().flatten();
            all.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let sources = |place: &str| {
            let all = value.pointer(place).and_then(Value::as_array).into_iter().flatten();
            let names = all.filter_map(|one| one.as_str().or_else(|| one["source"].as_str()));
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let mounts = value["volumes"].as_array().into_iter().flatten().filter_map(Mount::of);
        let mounted = mounts.filter_map(|mount| mount.volume().map(str::to_owned)).collect();
        for (kind, used, known) in [
            ("service", keys("depends_on"), &services),
            ("network", keys("networks"), &networks),
            ("volume", mounted, &volumes),
            ("config", sources("/configs"), &configs),
            ("secret", sources("/secrets"), &secrets),
            ("secret", sources("/build/secrets"), &secrets),
        ] {
            let is_known = |name: &String| {
                known.contains(name.as_str()) || kind == "network" && name == "default"
            };
            if let Some(name) = used.into_iter().find(|name| !is_known(name)) {
                let service = service.clone();
                return Err(ComposeError::Undeclared { service, kind, name, example: None });
            }
        }
        for (kind, place) in
            [("configs", "/configs"), ("secrets", "/secrets"), ("secrets", "/build/secrets")]
        {
            for name in sources(place) {
                // One that has a value is no name of a variable any more.
                if let Some(variable) = document[kind][&name]["environment"].as_str() {
                    let message = format!("`{name}` in `{kind}` has its value");
                    let name = variable.to_owned();
                    return Err(ComposeError::Variable { name, message, example: None });
                }
            }
        }
    }
    Ok(())
}

/// Every text with its dollar signs twice, as in a file.
fn double_dollars(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('$') => *text = doubled(text),
        Value::Array(items) => items.iter_mut().for_each(double_dollars),
        Value::Object(map) => map.values_mut().for_each(double_dollars),
        _ => {}
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
