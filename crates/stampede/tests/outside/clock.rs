//! Tests pages that change by themselves: with the time, with each request, or each minute.

use crate::common::{Place, skipped, trials};
use crate::quick::{Compared, compare};
use crate::words::says;

#[test]
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
        let place = Place::new();
        place.write("shop/public/index.php", code);
        let compared = compare(&place, "php-builtin", &[]);
        assert!(matches!(compared.code, Some(0 | 3)), "{code}: {}", compared.said);
        assert_ne!(trials(&place)[0]["verdict"]["judged"], "invalid", "{code}: {}", compared.said);
    }
}

#[test]
fn another_page_after_the_load_is_still_seen_and_shown() {
    if skipped(&["php"]) {
        return;
    }
    let place = Place::new();
    let code =
        "<?php $file = sys_get_temp_dir() . '/count'; $count = (int) @file_get_contents($file);
        file_put_contents($file, (string) ++$count);
        echo $count < 40 ? 'the catalogue' : 'the installer';";
    place.write("shop/public/index.php", code);
    let Compared { code, said } = compare(&place, "php-builtin", &[]);
    assert_eq!(code, Some(3), "{said}");
    let why = says("answer_changed", "`the installer` instead of `the catalogue`");
    assert!(said.contains(why), "{said}");
}
