// SPDX-License-Identifier: MIT

use crate::inside::Inside;
use crate::matches::Matches;
use crate::pattern::Spot;
use crate::schema::{Schema, NEVER};
use crate::state::{Frame, Place, Stack, State};
use crate::string::Within;
use crate::trie::Trie;
use crate::walk::Walk;
use crate::words::Words;
use alloc::vec::Vec;
use penstock::Mask;

/// Masks that are kept: in a list of numbers, the same ones are wanted again and again.
const KEPT: usize = 8;

/// Fills masks; keeps what it can use again.
#[derive(Default)]
pub struct Filler {
    walk: Walk,
    inside: Inside,
    matches: Matches,
    kept: Vec<Kept>,
    next: usize,
}

struct Kept {
    stack: Stack,
    words: Vec<u32>,
    rest: u32, // the mask holds where so many tokens are left afterwards
}

/// Which mask is wanted: of one way to read what has been written.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub schema: &'a Schema,
    pub words: &'a Words,
    pub stack: &'a [Frame],
    /// Tokens that may follow the one the mask is for.
    pub budget: u32,
}

/// What a walk came across.
#[derive(Default)]
pub struct Seen {
    pub most: u32, // rest of all that was allowed
    short: bool,   // something was not allowed because of the budget
    found: bool,
}

impl Filler {
    /// Allows what may come next in any of the ways to read what has been written that can be completed in the tokens that are left
    /// after the next (`budget`); where none can, in the one that needs least.
    pub fn fill(&mut self, schema: &Schema, words: &Words, state: &State, budget: u32, mask: &mut Mask) {
        let least = schema.least(state, words);
        let fits = |stack: &&Stack| schema.rest(stack, words) <= least.max(budget.saturating_add(1));
        let mut filled: Option<Vec<u32>> = None;
        self.matches.begin();
        for stack in state.iter().filter(fits) {
            self.one(Wanted { schema, words, stack, budget }, mask);
            match &mut filled {
                Some(filled) => filled.iter_mut().zip(mask.words().iter()).for_each(|(all, one)| *all |= one),
                None if state.len() > 1 => filled = Some(mask.words().to_vec()),
                None => {}
            }
        }
        if let Some(filled) = filled {
            mask.words().copy_from_slice(&filled);
        }
    }

    /// Allows what may come next. Where the budget admits nothing any more, it is not looked at.
    fn one(&mut self, want: Wanted, mask: &mut Mask) {
        if let Some(kept) = self.kept.iter().find(|k| k.rest <= want.budget && k.stack == want.stack) {
            mask.words().copy_from_slice(&kept.words);
            return;
        }
        if self.inside.fill(&want, &mut self.walk, mask) || self.matches.fill(&want, &mut self.walk, mask) {
            return;
        }
        let mut seen = self.search(want, mask);
        if !seen.found {
            seen = self.search(Wanted { budget: NEVER - 1, ..want }, mask);
            seen.short = true;
        }
        if !seen.short {
            self.keep(want.stack, mask, seen.most);
        }
    }

    fn keep(&mut self, stack: &[Frame], mask: &mut Mask, rest: u32) {
        let kept = Kept { stack: stack.to_vec(), words: mask.words().to_vec(), rest };
        if self.kept.len() < KEPT {
            self.kept.push(kept);
        } else {
            self.kept[self.next % KEPT] = kept;
            self.next += 1;
        }
    }

    fn search(&mut self, want: Wanted, mask: &mut Mask) -> Seen {
        mask.ban_all();
        let mut seen = search(&mut self.walk, want, &want.words.all, mask);
        if want.schema.complete(want.stack) {
            want.words.ends.iter().for_each(|t| mask.allow(*t));
            seen.found |= !want.words.ends.is_empty();
        }
        seen
    }
}

/// Walks a trie and allows what fits.
pub fn search(walk: &mut Walk, want: Wanted, trie: &Trie, mask: &mut Mask) -> Seen {
    let mut seen = Seen::default();
    walk.begin(want.schema, want.words, want.stack);
    // Inside a character only its end is looked for: with what may follow, that would be half of the vocabulary.
    let split = inside_character(want.stack.last());
    let mut i = 0;
    while let Some(at) = walk.seek(trie, i) {
        let node = &trie.nodes[at];
        if !walk.step(want.schema, want.words, node) {
            i = node.skip as usize;
            continue;
        }
        if node.skip as usize > at + 1 {
            walk.look(want.schema, node.depth);
        }
        i = if split && !walk.at(node.depth).iter().any(|p| inside_character(p.top.as_ref())) { node.skip as usize } else { at + 1 };
        if node.ends == 0 {
            continue;
        }
        let rest = walk.rest(want.schema, want.words, node);
        if rest > want.budget {
            seen.short |= rest < NEVER;
            continue;
        }
        seen.most = seen.most.max(rest);
        seen.found = true;
        trie.ending(node).iter().for_each(|t| mask.allow(*t));
    }
    seen
}

fn inside_character(frame: Option<&Frame>) -> bool {
    match frame.map(|f| f.place) {
        Some(Place::Text { within, .. } | Place::Pattern(Spot { within, .. })) => within != Within::Content,
        _ => false,
    }
}
