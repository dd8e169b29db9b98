//! Tests of mistakes in plans: each message as a person sees it, and that no input panics.

use proptest::prelude::*;

use super::tests::read_text;
use super::*;

/// A complete plan in which `line` replaces the line with the same key, or is added at the end.
pub(super) fn with(line: &str) -> String {
    let key = line.split(':').next().unwrap_or("");
    let plan = ["app: hello", "runtimes: [nginx-fpm, roadrunner]", "load: [\"const(5,1s)\"]"];
    let mut lines: Vec<&str> =
        plan.into_iter().filter(|other| other.split(':').next() != Some(key)).collect();
    lines.push(line);
    lines.join("\n") + "\n"
}

/// The messages of wrong plans, in order.
fn messages(plans: impl IntoIterator<Item = String>) -> String {
    plans
        .into_iter()
        .map(|text| match read_text(&text, &Overrides::default()) {
            Err(error) => error.render(RenderStyle::Plain) + "\n",
            Ok(_) => panic!("no mistake in:\n{text}"),
        })
        .collect()
}

/// Compares with the stored messages.
fn check(name: &str, shown: impl AsRef<str>) {
    insta::assert_snapshot!(name, shown.as_ref());
}

fn messages_of(lines: &[&str]) -> String {
    messages(lines.iter().map(|line| with(line)))
}

#[test]
fn yaml_itself() {
    let all = [
        "",
        "# nothing\n",
        "- hello\n",
        "hello\n",
        "app: [a\n",
        "app: a: b\n",
        "app: a\napp: b\n",
        "app: a\n---\napp: b\n",
        "app: *none\n",
        "app: !shop x\n",
        "{a: 1}: 2\n",
        "app: \"\\q\"\n",
        "~: 1\n",
    ];
    check("yaml_itself", messages(all.map(str::to_owned)));
}

#[test]
fn keys_and_what_is_missing() {
    let all = [
        with("runtime: [nginx-fpm]"),
        with("warmup: 5s"),
        with("zzz: 1"),
        with("apps: [hello]"),
        with("cold: true\nwarm_up: 5s"),
        "runtimes: [a]\nload: [\"const(5,1s)\"]\n".to_owned(),
        "app: a\nload: [\"const(5,1s)\"]\n".to_owned(),
        "app: a\nruntimes: [b]\n".to_owned(),
        "services: {web: {image: nginx}}\n".to_owned(),
        "version: '3'\nservices: {web: {image: nginx}}\n".to_owned(),
        with("runtimes: [docker/fpm.yml]"),
    ];
    check("keys_and_what_is_missing", messages(all));
}

#[test]
fn apps_budget_and_the_rest() {
    check(
        "apps_budget_and_the_rest",
        messages_of(&[
            "app: [a, b]",
            "app: ~ada/shop",
            "budget: 2",
            "budget: {cpu: 2}",
            "budget: {cpus: 2, php: 3}",
            "budget: {cpus: half}",
            "budget: {cpus: 9000}",
            "budget: {cpus: 0}",
            "budget: {cpus: -1}",
            "budget: {cpus: 0.0001}",
            "budget: {cpus: 12x}",
            "budget: {php: 0.5}",
            "budget: {cpus: [1, 1]}",
            "budget: {cpus: [0, 2]}",
            "budget: {cpus: []}",
            "budget: {php: 0}",
            "budget: {memory: lots}",
            "budget: {memory: 1K}",
            "workers: 0",
            "workers: 1.5",
            "workers: [1, 2]",
            "rounds: many",
            "rounds: 1001",
            "precision: 5%",
            "rounds: auto\nprecision: 500%",
            "rounds: auto\nprecision: narrow",
            "rounds: auto\nmax_time: 1ms",
            "repeat_invalid: 11",
            "seed: -1",
            "seed: 18446744073709551616",
            "warm_up: 5 seconds",
            "warm_up: 2d",
            "cold: maybe",
            "timeout: 0",
            "timeout: 2h",
            "client: tnak",
            "client: {use: tank, pipeline: 4}",
            "client: {http: 2}",
            "client: {when_full: wait}",
            "client: {max_in_flight: 0}",
            "keep_alive: sometimes",
            "arrivals: posson",
            "php_ini: article-00",
            "php_ini: {bad key: 1}",
            "php_ini: {memory_limit: \"1\\n2\"}",
            "php_ini: {open_basedir: \"${HOME}:/it's\"}",
            "env: {1A: x}",
            "env: [A]",
            "out: ",
        ]),
    );
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn runtimes_and_their_settings() {
    check(
        "runtimes_and_their_settings",
        messages_of(&[
            "runtimes: nginx-fpm",
            "runtimes: []",
            "runtimes: [today]\nphp: 8.4",
            "runtimes: [{external: {url: \"http://127.0.0.1:8080\"}}]\nphp: [8.2, 8.4]",
            "runtimes: [[a]]",
            "runtimes: [../etc]",
            "runtimes: [nginx-fpm, nginx-fpm]",
            "runtimes:\n  - nginx-fpm:\n    workers: 3",
            "runtimes: [{nginx-fpm: 3}]",
            "runtimes: [{nginx-fpm: {workers: 0}}]",
            "runtimes: [{nginx-fpm: {wor/kers: 1}}]",
            "runtimes: [{nginx-fpm: {pm: [static]}}]",
            "runtimes: [{nginx-fpm: {append: [x]}}]",
            "runtimes: [{nginx-fpm: {sweep: {jit: tracing}}}]",
            "runtimes: [{nginx-fpm: {sweep: {jit: []}}}]",
            "runtimes: [{nginx-fpm: {sweep: {opcache.jit: [\"off\"]}}}]",
            "runtimes: [{nginx-fpm: {sweep: {php_ini: [article-000]}}}]",
            "runtimes: [{nginx-fpm: {sweep: {php_ini: {memory_limit: 1G}}}}]",
            "opcache.jit: tracing",
            "runtimes: [external]",
            "runtimes: [external: {url: \"localhost:80\"}]",
            "runtimes: [external: {url: \"http://a\", workers: 2}]",
            "runtimes: [external: {url: \"http://a\", resolve: [\"a:80\"]}]",
            "runtimes: [external: {url: \"http://a\", connect_to: \"a:0:b:1\"}]",
            "runtimes: [external: {url: \"http://a\", watch: {docker: x}}]",
            "runtimes: [external: {url: \"http://a\", watch: {pid: 1, unit: x}}]",
            "runtimes: [external: {url: \"http://a\", watch: docker:x}]",
            "runtimes: [external: {url: \"http://a\", watch: container:-x}]",
            "runtimes: [{fpm: {compose: []}}]",
            "runtimes: [{fpm: {compose: a.yml, workers: 8}}]",
            "runtimes: [{fpm: {compose: a.yml, servcie: web}}]",
            "runtimes: [{fpm: {compose: a.yml, port: 70000}}]",
            "runtimes: [{fpm: {compose: a.yml, volumes: share}}]",
        ]) + &messages([with(&format!(
            "runtimes: [{{a: {{sweep: {{x: [{}], y: [{}]}}}}}}]",
            vec!["1"; 40].join(", "),
            vec!["1"; 40].join(", ")
        ))]),
    );
}

#[test]
fn loads_and_requests() {
    check(
        "loads_and_requests",
        messages_of(&[
            "load: ",
            "load: []",
            "load: 5",
            "load: {concurency: 50, for: 60s}",
            "load: {rate: 50, for: 60s, rush: {concurrency: 5, for: 60s}}",
            "load: {a/b: \"const(5,1s)\"}",
            "load: [const(5,1s)]",
            "load: {day: line(1,100,60s)}",
            "load: [{schedule: line(1,100,60s)}]",
            "load: {day: \"lin(1,100,60s)\"}",
            "load:\n  day: line(1,100,60s) cnst(100,5s)",
            "load: {day: \"line(1,100,60\\x73) cnst(100,5s)\"}",
            "load: [{schedule: [1]}]",
            "load: [{user: 5}]",
            "load: [{}]",
            "load: [{for: 5s}]",
            "load: [{rate: 200}]",
            "load: [{rate: fast, for: 5s}]",
            "load: [{rate: 99999999, for: 5s}]",
            "load: [{rate: 0, for: 5s}]",
            "load: [{rate: 200, for: 5s, requests: 5}]",
            "load: [{rate: 200, concurrency: 5}]",
            "load: [{schedule: \"const(5,1s)\", for: 5s}]",
            "load: [{concurrency: 5}]",
            "load: [{concurrency: 0, for: 5s}]",
            "load: [{concurrency: 1000001, for: 5s}]",
            "load: [{concurrency: 5, for: 8d}]",
            "load: [{concurrency: 5, for: 5s, requests: 5}]",
            "load: [{concurrency: 5, requests: 0}]",
            "load: [{concurrency: 5, for: 5s, max_in_flight: 5}]",
            "load: [{rate: 5, for: 5s, path: here}]",
            "load: [{rate: 5, for: 5s, path: /a b}]",
            "load: [{rate: 5, for: 5s, method: get}]",
            "load: [{rate: 5, for: 5s, headers: {\"a b\": c}}]",
            "load: [{rate: 5, for: 5s, headers: {A: \"b\\r\\nc: d\"}}]",
            "load: [{rate: 5, for: 5s, headers: {content-length: 5}}]",
            "load: [{rate: 5, for: 5s, traffic: []}]",
            "load: [{rate: 5, for: 5s, traffic: [/], path: /}]",
            "load: [{rate: 5, for: 5s, traffic: [{url: /}]}]",
            "load: [{rate: 5, for: 5s, only: [nginx]}]",
            "load: [{rate: 5, for: 5s, except: [nginx-fpm, roadrunner]}]",
        ]),
    );
}

#[test]
fn expectations() {
    check(
        "expectations",
        messages_of(&[
            "expect: fast",
            "expect: [p95 <]",
            "expect: [p95 < 100]",
            "expect: [p950 < 100ms]",
            "expect: [thruput > 100]",
            "expect: [ok >= 0.99]",
            "expect: [memory < much]",
            "expect: [throughput > 10ms]",
            "expect: [p95 better < 5%]",
            "expect: [p95 worse < 5ms]",
            "expect: [a b c < 5ms]",
            "expect: {p95: 100ms}",
        ]),
    );
}

/// Tests that a mistake in a flag points into the command line.
#[test]
fn flags() {
    let text = |text: &str| Some(text.to_owned());
    let good = Overrides {
        app: text("hello"),
        runtimes: text("nginx-fpm"),
        rate: text("200"),
        for_: text("60s"),
        ..Overrides::default()
    };
    let wrong = [
        Overrides::default(),
        Overrides { app: None, ..good.clone() },
        Overrides { rate: None, for_: None, ..good.clone() },
        Overrides { rate: None, ..good.clone() },
        Overrides { for_: None, ..good.clone() },
        Overrides { runtimes: text("nginx-fpm,,x"), ..good.clone() },
        Overrides {
            schedule: text("line(1,100,60s) cnst(1,5s)"),
            rate: None,
            for_: None,
            ..good.clone()
        },
        Overrides { concurrency: text("many"), rate: None, ..good.clone() },
        Overrides { concurrency: text("5"), ..good.clone() },
        Overrides { requests: text("5"), rate: None, for_: None, ..good.clone() },
        Overrides { workers: text("0"), ..good.clone() },
        Overrides { memory: text("big"), ..good.clone() },
        Overrides { client: text("wrk"), ..good.clone() },
        Overrides { only: text("nginx-fmp"), ..good.clone() },
        Overrides { expect: vec!["p95 < 1s".into(), "p9x < 1s".into()], ..good.clone() },
        Overrides { time_scale: text("0"), ..good.clone() },
        Overrides { time_scale: text("half"), ..good.clone() },
    ];
    let shown: String = wrong
        .iter()
        .map(|flags| from_flags(flags).expect_err("a mistake").render(RenderStyle::Plain) + "\n")
        .collect();
    check("flags", shown);
}

#[test]
fn no_load_is_left() {
    let plan = "app: a\nruntimes: [b, c]\nload: [{concurrency: 5, for: 1s, except: [c]}]\n";
    let flags = Overrides { only: Some("c".to_owned()), ..Overrides::default() };
    check(
        "no_load_is_left",
        read_text(plan, &flags).expect_err("no load").render(RenderStyle::Plain),
    );
}

#[test]
fn files() {
    let none = read("nowhere/plan.yaml".as_ref(), &Overrides::default()).expect_err("no file");
    let large = PlanError::TooLarge { path: "plan.yaml".into() };
    check("files", none.render(RenderStyle::Plain) + &large.render(RenderStyle::Plain));
}

/// A regression test: a value that begins with a quote and ends in a two-byte character was cut
/// inside that character.
#[test]
fn a_flag_of_quotes_and_umlauts_is_pointed_at() {
    let flags = Overrides { runtimes: Some("\"ü¥,x¥".to_owned()), ..Overrides::default() };
    let error = from_flags(&Overrides { app: Some("a".to_owned()), ..flags }).unwrap_err();
    let PlanError::Wrong(wrong) = error else { panic!("{error}") };
    assert_eq!(wrong.place.text(), "\"ü¥");
}

/// Tests that each limit of a plan is enforced, with a plan one above the limit or more.
#[test]
fn too_many_values_are_refused() {
    let list = |item: &str, count: usize| vec![item; count].join(", ");
    let names = (0..1_001).map(|i| format!("r{i}")).collect::<Vec<_>>().join(", ");
    let all = [
        with(&format!("load: [{}]", list("\"const(5,1s)\"", 101))),
        with(&format!("load: [{{rate: 5, for: 1s, traffic: [{}]}}]", list("/", 10_001))),
        with(&format!("runtimes: [{names}]")),
        with(&format!("env: {{A: {}}}", "x".repeat(1 << 20))),
        format!("app: {}x{}", "[".repeat(40), "]".repeat(40)),
    ];
    for text in all {
        let error = read_text(&text, &Overrides::default()).expect_err("too many");
        let PlanError::Wrong(wrong) = error else { panic!("{error}") };
        let fits =
            matches!(wrong.mistake, Mistake::TooMany { .. } | Mistake::TooMuch | Mistake::Yaml(_));
        assert!(fits, "{}", wrong.mistake);
        assert!(!wrong.mistake.to_string().contains("limits"), "{}", wrong.mistake);
    }
}

/// YAML made of the plan's own words, nested at random.
fn yaml() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        proptest::sample::select(vec![
            "5",
            "0",
            "-1",
            "1.5",
            "60s",
            "100%",
            "on",
            "~",
            "hello",
            "tank",
            "auto",
            "1GiB",
            "/",
            "external",
            "\"const(5,1s)\"",
            "\"line(1,9,5s) step(1,2,\"",
            "nginx-fpm",
            "\"p95 < 1s\"",
            "''",
            "2d",
            "&a x",
            "*a",
        ])
        .prop_map(str::to_owned),
        "[a-zé(),.<>% 0-9\"']{0,12}",
    ];
    scalar.prop_recursive(4, 40, 6, |inner| {
        let keys = keys::objects().iter().flat_map(|object| object.keys());
        let keys: Vec<&str> = keys.map(|key| key.name).collect();
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5)
                .prop_map(|items| format!("[{}]", items.join(", "))),
            proptest::collection::vec((proptest::sample::select(keys), inner), 0..6).prop_map(
                |entries| {
                    let entries: Vec<String> =
                        entries.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                    format!("{{{}}}", entries.join(", "))
                }
            ),
        ]
    })
}

/// A key of the whole plan.
fn top_key() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(keys::PLAN.keys().map(|key| key.name).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_tree_panics(
        parts in proptest::collection::vec((top_key(), yaml()), 0..6),
    ) {
        let text: String = parts.iter().map(|(key, value)| format!("{key}: {value}\n")).collect();
        let whole = [text.clone(), format!("app: a\nruntimes: [b]\n{text}")];
        for text in whole {
            if let Err(error) = read_text(&text, &Overrides::default()) {
                prop_assert!(!error.render(RenderStyle::Plain).is_empty());
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}|[a-z:\\[\\]{}&*\"'#|>!%@\n -]{0,80}") {
        if let Err(error) = read_text(&text, &Overrides::default()) {
            prop_assert!(!error.render(RenderStyle::Plain).is_empty());
        }
    }

    #[test]
    fn no_flag_panics(texts in proptest::collection::vec(proptest::option::of("\\PC{0,20}|[0-9a-z,'()%< ]{0,20}"), 8)) {
        let [app, runtimes, schedule, rate, for_, concurrency, only, memory] = texts.try_into().expect("eight");
        let flags = Overrides { app, runtimes, schedule, rate, for_, concurrency, only, memory, ..Overrides::default() };
        for result in [from_flags(&flags), read_text(&with("rounds: 2"), &flags)] {
            if let Err(error) = result {
                prop_assert!(!error.render(RenderStyle::Plain).is_empty());
            }
        }
    }

    #[test]
    fn schedules_survive_a_round_trip_through_a_plan(from in 0_u32..5_000, to in 1_u32..5_000, ms in 1_000_u32..90_000) {
        let written = format!("line({from},{to},{ms}ms) const({to},{ms}ms)");
        let plan = read_text(&with(&format!("load: [\"{written}\"]")), &Overrides::default()).unwrap();
        let again = read_text(&with(&format!("load: [\"{}\"]", plan.loads[0].name)), &Overrides::default()).unwrap();
        prop_assert_eq!(&plan.loads[0].model, &again.loads[0].model);
        prop_assert_eq!(&plan.loads[0].name, &again.loads[0].name);
    }
}
