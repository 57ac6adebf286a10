// SPDX-License-Identifier: MIT

use crate::holds::equal;
use crate::keywords::fits;
use crate::schema::{Id, Node, Object, Schema, NEVER};
use crate::texts::Texts;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use penstock::json::{parse, quote, Value};

/// Values inside values are compared so many levels deep.
const DEPTH: usize = 8;

/// More pairs of values are not compared.
const COMPARED: usize = 1 << 20;

impl Schema {
    /// Refuses alternatives of which two might fit the same value, where exactly one must fit.
    pub fn apart(&self, ids: &[Id], path: &str) -> Result<(), String> {
        for (i, a) in ids.iter().enumerate() {
            for (k, b) in ids.iter().enumerate().skip(i + 1) {
                if !(self.never(*a, *b, DEPTH) && self.never(*b, *a, DEPTH)) {
                    let what = "may fit the same value; tell them apart by a required member, or use anyOf";
                    return Err(format!("config.schema: {}: alternatives {} and {} {}", path, i, k, what));
                }
            }
        }
        Ok(())
    }

    /// Whether certainly no value that is written for `a` fits the schema of `b`.
    fn never(&self, a: Id, b: Id, depth: usize) -> bool {
        let (bytes, others) = (&self.firsts[a as usize], &self.firsts[b as usize]);
        let costs = [self.costs[a as usize], self.costs[b as usize]];
        if costs.contains(&NEVER) || bytes.shared(others).is_none() {
            return true;
        }
        if depth == 0 {
            return false;
        }
        match (&self.nodes[a as usize], &self.nodes[b as usize]) {
            (Node::Any(_), _) | (_, Node::Any(_)) => {
                let (a, b) = (&self.choices[a as usize], &self.choices[b as usize]);
                a.iter().all(|a| b.iter().all(|b| self.never(*a, *b, depth - 1)))
            }
            (Node::Literal(x), Node::Literal(y)) => {
                let (x, y) = (values(x), values(y));
                x.len() * y.len() < COMPARED && x.iter().all(|x| !y.iter().any(|y| equal(x, y)))
            }
            (Node::Literal(texts), other) | (other, Node::Literal(texts)) => values(texts).iter().all(|value| misses(value, other)),
            (Node::Range(a), Node::Range(b)) => a.misses(b),
            (Node::Text { min, max }, Node::Text { min: least, max: most }) => max < least || most < min,
            (Node::Pattern(x), Node::Pattern(y)) => x.misses(y),
            (Node::Array(x), Node::Array(y)) => {
                let shared = |i: u32| i < x.min && self.never(x.item(i), y.item(i), depth - 1);
                x.max < y.min || y.max < x.min || (0..(x.listed.len().max(y.listed.len()) as u32 + 1)).any(shared)
            }
            (Node::Object(x), Node::Object(y)) => self.never_alike(x, y, depth),
            _ => false,
        }
    }

    /// Whether two objects always differ in a member: `x` is written, and must not fit `y`.
    fn never_alike(&self, x: &Object, y: &Object, depth: usize) -> bool {
        let names: BTreeSet<&[u8]> = x.members.iter().chain(&y.members).map(|m| &m.name.bytes[..]).collect();
        names.into_iter().any(|name| {
            let find = |o: &Object| o.members.iter().find(|m| m.name.bytes == name).map(|m| (m.value, m.required));
            match (find(x), find(y)) {
                (Some((a, p)), Some((b, q))) => (p || q) && self.never(a, b, depth - 1),
                (Some((_, required)), None) => required && y.closed,
                (None, Some((_, required))) => required && x.others.is_none(),
                (None, None) => false,
            }
        })
    }
}

fn values(texts: &Texts) -> Vec<Value> {
    texts.all().into_iter().filter_map(|text| parse(&String::from_utf8(text).ok()?).ok()).collect()
}

/// Whether a value certainly does not fit a node.
fn misses(value: &Value, node: &Node) -> bool {
    match (value, node) {
        (Value::Number(text), Node::Range(range)) => !range.near(text),
        (Value::Number(_), Node::Number { integer }) => *integer && !fits(value, "integer"),
        (Value::String(text), Node::Text { min, max }) => {
            let n = text.chars().count() as u64;
            n < u64::from(*min) || n > u64::from(*max)
        }
        (Value::String(text), Node::Pattern(pattern)) => pattern.exact && !pattern.takes(text),
        (Value::Object(_), Node::Object(object)) => {
            let lacks = |name: &[u8]| !value.members().unwrap_or(&[]).iter().any(|(n, _)| format!("{}:", quote(n)).as_bytes() == name);
            object.members.iter().any(|m| m.required && lacks(&m.name.bytes))
        }
        _ => false,
    }
}
