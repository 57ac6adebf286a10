// SPDX-License-Identifier: MIT

use crate::pattern::Pattern;
use crate::range::Range;
use crate::texts::Texts;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Tokens that no request has: what cannot be completed at all costs this much.
pub const NEVER: u32 = 1 << 28;

/// Index of a node.
pub type Id = u32;

/// What the automaton runs on: the schema's parts. Node 0 is the whole.
#[derive(Debug, Default)]
pub struct Schema {
    pub nodes: Vec<Node>,
    /// Tokens that the shortest value of each node needs at most.
    pub costs: Vec<u32>,
    /// Bytes that a value of each node can begin with.
    pub firsts: Vec<Bytes>,
    /// What each node may be in the end: itself, or the alternatives of its alternatives.
    pub choices: Vec<Vec<Id>>,
}

/// One part of a schema.
#[derive(Debug)]
pub enum Node {
    /// One of these texts: enum, const, booleans, null.
    Literal(Texts),
    Number {
        integer: bool,
    },
    /// A number that is not too small and not too large.
    Range(Range),
    /// So many characters.
    Text {
        min: u32,
        max: u32,
    },
    /// Characters that match something.
    Pattern(Box<Pattern>),
    Array(Array),
    Object(Object),
    /// One of these; none: nothing fits.
    Any(Vec<Id>),
}

/// So many items: the first ones are listed, and all others are alike.
#[derive(Debug)]
pub struct Array {
    pub listed: Vec<Id>,
    pub item: Id,
    pub min: u32,
    pub max: u32,
}

impl Array {
    /// The node of the item after so many.
    pub fn item(&self, count: u32) -> Id {
        self.listed.get(count as usize).copied().unwrap_or(self.item)
    }

    /// Up to here items must be counted, since it matters how many there are: whether there is one, at least.
    pub fn counted(&self) -> u32 {
        if self.max == u32::MAX {
            self.min.max(self.listed.len() as u32).max(1)
        } else {
            self.max
        }
    }

    /// Tokens for all that is required after so many items, each with a comma.
    pub fn owed(&self, count: u32, costs: &[u32]) -> u32 {
        let each = |id: &Id| costs[*id as usize] + 1;
        let listed = self.listed.iter().take(self.min as usize).skip(count as usize).map(each);
        let others = self.min.saturating_sub(count.max(self.listed.len() as u32));
        listed.fold(others.saturating_mul(each(&self.item)), u32::saturating_add).min(NEVER)
    }
}

/// Members stand in this order; optional ones may be left out. Others come after them.
#[derive(Debug, Default)]
pub struct Object {
    pub members: Vec<Member>,
    /// Tokens for all that is required from member i on, each with a comma; one more entry than members.
    pub required: Vec<u32>,
    /// The names, with the members' numbers. Those that may come next are a required member and the optional ones before it, so
    /// these stand under one root, which `roots` has for each member.
    pub names: Texts,
    pub roots: Vec<u32>,
    pub others: Option<Others>,
    /// The schema itself forbids others, not only this automaton.
    pub closed: bool,
}

/// Members that are not named.
#[derive(Debug)]
pub struct Others {
    pub value: Id,
    /// Any string.
    pub name: Id,
    /// All names that they must not have, under one root.
    pub taken: Texts,
}

#[derive(Debug)]
pub struct Member {
    /// The name in quotes, and the colon.
    pub name: Spelled,
    pub value: Id,
    pub required: bool,
}

impl Object {
    /// Whether the object may end where `next` is the first member that has not been passed.
    pub fn may_end(&self, next: usize) -> bool {
        self.required[next] == 0
    }

    /// The others, where one of them may come next.
    pub fn others(&self, next: usize) -> Option<&Others> {
        self.others.as_ref().filter(|_| self.may_end(next))
    }
}

/// A text that must be written as it is.
#[derive(Debug)]
pub struct Spelled {
    pub bytes: Vec<u8>,
    /// Tokens that spell bytes[i..]; one more entry than bytes.
    pub tokens: Vec<u32>,
}

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes([u32; 8]);

impl Bytes {
    pub const ALL: Bytes = Bytes([!0; 8]);

    pub fn add(&mut self, byte: u8) {
        self.0[byte as usize / 32] |= 1 << (byte % 32);
    }

    pub fn has(&self, byte: u8) -> bool {
        self.0[byte as usize / 32] >> (byte % 32) & 1 == 1
    }

    pub fn join(&mut self, other: &Bytes) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    /// A byte that both have.
    pub fn shared(&self, other: &Bytes) -> Option<u8> {
        (0..=255).find(|b| self.has(*b) && other.has(*b))
    }
}
