// SPDX-License-Identifier: MIT

use crate::inside::Inside;
use crate::schema::Schema;
use crate::state::{Frame, Place};
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
    kept: Vec<Kept>,
    next: usize,
}

struct Kept {
    state: Vec<Frame>,
    words: Vec<u32>,
    rest: u32, // the mask holds where so many tokens are left afterwards
}

/// Which mask is wanted.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub schema: &'a Schema,
    pub words: &'a Words,
    pub state: &'a [Frame],
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
    /// Allows what may come next. Where the budget admits nothing any more, it is not looked at.
    pub fn fill(&mut self, want: Wanted, mask: &mut Mask) {
        if let Some(kept) = self.kept.iter().find(|k| k.rest <= want.budget && k.state == want.state) {
            mask.words().copy_from_slice(&kept.words);
            return;
        }
        if self.inside.fill(&want, &mut self.walk, mask) {
            return;
        }
        let mut seen = self.search(want, mask);
        if !seen.found {
            seen = self.search(Wanted { budget: u32::MAX, ..want }, mask);
            seen.short = true;
        }
        if !seen.short {
            self.keep(want.state, mask, seen.most);
        }
    }

    fn keep(&mut self, state: &[Frame], mask: &mut Mask, rest: u32) {
        let kept = Kept { state: state.to_vec(), words: mask.words().to_vec(), rest };
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
        if want.schema.complete(want.state) {
            want.words.ends.iter().for_each(|t| mask.allow(*t));
            seen.found |= !want.words.ends.is_empty();
        }
        seen
    }
}

/// Walks a trie and allows what fits.
pub fn search(walk: &mut Walk, want: Wanted, trie: &Trie, mask: &mut Mask) -> Seen {
    let mut seen = Seen::default();
    walk.begin(want.schema, want.words, want.state);
    // Inside a character only its end is looked for: with what may follow, that would be half of the vocabulary.
    let split = inside_character(want.state.last());
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
        i = if split && !inside_character(walk.top(node)) { node.skip as usize } else { at + 1 };
        if node.ends == 0 {
            continue;
        }
        let rest = walk.rest(want.schema, want.words, node);
        if rest > want.budget {
            seen.short |= rest < crate::schema::NEVER;
            continue;
        }
        seen.most = seen.most.max(rest);
        seen.found = true;
        trie.ending(node).iter().for_each(|t| mask.allow(*t));
    }
    seen
}

fn inside_character(frame: Option<&Frame>) -> bool {
    matches!(frame, Some(Frame { place: Place::Text { within, .. }, .. }) if *within != Within::Content)
}
