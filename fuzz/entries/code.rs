//! Any bytes are read to their end as PHP of any kind of app, the same each time; what is told of
//! them is on one of their lines.

use stampede::check::code::{CodeLook, look_at};
use stampede::plan::model::AppKind;

const FILE: &str = "src/a.php";

/// One input: the first byte says which kind of app.
pub fn run(input: &[u8]) {
    let Some((first, source)) = input.split_first() else { return };
    let kind = AppKind::ALL[usize::from(*first) % AppKind::ALL.len()];
    let look = look_at(kind, FILE, source);
    let lines = 1 + source.iter().filter(|byte| **byte == b'\n').count() as u32;
    for suspect in &look.suspects {
        assert!((1..=lines).contains(&suspect.line) && !suspect.what.is_empty(), "{suspect:?}");
        assert!(suspect.file == FILE && !suspect.kind.title().is_empty(), "{suspect:?}");
    }
    for unread in &look.unread {
        assert!(unread.line.is_none_or(|line| (1..=lines).contains(&line)), "{unread:?}");
        assert!(!unread.why.is_empty(), "{unread:?}");
    }
    assert!(is_timed(&look) || look == look_at(kind, FILE, source));
}

/// What takes too long is given up, and may not take too long again.
fn is_timed(look: &CodeLook) -> bool {
    look.unread.iter().any(|unread| unread.line.is_none())
}
