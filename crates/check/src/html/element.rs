//! An element of a page. All data goes through here as text, with secrets masked: no other code of
//! the page writes a `<`.

use std::fmt::Write as _;

use stampede_mask::mask_secrets;

/// An element while it is written.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: String,
    inside: String,
}

/// Returns an empty element.
pub fn element(name: &'static str) -> Element {
    Element { name, attributes: String::new(), inside: String::new() }
}

/// Returns an empty element with a class.
pub fn classed(name: &'static str, class: &str) -> Element {
    element(name).with("class", class)
}

impl Element {
    /// Adds an attribute.
    pub fn with(mut self, name: &'static str, value: &str) -> Element {
        let _ = write!(self.attributes, " {name}=\"{}\"", escaped(&mask_secrets(value)));
        self
    }

    /// Adds text.
    pub fn text(mut self, text: &str) -> Element {
        self.inside.push_str(&escaped(&mask_secrets(text)));
        self
    }

    /// Adds text; words in backticks become code.
    pub fn prose(mut self, text: &str) -> Element {
        let masked = mask_secrets(text);
        let pieces: Vec<&str> = masked.split('`').collect();
        // With an odd number of backticks, the last one begins nothing.
        let whole = if pieces.len().is_multiple_of(2) { pieces.len() - 2 } else { pieces.len() };
        for (at, piece) in pieces.iter().enumerate() {
            let piece = escaped(piece);
            let _ = match at {
                at if at >= whole && at % 2 == 1 => write!(self.inside, "`{piece}"),
                at if at % 2 == 1 => write!(self.inside, "<code>{piece}</code>"),
                _ => write!(self.inside, "{piece}"),
            };
        }
        self
    }

    /// Adds a child element.
    pub fn child(mut self, child: Element) -> Element {
        child.write(&mut self.inside);
        self
    }

    /// Adds child elements.
    pub fn children(self, children: impl IntoIterator<Item = Element>) -> Element {
        children.into_iter().fold(self, Element::child)
    }

    /// Returns the markup.
    pub fn markup(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Writes the markup. Block elements end their line, so that pages can be compared line by
    /// line.
    fn write(&self, out: &mut String) {
        let Element { name, attributes, inside } = self;
        let end = if IN_A_LINE.contains(name) { "" } else { "\n" };
        let _ = write!(out, "<{name}{attributes}>{inside}</{name}>{end}");
    }
}

/// Inline elements, beside which a line break would be a space.
const IN_A_LINE: [&str; 5] = ["a", "b", "code", "small", "span"];

/// Escapes text, so that HTML shows it as text, in attributes too. Replaces characters that a page
/// cannot contain, and those that change the direction of the text around them.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' => out.push(letter),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_never_markup() {
        let text = "</p><script a='b' c=\"d\">&\u{0}\u{202e}";
        let safe = "&lt;/p&gt;&lt;script a=&#39;b&#39; c=&quot;d&quot;&gt;&amp;\u{fffd}\u{fffd}";
        let markup = element("p").with("title", text).text(text).prose(text).markup();
        assert_eq!(markup, format!("<p title=\"{safe}\">{safe}{safe}</p>\n"));
    }

    #[test]
    fn backticks_are_code_in_pairs() {
        let of = |text: &str| element("b").prose(text).markup();
        assert_eq!(of("the `a<b` of `c`"), "<b>the <code>a&lt;b</code> of <code>c</code></b>");
        assert_eq!(of("one ` alone"), "<b>one ` alone</b>");
        assert_eq!(of("`a` and ` alone"), "<b><code>a</code> and ` alone</b>");
    }

    #[test]
    fn secrets_are_masked() {
        let of = |element: Element| element.markup();
        let (plain, prose) = ("DB_PASSWORD=hunter2", "DB_PASSWORD: `hunter2`");
        for markup in [
            of(element("p").text(plain)),
            of(element("p").with("title", plain)),
            of(element("p").prose(plain)),
            of(element("p").prose(prose)),
        ] {
            assert!(markup.contains("***") && !markup.contains("hunter2"), "{markup}");
        }
    }
}
