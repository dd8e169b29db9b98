//! Tests that expectations get from the plan into `run.json`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Sandbox, finish, missing, stderr, stdout};

const PLAN: &str = "app: hello
runtimes: [php-builtin]
load:
  steady: {schedule: \"const(100,2s)\", expect: [\"p97 < 80ms\", \"ok >= 99%\"]}
  rush: {concurrency: 4, for: 1s}
expect: throughput > 10
";

#[test]
fn the_record_of_a_run_holds_those_of_single_loads_too() {
    if !missing(&["php"]).is_empty() {
        println!("SKIPPED: not installed here: php");
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("plan.yaml", PLAN);
    let command = sandbox.stampede(&["compare", "plan.yaml", "--dry-run", "--json"]);
    let output = finish(command, Duration::from_secs(30));
    let text = stdout(&output);
    assert!(text.starts_with('{'), "{text}\n{}", stderr(&output));
    let shown: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(shown["run"]["expect"], json!(["throughput > 10"]));
    let by_load = &shown["run"]["expect_by_load"];
    assert_eq!(*by_load, json!({"steady": ["p97 < 80ms", "ok >= 99%"]}));
    let recorded = &shown["run"]["expectations"];
    let [rate, p97, ok] = recorded.as_array().expect("a list").as_slice() else {
        panic!("{recorded}")
    };
    assert_eq!((&rate["figure"], &rate["relation"]), (&json!("throughput"), &json!(">")));
    assert_eq!((&p97["figure"], &p97["limit"]), (&json!("p97"), &json!(80e6)));
    assert_eq!((&ok["text"], &ok["worse"]), (&json!("ok >= 99%"), &json!(false)));
}
