// SPDX-License-Identifier: MIT

use alloc::format;
use alloc::string::String;
use penstock::json::Value;

/// They say nothing about what fits.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// A kind of schema with its keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Reference,
    Alternatives,
    Enumeration,
    Text,
    Number,
    Array,
    Object,
    Plain,
}

fn of(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Reference => &["$ref"],
        Kind::Alternatives => &["anyOf", "oneOf"],
        Kind::Enumeration => &["type", "enum", "const"],
        Kind::Text => &["type", "minLength", "maxLength"],
        Kind::Number => &["type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
        Kind::Plain => &["type"],
        Kind::Array => &["type", "items", "minItems", "maxItems"],
        Kind::Object => &["type", "properties", "required", "additionalProperties"],
    }
}

/// Refuses, by name, what the kinds do not have: leaving out a rule in silence would give answers that do not fit.
pub fn check(schema: &[(String, Value)], kinds: &[Kind], path: &str) -> Result<(), String> {
    for (name, _) in schema {
        let known = ANNOTATIONS.contains(&name.as_str()) || kinds.iter().any(|k| of(*k).contains(&name.as_str()));
        if !known {
            return Err(format!("config.schema: {}: {:?} is not supported here; take it out", path, name));
        }
    }
    Ok(())
}

/// The kind of a type's name.
pub fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "string" => Kind::Text,
        "number" | "integer" => Kind::Number,
        "array" => Kind::Array,
        "object" => Kind::Object,
        "boolean" | "null" => Kind::Plain,
        _ => return None,
    })
}

/// Whether a value is of a type.
pub fn fits(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(_) => name == "number" || (name == "integer" && value.integer().is_some()),
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
    }
}

/// A count; absent gives `otherwise`.
pub fn count(schema: &Value, name: &str, otherwise: u32, path: &str) -> Result<u32, String> {
    match schema.get(name) {
        None => Ok(otherwise),
        Some(value) => value
            .integer()
            .and_then(|n| u32::try_from(n).ok())
            .ok_or_else(|| format!("config.schema: {}.{}: {} is no whole number from 0 on", path, name, value)),
    }
}
