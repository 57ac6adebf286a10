// SPDX-License-Identifier: MIT

use crate::range::Decimal;
use crate::schema::{Bytes, Id, Member, Node, Object, Schema, NEVER};
use crate::texts::{Text, Texts};
use crate::words::Words;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

impl Schema {
    /// Finds what each node can begin with and how many tokens its shortest value needs. Nodes refer to each other, so
    /// both are computed until nothing changes; each round settles at least one node.
    pub fn settle(&mut self, words: &Words) {
        self.costs = alloc::vec![NEVER; self.nodes.len()];
        self.firsts = alloc::vec![Bytes::default(); self.nodes.len()];
        loop {
            let mut changed = false;
            for id in 0..self.nodes.len() {
                let cost = self.cost(&self.nodes[id], words).min(NEVER);
                let first = self.first(&self.nodes[id]);
                changed |= cost != self.costs[id] || first != self.firsts[id];
                self.costs[id] = cost;
                self.firsts[id] = first;
            }
            if !changed {
                break;
            }
        }
        for id in 0..self.nodes.len() {
            if let Node::Object(object) = &self.nodes[id] {
                let sums = self.sums(object);
                let (names, roots) = self.names(object, &sums);
                if let Node::Object(object) = &mut self.nodes[id] {
                    object.required = sums;
                    object.names = names;
                    object.roots = roots;
                }
            }
        }
        self.choices = (0..self.nodes.len() as Id).map(|id| self.choices_of(id)).collect();
    }

    /// The nodes that a node may be, through all alternatives.
    fn choices_of(&self, id: Id) -> Vec<Id> {
        let (mut open, mut seen, mut found) = (alloc::vec![id], BTreeSet::new(), Vec::new());
        while let Some(id) = open.pop() {
            if seen.insert(id) && self.costs[id as usize] < NEVER {
                match &self.nodes[id as usize] {
                    Node::Any(ids) => open.extend(ids.iter().rev()),
                    _ => found.push(id),
                }
            }
        }
        found
    }

    fn cost(&self, node: &Node, words: &Words) -> u32 {
        match node {
            Node::Literal(texts) => texts.way(0, 0).map_or(NEVER, |way| way.least),
            Node::Number { .. } => 1,
            Node::Range(range) => range.needed(Decimal::default()).unwrap_or(NEVER),
            Node::Text { min, .. } => 2 + words.needed(*min),
            Node::Pattern(pattern) => pattern.cost(),
            Node::Array(array) => (array.owed(0, &self.costs) + 2).saturating_sub(u32::from(array.min > 0)),
            Node::Object(object) => {
                let commas = object.members.iter().any(|m| m.required);
                self.sums(object)[0].saturating_add(2).saturating_sub(u32::from(commas))
            }
            Node::Any(ids) => ids.iter().map(|id| self.costs[*id as usize]).min().unwrap_or(NEVER),
        }
    }

    fn sums(&self, object: &Object) -> Vec<u32> {
        let mut sums = alloc::vec![0; object.members.len() + 1];
        for (i, member) in object.members.iter().enumerate().rev() {
            let own = 1 + member.name.tokens[0] + self.costs[member.value as usize];
            sums[i] = sums[i + 1] + if member.required { own } else { 0 };
            sums[i] = sums[i].min(NEVER);
        }
        sums
    }

    /// The names of an object: a root for each required member with the optional ones before it, and one for those after the last.
    fn names<'a>(&self, object: &'a Object, required: &[u32]) -> (Texts, Vec<u32>) {
        let (mut names, mut roots) = (Texts::default(), Vec::new());
        for group in object.members.split_inclusive(|m| m.required) {
            let text = |(i, m): (usize, &'a Member)| Text {
                spelled: &m.name,
                number: i as u32,
                after: self.costs[m.value as usize] + required[i + 1] + 1,
            };
            let root = names.add((roots.len()..).zip(group).map(text).collect());
            roots.resize(roots.len() + group.len(), root);
        }
        (names, roots)
    }

    fn first(&self, node: &Node) -> Bytes {
        let mut bytes = Bytes::default();
        match node {
            Node::Literal(texts) => bytes = texts.bytes(0),
            Node::Number { .. } => b"-0123456789".iter().for_each(|b| bytes.add(*b)),
            Node::Range(range) => (0..=255).filter(|b| range.take(Decimal::default(), *b).is_some()).for_each(|b| bytes.add(b)),
            Node::Text { .. } | Node::Pattern(_) => bytes.add(b'"'),
            Node::Array(_) => bytes.add(b'['),
            Node::Object(_) => bytes.add(b'{'),
            Node::Any(ids) => ids.iter().for_each(|id| bytes.join(&self.firsts[*id as usize])),
        }
        bytes
    }
}
