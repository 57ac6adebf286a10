// SPDX-License-Identifier: MIT

use crate::fill::{search, Wanted};
use crate::schema::{Node, NEVER};
use crate::state::{Frame, Place};
use crate::string::{Piece, Within};
use crate::walk::Walk;
use crate::words::PLAIN;
use alloc::vec::Vec;
use penstock::{Mask, Token};

/// Strings whose masks are kept.
const KEPT: usize = 8;

/// Masks inside strings. There the state is another one after each character, since it counts them, and still what may come
/// hardly changes. So for each place in which a string stands the tokens that can end it are found once, and each mask takes
/// of them, and of those that cannot, what its number of characters allows.
#[derive(Default)]
pub struct Inside {
    kept: Vec<Kept>,
    next: usize,
}

struct Kept {
    around: Vec<Frame>,         // the string's place
    closing: Vec<(Token, u32)>, // with the characters before the end
    most: u32,                  // tokens that complete everything after any token, without what minLength still asks for
}

impl Inside {
    /// Fills the mask and tells whether it did: only between the characters of a string, and where the budget forbids nothing.
    pub fn fill(&mut self, want: &Wanted, walk: &mut Walk, mask: &mut Mask) -> bool {
        let (top, around) = match want.state.split_last() {
            Some((top, around)) => (top, around),
            None => return false,
        };
        let (characters, min, max) = match (top.place, &want.schema.nodes[top.node as usize]) {
            (Place::Text { characters, within: Within::Content }, Node::Text { min, max }) => (characters, *min, *max),
            _ => return false,
        };
        let at = match self.kept.iter().position(|k| k.around == around) {
            Some(at) => at,
            None => {
                mask.clear();
                let kept = Kept::new(want, around, walk, mask);
                self.keep(kept)
            }
        };
        let kept = &self.kept[at];
        let owed = min.saturating_sub(characters);
        if kept.most + want.words.needed(owed) > want.budget {
            return false;
        }
        let left = max - characters;
        mask.words().copy_from_slice(&want.words.open[(left as usize).min(PLAIN)]);
        let long = want.words.long.iter().filter(|(_, n)| *n <= left);
        let closing = kept.closing.iter().filter(|(_, n)| owed <= *n && *n <= left);
        long.chain(closing).for_each(|(t, _)| mask.allow(*t));
        mask.words().iter().any(|word| *word != 0)
    }

    /// Returns where it is kept.
    fn keep(&mut self, kept: Kept) -> usize {
        if self.kept.len() < KEPT {
            self.kept.push(kept);
            return self.kept.len() - 1;
        }
        let at = self.next % KEPT;
        self.next += 1;
        self.kept[at] = kept;
        at
    }
}

impl Kept {
    /// Walks what comes after the end of a string; the mask must be clear.
    fn new(want: &Wanted, around: &[Frame], walk: &mut Walk, mask: &mut Mask) -> Kept {
        let words = want.words;
        let seen = search(walk, Wanted { state: around, budget: NEVER - 1, ..*want }, &words.after, mask);
        let after = words.after.tokens.iter().filter(|t| mask.allows(**t));
        let characters = |t: &Token| Piece::new(words.vocabulary.piece(*t)).map_or(0, |p| p.characters);
        let closing = words.close.iter().chain(after).map(|t| (*t, characters(t))).collect();
        let most = seen.most.max(want.schema.rest(around, words) + words.pending + 1);
        Kept { around: around.to_vec(), closing, most }
    }
}
