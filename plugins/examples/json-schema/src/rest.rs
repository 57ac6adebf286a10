// SPDX-License-Identifier: MIT

use crate::schema::{Node, Object, Others, Schema, NEVER};
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
            [Frame { place: Place::Whole { .. } | Place::Fraction { .. } | Place::Power { .. }, .. }] => true,
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
            (Place::Whole { .. } | Place::Fraction { .. } | Place::Power { .. }, _) => 0,
            (Place::Before { .. }, _) => self.costs[frame.node as usize],
            (Place::Minus | Place::Point | Place::Exponent | Place::Sign, _) => 1,
            (Place::Decimal(number), Node::Range(range)) => range.needed(number).unwrap_or(NEVER),
            (Place::Literal { at }, Node::Literal(texts)) => texts.way(at, 0).map_or(NEVER, |way| way.least),
            (Place::Name { next, at }, Node::Object(object)) => object.names.way(at, next).map_or(NEVER, |way| way.least),
            (Place::Text { characters, within }, Node::Text { min, .. }) => in_string(characters, within, *min, words),
            (Place::Pattern(spot), Node::Pattern(pattern)) => pattern.rest(spot, words),
            (Place::Items { count }, Node::Array(array)) => {
                let first = u32::from(count == 0 && array.min > 0); // it has no comma
                array.owed(count, &self.costs) + 1 - first
            }
            (_, Node::Object(object)) => self.in_object(frame.place, object, words),
            _ => NEVER,
        }
        .min(NEVER)
    }

    fn in_object(&self, place: Place, object: &Object, words: &Words) -> u32 {
        let next = match place {
            Place::Between { next } => return object.required[next as usize] + 1,
            Place::Opened if object.may_end(0) => return 1,
            Place::Opened => 0,
            Place::Comma { next, .. } => next,
            Place::Other { at, within } => return self.in_other(object, at, within, words),
            Place::Colon => return object.others.as_ref().map_or(NEVER, |o| self.costs[o.value as usize] + 2),
            _ => return NEVER,
        };
        let named = object.roots.get(next as usize).and_then(|root| object.names.way(*root, next)).map_or(NEVER, |way| way.least);
        let other = object.others(next as usize).map_or(NEVER, |o| {
            let at = o.taken.next(0, b'"');
            at.map_or(3, |at| 1 + in_name(o, at, Within::Content, words)) + self.costs[o.value as usize] + 1
        });
        named.min(other)
    }

    fn in_other(&self, object: &Object, at: u32, within: Within, words: &Words) -> u32 {
        object.others.as_ref().map_or(NEVER, |o| in_name(o, at, within, words) + self.costs[o.value as usize] + 1)
    }
}

/// The rest of another member's name, and the colon. A name that is taken so far needs one more character.
fn in_name(others: &Others, at: u32, within: Within, words: &Words) -> u32 {
    let taken = others.taken.next(at, b'"').is_some();
    in_string(0, within, u32::from(taken), words) + 1
}

fn in_string(characters: u32, within: Within, min: u32, words: &Words) -> u32 {
    let begun = u32::from(within != Within::Content);
    if matches!(within, Within::Tail { .. }) && !words.bytes {
        return NEVER;
    }
    within.pending() + words.needed(min.saturating_sub(characters + begun)) + 1
}
