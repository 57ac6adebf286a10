// SPDX-License-Identifier: MIT

use crate::pattern::{Move, Pattern, Spot};
use crate::range::{Decimal, Range};
use crate::schema::{Array, Bytes, Id, Node, Object, Schema};
use crate::string::{Took, Within};
use crate::texts::Texts;
use alloc::vec::Vec;

/// Digits before and after the point that a number has at most: what a float64 holds exactly, and what is sensible.
const WHOLE: u8 = 15;
const FRACTION: u8 = 10;

/// And digits of its exponent, so that a float64 is never too small for it.
const POWER: u8 = 2;

/// What is being written, outermost first; empty: the value is complete.
pub type Stack = Vec<Frame>;

/// All ways to read what has been written; none: it does not fit.
pub type State = Vec<Stack>;

/// A value on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    pub node: Id,
    pub place: Place,
}

/// How far a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Not begun; a space may come before it.
    Before {
        space: bool,
    },
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
    /// After an e, its sign, or so many digits of the exponent.
    Exponent,
    Sign,
    Power {
        digits: u8,
    },
    /// Inside a number of a range.
    Decimal(Decimal),
    /// Inside a string, after so many characters.
    Text {
        characters: u32,
        within: Within,
    },
    /// Inside a string that must match something.
    Pattern(Spot),
    /// After [ or an item; so many have begun.
    Items {
        count: u32,
    },
    /// After {, a comma, or a member; `next` is the first member that has not been passed.
    Opened,
    Comma {
        next: u32,
        space: bool,
    },
    Between {
        next: u32,
    },
    /// At a node of the names.
    Name {
        next: u32,
        at: u32,
    },
    /// In the name of another member, which began like one of the names up to a node of them.
    Other {
        at: u32,
        within: Within,
    },
    /// After the name of another member.
    Colon,
}

/// What a byte does to the innermost value.
pub(crate) enum Step {
    Stay(Place),
    /// Two ways to read it go on.
    Either(Place, Place),
    /// The byte ended it.
    Done,
    /// It ended before the byte.
    Over,
    /// An inner value goes on after the byte (`true`) or with it.
    Into(Place, Frame, bool),
    Wrong,
}

impl Schema {
    /// What a byte does to a value that has begun.
    pub(crate) fn advance(&self, frame: &Frame, byte: u8) -> Step {
        let place = frame.place;
        match &self.nodes[frame.node as usize] {
            Node::Literal(texts) => literal(texts, place, byte),
            Node::Number { integer } => number(place, byte, *integer),
            Node::Range(range) => decimal(range, place, byte),
            Node::Text { min, max } => text(place, byte, *min, *max),
            Node::Pattern(pattern) => matching(pattern, place, byte),
            Node::Array(array) => items(array, place, byte),
            Node::Object(object) => member(object, place, byte),
            Node::Any(_) => Step::Wrong,
        }
    }

    /// A short way to `Step::Stay` inside a text, since a walk goes thousands of such steps where there are thousands of texts;
    /// `child` is as in `Texts::next_from`.
    #[inline]
    pub(crate) fn inside_text(&self, frame: &Frame, byte: u8, child: &mut u32) -> Option<Place> {
        match (frame.place, &self.nodes[frame.node as usize]) {
            (Place::Literal { at }, Node::Literal(texts)) => {
                let at = texts.next_from(at, byte, child).filter(|at| !texts.is_last(*at))?;
                Some(Place::Literal { at })
            }
            (Place::Name { next, at }, Node::Object(object)) => {
                let at = object.names.next_from(at, byte, child).filter(|at| !object.names.is_last(*at))?;
                object.names.way(at, next).map(|_| Place::Name { next, at })
            }
            _ => None,
        }
    }

    /// Bytes that may come next; others are wrong, so that there is no need to try them.
    pub(crate) fn may_follow(&self, frame: &Frame) -> Bytes {
        match (frame.place, &self.nodes[frame.node as usize]) {
            (Place::Before { space }, _) => {
                let mut bytes = self.firsts[frame.node as usize];
                if space {
                    bytes.add(b' ');
                }
                bytes
            }
            (Place::Literal { at }, Node::Literal(texts)) if !texts.ends(at) => texts.bytes(at),
            (Place::Name { at, .. }, Node::Object(object)) => object.names.bytes(at),
            _ => Bytes::ALL,
        }
    }

    /// The first byte of a value that has no alternatives.
    pub(crate) fn begin(&self, node: Id, byte: u8) -> Step {
        match (&self.nodes[node as usize], byte) {
            (Node::Literal(texts), _) => literal(texts, Place::Literal { at: 0 }, byte),
            (Node::Number { .. }, b'-') => Step::Stay(Place::Minus),
            (Node::Number { .. }, b'0'..=b'9') => Step::Stay(Place::Whole { digits: 1, zero: byte == b'0' }),
            (Node::Range(range), _) => decimal(range, Place::Decimal(Decimal::default()), byte),
            (Node::Text { .. }, b'"') => Step::Stay(Place::Text { characters: 0, within: Within::Content }),
            (Node::Pattern(pattern), b'"') => Step::Stay(Place::Pattern(pattern.start())),
            (Node::Array { .. }, b'[') => Step::Stay(Place::Items { count: 0 }),
            (Node::Object(_), b'{') => Step::Stay(Place::Opened),
            _ => Step::Wrong,
        }
    }
}

fn before(node: Id, space: bool) -> Frame {
    Frame { node, place: Place::Before { space } }
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
        Place::Whole { .. } | Place::Fraction { .. } if matches!(byte, b'e' | b'E') && !integer => Step::Stay(Place::Exponent),
        Place::Exponent if matches!(byte, b'+' | b'-') => Step::Stay(Place::Sign),
        Place::Exponent | Place::Sign if digit => Step::Stay(Place::Power { digits: 1 }),
        Place::Power { digits } if digit && digits < POWER => Step::Stay(Place::Power { digits: digits + 1 }),
        Place::Whole { .. } | Place::Fraction { .. } | Place::Power { .. } => Step::Over,
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

fn matching(pattern: &Pattern, place: Place, byte: u8) -> Step {
    match place {
        Place::Pattern(spot) => match pattern.take(spot, byte) {
            Move::To(spot) => Step::Stay(Place::Pattern(spot)),
            Move::End => Step::Done,
            Move::Wrong => Step::Wrong,
        },
        _ => Step::Wrong,
    }
}

fn items(array: &Array, place: Place, byte: u8) -> Step {
    let count = match place {
        Place::Items { count } => count,
        _ => return Step::Wrong,
    };
    // Counted no further than it matters, so that masks which were kept fit the next item too.
    let next = Place::Items { count: (count + 1).min(array.counted()) };
    match byte {
        b']' if count >= array.min => Step::Done,
        b',' if count > 0 && count < array.max => Step::Into(next, before(array.item(count), true), true),
        _ if count == 0 && array.max > 0 => Step::Into(next, before(array.item(0), false), false),
        _ => Step::Wrong,
    }
}

fn member(object: &Object, place: Place, byte: u8) -> Step {
    match (place, byte) {
        (Place::Opened, b'}') if object.may_end(0) => Step::Done,
        (Place::Opened, _) => opening(object, 0, byte),
        (Place::Comma { next, space: true }, b' ') => Step::Stay(Place::Comma { next, space: false }),
        (Place::Comma { next, .. }, _) => opening(object, next, byte),
        (Place::Between { next }, b'}') if object.may_end(next as usize) => Step::Done,
        (Place::Between { next }, b',') if (next as usize) < object.members.len() || object.others.is_some() => {
            Step::Stay(Place::Comma { next, space: true })
        }
        (Place::Name { next, at }, _) => name(object, next, at, byte),
        (Place::Other { at, within }, _) => other(object, at, within, byte),
        (Place::Colon, b':') => match &object.others {
            Some(others) => Step::Into(Place::Between { next: object.members.len() as u32 }, before(others.value, true), true),
            None => Step::Wrong,
        },
        _ => Step::Wrong,
    }
}

/// The quote before a name.
fn opening(object: &Object, next: u32, byte: u8) -> Step {
    let named = object.roots.get(next as usize).map_or(Step::Wrong, |root| name(object, next, *root, byte));
    let others = object.others(next as usize).filter(|_| byte == b'"');
    match (named, others.map(|others| others.taken.next(0, byte))) {
        (named, None) => named,
        (Step::Stay(named), Some(Some(at))) => Step::Either(named, Place::Other { at, within: Within::Content }),
        (_, Some(Some(at))) => Step::Stay(Place::Other { at, within: Within::Content }),
        (_, Some(None)) => others.map_or(Step::Wrong, |o| Step::Into(Place::Colon, before(o.name, false), false)),
    }
}

/// A name that must not be one of those that are taken. What differs from them may be any string.
fn other(object: &Object, at: u32, within: Within, byte: u8) -> Step {
    let others = match &object.others {
        Some(others) => others,
        None => return Step::Wrong,
    };
    let took = match (within.take(byte), others.taken.next(at, byte)) {
        // An escape might spell what is taken, and the end would be it.
        (Took::Nothing, _) | (Took::Part(Within::Escape), _) | (Took::End, Some(_)) => return Step::Wrong,
        (Took::End, None) => return Step::Stay(Place::Colon),
        (Took::Part(within), _) => within,
        (Took::Character, _) => Within::Content,
    };
    match others.taken.next(at, byte) {
        Some(at) => Step::Stay(Place::Other { at, within: took }),
        None => {
            let characters = u32::from(took == Within::Content);
            Step::Into(Place::Colon, Frame { node: others.name, place: Place::Text { characters, within: took } }, true)
        }
    }
}

fn name(object: &Object, next: u32, at: u32, byte: u8) -> Step {
    let names = &object.names;
    match names.next(at, byte).map(|at| (at, names.way(at, next))) {
        Some((at, Some(way))) if names.is_last(at) => {
            let value = object.members[way.number as usize].value;
            Step::Into(Place::Between { next: way.number + 1 }, before(value, true), true)
        }
        Some((at, Some(_))) => Step::Stay(Place::Name { next, at }),
        _ => Step::Wrong, // no name, or only those of members that have been passed
    }
}
