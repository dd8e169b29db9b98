//! Tests the messages about a runtime, an app or a setting that is missing or wrong.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use stampede_plan::model::{AppChoice, RuntimeChoice, RuntimeSource, Scalar};
use stampede_stack::{
    Catalogue, Failure, Placement, ProcessProvider, RuntimeError, RuntimeState, SearchPaths,
    Supervisor, list,
};

use crate::bench_support::prepared;

fn choice(name: &str, settings: &[(&str, Scalar)]) -> RuntimeChoice {
    RuntimeChoice {
        name: name.into(),
        source: RuntimeSource::Catalogue(name.into()),
        settings: settings.iter().map(|(key, value)| ((*key).into(), value.clone())).collect(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    }
}

/// Places that know the embedded directories, find no program, and belong to a Debian.
fn bare() -> SearchPaths {
    SearchPaths {
        temp: Some(std::env::temp_dir()),
        family: vec!["debian".into()],
        ..SearchPaths::default()
    }
}

fn message_of(error: &RuntimeError) -> String {
    let mut text = format!("error: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text += &format!("\n  caused by: {source}");
        cause = source.source();
    }
    match error.hint() {
        Some(hint) => format!("{text}\nhint: {hint}"),
        None => text,
    }
}

/// Fails if it is called: everything here must be refused before a directory is made.
fn never(_id: &str, path: &std::path::Path) -> Result<Box<dyn Supervisor>, Failure> {
    Err(format!("`{}` would be made", path.display()).into())
}

fn refusing(catalogue: &Catalogue) -> ProcessProvider {
    ProcessProvider::supervised(catalogue.clone(), never)
}

fn refused(places: SearchPaths, choice: &RuntimeChoice) -> String {
    let catalogue = Catalogue::load(places);
    let app = catalogue.app(&AppChoice::named("hello".into())).expect("app");
    let prepared = prepared(&refusing(&catalogue), choice, &app, &Placement::default());
    message_of(&prepared.err().expect("refused"))
}

#[test]
fn an_unknown_runtime_names_the_nearest() {
    assert_words!(refused(bare(), &choice("nginx-fmp", &[])), @r"
    error: unknown runtime `nginx-fmp`
    hint: did you mean `nginx-fpm`?
    ");
    let names = Catalogue::load(bare()).runtime_names().join(", ");
    let text = refused(bare(), &choice("common", &[])).replace(&names, "RUNTIMES");
    assert_words!("common_is_no_runtime", text);
}

#[test]
fn an_unknown_setting_names_the_nearest() {
    let wrong = [("worker", Scalar::Int(4))];
    assert_words!("setting_nearest", refused(bare(), &choice("nginx-fpm", &wrong)));
    let wrong = [("append.ngin.conf", Scalar::Text("x".into()))];
    assert_words!("append_nearest", refused(bare(), &choice("nginx-fpm", &wrong)));
    let wrong = [("blocksize", Scalar::Int(4))];
    assert_words!("setting_all_known", refused(bare(), &choice("php-builtin", &wrong)));
}

#[test]
fn an_impossible_setting_names_the_possible_values() {
    for (snapshot, name, setting, value) in [
        ("workers_zero", "nginx-fpm", "workers", Scalar::Int(0)),
        ("pm_unknown", "nginx-fpm", "pm", Scalar::Text("statc".into())),
        ("front_unknown", "php-builtin", "front", Scalar::Text("varnish".into())),
        ("keep_alive_on", "php-builtin", "keep_alive", Scalar::Bool(true)),
        ("max_requests_mod_php", "apache-modphp", "max_requests", Scalar::Int(500)),
        ("memory_limit_words", "apache-modphp", "memory_limit", Scalar::Text("much".into())),
        ("jit_unknown", "nginx-fpm", "jit", Scalar::Bool(true)),
    ] {
        let text = refused(bare(), &choice(name, &[(setting, value)]));
        assert_words!(snapshot, text);
    }
}

#[test]
fn a_common_setting_may_repeat_the_default() {
    let settings = [("max_requests", Scalar::Int(0)), ("compression", Scalar::Bool(false))];
    let text = refused(bare(), &choice("php-builtin", &settings));
    assert!(text.starts_with("error: runtime `php-builtin` needs `php`"), "{text}");
}

#[test]
fn a_missing_program_names_the_command_that_gets_it() {
    assert_words!("missing_debian", refused(bare(), &choice("nginx-fpm", &[])));
    let unknown = SearchPaths { family: vec!["plan9".into()], ..bare() };
    assert_words!("missing_elsewhere", refused(unknown, &choice("nginx-fpm", &[])));
}

/// The plan asks for a PHP that is not installed.
#[test]
fn another_php_than_the_plan_asks_for_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("php8.2");
    stampede_testing::program::write_program(&program, "#!/bin/sh\necho 'PHP 8.2.29 (cli)'\n");
    let places = SearchPaths { path: vec![directory.path().to_path_buf()], ..bare() };
    let asked = [("php", Scalar::Text("8.4".to_owned()))];
    let text = refused(places, &choice("php-builtin", &asked));
    assert_words!(text.replace(&program.display().to_string(), "/php8.2"), @r"
    error: runtime `php-builtin` is to run PHP 8.4, and /php8.2 is PHP 8.2.29
    hint: install PHP 8.4 for php-builtin, name its program in the plan (`stampede runtimes` shows the names), or leave `php` out: then what is installed is used
    ");
}

#[test]
fn a_named_program_that_is_not_there_says_who_named_it() {
    let given = [("nginx", Scalar::Text("/nowhere/nginx".into()))];
    assert_words!("named_in_plan", refused(bare(), &choice("nginx-fpm", &given)));
    let places = SearchPaths {
        named: BTreeMap::from([("STAMPEDE_PHP_FPM".into(), "/nowhere/fpm".into())]),
        path: SearchPaths::from_env().path,
        ..bare()
    };
    let text = refused(places, &choice("nginx-fpm", &[]));
    assert_words!("named_in_environment", text);
}

#[test]
fn a_directory_without_an_app_says_what_it_lacks() {
    let directory = tempfile::tempdir().expect("directory");
    let catalogue = Catalogue::load(bare());
    let path = directory.path().join("shop");
    fs::create_dir(&path).expect("directory");
    let error = catalogue.app(&AppChoice::directory(path.clone())).expect_err("no app");
    let text = message_of(&error).replace(&*path.to_string_lossy(), "DIRECTORY");
    assert_words!("directory_without_app", text);
    assert!(catalogue.app(&AppChoice::directory(path.join("not-there"))).is_err());
    let error = catalogue.app(&AppChoice::named("helo".into())).expect_err("unknown");
    assert_words!("app_nearest", message_of(&error));
}

#[test]
fn a_project_is_recognised_by_what_it_requires() {
    let directory = tempfile::tempdir().expect("directory");
    let catalogue = Catalogue::load(bare());
    fs::create_dir(directory.path().join("public")).expect("directory");
    fs::write(directory.path().join("public/index.php"), "<?php").expect("file");
    fs::create_dir(directory.path().join("vendor")).expect("directory");
    fs::write(directory.path().join("vendor/autoload.php"), "<?php").expect("file");
    for (package, kind) in [
        ("laravel/framework", "laravel"),
        ("laravel/lumen-framework", "lumen"),
        ("symfony/framework-bundle", "symfony"),
        ("monolog/monolog", "script"),
    ] {
        let composer = format!("{{\"require\":{{\"{package}\":\"*\"}}}}");
        fs::write(directory.path().join("composer.json"), composer).expect("file");
        let app = catalogue.app(&AppChoice::directory(directory.path().into())).expect("app");
        assert_eq!((app.manifest.kind.name(), app.manifest.docroot.as_str()), (kind, "public"));
    }
}

#[test]
fn a_wrong_directory_points_into_its_file() {
    let directory = tempfile::tempdir().expect("directory");
    let good = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes/php-builtin/runtime.yaml"),
    )
    .expect("runtime.yaml");
    let own = directory.path().join("own");
    fs::create_dir(&own).expect("directory");
    for (snapshot, from, to) in [
        ("field_unknown", "worker_held_by:", "worker_heldby:"),
        ("field_missing", "title: PHP's built-in web server\n", ""),
        ("mode_unknown", "mode: per-request", "mode: per-requests"),
        ("common_unknown", "[workers, memory_limit,", "[workers, memory_limits,"),
        ("signal_unknown", "signal: TERM", "signal: TERMINATE"),
        ("grace_without_unit", "grace: 1s", "grace: 10"),
        ("role_unknown", "processes: { role: php }", "processes: { role: web }"),
        ("php_unknown", "php: php\n", "php: phq\n"),
        ("run_unknown", "      php {{", "      phq {{"),
        ("need_unknown", "common_needs: [php]", "common_needs: [phq]"),
        ("yaml_broken", "settings:", "settings: ["),
    ] {
        assert!(good.contains(from), "{from}");
        fs::write(own.join("runtime.yaml"), good.replacen(from, to, 1)).expect("file");
        let places = SearchPaths { runtimes: vec![directory.path().into()], ..bare() };
        let error = Catalogue::load(places).runtime("own").expect_err("wrong");
        let text = message_of(&error).replace(&*directory.path().to_string_lossy(), "DIRECTORY");
        assert_words!(snapshot, text);
    }
}

#[test]
fn a_port_that_is_taken_is_refused_before_anything_is_made() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("bind");
    let port = listener.local_addr().expect("address").port();
    let catalogue = Catalogue::load(SearchPaths::from_env());
    let app = catalogue.app(&AppChoice::named("hello".into())).expect("app");
    let placement = Placement { port: Some(port), ..Placement::default() };
    let error = prepared(&refusing(&catalogue), &choice("php-builtin", &[]), &app, &placement);
    let error = error.err().expect("taken");
    if matches!(error, RuntimeError::Missing { .. }) {
        return eprintln!("SKIPPED: {error}");
    }
    let text = message_of(&error).replace(&port.to_string(), "PORT");
    assert!(text.starts_with("error: port PORT is taken by process `"), "{text}");
    assert!(text.ends_with("hint: end that process, or leave the port out: a free one is found"));
}

#[test]
fn a_working_directory_with_odd_characters_is_refused() {
    let directory = tempfile::Builder::new().prefix("odd name").tempdir().expect("directory");
    let places = SearchPaths { temp: Some(directory.path().into()), ..SearchPaths::from_env() };
    let text = refused(places, &choice("php-builtin", &[]));
    if !text.contains("needs") {
        assert!(text.contains("may have only letters"), "{text}");
    }
}

#[test]
fn the_list_says_what_is_missing() {
    let listed = list(&Catalogue::load(bare()));
    let names: Vec<&str> = listed.iter().map(|runtime| runtime.name.as_str()).collect();
    for name in ["apache-modphp", "nginx-fpm", "php-builtin"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"common"));
    let builtin = listed.iter().find(|runtime| runtime.name == "php-builtin").expect("listed");
    let RuntimeState::Missing { missing, install } = &builtin.state else { panic!("{builtin:?}") };
    assert_eq!(missing, &["php"]);
    assert_eq!(install.as_deref(), Some("stampede install php-builtin"));
}
