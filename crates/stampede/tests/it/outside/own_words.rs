//! Tests secrets that are words of stampede's own records, tables and messages. They are masked
//! behind their names, and the files stay readable. A token is recognised by its form, whatever its
//! name.

use std::process::Output;
use std::time::Duration;

use super::small::{CountingServer, OK};
use crate::common::{Sandbox, finish, skipped, stderr, stdout};

/// Far longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(120);

fn compared(env: &str, code: &str, path: &str) -> (Sandbox, Output) {
    let sandbox = Sandbox::new();
    sandbox.write("app/index.php", code);
    if !env.is_empty() {
        sandbox.write("app/.env", env);
    }
    let mut args =
        vec!["compare", "--app", "./app", "--runtimes", "php-builtin", "--concurrency", "1"];
    args.extend(["--for", "1s", "--warm-up", "0s", "--rounds", "1", "--path", path]);
    let output = finish(sandbox.stampede(&args), LIMIT);
    (sandbox, output)
}

/// Asserts that the run ended well and that each of its reports can be made.
fn assert_readable(sandbox: &Sandbox, output: &Output, about: &str) {
    let printed = stdout(output) + &stderr(output);
    assert!(!printed.contains("damaged"), "{about}: {printed}");
    assert_eq!(output.status.code(), Some(0), "{about}: {printed}");
    for format in ["text", "json", "csv", "html", "markdown", "junit"] {
        let output = finish(sandbox.stampede(&["report", "last", "--format", format]), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{about}, {format}: {}", stderr(&output));
        let text = stdout(&output) + &stderr(&output);
        assert!(!text.contains("damaged") && !text.contains("\"***\":"), "{about}: {text}");
    }
}

#[test]
fn a_query_whose_values_are_words_of_stampede_breaks_no_record() {
    if skipped(&["php"]) {
        return;
    }
    let path = "/?sort_key=runtime&auth=verdict&key=counts&token=max_time&sig=per-request";
    let (sandbox, output) = compared("", "<?php echo 'hello';", path);
    assert_readable(&sandbox, &output, path);
    let run = std::fs::read_to_string(sandbox.run().join("run.json")).expect("a run");
    assert!(run.contains("auth=***") && run.contains("token=***"), "{run}");
    assert!(run.contains("sort_key=runtime"), "no secret: {run}");
}

#[test]
#[ignore = "long: 12 s"]
fn an_env_whose_passwords_are_words_of_stampede_breaks_no_record() {
    if skipped(&["php"]) {
        return;
    }
    for env in [
        "LOCK_DSN=flock\nREDIS_AUTH=valid\n",
        "DB_PASSWORD=workers\nMAIL_PASSWORD=planned\nAPI_TOKEN=service\nAPP_SECRET=closed\n",
    ] {
        let (sandbox, output) = compared(env, "<?php echo 'hello';", "/");
        assert_readable(&sandbox, &output, env);
    }
}

/// The texts of all files below a directory, by name.
fn texts(dir: &std::path::Path) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        match entry.file_type().expect("a type").is_dir() {
            true => all.extend(texts(&entry.path())),
            false => all.push((
                entry.path().display().to_string(),
                String::from_utf8_lossy(&std::fs::read(entry.path()).expect("a file")).into_owned(),
            )),
        }
    }
    all
}

#[test]
#[ignore = "long: 15 s"]
fn an_own_word_that_is_a_password_is_masked_where_the_app_prints_it() {
    if skipped(&["php"]) {
        return;
    }
    let code = "<?php error_log('connect with <'.getenv('DB_PASSWORD').'> warning'); \
                echo '<title>pw <'.getenv('DB_PASSWORD').'></title>page of <'.getenv('DB_PASSWORD').'>';";
    let code = format!("<?php foreach (file(__DIR__.'/.env') as $l) putenv(trim($l)); ?>{code}");
    for word in ["throughput", "generator", "requested"] {
        let (sandbox, output) = compared(&format!("DB_PASSWORD={word}\n"), &code, "/");
        assert_readable(&sandbox, &output, word);
        let mut all = texts(&sandbox.run());
        all.push(("its output".into(), stdout(&output) + &stderr(&output)));
        let printed = format!("<{word}>");
        let leaks: Vec<&String> = all
            .iter()
            .filter(|(_, text)| {
                text.contains(&printed) || text.contains(&format!("&lt;{word}&gt;"))
            })
            .map(|(name, _)| name)
            .collect();
        assert!(leaks.is_empty(), "{word}: {leaks:?}");
        let masked = all.iter().filter(|(_, text)| text.contains("<***>")).count();
        assert!(masked >= 2, "the log and the page show where it was: {masked}");
    }
}

#[test]
fn fire_keeps_its_schema_and_its_words() {
    let server = CountingServer::at("127.0.0.1", OK).expect("a server");
    let query = "key=requests_planned&token=throughput_per_s&auth=verdict&sig=valid";
    let sandbox = Sandbox::new();
    let fire = |query: &str, more: &[&str]| {
        let url = format!("http://127.0.0.1:{}/slow?{query}", server.port());
        let load = ["fire", &url, "--concurrency", "1", "--requests", "5", "--warm-up", "0s"];
        let output = finish(sandbox.stampede(&[&load[..], more].concat()), LIMIT);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        output
    };
    let output = fire(query, &["--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let plain = fire("a=1", &["--json"]);
    let plain: serde_json::Value = serde_json::from_slice(&plain.stdout).expect("JSON");
    let names = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(names(&report), names(&plain));
    assert_eq!(report["requests_planned"], 5, "{report}");
    assert_eq!(report["verdict"], plain["verdict"]);
    assert!(report.to_string().contains("token=***"), "{report}");
    let output = fire("token=throughput&key=slow&auth=service", &[]);
    let printed = stdout(&output) + &stderr(&output);
    assert!(
        printed.to_lowercase().contains("throughput") && !printed.contains("token=t"),
        "{printed}"
    );
    assert!(printed.contains("/slow?token=***&key=slow&auth=***"), "{printed}");
    let rest = printed.replace("=***", "");
    assert!(!rest.contains("***"), "{printed}");
}

#[test]
fn a_password_that_is_no_word_of_stampede_is_masked_everywhere() {
    if skipped(&["php"]) {
        return;
    }
    let env = "DB_PASS=hunter22\nMAIL_PASSWORD=correcthorse\n";
    let code = "<?php echo 'so: hunter22, \"correcthorse\" ', PHP_VERSION;";
    let (sandbox, output) = compared(env, code, "/");
    assert_readable(&sandbox, &output, env);
    let mut directories = vec![sandbox.run()];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
            if entry.path().is_dir() {
                directories.push(entry.path());
                continue;
            }
            files += 1;
            let text = std::fs::read(entry.path()).expect("a file");
            let text = String::from_utf8_lossy(&text).into_owned();
            for secret in ["hunter22", "correcthorse"] {
                assert!(!text.contains(secret), "{secret} is in {}", entry.path().display());
            }
        }
    }
    assert!(files > 5, "{files} files");
}

#[test]
fn tokens_under_innocent_names_are_masked_by_their_form() {
    let server = CountingServer::at("127.0.0.1", OK).expect("a server");
    let sandbox = Sandbox::new();
    let letters = "Ab1".repeat(14);
    for (query, secret) in [
        ("x=AKIAIOSFODNN7EXAMPLE".to_owned(), "AKIAIOSFODNN7EXAMPLE".to_owned()),
        (format!("x=sk_live_{letters}"), letters.clone()),
        (format!("x=ghp_{letters}"), letters.clone()),
        ("x=glpat-Ab1_Ab1-Ab1Ab1Ab1Ab1".to_owned(), "Ab1_Ab1".to_owned()),
        (format!("x=eyJ{letters}.eyJ{letters}.{letters}"), letters.clone()),
        (format!("code=C0{letters}&state=open"), letters.clone()),
    ] {
        let url = format!("http://127.0.0.1:{}/?{query}", server.port());
        for more in [&["--json"][..], &[]] {
            let load = ["fire", &url, "--concurrency", "1", "--requests", "2", "--warm-up", "0s"];
            let output = finish(sandbox.stampede(&[&load[..], more].concat()), LIMIT);
            let printed = stdout(&output) + &stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{printed}");
            assert!(printed.contains("=***") && !printed.contains(&secret), "{query}: {printed}");
        }
    }
}

#[test]
fn too_many_secrets_are_reported_once() {
    let server = CountingServer::at("127.0.0.1", OK).expect("a server");
    let sandbox = Sandbox::new();
    let line = |number: u32| format!("/a?token=key-{number:06}\n");
    sandbox.write("traffic.txt", &(0..20_100).map(line).collect::<String>());
    let url = format!("http://127.0.0.1:{}/", server.port());
    let load = ["--concurrency", "1", "--requests", "3", "--warm-up", "0s"];
    let args = [&["fire", &url, "--traffic", "traffic.txt"], &load[..]].concat();
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let notice_text =
        "more than 20 000 secret values: those beyond are masked only by how they are written";
    assert_eq!(stderr(&output).matches(notice_text).count(), 1, "{}", stderr(&output));
}
