//! Escapes text, so that a parser takes it for text, in attributes too.

/// Returns the text with the five characters that may begin or end markup as references.
/// `apostrophe` is the language's reference for `'`. `allowed` replaces each other character that
/// the language cannot contain.
pub fn escaped(text: &str, apostrophe: &str, allowed: fn(char) -> char) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str(apostrophe),
            letter => out.push(allowed(letter)),
        }
    }
    out
}
