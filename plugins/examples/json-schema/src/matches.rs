// SPDX-License-Identifier: MIT

use crate::fill::Wanted;
use crate::inside::closing;
use crate::pattern::{Pattern, Spot};
use crate::schema::{Id, Node, NEVER};
use crate::spellings::What;
use crate::state::{Frame, Place};
use crate::string::Within;
use crate::walk::Walk;
use alloc::vec::Vec;
use penstock::Mask;

/// Masks that are kept, and places of strings.
const KEPT: usize = 32;
const PLACES: usize = 8;

/// Nodes that the walks for one mask look at, within its fuel; after them, only single characters are.
const VISITED: u32 = 30_000;

/// Masks inside strings that must match something. What tokens write in such a string is walked with the automaton of the pattern
/// alone, since the tokens that end the string are found once for each place in which it stands.
#[derive(Default)]
pub struct Matches {
    kept: Vec<Kept>,
    next: usize,
    closers: Vec<Closers>,
    next_place: usize,
    open: Vec<Open>,
    visited: u32,
}

struct Kept {
    node: Id,
    state: u16,
    around: Vec<Frame>,
    words: Vec<u32>,
    found: Found,
}

/// The tokens that may end a string in its place, and what they leave at most.
struct Closers {
    around: Vec<Frame>,
    tokens: Vec<u32>, // as a mask
    most: u32,
}

/// A walk through one pattern.
struct Match<'a> {
    pattern: &'a Pattern,
    spot: Spot,
    closers: &'a [u32],
    below: u32, // tokens that complete what is around the string
    budget: u32,
}

/// A node whose children are to be walked.
struct Open {
    node: u32,
    state: u16,
    characters: u32, // up to the node
}

/// What a walk came across.
#[derive(Default)]
struct Found {
    any: bool,
    short: bool, // something was not allowed because of the budget, or of the characters that are left
    // The mask holds where so much is left.
    rest: u32,
    characters: u32,
}

impl Matches {
    /// Before the walks for one mask.
    pub fn begin(&mut self) {
        self.visited = 0;
    }

    /// Fills the mask and tells whether it did: between the characters of such a string. Where the budget admits nothing any more,
    /// it is not looked at.
    pub fn fill(&mut self, want: &Wanted, walk: &mut Walk, mask: &mut Mask) -> bool {
        let (top, around) = match want.stack.split_last() {
            Some((top, around)) => (top, around),
            None => return false,
        };
        let (spot, pattern) = match (top.place, &want.schema.nodes[top.node as usize]) {
            (Place::Pattern(spot), Node::Pattern(pattern)) if spot.within == Within::Content => (spot, pattern),
            _ => return false,
        };
        let fits = |k: &&Kept| k.found.rest <= want.budget && k.found.characters <= spot.left;
        let mut known = self.kept.iter().filter(|k| k.node == top.node && k.state == spot.state && k.around == around);
        if let Some(kept) = known.find(fits) {
            mask.words().copy_from_slice(&kept.words);
            return true;
        }
        let below = want.schema.rest(around, want.words);
        let place = self.place(want, around, walk, mask);
        let most = self.closers[place].most.max(below);
        let strict = match most <= want.budget {
            true => None,
            false => Some(Closers::new(want, want.budget, around, walk, mask)),
        };
        let closers = &strict.as_ref().unwrap_or(&self.closers[place]).tokens;
        mask.ban_all();
        let found = Match { pattern, spot, closers, below, budget: want.budget }.walk(&mut self.open, &mut self.visited, mask);
        if !found.any && want.budget < NEVER - 1 {
            return self.fill(&Wanted { budget: NEVER - 1, ..*want }, walk, mask);
        }
        if !found.short && strict.is_none() {
            let found = Found { rest: found.rest.max(most), ..found };
            let kept = Kept { node: top.node, state: spot.state, around: around.to_vec(), words: mask.words().to_vec(), found };
            keep(&mut self.kept, &mut self.next, KEPT, kept);
        }
        true
    }

    /// Where the tokens that end a string in this place are kept.
    fn place(&mut self, want: &Wanted, around: &[Frame], walk: &mut Walk, mask: &mut Mask) -> usize {
        match self.closers.iter().position(|c| c.around == around) {
            Some(at) => at,
            None => keep(&mut self.closers, &mut self.next_place, PLACES, Closers::new(want, NEVER - 1, around, walk, mask)),
        }
    }
}

impl Match<'_> {
    /// Allows what fits.
    fn walk(&self, open: &mut Vec<Open>, visited: &mut u32, mask: &mut Mask) -> Found {
        let (spellings, words) = (&self.pattern.spellings, mask.words());
        let mut found = Found::default();
        open.clear();
        open.push(Open { node: 0, state: self.spot.state, characters: 0 });
        while let Some(Open { node, state, characters }) = open.pop() {
            if node != 0 && *visited > VISITED {
                break;
            }
            let mut next = spellings.child(node);
            while next != 0 {
                let (node, (what, sibling)) = (next, spellings.node(next));
                next = sibling;
                *visited += 1;
                let (end, characters) = match what {
                    What::Class(class) => match self.pattern.step(state, class) {
                        Some(state) => {
                            let end = self.pattern.end(state);
                            if characters + 1 + end.characters <= self.spot.left && spellings.child(node) != 0 {
                                open.push(Open { node, state, characters: characters + 1 });
                            }
                            (end, characters + 1)
                        }
                        None => continue,
                    },
                    What::Part(within, begun) => match self.pattern.ahead(Spot { state, begun, within, left: u32::MAX }) {
                        Some(end) => (end, characters),
                        None => continue,
                    },
                    What::End => {
                        for mark in spellings.marks(node).iter().filter(|_| self.pattern.may_end(state)) {
                            let bits = mark.bits & self.closers[mark.word as usize];
                            words[mark.word as usize] |= bits;
                            found.any |= bits != 0;
                        }
                        continue;
                    }
                };
                let (rest, characters) = (self.below + end.tokens + 1, characters + end.characters);
                if rest > self.budget || characters > self.spot.left {
                    found.short |= rest < NEVER;
                    continue;
                }
                found.rest = found.rest.max(rest);
                found.characters = found.characters.max(characters);
                for mark in spellings.marks(node) {
                    words[mark.word as usize] |= mark.bits;
                    found.any = true;
                }
            }
        }
        found
    }
}

impl Closers {
    fn new(want: &Wanted, budget: u32, around: &[Frame], walk: &mut Walk, mask: &mut Mask) -> Closers {
        let (found, seen) = closing(want, budget, around, walk, mask);
        mask.ban_all();
        found.iter().for_each(|(token, _)| mask.allow(*token));
        Closers { around: around.to_vec(), tokens: mask.words().to_vec(), most: seen }
    }
}

/// Keeps something in a list of so many, in place of the oldest where it is full, and returns where.
fn keep<T>(list: &mut Vec<T>, next: &mut usize, most: usize, new: T) -> usize {
    if list.len() < most {
        list.push(new);
        return list.len() - 1;
    }
    let at = *next % most;
    *next += 1;
    list[at] = new;
    at
}
