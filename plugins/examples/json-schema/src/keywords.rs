// SPDX-License-Identifier: MIT

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use penstock::json::Value;

/// They say nothing about what fits.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "$anchor",
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

/// Keywords of any value.
const ANY: &[&str] = &["$ref", "allOf", "anyOf", "oneOf", "enum", "const", "type"];

/// Keywords of a kind of value, with the types of that kind. They say nothing about other values.
const KINDS: &[(&[&str], &[&str])] = &[
    (&["string"], &["minLength", "maxLength", "pattern", "format"]),
    (&["number", "integer"], &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    (&["array"], &["items", "prefixItems", "minItems", "maxItems"]),
    (&["object"], &["properties", "required", "additionalProperties"]),
];

/// All types but integer, which number has in it.
pub const TYPES: &[&str] = &["string", "number", "boolean", "null", "array", "object"];

/// Checks the keywords of one schema by themselves. It refuses, by name, what is not known: leaving out a rule in silence would
/// give answers that do not fit.
pub fn check(schema: &Value, path: &str) -> Result<(), String> {
    for (name, value) in schema.members().unwrap_or(&[]) {
        let known = [ANNOTATIONS, ANY].iter().any(|names| names.contains(&name.as_str())) || (name == "$id" && path == "#");
        if !known && !KINDS.iter().any(|(_, names)| names.contains(&name.as_str())) {
            return Err(format!("config.schema: {}: {:?} is not supported here; take it out", path, name));
        }
        let (right, want) = match name.as_str() {
            "allOf" | "anyOf" | "oneOf" => (value.items().map_or(false, |l| !l.is_empty()), "a list that is not empty"),
            "prefixItems" | "enum" => (value.items().is_some(), "a list"),
            "properties" => (value.members().is_some(), "an object"),
            "required" => (value.items().map_or(false, |l| l.iter().all(|n| n.text().is_some())), "a list of names"),
            "pattern" | "format" | "$ref" => (value.text().is_some(), "a text"),
            "items" => (value.items().is_none(), "one schema; prefixItems may be a list"),
            _ => (true, ""),
        };
        if !right {
            return Err(format!("config.schema: {}.{}: {} is not {}", path, name, value, want));
        }
    }
    for (least, most) in [("minLength", "maxLength"), ("minItems", "maxItems")] {
        let (min, max) = (count(schema, least, 0, path)?, count(schema, most, u32::MAX, path)?);
        if min > max {
            return Err(format!("config.schema: {}: {} is {} and {} only {}", path, least, min, most, max));
        }
    }
    types(schema, path).map(|_| ())
}

/// The types that a schema names; none: it names none.
pub fn types<'a>(schema: &'a Value, path: &str) -> Result<Option<Vec<&'a str>>, String> {
    let named: Option<Vec<&str>> = match schema.get("type") {
        None => return Ok(None),
        Some(Value::String(one)) => Some(alloc::vec![one.as_str()]),
        Some(Value::Array(list)) if !list.is_empty() => list.iter().map(Value::text).collect(),
        Some(_) => None,
    };
    named
        .filter(|names| names.iter().all(|n| TYPES.contains(n) || *n == "integer"))
        .map(Some)
        .ok_or_else(|| format!("config.schema: {}: type must be string, number, integer, boolean, null, array or object", path))
}

/// The types that the keywords of a schema mean.
pub fn meant(schema: &Value) -> impl Iterator<Item = &'static str> + '_ {
    let meant = KINDS.iter().filter(move |(_, names)| names.iter().any(|n| schema.get(n).is_some()));
    meant.map(|(types, _)| types[0])
}

/// Whether a value is of a type.
pub fn fits(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::Number(_) => name == "number" || (name == "integer" && value.number().map_or(false, |n| n % 1.0 == 0.0)),
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
