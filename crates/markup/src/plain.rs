//! Turns a piece of HTML into plain text.

use html5gum::{Token, Tokenizer};

/// The text of `html` with its character references resolved (`&mdash;` is a dash) and without tags.
pub fn plain_text(html: &str) -> String {
    let mut text = String::new();
    for Ok(token) in Tokenizer::new(html.as_bytes()) {
        if let Token::String(part) = token {
            text.push_str(&String::from_utf8_lossy(&part));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::plain_text;

    #[test]
    fn references_are_resolved_and_tags_are_gone() {
        for (html, text) in [
            ("YOURLS &mdash; Links", "YOURLS — Links"),
            ("A &amp; B &lt;3 &#39;x&#39;", "A & B <3 'x'"),
            ("a <b>bold</b> word", "a bold word"),
            ("plain", "plain"),
            ("5 < 6 & 7", "5 < 6 & 7"),
        ] {
            assert_eq!(plain_text(html), text);
        }
    }
}
