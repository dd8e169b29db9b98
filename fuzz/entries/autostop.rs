//! Checks that criteria are parsed and print as text that parses to the same, or are refused with a
//! place in the text.

use stampede_plan::autostop::Autostop;

/// One input.
pub fn run(text: &str) {
    match Autostop::parse(text) {
        Ok(autostop) => {
            assert!(!autostop.criteria().is_empty());
            assert_eq!(Autostop::parse(&autostop.to_string()).as_ref(), Ok(&autostop));
        }
        Err(error) => {
            assert!(text.get(error.offset..error.offset + error.length).is_some(), "{error:?}");
            assert!(!error.to_string().is_empty() && !error.expected().is_empty());
        }
    }
}
