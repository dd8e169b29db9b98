//! Checks that any bytes can be read as PHP of any kind of app, with the same result each time.
//! Every suspect must be on one of the lines.

use stampede_model::app_kind::AppKind;
use stampede_php::{CodeScan, scan_source};

const FILE: &str = "src/a.php";

/// Runs one input: the first byte chooses the kind of app.
pub fn run(input: &[u8]) {
    let Some((first, source)) = input.split_first() else { return };
    let kind = AppKind::ALL[usize::from(*first) % AppKind::ALL.len()];
    let scan = scan_source(kind, FILE, source);
    let lines = 1 + source.iter().filter(|byte| **byte == b'\n').count() as u32;
    for suspect in &scan.suspects {
        assert!((1..=lines).contains(&suspect.line) && !suspect.what.is_empty(), "{suspect:?}");
        assert!(suspect.file == FILE && !suspect.kind.title().is_empty(), "{suspect:?}");
    }
    for unread in &scan.unread {
        assert!(unread.line.is_none_or(|line| (1..=lines).contains(&line)), "{unread:?}");
        assert!(!unread.why.is_empty(), "{unread:?}");
    }
    assert!(is_timed(&scan) || scan == scan_source(kind, FILE, source));
}

/// Whether reading took too long and was given up. A second reading may end differently.
fn is_timed(scan: &CodeScan) -> bool {
    scan.unread.iter().any(|unread| unread.line.is_none())
}
