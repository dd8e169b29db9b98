//! Tests of the TypeScript types of a schema.

use serde_json::{Value, json};

use super::{SchemaError, types};

/// The declarations of a schema, without the file's header.
fn declared(definitions: &Value) -> String {
    let root = json!({"title": "Root", "type": "object", "properties": {}, "$defs": definitions});
    let file = types(&root).expect("a schema");
    let (_, declared) = file.split_once("export interface Root {\n}\n").expect("the root");
    declared.to_owned()
}

#[test]
fn a_struct_is_an_interface_with_its_comments() {
    let of = declared(&json!({"Counts": {
        "description": "Counts of\nrequests, see [`Load`].",
        "type": "object",
        "properties": {
            "ok": {"description": "Correct answers.", "type": "integer", "format": "uint64"},
            "p99.9": {"type": ["number", "null"]},
            "failed": {"type": "object", "additionalProperties": {"type": "integer"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/$defs/X"}]},
            "left": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/X"}, {"type": "null"}]}},
            "any": true,
        },
        "required": ["ok", "p99.9", "failed", "pair"],
    }}));
    assert_eq!(
        of,
        "
/**
 * Counts of
 * requests, see `Load`.
 */
export interface Counts {
  /** Correct answers. */
  ok: number;
  \"p99.9\": number | null;
  failed: Record<string, number>;
  pair: [string, X];
  left?: (X | null)[];
  any?: unknown;
}
"
    );
}

#[test]
fn an_enum_is_a_union_that_its_tag_decides() {
    let of = declared(&json!({
        "Word": {"oneOf": [
            {"description": "One.", "type": "string", "const": "one"},
            {"description": "Two.", "type": "string", "const": "two"},
        ]},
        "Sign": {"type": "object", "properties": {"sign": {"oneOf": [
            {"description": "Less.", "const": "<"},
            {"const": ">"},
        ]}}},
        "Figure": {"oneOf": [
            {
                "description": "Known.",
                "type": "object",
                "properties": {"state": {"type": "string", "const": "exact"}},
                "required": ["state"],
                "$ref": "#/$defs/Estimate",
            },
            {"type": "object", "properties": {"state": {"const": "none"}}, "required": ["state"]},
        ]},
    }));
    assert_eq!(
        of,
        "
export type Word =
  /** One. */
  | \"one\"
  /** Two. */
  | \"two\";

export interface Sign {
  sign?:
    /** Less. */
    | \"<\"
    | \">\";
}

export type Figure =
  /** Known. */
  | {
    state: \"exact\";
  } & Estimate
  | {
    state: \"none\";
  };
"
    );
}

#[test]
fn a_flattened_enum_is_named_where_it_has_a_name() {
    let codes = json!([{"const": "a"}, {"const": "b"}]);
    let of = declared(&json!({
        "Found": {"oneOf": codes},
        "Cause": {
            "type": "object",
            "properties": {"trials": {"type": "array", "items": {"type": "integer"}}},
            "required": ["trials"],
            "oneOf": codes,
        },
        "Other": {"type": "object", "oneOf": [{"const": "c"}, {"const": "d"}]},
    }));
    assert_eq!(
        of,
        "
export type Found = \"a\" | \"b\";

export type Cause = {
  trials: number[];
} & Found;

export type Other = \"c\" | \"d\";
"
    );
}

#[test]
fn a_keyword_that_is_not_known_is_refused() {
    let schema = |one: Value| json!({"title": "Root", "type": "object", "$defs": {"A": one}});
    let refused = types(&schema(json!({"not": {"type": "string"}})));
    assert!(matches!(refused, Err(SchemaError::Keyword { name, .. }) if name == "not"));
    let refused = types(&schema(json!("string")));
    assert!(matches!(refused, Err(SchemaError::NotSchema { .. })));
}
