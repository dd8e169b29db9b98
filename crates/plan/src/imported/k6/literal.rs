//! Evaluates expressions that are made of literals.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use tree_sitter::Node;

use super::super::form;
use super::tree::{field, named, text, walk};

/// A value that an expression has in every run.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Literal>),
    Object(Vec<(String, Literal)>),
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Known(String),
    /// Only a run would tell it.
    Unknown,
}

/// The names of a file that have one value, each in its scope.
pub(super) struct Constants<'t> {
    source: &'t str,
    names: HashMap<&'t str, Vec<Declaration<'t>>>,
    /// Expressions that may still be looked at: names can double a text again and again.
    budget: Cell<usize>,
}

/// A declaration of a name.
struct Declaration<'t> {
    /// The part of the text where the name is known, in bytes.
    scope: Range<usize>,
    /// `None`: the name has different values, or one that is not an expression.
    value: Option<Node<'t>>,
}

impl Literal {
    /// As JavaScript makes a text of it. `None`: that of an object is of no use.
    pub fn to_text(&self) -> Option<String> {
        Some(match self {
            Literal::Null => "null".to_owned(),
            Literal::Bool(value) => value.to_string(),
            Literal::Number(value) => value.to_string(),
            Literal::Text(text) => text.clone(),
            Literal::List(_) | Literal::Object(_) => return None,
        })
    }

    fn is_true(&self) -> bool {
        match self {
            Literal::Null => false,
            Literal::Bool(value) => *value,
            Literal::Number(value) => *value != 0.0,
            Literal::Text(text) => !text.is_empty(),
            Literal::List(_) | Literal::Object(_) => true,
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match self {
            Literal::Null => serde_json::Value::Null,
            Literal::Bool(value) => (*value).into(),
            Literal::Number(value) if value.fract() == 0.0 && value.abs() < 1e15 => {
                (*value as i64).into()
            }
            Literal::Number(value) => (*value).into(),
            Literal::Text(text) => text.as_str().into(),
            Literal::List(items) => items.iter().map(Literal::to_json).collect(),
            Literal::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
            }
        }
    }

    /// As the body of a form: k6 sends an object so.
    pub fn to_form(&self) -> Option<String> {
        let Literal::Object(fields) = self else { return None };
        let fields = fields.iter().map(|(name, value)| Some((name.as_str(), value.to_text()?)));
        let fields: Vec<(&str, String)> = fields.collect::<Option<_>>()?;
        Some(form::encoded(fields.iter().map(|(name, value)| (*name, value.as_str()))))
    }
}

impl<'t> Constants<'t> {
    /// The names of a file.
    pub fn of(root: Node<'t>, source: &'t str) -> Constants<'t> {
        let mut names: HashMap<&str, Vec<Declaration>> = HashMap::new();
        let mut assigned: HashSet<&str> = HashSet::new();
        walk(root, |node, path| {
            let scope = || scope(path).map_or(0..source.len(), |scope| scope.byte_range());
            let mut declare = |name: Node<'t>, value: Option<Node<'t>>| {
                let declaration = Declaration { scope: scope(), value };
                names.entry(text(name, source)).or_default().push(declaration);
            };
            let role = match node.kind() {
                "variable_declarator" => {
                    if let Some(name) = field(node, "name") {
                        declare(name, field(node, "value"));
                    }
                    return;
                }
                "formal_parameters" => {
                    // Of `name = default`, the name.
                    let names = named(node).into_iter();
                    let names = names.map(|name| field(name, "left").unwrap_or(name));
                    return names.for_each(|name| declare(name, None));
                }
                "shorthand_property_identifier_pattern" => return declare(node, None),
                "arrow_function" => {
                    let name = field(node, "parameter");
                    // It is known in the function, which is not on the path yet.
                    return name.into_iter().for_each(|name| {
                        let declaration = Declaration { scope: node.byte_range(), value: None };
                        names.entry(text(name, source)).or_default().push(declaration);
                    });
                }
                "assignment_expression" | "augmented_assignment_expression" => "left",
                "for_in_statement" => "left",
                "update_expression" => "argument",
                _ => return,
            };
            // `a.b = c` changes the object `a`.
            let name = field(node, role).map(|name| text(name, source));
            assigned.extend(name.and_then(|name| name.split(['.', '[']).next()));
        });
        names.retain(|name, _| !assigned.contains(name));
        Constants { source, names, budget: Cell::new(BUDGET) }
    }

    /// The expression of a name at the top of the file.
    pub fn global(&self, name: &str) -> Option<Node<'t>> {
        let all = self.names.get(name)?.iter();
        all.max_by_key(|declaration| declaration.scope.len())?.value
    }

    /// The expression of a name, at the place of `node`.
    fn value_of(&self, node: Node<'_>) -> Option<Node<'t>> {
        let at = node.start_byte();
        let all = self.names.get(self.text(node))?.iter();
        let known = all.filter(|declaration| declaration.scope.contains(&at));
        let nearest = known.min_by_key(|declaration| declaration.scope.len())?;
        let value = nearest.value?;
        // Of two in one scope, neither is constant.
        let same = |other: &&Declaration<'t>| other.scope == nearest.scope;
        let count = self.names.get(self.text(node))?.iter().filter(same).count();
        (count == 1).then_some(value)
    }

    /// The text of a node.
    pub fn text(&self, node: Node<'_>) -> &'t str {
        text(node, self.source)
    }

    /// The expression itself, where a name stands for it.
    pub fn resolved(&self, node: Node<'t>) -> Node<'t> {
        let mut node = node;
        for _ in 0..DEPTH_MAX {
            let next = match node.kind() {
                "identifier" | "shorthand_property_identifier" => self.value_of(node),
                "parenthesized_expression" => named(node).first().copied(),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node
    }

    /// The entries of an object: names and values. `None`: a name is made while the script runs.
    pub fn entries(&self, object: Node<'t>) -> Option<Vec<(String, Node<'t>)>> {
        let mut entries = Vec::new();
        for part in named(object) {
            match part.kind() {
                "pair" => {
                    let (key, value) = (field(part, "key")?, field(part, "value")?);
                    let name = match key.kind() {
                        "computed_property_name" => return None,
                        "string" => self.string(key)?,
                        _ => self.text(key).to_owned(),
                    };
                    entries.push((name, value));
                }
                "shorthand_property_identifier" => {
                    entries.push((self.text(part).to_owned(), part));
                }
                "method_definition" => {
                    let name = field(part, "name")?;
                    entries.push((self.text(name).to_owned(), part));
                }
                "spread_element" => {
                    let inner = self.resolved(*named(part).first()?);
                    let inner = (inner.kind() == "object" && inner.id() != object.id())
                        .then(|| self.entries_of_spread(inner))?;
                    entries.extend(inner?);
                }
                _ => return None,
            }
        }
        Some(entries)
    }

    /// The entries of an object that is put into another one. It may have no other in it.
    fn entries_of_spread(&self, object: Node<'t>) -> Option<Vec<(String, Node<'t>)>> {
        let has_spread = named(object).iter().any(|part| part.kind() == "spread_element");
        (!has_spread).then(|| self.entries(object))?
    }

    /// The value of an expression. `None`: only a run would tell.
    pub fn evaluate(&self, node: Node<'t>) -> Option<Literal> {
        self.budget.set(BUDGET);
        self.value(node, 0)
    }

    fn value(&self, node: Node<'t>, depth: usize) -> Option<Literal> {
        self.budget.set(self.budget.get().checked_sub(1)?);
        if depth > DEPTH_MAX {
            return None;
        }
        let next = |node| self.value(node, depth + 1);
        Some(match node.kind() {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "null" | "undefined" => Literal::Null,
            "number" => Literal::Number(number(self.text(node))?),
            "string" => Literal::Text(self.string(node)?),
            "template_string" => Literal::Text(known(self.pieces(node, depth + 1))?),
            "parenthesized_expression" => next(*named(node).first()?)?,
            "identifier" | "shorthand_property_identifier" => match self.text(node) {
                "undefined" => Literal::Null,
                _ => next(self.value_of(node)?)?,
            },
            "array" => Literal::List(named(node).into_iter().map(next).collect::<Option<_>>()?),
            "object" => {
                let entries = self.entries(node)?.into_iter();
                let entries = entries.map(|(name, value)| Some((name, next(value)?)));
                Literal::Object(entries.collect::<Option<_>>()?)
            }
            "member_expression" => {
                let Literal::Object(fields) = next(field(node, "object")?)? else { return None };
                let name = self.text(field(node, "property")?);
                fields.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)?
            }
            "unary_expression" => {
                match (self.text(field(node, "operator")?), field(node, "argument")) {
                    ("-", Some(argument)) => match next(argument)? {
                        Literal::Number(number) => Literal::Number(-number),
                        _ => return None,
                    },
                    _ => return None,
                }
            }
            "binary_expression" => self.binary(node, depth)?,
            "call_expression" => self.call(node, depth)?,
            _ => return None,
        })
    }

    fn binary(&self, node: Node<'t>, depth: usize) -> Option<Literal> {
        let (left, right) = (field(node, "left")?, field(node, "right")?);
        let value = |node| self.value(node, depth + 1);
        match self.text(field(node, "operator")?) {
            // What the environment has is not known, so its default stands for it.
            "||" | "??" => match value(left) {
                Some(left) if left.is_true() => Some(left),
                _ => value(right),
            },
            "+" => match (value(left)?, value(right)?) {
                (Literal::Number(one), Literal::Number(other)) => {
                    Some(Literal::Number(one + other))
                }
                (one, other) => Some(Literal::Text(one.to_text()? + &other.to_text()?)),
            },
            operator => match (value(left)?, value(right)?) {
                (Literal::Number(one), Literal::Number(other)) => {
                    let number = match operator {
                        "-" => one - other,
                        "*" => one * other,
                        "/" => one / other,
                        _ => return None,
                    };
                    number.is_finite().then_some(Literal::Number(number))
                }
                _ => None,
            },
        }
    }

    fn call(&self, node: Node<'t>, depth: usize) -> Option<Literal> {
        let function = self.text(field(node, "function")?);
        if !is_pure(function) {
            return None;
        }
        let arguments = field(node, "arguments")?;
        if arguments.kind() == "template_string" {
            return known(self.pieces(arguments, depth + 1)).map(Literal::Text);
        }
        let value = self.value(*named(arguments).first()?, depth + 1)?;
        match function {
            "JSON.stringify" => serde_json::to_string(&value.to_json()).ok().map(Literal::Text),
            "String" => value.to_text().map(Literal::Text),
            _ => number(value.to_text()?.trim()).map(Literal::Number),
        }
    }

    /// The pieces of a text.
    pub fn pieces_of(&self, node: Node<'t>) -> Vec<Piece> {
        self.budget.set(BUDGET);
        self.pieces(node, 0)
    }

    fn pieces(&self, node: Node<'t>, depth: usize) -> Vec<Piece> {
        if depth > DEPTH_MAX || self.budget.get() == 0 {
            return vec![Piece::Unknown];
        }
        if let Some(text) = (node.kind() != "template_string")
            .then(|| self.value(node, depth + 1).and_then(|value| value.to_text()))
            .flatten()
        {
            return vec![Piece::Known(text)];
        }
        let below = |node| self.pieces(node, depth + 1);
        match node.kind() {
            "template_string" => self.template(node, depth),
            "parenthesized_expression" => {
                named(node).first().copied().map_or(vec![Piece::Unknown], below)
            }
            "identifier" => match self.value_of(node) {
                Some(value) => below(value),
                None => vec![Piece::Unknown],
            },
            "binary_expression" => {
                let parts = (field(node, "left"), field(node, "right"), field(node, "operator"));
                match parts {
                    (Some(left), Some(right), Some(operator)) if self.text(operator) == "+" => {
                        let mut pieces = below(left);
                        pieces.extend(below(right));
                        pieces
                    }
                    _ => vec![Piece::Unknown],
                }
            }
            "call_expression" => {
                let is_url = field(node, "function")
                    .is_some_and(|function| self.text(function).ends_with(".url"));
                let template = field(node, "arguments").filter(|_| is_url);
                match template.filter(|template| template.kind() == "template_string") {
                    Some(template) => self.template(template, depth),
                    None => vec![Piece::Unknown],
                }
            }
            _ => vec![Piece::Unknown],
        }
    }

    fn template(&self, node: Node<'t>, depth: usize) -> Vec<Piece> {
        let inner = |begin: usize, end: usize| {
            let raw = self.source.get(begin..end).unwrap_or_default();
            unescaped(raw).map_or(Piece::Unknown, Piece::Known)
        };
        let mut pieces = Vec::new();
        // Behind the first backtick, to the one at the end.
        let (mut at, end) = (node.start_byte() + 1, node.end_byte().saturating_sub(1));
        for part in named(node).into_iter().filter(|part| part.kind() == "template_substitution") {
            pieces.push(inner(at, part.start_byte()));
            match named(part).first() {
                Some(expression) => pieces.extend(self.pieces(*expression, depth + 1)),
                None => pieces.push(Piece::Unknown),
            }
            at = part.end_byte();
        }
        pieces.push(inner(at, end));
        pieces.retain(|piece| !matches!(piece, Piece::Known(text) if text.is_empty()));
        pieces
    }

    /// The text of a literal in quotes.
    fn string(&self, node: Node<'_>) -> Option<String> {
        let text = self.text(node);
        unescaped(text.get(1..text.len().checked_sub(1)?)?)
    }
}

/// The block or function that a name on this path is known in.
fn scope<'t>(path: &[Node<'t>]) -> Option<Node<'t>> {
    const SCOPES: [&str; 9] = [
        "statement_block",
        "function_declaration",
        "function_expression",
        "generator_function",
        "arrow_function",
        "method_definition",
        "for_statement",
        "for_in_statement",
        "catch_clause",
    ];
    path.iter().rev().find(|node| SCOPES.contains(&node.kind())).copied()
}

/// The text of pieces that are all known.
fn known(pieces: Vec<Piece>) -> Option<String> {
    let texts = pieces.into_iter().map(|piece| match piece {
        Piece::Known(text) => Some(text),
        Piece::Unknown => None,
    });
    texts.collect()
}

/// Whether a function gives the same for the same, and is evaluated here.
pub(super) fn is_pure(function: &str) -> bool {
    const PURE: [&str; 7] = [
        "JSON.stringify",
        "Number",
        "Number.parseInt",
        "Number.parseFloat",
        "String",
        "parseInt",
        "parseFloat",
    ];
    PURE.contains(&function)
}

fn number(text: &str) -> Option<f64> {
    let text = text.replace('_', "");
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let number = match hex {
        Some(hex) => u32::from_str_radix(hex, 16).ok().map(f64::from),
        None => text.parse().ok(),
    };
    number.filter(|number: &f64| number.is_finite())
}

/// The text between quotes, with its escapes replaced.
fn unescaped(raw: &str) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let mut letters = raw.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        match letters.next()? {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'v' => text.push('\u{b}'),
            '0' => text.push('\0'),
            // The line goes on.
            '\n' => {}
            'x' => text.push(code(&letters.by_ref().take(2).collect::<String>())?),
            'u' => text.push(unicode(&mut letters)?),
            other => text.push(other),
        }
    }
    Some(text)
}

/// A letter behind `\u`: `00e9` or `{1f600}`. Halves of a pair are not joined.
fn unicode(letters: &mut std::str::Chars<'_>) -> Option<char> {
    let rest = letters.as_str();
    match rest.strip_prefix('{') {
        Some(inner) => {
            let end = inner.find('}')?;
            *letters = inner[end + 1..].chars();
            code(&inner[..end])
        }
        None => code(&letters.by_ref().take(4).collect::<String>()),
    }
}

fn code(hex: &str) -> Option<char> {
    u32::from_str_radix(hex, 16).ok().and_then(char::from_u32)
}

/// Deepest nesting of an expression that is evaluated, with the names in it.
const DEPTH_MAX: usize = 100;
/// Most expressions that are looked at for one value.
const BUDGET: usize = 100_000;
