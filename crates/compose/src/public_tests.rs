//! Tries projects of others, which are not in this repository: they are rendered, edited, and the
//! result is rendered again.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::edit::{Edit, Limits};
use crate::engine::{Engine, Grouping, WayIn};
use crate::project::Project;
use crate::signs::{Overridden, development_signs};

/// An engine whose compose tool only renders.
fn engine(tool: &str) -> Engine {
    let words: Vec<String> = tool.split(' ').map(str::to_owned).collect();
    let is_first = words.len() == 1;
    Engine {
        client: crate::client::Client::Docker,
        kind: crate::engine::EngineKind::Docker,
        version: "none".to_owned(),
        architecture: "amd64".to_owned(),
        grouping: Grouping::OneBudget(Default::default()),
        way_in: WayIn::ContainerAddress,
        compose: words,
        compose_version: if is_first { "version 1.29" } else { "version v2" }.to_owned(),
        stack: None,
    }
}

fn try_project(engine: &Engine, files: &[PathBuf]) -> Result<String, String> {
    let text = |error: &crate::ComposeError| {
        format!("{error}; hint: {}", error.hint().unwrap_or_default())
    };
    let mut project =
        Project::render(engine, files, &BTreeMap::new()).map_err(|error| text(&error))?;
    let target = project.target(None, None).map_err(|error| text(&error))?;
    let left_out = project.left_out(&target.service);
    project.remove(&left_out);
    let signs = development_signs(&project, Overridden::default(), |_| BTreeMap::new());
    let names = project.services().map(|(name, _)| name.to_owned());
    let groups: BTreeMap<String, PathBuf> =
        names.map(|name| (name.clone(), PathBuf::from("/stampede").join(name))).collect();
    let (env, none) = (BTreeMap::new(), BTreeMap::new());
    let images = groups.keys().map(|name| (name.clone(), "built".to_owned())).collect();
    let edit = Edit {
        stack: "a",
        log_driver: "local",
        groups: &groups,
        limits: &Limits::default(),
        beside: &[],
        cpus_beside: &[],
        images: &images,
        env: &env,
        volumes: &none,
        copies: &BTreeMap::new(),
        published: None,
        php: &BTreeMap::new(),
    };
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("compose.json");
    std::fs::write(&file, edit.apply(&project).to_string()).expect("a file");
    let again = engine.compose(&[file], &project.directory, &["-p", "a", "config", "-q"]).run();
    again.map_err(|error| format!("edited: {}", text(&crate::said::failed("config", &error))))?;
    let signs: Vec<String> = signs.iter().map(ToString::to_string).collect();
    let services = groups.into_keys().collect::<Vec<_>>().join(",");
    let left_out = left_out.into_iter().collect::<Vec<_>>().join(",");
    let (service, port) = (target.service, target.port);
    Ok(format!("{service}:{port} of {services}; not {left_out}; {}", signs.join(", ")))
}

#[test]
#[ignore = "by hand: tries the projects of COMPOSE_FILES (spaces between them, colons between files)"]
fn projects_of_others_are_rendered_and_edited() {
    let tools = std::env::var("COMPOSE_TOOLS").unwrap_or_else(|_| "docker compose".to_owned());
    let files = std::env::var("COMPOSE_FILES").unwrap_or_default();
    for tool in tools.split(',') {
        let engine = engine(tool);
        for project in files.split_whitespace() {
            let files: Vec<PathBuf> = project.split(':').map(PathBuf::from).collect();
            let (Ok(said) | Err(said)) = try_project(&engine, &files);
            println!("{tool}: {project}: {said}");
        }
    }
}
