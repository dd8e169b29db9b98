//! Builds the images of a plan: by the compose tool, or with Podman by its client. Podman-compose ends with
//! success although a build fails, and leaves out most of what can be said of one.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_linux::run::TimedCommand;

use crate::build::{BuildPlan, image_name};
use crate::build_log::logged_build;
use crate::client::Client;
use crate::edit::variables;
use crate::engine::Engine;
use crate::error::ComposeError;
use crate::variables::plain;

impl BuildPlan {
    /// Builds all steps. `hash`: the beginning of the names of their logs. `file` and `name` as in
    /// [`BuildPlan::commands`].
    ///
    /// # Errors
    /// A build fails; the error names its log.
    pub(crate) fn run_steps(
        &self,
        engine: &Engine,
        hash: &str,
        file: &Path,
        (name, directory): (&str, &Path),
    ) -> Result<(), ComposeError> {
        let said_as = BuildPlan::command_name(engine);
        let of_step = |step| self.commands(engine, step, (file, name), directory);
        let commands: Vec<_> = self.steps.iter().map(Vec::as_slice).flat_map(of_step).collect();
        let of: Vec<&[String]> = commands.iter().map(|(of, _)| of.as_slice()).collect();
        let logs = log_names(hash, &of);
        for ((of, command), log) in commands.into_iter().zip(logs) {
            logged_build(command, &said_as, &log, &of)?;
        }
        Ok(())
    }

    /// The commands that build a step, with the services that each is for. `file` holds the plan's document, for the project `name`.
    fn commands(
        &self,
        engine: &Engine,
        step: &[String],
        (file, name): (&Path, &str),
        directory: &Path,
    ) -> Vec<(Vec<String>, TimedCommand)> {
        if !engine.is_podman_compose() {
            // Version 2 builds without containers, or removes them by itself.
            let removes = ["--force-rm"].into_iter().filter(|_| engine.is_compose_v1());
            let words = ["-p", name, "build"].into_iter().chain(removes);
            let words: Vec<&str> = words.chain(step.iter().map(String::as_str)).collect();
            let command = engine.compose(&[file.to_owned()], directory, &words);
            return vec![(step.to_owned(), command)];
        }
        let one = |service: &String| {
            let build = &self.document["services"][service.as_str()]["build"];
            let image = self.images.get(service)?;
            let secrets = self.document.get("secrets").unwrap_or(&Value::Null);
            let Words { words, hidden } = words(build, image, secrets);
            let all: Vec<&str> =
                engine.build().iter().copied().chain(words.iter().map(String::as_str)).collect();
            let command = engine.work(&all).dir(directory).envs(hidden);
            let command = match build["dockerfile_inline"].as_str() {
                Some(inline) => command.input(plain(inline).as_bytes()),
                None => command,
            };
            Some((vec![service.clone()], command))
        };
        step.iter().filter_map(one).collect()
    }

    /// The name of the command for messages.
    fn command_name(engine: &Engine) -> String {
        match engine.is_podman_compose() {
            true => format!("{} build", engine.client.program()),
            false => engine.compose_name("build"),
        }
    }
}

/// The name of the log of each build: of the services that it is for, or of its number where it is for several. The
/// only one has no more than the hash.
fn log_names(hash: &str, builds: &[&[String]]) -> Vec<String> {
    let name = |(number, of): (usize, &&[String])| match *of {
        _ if builds.len() == 1 => hash.to_owned(),
        [service] => format!("{hash}-{}", image_name(service)),
        _ => format!("{hash}-{}", number + 1),
    };
    builds.iter().enumerate().map(name).collect()
}

/// A command line of `podman build`.
#[derive(Debug, Default)]
struct Words {
    /// What follows the verb.
    words: Vec<String>,
    /// Variables of its environment with secrets, which are not on the command line.
    hidden: Vec<(String, String)>,
}

impl Words {
    /// An argument of the build. One without a value has the client's own.
    fn add_argument(&mut self, name: &str, value: &Value) {
        let value = (!value.is_null()).then(|| plain(&text(value)));
        match value {
            Some(value) if Client::Podman.is_hidden(name, &value) => {
                self.words.push(format!("--build-arg={name}"));
                self.hidden.push((name.to_owned(), value));
            }
            Some(value) => self.words.push(format!("--build-arg={name}={value}")),
            None => self.words.push(format!("--build-arg={name}")),
        }
    }

    /// A secret of the project, by the name that the build has for it.
    fn add_secret(&mut self, secret: &Value, declared: &Value) {
        let source = secret.as_str().or_else(|| secret["source"].as_str()).unwrap_or_default();
        let id = secret["target"].as_str().unwrap_or(source);
        let declared = &declared[source];
        let from = if let Some(file) = declared["file"].as_str() {
            format!("src={}", plain(file))
        } else if let Some(content) = declared["content"].as_str() {
            let name = format!("STAMPEDE_SECRET_{}", self.hidden.len());
            self.hidden.push((name.clone(), plain(content)));
            format!("env={name}")
        } else {
            return;
        };
        self.words.push(format!("--secret=id={id},{from}"));
    }
}

fn words(build: &Value, image: &str, secrets: &Value) -> Words {
    let context = plain(build["context"].as_str().unwrap_or("."));
    let mut all = Words::default();
    let mut add = |word: String| all.words.push(word);
    add(format!("--tag={image}"));
    add("--force-rm".to_owned());
    match (build["dockerfile_inline"].is_string(), build["dockerfile"].as_str()) {
        (true, _) => add("--file=-".to_owned()),
        (false, Some(file)) => {
            let (is_here, file) = (!context.contains("://"), plain(file));
            let path = if is_here { Path::new(&context).join(file) } else { PathBuf::from(file) };
            add(format!("--file={}", path.display()));
        }
        _ => {}
    }
    for (name, value) in variables(&build["args"]) {
        all.add_argument(&name, &value);
    }
    let mut add = |word: String| all.words.push(plain(&word));
    for (key, option) in [("labels", "--label"), ("additional_contexts", "--build-context")] {
        for (name, value) in variables(&build[key]) {
            let value = if value.is_null() { String::new() } else { text(&value) };
            add(format!("{option}={name}={value}"));
        }
    }
    for (key, option) in
        [("target", "--target"), ("shm_size", "--shm-size"), ("platform", "--platform")]
    {
        if !build[key].is_null() {
            add(format!("{option}={}", text(&build[key])));
        }
    }
    if let Some(network) = build["network"].as_str().filter(|network| *network != "default") {
        add(format!("--network={network}"));
    }
    for (key, option) in [("no_cache", "--no-cache"), ("pull", "--pull")] {
        if build[key] == true {
            add(option.to_owned());
        }
    }
    let listed = |key: &str| build[key].as_array().cloned().unwrap_or_default();
    for one in listed("ssh") {
        add(format!("--ssh={}", text(&one)));
    }
    for host in listed("extra_hosts") {
        add(format!("--add-host={}", text(&host).replacen('=', ":", 1)));
    }
    for secret in listed("secrets") {
        all.add_secret(&secret, secrets);
    }
    all.words.push(context);
    all
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The log of the second of two services took the place of that of the first.
    #[test]
    fn each_build_has_a_log_of_its_own() {
        let all = ["web", "php", "My_App"].map(str::to_owned);
        let of = |builds: &[&[String]]| log_names("4f1e", builds);
        assert_eq!(of(&[&all[..2]]), ["4f1e"]);
        assert_eq!(of(&[&all[..1], &all[1..2]]), ["4f1e-web", "4f1e-php"]);
        let names = of(&[&all[..2], &all[2..]]);
        assert_eq!(names[0], "4f1e-1");
        assert!(names[1].starts_with("4f1e-my-app-"), "{names:?}");
    }

    #[test]
    fn a_build_becomes_a_command_line() {
        let build = json!({
            "context": "/srv/shop", "dockerfile": "docker/Dockerfile", "target": "prod",
            "args": {"PRICE": "5$$", "TOKEN": null, "NPM_TOKEN": "t$$k"}, "network": "host", "no_cache": true,
            "additional_contexts": {"base": "docker-image://php:8.4"}, "secrets": ["key", {"source": "other", "target": "x"}],
            "extra_hosts": ["registry.test=127.0.0.1"],
        });
        let secrets = json!({"key": {"file": "/srv/key"}, "other": {"content": "c$$t"}});
        let Words { words: found, hidden } = words(&build, "stampede-build/a:latest", &secrets);
        assert_eq!(
            found.join(" "),
            "--tag=stampede-build/a:latest --force-rm --file=/srv/shop/docker/Dockerfile --build-arg=NPM_TOKEN \
             --build-arg=PRICE=5$ --build-arg=TOKEN --build-context=base=docker-image://php:8.4 --target=prod --network=host --no-cache \
             --add-host=registry.test:127.0.0.1 --secret=id=key,src=/srv/key --secret=id=x,env=STAMPEDE_SECRET_1 /srv/shop"
        );
        // Everybody may read a command line, and only its user an environment.
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(hidden, [pair("NPM_TOKEN", "t$k"), pair("STAMPEDE_SECRET_1", "c$t")]);
        let inline = json!({"context": "/srv", "dockerfile_inline": "FROM php"});
        let found = words(&inline, "i", &Value::Null).words;
        assert_eq!(found.join(" "), "--tag=i --force-rm --file=- /srv");
    }
}
