// SPDX-License-Identifier: MIT

use crate::schema::{Bytes, Schema, NEVER};
use crate::state::{Frame, State, Step};
use crate::trie::{Node, Trie, LONGEST};
use crate::words::Words;
use alloc::vec::Vec;

/// States along a path of the trie, one for each depth.
///
/// Most bytes change the innermost value only. So a depth keeps that, and shares what is around it with the depth where
/// it last changed: nothing is copied, and little is added up.
#[derive(Default)]
pub struct Walk {
    states: Vec<State>, // by depth, valid where a point has its own
    points: Vec<Point>,
    next: Vec<Bytes>, // by depth: what may follow
}

#[derive(Clone, Copy)]
struct Point {
    own: usize,         // depth of the state that is around
    top: Option<Frame>, // the innermost value; none: the value is complete
    below: u32,         // rest of all around
}

impl Walk {
    /// Starts from a state.
    pub fn begin(&mut self, schema: &Schema, words: &Words, state: &[Frame]) {
        self.states.resize(LONGEST + 1, State::new());
        self.points.resize(LONGEST + 1, Point { own: 0, top: None, below: 0 });
        self.next.resize(LONGEST + 1, Bytes::default());
        self.states[0].clear();
        self.states[0].extend_from_slice(state);
        self.settle(0, schema, words);
        self.look(schema, 0);
    }

    /// Notes what may follow the byte of this depth.
    pub fn look(&mut self, schema: &Schema, depth: u8) {
        self.next[depth as usize] = self.points[depth as usize].top.map_or(Bytes::default(), |f| schema.may_follow(&f));
    }

    /// The first node from `i` on that may follow its parent, which was looked at. This is quicker than steps that fail, and of
    /// many siblings few can be taken where texts are to be written.
    pub fn seek(&self, trie: &Trie, mut i: usize) -> Option<usize> {
        let mut node = trie.nodes.get(i)?;
        loop {
            let (depth, next) = (node.depth, &self.next[node.depth as usize - 1]);
            while node.depth == depth {
                if next.has(node.byte) {
                    return Some(i);
                }
                i = node.skip as usize;
                node = trie.nodes.get(i)?;
            }
        }
    }

    /// Notes what is innermost and around in the state of a depth.
    fn settle(&mut self, depth: usize, schema: &Schema, words: &Words) {
        let (top, around) = match self.states[depth].split_last() {
            Some((top, around)) => (Some(*top), around),
            None => (None, &[][..]),
        };
        self.points[depth] = Point { own: depth, top, below: schema.rest(around, words) };
    }

    /// Takes the byte of a node, whose parent was taken before; false where it cannot stand there.
    pub fn step(&mut self, schema: &Schema, words: &Words, node: &Node) -> bool {
        let depth = node.depth as usize;
        let before = &self.points[depth - 1];
        let top = match &before.top {
            Some(top) => top,
            None => return false,
        };
        if let Some(place) = schema.inside_text(top, node.byte) {
            self.points[depth] = Point { top: Some(Frame { place, node: top.node }), own: before.own, below: before.below };
            return true;
        }
        let (before, mut top) = (*before, *top);
        match schema.advance(&mut top, node.byte) {
            Step::Stay(place) => {
                self.points[depth] = Point { top: Some(Frame { place, ..top }), ..before };
                return true;
            }
            Step::Wrong => return false,
            _ => {}
        }
        let (shallow, deep) = self.states.split_at_mut(depth);
        let state = &mut deep[0];
        state.clone_from(&shallow[before.own]);
        state.pop();
        state.extend(before.top);
        if !schema.step(state, node.byte) {
            return false;
        }
        self.settle(depth, schema, words);
        true
    }

    /// The innermost value at a node.
    pub fn top(&self, node: &Node) -> Option<&Frame> {
        self.points[node.depth as usize].top.as_ref()
    }

    /// Tokens that complete the state of a node at most.
    pub fn rest(&self, schema: &Schema, words: &Words, node: &Node) -> u32 {
        let point = &self.points[node.depth as usize];
        let top = point.top.as_ref().map_or(0, |f| schema.rest_of(f, words));
        (point.below + top).min(NEVER)
    }
}
