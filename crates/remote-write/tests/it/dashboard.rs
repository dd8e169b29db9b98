//! The dashboard and the page for users have the metrics that are sent, no more and no less.

use std::collections::BTreeSet;

use serde_json::Value;
use stampede_remote_write::metrics::{COMMON_LABELS, Kind, METRICS};

/// A file of the documentation.
fn docs(path: &str) -> String {
    let path = format!("{}/../../docs/{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn dashboard() -> Value {
    serde_json::from_str(&docs("grafana/stampede.json")).expect("JSON")
}

/// The words of a text that begin as our metrics do.
fn names(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|word| word.starts_with("stampede_"));
    words.map(str::to_owned).collect()
}

fn sent() -> BTreeSet<String> {
    METRICS.iter().map(|metric| metric.name.to_owned()).collect()
}

/// All texts below `value` that have this key.
fn texts<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == key => found.push(text),
                    other => texts(other, key, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, key, found)),
        _ => {}
    }
}

/// All expressions of the panels.
pub fn expressions() -> Vec<String> {
    let dashboard = dashboard();
    let mut found = Vec::new();
    texts(&dashboard["panels"], "expr", &mut found);
    found.into_iter().map(str::to_owned).collect()
}

#[test]
fn the_dashboard_shows_each_metric_and_no_other() {
    let dashboard = dashboard();
    let expressions = expressions();
    assert_eq!(names(&expressions.join("\n")), sent());
    let mut queries = Vec::new();
    texts(&dashboard["templating"], "query", &mut queries);
    assert!(names(&queries.join("\n")).is_subset(&sent()));
    let labels: BTreeSet<&str> =
        METRICS.iter().flat_map(|metric| metric.labels).chain(&COMMON_LABELS).copied().collect();
    for expression in &expressions {
        // `sum by (role) (…)` and `{run="$run"}` name labels.
        let by = expression.split("by (").skip(1).filter_map(|rest| rest.split(')').next());
        let matched = expression.split('{').skip(1).filter_map(|rest| rest.split('}').next());
        let matched =
            matched.flat_map(|all| all.split("\",")).filter_map(|one| one.split(['=', '!']).next());
        let named = by.flat_map(|all| all.split(',')).chain(matched).map(str::trim);
        named.for_each(|name| assert!(labels.contains(name), "{name}: {expression}"));
        let counters = METRICS.iter().filter(|metric| metric.kind == Kind::Counter);
        let used = counters.filter(|metric| names(expression).contains(metric.name));
        used.for_each(|metric| {
            let of_rate = ["rate(", "increase("]
                .iter()
                .any(|call| expression.contains(&format!("{call}{}", metric.name)));
            assert!(of_rate, "a counter needs a rate: {expression}");
        });
    }
}

#[test]
fn the_dashboard_can_be_imported() {
    let dashboard = dashboard();
    assert_eq!(dashboard["id"], Value::Null, "an id belongs to one Grafana");
    let variables: Vec<&str> = dashboard["templating"]["list"]
        .as_array()
        .expect("variables")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(variables, ["datasource", "run", "runtime", "load"]);
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<u64> = panels.iter().filter_map(|panel| panel["id"].as_u64()).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has its own id");
    let mut sources = Vec::new();
    texts(&dashboard["panels"], "uid", &mut sources);
    assert!(sources.iter().all(|source| *source == "${datasource}"), "{sources:?}");
    // Panels do not lie above each other.
    let place = |panel: &Value, key: &str| panel["gridPos"][key].as_u64().expect("a place");
    for (index, one) in panels.iter().enumerate() {
        assert!(place(one, "x") + place(one, "w") <= 24, "{}", one["title"]);
        for other in &panels[index + 1..] {
            let apart = |at, size| {
                place(one, at) + place(one, size) <= place(other, at)
                    || place(other, at) + place(other, size) <= place(one, at)
            };
            assert!(apart("x", "w") || apart("y", "h"), "{} and {}", one["title"], other["title"]);
        }
    }
}

#[test]
fn the_page_has_the_table_of_the_program() {
    let page = docs("prometheus.md");
    for metric in METRICS {
        let kind = match metric.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let row =
            format!("| `{}` | {kind} | {} | {} |", metric.name, labels.join(", "), metric.help);
        assert!(page.contains(&row), "docs/prometheus.md lacks this row:\n{row}");
    }
    assert!(names(&page).is_subset(&sent()), "{:?}", names(&page).difference(&sent()));
    assert!(COMMON_LABELS.iter().all(|label| page.contains(&format!("`{label}`"))));
}
