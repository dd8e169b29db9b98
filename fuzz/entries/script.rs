//! Checks that a script of another tool gives valid requests or an error, the same each time. What
//! is not taken over stands in lines of the script, in their order.

use std::path::Path;

use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_plan::imported::{self, ImportedLoad, Tool};

/// One input.
pub fn run(text: &str) {
    let Some(tool) = Tool::of(text.as_bytes()) else { return };
    // No file is beside it.
    let path = Path::new("/nowhere/script");
    let lines = text.lines().count().max(1);
    match imported::parse(tool, text, path) {
        Ok(load) => {
            understood(&load, lines);
            let again = imported::parse(tool, text, path).expect("what was read before");
            assert_eq!(load, again, "the same script is the same requests");
        }
        Err(error) => {
            assert!(!error.to_string().is_empty() && !error.hint().is_empty(), "{error:?}");
        }
    }
}

fn understood(load: &ImportedLoad, lines: usize) {
    let habits = Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
    assert!(!load.requests.is_empty());
    for request in &load.requests {
        assert!((1..=lines).contains(&request.line), "{request:?}");
        assert!(request.request(habits).is_ok(), "{request:?}");
    }
    assert!(load.left_out.is_sorted());
    for one in &load.left_out {
        assert!((1..=lines).contains(&one.line), "{one:?}");
        assert!(!one.what.to_string().is_empty() && !one.what.why().is_empty());
    }
    if let Some(load) = &load.load {
        assert!(load.to_string().starts_with("--"), "{load}");
    }
}
