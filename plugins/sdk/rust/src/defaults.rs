// SPDX-License-Identifier: MIT

use crate::json::{self, Value};
use alloc::format;
use alloc::string::String;
use core::cell::Cell;

/// Defaults may be nested, even without end: those that are deeper than this are left out, and so
/// are those after this many schemas.
const DEPTH: usize = 64;
const SCHEMAS: usize = 20_000;

/// Adds the defaults of a JSON schema to a config that lacks them, as hosts with `config_defaults`
/// do: in objects that the request or a default gives, and in items; `$ref` within the schema and
/// `allOf` are followed.
pub(crate) fn fill(schema: &str, config: &mut Value) -> Result<(), String> {
    let schema = json::parse(schema).map_err(|e| format!("config_schema: {}", e))?;
    Filler { root: &schema, left: Cell::new(SCHEMAS) }.fill(&schema, config, DEPTH);
    Ok(())
}

/// Whether a schema may have a default. For a constant the compiler knows the result, and leaves
/// the rest out of the module.
pub(crate) const fn may_be_in(schema: &str) -> bool {
    const WORD: &[u8] = b"\"default\"";
    let schema = schema.as_bytes();
    let (mut at, mut same) = (0, 0);
    while at < schema.len() && same < WORD.len() {
        same = if schema[at] == WORD[same] { same + 1 } else { (schema[at] == WORD[0]) as usize };
        at += 1;
    }
    same == WORD.len()
}

struct Filler<'a> {
    root: &'a Value,
    left: Cell<usize>,
}

impl<'a> Filler<'a> {
    fn fill(&self, schema: &'a Value, value: &mut Value, depth: usize) {
        if !self.step(depth) {
            return;
        }
        self.parts(schema).for_each(|part| self.fill(part, value, depth - 1));
        match value {
            Value::Object(members) => {
                for (name, of) in schema.get("properties").and_then(Value::members).unwrap_or(&[]) {
                    if !members.iter().any(|(n, _)| n == name) {
                        members.extend(self.default(of, depth).map(|d| (name.clone(), d.clone())));
                    }
                    if let Some((_, value)) = members.iter_mut().find(|(n, _)| n == name) {
                        self.fill(of, value, depth - 1);
                    }
                }
            }
            Value::Array(items) => {
                let first = schema.get("prefixItems").and_then(Value::items).unwrap_or(&[]);
                for (i, item) in items.iter_mut().enumerate() {
                    if let Some(of) = first.get(i).or_else(|| schema.get("items")) {
                        self.fill(of, item, depth - 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// The default of a schema, or of one that it refers to.
    fn default(&self, schema: &'a Value, depth: usize) -> Option<&'a Value> {
        if !self.step(depth) {
            return None;
        }
        schema.get("default").or_else(|| self.parts(schema).find_map(|part| self.default(part, depth - 1)))
    }

    /// Whether another schema may be looked at.
    fn step(&self, depth: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(1));
        depth > 0 && self.left.get() > 0
    }

    /// The schemas that hold beside this one.
    fn parts(&self, schema: &'a Value) -> impl Iterator<Item = &'a Value> {
        let all = schema.get("allOf").and_then(Value::items).unwrap_or(&[]);
        let pointer = schema.get("$ref").and_then(Value::text).and_then(|r| r.strip_prefix('#'));
        let root = self.root;
        let referred = pointer.and_then(|p| {
            let mut names = p.as_bytes().split(|b| *b == b'/').skip(1);
            names.try_fold(root, |at, name| at.get(core::str::from_utf8(name).ok()?))
        });
        referred.into_iter().chain(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;
    use std::string::ToString;

    #[test]
    fn fill_adds_what_is_missing_only() {
        let schema = r##"{"properties":{"a":{"default":1},"b":{"default":[2]},"c":{"properties":{"d":{"default":"x"}}},"e":{},
            "f":{"$ref":"#/$defs/f"},"g":{"type":"array","items":{"properties":{"h":{"default":0}}}}},
            "allOf":[{"properties":{"i":{"default":{},"properties":{"j":{"default":null}}}}}],"$defs":{"f":{"default":true}}}"##;
        for (config, want) in [
            ("{}", r#"{"i":{"j":null},"a":1,"b":[2],"f":true}"#),
            (r#"{"b":null,"z":0,"f":0,"i":0}"#, r#"{"b":null,"z":0,"f":0,"i":0,"a":1}"#),
            (r#"{"a":0,"c":{},"f":0,"i":0,"g":[{},1]}"#, r#"{"a":0,"c":{"d":"x"},"f":0,"i":0,"g":[{"h":0},1],"b":[2]}"#),
            ("3", "3"),
        ] {
            let mut got = parse(config).unwrap();
            fill(schema, &mut got).unwrap();
            assert_eq!(got.to_string(), want);
        }
    }

    #[test]
    fn fill_ends_where_defaults_do_not() {
        let schema = r##"{"properties":{"a":{"default":{},"$ref":"#"},"b":{"default":{},"$ref":"#"}}}"##;
        let mut config = parse("{}").unwrap();
        fill(schema, &mut config).unwrap();
        assert!(config.to_string().contains(r#"{"a":{"a":{"a":"#));
    }
}
