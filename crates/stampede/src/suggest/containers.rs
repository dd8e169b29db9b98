//! Writes the plan of `stampede init` in a directory with compose projects.

use std::path::Path;

use serde_json::{Map, Value, json};
use stampede_compose::discover::Candidate;
use stampede_compose::known::Kind;
use stampede_model::fact::development::{self, Override};
use stampede_model::words;

use super::written::{LOAD, REST, commented};

/// The most projects that a plan measures without being asked; others are comments.
const MEASURED_MAX: usize = 4;

/// Returns a plan's text. `path` is how the plan names the directory of the projects: empty, or with a
/// slash at its end. `command` runs the plan, `cpus` is the number of CPUs of each project.
pub fn plan_text(all: &[Candidate], path: &str, cpus: u32, command: &str) -> String {
    [head(command), rows(all, path), budget(cpus), LOAD.to_owned(), REST.to_owned()].join("\n")
}

/// The projects that the plan measures: those for production if there are any, else all.
pub fn measured(all: &[Candidate]) -> Vec<&Candidate> {
    let is_ready = |one: &&Candidate| one.signs.is_empty() && !one.is_called_development;
    let ready: Vec<&Candidate> = all.iter().filter(is_ready).collect();
    let chosen = if ready.is_empty() { all.iter().collect() } else { ready };
    chosen.into_iter().take(MEASURED_MAX).collect()
}

fn head(command: &str) -> String {
    format!(
        "# Which of these compose projects serves the app best? This plan starts each in containers, one
# after another, with one budget of CPUs and memory for all its services, sends load and compares:
#
#   {command} --dry-run    what would run, and how long it takes
#   {command}
#
# Your own containers, volumes and files stay as they are: docs/containers.md. What else a plan can
# say: docs/plans.md; for an editor: stampede schema
"
    )
}

fn rows(all: &[Candidate], path: &str) -> String {
    let measured = measured(all);
    let mut text = "runtimes:\n".to_owned();
    for candidate in all {
        let is_measured = measured.iter().any(|one| one.name == candidate.name);
        text += &indented(&about(candidate, path));
        text += &row(candidate, path, if is_measured { "" } else { "# " });
        text += &more_rows(candidate, path);
    }
    text + "  # The same app without containers, beside them:
  # - nginx-fpm        # and `app: .`
  # Values of php.ini: `php_ini: {memory_limit: 512M}`. Other variables: `env: {NAME: value}`; other images:
  # `build_args: {PHP_VERSION: \"8.4\"}`. A database on other CPUs than the app: `beside: [db]`.
  # Data for each trial: `before_trial: {php: \"php artisan migrate --seed\"}`.
"
}

/// What should be known about a project, as comments.
fn about(candidate: &Candidate, path: &str) -> String {
    let files = |file: &std::path::PathBuf| format!("{path}{}", file.display());
    let files: Vec<String> = candidate.files.iter().map(files).collect();
    let mut lines = vec![format!("{}{}", files.join(" with "), of_kind(&candidate.kind))];
    if !candidate.signs.is_empty() {
        lines.push(development::found(&candidate.signs));
    }
    let given = variables(candidate);
    let unset: Vec<&str> = candidate
        .unset
        .iter()
        .map(String::as_str)
        .filter(|name| !given.contains_key(*name) && !OF_SAIL.contains(name))
        .collect();
    if !unset.is_empty() {
        lines.push(format!(
            "Variables without a value, which `.env` or the environment can give: {}",
            words::some_of(&unset)
        ));
    }
    if stampede_compose::project::is_https(candidate.target.port) {
        let text =
            "It publishes only a port of HTTPS, and the load is plain HTTP: name another port";
        lines.push(text.to_owned());
    }
    if !candidate.others.is_empty() {
        lines.push(format!(
            "Other services publish a port too: {}",
            words::some_of(&candidate.others)
        ));
    }
    lines.iter().map(|line| commented(line)).collect()
}

/// Variables that stampede sets as Sail's own command does.
const OF_SAIL: [&str; 2] = ["WWWGROUP", "WWWUSER"];

fn of_kind(kind: &Kind) -> String {
    match kind {
        Kind::Plain => String::new(),
        Kind::Sail { .. } => {
            " (Laravel Sail: it serves the app with PHP's development server)".to_owned()
        }
        Kind::SymfonyDocker => " (Symfony Docker: FrankenPHP in worker mode)".to_owned(),
        Kind::Ddev { is_rendered, webserver, php } => {
            let of_php = if php.is_empty() { String::new() } else { format!("PHP {php}") };
            let with = [webserver.clone(), of_php].into_iter().filter(|one| !one.is_empty());
            let with: Vec<String> = with.collect();
            let todo = if *is_rendered { "stop it with `ddev stop`" } else { NOT_RENDERED };
            format!(" (DDEV, {}: {todo})", with.join(", "))
        }
    }
}

const NOT_RENDERED: &str =
    "`ddev start` writes this file, and `ddev stop` sets the project's data free";

/// The row of a project, each line behind `off`.
fn row(candidate: &Candidate, path: &str, off: &str) -> String {
    let mut lines =
        vec![format!("- {}:", candidate.name), format!("    compose: {}", list(candidate, path))];
    lines.push(format!("    service: {}", scalar(&candidate.target.service)));
    lines.push(format!("    port: {}", candidate.target.port));
    let given = variables(candidate);
    if !given.is_empty() {
        lines.push(format!("    env: {}", flow(&given)));
    }
    lines.extend(as_in_production(candidate, given));
    lines.iter().map(|line| format!("  {off}{line}\n")).collect()
}

/// The lines that make a development configuration one of production, as comments. `given`: the variables that
/// the row has.
fn as_in_production(candidate: &Candidate, given: Map<String, Value>) -> Vec<String> {
    let (mut targets, mut env, mut ini, mut lines) =
        (Map::new(), given.clone(), Map::new(), Vec::new());
    for one in Override::all_of(&candidate.signs) {
        match one {
            Override::BuildTarget { service, stage } => drop(targets.insert(service, json!(stage))),
            Override::CodeInImages => lines.push("code: image".to_owned()),
            Override::Variable { name, value } => drop(env.insert(name, json!(value))),
            Override::PhpIni { name, value } => drop(ini.insert(name, json!(value))),
        }
    }
    let is_more = env.len() > given.len();
    let instead = if given.is_empty() { "" } else { "    # in place of the one above" };
    for (key, map, is_shown, more) in [
        ("build_target", targets, true, ""),
        ("env", env, is_more, instead),
        ("php_ini", ini, true, ""),
    ] {
        if is_shown && !map.is_empty() {
            lines.push(format!("{key}: {}{more}", flow(&map)));
        }
    }
    let head = (!lines.is_empty()).then(|| "as in production, without the `#`:".to_owned());
    head.into_iter().chain(lines).map(|line| format!("    # {line}")).collect()
}

/// Variables without which a known skeleton does not answer the load.
fn variables(candidate: &Candidate) -> Map<String, Value> {
    let mut all = Map::new();
    if candidate.kind == Kind::SymfonyDocker {
        // Without a name Caddy answers by plain HTTP.
        all.insert("SERVER_NAME".to_owned(), json!(":80"));
        for name in candidate.unset.iter().filter(|name| name.contains("SECRET")) {
            if name == "CADDY_MERCURE_JWT_SECRET" {
                for key in ["MERCURE_PUBLISHER_JWT_KEY", "MERCURE_SUBSCRIBER_JWT_KEY"] {
                    all.insert(key.to_owned(), json!(ONLY_FOR_TRIALS));
                }
            }
            all.insert(name.clone(), json!(ONLY_FOR_TRIALS));
        }
    }
    all
}

/// A value of the length that Mercure asks for.
const ONLY_FOR_TRIALS: &str = "only-for-trials-only-for-trials-";

/// Rows that a skeleton suggests beside its own.
fn more_rows(candidate: &Candidate, path: &str) -> String {
    let Kind::Sail { has_octane: true } = candidate.kind else { return String::new() };
    let command = "/usr/bin/php -d variables_order=EGPCS /var/www/html/artisan octane:start \
                   --server=frankenphp --host=0.0.0.0 --admin-port=2019 --port=80";
    let own = variables(candidate);
    let env = [("SUPERVISOR_PHP_COMMAND".to_owned(), json!(command))].into_iter().chain(own);
    let off = Candidate { name: format!("{}-octane", candidate.name), ..candidate.clone() };
    let head = commented("The same with Octane, which the app has; --server as it is installed");
    let env = format!("  #     env: {}\n", flow(&env.collect()));
    indented(&head) + &row(&off, path, "# ") + &env
}

/// The files as a plan has them: one text, or a list.
fn list(candidate: &Candidate, path: &str) -> String {
    let texts: Vec<String> =
        candidate.files.iter().map(|file| scalar(&format!("{path}{}", file.display()))).collect();
    match texts.as_slice() {
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

/// A map on one line. JSON is also YAML.
fn flow(map: &Map<String, Value>) -> String {
    let one = |(name, value): (&String, &Value)| format!("{name}: {value}");
    format!("{{{}}}", map.iter().map(one).collect::<Vec<_>>().join(", "))
}

/// Quotes a text if YAML requires it.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_./-".contains(c);
    let is_plain = text.chars().all(plain) && !text.starts_with('-');
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn budget(cpus: u32) -> String {
    format!(
        "# Limits of each whole project, databases included; the load uses other CPUs. or_less: a smaller
# machine uses what it has.
budget: {{cpus: {cpus}, memory: 2GiB, or_less: true}}
# app: {{host: shop.test}}    # how the pages are asked
"
    )
}

/// What `init` prints about the projects.
pub fn summary_text(all: &[Candidate], out: &Path, command: &str) -> String {
    let mut text = format!("{} is written\n", out.display());
    let measured = measured(all);
    for candidate in all {
        let files: Vec<String> =
            candidate.files.iter().map(|file| file.display().to_string()).collect();
        let is_measured = measured.iter().any(|one| one.name == candidate.name);
        let off = if is_measured { "" } else { " (a comment in the plan)" };
        text += &format!(
            "`{}`: {}; requests go to {}:{}{off}\n",
            candidate.name,
            files.join(", "),
            candidate.target.service,
            candidate.target.port
        );
    }
    if measured.iter().any(|one| !one.signs.is_empty()) {
        text += "It measures a development configuration, which is slower than production: see the plan\n";
    }
    let next = [
        (format!("{command} --dry-run"), "what would run, and how long it takes"),
        (command.to_owned(), "the comparison"),
        ("stampede init --app .".to_owned(), "a plan without containers"),
    ];
    let width = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    text += "\nTry next:\n";
    for (command, does) in next {
        text += &format!("  {command:width$}   {does}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use stampede_compose::project::Target;
    use stampede_model::fact::development::DevelopmentSign;
    use stampede_plan::model::{CodePlace, RuntimeSource};

    use super::*;

    fn candidate(name: &str, files: &[&str]) -> Candidate {
        Candidate {
            name: name.to_owned(),
            files: files.iter().map(PathBuf::from).collect(),
            target: Target { service: "web".to_owned(), port: 80 },
            others: Vec::new(),
            signs: Vec::new(),
            is_called_development: false,
            unset: Vec::new(),
            kind: Kind::Plain,
        }
    }

    fn development() -> Vec<DevelopmentSign> {
        let (variable, value) = ("APP_ENV".to_owned(), "dev".to_owned());
        vec![DevelopmentSign::Variable { variable, value }]
    }

    fn all() -> Vec<Candidate> {
        let names = ["APP_SECRET", "CADDY_MERCURE_JWT_SECRET", "TAG"];
        vec![
            Candidate {
                signs: development(),
                kind: Kind::SymfonyDocker,
                ..candidate("shop", &["compose.yaml", "compose.override.yaml"])
            },
            Candidate {
                kind: Kind::SymfonyDocker,
                unset: names.map(str::to_owned).into(),
                ..candidate("shop-prod", &["compose.yaml", "compose.prod.yaml"])
            },
            Candidate { others: vec!["admin".to_owned()], ..candidate("fpm", &["docker/fpm.yml"]) },
        ]
    }

    fn sail(signs: Vec<DevelopmentSign>) -> Vec<Candidate> {
        let kind = Kind::Sail { has_octane: true };
        let unset = vec!["WWWGROUP".to_owned()];
        let target = Target { service: "laravel.test".to_owned(), port: 80 };
        vec![Candidate { signs, kind, unset, target, ..candidate("shop", &["compose.yaml"]) }]
    }

    #[test]
    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    fn a_plan_measures_the_projects_that_are_for_production() {
        let all = all();
        let names: Vec<&str> = measured(&all).iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["shop-prod", "fpm"]);
        let only_development = sail(development());
        assert_eq!(measured(&only_development).len(), 1);
        insta::assert_snapshot!(rows(&all, ""));
        insta::assert_snapshot!(rows(&only_development, "shop/"));
        insta::assert_snapshot!(summary_text(&all, Path::new("stampede.yaml"), "stampede compare"));
    }

    /// Every plan that is written is one.
    #[test]
    fn the_lines_for_production_can_be_read_without_their_marks() {
        let (service, path) = ("php".to_owned(), "/srv/shop".to_owned());
        let signs = [
            DevelopmentSign::BuildTarget {
                service: service.clone(),
                target: "php_dev".to_owned(),
                production: "php_prod".to_owned(),
                others: vec!["php_prod".to_owned()],
            },
            DevelopmentSign::MountedCode { service, path: path.clone() },
            DevelopmentSign::Directive {
                path,
                directive: "opcache.validate_timestamps".to_owned(),
                value: "On".to_owned(),
            },
        ];
        let signs = development().into_iter().chain(signs).collect();
        let one = Candidate { signs, ..candidate("shop", &["compose.yml"]) };
        let text = plan_text(&[one], "", 1, "stampede compare stampede.yaml");
        let keys = ["code", "build_target", "env", "php_ini"].map(|key| format!("      # {key}:"));
        let lines = text.lines().map(|line| match keys.iter().any(|key| line.starts_with(key)) {
            true => line.replacen("# ", "", 1) + "\n",
            false => format!("{line}\n"),
        });
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("stampede.yaml");
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let plan = stampede_plan::read(&path, &stampede_plan::Overrides::default());
        let plan = plan.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let [row] = plan.stack.runtimes.as_slice() else { panic!("{text}") };
        let RuntimeSource::Compose(source) = &row.source else { panic!("{text}") };
        assert_eq!((source.code, source.build_targets.len()), (CodePlace::Image, 1), "{text}");
        assert_eq!(
            (&*row.env["APP_ENV"], &*row.php_ini["opcache.validate_timestamps"]),
            ("prod", "0")
        );
    }

    #[test]
    fn every_plan_that_is_written_can_be_read() {
        let ddev = Kind::Ddev {
            is_rendered: false,
            webserver: "nginx-fpm".to_owned(),
            php: "8.4".to_owned(),
        };
        let ddev = Candidate { kind: ddev, ..candidate("a-b", &["docker/- a.yml"]) };
        for (all, count) in [(all(), 2), (sail(development()), 1), (vec![ddev], 1)] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("stampede.yaml");
            let text = plan_text(&all, "", 1, "stampede compare stampede.yaml");
            std::fs::write(&path, &text).unwrap();
            let plan = stampede_plan::read(&path, &stampede_plan::Overrides::default());
            let plan = plan.unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(plan.stack.runtimes.len(), count, "{text}");
            // The comments are rows too.
            let whole = text.replace("  # - shop", "  - shop").replace("  #     ", "      ");
            std::fs::write(&path, &whole).unwrap();
            let read = stampede_plan::read(&path, &stampede_plan::Overrides::default());
            read.unwrap_or_else(|error| panic!("{error}\n{whole}"));
        }
    }
}
