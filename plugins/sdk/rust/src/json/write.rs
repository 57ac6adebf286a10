// SPDX-License-Identifier: MIT

use super::Value;
use alloc::string::String;
use core::fmt;

/// A string as a JSON literal. Only what must be escaped is.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                out.push_str("\\u00");
                out.extend([c as u32 / 16, c as u32 % 16].iter().filter_map(|digit| char::from_digit(*digit, 16)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{}", b),
            Value::Number(text) => f.write_str(text),
            Value::String(text) => f.write_str(&quote(text)),
            Value::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { "," } else { "" }, item)?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}{}:{}", if i > 0 { "," } else { "" }, quote(name), value)?;
                }
                f.write_str("}")
            }
        }
    }
}
