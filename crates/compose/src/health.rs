//! The health checks of a project. At a start stampede runs them itself until they succeed once, and during a
//! load none of them runs.

use serde_json::Value;

use crate::variables::plain;

/// The command of a service's check, for `exec` in its container; `None`: it has none, or it is off.
pub fn check(service: &Value) -> Option<Vec<String>> {
    let check = &service["healthcheck"];
    if check["disable"] == true {
        return None;
    }
    let by_shell =
        |text: &str| ["sh", "-c"].map(str::to_owned).into_iter().chain([plain(text)]).collect();
    match &check["test"] {
        Value::String(text) => Some(by_shell(text)),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                ["CMD-SHELL", text, ..] => Some(by_shell(text)),
                ["CMD", command @ ..] if !command.is_empty() => {
                    Some(command.iter().map(|word| plain(word)).collect())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_check_is_read_in_each_of_its_forms() {
        let of = |test: Value| {
            check(&json!({"healthcheck": {"test": test}})).map(|words| words.join("|"))
        };
        let shell = Some("sh|-c|pg_isready -U $USER".to_owned());
        assert_eq!(of(json!("pg_isready -U $$USER")), shell);
        assert_eq!(of(json!(["CMD-SHELL", "pg_isready -U $$USER"])), shell);
        assert_eq!(of(json!(["CMD", "mysqladmin", "ping"])).as_deref(), Some("mysqladmin|ping"));
        for none in [json!(["NONE"]), json!(["CMD"]), json!([]), json!(null), json!(["a", "b"])] {
            assert_eq!(of(none.clone()), None, "{none}");
        }
        assert_eq!(check(&json!({})), None);
        assert_eq!(check(&json!({"healthcheck": {"disable": true, "test": "true"}})), None);
    }
}
