// SPDX-License-Identifier: MIT

use crate::compile::Compiler;
use crate::keywords::{count, fits, types};
use crate::parts::{Part, Parts};
use crate::range::Range;
use alloc::string::String;
use penstock::json::Value;

impl<'a> Compiler<'a> {
    /// Whether a value of the schema itself, as `enum` has them, fits all parts.
    pub(crate) fn holds(&mut self, parts: &Parts<'a>, value: &Value) -> Result<bool, String> {
        if parts.never {
            return Ok(false);
        }
        for part in &parts.list {
            if !(holds_typed(part, value)? && holds_listed(part, value)) {
                return Ok(false);
            }
        }
        self.holds_unlisted(parts, value)
    }

    /// The same, but for `enum`, `const` and `type`.
    pub(crate) fn holds_unlisted(&mut self, parts: &Parts<'a>, value: &Value) -> Result<bool, String> {
        if let Some((of, name, list)) = parts.open() {
            let mut fitting = 0;
            for (i, alternative) in list.iter().enumerate() {
                fitting += u32::from(self.holds(&parts.chosen(of, name, i, alternative, self.whole)?, value)?);
            }
            return Ok(fitting == 1 || fitting > 1 && name == "anyOf");
        }
        match value {
            Value::Number(text) => Range::holds(parts, text),
            Value::String(text) => {
                let n = text.chars().count() as u64;
                Ok(within(parts, n, "minLength", "maxLength")? && self.matches(parts, text)?)
            }
            Value::Array(items) => {
                let mut all = within(parts, items.len() as u64, "minItems", "maxItems")?;
                for (i, item) in items.iter().enumerate() {
                    all = all && self.holds(&self.item(parts, i)?, item)?;
                }
                Ok(all)
            }
            Value::Object(members) => {
                let required = parts.all("required").flat_map(|(l, _)| l.items().unwrap_or(&[]));
                let mut all = required.filter_map(Value::text).all(|name| value.get(name).is_some());
                for (name, inner) in members {
                    let mut member = Parts::default();
                    for part in &parts.list {
                        let inner = part.schema.get("properties").and_then(|p| p.get(name));
                        self.member(part, name, inner, &mut member)?;
                    }
                    all = all && self.holds(&member, inner)?;
                }
                Ok(all)
            }
            _ => Ok(true),
        }
    }
}

pub(crate) fn holds_typed(part: &Part, value: &Value) -> Result<bool, String> {
    Ok(types(part.schema, &part.path)?.map_or(true, |t| t.iter().any(|t| fits(value, t))))
}

pub(crate) fn holds_listed(part: &Part, value: &Value) -> bool {
    let one = part.schema.get("const").map_or(true, |c| equal(c, value));
    one && part.schema.get("enum").and_then(Value::items).map_or(true, |l| l.iter().any(|v| equal(v, value)))
}

fn within(parts: &Parts, n: u64, least: &str, most: &str) -> Result<bool, String> {
    for part in &parts.list {
        let (min, max) = (count(part.schema, least, 0, &part.path)?, count(part.schema, most, u32::MAX, &part.path)?);
        if n < u64::from(min) || n > u64::from(max) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two values are the same: however numbers are written, and in whichever order members stand.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => x == y || a.number() == b.number(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(name, value)| b.get(name).map_or(false, |other| equal(value, other)))
        }
        _ => a == b,
    }
}
