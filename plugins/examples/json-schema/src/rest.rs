// SPDX-License-Identifier: MIT

use crate::schema::{Node, Object, Schema, NEVER};
use crate::state::{Frame, Place};
use crate::string::Within;
use crate::words::Words;

impl Schema {
    /// Tokens that complete a state at most: for each there is a token that leaves one less.
    pub fn rest(&self, state: &[Frame], words: &Words) -> u32 {
        state.iter().map(|f| self.rest_of(f, words)).sum::<u32>().min(NEVER)
    }

    /// Whether the value may end here.
    pub fn complete(&self, state: &[Frame]) -> bool {
        match state {
            [] => true,
            [Frame { place: Place::Whole { .. } | Place::Fraction { .. }, .. }] => true,
            [Frame { place: Place::Decimal(number), node }] => match &self.nodes[*node as usize] {
                Node::Range(range) => range.complete(*number),
                _ => false,
            },
            [Frame { place: Place::Literal { at }, node }] => match &self.nodes[*node as usize] {
                Node::Literal(texts) => texts.ends(*at),
                _ => false,
            },
            _ => false,
        }
    }

    /// The part of one value that is being written.
    pub(crate) fn rest_of(&self, frame: &Frame, words: &Words) -> u32 {
        let node = &self.nodes[frame.node as usize];
        match (frame.place, node) {
            (Place::Space | Place::Whole { .. } | Place::Fraction { .. }, _) => 0,
            (Place::Before, _) => self.costs[frame.node as usize],
            (Place::Minus | Place::Point, _) => 1,
            (Place::Decimal(number), Node::Range(range)) => range.needed(number).unwrap_or(NEVER),
            (Place::Literal { at }, Node::Literal(texts)) => texts.way(at, 0).map_or(NEVER, |way| way.least),
            (Place::Name { next, at }, Node::Object(object)) => object.names.way(at, next).map_or(NEVER, |way| way.least),
            (Place::Text { characters, within }, Node::Text { min, .. }) => in_string(characters, within, *min, words),
            (Place::Items { count }, Node::Array { item, min, .. }) => {
                let each = 1 + self.costs[*item as usize];
                let first = u32::from(count == 0 && *min > 0); // it has no comma
                min.saturating_sub(count).saturating_mul(each).saturating_add(1) - first
            }
            (_, Node::Object(object)) => self.in_object(frame.place, object),
            _ => NEVER,
        }
        .min(NEVER)
    }

    fn in_object(&self, place: Place, object: &Object) -> u32 {
        let (next, at) = match place {
            Place::Between { next } => return object.required[next as usize] + 1,
            Place::Opened if object.may_end(0) => return 1,
            Place::Opened => (0, object.roots[0]),
            Place::Comma { next } => (next, object.roots[next as usize]),
            _ => return NEVER,
        };
        object.names.way(at, next).map_or(NEVER, |way| way.least)
    }
}

fn in_string(characters: u32, within: Within, min: u32, words: &Words) -> u32 {
    let begun = u32::from(within != Within::Content);
    if matches!(within, Within::Tail { .. }) && !words.bytes {
        return NEVER;
    }
    within.pending() + words.needed(min.saturating_sub(characters + begun)) + 1
}
