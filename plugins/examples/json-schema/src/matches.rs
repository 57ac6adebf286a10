// SPDX-License-Identifier: MIT

use crate::fill::Wanted;
use crate::inside::closing;
use crate::pattern::{Move, Pattern, Spot};
use crate::schema::{Id, Node, NEVER};
use crate::state::{Frame, Place};
use crate::string::Within;
use crate::trie::LONGEST;
use crate::walk::Walk;
use crate::words::SHORT;
use alloc::vec::Vec;
use penstock::{Mask, Token};

/// Masks that are kept, and places of strings.
const KEPT: usize = 32;
const PLACES: usize = 8;

/// Parts of the vocabulary that a walk looks at, within its fuel; after them, only single bytes are.
const VISITED: usize = 25_000;

/// Masks inside strings that must match something. The vocabulary is walked with the automaton of the pattern alone, since the
/// tokens that end the string are found once for each place in which it stands. States that do the same with short pieces share a
/// mask, so that one that counts its characters is not walked again after each.
#[derive(Default)]
pub struct Matches {
    kept: Vec<Kept>,
    next: usize,
    closers: Vec<Closers>,
    next_place: usize,
    spots: Vec<Spot>, // by depth
}

struct Kept {
    node: Id,
    alike: u16,
    around: Vec<Frame>,
    words: Vec<u32>,
}

/// The tokens that may end a string in its place, and what they leave at most.
struct Closers {
    around: Vec<Frame>,
    tokens: Vec<u32>, // as a mask
    most: u32,
}

/// A walk through one pattern.
#[derive(Clone, Copy)]
struct Match<'a> {
    want: Wanted<'a>,
    pattern: &'a Pattern,
    below: u32, // tokens that complete what is around the string
}

impl Matches {
    /// Fills the mask and tells whether it did: between the characters of such a string, where something fits the budget.
    pub fn fill(&mut self, want: &Wanted, walk: &mut Walk, mask: &mut Mask) -> bool {
        let (top, around) = match want.stack.split_last() {
            Some((top, around)) => (top, around),
            None => return false,
        };
        let (spot, pattern) = match (top.place, &want.schema.nodes[top.node as usize]) {
            (Place::Pattern(spot), Node::Pattern(pattern)) if spot.within == Within::Content => (spot, pattern),
            _ => return false,
        };
        let of = Match { want: *want, pattern, below: want.schema.rest(around, want.words) };
        let place = self.place(want, around, walk, mask);
        let ample = of.below.max(self.closers[place].most) + pattern.most() <= want.budget;
        if !ample || !pattern.has_room(spot) {
            let closers = Closers::new(want, want.budget, around, walk, mask);
            mask.ban_all();
            return self.walk(of, spot, &closers.tokens, LONGEST, mask);
        }
        let known = |k: &Kept| k.node == top.node && k.alike == pattern.alike(spot) && k.around == around;
        match self.kept.iter().find(|k| known(k)) {
            Some(kept) => mask.words().copy_from_slice(&kept.words),
            None => {
                mask.ban_all();
                let closers = core::mem::take(&mut self.closers[place].tokens);
                self.walk(of, Spot { left: u32::MAX, ..spot }, &closers, SHORT, mask);
                self.closers[place].tokens = closers;
                let kept = Kept { node: top.node, alike: pattern.alike(spot), around: around.to_vec(), words: mask.words().to_vec() };
                keep(&mut self.kept, &mut self.next, KEPT, kept);
            }
        }
        let closers = &self.closers[place].tokens;
        for token in &want.words.long {
            match of.follows(spot, *token, closers) {
                true => mask.allow(*token),
                false => mask.ban(*token),
            }
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

    /// Allows what fits, of pieces up to so long, and tells whether that is anything.
    fn walk(&mut self, of: Match, spot: Spot, closers: &[u32], longest: usize, mask: &mut Mask) -> bool {
        let (trie, words) = (&of.want.words.all, of.want.words);
        self.spots.resize(LONGEST + 1, spot);
        self.spots[0] = spot;
        let (mut i, mut found, mut visited) = (0, false, 0);
        while let Some(node) = trie.nodes.get(i) {
            let (depth, at) = (usize::from(node.depth), i);
            i = node.skip as usize;
            visited += 1;
            if depth > longest || (visited > VISITED && depth > 1) {
                continue;
            }
            match of.pattern.take(self.spots[depth - 1], node.byte) {
                Move::To(after) => {
                    if longest == SHORT && after.within == Within::Content && node.below & !of.pattern.stays(after) == 0 {
                        trie.beginning(node).iter().for_each(|t| mask.allow(*t));
                        found = true;
                        continue;
                    }
                    self.spots[depth] = after;
                    if node.ends > 0 && of.below + of.pattern.rest(after, words) <= of.want.budget {
                        trie.ending(node).iter().for_each(|t| mask.allow(*t));
                        found = true;
                    }
                    i = at + 1;
                }
                Move::End => {
                    for token in trie.beginning(node).iter().filter(|t| has(closers, **t)) {
                        if longest == LONGEST || words.vocabulary.piece(*token).len() <= longest {
                            mask.allow(*token);
                            found = true;
                        }
                    }
                }
                Move::Wrong => {}
            }
        }
        found
    }
}

impl Match<'_> {
    /// Whether a token may follow where there is room for it.
    fn follows(&self, mut spot: Spot, token: Token, closers: &[u32]) -> bool {
        for byte in self.want.words.vocabulary.piece(token) {
            match self.pattern.take(spot, *byte) {
                Move::To(after) => spot = after,
                Move::End => return has(closers, token),
                Move::Wrong => return false,
            }
        }
        self.below + self.pattern.rest(spot, self.want.words) <= self.want.budget
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

fn has(mask: &[u32], token: Token) -> bool {
    mask[token as usize / 32] >> (token % 32) & 1 == 1
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
