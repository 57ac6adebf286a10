// SPDX-License-Identifier: MIT

use crate::automaton::{Automaton, Effort, NONE};
use crate::classes::Classes;
use crate::schema::NEVER;
use crate::spellings::Spellings;
use crate::string::{Took, Within};
use crate::words::Words;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;

/// Strings whose characters an automaton takes. Each may be written as it is, or as any escape that means it; those beyond
/// U+FFFF, which would need two escapes, only as they are.
#[derive(Debug)]
pub struct Pattern {
    automaton: Automaton,
    /// By state and ASCII character that may stand in a string as it is: the next state.
    ascii: Vec<u16>,
    ends: Vec<End>,
    /// What its automaton tells apart.
    pub classes: Classes,
    /// What the vocabulary's tokens write, in these classes or finer ones.
    pub spellings: Rc<Spellings>,
    kinds: Vec<u32>, // of the automaton, by class of the spellings
    /// Characters at most.
    pub max: u32,
    /// The strings are just those that the schema means: no format is among what they must fit, of which some are left out.
    pub exact: bool,
}

/// What the shortest text needs that goes on from a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub characters: u32,
    pub tokens: u32,
}

/// How far such a string is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    pub state: u16,
    pub begun: u16, // the bits of a character's number that its bytes, or the digits of its escape, have given so far
    pub within: Within,
    pub left: u32, // characters that may still come; u32::MAX: any number
}

/// What a byte does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    To(Spot),
    End,
    Wrong,
}

const ASCII: usize = 128;

/// Escapes of one letter, with what they mean.
const LETTERS: &[(u8, u32)] = &[(b'"', 0x22), (b'\\', 0x5c), (b'/', 0x2f), (b'b', 8), (b'f', 12), (b'n', 10), (b'r', 13), (b't', 9)];

const FAR: End = End { characters: NEVER, tokens: NEVER };

impl Pattern {
    /// `exact` and `max` are as in the fields.
    pub fn new(automaton: Automaton, max: u32, exact: bool, words: &Words, effort: &mut Effort) -> Result<Pattern, String> {
        let mut ascii = Vec::with_capacity(automaton.states() * ASCII);
        for state in 0..automaton.states() as u16 {
            let plain = |b: u8| b >= 0x20 && b != b'"' && b != b'\\';
            ascii.extend((0..ASCII as u8).map(|b| if plain(b) { automaton.after(state, automaton.kind(u32::from(b))) } else { NONE }));
        }
        let ends = ends(&automaton, words);
        let classes = Classes::new(&automaton, effort)?;
        Ok(Pattern { automaton, ascii, ends, classes, kinds: Vec::new(), spellings: Rc::default(), max, exact })
    }

    /// Says what the vocabulary's tokens write, in classes that tell apart what the pattern does.
    pub fn spell(&mut self, classes: &Classes, spellings: Rc<Spellings>) {
        self.kinds = classes.members.iter().map(|c| self.automaton.kind(*c) as u32).collect();
        self.spellings = spellings;
    }

    /// Before the first character.
    pub fn start(&self) -> Spot {
        Spot { state: self.automaton.start(), begun: 0, within: Within::Content, left: self.max }
    }

    /// What a whole string needs.
    pub fn cost(&self) -> u32 {
        let end = self.ends[usize::from(self.automaton.start())];
        if end.characters > self.max {
            return NEVER;
        }
        (end.tokens + 2).min(NEVER)
    }

    /// Whether a text fits.
    pub fn takes(&self, text: &str) -> bool {
        text.chars().count() as u64 <= u64::from(self.max) && self.automaton.takes(text)
    }

    /// Whether certainly no string is in both.
    pub fn misses(&self, other: &Pattern) -> bool {
        let mut effort = Effort(1 << 20);
        let both = self.automaton.both(&other.automaton, &mut effort);
        self.exact && other.exact && both.map_or(false, |both| both.is_empty())
    }

    #[inline]
    pub fn take(&self, spot: Spot, byte: u8) -> Move {
        if spot.within == Within::Content && usize::from(byte) < ASCII {
            let state = self.ascii[usize::from(spot.state) * ASCII + usize::from(byte)];
            if state != NONE {
                return self.at(spot, state);
            }
            if byte != b'"' && byte != b'\\' {
                return Move::Wrong;
            }
        }
        self.take_part(spot, byte)
    }

    fn take_part(&self, spot: Spot, byte: u8) -> Move {
        match spot.within.take(byte) {
            Took::End if self.may_end(spot.state) => Move::End,
            Took::End | Took::Nothing => Move::Wrong,
            Took::Character => self.character(spot, number(spot.within, spot.begun, byte)),
            Took::Part(within) => {
                let after = Spot { begun: number(spot.within, spot.begun, byte) as u16, within, ..spot };
                match self.ahead(after) {
                    Some(_) => Move::To(after),
                    None => Move::Wrong,
                }
            }
        }
    }

    fn character(&self, spot: Spot, number: u32) -> Move {
        let state = self.automaton.after(spot.state, self.automaton.kind(number));
        if state == NONE {
            return Move::Wrong;
        }
        self.at(spot, state)
    }

    #[inline]
    fn at(&self, spot: Spot, state: u16) -> Move {
        let left = match spot.left {
            u32::MAX => u32::MAX,
            left if left > self.ends[usize::from(state)].characters => left - 1,
            _ => return Move::Wrong,
        };
        Move::To(Spot { state, begun: 0, within: Within::Content, left })
    }

    /// Tokens that complete the string at most.
    #[inline]
    pub fn rest(&self, spot: Spot, words: &Words) -> u32 {
        if spot.within == Within::Content {
            return (self.ends[usize::from(spot.state)].tokens + 1).min(NEVER);
        }
        if matches!(spot.within, Within::Tail { .. }) && !words.bytes {
            return NEVER;
        }
        self.ahead(spot).map_or(NEVER, |end| (end.tokens + 1).min(NEVER))
    }

    /// What completes the character that has been begun, and the string after it.
    pub fn ahead(&self, spot: Spot) -> Option<End> {
        let begun = u32::from(spot.begun);
        let (from, to) = match spot.within {
            Within::Content => return Some(self.ends[usize::from(spot.state)]),
            Within::Escape => {
                let letter = |(_, meant): &(u8, u32)| self.between(spot, *meant, *meant, 1);
                let letters = LETTERS.iter().filter(|(b, _)| *b != b'/').filter_map(letter).min();
                return letters.into_iter().chain(self.between(spot, 0, 0xffff, 5)).min().or_else(|| self.between(spot, 0x2f, 0x2f, 1));
            }
            Within::Hex { left, .. } => (begun << (4 * left), (begun + 1) << (4 * left)),
            Within::Tail { left, low, high } => {
                let bits = 6 * (left - 1);
                let first = |next: u8| (begun << 6 | u32::from(next & 0x3f)) << bits;
                (first(low), first(high) + (1 << bits))
            }
        };
        self.between(spot, from, to - 1, spot.within.pending())
    }

    /// The least that follows one of these characters, which still takes so many tokens.
    fn between(&self, spot: Spot, from: u32, to: u32, tokens: u32) -> Option<End> {
        let a = &self.automaton;
        let row = &a.row(spot.state)[a.kind(from)..=a.kind(to)];
        let ends = row.iter().filter(|state| **state != NONE).map(|state| self.ends[usize::from(*state)]);
        let least = ends.min().filter(|end| end.characters < spot.left)?;
        Some(End { characters: least.characters + 1, tokens: least.tokens + tokens })
    }

    /// The state after a character of a class, if any text goes on from there.
    #[inline]
    pub fn step(&self, state: u16, class: u32) -> Option<u16> {
        Some(self.automaton.after(state, self.kinds[class as usize] as usize)).filter(|state| *state != NONE)
    }

    /// Whether the string may end.
    pub fn may_end(&self, state: u16) -> bool {
        self.automaton.ends[usize::from(state)]
    }

    /// What the string needs from a state on.
    #[inline]
    pub fn end(&self, state: u16) -> End {
        self.ends[usize::from(state)]
    }
}

/// The number of the character that a byte belongs to, as far as it is known with it.
pub fn number(within: Within, begun: u16, byte: u8) -> u32 {
    let begun = u32::from(begun);
    match within {
        Within::Content if byte == b'\\' => 0,
        Within::Content if byte < 0x80 => u32::from(byte),
        Within::Content if byte < 0xe0 => u32::from(byte & 0x1f),
        Within::Content if byte < 0xf0 => u32::from(byte & 0x0f),
        Within::Content => u32::from(byte & 0x07),
        Within::Escape => LETTERS.iter().find(|(b, _)| *b == byte).map_or(0, |(_, meant)| *meant),
        Within::Hex { .. } => begun << 4 | (byte as char).to_digit(16).unwrap_or(0),
        Within::Tail { .. } => begun << 6 | u32::from(byte & 0x3f),
    }
}

/// By state, what the shortest text to an end needs: as few characters as can be, of as few tokens.
fn ends(automaton: &Automaton, words: &Words) -> Vec<End> {
    let kinds = 0..automaton.kinds.len();
    let costs: Vec<u32> = kinds.map(|kind| cost(automaton.kinds[kind], automaton.last(kind), words)).collect();
    let sources = automaton.sources();
    let mut ends = alloc::vec![FAR; automaton.states()];
    let mut round: Vec<u16> = (0..automaton.states() as u16).filter(|s| automaton.ends[usize::from(*s)]).collect();
    round.iter().for_each(|state| ends[usize::from(*state)] = End::default());
    let mut characters = 0;
    while !round.is_empty() {
        characters += 1;
        let mut reached: Vec<u16> = round.iter().flat_map(|s| &sources[usize::from(*s)]).copied().collect();
        reached.sort_unstable();
        reached.dedup();
        reached.retain(|state| ends[usize::from(*state)] == FAR);
        let mut found = Vec::new();
        for state in reached {
            let row = automaton.row(state).iter().zip(&costs).filter(|(to, cost)| **to != NONE && **cost < NEVER);
            let tokens =
                |(to, cost): (&u16, &u32)| Some(ends[usize::from(*to)]).filter(|e| *e < FAR).map(|e| (e.characters, e.tokens + cost));
            if let Some((_, tokens)) = row.filter_map(tokens).min() {
                found.push((state, End { characters, tokens: tokens.min(NEVER) }));
            }
        }
        round = found.iter().map(|(state, _)| *state).collect();
        found.into_iter().for_each(|(state, end)| ends[usize::from(state)] = end);
    }
    ends
}

/// Tokens that spell one of these characters.
fn cost(from: u32, to: u32, words: &Words) -> u32 {
    let plain = |c: u32| c >= 0x20 && c != 0x22 && c != 0x5c && words.all.has_single(c as u8);
    let letters = LETTERS.iter().any(|(b, meant)| *b != b'/' && (from..=to).contains(meant));
    match from {
        0..=0x7f if (from..=to.min(0x7f)).any(plain) => 1,
        _ if letters => 2,
        0..=0xffff => 6,
        _ if words.bytes && words.all.has_single(0xf0 + (from >> 18) as u8) => 4,
        _ => NEVER,
    }
}
