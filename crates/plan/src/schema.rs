//! Generates the JSON Schema of plans, for editors, from the table of keys. Rules that the table
//! does not express (most keys that exclude each other, what a schedule adds up to) are checked by
//! the parser only.

use serde_json::{Map, Value, json};

use super::keys::{Default, Entries, Form, Key, Kind, Object, PLAN, objects};

/// The JSON Schema (draft 2020-12) of a plan.
pub fn schema() -> Value {
    let mut definitions = Map::new();
    for object in objects() {
        for key in object.keys().chain(&object.rest) {
            forms(key.kind, &mut definitions);
        }
        if let Some(short) = object.short {
            forms(short, &mut definitions);
        }
    }
    let below = objects().iter().filter(|object| object.name != PLAN.name);
    definitions.extend(below.map(|object| (object.name.to_owned(), of_object(object))));
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "stampede plan",
        "description": PLAN.about,
    });
    extend(&mut schema, map(&PLAN));
    extend(&mut schema, json!({ "$defs": definitions }));
    schema
}

/// Adds the definitions of the forms in `kind`.
fn forms(kind: &Kind, definitions: &mut Map<String, Value>) {
    match kind {
        Kind::Form(form) => {
            definitions.insert(form.name.to_owned(), of_form(form));
        }
        Kind::Any(kinds) => kinds.iter().for_each(|kind| forms(kind, definitions)),
        Kind::List { of, .. } | Kind::Set { of, .. } | Kind::Map { of, .. } => {
            forms(of, definitions)
        }
        _ => {}
    }
}

fn of_form(form: &Form) -> Value {
    let text = json!({ "type": "string", "pattern": form.pattern });
    match form.number {
        Some(number) => json!({ "anyOf": [text, of_kind(number)] }),
        None => text,
    }
}

/// The definition of an object: its map, and what may be written in its place.
fn of_object(object: &Object) -> Value {
    let map = map(object);
    let mut schema = json!({ "description": plain(object.about) });
    let shape = match object.short {
        Some(short) => json!({ "anyOf": [of_kind(short), map] }),
        None => map,
    };
    extend(&mut schema, shape);
    schema
}

fn map(object: &Object) -> Value {
    let properties: Map<String, Value> =
        object.keys().map(|key| (key.name.to_owned(), of_key(key))).collect();
    let rest = object.rest.as_ref().map_or(json!(false), of_key);
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": rest,
    });
    let required: Vec<&str> = object
        .keys()
        .filter(|key| matches!(key.default, Default::Required))
        .map(|key| key.name)
        .collect();
    if !required.is_empty() {
        extend(&mut schema, json!({ "required": required }));
    }
    match object.entries {
        Entries::Any => {}
        Entries::One => extend(&mut schema, json!({ "minProperties": 1, "maxProperties": 1 })),
        Entries::OneOf(keys) => {
            let one_of: Vec<Value> = keys.iter().map(|key| json!({ "required": [key] })).collect();
            extend(&mut schema, json!({ "oneOf": one_of }));
        }
    }
    schema
}

fn of_key(key: &Key) -> Value {
    let default = match key.default {
        Default::Required | Default::Unset => String::new(),
        Default::Value(value) => format!(" Default: `{value}`."),
        Default::Words(words) => format!(" Default: {words}."),
    };
    let mut schema = json!({ "description": plain(key.about) + &plain(&default) });
    extend(&mut schema, of_kind(key.kind));
    schema
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Null => json!({ "type": "null" }),
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Whole { least, most: u64::MAX } => json!({ "type": "integer", "minimum": least }),
        Kind::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Kind::Number { least, most } if most.is_infinite() => {
            json!({ "type": "number", "minimum": least })
        }
        Kind::Number { least, most } => {
            json!({ "type": "number", "minimum": least, "maximum": most })
        }
        Kind::Words(words) => json!({ "enum": spellings(words) }),
        Kind::Form(form) => reference(form.name),
        Kind::List { of, least, most } => {
            let mut schema = json!({ "type": "array", "items": of_kind(of) });
            if *least > 0 {
                extend(&mut schema, json!({ "minItems": least }));
            }
            if *most < usize::MAX {
                extend(&mut schema, json!({ "maxItems": most }));
            }
            schema
        }
        Kind::Set { of, most } => {
            let list = of_kind(&Kind::List { of, least: 1, most: *most });
            let mut schema = json!({ "uniqueItems": true });
            extend(&mut schema, list);
            schema
        }
        Kind::Map { of, least } => {
            let mut schema = json!({ "type": "object", "additionalProperties": of_kind(of) });
            if *least > 0 {
                extend(&mut schema, json!({ "minProperties": least }));
            }
            schema
        }
        Kind::Object(object) | Kind::Unlisted(object) => reference(object.name),
        Kind::Any(kinds) => {
            let all: Vec<Value> = kinds.iter().map(|kind| of_kind(kind)).collect();
            json!({ "anyOf": all })
        }
        Kind::Foreign => json!({}),
    }
}

/// The words, and what YAML makes of those without quotes: `on` and `off` are switches for some
/// readers, `1.0` is a number.
fn spellings(words: &[&str]) -> Vec<Value> {
    let mut all: Vec<Value> = words.iter().map(|word| json!(word)).collect();
    all.extend(words.iter().filter_map(|word| match *word {
        "on" => Some(json!(true)),
        "off" => Some(json!(false)),
        number => number.parse::<f64>().ok().map(|number| json!(number)),
    }));
    all
}

/// A reference to a definition.
fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn extend(schema: &mut Value, more: Value) {
    if let (Value::Object(schema), Value::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

/// Markdown without its links, whose targets are pages that an editor does not have.
fn plain(text: &str) -> String {
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| {
        let (_, after) = part.split_once(')').unwrap_or(("", part));
        let begin = text.rfind('[').unwrap_or(text.len());
        let words = text.get(begin + 1..).unwrap_or("");
        format!("{}{words}{after}", &text[..begin])
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stampede_testing::schema_fits::fits;

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
            include_str!("fixtures/other_keys.yaml"),
            "app: {path: ./shop, kind: script}",
            "apps: [hello, {path: ~/shop}]",
            "budget: {cpus: 0.5}",
            "budget: {cpus: [500m, 1, \"1.5\"]}",
        ] {
            assert!(accepts(yaml), "{yaml}");
        }
    }

    /// The plans in the repository. A misspelt key in each of their lines is noticed.
    #[test]
    fn the_ready_plans_match_the_schema() {
        let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
        let files = [plans.clone(), plans.join("published")].map(|path| path.read_dir().unwrap());
        let mut read = 0;
        for path in files.into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let name = path.display().to_string();
            if !name.ends_with(".yaml") || name.ends_with(".tables.yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(accepts(&text), "{name}");
            for key in PLAN.keys().map(|key| key.name) {
                let misspelt = format!("{key}_:");
                let wrong = text.replacen(&format!("\n{key}:"), &format!("\n{misspelt}"), 1);
                assert!(wrong == text || !accepts(&wrong), "{name}: {misspelt}");
            }
            read += 1;
        }
        assert!(read >= 13, "{read}");
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
            "budget: {cpus: [1, 1]}",
            "budget: {php: 0.5}",
            "runtimes: nginx-fpm",
            "runtimes: [{a: {x: 1}, b: {y: 1}}]",
            "runtimes: [{external: {watch: {pid: 1}}}]",
            "runtimes: [{external: {url: \"http://a\", watch: {pid: 1, unit: x}}}]",
            "runtimes: [{a: {sweep: {jit: on}}}]",
            "load: [{for: 5s}]",
            "load: [{rate: 5, concurrency: 5}]",
            "load: [{user: 5, for: 5s}]",
            "load: []",
            "load: {}",
            "client: tnak",
            "client: {used: tank}",
            "php_ini: article-999",
        ] {
            assert!(!accepts(yaml), "{yaml}");
        }
    }

    #[test]
    fn descriptions_have_no_links() {
        let text = "See [a](b.md#c) and [d](e), `f`.";
        assert_eq!(plain(text), "See a and d, `f`.");
        let schema = schema().to_string();
        assert!(!schema.contains(".md") && !schema.contains("](#"));
    }
}
