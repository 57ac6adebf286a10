// SPDX-License-Identifier: MIT

use crate::compile::Compiler;
use crate::parts::{Part, Parts};
use crate::schema::{Id, Member, Node, Object, Others, Spelled};
use crate::texts::{Text, Texts};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use penstock::json::{quote, Value};

impl<'a> Compiler<'a> {
    pub(crate) fn object(&mut self, parts: &Parts<'a>) -> Result<Node, String> {
        let (mut object, mut taken) = (Object::default(), Vec::new());
        let required: BTreeSet<&str> = parts.all("required").flat_map(|(l, _)| l.items().unwrap_or(&[])).filter_map(Value::text).collect();
        let said: Vec<_> = parts.list.iter().map(|p| properties(p.schema)).collect();
        for name in names(parts)? {
            let (mut value, needed) = (Parts::default(), required.contains(name));
            for (part, said) in parts.list.iter().zip(&said) {
                self.member(part, name, said.get(name).copied(), &mut value)?;
            }
            if value.never && needed {
                return Ok(Node::Any(Vec::new()));
            }
            let spelled = self.spell(format!("{}:", quote(name)), parts.path())?;
            if value.never {
                taken.push(spelled);
                continue;
            }
            let value = self.node(value)?;
            object.members.push(Member { name: spelled, value, required: needed });
        }
        object.closed = parts.all("additionalProperties").any(|(a, _)| a.bool() == Some(false));
        let (described, said) = (parts.has("properties") || parts.has("required"), parts.has("additionalProperties"));
        if !object.closed && (said || !described) {
            object.others = self.others(parts, &object, taken)?;
        }
        Ok(Node::Object(object))
    }

    /// Adds what a schema says of a member, which it names with `inner`.
    pub(crate) fn member(&self, part: &Part<'a>, name: &str, inner: Option<&'a Value>, value: &mut Parts<'a>) -> Result<(), String> {
        match inner {
            Some(inner) => value.add(inner, &format!("{}/properties/{}", part.path, name), self.whole),
            None => self.other(part, value),
        }
    }

    /// Adds what a schema says of members that it does not name.
    fn other(&self, part: &Part<'a>, value: &mut Parts<'a>) -> Result<(), String> {
        match part.schema.get("additionalProperties") {
            Some(inner) => value.add(inner, &format!("{}/additionalProperties", part.path), self.whole),
            None => Ok(()),
        }
    }

    fn others(&mut self, parts: &Parts<'a>, object: &Object, barred: Vec<Spelled>) -> Result<Option<Others>, String> {
        let mut value = Parts::default();
        for part in &parts.list {
            self.other(part, &mut value)?;
        }
        if value.never {
            return Ok(None);
        }
        let mut taken = Texts::default();
        let names: Vec<&Spelled> = object.members.iter().map(|m| &m.name).chain(&barred).collect();
        if !names.is_empty() {
            taken.add(names.iter().map(|spelled| Text { spelled, number: 0, after: 0 }).collect());
        }
        let value = self.node(value)?;
        let name = self.free_text()?;
        Ok(Some(Others { value, name, taken }))
    }

    /// The node of any string.
    fn free_text(&mut self) -> Result<Id, String> {
        let free = |n: &Node| matches!(n, Node::Text { min: 0, max: u32::MAX });
        match self.made.nodes.iter().position(free) {
            Some(id) => Ok(id as Id),
            None => self.push(Node::Text { min: 0, max: u32::MAX }),
        }
    }
}

/// The members that a schema names.
fn properties(schema: &Value) -> BTreeMap<&str, &Value> {
    let members = schema.get("properties").and_then(Value::members).unwrap_or(&[]);
    members.iter().map(|(name, value)| (name.as_str(), value)).collect()
}

/// The names in the order in which they come: those of `properties`, then others that are required.
fn names<'a>(parts: &Parts<'a>) -> Result<Vec<&'a str>, String> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    for part in &parts.list {
        let mut own = BTreeSet::new();
        for (name, _) in part.schema.get("properties").and_then(Value::members).unwrap_or(&[]) {
            if !own.insert(name) {
                return Err(format!("config.schema: {}: properties has {:?} twice", part.path, name));
            }
            if known.insert(name.as_str()) {
                names.push(name.as_str());
            }
        }
    }
    for (list, _) in parts.all("required") {
        names.extend(list.items().unwrap_or(&[]).iter().filter_map(Value::text).filter(|n| known.insert(n)));
    }
    Ok(names)
}
