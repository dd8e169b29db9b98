//! Writes elements as HTML.

use std::fmt::Write as _;

use super::escape::escaped;
use super::{Content, Element};

impl Element {
    /// Returns the element as HTML. `shown` gets each text and each value of an attribute before it
    /// is escaped, such as to mask secrets.
    pub fn html(&self, shown: fn(&str) -> String) -> String {
        let mut out = String::new();
        self.write_html(shown, &mut out);
        out
    }

    /// Block elements end their line, so that pages can be compared line by line.
    fn write_html(&self, shown: fn(&str) -> String, out: &mut String) {
        let name = self.name;
        let _ = write!(out, "<{name}");
        for (attribute, value) in &self.attributes {
            let _ = write!(out, " {attribute}=\"{}\"", safe(&shown(value)));
        }
        out.push('>');
        for content in &self.content {
            match content {
                Content::Element(element) => element.write_html(shown, out),
                Content::Text(text) => out.push_str(&safe(&shown(text))),
                Content::Prose(text) => write_prose(&shown(text), out),
            }
        }
        let end = if IN_A_LINE.contains(&name) { "" } else { "\n" };
        let _ = write!(out, "</{name}>{end}");
    }
}

/// Inline elements, beside which a line break would be a space.
const IN_A_LINE: [&str; 5] = ["a", "b", "code", "small", "span"];

fn write_prose(text: &str, out: &mut String) {
    let pieces: Vec<&str> = text.split('`').collect();
    // With an odd number of backticks, the last one begins nothing.
    let whole = if pieces.len().is_multiple_of(2) { pieces.len() - 2 } else { pieces.len() };
    for (at, piece) in pieces.iter().enumerate() {
        let piece = safe(piece);
        let _ = match at {
            at if at >= whole && at % 2 == 1 => write!(out, "`{piece}"),
            at if at % 2 == 1 => write!(out, "<code>{piece}</code>"),
            _ => write!(out, "{piece}"),
        };
    }
}

/// Text that HTML takes only for text. Characters that a page cannot contain are replaced, and so
/// are those that change the direction of the text around them.
fn safe(text: &str) -> String {
    escaped(text, "&#39;", |letter| match letter {
        '\t' | '\n' => letter,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        control if control.is_control() => '\u{fffd}',
        letter => letter,
    })
}

#[cfg(test)]
mod tests {
    use crate::{Element, classed, element};

    fn html(element: &Element) -> String {
        element.html(str::to_owned)
    }

    #[test]
    fn text_is_never_markup() {
        let text = "</p><script a='b' c=\"d\">&\u{0}\u{202e}";
        let safe = "&lt;/p&gt;&lt;script a=&#39;b&#39; c=&quot;d&quot;&gt;&amp;\u{fffd}\u{fffd}";
        let page = html(&element("p").with("title", text).text(text).prose(text));
        assert_eq!(page, format!("<p title=\"{safe}\">{safe}{safe}</p>\n"));
    }

    #[test]
    fn block_elements_end_their_line() {
        let list = element("ul").child(element("li").child(element("b").text("a")).text(" b"));
        assert_eq!(html(&list), "<ul><li><b>a</b> b</li>\n</ul>\n");
        assert_eq!(html(&classed("span", "x")), "<span class=\"x\"></span>");
    }

    #[test]
    fn backticks_are_code_in_pairs() {
        let of = |text: &str| html(&element("b").prose(text));
        assert_eq!(of("the `a<b` of `c`"), "<b>the <code>a&lt;b</code> of <code>c</code></b>");
        assert_eq!(of("one ` alone"), "<b>one ` alone</b>");
        assert_eq!(of("`a` and ` alone"), "<b><code>a</code> and ` alone</b>");
    }

    #[test]
    fn text_is_shown_before_it_is_escaped() {
        let shown = |text: &str| text.replace("key: `<a>`", "key: `*`");
        let text = "key: `<a>`";
        let page = element("p").with("title", text).text(text).prose(text).html(shown);
        assert_eq!(page, "<p title=\"key: `*`\">key: `*`key: <code>*</code></p>\n");
    }
}
