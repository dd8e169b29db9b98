//! Builds the images of a plan: by the compose tool, or with Podman by its client. Podman-compose ends with
//! success although a build fails, and leaves out most of what can be said of one.

use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_linux::run::TimedCommand;

use crate::build::BuildPlan;
use crate::edit::variables;
use crate::engine::Engine;

impl BuildPlan {
    /// The commands that build a step, with the services that each is for. `file` holds the plan's document, for the project `name`.
    pub fn commands(
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
            let words = words(build, image, secrets);
            let all: Vec<&str> =
                engine.build().iter().copied().chain(words.iter().map(String::as_str)).collect();
            let command = engine.work(&all).dir(directory);
            let command = match build["dockerfile_inline"].as_str() {
                Some(inline) => command.input(plain(inline).as_bytes()),
                None => command,
            };
            Some((vec![service.clone()], command))
        };
        step.iter().filter_map(one).collect()
    }

    /// The name of the command for messages.
    pub fn command_name(engine: &Engine) -> String {
        match engine.is_podman_compose() {
            true => format!("{} build", engine.client.program()),
            false => engine.compose_name("build"),
        }
    }
}

/// The words of `podman build` after the verb.
fn words(build: &Value, image: &str, secrets: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let context = build["context"].as_str().unwrap_or(".");
    let mut all = vec![format!("--tag={image}"), "--force-rm".to_owned()];
    match (build["dockerfile_inline"].is_string(), build["dockerfile"].as_str()) {
        (true, _) => all.push("--file=-".to_owned()),
        (false, Some(file)) => {
            let is_here = !context.contains("://");
            let path = if is_here { Path::new(context).join(file) } else { PathBuf::from(file) };
            all.push(format!("--file={}", path.display()));
        }
        _ => {}
    }
    let mut pairs = |key: &str, option: &str| {
        for (name, value) in variables(&build[key]) {
            // One without a value has the client's own.
            let value = (!value.is_null()).then(|| format!("={}", text(&value)));
            all.push(format!("{option}={name}{}", value.unwrap_or_default()));
        }
    };
    pairs("args", "--build-arg");
    pairs("labels", "--label");
    pairs("additional_contexts", "--build-context");
    for (key, option) in
        [("target", "--target"), ("shm_size", "--shm-size"), ("platform", "--platform")]
    {
        all.extend((!build[key].is_null()).then(|| format!("{option}={}", text(&build[key]))));
    }
    let network = build["network"].as_str().filter(|network| *network != "default");
    all.extend(network.map(|network| format!("--network={network}")));
    for (key, option) in [("no_cache", "--no-cache"), ("pull", "--pull")] {
        all.extend((build[key] == true).then(|| option.to_owned()));
    }
    let listed = |key: &str| build[key].as_array().cloned().unwrap_or_default();
    all.extend(listed("ssh").iter().map(|one| format!("--ssh={}", text(one))));
    for host in listed("extra_hosts") {
        all.push(format!("--add-host={}", text(&host).replacen('=', ":", 1)));
    }
    for secret in listed("secrets") {
        let source = secret.as_str().or_else(|| secret["source"].as_str()).unwrap_or_default();
        let id = secret["target"].as_str().unwrap_or(source);
        let of_file = secrets[source]["file"].as_str().map(|file| format!("src={file}"));
        let of_variable =
            || secrets[source]["environment"].as_str().map(|name| format!("env={name}"));
        let from = of_file.or_else(of_variable);
        all.extend(from.map(|from| format!("--secret=id={id},{from}")));
    }
    all.push(context.to_owned());
    all.iter().map(|word| plain(word)).collect()
}

/// A text of a document as it is meant: there, dollar signs stand twice.
fn plain(text: &str) -> String {
    text.replace("$$", "$")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_build_becomes_a_command_line() {
        let build = json!({
            "context": "/srv/shop", "dockerfile": "docker/Dockerfile", "target": "prod",
            "args": {"PRICE": "5$$", "TOKEN": null}, "network": "host", "no_cache": true,
            "additional_contexts": {"base": "docker-image://php:8.4"}, "secrets": ["key", {"source": "other", "target": "x"}],
            "extra_hosts": ["registry.test=127.0.0.1"],
        });
        let secrets = json!({"key": {"file": "/srv/key"}, "other": {"environment": "OTHER"}});
        assert_eq!(
            words(&build, "stampede-build/a:latest", &secrets).join(" "),
            "--tag=stampede-build/a:latest --force-rm --file=/srv/shop/docker/Dockerfile --build-arg=PRICE=5$ \
             --build-arg=TOKEN --build-context=base=docker-image://php:8.4 --target=prod --network=host --no-cache \
             --add-host=registry.test:127.0.0.1 --secret=id=key,src=/srv/key --secret=id=x,env=OTHER /srv/shop"
        );
        let inline = json!({"context": "/srv", "dockerfile_inline": "FROM php"});
        assert_eq!(words(&inline, "i", &Value::Null).join(" "), "--tag=i --force-rm --file=- /srv");
    }
}
