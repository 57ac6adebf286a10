// SPDX-License-Identifier: MIT

use crate::holds::{holds_listed, holds_typed};
use crate::keywords::{count, meant, types, TYPES};
use crate::parts::{Key, Parts};
use crate::range::Range;
use crate::schema::{Array, Id, Node, Schema, Spelled, NEVER};
use crate::spellings::spell;
use crate::strings::Strings;
use crate::texts::{Text, Texts};
use crate::words::Words;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use penstock::json::Value;

/// Larger schemas are refused.
const NODES: usize = 10_000;

/// Bytes of all values and names; `open` spells each of them with the vocabulary's tokens, in its fuel.
const TEXTS: usize = 512 << 10;

/// Makes the automaton of a schema. An error names the place in the schema, and what to do.
pub fn compile(schema: &Value, words: &Words) -> Result<Schema, String> {
    let mut c = Compiler {
        whole: schema,
        words,
        made: Schema::default(),
        known: BTreeMap::new(),
        only: Vec::new(),
        texts: 0,
        strings: Strings::default(),
    };
    let mut parts = Parts::default();
    parts.add(schema, "#", schema)?;
    c.node(parts)?;
    c.made.settle(words);
    for (ids, path) in &c.only {
        c.made.apart(ids, path)?;
    }
    if c.made.costs[0] >= NEVER {
        return Err("config.schema: no finite value fits it, or the model has no tokens to write one".to_string());
    }
    spell(&mut c.made.nodes, words);
    Ok(c.made)
}

pub(crate) struct Compiler<'a> {
    pub whole: &'a Value,
    pub words: &'a Words,
    pub made: Schema,
    known: BTreeMap<Key, Id>,
    only: Vec<(Vec<Id>, String)>, // alternatives of which exactly one must fit
    texts: usize,                 // bytes of those that were spelled
    pub strings: Strings,
}

impl<'a> Compiler<'a> {
    /// The node of a set of schemas. A new one's place is taken first, so that what is inside can refer to it.
    pub fn node(&mut self, parts: Parts<'a>) -> Result<Id, String> {
        let key = parts.key();
        if let Some(id) = self.known.get(&key) {
            return Ok(*id);
        }
        let id = self.push(Node::Any(Vec::new()))?;
        self.known.insert(key, id);
        self.made.nodes[id as usize] = self.part(parts)?;
        Ok(id)
    }

    pub fn push(&mut self, node: Node) -> Result<Id, String> {
        if self.made.nodes.len() >= NODES {
            return Err(format!("config.schema: it has more than {} parts", NODES));
        }
        self.made.nodes.push(node);
        Ok(self.made.nodes.len() as Id - 1)
    }

    fn part(&mut self, parts: Parts<'a>) -> Result<Node, String> {
        if parts.never {
            return Ok(Node::Any(Vec::new()));
        }
        if parts.has("enum") || parts.has("const") {
            return self.enumeration(&parts);
        }
        if let Some((of, name, list)) = parts.open() {
            return self.alternatives(&parts, of, name, list);
        }
        let types = self.types(&parts)?;
        if let [one] = types[..] {
            return self.typed(&parts, one);
        }
        let mut ids = Vec::new();
        for one in types {
            let made = self.typed(&parts, one)?;
            ids.push(self.push(made)?);
        }
        Ok(Node::Any(ids))
    }

    /// Each alternative, with all that stands beside it.
    fn alternatives(&mut self, parts: &Parts<'a>, of: usize, name: &str, list: &'a [Value]) -> Result<Node, String> {
        let mut ids = Vec::new();
        for (i, alternative) in list.iter().enumerate() {
            ids.push(self.node(parts.chosen(of, name, i, alternative, self.whole)?)?);
        }
        if name == "oneOf" {
            self.only.push((ids.clone(), format!("{}/{}", parts.list[of].path, name)));
        }
        Ok(Node::Any(ids))
    }

    /// The types that all allow, or that their keywords mean.
    fn types(&self, parts: &Parts<'a>) -> Result<Vec<&'a str>, String> {
        let mut found: Option<BTreeSet<&str>> = None;
        for part in &parts.list {
            if let Some(named) = types(part.schema, &part.path)? {
                let mut named: BTreeSet<&str> = named.into_iter().collect();
                if named.contains("number") {
                    named.insert("integer");
                }
                found = Some(found.map_or_else(|| named.clone(), |found| &found & &named));
            }
        }
        let meant: BTreeSet<&str> = parts.list.iter().flat_map(|p| meant(p.schema)).collect();
        let mut found = match found {
            Some(found) => found,
            None if meant.is_empty() => TYPES.iter().copied().collect(),
            None => meant,
        };
        if found.contains("number") {
            found.remove("integer");
        }
        Ok(found.into_iter().collect())
    }

    fn enumeration(&mut self, parts: &Parts<'a>) -> Result<Node, String> {
        let one = parts.all("const").next().map(|(one, _)| core::slice::from_ref(one));
        let values = one.or_else(|| parts.all("enum").next()?.0.items()).unwrap_or(&[]);
        let alone = parts.all("const").chain(parts.all("enum")).count() == 1;
        let mut texts = Vec::new();
        for value in values {
            let mut fits = true;
            for part in &parts.list {
                fits &= holds_typed(part, value)? && (alone || holds_listed(part, value));
            }
            if fits && self.holds_unlisted(parts, value)? {
                texts.push(value.to_string());
            }
        }
        if texts.is_empty() && parts.list.len() == 1 {
            return Err(format!("config.schema: {}: enum has no value of its type; add one", parts.path()));
        }
        self.literals(texts, parts.path())
    }

    fn literals(&mut self, mut texts: Vec<String>, path: &str) -> Result<Node, String> {
        if texts.is_empty() {
            return Ok(Node::Any(Vec::new()));
        }
        texts.sort_unstable();
        texts.dedup();
        let spelled = texts.into_iter().map(|t| self.spell(t, path)).collect::<Result<Vec<Spelled>, _>>()?;
        let mut made = Texts::default();
        made.add(spelled.iter().map(|spelled| Text { spelled, number: 0, after: 0 }).collect());
        Ok(Node::Literal(made))
    }

    pub fn spell(&mut self, text: String, path: &str) -> Result<Spelled, String> {
        self.texts += text.len();
        if self.texts > TEXTS {
            return Err(format!("config.schema: {}: all values and names have more than {} KiB; leave some out", path, TEXTS >> 10));
        }
        Ok(self.words.spell(text))
    }

    fn typed(&mut self, parts: &Parts<'a>, name: &str) -> Result<Node, String> {
        match name {
            "null" => self.literals(alloc::vec!["null".to_string()], parts.path()),
            "boolean" => self.literals(alloc::vec!["true".to_string(), "false".to_string()], parts.path()),
            "number" | "integer" => {
                let integer = name == "integer";
                Ok(Range::new(parts, integer)?.map_or(Node::Number { integer }, Node::Range))
            }
            "string" => self.string(parts),
            "array" => self.array(parts),
            _ => self.object(parts),
        }
    }

    fn array(&mut self, parts: &Parts<'a>) -> Result<Node, String> {
        let (min, mut max) = bounds(parts, "minItems", "maxItems")?;
        let listed = |p: &Value| p.get("prefixItems").and_then(Value::items).map_or(0, |l| l.len());
        let length = parts.list.iter().map(|p| listed(p.schema)).max().unwrap_or(0);
        let mut ids = Vec::new();
        for i in 0..length + 1 {
            let item = self.item(parts, i)?;
            if item.never {
                max = max.min(i as u32);
            }
            ids.push(self.node(item)?);
        }
        if min > max {
            return Ok(Node::Any(Vec::new()));
        }
        let item = ids.pop().unwrap_or(0);
        Ok(Node::Array(Array { listed: ids, item, min, max }))
    }

    /// What the schemas say of an item.
    pub fn item(&self, parts: &Parts<'a>, i: usize) -> Result<Parts<'a>, String> {
        let mut item = Parts::default();
        for part in &parts.list {
            match part.schema.get("prefixItems").and_then(|l| l.items()?.get(i)) {
                Some(inner) => item.add(inner, &format!("{}/prefixItems/{}", part.path, i), self.whole)?,
                None => part.schema.get("items").map_or(Ok(()), |inner| item.add(inner, &format!("{}/items", part.path), self.whole))?,
            }
        }
        Ok(item)
    }
}

pub(crate) fn bounds(parts: &Parts, least: &str, most: &str) -> Result<(u32, u32), String> {
    let (mut min, mut max) = (0, u32::MAX);
    for part in &parts.list {
        min = min.max(count(part.schema, least, 0, &part.path)?);
        max = max.min(count(part.schema, most, u32::MAX, &part.path)?);
    }
    Ok((min, max))
}
