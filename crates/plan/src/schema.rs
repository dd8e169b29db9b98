//! Generates the JSON Schema of plans, for editors. The keys come from the lists that the parser
//! itself uses. Rules that a schema cannot express (which keys exclude each other, what a schedule
//! adds up to) are checked by the parser only.

use serde_json::{Map, Value, json};
use stampede_model::app_kind::AppKind;

use super::{apps, budget, client, preset, read, requests, runtimes};

/// The JSON Schema (draft 2020-12) of a plan.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stampede plan",
        "description": "Which PHP runtimes to compare, with which app, under which load.",
        "type": "object",
        "properties": plan_properties(),
        "additionalProperties": false,
        "$defs": definitions(),
    })
}

/// A reference to a definition.
fn of(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A reference to a definition, with a description for people.
fn about(name: &str, description: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}"), "description": description })
}

fn any(of: &[Value]) -> Value {
    json!({ "anyOf": of })
}

/// A map of known keys.
fn closed(properties: Value) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn plan_properties() -> Value {
    let mut all = json!({
        "app": about("app", "An app of the catalogue, or a directory: `~/shop`, `./shop`."),
        "apps": { "type": "array", "items": of("app"), "minItems": 1, "maxItems": 100 },
        "budget": about("budget", "CPUs and memory of the whole stack, or CPUs by role."),
        "runtimes": { "type": "array", "items": of("runtime"), "minItems": 1 },
        "missing": {
            "enum": read::MISSING,
            "description": "Runtimes that are not installed or cannot run the app: refused, or left out.",
        },
        "fairness": {
            "enum": read::FAIRNESS,
            "description": "One number of workers for all, or each runtime with those that give it the most: tuned first.",
        },
        "baseline": { "type": "string", "description": "Runtime that the others are compared with; the first one if not given." },
        "load": about("loads", "What is sent: names with loads, or a list of loads."),
        "client": about("client", "Habits of connections."),
        "keep_alive": of("keep_alive"),
        "arrivals": of("arrivals"),
        "php_ini": of("php_ini"),
        "env": of("env"),
        "warm_up": about("length", "Discarded load before measuring; 5 s if not given."),
        "cold": { "type": "boolean", "description": "Begins with nothing asked since the start, OPcache and the app's caches empty." },
        "timeout": about("length", "Of a request, from its start; 11 s if not given."),
        "rounds": {
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": 1000 },
                { "const": "auto" },
            ],
            "description": "How often each case is measured; `auto`: until the intervals are narrow.",
        },
        "precision": {
            "anyOf": [
                { "type": "string", "pattern": r"^[0-9.]+ *%?$" },
                { "type": "number", "minimum": 0.001, "maximum": 1 },
            ],
            "description": "Of `rounds: auto`: width of an interval below which it is narrow; 5% if not given.",
        },
        "max_time": about("length", "Of `rounds: auto`: no round is begun that would end later; 30m if not given."),
        "repeat_invalid": {
            "type": "integer",
            "minimum": 0,
            "maximum": 10,
            "description": "How often a trial that came out invalid is measured again; once if not given.",
        },
        "seed": { "type": "integer", "minimum": 0 },
        "expect": of("expect"),
        "out": about("text", "Directory of the results."),
    });
    if let Value::Object(all) = &mut all {
        all.extend(settings());
    }
    all
}

/// Settings of all runtimes.
fn settings() -> Map<String, Value> {
    let setting = |name: &str| match name {
        "workers" => about("workers", "PHP workers, one number for every runtime."),
        "preload" => {
            about("setting", "`off`, `app`, or a PHP file of the app that OPcache preloads.")
        }
        "autoloader" => json!({
            "enum": ["as-is", "optimized", "authoritative"],
            "description": "Composer's autoloader in the app's copy.",
        }),
        _ => about("setting", "A setting of every runtime."),
    };
    read::SETTINGS.into_iter().map(|name| (name.to_owned(), setting(name))).collect()
}

fn definitions() -> Value {
    let mut all = json!({
        "text": { "type": "string", "minLength": 1 },
        "setting": { "type": ["string", "number", "boolean"] },
        "swept": { "type": "array", "items": of("setting"), "minItems": 1 },
        "workers": {
            "type": "integer",
            "minimum": *runtimes::WORKERS.start(),
            "maximum": *runtimes::WORKERS.end(),
        },
        "length": any(&[
            json!({ "type": "string", "pattern": r"^(([0-9]+\.?[0-9]*|\.[0-9]+)(d|h|ms|m|s|us|µs|ns))+$|^[0-9.]+$" }),
            json!({ "type": "number", "minimum": 0, "description": "Seconds." }),
        ]),
        "size": any(&[
            json!({ "type": "string", "pattern": r"^[0-9.]+ *([KMGTkmgt]([Ii]?[Bb])?|[Bb](ytes)?)?$" }),
            json!({ "type": "integer", "minimum": 0, "description": "Bytes." }),
        ]),
        "rate": any(&[
            json!({ "type": "number", "minimum": 0, "maximum": 10_000_000 }),
            json!({ "type": "string", "pattern": r"^[0-9]*\.?[0-9]{0,6}$" }),
        ]),
        "schedule": {
            "type": "string",
            "description": "Yandex Tank's: line(from,to,length) const(rate,length) step(from,to,by,length).",
            "pattern": r"^[\s,]*((line|const|step)\s*\([^()]*\)[\s,]*)+$",
        },
        "keep_alive": { "enum": ["auto", "on", "off", true, false] },
        "http": { "enum": ["1.0", "1.1", 1.0, 1.1] },
        "arrivals": { "enum": ["uniform", "poisson"] },
        "when_full": { "enum": ["queue", "drop", "stretch"] },
        "max_in_flight": { "type": "integer", "minimum": 1, "maximum": 1_000_000 },
        "expect": any(&[
            of("expectation"),
            json!({ "type": "array", "items": of("expectation") }),
        ]),
        "expectation": {
            "type": "string",
            "description": "`p95 < 100ms`, `ok >= 99.9%`, `throughput >= 200`, `p95 worse < 5%`.",
            "pattern": r"^\s*(p[0-9]+(\.[0-9]{1,3})?|max|mean|ok|throughput|cpu_cost|memory)(\s+worse)?\s*[<>]=?\s*[0-9.]+ *\S*\s*$",
        },
        "names": any(&[of("text"), json!({ "type": "array", "items": of("text") })]),
        "values": { "type": "object", "additionalProperties": { "type": ["string", "number", "boolean", "null"] } },
        "env": of("values"),
        "php_ini": any(&[json!({ "enum": preset::PRESETS.map(|(name, _)| name) }), of("values")]),
    });
    if let Value::Object(all) = &mut all {
        all.extend([
            ("budget".to_owned(), budget_map()),
            ("client".to_owned(), client_map()),
            ("app".to_owned(), app()),
            ("runtime".to_owned(), runtime()),
            ("external".to_owned(), external()),
            ("request".to_owned(), request()),
            ("loads".to_owned(), loads_map()),
            ("load".to_owned(), load()),
        ]);
    }
    all
}

fn budget_map() -> Value {
    let by_role =
        budget::ROLES.map(|role| (role.to_owned(), json!({ "type": "integer", "minimum": 1 })));
    let mut properties: Map<String, Value> = by_role.into_iter().collect();
    let count = json!({
        "anyOf": [
            { "type": "number", "minimum": 0.01, "maximum": 8192 },
            { "type": "string", "pattern": "^([0-9]+m|[0-9]+(\\.[0-9]+)?)$" },
        ],
    });
    let counts = json!({
        "anyOf": [
            count,
            { "type": "array", "items": count, "minItems": 1, "uniqueItems": true },
        ],
        "description": "Of the whole stack; a list measures every case with each of them. A fraction, \
                        `0.5` or `500m`, is a quota of CPU time.",
    });
    properties.insert("cpus".to_owned(), counts);
    properties.insert("memory".to_owned(), of("size"));
    let or_less = json!({
        "type": "boolean",
        "description": "Takes all of a machine that has less, and says so.",
    });
    properties.insert("or_less".to_owned(), or_less);
    closed(Value::Object(properties))
}

fn client_map() -> Value {
    let names = json!({ "enum": client::NAMES });
    let map = closed(json!({
        "use": names,
        "keep_alive": of("keep_alive"),
        "http": of("http"),
        "max_in_flight": of("max_in_flight"),
        "when_full": of("when_full"),
    }));
    any(&[names, map])
}

/// An app: a name or a directory, or a map with a directory and its kind.
fn app() -> Value {
    let property = |key: &str| match key {
        "kind" => json!({
            "enum": AppKind::ALL.map(AppKind::name),
            "description": "What it is served as; detected where it is not said.",
        }),
        _ => of("text"),
    };
    let properties: Map<String, Value> =
        apps::APP_KEYS.into_iter().map(|key| (key.to_owned(), property(key))).collect();
    any(&[
        of("text"),
        json!({
            "type": "object",
            "properties": properties,
            "required": ["path"],
            "additionalProperties": false,
        }),
    ])
}

/// A runtime: a name, or a map of one name to its settings. `external` has an address instead.
fn runtime() -> Value {
    let lines = any(&[of("text"), json!({ "type": "array", "items": of("text") })]);
    let settings = json!({
        "type": "object",
        "properties": {
            "use": of("text"),
            "workers": of("workers"),
            "php_ini": of("php_ini"),
            "env": of("env"),
            "append": { "type": "object", "additionalProperties": lines },
            "sweep": {
                "type": "object",
                "properties": { "php_ini": { "type": "object", "additionalProperties": of("swept") } },
                "additionalProperties": of("swept"),
            },
        },
        "additionalProperties": of("setting"),
    });
    // An external runtime may have another name: its body then has `use: external`.
    let body = any(&[json!({ "type": "null" }), settings, of("external")]);
    any(&[
        of("text"),
        json!({
            "type": "object",
            "properties": { "external": of("external") },
            "additionalProperties": body,
            "minProperties": 1,
            "maxProperties": 1,
        }),
    ])
}

fn external() -> Value {
    let watch = closed(json!({
        "container": of("text"),
        "unit": of("text"),
        "pid": { "type": ["integer", "string"] },
    }));
    json!({
        "type": "object",
        "properties": {
            "use": of("text"),
            "url": { "type": "string", "pattern": "^(http://|unix:)[^ ?]+$" },
            "watch": watch,
        },
        "required": ["url"],
        "additionalProperties": false,
    })
}

fn request() -> Value {
    let map = closed(Value::Object(request_properties()));
    any(&[json!({ "type": "string", "pattern": "^/[!-~]*$" }), map])
}

fn request_properties() -> Map<String, Value> {
    let property = |key: &str| match key {
        "method" => json!({ "type": "string", "pattern": "^[A-Z-]+$" }),
        "path" => json!({ "type": "string", "pattern": "^/[!-~]*$" }),
        "headers" => of("values"),
        _ => json!({ "type": ["string", "number", "boolean"] }),
    };
    requests::KEYS.into_iter().map(|key| (key.to_owned(), property(key))).collect()
}

fn loads_map() -> Value {
    any(&[
        of("schedule"),
        json!({ "type": "array", "items": of("load"), "minItems": 1, "maxItems": 100 }),
        json!({ "type": "object", "additionalProperties": of("load"), "minProperties": 1 }),
    ])
}

fn load() -> Value {
    let list = json!({ "type": "array", "items": of("request"), "minItems": 1 });
    let count = json!({ "type": "integer", "minimum": 1 });
    let mut properties = request_properties();
    properties.extend(
        [
            ("schedule", of("schedule")),
            ("rate", any(&[
                about("rate", "Requests per second, with `for`."),
                json!({ "type": "string", "pattern": r"^[0-9.]+ *%$", "description": "A share of the baseline's peak, which is measured before the run." }),
            ])),
            ("concurrency", json!({ "type": "integer", "minimum": 1, "maximum": 1_000_000 })),
            ("for", of("length")),
            ("requests", any(&[count, list.clone()])),
            ("traffic", any(&[json!({ "type": "string", "description": "A file with a path or URL in each line." }), list])),
            ("client", of("client")),
            ("http", of("http")),
            ("keep_alive", of("keep_alive")),
            ("max_in_flight", of("max_in_flight")),
            ("when_full", of("when_full")),
            ("arrivals", of("arrivals")),
            ("timeout", of("length")),
            ("only", of("names")),
            ("except", of("names")),
            ("expect", of("expect")),
        ]
        .map(|(key, value)| (key.to_owned(), value)),
    );
    let required = ["schedule", "rate", "concurrency"].map(|key| json!({ "required": [key] }));
    let map = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "oneOf": required,
    });
    any(&[of("schedule"), map])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use stampede_testing::schema_fits::fits;

    use super::super::loads;
    use super::*;

    fn accepts(yaml: &str) -> bool {
        let value: Value = serde_saphyr::from_str(yaml).unwrap();
        fits(&schema(), &schema(), &value)
    }

    #[test]
    fn valid_plans_match_the_schema() {
        for yaml in [
            include_str!("fixtures/shop.yaml"),
            include_str!("fixtures/symfony.yaml"),
            include_str!("fixtures/laravel.yaml"),
            include_str!("fixtures/short.yaml"),
            include_str!("fixtures/everything.yaml"),
            include_str!("../../../plans/demo.yaml"),
            include_str!("../../../plans/closed.yaml"),
            include_str!("../../../plans/rising.yaml"),
            include_str!("../../../plans/published/000-003.yaml"),
            include_str!("../../../plans/published/001.yaml"),
            include_str!("../../../plans/published/002.yaml"),
            include_str!("../../../plans/published/004.yaml"),
            "app: {path: ./shop, kind: script}",
            "apps: [hello, {path: ~/shop}]",
            "budget: {cpus: 0.5}",
            "budget: {cpus: [500m, 1, \"1.5\"]}",
        ] {
            assert!(accepts(yaml), "{yaml}");
        }
    }

    #[test]
    fn wrong_plans_do_not_match_the_schema() {
        for yaml in [
            "runtime: [a]",
            "app: {kind: script}",
            "app: {path: ./shop, kind: drupal}",
            "workers: 0",
            "rounds: many",
            "budget: {cpu: 1}",
            "budget: {cpus: 0}",
            "budget: {cpus: [-1]}",
            "budget: {php: 0.5}",
            "runtimes: nginx-fpm",
            "runtimes: [{a: {x: 1}, b: {y: 1}}]",
            "runtimes: [{external: {watch: {pid: 1}}}]",
            "runtimes: [{a: {sweep: {jit: on}}}]",
            "load: [{for: 5s}]",
            "load: [{rate: 5, concurrency: 5}]",
            "load: [{user: 5, for: 5s}]",
            "load: []",
            "client: tnak",
            "php_ini: article-999",
        ] {
            assert!(!accepts(yaml), "{yaml}");
        }
    }

    /// The schema knows exactly the keys that the parser knows.
    #[test]
    fn the_schema_has_the_keys_of_the_parser() {
        let schema = schema();
        let keys = |pointer: &str| -> BTreeSet<String> {
            let map = schema.pointer(pointer).and_then(Value::as_object);
            map.unwrap_or_else(|| panic!("no {pointer}")).keys().cloned().collect()
        };
        let known = |all: &[&str]| all.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        let plan: Vec<&str> = read::KEYS.into_iter().chain(read::SETTINGS).collect();
        assert_eq!(keys("/properties"), known(&plan));
        assert_eq!(keys("/$defs/app/anyOf/1/properties"), known(&apps::APP_KEYS));
        assert_eq!(keys("/$defs/load/anyOf/1/properties"), known(&loads::KEYS));
        assert_eq!(keys("/$defs/client/anyOf/1/properties"), known(&client::KEYS));
        assert_eq!(keys("/$defs/request/anyOf/1/properties"), known(&requests::KEYS));
        assert_eq!(keys("/$defs/budget/properties"), known(&budget::KEYS));
    }
}
