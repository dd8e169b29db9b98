//! Reads the properties of an element, with the plan's own variables put in.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::rows::Table;

/// The variables that a plan defines, and where its lines begin.
#[derive(Debug)]
pub(super) struct Values {
    variables: BTreeMap<String, String>,
    /// What the rows of files say at this place of the plan.
    pub row: BTreeMap<String, String>,
    /// Offsets of the line ends.
    line_ends: Vec<usize>,
}

impl Values {
    /// Those of a plan of which no element was read yet.
    pub fn of(text: &str) -> Values {
        let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Values { variables: BTreeMap::new(), row: BTreeMap::new(), line_ends }
    }

    /// The line of an element, counted from 1.
    pub fn line(&self, node: Node<'_, '_>) -> usize {
        let begin = node.range().start;
        self.line_ends.partition_point(|end| *end < begin) + 1
    }

    /// Takes the variables of an element that defines some.
    pub fn define(&mut self, element: Node<'_, '_>) {
        let fields = element.descendants().filter(|node| {
            node.has_tag_name("elementProp") && node.attribute("elementType") == Some("Argument")
        });
        for field in fields {
            let value =
                |name| property(field, name).and_then(|node| node.text()).unwrap_or_default();
            let name = match value("Argument.name") {
                "" => field.attribute("name").unwrap_or_default(),
                name => name,
            };
            self.variables.insert(name.to_owned(), value("Argument.value").to_owned());
        }
    }

    /// Takes the values of a row.
    pub fn take_row(&mut self, table: &Table, index: usize) {
        let values = table.row(index).map(|(name, value)| (name.clone(), value.clone()));
        self.row.extend(values);
    }

    /// A property as text, without the blanks around it. `None`: it has a variable that only a run
    /// would fill in.
    pub fn text(&self, element: Node<'_, '_>, name: &str) -> Option<String> {
        let text = property(element, name).and_then(|node| node.text()).unwrap_or_default();
        self.filled(text).map(|text| text.trim().to_owned())
    }

    /// A property as number. `None`: it is none, or not known.
    pub fn number(&self, element: Node<'_, '_>, name: &str) -> Option<f64> {
        self.text(element, name)?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Whether a property is switched on.
    pub fn is_on(&self, element: Node<'_, '_>, name: &str) -> bool {
        self.text(element, name).is_some_and(|text| text == "true")
    }

    /// A text with the plan's variables and with the defaults of `${__P(name,default)}` put in.
    /// `None`: another variable or function is left.
    pub fn filled(&self, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        for _ in 0..ROUNDS_MAX {
            // The last one has no other inside.
            let Some(begin) = text.rfind("${") else { return Some(text) };
            let end = begin + text[begin..].find('}')?;
            let value = self.value(&text[begin + 2..end])?;
            text.replace_range(begin..=end, &value);
            if text.len() > BYTES_MAX {
                return None;
            }
        }
        None
    }

    /// The value of a variable or of a function with a default.
    fn value(&self, name: &str) -> Option<String> {
        if let Some(value) = self.row.get(name).or_else(|| self.variables.get(name)) {
            return Some(value.clone());
        }
        let (function, arguments) = name.strip_suffix(')')?.split_once('(')?;
        let mut arguments = arguments.split(',');
        let default = match function {
            "__P" => arguments.nth(1)?,
            "__property" => arguments.nth(2)?,
            _ => return None,
        };
        // An empty one stands for a value that has to be given.
        (!default.is_empty()).then(|| default.to_owned())
    }
}

/// A property of an element: `<stringProp name="…">`, of whatever type.
pub(super) fn property<'a, 'i>(element: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    element.children().find(|node| node.is_element() && node.attribute("name") == Some(name))
}

/// Whether an element is not switched off.
pub(super) fn is_enabled(element: Node<'_, '_>) -> bool {
    element.attribute("enabled") != Some("false")
}

/// Most variables that are put into one text: variables can name each other in a circle.
const ROUNDS_MAX: usize = 100;
/// Largest text, in bytes.
const BYTES_MAX: usize = 1 << 20;
