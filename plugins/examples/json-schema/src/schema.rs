// SPDX-License-Identifier: MIT

use crate::range::Range;
use crate::texts::Texts;
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
    Array {
        item: Id,
        min: u32,
        max: u32,
    },
    Object(Object),
    /// One of these, told apart by their first byte.
    Any(Vec<Id>),
}

/// Members stand in this order; optional ones may be left out.
#[derive(Debug, Default)]
pub struct Object {
    pub members: Vec<Member>,
    /// Tokens for all that is required from member i on, each with a comma; one more entry than members.
    pub required: Vec<u32>,
    /// The names, with the members' numbers. Those that may come next are a required member and the optional ones before it, so
    /// these stand under one root, which `roots` has for each member.
    pub names: Texts,
    pub roots: Vec<u32>,
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
