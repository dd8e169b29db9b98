//! Bytes that nobody wrote as PHP: the reader must read any of them to the end.

use proptest::collection::vec;
use proptest::prelude::*;
use stampede_model::app_kind::AppKind;

use super::super::{CodeScan, scan_source};

/// Code that the rules search for, and code around it.
const PIECES: [&str; 40] = [
    "<?php ",
    "?>",
    "<b>",
    "namespace App;",
    "use Lib\\Other as O;",
    "class A extends B ",
    "trait T ",
    "public static $all = [];",
    "private $user;",
    "function add(Request $request, $b) ",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "static $n = 0;",
    "self::$all[] = ",
    "A::$all",
    "$this->user = ",
    "$request",
    "$_SESSION['a']",
    "global $db;",
    "exit",
    "die('x')",
    "header('A: b')",
    "ini_set('a', 1)",
    "setlocale(LC_ALL, 'de')",
    "ob_start()",
    "set_error_handler(fn () => 1)",
    "$db->beginTransaction()",
    "$db->exec(\"SET NAMES x",
    "\"",
    "'",
    "<<<X\n",
    "fn ($x) => ",
    "#[AsCommand]",
    "if (PHP_SAPI === 'cli') ",
];

/// Checks for any text that nothing panics and that each suspect is at a line of the text.
fn holds(kind: AppKind, source: &[u8]) -> CodeScan {
    let scan = scan_source(kind, "src/a.php", source);
    let lines = 1 + source.iter().filter(|byte| **byte == b'\n').count() as u32;
    for suspect in &scan.suspects {
        assert!((1..=lines).contains(&suspect.line) && !suspect.what.is_empty(), "{suspect:?}");
        assert_eq!(suspect.file, "src/a.php");
    }
    for unread in &scan.unread {
        assert!(unread.line.is_none_or(|line| (1..=lines).contains(&line)), "{unread:?}");
    }
    assert_eq!(scan, scan_source(kind, "src/a.php", source), "the same each time");
    scan
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_can_be_scanned(bytes in vec(any::<u8>(), 0..400), app in 0..6_usize) {
        holds(AppKind::ALL[app], &bytes);
    }

    #[test]
    fn any_fragments_of_php_can_be_scanned(
        pieces in vec(prop::sample::select(&PIECES[..]), 0..60), app in 0..6_usize
    ) {
        holds(AppKind::ALL[app], format!("<?php {}", pieces.concat()).as_bytes());
    }

    #[test]
    fn broken_code_after_a_function_does_not_hide_its_suspects(
        pieces in vec(prop::sample::select(&["\n", "\n\n", "// a\n", "echo 1;\n", "class C {}\n"][..]), 0..9)
    ) {
        let before = pieces.concat();
        let code = format!("<?php\n{before}function f() {{ putenv('A=1'); }}\n{before}");
        let scan = holds(AppKind::Callable, code.as_bytes());
        let line = 2 + before.matches('\n').count() as u32;
        prop_assert!(scan.suspects.iter().any(|one| one.line == line && one.what == "putenv('A=1')"), "{scan:?}");
    }
}
