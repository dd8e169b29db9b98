//! Elements of a page or of a picture, as a tree. Text and values of attributes stay plain text
//! until the tree is written, and only the writers (`html`, `xml`) write a `<`. So text can
//! never become markup, wherever it comes from.
//!
//! Names of elements and attributes are part of the program and are written as they are.

mod escape;
pub mod forms;
mod html;
mod plain;
mod xml;

pub use plain::plain_text;

/// An element with its attributes and its content.
#[derive(Clone, Debug)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    content: Vec<Content>,
}

/// One part of an element's content.
#[derive(Clone, Debug)]
enum Content {
    Element(Element),
    Text(String),
    /// Text in which words in backticks are code.
    Prose(String),
}

/// Returns an empty element.
pub fn element(name: &'static str) -> Element {
    Element { name, attributes: Vec::new(), content: Vec::new() }
}

/// Returns an empty element with a class.
pub fn classed(name: &'static str, class: &str) -> Element {
    element(name).with("class", class)
}

impl Element {
    /// Adds an attribute.
    pub fn with(mut self, name: &'static str, value: &str) -> Element {
        self.attributes.push((name, value.to_owned()));
        self
    }

    /// Adds an attribute that is a length in pixels: see [`number`].
    pub fn at(self, name: &'static str, value: f64) -> Element {
        self.with(name, &number(value))
    }

    /// Adds text.
    pub fn text(mut self, text: &str) -> Element {
        self.content.push(Content::Text(text.to_owned()));
        self
    }

    /// Adds text in which words in backticks are code. XML has no code, so there the backticks stay.
    pub fn prose(mut self, text: &str) -> Element {
        self.content.push(Content::Prose(text.to_owned()));
        self
    }

    /// Adds a child element.
    pub fn child(mut self, child: Element) -> Element {
        self.content.push(Content::Element(child));
        self
    }

    /// Adds child elements.
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Element {
        self.content.extend(children.into_iter().map(Content::Element));
        self
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short_and_numbers() {
        let written = [1.0, 1.234_5, -0.001, 0.1, f64::NAN, f64::INFINITY].map(number);
        assert_eq!(written, ["1", "1.23", "0", "0.1", "0", "0"]);
    }
}
