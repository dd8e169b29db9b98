//! Tests `ci/compare`, which the GitHub Action and the GitLab template call: the exit code, what is
//! expected, and the comment. `gh` and `curl` are scripts that note what they were asked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr};

const CI: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci");

/// Notes its arguments, one a line, then an empty line; keeps the body; answers with `$EARLIER`
/// where it is asked for earlier comments.
const GH: &str = r#"#!/bin/sh
printf '%s\n' "$@" '' >>"$NOTED"
for word; do case $word in body=@*) cp "${word#body=@}" "$NOTED.body" ;; esac; done
case "$*" in *--jq*) printf '%s' "$EARLIER" ;; esac
"#;

/// The same for curl, which gets the token from standard input.
const CURL: &str = r#"#!/bin/sh
printf '%s\n' "$@" "stdin: $(cat)" '' >>"$NOTED"
for word; do case $word in body@*) cp "${word#body@}" "$NOTED.body" ;; esac; done
case "$*" in *per_page*) printf '%s' "${EARLIER:-[]}" ;; esac
"#;

/// A stampede that measures nothing: ends with `$CODE`, and `diff` prints a table.
const FAKE: &str = r#"#!/bin/sh
printf '%s\n' "$@" '' >>"$NOTED.program"
case $1 in
    diff) echo '| | @main | working tree |'; exit 1 ;;
    compare) mkdir stampede-results/ci && echo "{}" >stampede-results/ci/run.json; exit "$CODE" ;;
esac
"#;

fn program(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    sandbox.program(&format!("bin/{name}"), text)
}

fn git(directory: &Path, home: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.current_dir(directory).env("HOME", home).env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(args);
    let output = git.output().expect("git starts");
    assert!(output.status.success(), "git {args:?}: {}", stderr(&output));
}

/// A shop in a repository with a branch `main`, and the programs that the script asks.
fn shop(code: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("shop/public/index.php", code);
    let shop = sandbox.path().join("shop");
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "first"],
    ] {
        git(&shop, sandbox.path(), args);
    }
    program(&sandbox, "gh", GH);
    program(&sandbox, "curl", CURL);
    sandbox
}

/// The script in the shop's directory, with nothing of this machine's environment but programs.
fn script(sandbox: &Sandbox, stampede: &Path, values: &[(&str, &str)]) -> Output {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new("sh");
    command
        .arg(format!("{CI}/compare"))
        .current_dir(sandbox.path().join("shop"))
        .env_clear()
        .env("PATH", format!("{}/bin:{path}", sandbox.path().display()))
        .envs([("TMPDIR", sandbox.tmp()), ("XDG_RUNTIME_DIR", sandbox.tmp())])
        .envs([("HOME", sandbox.path()), ("STAMPEDE_PROGRAM", stampede)])
        .env("NOTED", sandbox.path().join("noted"))
        .env("NO_COLOR", "1")
        .envs(values.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    finish(command, Duration::from_secs(180))
}

fn noted(sandbox: &Sandbox, name: &str) -> String {
    fs::read_to_string(sandbox.path().join(name)).unwrap_or_default()
}

const GITHUB: [(&str, &str); 4] = [
    ("GITHUB_REPOSITORY", "shop/shop"),
    ("GITHUB_REF", "refs/pull/7/merge"),
    ("GH_TOKEN", "secret-of-github"),
    ("STAMPEDE_AGAINST", "main"),
];

const GITLAB: [(&str, &str); 5] = [
    ("CI_API_V4_URL", "https://gitlab.test/api/v4"),
    ("CI_PROJECT_ID", "3"),
    ("CI_MERGE_REQUEST_IID", "7"),
    ("STAMPEDE_GITLAB_TOKEN", "secret-of-gitlab"),
    ("STAMPEDE_AGAINST", "main"),
];

/// The real program, measured for a second a trial: the comment has its table.
#[test]
#[ignore = "long: 22 s"]
fn a_pull_request_gets_the_table_and_the_exit_code() {
    if skipped(&["git", "php"]) {
        return;
    }
    let sandbox = shop("<?php echo 'fine';");
    let stampede = Path::new(env!("CARGO_BIN_EXE_stampede"));
    let flags = "--runtimes php-builtin --concurrency 1 --for 1s --rounds 3 --warm-up 0s";
    // Noise makes answers slower, not wrong.
    let values = [("STAMPEDE_FLAGS", flags), ("STAMPEDE_EXPECT", "ok worse < 50%")];
    let output = script(&sandbox, stampede, &[&GITHUB[..], &values].concat());
    assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", stderr(&output));
    let body = noted(&sandbox, "noted.body");
    assert!(body.starts_with("<!-- stampede: ci/compare -->\n**stampede**: "), "{body}");
    assert!(body.contains("| CPU/request |"), "{body}");
    assert!(body.contains("working tree"), "{body}");
    let asked = noted(&sandbox, "noted");
    assert!(asked.contains("--method\nPOST\nrepos/shop/shop/issues/7/comments\n"), "{asked}");
    assert!(sandbox.left_behind().is_empty(), "{:?}", sandbox.left_behind());
}

#[test]
fn the_exit_code_of_compare_is_that_of_the_script() {
    if skipped(&["git"]) {
        return;
    }
    for (code, words) in [
        ("0", "everything that is expected holds"),
        ("1", "an expectation is not met or not proven"),
        ("2", "nothing could be measured"),
        ("3", "a row is missing or invalid"),
    ] {
        let sandbox = shop("<?php");
        let fake = program(&sandbox, "fake", FAKE);
        let output = script(&sandbox, &fake, &[&GITHUB[..], &[("CODE", code)]].concat());
        assert_eq!(output.status.code(), code.parse().ok(), "{}", stderr(&output));
        let body = noted(&sandbox, "noted.body");
        assert!(body.contains(words), "{body}");
    }
}

#[test]
fn cpu_per_request_is_expected_by_default_and_each_line_is_an_expectation() {
    if skipped(&["git"]) {
        return;
    }
    for (expect, expected) in [
        ("", vec!["cpu_cost worse < 5%"]),
        ("p95 < 100ms\n\nok worse < 0.1%", vec!["p95 < 100ms", "ok worse < 0.1%"]),
        ("$(touch planted); *", vec!["$(touch planted); *"]),
    ] {
        let sandbox = shop("<?php");
        let fake = program(&sandbox, "fake", FAKE);
        let values = [("CODE", "0"), ("STAMPEDE_EXPECT", expect)];
        let output = script(&sandbox, &fake, &[&GITHUB[..], &values].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let asked = noted(&sandbox, "noted.program");
        let mut words = asked.lines();
        let mut found = Vec::new();
        while let Some(word) = words.next() {
            found.extend((word == "--expect").then(|| words.next().expect("an expectation")));
        }
        assert_eq!(found, expected, "{asked}");
        assert!(
            asked.contains("--app\n.\n--against\nmain\n--out\nstampede-results/ci\n"),
            "{asked}"
        );
        assert!(!sandbox.path().join("shop/planted").exists());
    }
}

#[test]
fn an_earlier_comment_is_replaced() {
    if skipped(&["git", "jq"]) {
        return;
    }
    let mark = "<!-- stampede: ci/compare -->";
    let notes = format!(r#"[{{"id": 41, "body": "else"}}, {{"id": 42, "body": "{mark}\nold"}}]"#);
    for (platform, earlier, way) in [
        (&GITHUB[..], "42", "--method\nPATCH\nrepos/shop/shop/issues/comments/42\n"),
        (
            &GITLAB[..],
            notes.as_str(),
            "--request\nPUT\nhttps://gitlab.test/api/v4/projects/3/merge_requests/7/notes/42\n",
        ),
        (
            &GITLAB[..],
            "[]",
            "--request\nPOST\nhttps://gitlab.test/api/v4/projects/3/merge_requests/7/notes\n",
        ),
    ] {
        let sandbox = shop("<?php");
        let fake = program(&sandbox, "fake", FAKE);
        let values = [("CODE", "0"), ("EARLIER", earlier)];
        let output = script(&sandbox, &fake, &[platform, &values].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let asked = noted(&sandbox, "noted");
        // The way and the address may stand on either side of other words.
        let is_there = way.split_inclusive('\n').all(|word| asked.contains(word));
        assert!(is_there, "{way}: {asked}");
        assert!(noted(&sandbox, "noted.body").contains("working tree"));
    }
}

/// A list of processes shows what a program was started with.
#[test]
fn no_token_is_an_argument() {
    if skipped(&["git"]) {
        return;
    }
    for platform in [&GITHUB[..], &GITLAB[..]] {
        let sandbox = shop("<?php");
        let fake = program(&sandbox, "fake", FAKE);
        let output = script(&sandbox, &fake, &[platform, &[("CODE", "0")]].concat());
        assert!(output.status.success());
        let asked = noted(&sandbox, "noted");
        assert!(!asked.is_empty());
        for line in asked.lines().filter(|line| line.contains("secret-of")) {
            assert_eq!(line, "stdin: PRIVATE-TOKEN: secret-of-gitlab");
        }
    }
}

#[test]
fn what_is_lacking_is_said_before_anything_is_measured() {
    if skipped(&["git"]) {
        return;
    }
    let sandbox = shop("<?php");
    let fake = program(&sandbox, "fake", FAKE);
    let missing = sandbox.path().join("no-such-program");
    for (stampede, values, words) in [
        (&missing, vec![("STAMPEDE_AGAINST", "main")], "is not there"),
        (&fake, vec![], "this is no merge request"),
        (&fake, vec![("GITHUB_BASE_REF", "main")], "`origin/main` is no revision"),
    ] {
        let output = script(&sandbox, stampede, &values);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
        assert!(stderr(&output).contains("\nhint: "), "{}", stderr(&output));
    }
    assert!(noted(&sandbox, "noted.program").is_empty());
}

/// A comment is a service: that it cannot be written is said and decides nothing.
#[test]
fn a_comment_that_cannot_be_written_does_not_fail_the_job() {
    if skipped(&["git"]) {
        return;
    }
    for (values, words) in [
        (vec![("GITHUB_REF", "refs/heads/main")], "no comment: this is no pull request"),
        (vec![("GH_TOKEN", "")], "no comment: GH_TOKEN is empty"),
        (vec![("NOTED", "/no-such-directory/noted")], "the comment could not be written"),
    ] {
        let sandbox = shop("<?php");
        let fake = program(&sandbox, "fake", &FAKE.replace("\"$NOTED.program\"", "/dev/null"));
        let all = [&GITHUB[..], &[("CODE", "0")], &values].concat();
        program(&sandbox, "gh", &format!("{GH}[ -f \"$NOTED\" ] || exit 1\n"));
        let output = script(&sandbox, &fake, &all);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{words}: {}", stderr(&output));
        assert!(sandbox.path().join("shop/stampede-results/ci.md").is_file());
    }
}

/// Both call the one script, with its defaults.
#[test]
fn action_and_template_call_the_script_with_its_defaults() {
    let read = |name: &str| fs::read_to_string(format!("{CI}/{name}")).expect("a file");
    let (compare, action, gitlab) = (read("compare"), read("action.yml"), read("gitlab.yml"));
    for default in
        ["cpu_cost worse < 5%", "--runtimes nginx-fpm --concurrency 4 --for 10s --rounds 8"]
    {
        for (name, text) in [("compare", &compare), ("action", &action), ("gitlab", &gitlab)] {
            assert!(text.contains(default), "{default} is not in {name}");
        }
    }
    assert!(action.contains("sh \"$GITHUB_ACTION_PATH/compare\""));
    assert!(gitlab.contains("sh ci/compare"));
    for name in ["PROGRAM", "APP", "AGAINST", "EXPECT", "FLAGS", "COMMENT"] {
        assert!(compare.contains(&format!("${{STAMPEDE_{name}:-")), "{name}");
        let input = format!("STAMPEDE_{name}: ${{{{ inputs.{} }}}}", name.to_lowercase());
        assert!(action.contains(&input), "{input}");
    }
}
