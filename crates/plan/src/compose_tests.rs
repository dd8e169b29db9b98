//! Tests of plans with compose projects.

use std::path::PathBuf;

use super::model::*;
use super::tests::{names, plan, read_text};
use super::*;

#[test]
fn a_compose_project_brings_its_app() {
    let short = plan("runtimes: [{fpm: {compose: docker/fpm.yml}}]\nload: [\"const(5,1s)\"]");
    assert_eq!(short.stack.apps.choices, [AppChoice::provided()]);
    let RuntimeSource::Compose(source) = &short.stack.runtimes[0].source else {
        panic!("containers")
    };
    assert_eq!((source.files.len(), source.port, source.volumes), (1, None, VolumeState::Copied));
    assert!(short.stack.runtimes[0].settings.is_empty(), "the catalogue's are for its runtimes");

    let app = plan(
        "app: {host: shop.test}\nruntimes: [{fpm: {compose: [a.yml, b.yml]}}, external: {url: \"http://a\"}]
load: [\"const(5,1s)\"]\nenv: {APP_ENV: prod}",
    );
    let choice = &app.stack.apps.choices[0];
    assert_eq!(
        (&choice.place, choice.settings.host.as_deref()),
        (&AppPlace::Provided, Some("shop.test"))
    );
    assert_eq!(app.stack.runtimes[0].env["APP_ENV"], "prod");

    let text = "runtimes: [{fpm: {compose: a.yml}}, nginx-fpm]\nload: [\"const(5,1s)\"]";
    let error = read_text(text, &Overrides::default()).expect_err("nginx-fpm serves an app");
    assert!(error.to_string().contains("app"), "{error}");
}

#[test]
fn flags_add_compose_projects_under_names_of_their_own() {
    let text = |text: &str| Some(text.to_owned());
    let compose = [
        "docker/fpm.yml",
        "shop/docker-compose.prod.yml",
        "base/compose.yaml:over.yml",
        "other/fpm.yml",
        "compose.dev.yaml",
        "docker-compose-legacy.yml",
        "shop/compose.test.yml",
        "v-docker-compose.yml",
        "docker/web.compose.yaml",
        ".",
        "src/../src",
    ];
    let flags = Overrides {
        compose: ComposeFlags {
            files: compose.map(str::to_owned).into(),
            service: text("web"),
            port: text("8080"),
            ..ComposeFlags::default()
        },
        concurrency: text("4"),
        for_: text("5s"),
        app_flags: AppFlags { env: vec!["APP_ENV=prod".to_owned()], ..AppFlags::default() },
        ..Overrides::default()
    };
    let plan = from_flags(&flags).expect("a plan");
    assert_eq!(
        names(&plan),
        ["fpm", "shop", "base", "fpm-2", "dev", "legacy", "test", "v", "web", "plan", "src"]
    );
    assert_eq!(plan.stack.apps.choices[0].settings.env["APP_ENV"], "prod");
    let sources: Vec<&ComposeSource> = plan
        .stack
        .runtimes
        .iter()
        .map(|runtime| match &runtime.source {
            RuntimeSource::Compose(source) => source,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!(
        sources
            .iter()
            .all(|source| source.service.as_deref() == Some("web") && source.port == Some(8080))
    );
    assert_eq!(sources[2].files, ["base/compose.yaml", "over.yml"].map(PathBuf::from));

    let apps = apps_of(None, &flags).expect("each brings its own");
    assert_eq!(apps.choices, plan.stack.apps.choices);
    let gaps = missing_parts(None, &flags).expect("no file is read");
    assert!(!gaps.app && !gaps.runtimes && !gaps.load, "{gaps:?}");
    let both = Overrides { runtimes: text("nginx-fpm"), ..flags };
    assert!(missing_parts(None, &both).expect("no file").app, "nginx-fpm serves an app");
}

#[test]
fn each_version_of_php_is_a_row_that_asks_the_project_for_it() {
    let of = |php: &str| {
        plan(&format!("runtimes: [{{shop: {{compose: a.yml, {php}}}}}]\nload: [\"const(5,1s)\"]"))
    };
    let php = |plan: &Plan| -> Vec<(String, String)> {
        let one = |runtime: &RuntimeChoice| match &runtime.source {
            RuntimeSource::Compose(source) => {
                let php = source.php.clone().expect("a version");
                assert_eq!(source.arguments()[&php.argument], php.version);
                (php.argument, php.version)
            }
            other => panic!("{other:?}"),
        };
        plan.stack.runtimes.iter().map(one).collect()
    };
    let pair = |name: &str, version: &str| (name.to_owned(), version.to_owned());
    // The zero is part of the version.
    let swept = of("php: [8.2, 8.10], build_args: {PHP_VERSION: 7.4, A: 1}");
    assert_eq!(names(&swept), ["shop php=8.2", "shop php=8.10"]);
    assert_eq!(php(&swept), [pair("PHP_VERSION", "8.2"), pair("PHP_VERSION", "8.10")]);
    let single = of("php: \"8.4.1\", php_arg: PHP");
    assert_eq!((names(&single), php(&single)), (vec!["shop"], vec![pair("PHP", "8.4.1")]));
    for wrong in ["[8]", "[]", "latest", "[8.2, 8.2]", "8.4, php_arg: \"a b\"", "[8.2-fpm]"] {
        let text = format!(
            "runtimes: [{{shop: {{compose: a.yml, php: {wrong}}}}}]\nload: [\"const(5,1s)\"]"
        );
        assert!(read_text(&text, &Overrides::default()).is_err(), "{wrong}");
    }
}

#[test]
fn limits_of_services_stay_unless_the_plan_says_otherwise() {
    let limits = |more: &str| {
        let text = format!("runtimes: [{{a: {{compose: a.yml{more}}}}}]\nload: [\"const(5,1s)\"]");
        match plan(&text).stack.runtimes.remove(0).source {
            RuntimeSource::Compose(source) => source.limits,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(limits(""), ServiceLimits::Kept);
    assert_eq!(limits(", limits: keep"), ServiceLimits::Kept);
    assert_eq!(limits(", limits: none"), ServiceLimits::Dropped);
}

#[test]
fn a_search_takes_compose_projects_from_flags_alone() {
    let files = vec!["docker/fpm.yml".to_owned()];
    let compose =
        ComposeFlags { files, service: Some("web".to_owned()), ..ComposeFlags::default() };
    let flags = Overrides { compose, ..Overrides::default() };
    let plan = search(None, &flags).expect("a search needs no load of its own");
    assert_eq!(plan.stack.apps.choices, [AppChoice::provided()]);
    let RuntimeSource::Compose(source) = &plan.stack.runtimes[0].source else { panic!("one") };
    assert_eq!(
        (plan.stack.runtimes[0].name.as_str(), source.service.as_deref()),
        ("fpm", Some("web"))
    );
    let runtimes = Some("nginx-fpm".to_owned());
    let both = search(None, &Overrides { runtimes, app: Some("hello".to_owned()), ..flags });
    assert_eq!(both.expect("a plan").stack.runtimes.len(), 2);
}

/// They win over what the plan says of a project.
#[test]
fn flags_set_stages_code_and_php_ini_of_every_project() {
    let text = "runtimes: [{a: {compose: a.yml, build_target: {php: dev}, code: mounted, php_ini: {precision: 3, memory_limit: 1G}}}, \
                {b: {compose: b.yml}}, {fpm: {use: nginx-fpm, php_ini: article-000}}]\nphp_ini: {precision: 5, opcache.jit: off}\napp: hello\nload: [\"const(5,1s)\"]";
    let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let flags = Overrides {
        compose: ComposeFlags {
            build_target: texts(&["prod", "web=web_prod"]),
            code: Some("image".to_owned()),
            ..ComposeFlags::default()
        },
        app_flags: AppFlags { php_ini: texts(&["precision=9"]), ..AppFlags::default() },
        ..Overrides::default()
    };
    let shown = |flags: &Overrides| {
        let plan = read_text(text, flags).expect("a plan");
        let one = |runtime: &RuntimeChoice| {
            let source = match &runtime.source {
                RuntimeSource::Compose(source) => {
                    let targets = source.build_targets.iter();
                    let targets = targets.map(|one| format!("{:?}={}", one.service, one.stage));
                    format!("{:?} {:?}", targets.collect::<Vec<_>>(), source.code)
                }
                _ => String::new(),
            };
            let ini = |name: &str| runtime.php_ini.get(name).cloned().unwrap_or_default();
            let ini = ["precision", "memory_limit", "opcache.jit"].map(ini);
            format!("{}: {source} {ini:?}", runtime.name)
        };
        plan.stack.runtimes.iter().map(one).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!([shown(&Overrides::default()), shown(&flags)].join("\n\n"));
    let optional = |text: &str| {
        let plan = read_text(text, &flags).expect("a plan");
        let of = |runtime: &RuntimeChoice| match &runtime.source {
            RuntimeSource::Compose(source) => source.build_targets[0].is_optional,
            _ => false,
        };
        plan.stack.runtimes.iter().map(of).collect::<Vec<bool>>()
    };
    assert_eq!(optional(text), [true, true, false], "another project may have it");
    let only = "runtimes: [{a: {compose: a.yml, php: [8.3, 8.4]}}]\nload: [\"const(5,1s)\"]";
    assert_eq!(optional(only), [false, false]);
    for wrong in
        ["build_target: [a b]", "build_target: -x", "code: here", "build_target: {php: [a]}"]
    {
        let text =
            format!("runtimes: [{{a: {{compose: a.yml, {wrong}}}}}]\nload: [\"const(5,1s)\"]");
        assert!(read_text(&text, &Overrides::default()).is_err(), "{wrong}");
    }
    let flags = Overrides {
        app_flags: AppFlags { php_ini: texts(&["precision"]), ..AppFlags::default() },
        ..Overrides::default()
    };
    assert!(read_text(text, &flags).is_err(), "a name without a value");
}

/// What this machine sets would win over the plan's values.
#[test]
fn a_php_ini_flag_also_holds_for_the_row_of_this_machine() {
    let app_flags = AppFlags { php_ini: vec!["precision=9".to_owned()], ..AppFlags::default() };
    let flags = Overrides {
        app: Some("hello".to_owned()),
        runtimes: Some("today,nginx-fpm".to_owned()),
        concurrency: Some("1".to_owned()),
        for_: Some("5s".to_owned()),
        app_flags,
        ..Overrides::default()
    };
    let plan = from_flags(&flags).expect("a plan");
    let own: Vec<_> = plan.stack.runtimes.iter().map(|one| one.php_ini.get("precision")).collect();
    assert_eq!(own, [Some(&"9".to_owned()), Some(&"9".to_owned())]);
    assert_eq!(names(&plan), ["today", "nginx-fpm"]);
}

/// The plan's versions are for the catalogue's runtimes and for projects; a runtime's own win.
#[test]
fn versions_of_php_make_rows_of_every_runtime() {
    let rows = |php: &str, runtimes: &str| {
        let text = format!(
            "php: {php}\napp: hello\nruntimes: [{runtimes}, {{fpm: {{compose: a.yml}}}}]\nload: [\"const(5,1s)\"]"
        );
        let plan = plan(&text);
        let version = |one: &RuntimeChoice| match &one.source {
            RuntimeSource::Compose(source) => source.php.as_ref().map(|php| php.version.clone()),
            _ => one.settings.get("php").map(ToString::to_string),
        };
        let row =
            |one: &RuntimeChoice| format!("{}: {}", one.name, version(one).unwrap_or_default());
        plan.stack.runtimes.iter().map(row).collect::<Vec<String>>()
    };
    assert_eq!(
        rows(
            "[8.2, 8.4]",
            "nginx-fpm, {own: {use: nginx-fpm, php: 8.3, sweep: {jit: [\"off\", tracing]}}}"
        ),
        [
            "nginx-fpm php=8.2: 8.2",
            "nginx-fpm php=8.4: 8.4",
            "own jit=off: 8.3",
            "own jit=tracing: 8.3",
            "fpm php=8.2: 8.2",
            "fpm php=8.4: 8.4",
        ]
    );
    assert_eq!(
        rows("8.2", "{own: {use: nginx-fpm, sweep: {php: [8.3, 8.4]}}}")[..2],
        ["own php=8.3: 8.3", "own php=8.4: 8.4"]
    );
    // One version is in no name. `today` has the PHP of this machine, and a path is a program.
    assert_eq!(
        rows("8.4", "today, {roadrunner: {php: /opt/php/bin/php8.3}}, {swoole: {php: [8.2]}}"),
        ["today: ", "roadrunner: /opt/php/bin/php8.3", "swoole php=8.2: 8.2", "fpm: 8.4"]
    );
    for wrong in ["8", "[]", "[8.2, 8.2]", "[latest]"] {
        let text = format!("php: {wrong}\nruntimes: [nginx-fpm]\nload: [\"const(5,1s)\"]");
        read_text(&text, &Overrides::default()).expect_err(wrong);
    }
    let flags = Overrides { php: Some("8.2,8.4".to_owned()), ..Overrides::default() };
    let text = "app: hello\nruntimes: [nginx-fpm]\nload: [\"const(5,1s)\"]";
    let plan = read_text(text, &flags).expect("a plan");
    assert_eq!(names(&plan), ["nginx-fpm php=8.2", "nginx-fpm php=8.4"]);
}

#[test]
fn only_rows_without_containers_run_programs_of_this_machine() {
    let text = "app: hello\nruntimes: [{fpm: {compose: a.yml}}, {official: {use: nginx-fpm, images: official}}, nginx-fpm]\nload: [\"const(5,1s)\"]";
    let plan = read_text(text, &Overrides::default()).expect("a plan");
    let own: Vec<bool> =
        plan.stack.runtimes.iter().map(|choice| choice.has_programs_of_machine()).collect();
    assert_eq!(own, [false, false, true]);
}
