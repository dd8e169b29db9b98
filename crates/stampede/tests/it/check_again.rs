//! Tests `stampede check --finding N` end to end: it sends a finding's requests again with the
//! flags of the original check, and asks by name for what only the user has.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use crate::common::{Sandbox, finish, runtimes_here, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(300);

/// An app that shows nothing to users without a session, unless `MODE` lets everybody in.
const HANDLER: &str = r#"<?php
require_once __DIR__ . '/src/Visitor.php';
return static function (array $server): array {
    $isIn = ($_COOKIE['sid'] ?? '') !== '' || getenv('MODE') === 'open';
    $text = $isIn ? 'You are ' . App\Visitor::named((string) ($_GET['user'] ?? 'guest')) : 'Who are you?';
    return ['status' => $isIn ? 200 : 403, 'headers' => ['Content-Type' => 'text/html'], 'body' => "<p>$text</p>\n"];
};
"#;
const VISITOR: &str = r"<?php
namespace App;
final class Visitor
{
    private static ?string $user = null;
    public static function named(string $user): string
    {
        return self::$user ??= $user;
    }
}
";
const FRONT: &str = r#"<?php
$handle = require __DIR__ . '/../handler.php';
$answer = $handle($_SERVER, '');
http_response_code($answer['status']);
foreach ($answer['headers'] as $name => $value) {
    header("$name: $value");
}
echo $answer['body'];
"#;
const MANIFEST: &str = "title: keeps its first user\nkind: callable\ndocroot: public\nindex: index.php\n\
                        request: { path: / }\nexpect: { status: 403 }\n";

/// A place with the app, and the name of a worker runtime that is installed here.
fn sandbox() -> Option<(Sandbox, &'static str)> {
    if skipped(&["nginx", "php-fpm", "php"]) {
        return None;
    }
    let all = runtimes_here(&["roadrunner", "frankenphp-worker", "swoole"]);
    let runtime = *all.first()?;
    let sandbox = Sandbox::new();
    for (name, text) in [
        ("app.yaml", MANIFEST),
        ("handler.php", HANDLER),
        ("src/Visitor.php", VISITOR),
        ("public/index.php", FRONT),
    ] {
        sandbox.write(&format!("my shop/{name}"), text);
    }
    sandbox.write("urls.txt", "/account?user={user}&token=hunter2\n");
    Some((sandbox, runtime))
}

/// Runs a check that finds the leak; its output is in the directory `my check`.
fn check(sandbox: &Sandbox, runtime: &str, more: &[&str]) -> String {
    let mut args =
        vec!["check", "--app", "./my shop", "--runtime", runtime, "--traffic", "urls.txt"];
    args.extend(["--passes", "in-order", "--growth", "0", "--seed", "7", "--out", "my check"]);
    args.extend(more);
    let output = finish(sandbox.stampede(&args), LIMIT);
    assert_eq!(output.status.code(), Some(1), "{}{}", stdout(&output), stderr(&output));
    let kept =
        std::fs::read_to_string(sandbox.path().join("my check/check.json")).expect("a report");
    assert!(!kept.contains("hunter2"), "a secret was kept");
    stdout(&output)
}

/// Runs a printed command through a shell.
fn pasted(sandbox: &Sandbox, command: &str) -> Output {
    let plain = sandbox.stampede(&[]);
    let program = Path::new(env!("CARGO_BIN_EXE_stampede"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().expect("a directory").display());
    let mut with = Command::new("sh");
    with.args(["-c", command]).current_dir(sandbox.path()).env("PATH", path);
    with.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    with.stdin(std::process::Stdio::null());
    with.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    finish(with, LIMIT)
}

/// The command that the text prints for a finding.
fn printed(text: &str) -> &str {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("reproduce: "));
    line.expect("a command")
}

#[test]
#[ignore = "long: 15 s"]
fn the_printed_command_repeats_a_finding_with_the_flags_of_the_check() {
    let Some((sandbox, runtime)) = sandbox() else { return };
    sandbox.write("ann.txt", "sid=ann-0123456789\n");
    sandbox.write("bob.txt", "sid=bob-0123456789\n");
    let jars = ["--cookies", "ann.txt", "--cookies", "bob.txt", "--timeout", "20s"];
    let text = check(&sandbox, runtime, &jars);
    let command = printed(&text);
    assert!(command.contains("--of 'my check'"), "{command}");
    let output = pasted(&sandbox, command);
    let output_text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{output_text}");
    assert!(
        output_text.contains("it shows again") && output_text.contains("You are"),
        "{output_text}"
    );
    let page = std::fs::read_to_string(sandbox.path().join("my check/check.html")).expect("a page");
    assert!(page.contains("--of &#39;my check&#39; --finding 1"), "the page has another command");

    // The secret of a request is only in the user's list, so without the list nothing can be sent.
    sandbox.write("urls.txt", "/account?user={user}\n");
    let output = pasted(&sandbox, command);
    assert_eq!(output.status.code(), Some(2));
    let output_text = stderr(&output);
    let error = code_or("error: secret_not_kept", "cannot be sent again");
    let hint = code_or("hint: secret_not_kept", "--traffic");
    assert!(output_text.contains(error) && output_text.contains(hint), "{output_text}");
    assert_eq!(stdout(&output), "");
    // A missing cookie jar is named.
    sandbox.write("urls.txt", "/account?user={user}&token=hunter2\n");
    std::fs::remove_file(sandbox.path().join("bob.txt")).expect("removed");
    let output = pasted(&sandbox, command);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(code_or("jar: os", "bob.txt")), "{}", stderr(&output));
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}

#[test]
#[ignore = "long: 17 s"]
fn missing_secrets_are_requested_by_their_flag() {
    let Some((sandbox, runtime)) = sandbox() else { return };
    let secrets = ["--login", "ann:hunter2", "--login", "bob:hunter2", "--env", "MODE=open"];
    check(&sandbox, runtime, &secrets);
    let again = |more: &[&str]| {
        let words = ["check", "--finding", "1", "--of", "my check"];
        finish(sandbox.stampede(&[&words, more].concat()), LIMIT)
    };
    let output = again(&[]);
    let output_text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{output_text}");
    for flag in ["--login ann:PASSWORD", "--login bob:PASSWORD", "--env MODE=VALUE"] {
        let asked = code_or("hint: secrets_missing", flag);
        assert!(output_text.contains(asked), "{flag} is not asked for: {output_text}");
    }
    let output = again(&secrets[..4]);
    assert_eq!(output.status.code(), Some(2));
    let output_text = stderr(&output);
    let asked = code_or("hint: secrets_missing", "--env MODE=VALUE");
    assert!(output_text.contains(asked) && !output_text.contains("--login"), "{output_text}");
    let output = again(&secrets);
    let output_text = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{output_text}");
    assert!(output_text.contains("it shows again"), "{output_text}");
    assert_eq!(sandbox.left_behind(), Vec::<String>::new());
}
