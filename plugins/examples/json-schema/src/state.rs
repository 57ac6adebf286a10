// SPDX-License-Identifier: MIT

use crate::range::{Decimal, Range};
use crate::schema::{Bytes, Id, Node, Object, Schema};
use crate::string::{Took, Within};
use crate::texts::Texts;
use alloc::vec::Vec;

/// Digits before and after the point that a number has at most: what a float64 holds exactly, and what is sensible.
const WHOLE: u8 = 15;
const FRACTION: u8 = 10;

/// What is being written, outermost first; empty: the value is complete.
pub type State = Vec<Frame>;

/// A value on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub node: Id,
    pub place: Place,
}

/// How far a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A space may come, and nothing else of this.
    Space,
    /// Not begun.
    Before,
    /// At a node of the texts.
    Literal {
        at: u32,
    },
    /// After the sign, or after so many digits of the whole part (`zero`: a lone 0), or of the fraction.
    Minus,
    Whole {
        digits: u8,
        zero: bool,
    },
    Point,
    Fraction {
        digits: u8,
    },
    /// Inside a number of a range.
    Decimal(Decimal),
    /// Inside a string, after so many characters.
    Text {
        characters: u32,
        within: Within,
    },
    /// After [ or an item; so many have begun.
    Items {
        count: u32,
    },
    /// After {, a comma, or a member; `next` is the first member that has not been passed.
    Opened,
    Comma {
        next: u32,
    },
    Between {
        next: u32,
    },
    /// At a node of the names.
    Name {
        next: u32,
        at: u32,
    },
}

/// What a byte does to the innermost value.
pub(crate) enum Step {
    Stay(Place),
    /// The byte ended it.
    Done,
    /// It ended before the byte.
    Over,
    /// A value of this node begins after the byte (`true`) or with it.
    Into(Place, Id, bool),
    Wrong,
}

impl Schema {
    /// The state before the first byte.
    pub fn start(&self) -> State {
        alloc::vec![Frame { node: 0, place: Place::Before }]
    }

    /// Takes a byte; false, and the state is void, where it cannot stand there.
    pub fn step(&self, state: &mut State, byte: u8) -> bool {
        while let Some(frame) = state.last_mut() {
            match self.advance(frame, byte) {
                Step::Stay(place) => {
                    frame.place = place;
                    return true;
                }
                Step::Done => {
                    state.pop();
                    return true;
                }
                Step::Over => {
                    state.pop();
                }
                Step::Into(place, node, after) => {
                    frame.place = place;
                    state.push(Frame { node, place: Place::Before });
                    if after {
                        state.push(Frame { node, place: Place::Space });
                        return true;
                    }
                }
                Step::Wrong => return false,
            }
        }
        false
    }

    /// What a byte does to the innermost value; an alternative is chosen in `frame` itself.
    pub(crate) fn advance(&self, frame: &mut Frame, byte: u8) -> Step {
        match frame.place {
            Place::Space if byte == b' ' => Step::Done,
            Place::Space => Step::Over,
            Place::Before => self.begin(frame, byte),
            place => match &self.nodes[frame.node as usize] {
                Node::Literal(texts) => literal(texts, place, byte),
                Node::Number { integer } => number(place, byte, *integer),
                Node::Range(range) => decimal(range, place, byte),
                Node::Text { min, max } => text(place, byte, *min, *max),
                Node::Array { item, min, max } => array(place, byte, *item, *min, *max),
                Node::Object(object) => member(object, place, byte),
                Node::Any(_) => Step::Wrong,
            },
        }
    }

    /// A short way to `Step::Stay` inside a text, since a walk goes thousands of such steps where there are thousands of texts.
    #[inline]
    pub(crate) fn inside_text(&self, frame: &Frame, byte: u8) -> Option<Place> {
        match (frame.place, &self.nodes[frame.node as usize]) {
            (Place::Literal { at }, Node::Literal(texts)) => {
                let at = texts.next(at, byte).filter(|at| !texts.is_last(*at))?;
                Some(Place::Literal { at })
            }
            (Place::Name { next, at }, Node::Object(object)) => {
                let at = object.names.next(at, byte).filter(|at| !object.names.is_last(*at))?;
                object.names.way(at, next).map(|_| Place::Name { next, at })
            }
            _ => None,
        }
    }

    /// Bytes that may come next; others are wrong, so that there is no need to try them.
    pub(crate) fn may_follow(&self, frame: &Frame) -> Bytes {
        match (frame.place, &self.nodes[frame.node as usize]) {
            (Place::Before, _) => self.firsts[frame.node as usize],
            (Place::Literal { at }, Node::Literal(texts)) if !texts.ends(at) => texts.bytes(at),
            (Place::Name { at, .. }, Node::Object(object)) => object.names.bytes(at),
            _ => Bytes::ALL,
        }
    }

    /// The first byte of a value. Alternatives are told apart here.
    fn begin(&self, frame: &mut Frame, byte: u8) -> Step {
        while let Node::Any(ids) = &self.nodes[frame.node as usize] {
            match ids.iter().find(|id| self.firsts[**id as usize].has(byte)) {
                Some(id) => frame.node = *id,
                None => return Step::Wrong,
            }
        }
        match (&self.nodes[frame.node as usize], byte) {
            (Node::Literal(texts), _) => literal(texts, Place::Literal { at: 0 }, byte),
            (Node::Number { .. }, b'-') => Step::Stay(Place::Minus),
            (Node::Number { .. }, b'0'..=b'9') => Step::Stay(Place::Whole { digits: 1, zero: byte == b'0' }),
            (Node::Range(range), _) => decimal(range, Place::Decimal(Decimal::default()), byte),
            (Node::Text { .. }, b'"') => Step::Stay(Place::Text { characters: 0, within: Within::Content }),
            (Node::Array { .. }, b'[') => Step::Stay(Place::Items { count: 0 }),
            (Node::Object(_), b'{') => Step::Stay(Place::Opened),
            _ => Step::Wrong,
        }
    }
}

fn literal(texts: &Texts, place: Place, byte: u8) -> Step {
    let at = match place {
        Place::Literal { at } => at,
        _ => return Step::Wrong,
    };
    match texts.next(at, byte) {
        Some(next) if texts.is_last(next) => Step::Done,
        Some(next) => Step::Stay(Place::Literal { at: next }),
        None if texts.ends(at) => Step::Over,
        None => Step::Wrong,
    }
}

fn number(place: Place, byte: u8, integer: bool) -> Step {
    let digit = byte.is_ascii_digit();
    match place {
        Place::Minus if digit => Step::Stay(Place::Whole { digits: 1, zero: byte == b'0' }),
        Place::Whole { digits, zero: false } if digit && digits < WHOLE => Step::Stay(Place::Whole { digits: digits + 1, zero: false }),
        Place::Whole { .. } if byte == b'.' && !integer => Step::Stay(Place::Point),
        Place::Point if digit => Step::Stay(Place::Fraction { digits: 1 }),
        Place::Fraction { digits } if digit && digits < FRACTION => Step::Stay(Place::Fraction { digits: digits + 1 }),
        Place::Whole { .. } | Place::Fraction { .. } => Step::Over,
        _ => Step::Wrong,
    }
}

fn decimal(range: &Range, place: Place, byte: u8) -> Step {
    match place {
        Place::Decimal(number) => match range.take(number, byte) {
            Some(number) => Step::Stay(Place::Decimal(number)),
            None if range.complete(number) => Step::Over,
            None => Step::Wrong,
        },
        _ => Step::Wrong,
    }
}

fn text(place: Place, byte: u8, min: u32, max: u32) -> Step {
    let (characters, within) = match place {
        Place::Text { characters, within } => (characters, within),
        _ => return Step::Wrong,
    };
    match within.take(byte) {
        Took::End if characters >= min => Step::Done,
        Took::End => Step::Wrong,
        Took::Nothing => Step::Wrong,
        _ if characters >= max => Step::Wrong,
        Took::Part(within) => Step::Stay(Place::Text { characters, within }),
        Took::Character => Step::Stay(Place::Text { characters: characters + 1, within: Within::Content }),
    }
}

fn array(place: Place, byte: u8, item: Id, min: u32, max: u32) -> Step {
    let count = match place {
        Place::Items { count } => count,
        _ => return Step::Wrong,
    };
    match byte {
        b']' if count >= min => Step::Done,
        // Counted no further than it matters, so that masks which were kept fit the next item too.
        b',' if count > 0 && count < max => {
            let count = if max == u32::MAX && count >= min { count } else { count + 1 };
            Step::Into(Place::Items { count }, item, true)
        }
        _ if count == 0 && max > 0 => Step::Into(Place::Items { count: 1 }, item, false),
        _ => Step::Wrong,
    }
}

fn member(object: &Object, place: Place, byte: u8) -> Step {
    match (place, byte) {
        (Place::Opened, b'}') if object.may_end(0) => Step::Done,
        (Place::Opened, _) if object.members.is_empty() => Step::Wrong,
        (Place::Opened, _) => name(object, 0, object.roots[0], byte),
        (Place::Comma { next }, b' ') => Step::Stay(Place::Name { next, at: object.roots[next as usize] }),
        (Place::Comma { next }, _) => name(object, next, object.roots[next as usize], byte),
        (Place::Between { next }, b'}') if object.may_end(next as usize) => Step::Done,
        (Place::Between { next }, b',') if (next as usize) < object.members.len() => Step::Stay(Place::Comma { next }),
        (Place::Name { next, at }, _) => name(object, next, at, byte),
        _ => Step::Wrong,
    }
}

fn name(object: &Object, next: u32, at: u32, byte: u8) -> Step {
    let names = &object.names;
    match names.next(at, byte).map(|at| (at, names.way(at, next))) {
        Some((at, Some(way))) if names.is_last(at) => {
            let value = object.members[way.number as usize].value;
            Step::Into(Place::Between { next: way.number + 1 }, value, true)
        }
        Some((at, Some(_))) => Step::Stay(Place::Name { next, at }),
        _ => Step::Wrong, // no name, or only those of members that have been passed
    }
}
