//! Tests projects that are configured for development, and what overrides that.

use std::time::Duration;

use serde_json::Value;

use crate::common::{Sandbox, assert_measured, fact, finish, stderr, stdout, summary, trials};
use crate::containers::compare;
use crate::containers_support::{Engine, unchanged, write_project};
use crate::podman_support::Podman;
use crate::words::CODES;

const LIMIT: Duration = Duration::from_secs(300);

/// Both services are built for development and mount the code. The image of the web server for production has no
/// code, and that of PHP has its own.
const COMPOSE: &str = r#"
services:
  web:
    build: {context: ., target: web_dev}
    ports: ["80:80"]
    depends_on: [php]
    volumes: ["./public:/app/public:ro"]
  php:
    build: {context: ., target: php_dev}
    environment: {APP_ENV: dev, PRICE: "7"}
    volumes:
      - ./public:/app/public
      - ./dev.ini:/etc/php/8.2/fpm/conf.d/98-dev.ini:ro
"#;
const DOCKERFILE: &str = r#"FROM stampede-test/php:8.2 AS web
COPY nginx.conf /etc/nginx/nginx.conf
CMD ["nginx", "-g", "daemon off;"]
FROM stampede-test/php:8.2 AS php
COPY pool.conf /etc/php/8.2/fpm/pool.d/www.conf
CMD ["php-fpm8.2", "--nodaemonize", "--force-stderr"]
FROM web AS web_dev
ENV BUILT_AS=dev
FROM web AS web_prod
FROM php AS php_dev
ENV BUILT_AS=dev
FROM php AS php_prod
COPY prod /app/public
ENV BUILT_AS=prod
"#;
/// An image with this file has the code.
const PAGE: &str = "<?php require 'where.php';";
const WHERE: &str = "<?php echo 'mounted, ', getenv('BUILT_AS'), ', ', getenv('APP_ENV');";

fn write_development(sandbox: &Sandbox) {
    write_project(sandbox, "shop", |name, text| match name {
        "compose.yml" => COMPOSE.to_owned(),
        "Dockerfile" => DOCKERFILE.to_owned(),
        "pool.conf" => format!("{text}\nphp_admin_value[memory_limit] = 64M\n"),
        "public/index.php" => PAGE.to_owned(),
        _ => text.to_owned(),
    });
    sandbox.write("shop/public/where.php", WHERE);
    sandbox.write("shop/prod/index.php", PAGE);
    sandbox.write("shop/prod/where.php", &WHERE.replace("mounted", "of the image"));
    sandbox.write("shop/public/robots.txt", "User-agent: *\n");
    sandbox.write("shop/dev.ini", "opcache.validate_timestamps = 1\n");
}

/// The flags that the first line names.
fn flags(text: &str) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    let (_, flags) = first.split_once("override it with `").unwrap_or_default();
    flags.split('`').next().unwrap_or_default().split(' ').map(str::to_owned).collect()
}

/// What was observed before the load of the first trial, and its containers.
fn seen(sandbox: &Sandbox) -> (Value, Vec<Value>) {
    let trials = trials(sandbox);
    let has_php = |trial: &&Value| trial["runtime"]["before"]["php_version"] != Value::Null;
    let runtime = &trials.iter().find(has_php).unwrap_or(&trials[0])["runtime"];
    (runtime["before"].clone(), runtime["containers"].as_array().cloned().unwrap_or_default())
}

/// Every sign of development goes away with the flags that the first line names, and what is measured is what
/// production has. What PHP does not take is said.
#[test]
#[ignore = "long: 1 min, containers"]
fn the_flags_of_the_first_line_make_a_development_configuration_one_of_production() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_development(&sandbox);
    let run = |more: &[&str]| {
        let all = [&["--compose", "shop/compose.yml", "--rounds", "1"], more].concat();
        let output = finish(engine.stampede(&sandbox, &compare(&all)), LIMIT);
        let text = stderr(&output) + &stdout(&output);
        (output, text)
    };
    let (_, text) = run(&["--dry-run"]);
    if CODES {
        return;
    }
    let flags = flags(&text);
    for flag in [
        "--build-target php=php_prod",
        "--build-target web=web_prod",
        "--code image",
        "--env APP_ENV=prod",
        "--php-ini opcache.validate_timestamps=0",
    ] {
        assert!(flags.join(" ").contains(flag), "{flag}: {text}");
    }
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let more = ["--php-ini", "memory_limit=1G", "--php-ini", "precision=9"];
    let (output, text) = run(&[&flags[..], &more].concat());
    assert_measured(&sandbox, &output);
    assert!(!text.contains("development configuration"), "{text}");
    assert!(text.contains("of the image, prod, prod"), "{text}");
    let (before, _) = seen(&sandbox);
    for (name, value) in
        [("opcache.validate_timestamps", "0"), ("precision", "9"), ("memory_limit", "64M")]
    {
        assert_eq!(before["ini"][name], value, "{name}: {text}");
    }
    let marks = &summary(&sandbox)["cases"][0]["not_comparable"];
    let values = &fact(marks, "ini_not_taken")["values"];
    assert_eq!(values[0]["directive"], "memory_limit", "{marks:#}");
    assert_eq!(values.as_array().map(Vec::len), Some(1), "{marks:#}");
    let places = before["notices"].as_array().expect("notices");
    let place = |service: &str| {
        let is_it = |fact: &&Value| {
            fact["code"] == "code_in_images" && fact["service"]["service"] == service
        };
        places.iter().find(is_it).unwrap_or(&Value::Null)["service"].clone()
    };
    assert_eq!(place("php")["own"][0], "/app/public", "{before:#}");
    assert_eq!(place("web")["copied"][0], "/app/public", "{before:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// The copy in an image is served, with the files of the directory, also where a service takes over the mounts of
/// another one.
#[test]
#[ignore = "long: 30 s, containers"]
fn mounted_code_is_served_from_an_image_that_got_a_copy() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_development(&sandbox);
    let own = "volumes: [\"./public:/app/public:ro\"]";
    sandbox.write("shop/compose.yml", &COMPOSE.replace(own, "volumes_from: [\"php:ro\"]"));
    let args = ["--compose", "shop/compose.yml", "--path", "/robots.txt", "--rounds", "1"];
    // A stage alone.
    let more = ["--build-target", "web_prod", "--code", "image"];
    let all = compare(&[&args[..], &more].concat());
    let output = finish(engine.stampede(&sandbox, &all), LIMIT);
    let text = stderr(&output) + &stdout(&output);
    assert_measured(&sandbox, &output);
    let places = trials(&sandbox)[0]["runtime"]["before"]["notices"].clone();
    let mut places = places.as_array().expect("notices").iter();
    let is_web =
        |fact: &&Value| fact["code"] == "code_in_images" && fact["service"]["service"] == "web";
    let web = places.find(is_web).unwrap_or_else(|| panic!("{text}"));
    assert_eq!(web["service"]["copied"][0], "/app/public", "{web:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0]);
}

/// Each of two rows of one project is asked what its PHP is: with other values of php.ini it is another one.
#[test]
#[ignore = "long: 40 s, containers"]
fn rows_of_one_project_with_other_values_of_php_ini_are_compared() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_development(&sandbox);
    sandbox.write(
        "plan.yaml",
        "runtimes:\n  - usual: {compose: shop/compose.yml, code: image}\n  \
         - asked: {compose: shop/compose.yml, code: image, php_ini: {opcache.memory_consumption: 64}}\n\
         budget: {cpus: 1}\nwarm_up: 500ms\nrounds: 1\nload: {peak: {concurrency: 2, for: 1s}}\n",
    );
    let output = finish(engine.stampede(&sandbox, &["compare", "plan.yaml"]), LIMIT);
    let text = stderr(&output) + &stdout(&output);
    assert_measured(&sandbox, &output);
    assert!(CODES || text.contains("mounted, dev, dev"), "{text}");
    let cases = summary(&sandbox)["cases"].clone();
    for case in cases.as_array().expect("cases") {
        assert_eq!(case["not_comparable"], Value::Array(Vec::new()), "{case:#}");
    }
    let mut all = cases.as_array().expect("cases").iter();
    let case = all.find(|case| case["runtime"] == "asked").expect("a case");
    let asked = fact(&case["asked"], "ini");
    let expected = (&"opcache.memory_consumption".into(), &"64".into());
    assert_eq!((&asked["directive"], &asked["value"]), expected, "{cases:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
}

/// What an image declares as a volume, an engine may not keep in an image that is built from it.
#[test]
#[ignore = "long: 40 s, containers"]
fn code_where_an_image_has_a_volume_is_copied_or_stays_mounted_and_the_page_is_right() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_project(&sandbox, "shop", |name, text| match name {
        "Dockerfile" => {
            text.replace("COPY public /app/public", "RUN mkdir -p /app/public\nVOLUME /app/public")
        }
        "compose.yml" => text
            .replace(
                "    container_name",
                "    volumes: [\"./public:/app/public\"]\n    container_name",
            )
            .replace("    environment", "    volumes: [\"./public:/app/public\"]\n    environment"),
        _ => text.to_owned(),
    });
    let args = ["--compose", "shop/compose.yml", "--code", "image", "--rounds", "1"];
    let output = finish(engine.stampede(&sandbox, &compare(&args)), LIMIT);
    let text = stderr(&output) + &stdout(&output);
    assert_measured(&sandbox, &output);
    assert!(CODES || text.contains("price 5$"), "{text}");
    let (before, _) = seen(&sandbox);
    let place = &fact(&before["notices"], "code_in_images")["service"];
    let known = place["copied"].as_array().into_iter().chain(place["mounted"].as_array());
    assert_eq!(known.flatten().collect::<Vec<_>>(), [&Value::from("/app/public")], "{before:#}");
    assert_eq!(engine.left_behind(), [""; 0], "{text}");
    assert_eq!(sandbox.left_behind(), [""; 0], "{text}");
}

/// The same flags with Podman's own tools.
#[test]
#[ignore = "long: 1 min, containers"]
fn podman_alone_has_the_same_flags_for_production() {
    let Some(podman) = Podman::start() else { return };
    let sandbox = Sandbox::new();
    write_development(&sandbox);
    let args = compare(&[
        "--compose",
        "shop/compose.yml",
        "--rounds",
        "1",
        "--build-target",
        "php=php_prod",
        "--build-target",
        "web=web_prod",
        "--code",
        "image",
        "--php-ini",
        "precision=9",
    ]);
    let output = finish(podman.stampede(&sandbox, &args), LIMIT);
    let text = stderr(&output) + &stdout(&output);
    assert_measured(&sandbox, &output);
    assert!(CODES || text.contains("of the image, prod, dev"), "{text}");
    assert_eq!(seen(&sandbox).0["ini"]["precision"], "9", "{text}");
}

/// What is asked for and not there is an error that names what is.
#[test]
#[ignore = "long: 15 s, containers"]
fn a_stage_that_no_dockerfile_has_is_refused() {
    let Some(engine) = Engine::start() else { return };
    let sandbox = Sandbox::new();
    write_development(&sandbox);
    write_project(&sandbox, "plain", unchanged);
    for (project, stage, said) in [
        ("shop", "prod", "web_prod"),
        ("shop", "php=web", ""),
        ("shop", "php=nothing", "php_prod"),
        ("shop", "db=prod", "no service `db`"),
        ("plain", "prod", "a stage `prod`"),
    ] {
        let file = format!("{project}/compose.yml");
        let args = compare(&["--compose", &file, "--build-target", stage, "--dry-run"]);
        let output = finish(engine.stampede(&sandbox, &args), LIMIT);
        let text = stderr(&output);
        let is_known = stage == "php=web";
        assert_eq!(output.status.success(), is_known, "{stage}: {text}");
        assert!(CODES || is_known || text.contains(said), "{stage}: {text}");
    }
    // Of several projects, those that have it are built so.
    let both = ["--compose", "shop/compose.yml", "--compose", "plain/compose.yml"];
    let args = compare(&[&both[..], &["--build-target", "php=php_prod", "--dry-run"]].concat());
    let output = finish(engine.stampede(&sandbox, &args), LIMIT);
    let text = stderr(&output) + &stdout(&output);
    assert!(output.status.success(), "{text}");
    assert!(CODES || text.contains("`plain`: none of its services has"), "{text}");
}
