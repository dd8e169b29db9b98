//! Tests of reading plans as people write them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stampede_model::app_kind::AppKind;
use stampede_model::cpus::CpuCount;
use stampede_model::load::{Arrivals, HttpVersion, Model, Until, WhenFull};
use stampede_model::time::Nanos;

use super::app_settings::SettingSource;
use super::error::Source;
use super::flags::Flags;
use super::lookup::Lookup;
use super::model::*;
use super::parts::Written;
use super::*;

const SHOP: &str = include_str!("fixtures/shop.yaml");
const SYMFONY: &str = include_str!("fixtures/symfony.yaml");
const LARAVEL: &str = include_str!("fixtures/laravel.yaml");
const SHORT: &str = include_str!("fixtures/short.yaml");
const EVERYTHING: &str = include_str!("fixtures/everything.yaml");

/// Reads a text as if it were the file `plans/plan.yaml` and `/home/ada` the home directory.
pub(super) fn read_text(text: &str, flags: &Overrides) -> Result<Plan, PlanError> {
    let (name, base) = ("plans/plan.yaml".to_owned(), PathBuf::from("plans"));
    let source = Arc::new(Source { name, text: text.to_owned(), base });
    let mut root = tree::parse(&source)?;
    let flags = Flags::new(flags);
    let written = Written { flags: flags.as_typed(), ..Written::default() };
    read::resolve(&mut root, &flags, Some(PathBuf::from("/home/ada")), written)
}

pub(super) fn plan(text: &str) -> Plan {
    read_text(text, &Overrides::default())
        .unwrap_or_else(|error| panic!("{}", error.render(RenderStyle::Plain)))
}

fn plan_with(text: &str, flags: &Overrides) -> Plan {
    read_text(text, flags).unwrap_or_else(|error| panic!("{}", error.render(RenderStyle::Plain)))
}

pub(super) fn names(plan: &Plan) -> Vec<&str> {
    plan.stack.runtimes.iter().map(|runtime| runtime.name.as_str()).collect()
}

fn load_names(plan: &Plan) -> Vec<&str> {
    plan.loads.iter().map(|load| load.name.as_str()).collect()
}

fn schedule_of(load: &LoadChoice) -> String {
    match &load.model {
        Model::Open { schedule, .. } => schedule.to_string(),
        Model::Closed { .. } => panic!("{} is closed", load.name),
    }
}

#[test]
fn earlier_names_of_keys_are_read() {
    // A name that a person chose stays, even if it equals the earlier name of a key.
    let plan = plan(
        "app: ~/shop
runtimes: [live: {url: \"http://127.0.0.1:8080\"}]
load: {users: {users: 4, for: 1s, urls: [/a, /b]}}", // old words
    );
    assert_eq!(names(&plan), ["live"]); // old words
    assert!(plan.stack.runtimes[0].is_external());
    assert_eq!(plan.loads[0].name, "users");
    assert!(matches!(plan.loads[0].model, Model::Closed { concurrency: 4, .. }));
    assert_eq!(plan.loads[0].requests.len(), 2);
}

#[test]
fn the_shop_plan() {
    let plan = plan(SHOP);
    assert_eq!(plan.stack.apps.choices, [AppChoice::directory(PathBuf::from("/home/ada/shop"))]);
    assert_eq!(
        plan.stack.budget,
        Budget::Shared { cpus: vec![CpuCount::whole(1)], memory_bytes: 1 << 30 }
    );
    assert_eq!(names(&plan), ["nginx-fpm", "frankenphp-worker", "external"]);
    let external = RuntimeSource::External {
        url: "http://127.0.0.1:8080".to_owned(),
        watch: Some(Watch::Container("shop".to_owned())),
        lookup: Lookup::default(),
    };
    assert_eq!(plan.stack.runtimes[2].source, external);
    assert_eq!(plan.stack.runtimes[0].settings["workers"], Scalar::Int(8));
    assert!(plan.stack.runtimes[2].settings.is_empty());
    assert_eq!(load_names(&plan), ["day", "rush"]);
    assert_eq!(schedule_of(&plan.loads[0]), "const(200,60s)");
    let rush = Model::Closed { concurrency: 50, until: Until::For(Nanos::from_secs(60)) };
    assert_eq!(plan.loads[1].model, rush);
    assert_eq!(plan.begin.warm_up(), Nanos::from_secs(5));
    assert_eq!(plan.rounds, Rounds::Fixed(5));
    let bounds: Vec<_> =
        plan.expect.iter().map(|e| (e.bound.figure.to_string(), e.bound.limit)).collect();
    assert_eq!(bounds, [("p95".to_owned(), 100e6), ("ok".to_owned(), 0.999)]);
}

#[test]
fn settings_of_all_runtimes_stay_apart_from_those_of_today() {
    let text = "app: hello\nworkers: 4\nphp_ini: {precision: 10}\nload: const(1,1s)\n\
                runtimes: [{today: {jit: tracing}}, nginx-fpm]\n";
    let plan = plan(text);
    let today = &plan.stack.runtimes[0];
    let RuntimeSource::Today { settings, php_ini } = &today.source else { panic!("{today:?}") };
    assert_eq!(settings["workers"], Scalar::Int(4));
    assert_eq!(php_ini["precision"], "10");
    assert_eq!(today.settings.keys().collect::<Vec<_>>(), ["jit"]);
    assert_eq!((plan.baseline.as_str(), today.php_ini.len()), ("today", 0));
}

#[test]
fn the_symfony_plan() {
    let plan = plan(SYMFONY);
    assert_eq!(names(&plan), ["nginx-fpm", "roadrunner", "reactphp", "nginx-fpm-80"]);
    let variant = &plan.stack.runtimes[3];
    assert_eq!(variant.source, RuntimeSource::Catalogue("nginx-fpm".to_owned()));
    assert_eq!(variant.settings["workers"], Scalar::Int(80));
    assert_eq!(variant.settings["pm"], Scalar::Text("dynamic".to_owned()));
    assert_eq!(variant.settings["front"], Scalar::Text("nginx".to_owned()));
    assert_eq!(variant.php_ini["realpath_cache_size"], "4096K");
    let first = &plan.loads[0];
    assert_eq!((first.name.as_str(), &first.except[..]), ("100", &["nginx-fpm-80".to_owned()][..]));
    assert_eq!(
        first.client,
        Client { name: "tank".into(), http: HttpVersion::Http10, keep_alive: KeepAlive::Off }
    );
    let Model::Open { schedule, max_in_flight, when_full, .. } = &first.model else {
        panic!("closed")
    };
    assert_eq!(schedule.planned(), 57_030);
    assert_eq!((*max_in_flight, *when_full), (1_000, WhenFull::Stretch));
    assert_eq!((plan.begin.warm_up(), first.timeout), (Nanos::from_secs(5), Nanos::from_secs(11)));
}

#[test]
fn the_laravel_plan() {
    let plan = plan(LARAVEL);
    assert_eq!(plan.stack.apps.choices.len(), 2);
    let cpus = [("load", 4), ("php", 16), ("web", 2)].map(|(role, n)| (role.to_owned(), n)).into();
    assert_eq!(plan.stack.budget, Budget::ByRole { cpus, memory_bytes: 0 });
    assert_eq!(plan.begin, StartState::Cold);
    assert_eq!(plan.loads[0].timeout, Nanos::from_secs(2));
    assert_eq!(plan.stack.runtimes[0].php_ini["memory_limit"], "512M");
    assert_eq!(plan.stack.runtimes[0].settings["workers"], Scalar::Int(100));
    assert!(plan.stack.runtimes[1].php_ini.is_empty());
}

#[test]
fn the_short_form() {
    let plan = plan(SHORT);
    assert_eq!(load_names(&plan), ["4 at a time 20s"]);
    assert_eq!(plan.rounds, Rounds::Fixed(1));
    assert_eq!(
        plan.stack.budget,
        Budget::Shared { cpus: vec![CpuCount::whole(0)], memory_bytes: 0 }
    );
    assert_eq!(plan.loads[0].client.keep_alive, KeepAlive::Auto);
    assert_eq!(plan.loads[0].requests, [], "each app's own");
}

/// A plan with every key. The snapshot shows how each is resolved.
#[test]
fn the_whole_grammar() {
    let plan = plan(EVERYTHING);
    insta::assert_debug_snapshot!(plan);
}

#[test]
fn flags_alone_make_a_plan() {
    let flags = Overrides {
        app: Some("./shop".into()),
        runtimes: Some("nginx-fpm, php-builtin".into()),
        rate: Some("200".into()),
        for_: Some("60s".into()),
        seed: Some("7".into()),
        ..Overrides::default()
    };
    let plan = from_flags(&flags).unwrap();
    assert_eq!(plan.stack.apps.choices, [AppChoice::directory(PathBuf::from("shop"))]);
    assert_eq!(names(&plan), ["nginx-fpm", "php-builtin"]);
    assert_eq!(load_names(&plan), ["const(200,60s)"]);
    assert_eq!(plan.seed, 7);
    assert_eq!(
        plan.stack.written().flags,
        [
            "--app ./shop",
            "--runtimes 'nginx-fpm, php-builtin'",
            "--rate 200",
            "--for 60s",
            "--seed 7"
        ]
    );
}

#[test]
fn flags_win_over_the_plan() {
    let flags = Overrides {
        app: Some("hello".into()),
        concurrency: Some("3".into()),
        requests: Some("100".into()),
        cpus: Some("3".into()),
        workers: Some("5".into()),
        timeout: Some("1s".into()),
        warm_up: Some("1s".into()),
        expect: vec!["ok >= 50%".into(), "p50 < 1s".into()],
        rounds: Some("auto".into()),
        runtimes: Some("nginx-unit,php-builtin".into()),
        ..Overrides::default()
    };
    let plan = plan_with(LARAVEL, &flags);
    assert_eq!(plan.stack.apps.choices, [AppChoice::named("hello".into())]);
    assert_eq!(load_names(&plan), ["3 at a time 100 requests"]);
    assert_eq!(
        plan.stack.budget,
        Budget::Shared { cpus: vec![CpuCount::whole(3)], memory_bytes: 0 }
    );
    assert_eq!(plan.loads[0].timeout, Nanos::from_secs(1));
    assert_eq!(plan.begin.warm_up(), Nanos::from_secs(1));
    assert_eq!(plan.expect.len(), 2);
    let max_time = Nanos::from_secs(1_800);
    assert_eq!(plan.rounds, Rounds::Auto { precision: 0.05, max_time });
    // A runtime keeps the settings that the plan gives to its name.
    assert_eq!(plan.stack.runtimes[0].settings["workers"], Scalar::Int(16));
    assert_eq!(plan.stack.runtimes[1].settings["workers"], Scalar::Int(5));
}

#[test]
fn flags_change_loads_of_the_plan() {
    let habits = Overrides {
        for_: Some("2s".into()),
        client: Some("ab".into()),
        max_in_flight: Some("5".into()),
        path: Some("/x".into()),
        ..Overrides::default()
    };
    let plan = plan_with(SHOP, &habits);
    assert_eq!(schedule_of(&plan.loads[0]), "const(200,60s)");
    let Model::Open { max_in_flight, .. } = plan.loads[0].model else { panic!() };
    assert_eq!(max_in_flight, 5);
    let rush = Model::Closed { concurrency: 50, until: Until::For(Nanos::from_secs(2)) };
    assert_eq!(plan.loads[1].model, rush);
    for load in &plan.loads {
        assert_eq!((load.client.name.as_str(), load.requests[0].path.as_str()), ("ab", "/x"));
    }
    // With one load in the plan, the flag changes what is sent and keeps the load's other keys.
    let text = "app: a\nruntimes: [b]\nload: {x: {concurrency: 5, for: 1s, path: /p, timeout: 3s}}";
    let plan = plan_with(
        text,
        &Overrides { schedule: Some("const(5,1s)".into()), ..Overrides::default() },
    );
    assert_eq!(schedule_of(&plan.loads[0]), "const(5,1s)");
    assert_eq!(
        (plan.loads[0].timeout, plan.loads[0].requests[0].path.as_str()),
        (Nanos::from_secs(3), "/p")
    );
}

#[test]
fn the_flag_for_keep_alive_wins_over_the_client_of_a_load() {
    let text = "app: a\nruntimes: [b]\nload: {x: {concurrency: 5, for: 1s, client: k6}}";
    let flags = Overrides { keep_alive: Some("off".into()), ..Overrides::default() };
    assert_eq!(plan(text).loads[0].client.keep_alive, KeepAlive::On);
    assert_eq!(plan_with(text, &flags).loads[0].client.keep_alive, KeepAlive::Off);
}

#[test]
fn time_scale_makes_everything_shorter() {
    let flags = Overrides { time_scale: Some("0.1".into()), ..Overrides::default() };
    let plan = plan_with(SHOP, &flags);
    assert_eq!(schedule_of(&plan.loads[0]), "const(200,6s)");
    let rush = Model::Closed { concurrency: 50, until: Until::For(Nanos::from_secs(6)) };
    assert_eq!(plan.loads[1].model, rush);
    assert_eq!(plan.begin.warm_up(), Nanos::from_millis(500));
}

#[test]
fn only_leaves_what_it_names() {
    let only = |names: &str| Overrides { only: Some(names.into()), ..Overrides::default() };
    let plan = plan_with(SYMFONY, &only("nginx-fpm-80"));
    assert_eq!(names(&plan), ["nginx-fpm-80"]);
    assert_eq!(load_names(&plan), ["1000"]); // "100" leaves it out
    let plan = plan_with(EVERYTHING, &only("nginx-fpm-jit, nginx-fpm"));
    assert_eq!(plan.stack.runtimes.len(), 5);
}

#[test]
fn seeds_are_drawn_and_stored() {
    assert_ne!(plan(SHORT).seed, plan(SHORT).seed);
    let text = format!("{SHORT}seed: 9\narrivals: poisson\n");
    let plan = plan(&text.replace("{concurrency: 4, for: 20s}", "\"const(5,1s)\""));
    let Model::Open { arrivals, .. } = plan.loads[0].model else { panic!() };
    assert_eq!((plan.seed, arrivals), (9, Arrivals::Poisson { seed: 9 }));
}

#[test]
fn aliases_and_merges_are_yaml() {
    let text = "app: hello\nruntimes:\n  - a: &common {workers: 3, pm: static}\n  - b: {<<: *common, workers: 4}\nload: [\"const(5,1s)\"]\n";
    let plan = plan(text);
    assert_eq!(plan.stack.runtimes[1].settings["workers"], Scalar::Int(4));
    assert_eq!(plan.stack.runtimes[1].settings["pm"], Scalar::Text("static".into()));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut text = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..12 {
        let aliases = vec![format!("*a{}", i - 1); 10].join(", ");
        text += &format!("b{i}: &a{i} [{aliases}]\n");
    }
    let error = read_text(&text, &Overrides::default()).unwrap_err();
    assert_eq!(error.to_string(), "more than a plan may hold");
}

#[test]
fn files_that_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let none = read(&directory.path().join("none.yaml"), &Overrides::default()).unwrap_err();
    assert!(matches!(none, PlanError::Unreadable { .. }));
    let path = directory.path().join("plan.yaml");
    std::fs::write(&path, b"app: \xff").unwrap();
    let error = read(&path, &Overrides::default()).unwrap_err();
    assert!(
        matches!(&error, PlanError::Unreadable { source, .. } if source.kind() == std::io::ErrorKind::InvalidData)
    );
    std::fs::write(&path, vec![b'#'; tree::BYTES_MAX + 1]).unwrap();
    assert!(matches!(read(&path, &Overrides::default()), Err(PlanError::TooLarge { .. })));
    std::fs::write(&path, SHORT).unwrap();
    let plan = read(&path, &Overrides::default()).unwrap();
    let written = plan.stack.written();
    assert_eq!((written.source.as_deref(), written.text.as_str()), (Some(path.as_path()), SHORT));
}

#[test]
fn cpus_may_be_several() {
    let flags = Overrides { cpus: Some("1, 2,4".into()), ..Overrides::default() };
    let text = "app: hello\nruntimes: [nginx-fpm]\nload: const(100,2s)\n";
    let in_plan = plan(&format!("{text}budget: {{cpus: [1, 2, 4]}}\n")).stack.budget;
    assert_eq!(in_plan.cpu_counts(), [1, 2, 4].map(CpuCount::whole));
    assert_eq!(plan_with(text, &flags).stack.budget, in_plan);
}

/// A flag's value.
pub(super) fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn apps_are_read_without_the_rest_of_their_plan() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.yaml");
    std::fs::write(&path, "apps: [hello, ./shop]\nload: const(\nrounds: -1\n").unwrap();
    assert!(read(&path, &Overrides::default()).is_err());
    let apps = apps_of(Some(&path), &Overrides::default()).unwrap();
    let shop = AppChoice::directory(directory.path().join("shop"));
    assert_eq!(apps.choices, [AppChoice::named("hello".into()), shop]);
    let error = unknown(&apps.written, Subject::App(0, &apps.choices[0]), &["hallo"]);
    let PlanError::Wrong(wrong) = error else { panic!("{error}") };
    assert_eq!(wrong.place.text(), "hello", "a later mistake has its place in the file");
    let flags = Overrides { app: text("/srv/a"), kind: text("symfony"), ..Overrides::default() };
    let own = apps_of(Some(&path), &flags).unwrap().choices.swap_remove(0);
    assert_eq!(own.path(), Some(Path::new("/srv/a")));
    assert_eq!(own.settings.kind, Some(AppKind::Symfony));
    assert_eq!(own.settings.source("kind"), SettingSource::Flag);
}

#[test]
fn a_variable_of_a_flag_wins_over_that_of_the_plan() {
    let flags = Overrides {
        app_flags: AppFlags { env: vec!["X=flag".to_owned()], ..AppFlags::default() },
        ..Overrides::default()
    };
    let plan = "app: ./shop\nenv: {X: plan, Y: plan}\nruntimes: [a]\nload: const(1,1s)\n";
    let plan = read_text(plan, &flags).unwrap();
    let env = &plan.stack.runtimes[0].env;
    assert_eq!((env["X"].as_str(), env["Y"].as_str()), ("flag", "plan"));
}

#[test]
fn a_stack_has_no_load() {
    let flags = Overrides { runtimes: text("a"), cpus: text("2"), ..Overrides::default() };
    let stack = stack_from_flags(&flags, Some("small")).unwrap();
    assert_eq!(stack.apps.choices, [AppChoice::named("small".into())]);
    assert_eq!(stack.budget.cpu_counts(), [CpuCount::whole(2)]);
    assert_eq!(stack.written().flags, ["--runtimes a", "--cpus 2"], "nobody typed the app");
    let error = stack_from_flags(&flags, None).unwrap_err();
    let PlanError::Wrong(wrong) = error else { panic!("{error}") };
    assert!(matches!(wrong.mistake, Mistake::Missing("app")), "{}", wrong.mistake);
    let given = Overrides { app: text("own"), ..flags };
    let stack = stack_from_flags(&given, Some("small")).unwrap();
    assert_eq!(stack.apps.choices, [AppChoice::named("own".into())]);
}

#[test]
fn a_search_needs_no_load_and_takes_nothing_from_its_rate() {
    let flags = Overrides {
        app: text("hello"),
        runtimes: text("a"),
        max_in_flight: text("7"),
        ..Overrides::default()
    };
    let plan = search(None, &flags).unwrap();
    assert_eq!((plan.load.max_in_flight, plan.load.requests.len()), (7, 0));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.yaml");
    let load = "{users: many, for: ever, path: /a, timeout: 2s}"; // an old word
    let plan = format!("app: hello\nruntimes: [a]\nload: {{rush: {load}}}\n");
    std::fs::write(&path, plan).unwrap();
    assert!(read(&path, &Overrides::default()).is_err());
    let plan = search(Some(&path), &Overrides { max_in_flight: text("7"), ..flags }).unwrap();
    assert_eq!((plan.load.max_in_flight, plan.load.requests[0].path.as_str()), (7, "/a"));
    assert_eq!(plan.load.timeout, Nanos::from_secs(2));
    let trial = plan.load.with("one".to_owned(), plan.load.open("const(5,1s)".parse().unwrap()));
    assert_eq!((schedule_of(&trial).as_str(), trial.timeout), ("const(5,1s)", plan.load.timeout));
}

/// A fraction is a quota. `2000m` is two whole CPUs, as `2` is.
#[test]
fn cpus_may_have_a_fraction() {
    let text = "app: hello\nruntimes: [nginx-fpm]\nload: const(100,2s)\n";
    let wanted = [500, 1_500, 250, 2_000].map(CpuCount::of_thousandths);
    let in_plan = plan(&format!("{text}budget: {{cpus: [0.5, 1500m, \"250m\", 2000m]}}\n")).stack;
    assert_eq!(in_plan.budget.cpu_counts(), wanted);
    let flags = Overrides { cpus: self::text("0.5,1.5, 250m,2"), ..Overrides::default() };
    assert_eq!(plan_with(text, &flags).stack.budget.cpu_counts(), wanted);
    let twice = read_text(&format!("{text}budget: {{cpus: [0.5, 500m]}}\n"), &Overrides::default());
    let Err(PlanError::Wrong(wrong)) = twice else { panic!("{twice:?}") };
    assert!(matches!(wrong.mistake, Mistake::Twice { .. }), "{}", wrong.mistake);
    assert_eq!((wrong.place.text(), wrong.place.line_column()), ("500m", (4, 22)));
}

#[test]
fn a_habit_as_a_flag_changes_a_load_that_is_just_a_schedule() {
    let flags = Overrides { keep_alive: Some("on".into()), ..Overrides::default() };
    let text = "app: hello\nruntimes: [nginx-fpm]\nload: const(100,2s)\n";
    let plan = plan_with(text, &flags);
    assert_eq!(load_names(&plan), ["const(100,2s)"]);
    assert_eq!(plan.loads[0].client.keep_alive, KeepAlive::On);
}

#[test]
fn a_single_load_needs_no_name() {
    let read = |load: &str, flags: &Overrides| {
        plan_with(&format!("app: hello\nruntimes: [nginx-fpm]\nload: {load}\n"), flags)
    };
    let written = |load: &str| read(load, &Overrides::default()).loads;
    assert_eq!(written("{rate: 80, for: 1s}"), written("[{rate: 80, for: 1s}]"));
    assert_eq!(written("{users: 8, for: 1s}"), written("[{concurrency: 8, for: 1s}]"));
    assert_eq!(written("{schedule: \"const(5,2s)\"}"), written("const(5,2s)"));
    // Names of loads may be those of keys.
    let names = "{users: {rate: 80, for: 1s}, urls: \"const(5,2s)\", rate: {rate: 5, for: 1s}}";
    let plan = read(names, &Overrides::default());
    assert_eq!(load_names(&plan), ["users", "urls", "rate"]);
    let flags =
        Overrides { rate: Some("5".into()), for_: Some("2s".into()), ..Overrides::default() };
    let plan = read("{concurrency: 8, for: 1s, timeout: 3s, path: /p}", &flags);
    assert_eq!(schedule_of(&plan.loads[0]), "const(5,2s)");
    assert_eq!(
        (plan.loads[0].timeout, &*plan.loads[0].requests[0].path),
        (Nanos::from_secs(3), "/p")
    );
}

/// The YAML blocks of docs/plans.md, completed with the keys that they leave out.
#[test]
fn the_plans_of_the_docs() {
    let page = include_str!("../../../docs/plans.md");
    let mut blocks = 0;
    for block in page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        let mut text = block.to_owned();
        for (key, line) in [
            ("app:", "app: hello\n"),
            ("runtimes:", "runtimes: [nginx-fpm, {small: {use: nginx-fpm}}]\n"),
            ("load:", "load: const(1,1s)\n"),
        ] {
            if !block.lines().any(|written| written.starts_with(key)) {
                text.push_str(line);
            }
        }
        assert!(!plan(&text).stack.runtimes.is_empty(), "{text}");
        blocks += 1;
    }
    assert_eq!(blocks, 5);
}

/// The plans that are in the repository.
#[test]
fn the_ready_plans() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    let mut read_plans = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(!plan(&text).loads.is_empty(), "{}", path.display());
            read_plans += 1;
        }
    }
    assert!(read_plans >= 3);
}

/// The demo is documented to take about three minutes: two minutes of load on five runtimes, plus
/// the starts around them.
#[test]
fn the_demo_lasts_two_minutes_of_load() {
    let plan = plan(include_str!("../../../plans/demo.yaml"));
    let Model::Open { schedule, .. } = &plan.loads[0].model else { panic!("closed") };
    assert_eq!((plan.rounds, plan.starts), (Rounds::Fixed(3), Starts::PerRound));
    let load = plan.begin.warm_up().plus(schedule.length());
    assert_eq!(3 * 5 * plan.loads.len() as u64 * load.0, 120_000_000_000);
}

#[test]
fn php_ini_is_swept_like_a_setting() {
    let plan = plan(
        "app: hello\nload: [{concurrency: 1, for: 1s}]\nphp_ini: {opcache.jit: tracing, precision: 10}\n\
         runtimes: [{nginx-fpm: {preload: ./boot.php, sweep: {workers: [1, 2], \
         php_ini: {opcache.jit_buffer_size: [0, 64M], opcache.jit: [off]}}}}]\n",
    );
    assert_eq!(
        names(&plan),
        [
            "nginx-fpm workers=1 opcache.jit_buffer_size=0 opcache.jit=off",
            "nginx-fpm workers=1 opcache.jit_buffer_size=64M opcache.jit=off",
            "nginx-fpm workers=2 opcache.jit_buffer_size=0 opcache.jit=off",
            "nginx-fpm workers=2 opcache.jit_buffer_size=64M opcache.jit=off",
        ]
    );
    let ini = [("opcache.jit", "off"), ("opcache.jit_buffer_size", "64M"), ("precision", "10")];
    let ini = ini.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(plan.stack.runtimes[3].php_ini, ini.into());
    let preload = Scalar::Text("./boot.php".into());
    assert_eq!(plan.stack.runtimes[3].settings["preload"], preload, "a file of the app");
}
