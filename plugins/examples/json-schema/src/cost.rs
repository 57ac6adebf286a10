// SPDX-License-Identifier: MIT

use crate::range::Decimal;
use crate::schema::{Bytes, Node, Object, Schema, NEVER};
use crate::words::Words;

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
                if let Node::Object(object) = &mut self.nodes[id] {
                    object.required = sums;
                }
            }
        }
    }

    fn cost(&self, node: &Node, words: &Words) -> u32 {
        match node {
            Node::Literal(texts) => texts.iter().map(|t| t.tokens[0]).min().unwrap_or(NEVER),
            Node::Number { .. } => 1,
            Node::Range(range) => range.needed(Decimal::default()).unwrap_or(NEVER),
            Node::Text { min, .. } => 2 + words.needed(*min),
            Node::Array { item, min, .. } => {
                let items = self.costs[*item as usize].saturating_add(1).saturating_mul(*min);
                items.saturating_add(2).saturating_sub(u32::from(*min > 0))
            }
            Node::Object(object) => {
                let commas = object.members.iter().any(|m| m.required);
                self.sums(object)[0].saturating_add(2).saturating_sub(u32::from(commas))
            }
            Node::Any(ids) => ids.iter().map(|id| self.costs[*id as usize]).min().unwrap_or(NEVER),
        }
    }

    fn sums(&self, object: &Object) -> alloc::vec::Vec<u32> {
        let mut sums = alloc::vec![0; object.members.len() + 1];
        for (i, member) in object.members.iter().enumerate().rev() {
            let own = 1 + member.name.tokens[0] + self.costs[member.value as usize];
            sums[i] = sums[i + 1] + if member.required { own } else { 0 };
            sums[i] = sums[i].min(NEVER);
        }
        sums
    }

    fn first(&self, node: &Node) -> Bytes {
        let mut bytes = Bytes::default();
        match node {
            Node::Literal(texts) => texts.iter().for_each(|t| bytes.add(t.bytes[0])),
            Node::Number { .. } => b"-0123456789".iter().for_each(|b| bytes.add(*b)),
            Node::Range(range) => (0..=255).filter(|b| range.take(Decimal::default(), *b).is_some()).for_each(|b| bytes.add(b)),
            Node::Text { .. } => bytes.add(b'"'),
            Node::Array { .. } => bytes.add(b'['),
            Node::Object(_) => bytes.add(b'{'),
            Node::Any(ids) => ids.iter().for_each(|id| bytes.join(&self.firsts[*id as usize])),
        }
        bytes
    }
}
