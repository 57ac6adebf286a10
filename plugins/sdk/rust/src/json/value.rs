// SPDX-License-Identifier: MIT

use alloc::string::String;
use alloc::vec::Vec;

/// A JSON value. An object keeps the order of its members; a number keeps its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// null
    #[default]
    Null,
    /// true or false
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, with its escapes resolved.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// Members in order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The member of an object, if there is one; the last if there are several of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members()?.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[(String, Value)]> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if it is a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value, if it is true or false.
    pub fn bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The number, if it is a whole one that an i64 holds exactly: 2, 2.0 and 2e0 all are.
    pub fn integer(&self) -> Option<i64> {
        let text = match self {
            Value::Number(text) => text,
            _ => return None,
        };
        text.parse().ok().or_else(|| {
            let x: f64 = text.parse().ok()?;
            let n = x as i64;
            (n as f64 == x && n.unsigned_abs() < 1 << 53).then_some(n)
        })
    }
}
