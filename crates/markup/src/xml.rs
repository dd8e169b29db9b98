//! Writes elements as XML 1.0, such as SVG.

use std::fmt::Write as _;

use super::escape::escaped;
use super::{Content, Element};

impl Element {
    /// Returns the element as the content of an XML file.
    pub fn xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        self.write_xml(&mut out);
        out
    }

    /// Inner elements are on lines of their own, so that files can be compared line by line. Text
    /// stays as it is.
    fn write_xml(&self, out: &mut String) {
        let _ = write!(out, "<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", safe(value));
        }
        if self.content.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push('>');
        if matches!(self.content.first(), Some(Content::Element(_))) {
            out.push('\n');
        }
        for content in &self.content {
            match content {
                Content::Element(element) => element.write_xml(out),
                Content::Text(text) | Content::Prose(text) => out.push_str(&safe(text)),
            }
        }
        let _ = writeln!(out, "</{}>", self.name);
    }
}

/// Text that XML 1.0 takes only for text. Characters that XML cannot contain are replaced, and so
/// are line breaks, which would become spaces anyway.
fn safe(text: &str) -> String {
    escaped(text, "&apos;", |letter| match letter {
        '\t' | '\n' | '\r' => ' ',
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        control if control.is_control() => '\u{fffd}',
        letter => letter,
    })
}

#[cfg(test)]
mod tests {
    use crate::element;

    #[test]
    fn text_is_never_markup() {
        let text = "</text><script a='b' c=\"d\">&\u{0}\n\u{ffff}";
        let file = element("text").with("aria-label", text).text(text).xml();
        let safe =
            "&lt;/text&gt;&lt;script a=&apos;b&apos; c=&quot;d&quot;&gt;&amp;\u{fffd} \u{fffd}";
        let (_, file) = file.split_once('\n').expect("a first line");
        assert_eq!(file, format!("<text aria-label=\"{safe}\">{safe}</text>\n"));
    }

    #[test]
    fn inner_elements_are_on_lines_of_their_own() {
        let line = element("line").at("x1", 0.5);
        let file = element("g").child(line).child(element("title").text("a")).xml();
        let group = "<g>\n<line x1=\"0.5\"/>\n<title>a</title>\n</g>\n";
        assert_eq!(file, format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{group}"));
    }
}
