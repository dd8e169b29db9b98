//! Finds the containers of a compose project that runs, by the engine's command line.

use stampede_plan::model::Watch;

use super::error::ExternalError;
use super::group::CgroupOwner;
use super::watch::{Said, WatchedProcesses, run_program, watched};

/// The label in which Docker Compose and podman-compose keep the project's name.
const OF_PROJECT: &str = "label=com.docker.compose.project=";

/// The output format of `inspect`: a line for each container.
const CONTAINER: &str = "{{.State.Running}} {{.State.Pid}} {{.Id}} \
                         {{index .Config.Labels \"com.docker.compose.service\"}}";

/// All containers of a project that run now, each service with a role of its own. Containers of one
/// service are told apart by numbers.
///
/// # Errors
/// No engine is installed, none knows a running container of the project, or one of them cannot be
/// seen from here.
pub fn of(name: &str) -> Result<WatchedProcesses, ExternalError> {
    let watch = Watch::Project(name.to_owned());
    let filter = format!("{OF_PROJECT}{name}");
    let mut answers = Vec::new();
    let mut is_installed = false;
    for engine in ["docker", "podman"] {
        let listed = run_program(engine, &["ps", "--quiet", "--no-trunc", "--filter", &filter])?;
        is_installed |= !matches!(listed, Said::Nothing);
        let ids = match listed {
            Said::Nothing => continue,
            Said::Refusal(said) => {
                answers.push(said);
                continue;
            }
            Said::Text(text) => text,
        };
        let ids: Vec<&str> = ids.split_whitespace().collect();
        if ids.is_empty() {
            answers.push(format!("`{engine}` knows no running container of it"));
            continue;
        }
        let asked = ["inspect", "--type", "container", "--format", CONTAINER];
        return match run_program(engine, &[&asked[..], &ids].concat())? {
            Said::Text(text) => parts(watch, engine, &text),
            Said::Refusal(said) => Err(ExternalError::Unknown { thing: watch.to_string(), said }),
            Said::Nothing => Err(no_program()),
        };
    }
    match is_installed {
        false => Err(no_program()),
        true => Err(ExternalError::Unknown { thing: watch.to_string(), said: answers.join(", ") }),
    }
}

fn no_program() -> ExternalError {
    ExternalError::NoProgram { programs: "`docker` or `podman`", what: "a project" }
}

/// Reads what `inspect` said of each container. One that ended since it was listed is left out.
fn parts(watch: Watch, engine: &str, text: &str) -> Result<WatchedProcesses, ExternalError> {
    let mut parts: Vec<(String, WatchedProcesses)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (pid, id, service) = match fields[..] {
            ["false", ..] => continue,
            ["true", pid, id] => (pid, id, id.get(..SHORT_ID).unwrap_or(id)),
            ["true", pid, id, service] => (pid, id, service),
            _ => {
                let said = format!("`{engine}` says `{}`", line.trim());
                return Err(ExternalError::Unknown { thing: watch.to_string(), said });
            }
        };
        let name = free_name(service, &parts);
        let owner = CgroupOwner::Container(id.to_owned());
        parts.push((name, watched(watch.clone(), pid.parse().unwrap_or(0), &owner)?));
    }
    if parts.is_empty() {
        let (thing, state) = (watch.to_string(), "stopped".to_owned());
        return Err(ExternalError::NotRunning { thing, state });
    }
    // The order in which an engine lists containers is that of their starts.
    parts.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(WatchedProcesses::of_parts(watch, parts))
}

/// The name of a service, with a number from its second container on: `web`, `web-2`.
fn free_name<T>(service: &str, parts: &[(String, T)]) -> String {
    let is_taken = |name: &str| parts.iter().any(|(taken, _)| taken == name);
    let numbered = (2..).map(|number| format!("{service}-{number}"));
    let names = std::iter::once(service.to_owned()).chain(numbered);
    names.into_iter().find(|name| !is_taken(name)).unwrap_or_default()
}

/// The length at which engines print ids.
const SHORT_ID: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_one_service_have_names_of_their_own() {
        let mut parts: Vec<(String, ())> = Vec::new();
        for service in ["web", "php", "web", "web-2", "web"] {
            parts.push((free_name(service, &parts), ()));
        }
        let names: Vec<&str> = parts.iter().map(|(name, ())| name.as_str()).collect();
        assert_eq!(names, ["web", "php", "web-2", "web-2-2", "web-3"]);
    }

    #[test]
    fn a_container_that_ended_since_is_left_out_and_a_strange_line_is_shown() {
        let watch = || Watch::Project("shop".to_owned());
        let ended = parts(watch(), "docker", "false 0 4f1e web\n\n").expect_err("nothing runs");
        assert!(matches!(ended, ExternalError::NotRunning { .. }), "{ended:?}");
        let strange = parts(watch(), "docker", "<no value>\n").expect_err("nothing is known");
        assert!(matches!(strange, ExternalError::Unknown { .. }), "{strange:?}");
    }
}
