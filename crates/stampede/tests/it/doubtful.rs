//! Tests that the answer says so where the measured page may be another one than the reader means, and
//! that configuration files of any name are known.

use std::time::Duration;

use crate::common::{Sandbox, finish, skipped, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(120);

/// Measures one path of `./shop` for a moment. Returns everything that was printed.
fn measured(sandbox: &Sandbox, path: &str) -> String {
    measured_with(sandbox, &["--path", path])
}

fn measured_with(sandbox: &Sandbox, more: &[&str]) -> String {
    let words = ["compare", "--app", "./shop", "--runtimes", "php-builtin"];
    let quick = ["--concurrency", "1", "--for", "1s", "--warm-up", "0s", "--rounds", "1"];
    let output = finish(sandbox.stampede(&[&words[..], more, &quick].concat()), LIMIT);
    stdout(&output) + &stderr(&output)
}

#[test]
#[ignore = "long: 34 s"]
fn pages_that_may_be_others_are_said() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo '<title>Shop &mdash; home</title>home';");
    sandbox.write("shop/empty.php", "<?php");
    let form = "<title>Sign in</title><form><input name=a><input type=password name=b></form>";
    sandbox.write("shop/admin.php", form);
    sandbox.write("shop/page.php", "<title>Page</title>");
    sandbox.write("shop/broken.php", "<?php echo 'Shop fatal error:<p>no database</p>';");
    sandbox.write("shop/setup.php", "<title>Shop Installer</title><form><input name=a></form>");
    let doubts = [
        "is an empty page",
        "asks for a password",
        "like a path that does not exist",
        "says that the app does not work",
    ];
    for (path, doubt) in [
        ("/empty.php", Some(doubts[0])),
        ("/admin.php", Some(doubts[1])),
        ("/no/such/page", Some(doubts[2])),
        ("/broken.php", Some(doubts[3])),
        ("/setup.php", Some(doubts[3])),
        ("/page.php", None),
        ("/", None),
    ] {
        let printed = measured(&sandbox, path);
        for one in doubts {
            assert_eq!(printed.contains(one), Some(one) == doubt, "{path}: {one}\n{printed}");
        }
        assert!(!printed.contains("&mdash;"), "{path}: {printed}");
    }
}

#[test]
fn extensions_that_are_not_loaded_are_said() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    sandbox.write("shop/index.php", "<?php echo '<title>Shop</title>';");
    let printed = measured_with(&sandbox, &["--extension", "json,no_such_1,ext-no_such_2"]);
    let said =
        "PHP extensions no_such_1 and no_such_2, which the app needs: not loaded on php-builtin";
    let in_one_line = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains(said), "{printed}");
    assert!(!measured(&sandbox, "/").contains("not loaded"));
}

#[test]
fn the_database_of_a_configuration_file_is_said_and_its_password_is_masked() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let config = "<?php\ndefine('DB_NAME', 'shop');\ndefine('DB_USER', 'ann');\n\
                  define('DB_PASSWORD', 'pa55-of-the-shop');\ndefine('DB_HOST', '127.0.0.1:13306');\n";
    sandbox.write("shop/wp-config.php", config);
    sandbox.write("shop/index.php", "<?php require 'wp-config.php'; echo 'with ', DB_PASSWORD;");
    let printed = measured(&sandbox, "/");
    let said = code_or("note: own_database", "127.0.0.1:13306 (wp-config.php, line 5)");
    assert!(printed.contains(said), "{printed}");
    let mut all = vec![sandbox.run()];
    while let Some(path) = all.pop() {
        match path.is_dir() {
            true => {
                all.extend(std::fs::read_dir(&path).expect("entries").flatten().map(|e| e.path()));
            }
            false => {
                let text =
                    String::from_utf8_lossy(&std::fs::read(&path).expect("bytes")).into_owned();
                assert!(!text.contains("pa55-of-the-shop"), "{}", path.display());
            }
        }
    }
    assert!(!printed.contains("pa55-of-the-shop"), "{printed}");
}

#[test]
fn an_app_one_directory_below_is_never_measured_as_another_one() {
    let sandbox = Sandbox::new();
    sandbox.write("htdocs2/index.php", "<?php echo 'shop';");
    sandbox.write("README.md", "a repository");
    let output = finish(sandbox.stampede(&["compare", "--runtimes", "php-builtin"]), LIMIT);
    let printed = stdout(&output) + &stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{printed}");
    assert!(printed.contains("htdocs2") && !printed.contains("hello"), "{printed}");
}
