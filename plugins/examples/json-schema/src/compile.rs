// SPDX-License-Identifier: MIT

use crate::keywords::{check, count, fits, kind, Kind};
use crate::range::Range;
use crate::schema::{Id, Member, Node, Object, Schema, Spelled, NEVER};
use crate::texts::{Text, Texts};
use crate::words::Words;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use penstock::json::{quote, Value};

/// Larger schemas are refused.
const NODES: usize = 10_000;

/// Bytes of all values and names; `open` spells each of them with the vocabulary's tokens, in its fuel.
const TEXTS: usize = 512 << 10;

/// Makes the automaton of a schema. An error names the place in the schema, and what to do.
pub fn compile(schema: &Value, words: &Words) -> Result<Schema, String> {
    let mut c = Compiler { whole: schema, words, made: Schema::default(), referred: Vec::new(), paths: Vec::new(), texts: 0 };
    c.referred.push(("#".to_string(), 0));
    c.node(schema, "#")?;
    c.made.settle(words);
    for (node, path) in c.made.nodes.iter().zip(&c.paths) {
        if let Node::Any(ids) = node {
            apart(&c.made, ids, path)?;
        }
    }
    if c.made.costs[0] >= NEVER {
        return Err("config.schema: no finite value fits it, or the model has no tokens to write one".to_string());
    }
    Ok(c.made)
}

/// Alternatives must differ in their first byte: the automaton never goes back.
fn apart(schema: &Schema, ids: &[Id], path: &str) -> Result<(), String> {
    for (i, a) in ids.iter().enumerate() {
        for b in &ids[i + 1..] {
            if let Some(byte) = schema.firsts[*a as usize].shared(&schema.firsts[*b as usize]) {
                let what = "two alternatives can both begin with";
                return Err(format!("config.schema: {}: {} {:?}; join them or leave one out", path, what, byte as char));
            }
        }
    }
    Ok(())
}

struct Compiler<'a> {
    whole: &'a Value,
    words: &'a Words,
    made: Schema,
    referred: Vec<(String, Id)>,
    paths: Vec<String>, // of each node, for errors
    texts: usize,       // bytes of those that were spelled
}

impl<'a> Compiler<'a> {
    /// Makes the node of a schema. Its place is taken first, so that what is inside can refer to it.
    fn node(&mut self, schema: &'a Value, path: &str) -> Result<Id, String> {
        if self.made.nodes.len() >= NODES {
            return Err(format!("config.schema: it has more than {} parts", NODES));
        }
        let id = self.made.nodes.len();
        self.made.nodes.push(Node::Any(Vec::new()));
        self.paths.push(path.to_string());
        self.made.nodes[id] = self.part(schema, path)?;
        Ok(id as Id)
    }

    fn part(&mut self, schema: &'a Value, path: &str) -> Result<Node, String> {
        let members = schema.members().ok_or_else(|| format!("config.schema: {}: {} is no object; say what fits", path, schema))?;
        if let Some(to) = schema.get("$ref") {
            check(members, &[Kind::Reference], path)?;
            return Ok(Node::Any(alloc::vec![self.refer(to, path)?]));
        }
        for name in ["anyOf", "oneOf"] {
            if let Some(list) = schema.get(name) {
                check(members, &[Kind::Alternatives], path)?;
                let list = list.items().filter(|l| !l.is_empty() && (schema.get("anyOf").is_none() || name == "anyOf"));
                let list = list.ok_or_else(|| format!("config.schema: {}: give one list, anyOf or oneOf, that is not empty", path))?;
                let ids = list.iter().enumerate().map(|(i, s)| self.node(s, &format!("{}/{}/{}", path, name, i)));
                return Ok(Node::Any(ids.collect::<Result<_, _>>()?));
            }
        }
        let types = types(schema, path)?;
        if schema.get("enum").is_some() || schema.get("const").is_some() {
            check(members, &[Kind::Enumeration], path)?;
            return self.enumeration(schema, &types, path);
        }
        let kinds: Vec<Kind> = types.iter().filter_map(|t| kind(t)).collect();
        check(members, &kinds, path)?;
        if types.len() == 1 {
            return self.typed(schema, types[0], path);
        }
        let mut ids = Vec::new();
        for t in types {
            let made = self.typed(schema, t, path)?;
            ids.push(self.made.nodes.len() as Id);
            self.made.nodes.push(made);
            self.paths.push(path.to_string());
        }
        Ok(Node::Any(ids))
    }

    /// A reference inside the schema: #, #/$defs/NAME or any other pointer.
    fn refer(&mut self, to: &Value, path: &str) -> Result<Id, String> {
        let to = to.text().unwrap_or_default();
        if let Some((_, id)) = self.referred.iter().find(|(r, _)| r == to) {
            return Ok(*id);
        }
        let missing = || format!("config.schema: {}: $ref {:?} leads nowhere; only references inside the schema work", path, to);
        let mut at = self.whole;
        for step in to.strip_prefix("#/").ok_or_else(missing)?.split('/') {
            let step = step.replace("~1", "/").replace("~0", "~");
            let next = at.get(&step).or_else(|| at.items()?.get(step.parse::<usize>().ok()?));
            at = next.ok_or_else(missing)?;
        }
        self.referred.push((to.to_string(), self.made.nodes.len() as Id));
        self.node(at, to)
    }

    fn enumeration(&mut self, schema: &Value, types: &[&str], path: &str) -> Result<Node, String> {
        let mut values: Vec<&Value> = match (schema.get("const"), schema.get("enum").and_then(Value::items)) {
            (Some(one), None) => alloc::vec![one],
            (None, Some(list)) => list.iter().collect(),
            _ => return Err(format!("config.schema: {}: give either const, or enum with a list", path)),
        };
        values.retain(|v| types.is_empty() || types.iter().any(|t| fits(v, t)));
        if values.is_empty() {
            return Err(format!("config.schema: {}: enum has no value of its type; add one", path));
        }
        self.literals(values.into_iter().map(ToString::to_string).collect(), path)
    }

    fn literals(&mut self, mut texts: Vec<String>, path: &str) -> Result<Node, String> {
        texts.sort_unstable();
        texts.dedup();
        let spelled = texts.into_iter().map(|t| self.spell(t, path)).collect::<Result<Vec<Spelled>, _>>()?;
        let mut made = Texts::default();
        made.add(spelled.iter().map(|spelled| Text { spelled, number: 0, after: 0 }).collect());
        Ok(Node::Literal(made))
    }

    fn spell(&mut self, text: String, path: &str) -> Result<Spelled, String> {
        self.texts += text.len();
        if self.texts > TEXTS {
            return Err(format!("config.schema: {}: all values and names have more than {} KiB; leave some out", path, TEXTS >> 10));
        }
        Ok(self.words.spell(text))
    }

    fn typed(&mut self, schema: &'a Value, name: &str, path: &str) -> Result<Node, String> {
        match name {
            "null" => self.literals(alloc::vec!["null".to_string()], path),
            "boolean" => self.literals(alloc::vec!["true".to_string(), "false".to_string()], path),
            "number" | "integer" => {
                let integer = name == "integer";
                Ok(Range::new(schema, integer, path)?.map_or(Node::Number { integer }, Node::Range))
            }
            "string" => {
                let (min, max) = bounds(schema, "minLength", "maxLength", path)?;
                Ok(Node::Text { min, max })
            }
            "array" => {
                let (min, max) = bounds(schema, "minItems", "maxItems", path)?;
                let item = schema.get("items").ok_or_else(|| format!("config.schema: {}: items is missing; say what fits there", path))?;
                Ok(Node::Array { item: self.node(item, &format!("{}/items", path))?, min, max })
            }
            _ => self.object(schema, path),
        }
    }

    fn object(&mut self, schema: &'a Value, path: &str) -> Result<Node, String> {
        let members = schema.get("properties").and_then(Value::members).unwrap_or(&[]);
        let required = schema.get("required").and_then(Value::items).unwrap_or(&[]);
        let required: BTreeSet<&str> = required.iter().filter_map(Value::text).collect();
        let names: BTreeSet<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(lacking) = required.difference(&names).next() {
            return Err(format!("config.schema: {}: required names {:?}, which properties lacks; add it there", path, lacking));
        }
        let (mut object, mut before) = (Object::default(), BTreeSet::new());
        for (name, value) in members {
            if !before.insert(name) {
                return Err(format!("config.schema: {}: properties has {:?} twice", path, name));
            }
            let value = self.node(value, &format!("{}/properties/{}", path, name))?;
            let spelled = self.spell(format!("{}:", quote(name)), path)?;
            object.members.push(Member { name: spelled, value, required: required.contains(&name.as_str()) });
        }
        Ok(Node::Object(object))
    }
}

/// The types that a schema names, or that its keywords mean.
fn types<'a>(schema: &'a Value, path: &str) -> Result<Vec<&'a str>, String> {
    let named: Option<Vec<&str>> = match schema.get("type") {
        None if schema.get("properties").is_some() => Some(alloc::vec!["object"]),
        None if schema.get("items").is_some() => Some(alloc::vec!["array"]),
        None if schema.get("enum").is_some() || schema.get("const").is_some() => return Ok(Vec::new()),
        None => return Err(format!("config.schema: {}: type is missing; say what fits there", path)),
        Some(Value::String(one)) => Some(alloc::vec![one.as_str()]),
        Some(Value::Array(list)) if !list.is_empty() => list.iter().map(Value::text).collect(),
        Some(_) => None,
    };
    named
        .filter(|names| names.iter().all(|n| kind(n).is_some()))
        .ok_or_else(|| format!("config.schema: {}: type must be string, number, integer, boolean, null, array or object", path))
}

fn bounds(schema: &Value, least: &str, most: &str, path: &str) -> Result<(u32, u32), String> {
    let (min, max) = (count(schema, least, 0, path)?, count(schema, most, u32::MAX, path)?);
    if min > max {
        return Err(format!("config.schema: {}: {} is {} and {} only {}", path, least, min, most, max));
    }
    Ok((min, max))
}
