//! Checks whether a value fits a JSON Schema, for tests.

use serde_json::Value;

/// Whether `value` fits `schema`. Only the keywords that our schemas use are known. An unknown
/// keyword panics, so that it is not accepted silently. A pattern is not applied: the function only
/// checks that it is text that begins with `^`.
pub fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let Value::Object(keywords) = schema else { panic!("no schema: {schema}") };
    keywords.iter().all(|(keyword, wanted)| match keyword.as_str() {
        "$schema" | "title" | "description" | "$defs" | "format" => true,
        "$ref" => {
            let name = wanted.as_str().unwrap().strip_prefix('#').unwrap();
            fits(root, root.pointer(name).unwrap_or_else(|| panic!("no {name}")), value)
        }
        "type" => match wanted {
            Value::Array(types) => types.iter().any(|name| is_a(name, value)),
            name => is_a(name, value),
        },
        "enum" => wanted.as_array().unwrap().contains(value),
        "const" => wanted == value,
        "anyOf" => wanted.as_array().unwrap().iter().any(|one| fits(root, one, value)),
        "oneOf" => {
            wanted.as_array().unwrap().iter().filter(|one| fits(root, one, value)).count() == 1
        }
        "required" => {
            wanted.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some())
        }
        "items" => value.as_array().is_none_or(|all| all.iter().all(|v| fits(root, wanted, v))),
        "properties" => value.as_object().is_none_or(|map| {
            map.iter().all(|(key, v)| wanted.get(key).is_none_or(|s| fits(root, s, v)))
        }),
        "additionalProperties" => value.as_object().is_none_or(|map| {
            let known =
                |key: &str| keywords.get("properties").is_some_and(|p| p.get(key).is_some());
            map.iter().filter(|(key, _)| !known(key)).all(|(_, v)| match wanted {
                Value::Bool(allowed) => *allowed,
                schema => fits(root, schema, v),
            })
        }),
        "minimum" => value.as_f64().is_none_or(|n| n >= wanted.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|n| n <= wanted.as_f64().unwrap()),
        "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= wanted.as_u64().unwrap()),
        "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= wanted.as_u64().unwrap()),
        "uniqueItems" => value.as_array().is_none_or(|all| {
            let is_new = |(at, one): (usize, &Value)| !all[..at].contains(one);
            wanted != &Value::Bool(true) || all.iter().enumerate().all(is_new)
        }),
        "minProperties" => {
            value.as_object().is_none_or(|m| m.len() as u64 >= wanted.as_u64().unwrap())
        }
        "maxProperties" => {
            value.as_object().is_none_or(|m| m.len() as u64 <= wanted.as_u64().unwrap())
        }
        "minLength" => value.as_str().is_none_or(|s| s.len() as u64 >= wanted.as_u64().unwrap()),
        "pattern" => wanted.as_str().is_some_and(|pattern| pattern.starts_with('^')),
        other => panic!("keyword `{other}` is not understood"),
    })
}

fn is_a(name: &Value, value: &Value) -> bool {
    match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("type `{other}` is not understood"),
    }
}
