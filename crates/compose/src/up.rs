//! Starts the containers of an edited project by the compose tool.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_linux::interrupt;

use crate::container::SERVICE;
use crate::engine::Engine;
use crate::error::ComposeError;
use crate::mount_forms::keep_long;
use crate::one_by_one::{Condition, OneByOne, ServiceStart};
use crate::said::{failed, last_lines};

/// How long a service may take until it is healthy, where another one waits for that.
const HEALTHY_WITHIN: Duration = Duration::from_secs(180);
/// The pause between two checks.
const CHECK_AGAIN: Duration = Duration::from_millis(250);

/// A project that can be started.
#[derive(Debug)]
pub struct Up {
    /// The document, which is written to a file before.
    pub document: Value,
    /// The name of the stack's project.
    project: String,
    /// What podman-compose is told beside the document; `None`: another tool does it all.
    one_by_one: Option<OneByOne>,
}

impl Up {
    /// `project`: the name of the stack's project. `stack`: its id. `directory`: where it may write.
    pub fn of(
        engine: &Engine,
        mut document: Value,
        (project, stack): (&str, &str),
        directory: &Path,
    ) -> Up {
        let project = project.to_owned();
        if !engine.is_podman_compose() {
            keep_long(&mut document, engine.is_compose_v1());
            return Up { document, project, one_by_one: None };
        }
        let Value::Object(document) = document else {
            return Up { document, project, one_by_one: None };
        };
        let mut one_by_one = OneByOne::of(document, (&project, stack), directory);
        let document = Value::Object(std::mem::take(&mut one_by_one.document));
        Up { document, project, one_by_one: Some(one_by_one) }
    }

    /// The same for requests to this service.
    #[must_use]
    pub fn to(mut self, service: &str) -> Up {
        if let Some(one_by_one) = &mut self.one_by_one {
            one_by_one.start_last(service);
        }
        self
    }

    /// Starts the containers of the document in `file`.
    ///
    /// # Errors
    /// The tool fails, or what a service waits for does not come.
    pub fn run(&self, engine: &Engine, file: &Path, directory: &Path) -> Result<(), ComposeError> {
        let words = ["-p", self.project.as_str(), "up", "-d", "--no-build"];
        let name = engine.compose_name("up");
        let Some(one_by_one) = &self.one_by_one else {
            let up = engine.compose(&[file.to_owned()], directory, &words);
            return up.run().map(drop).map_err(|error| failed(&name, &error));
        };
        for service in &one_by_one.services {
            check_known(engine, service)?;
        }
        for (path, file) in &one_by_one.files {
            file.write(engine, path)?;
        }
        for words in &one_by_one.creations {
            engine.run(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
        let mut starting = Starting { engine, project: &self.project, started: BTreeMap::new() };
        for service in &one_by_one.services {
            starting.wait(service)?;
            let options = shell_words::join(starting.options(service));
            let options = format!("--podman-run-args={options}");
            let words = [&words[..2], &[&options], &words[2..], &[&service.name]].concat();
            // Podman-compose looks for further files where it runs.
            let up = engine.compose(&[file.to_owned()], file.parent().unwrap_or(directory), &words);
            let up = up.envs(service.secrets.iter().map(|(name, value)| (name, value)));
            let output = up.run().map_err(|error| failed(&name, &error))?;
            let said = last_lines(&String::from_utf8_lossy(&output.stderr));
            starting.note(service, &name, &said)?;
        }
        Ok(())
    }
}

/// Refuses what podman-compose cannot do, and what its first versions do not know and would do otherwise.
fn check_known(engine: &Engine, service: &ServiceStart) -> Result<(), ComposeError> {
    if let Some(what) = service.refused.clone() {
        return Err(ComposeError::ToolLacks { service: service.name.clone(), what });
    }
    let version = engine.compose_version.rsplit(' ').next().unwrap_or_default();
    let numbers: Vec<u32> = version.split('.').map_while(|one| one.parse().ok()).collect();
    match &service.network_mode {
        Some(line) if !numbers.is_empty() && numbers < vec![1, 0, 4] => {
            Err(ComposeError::ToolOld { service: service.name.clone(), line: line.clone() })
        }
        _ => Ok(()),
    }
}

/// Services that are started one after the other.
struct Starting<'a> {
    engine: &'a Engine,
    project: &'a str,
    /// The ids of the containers by service.
    started: BTreeMap<&'a str, Vec<String>>,
}

impl<'a> Starting<'a> {
    /// The options of `podman run`.
    fn options(&self, service: &ServiceStart) -> Vec<String> {
        let shared = service.shared.iter().filter_map(|(option, other, rest)| {
            let id = self.started.get(other.as_str())?.first()?;
            Some(format!("{option}{id}{rest}"))
        });
        service.options.iter().cloned().chain(shared).collect()
    }

    /// Notes the containers of a service. Podman-compose ends with success although Podman could not start one.
    fn note(
        &mut self,
        service: &'a ServiceStart,
        command: &str,
        said: &str,
    ) -> Result<(), ComposeError> {
        let of_project = format!("label=com.docker.compose.project={}", self.project);
        let of_service = format!("label={SERVICE}={}", service.name);
        let words = ["ps", "-a", "--no-trunc", "--filter", &of_project, "--filter", &of_service];
        let printed =
            self.engine.run(&[&words[..], &["--format", "{{.ID}} {{.State}}"]].concat())?;
        let all: Vec<(&str, &str)> =
            printed.lines().filter_map(|line| line.split_once(' ')).collect();
        let before = ["created", "configured", "initialized"];
        let has_begun = |state: &str| !before.contains(&state.to_ascii_lowercase().as_str());
        if all.is_empty() || !all.iter().all(|(_, state)| has_begun(state)) {
            let (command, said) = (command.to_owned(), said.to_owned());
            return Err(ComposeError::Tool { command, said, example: None });
        }
        let ids = all.iter().map(|(id, _)| (*id).to_owned()).collect();
        self.started.insert(&service.name, ids);
        Ok(())
    }

    /// Waits for other services as the document asks for.
    fn wait(&self, service: &ServiceStart) -> Result<(), ComposeError> {
        for (other, condition) in &service.waits {
            for id in self.started.get(other.as_str()).into_iter().flatten() {
                match condition {
                    Condition::Started => {}
                    Condition::Healthy => self.wait_until_healthy(&service.name, other, id)?,
                    Condition::Completed => self.wait_until_its_end(other, id)?,
                }
            }
        }
        Ok(())
    }

    fn wait_until_its_end(&self, service: &str, id: &str) -> Result<(), ComposeError> {
        match self.engine.run(&["wait", id])?.trim() {
            "0" => Ok(()),
            code => Err(self.ended(service, id, code)),
        }
    }

    fn wait_until_healthy(
        &self,
        waiting: &str,
        service: &str,
        id: &str,
    ) -> Result<(), ComposeError> {
        let found =
            self.engine.run(&["inspect", "--format", "{{json .Config.Healthcheck}}", id])?;
        if !has_check(&found) {
            let (service, waiting) = (service.to_owned(), waiting.to_owned());
            return Err(ComposeError::NoCheck { service, waiting });
        }
        let begun = Instant::now();
        loop {
            let Err(problem) = self.engine.run(&["healthcheck", "run", id]) else { return Ok(()) };
            let format = "{{.State.Status}} {{.State.ExitCode}}";
            let state = self.engine.run(&["inspect", "--format", format, id])?;
            if let Some(code) = end_code(&state) {
                return Err(self.ended(service, id, code));
            }
            if begun.elapsed() > HEALTHY_WITHIN || interrupt::is_requested() {
                return Err(problem);
            }
            std::thread::sleep(CHECK_AGAIN);
        }
    }

    /// The error of a service that has ended where another one waits for it.
    fn ended(&self, service: &str, id: &str, code: &str) -> ComposeError {
        let output = self.engine.command(&["logs", "--tail", "20", id]).run().unwrap_or_default();
        let text = if output.stderr.is_empty() { output.stdout } else { output.stderr };
        let lines = last_lines(&String::from_utf8_lossy(&text));
        ComposeError::Ended {
            service: service.to_owned(),
            state: format!("ended with exit code {code}"),
            log: lines.lines().map(|line| format!("\n  {service}: {line}")).collect(),
        }
    }
}

/// Whether what Podman prints of a container's check is one.
fn has_check(printed: &str) -> bool {
    let check: Value = serde_json::from_str(printed).unwrap_or_default();
    check["Test"].as_array().is_some_and(|test| !test.is_empty() && test[0] != "NONE")
}

/// The exit code of a container that has ended, of its state and this code; `None`: it has not.
fn end_code(state: &str) -> Option<&str> {
    let (state, code) = state.trim().split_once(' ')?;
    ["exited", "stopped", "dead", "removing"].contains(&state).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_without_a_check_never_becomes_healthy() {
        assert!(has_check(r#"{"Test":["CMD-SHELL","php -v"],"Interval":1000000000}"#));
        for none in ["null", "", r#"{"Test":["NONE"]}"#, "{}", r#"{"Test":[]}"#] {
            assert!(!has_check(none), "{none}");
        }
    }

    #[test]
    fn a_container_that_is_stopped_has_ended() {
        assert_eq!(end_code("exited 7\n"), Some("7"));
        assert_eq!(end_code("stopped 137"), Some("137"));
        assert_eq!(end_code("running 0"), None);
    }
}
