//! Tests pages that change by themselves: with the time, with each request, or each minute.

use super::quick::{CompareOutput, compare};
use crate::common::{Sandbox, skipped, trials};
use crate::words::code_or;

#[test]
#[ignore = "long: 49 s"]
fn a_page_that_shows_the_time_can_be_measured() {
    if skipped(&["php"]) {
        return;
    }
    for code in [
        "<?php echo date('H:i:s');",
        "<?php echo 'taskrunner.php?id=start&', time();",
        "<?php echo date('s');",
        "<?php echo '<p>it is ', date('i'), ' past, ', date('D, d M Y'), '</p>', intdiv(time(), 2);",
        "<?php echo 'rendered in ', microtime(true) - $_SERVER['REQUEST_TIME_FLOAT'];",
        "<?php echo bin2hex(random_bytes(8)), '<p>token</p>';",
        "<?php header('Content-Type: application/json'); echo json_encode(['now' => hrtime(true)]);",
        "<?php echo time() % 2 ? 'tick' : 'tock';",
        "<?php echo ['alpha', 'beta', 'gamma', 'delta'][intdiv(time(), 3) % 4];",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("shop/public/index.php", code);
        let compared = compare(&sandbox, "php-builtin", &[]);
        assert!(matches!(compared.code, Some(0 | 3)), "{code}: {}", compared.printed);
        assert_ne!(
            trials(&sandbox)[0]["verdict"]["judged"],
            "invalid",
            "{code}: {}",
            compared.printed
        );
    }
}

#[test]
#[ignore = "long: 19 s"]
fn another_page_after_the_load_is_still_seen_and_shown() {
    if skipped(&["php"]) {
        return;
    }
    let sandbox = Sandbox::new();
    let code =
        "<?php $file = sys_get_temp_dir() . '/count'; $count = (int) @file_get_contents($file);
        file_put_contents($file, (string) ++$count);
        echo $count < 40 ? 'the catalogue' : 'the installer';";
    sandbox.write("shop/public/index.php", code);
    let CompareOutput { code, printed } = compare(&sandbox, "php-builtin", &[]);
    assert_eq!(code, Some(3), "{printed}");
    let why = code_or("answer_changed", "`the installer` instead of `the catalogue`");
    assert!(printed.contains(why), "{printed}");
}
