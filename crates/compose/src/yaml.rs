//! Reads YAML as compose tools do.

use serde_json::Value;

use crate::layers::Tags;

/// Keys of compose files whose value is a boolean (Compose Specification).
const BOOLEANS: [&str; 16] = [
    "attachable",
    "create_host_path",
    "disable",
    "enable_ipv4",
    "enable_ipv6",
    "external",
    "init",
    "internal",
    "no_cache",
    "nocopy",
    "oom_kill_disable",
    "privileged",
    "pull",
    "read_only",
    "stdin_open",
    "tty",
];
/// Maps in which everybody chooses the keys.
const FREE: [&str; 8] =
    ["annotations", "args", "driver_opts", "environment", "labels", "options", "sysctls", "x-"];

/// Reads a document. `yes`, `on` and `n` are words, except where a boolean belongs.
///
/// # Errors
/// It is no YAML.
pub(crate) fn yaml(text: &str, tags: Tags) -> Result<Value, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        reject_unsupported_tags: tags == Tags::Refused,
        strict_booleans: true,
    };
    let mut document = serde_saphyr::from_str_with_options(text, options)?;
    cast(&mut document);
    Ok(document)
}

fn cast(value: &mut Value) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(cast),
        Value::Object(map) => {
            for (key, value) in map {
                if FREE.iter().any(|free| key == free || *free == "x-" && key.starts_with(free)) {
                    continue;
                }
                match boolean(value).filter(|_| BOOLEANS.contains(&key.as_str())) {
                    Some(found) => *value = Value::Bool(found),
                    None => cast(value),
                }
            }
        }
        _ => {}
    }
}

/// What a text says where a boolean belongs.
fn boolean(value: &Value) -> Option<bool> {
    match value.as_str()?.to_ascii_lowercase().as_str() {
        "y" | "yes" | "on" | "true" => Some(true),
        "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `ANSWER: n` became `false`.
    #[test]
    fn words_that_are_no_booleans_stay_words() {
        let text = "{a: n, b: yes, c: on, d: Off, e: true, f: False, g: \"true\", h: ~}";
        let expected = json!({
            "a": "n", "b": "yes", "c": "on", "d": "Off", "e": true, "f": false, "g": "true", "h": null,
        });
        assert_eq!(yaml(text, Tags::Refused).expect("YAML"), expected);
    }

    #[test]
    fn where_a_boolean_belongs_each_word_is_one() {
        let text = "
services:
  web:
    privileged: no
    read_only: Yes
    restart: no
    environment: {INIT: on, init: on, read_only: no}
    volumes: [{type: bind, source: ., target: /a, read_only: on, bind: {create_host_path: off}}]
volumes: {data: {external: yes}}
networks: {back: {internal: y, external: {name: on}}}
";
        let read = yaml(text, Tags::Refused).expect("YAML");
        let web = &read["services"]["web"];
        assert_eq!((&web["privileged"], &web["read_only"]), (&json!(false), &json!(true)));
        assert_eq!(web["restart"], "no");
        assert_eq!(web["environment"], json!({"INIT": "on", "init": "on", "read_only": "no"}));
        assert_eq!(web["volumes"][0]["read_only"], true);
        assert_eq!(web["volumes"][0]["bind"]["create_host_path"], false);
        assert_eq!(read["volumes"]["data"]["external"], true);
        assert_eq!(read["networks"]["back"], json!({"internal": true, "external": {"name": "on"}}));
    }
}
