//! Tests of the table of keys: it has each key once, and the parser reads every one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::error::{Mistake, PlanError, Source};
use super::super::flags::Overrides;
use super::super::mistakes::with;
use super::super::tests::read_text;
use super::super::tree;
use super::super::value::Fields;
use super::*;

/// A value that no key takes.
const WRONG: &str = "[[1]]";

fn objects_and_keys() -> impl Iterator<Item = (&'static Object, &'static Key)> {
    objects().iter().flat_map(|object| object.keys().map(move |key| (*object, key)))
}

#[test]
fn each_name_is_there_once() {
    let names: BTreeSet<&str> = objects().iter().map(|object| object.name).collect();
    assert_eq!(names.len(), objects().len());
    let places: BTreeSet<&str> = objects().iter().map(|object| object.place).collect();
    assert_eq!(places.len(), objects().len());
    for object in objects() {
        let mut known = BTreeSet::new();
        for name in object.keys().flat_map(|key| key.old.iter().chain([&key.name])) {
            assert!(known.insert(name), "{name} of {}", object.place);
        }
        if let Entries::OneOf(keys) = object.entries {
            assert!(keys.iter().all(|key| object.find(key).is_some()), "{keys:?}");
        }
    }
}

/// A plan in which `key` of `object` has `value`.
fn plan_with(object: &Object, key: &str, value: &str) -> String {
    let line = match (object.name, key) {
        ("plan", "precision" | "max_time") => "@\nrounds: auto",
        ("plan", _) => "@",
        ("app", "path" | "name") => "app: {@}",
        ("ready", _) => "app: {path: ~/shop, ready: {@}}",
        ("login", "form") => "app: {path: ~/shop, login: {path: /login, @}}",
        ("login", _) => "app: {path: ~/shop, login: {@}}",
        ("app", _) => "app: {path: ~/shop, @}",
        ("budget", _) => "budget: {@}",
        ("client", _) => "client: {@}",
        ("control", "runtime") => "control: {@}",
        ("control", _) => "control: {runtime: nginx-fpm, @}",
        ("load_from", "agents") => "load_from: {@}",
        ("load_from", _) => "load_from: {agents: local:2, @}",
        ("php_ini", _) => "php_ini: {@}",
        ("runtime", _) => "runtimes: [{@}]",
        ("runtime_settings", _) => "runtimes: [{a: {@}}]",
        ("sweep", _) => "runtimes: [{a: {sweep: {@}}}]",
        ("external", "url") => "runtimes: [{external: {@}}]",
        ("external", _) => "runtimes: [{external: {url: \"http://a\", @}}]",
        ("watch", _) => "runtimes: [{external: {url: \"http://a\", watch: {@}}}]",
        ("compose", "compose") => "runtimes: [{a: {@}}]",
        ("compose", _) => "runtimes: [{a: {compose: a.yml, @}}]",
        ("load", "schedule" | "rate" | "concurrency") => "load: [{@}]",
        ("load", "for") => "load: [{rate: 5, @}]",
        ("load", _) => "load: [{rate: 5, for: 1s, @}]",
        ("traffic_file", "file") => "load: [{rate: 5, for: 1s, traffic: {@}}]",
        ("traffic_file", _) => {
            "load: [{rate: 5, for: 1s, traffic: {file: src/fixtures/shop.log, @}}]"
        }
        ("request", _) => "load: [{rate: 5, for: 1s, requests: [{@}]}]",
        (other, _) => panic!("no plan has {other}"),
    };
    let plan = with(&line.replace('@', &format!("{key}: {value}")));
    match key {
        "apps" => plan.replace("app: hello\n", ""),
        _ => plan,
    }
}

/// A key that nothing reads could have any value.
#[test]
fn the_parser_reads_each_key() {
    for (object, key) in objects_and_keys() {
        let text = plan_with(object, key.name, WRONG);
        let Err(PlanError::Wrong(wrong)) = read_text(&text, &Overrides::default()) else {
            panic!("`{}` of {} is not read:\n{text}", key.name, object.place)
        };
        let value = text.find(WRONG).expect("the value");
        let is_there = (value..value + WRONG.len()).contains(&wrong.place.offset);
        assert!(is_there && matches!(wrong.mistake, Mistake::NotA { .. }), "{text}{wrong}");
    }
}

#[test]
fn the_parser_knows_each_word() {
    for (object, key) in objects_and_keys() {
        let Kind::Words(words) = key.kind else { continue };
        for word in *words {
            let text = with_fixtures(&plan_with(object, key.name, word));
            let read = read_text(&text, &Overrides::default());
            assert!(read.is_ok(), "{text}{}", read.expect_err("a mistake"));
        }
    }
}

#[test]
fn each_key_is_in_a_plan_that_is_accepted() {
    let mut seen: BTreeSet<*const Key> = BTreeSet::new();
    for text in [
        include_str!("../fixtures/shop.yaml"),
        include_str!("../fixtures/laravel.yaml"),
        include_str!("../fixtures/everything.yaml"),
        include_str!("../fixtures/other_keys.yaml"),
    ] {
        let read = read_text(&with_fixtures(text), &Overrides::default());
        assert!(read.is_ok(), "{}", read.expect_err("a mistake"));
        walk(&mut tree_of(text), &WHOLE, &mut |object, map| {
            let Value::Map(entries) = &map.value else { panic!("no map") };
            let keys = entries.iter().filter_map(|(key, _)| object.find(key.text()?));
            seen.extend(keys.map(ptr::from_ref));
        });
    }
    for (object, key) in objects_and_keys() {
        assert!(seen.contains(&ptr::from_ref(key)), "`{}` of {}", key.name, object.place);
    }
}

/// The text with the paths of files that are there, whatever the plan's directory is.
fn with_fixtures(text: &str) -> String {
    text.replace("src/fixtures", concat!(env!("CARGO_MANIFEST_DIR"), "/src/fixtures"))
}

fn tree_of(text: &str) -> Node {
    let (name, base) = ("plan.yaml".to_owned(), PathBuf::new());
    tree::parse(&Arc::new(Source { name, text: text.to_owned(), base })).expect("YAML")
}

/// All texts that are one slip away: a letter is missing, doubled, another one, or swapped.
fn slips(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut all = Vec::new();
    for i in 0..letters.len() {
        let (before, after) = (&letters[..i], &letters[i + 1..]);
        let of = |middle: &[char]| [before, middle, after].concat().into_iter().collect();
        all.extend([of(&[]), of(&[letters[i], letters[i]]), of(&['z'])]);
        if let [next, rest @ ..] = after {
            all.push([before, &[*next, letters[i]], rest].concat().into_iter().collect());
        }
    }
    all
}

#[test]
fn a_slip_is_understood() {
    for (object, key) in objects_and_keys().filter(|(object, _)| object.rest.is_none()) {
        let names = |key: &'static Key| [key.name].into_iter().chain(key.old.iter().copied());
        let unknown = names(key).flat_map(slips).filter(|slip| object.find(slip).is_none());
        for slip in unknown {
            let node = tree_of(&format!("{{{slip}: 1}}"));
            let Err(PlanError::Wrong(wrong)) = Fields::of(&node, object) else {
                panic!("`{slip}` is a key of {}", object.place)
            };
            let near = wrong.nearest.as_deref().and_then(|near| object.find(near));
            // Two keys may be equally near: `appx` may be `app` or `apps`.
            let is_near = |near: &'static Key| {
                ptr::eq(near, key) || names(near).any(|name| strsim::osa_distance(name, &slip) <= 1)
            };
            assert!(near.is_some_and(is_near), "{slip}: {:?}", wrong.nearest);
        }
    }
}

#[test]
fn a_key_at_the_wrong_place_is_shown_its_place() {
    for (key, below) in [
        ("cpus", "in the budget: `budget: {cpus: 2, memory: 1GiB}`"),
        ("or_less", "in the budget: `budget: {cpus: 2, memory: 1GiB}`"),
        ("sweep", "in a runtime's map:\n`runtimes: [{nginx-fpm: {sweep: {workers: [8, 16]}}}]`"),
        ("use", "in a runtime's map:\n`runtimes: [{nginx-fpm: {use: nginx-fpm}}]`"),
        ("http", "in the client, `client: {max_in_flight: 100}`, or in a load"),
        ("path", "in a load: `load: [{concurrency: 50, for: 60s}]`"),
        ("kind", "in an app's map: `app: {path: ~/shop, kind: script}`"),
    ] {
        assert_eq!(belongs_below(key).as_deref(), Some(below));
    }
    assert_eq!(belongs_below("nothing"), None);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "no `nothing` in the table of a load")]
fn a_key_that_the_table_lacks_cannot_be_read() {
    let node = tree_of("{for: 1s}");
    let fields = Fields::of(&node, &LOAD).expect("a load");
    fields.get("nothing");
}
