//! Whole directories: which files are read, what cannot be read, and how large a file may be.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn code_that_no_request_reaches_is_left_out() {
    let exits = "<?php function f() { exit; }";
    let files = |names: &[&'static str]| -> Vec<(&'static str, &'static str)> {
        names.iter().map(|name| (*name, exits)).collect()
    };
    let everywhere = [
        "vendor/a/a.php",
        "node_modules/a.php",
        "tests/A.php",
        "src/Tests/A.php",
        "src/ATest.php",
        "var/cache/a.php",
        "storage/a.php",
        "migrations/A.php",
        "src/Migrations/A.php",
        ".git/a.php",
        ".php-cs-fixer.php",
        "a.txt",
        "views/a.blade.php",
    ];
    for kind in AppKind::ALL {
        assert_eq!(suspects_of(kind, &files(&everywhere)), [""; 0], "{kind:?}");
    }
    let boot = ["public/index.php", "config/a.php", "bin/a.php", "prepare.php"];
    assert_eq!(suspects_of(AppKind::Symfony, &files(&boot)), [""; 0]);
    assert_eq!(suspects_of(AppKind::Script, &files(&boot)).len(), 4);
    let laravel = ["bootstrap/app.php", "database/a.php", "app/Console/Kernel.php"];
    assert_eq!(suspects_of(AppKind::Laravel, &files(&laravel)), [""; 0]);
    let read = ["src/a.php", "src/Cache/a.php", "lib/var/a.inc", "src/config/a.phtml"];
    assert_eq!(suspects_of(AppKind::Symfony, &files(&read)).len(), 4);
}

#[test]
fn files_are_scanned_in_the_order_of_their_names() {
    let directory = tempfile::tempdir().unwrap();
    for file in ["b.php", "a/z.php", "a/b.php", "c.php", "a.php"] {
        let path = directory.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "<?php exit;").unwrap();
    }
    let scan = scan(directory.path(), AppKind::Symfony);
    let files: Vec<&str> = scan.suspects.iter().map(|suspect| suspect.file.as_str()).collect();
    assert_eq!(files, ["a.php", "a/b.php", "a/z.php", "b.php", "c.php"]);
    assert_eq!(scan.files, 5);
}

#[test]
fn links_are_not_followed() {
    let (directory, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(other.path().join("a.php"), "<?php exit;").unwrap();
    symlink(other.path(), directory.path().join("out")).unwrap();
    symlink(other.path().join("a.php"), directory.path().join("b.php")).unwrap();
    symlink(directory.path(), directory.path().join("round")).unwrap();
    assert_eq!(scan(directory.path(), AppKind::Script), super::super::CodeScan::default());
    // The app's directory itself may be a symbolic link.
    let link = directory.path().join("out");
    assert_eq!(scan(&link, AppKind::Script).suspects.len(), 1);
}

#[test]
fn a_broken_file_is_named_and_the_rest_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let broken = "<?php\nfunction f() { exit; }\n\nclass { nothing ( here\n";
    fs::write(directory.path().join("a.php"), broken).unwrap();
    fs::write(directory.path().join("b.php"), "<?php exit;").unwrap();
    fs::write(directory.path().join("big.php"), vec![b' '; 2_000_001]).unwrap();
    let scan = scan(directory.path(), AppKind::Symfony);
    insta::assert_snapshot!(serde_json::to_string_pretty(&scan).unwrap());
}

#[test]
fn a_missing_app_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let scan = scan(&directory.path().join("none"), AppKind::Symfony);
    assert_eq!((scan.files, scan.unread.len()), (0, 1));
}

#[test]
fn files_that_are_not_utf8_are_scanned() {
    let directory = tempfile::tempdir().unwrap();
    let noise: Vec<u8> =
        (0..200_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let with_tag = [b"<?php ".as_slice(), &noise].concat();
    let latin = b"<?php function f() { $a = '\xe9'; exit; }";
    fs::write(directory.path().join("a.php"), &noise).unwrap();
    fs::write(directory.path().join("b.php"), with_tag).unwrap();
    fs::write(directory.path().join("c.php"), latin).unwrap();
    let scan = scan(directory.path(), AppKind::Symfony);
    let of_latin = scan.suspects.iter().filter(|suspect| suspect.file == "c.php");
    assert_eq!(of_latin.count(), 1);
}

#[test]
fn deep_nesting_and_long_repetition_end_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, code: &str| {
        fs::write(directory.path().join(name), format!("<?php {code}")).unwrap();
    };
    write("a.php", &format!("$a = {}1{};", "[".repeat(50_000), "]".repeat(50_000)));
    write("b.php", &format!("$a = 1{};", " . 'a'".repeat(50_000)));
    write("c.php", &"if ($a) { ".repeat(20_000));
    write(
        "d.php",
        &format!("function f() {{ {} }}", "ob_start(); ini_set($a, 1); ".repeat(20_000)),
    );
    write("e.php", &format!("function f() {{ {} 1; }}", "A::$a[] = new B && ".repeat(20_000)));
    write("f.php", &"function f() { ob_start(); } ".repeat(20_000));
    let began = Instant::now();
    let scan = scan(directory.path(), AppKind::Script);
    // Seconds are enough on a busy machine too, because no step takes more than linear time.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(scan.files, 6);
    let unread: Vec<&str> = scan.unread.iter().map(|unread| unread.file.as_str()).collect();
    assert_eq!(unread, ["a.php", "c.php"]);
    let suspects: Vec<String> =
        scan.suspects.iter().map(|s| format!("{} {}", s.file, s.what)).collect();
    assert_eq!(
        suspects,
        ["d.php ob_start()", "d.php ini_set()", "e.php A::$a[] (grows)", "f.php ob_start()"]
    );
}
