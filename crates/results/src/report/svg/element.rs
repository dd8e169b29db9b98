//! Elements of an SVG file. All data passes through this module and becomes escaped text. Nothing
//! else of the `svg` module writes a `<`.

use std::fmt::Write as _;

/// An element with its attributes and its content.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<Content>,
}

#[derive(Clone, Debug)]
enum Content {
    Element(Element),
    Text(String),
}

impl Element {
    /// An empty element.
    pub fn new(name: &'static str) -> Element {
        Element { name, attributes: Vec::new(), content: Vec::new() }
    }

    /// Adds an attribute that is a text.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Element {
        self.attributes.push((name, value.into()));
        self
    }

    /// Adds an attribute that is a length in pixels.
    pub fn at(self, name: &'static str, value: f64) -> Element {
        self.with(name, number(value))
    }

    /// Adds text to the content.
    pub fn text(mut self, text: impl Into<String>) -> Element {
        self.content.push(Content::Text(text.into()));
        self
    }

    /// Adds an element to the content.
    pub fn child(mut self, child: Element) -> Element {
        self.content.push(Content::Element(child));
        self
    }

    /// Adds elements to the content.
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        self.content.extend(children.into_iter().map(Content::Element));
        self
    }

    /// The element as the content of a file.
    pub fn file(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        self.write(&mut out);
        out
    }

    /// Writes the element. Inner elements are on lines of their own, so that files can be compared
    /// line by line. Text stays as it is.
    fn write(&self, out: &mut String) {
        let _ = write!(out, "<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", escaped(value));
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
                Content::Element(element) => element.write(out),
                Content::Text(text) => out.push_str(&escaped(text)),
            }
        }
        let _ = writeln!(out, "</{}>", self.name);
    }
}

/// A length with at most two decimals. A value that is not finite becomes 0.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text that XML 1.0 takes only for text, in attributes too. Characters that XML cannot contain are
/// replaced, and so are line breaks, which would become spaces anyway.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
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
        let text = "</text><script a='b' c=\"d\">&\u{0}\n\u{ffff}";
        let file = Element::new("text").with("aria-label", text).text(text).file();
        let safe =
            "&lt;/text&gt;&lt;script a=&apos;b&apos; c=&quot;d&quot;&gt;&amp;\u{fffd} \u{fffd}";
        let (_, file) = file.split_once('\n').expect("a first line");
        assert_eq!(file, format!("<text aria-label=\"{safe}\">{safe}</text>\n"));
    }

    #[test]
    fn lengths_are_short_and_numbers() {
        let written = [1.0, 1.234_5, -0.001, 0.1, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(written, ["1", "1.23", "0", "0.1", "0", "0"]);
    }
}
