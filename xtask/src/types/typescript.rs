//! Makes TypeScript types of a JSON Schema, of the same names and with the same comments. It knows
//! the keywords that schemars writes, and refuses all others.

use std::fmt;

use serde_json::{Map, Value};

/// Why no types are made of a schema.
#[derive(Debug)]
pub enum SchemaError {
    /// It is not JSON.
    NotJson {
        /// Where and why.
        source: serde_json::Error,
    },
    /// Something else stands where a schema is expected.
    NotSchema {
        /// What stands there.
        found: Value,
    },
    /// A keyword that is not known here, or not with this value.
    Keyword {
        /// The keyword.
        name: String,
        /// Its value.
        value: Value,
    },
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaError::NotJson { source } => write!(f, "the schema is not JSON: {source}"),
            SchemaError::NotSchema { found } => write!(f, "`{found}` is not a schema"),
            SchemaError::Keyword { name, value } => {
                write!(f, "no type is made of `{name}: {value}` in a schema")
            }
        }
    }
}

/// The beginning of the file.
const HEADER: &str = "\
// The data of the page, as the program writes them. `cargo xtask types` wrote this file from the
// program's own types: change those.
// tidy: data table
";

/// Returns the types of a schema with a title and definitions, in their order.
///
/// # Errors
/// The schema has something that no type is made of.
pub fn types(schema: &Value) -> Result<String, SchemaError> {
    let wrong = || SchemaError::NotSchema { found: schema.clone() };
    let title = schema.get("title").and_then(Value::as_str).ok_or_else(wrong)?;
    let definitions = schema.get("$defs").and_then(Value::as_object).ok_or_else(wrong)?;
    let unions: Vec<(&Value, &str)> = definitions
        .iter()
        .filter(|(_, schema)| schema.get("properties").is_none())
        .filter_map(|(name, schema)| Some((schema.get("oneOf")?, name.as_str())))
        .collect();
    let named = definitions.iter().map(|(name, schema)| (name.as_str(), schema));
    let mut file = HEADER.to_owned();
    for (name, schema) in std::iter::once((title, schema)).chain(named) {
        let declared = Declaration { name, unions: &unions }.write(schema)?;
        file.push_str(&format!("\n{declared}"));
    }
    Ok(file)
}

/// A type while it is written.
struct Declaration<'a> {
    name: &'a str,
    /// The alternatives of each definition that is nothing else. Where a flattened field has the
    /// same ones, the name stands for them.
    unions: &'a [(&'a Value, &'a str)],
}

impl Declaration<'_> {
    fn write(&self, schema: &Value) -> Result<String, SchemaError> {
        let written = self.type_of(schema, "")?;
        let (comment, name) = (comment(schema, ""), self.name);
        Ok(match is_interface(schema) {
            true => format!("{comment}export interface {name} {written}\n"),
            false => format!("{comment}export type {name} ={};\n", after(&written)),
        })
    }

    /// Returns the type. `indent` is the indentation of the line on which it begins.
    fn type_of(&self, schema: &Value, indent: &str) -> Result<String, SchemaError> {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(true) => return Ok("unknown".to_owned()),
            found => return Err(SchemaError::NotSchema { found: found.clone() }),
        };
        let mut all: Vec<Part> = Vec::new();
        for (keyword, value) in keywords {
            match keyword.as_str() {
                "$ref" => all.push(Part::Single(reference(value)?)),
                "const" => all.push(Part::Single(value.to_string())),
                "enum" => all.push(Part::Union(literals(list(keyword, value)?))),
                "oneOf" | "anyOf" => all.push(self.union(value, list(keyword, value)?, indent)?),
                "allOf" => {
                    for one in list(keyword, value)? {
                        all.push(Part::Union(self.type_of(one, indent)?));
                    }
                }
                "type" => all.extend(self.shapes(keywords, value, indent)?),
                // Read where the type is, or of no consequence for a type.
                "properties"
                | "required"
                | "additionalProperties"
                | "items"
                | "prefixItems"
                | "unevaluatedProperties"
                | "description"
                | "title"
                | "default"
                | "format"
                | "minimum"
                | "maximum"
                | "minItems"
                | "maxItems"
                | "minLength"
                | "maxLength"
                | "uniqueItems"
                | "$schema"
                | "$defs" => {}
                _ => {
                    let (name, value) = (keyword.clone(), value.clone());
                    return Err(SchemaError::Keyword { name, value });
                }
            }
        }
        Ok(intersection(&all))
    }

    /// The alternatives, on lines of their own where one has a comment.
    fn union(&self, value: &Value, members: &[Value], indent: &str) -> Result<Part, SchemaError> {
        let same = self.unions.iter().find(|(union, name)| *union == value && *name != self.name);
        if let Some((_, name)) = same {
            return Ok(Part::Single((*name).to_owned()));
        }
        let inner = format!("{indent}  ");
        let types: Vec<String> =
            members.iter().map(|one| self.type_of(one, &inner)).collect::<Result<_, _>>()?;
        if !members.iter().any(|one| one.get("description").is_some()) {
            return Ok(Part::Union(types.join(" | ")));
        }
        let lines = members.iter().zip(types);
        let line =
            |(one, text): (&Value, String)| format!("\n{}{inner}| {text}", comment(one, &inner));
        Ok(Part::Union(lines.map(line).collect()))
    }

    /// The types that the keyword `type` names. None: another keyword already says it all.
    fn shapes(
        &self,
        keywords: &Map<String, Value>,
        value: &Value,
        indent: &str,
    ) -> Result<Option<Part>, SchemaError> {
        if ["const", "enum"].iter().any(|keyword| keywords.contains_key(*keyword)) {
            return Ok(None);
        }
        let names = match value {
            Value::Array(names) => names.as_slice(),
            name => std::slice::from_ref(name),
        };
        let mut shapes = Vec::new();
        for name in names {
            shapes.extend(match name.as_str() {
                Some("string") => Some("string".to_owned()),
                Some("integer" | "number") => Some("number".to_owned()),
                Some("boolean") => Some("boolean".to_owned()),
                Some("null") => Some("null".to_owned()),
                Some("array") => Some(self.array(keywords, indent)?),
                Some("object") => self.object(keywords, indent)?,
                _ => {
                    let name = "type".to_owned();
                    return Err(SchemaError::Keyword { name, value: value.clone() });
                }
            });
        }
        Ok(match shapes.len() {
            0 => None,
            1 => shapes.pop().map(Part::Single),
            _ => Some(Part::Union(shapes.join(" | "))),
        })
    }

    fn array(&self, keywords: &Map<String, Value>, indent: &str) -> Result<String, SchemaError> {
        if let Some(items) = keywords.get("prefixItems") {
            let items = list("prefixItems", items)?.iter();
            let types: Vec<String> =
                items.map(|one| self.type_of(one, indent)).collect::<Result<_, _>>()?;
            return Ok(format!("[{}]", types.join(", ")));
        }
        let item = match keywords.get("items") {
            Some(items) => self.type_of(items, indent)?,
            None => "unknown".to_owned(),
        };
        let is_name = item.chars().all(|c| c.is_ascii_alphanumeric() || "_[]".contains(c));
        Ok(if is_name { format!("{item}[]") } else { format!("({item})[]") })
    }

    /// An object with these fields, or with any names. `None`: the other keywords say what it is.
    fn object(
        &self,
        keywords: &Map<String, Value>,
        indent: &str,
    ) -> Result<Option<String>, SchemaError> {
        let others = keywords.get("additionalProperties");
        let Some(Value::Object(fields)) = keywords.get("properties") else {
            let is_told = ["$ref", "oneOf", "anyOf", "allOf"].iter();
            let is_told = is_told.copied().any(|keyword| keywords.contains_key(keyword));
            return match others {
                Some(others) => {
                    Ok(Some(format!("Record<string, {}>", self.type_of(others, indent)?)))
                }
                None if is_told => Ok(None),
                None => Ok(Some("Record<string, unknown>".to_owned())),
            };
        };
        let required = keywords.get("required").and_then(Value::as_array);
        let is_required =
            |name: &String| required.is_some_and(|all| all.iter().any(|one| one == name.as_str()));
        let inner = format!("{indent}  ");
        let mut text = String::from("{\n");
        for (name, schema) in fields {
            let mark = if is_required(name) { "" } else { "?" };
            let written = self.type_of(schema, &inner)?;
            let (comment, name) = (comment(schema, &inner), key(name));
            text.push_str(&format!("{comment}{inner}{name}{mark}:{};\n", after(&written)));
        }
        match others {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => {
                text.push_str(&format!("{inner}[other: string]: unknown;\n"))
            }
            Some(value) => {
                let name = "additionalProperties".to_owned();
                return Err(SchemaError::Keyword { name, value: value.clone() });
            }
        }
        Ok(Some(format!("{text}{indent}}}")))
    }
}

/// A part of a type. All parts hold at once.
enum Part {
    Single(String),
    /// Several alternatives, which need parentheses beside another part.
    Union(String),
}

/// A type behind `=` or `:`. A union on lines of its own begins with the end of that line.
fn after(written: &str) -> String {
    if written.starts_with('\n') { written.to_owned() } else { format!(" {written}") }
}

fn intersection(parts: &[Part]) -> String {
    match parts {
        [] => "unknown".to_owned(),
        [Part::Single(text) | Part::Union(text)] => text.clone(),
        parts => {
            let text = |part: &Part| match part {
                Part::Single(text) => text.clone(),
                Part::Union(text) => format!("({text})"),
            };
            parts.iter().map(text).collect::<Vec<_>>().join(" & ")
        }
    }
}

/// Whether it is an object with fields and nothing else.
fn is_interface(schema: &Value) -> bool {
    let other = ["$ref", "oneOf", "anyOf", "allOf", "const", "enum"];
    schema.get("type").is_some_and(|one| one == "object")
        && schema.get("properties").is_some()
        && !other.iter().any(|keyword| schema.get(*keyword).is_some())
}

fn reference(value: &Value) -> Result<String, SchemaError> {
    let name = value.as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.map(str::to_owned)
        .ok_or_else(|| SchemaError::Keyword { name: "$ref".to_owned(), value: value.clone() })
}

fn list<'a>(keyword: &str, value: &'a Value) -> Result<&'a [Value], SchemaError> {
    let wrong = || SchemaError::Keyword { name: keyword.to_owned(), value: value.clone() };
    value.as_array().map(Vec::as_slice).ok_or_else(wrong)
}

/// JSON's literals are TypeScript's too.
fn literals(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}

/// The name of a field, in quotes if it has to be.
fn key(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { Value::from(name).to_string() }
}

/// The description as a comment before the line. Links to Rust's items become plain names.
fn comment(schema: &Value, indent: &str) -> String {
    let Some(text) = schema.get("description").and_then(Value::as_str) else {
        return String::new();
    };
    let text = text.replace("[`", "`").replace("`]", "`").replace("*/", "* /");
    let lines: Vec<String> = text
        .trim()
        .lines()
        .map(|line| format!("{indent} * {line}").trim_end().to_owned())
        .collect();
    match lines.as_slice() {
        [_] => format!("{indent}/** {} */\n", text.trim()),
        _ => format!("{indent}/**\n{}\n{indent} */\n", lines.join("\n")),
    }
}

#[cfg(test)]
mod tests;
