//! Sentences in tests. A build with the feature `codes-for-text` prints the code of a fact or an
//! error in place of its sentence: tests of behaviour pass in both builds, and what is about the
//! wording alone is compared in the ordinary one.

/// Whether this build prints codes.
pub const CODES: bool = cfg!(feature = "codes-for-text");

/// What is printed for a fact or an error: its code, or in the ordinary build `words` of its
/// sentence.
pub fn code_or<'a>(code: &'a str, words: &'a str) -> &'a str {
    if CODES { code } else { words }
}

/// A snapshot of sentences, which a build that prints codes does not have.
macro_rules! assert_words {
    ($($snapshot:tt)*) => {
        if !$crate::words::CODES {
            insta::assert_snapshot!($($snapshot)*);
        }
    };
}
