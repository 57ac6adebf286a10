// SPDX-License-Identifier: MIT

use crate::automaton::ANY;
use crate::fill::{search, Wanted};
use crate::pattern::Spot;
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

/// How far a string is.
#[derive(Clone, Copy)]
struct Text {
    owed: u32, // characters that it must still get
    left: u32, // characters that it may still get
}

impl Text {
    fn of(want: &Wanted) -> Option<Text> {
        let top = want.stack.last()?;
        match (top.place, &want.schema.nodes[top.node as usize]) {
            (Place::Text { characters, within: Within::Content }, Node::Text { min, max }) => {
                Some(Text { owed: min.saturating_sub(characters), left: max - characters })
            }
            // Anything fits what is left of it.
            (Place::Pattern(Spot { state: ANY, within: Within::Content, left, .. }), _) => Some(Text { owed: 0, left }),
            _ => None,
        }
    }

    /// Whether the string may end after so many more characters.
    fn may_end(self, characters: u32) -> bool {
        self.owed <= characters && characters <= self.left
    }
}

impl Inside {
    /// Fills the mask and tells whether it did: between the characters of a string. Where the budget admits nothing any more, it
    /// is not looked at.
    pub fn fill(&mut self, want: &Wanted, walk: &mut Walk, mask: &mut Mask) -> bool {
        let text = match Text::of(want) {
            Some(text) => text,
            None => return false,
        };
        let around = &want.stack[..want.stack.len() - 1];
        let at = match self.kept.iter().position(|k| k.around == around) {
            Some(at) => at,
            None => {
                let (closing, seen) = closing(want, NEVER - 1, around, walk, mask);
                let most = seen.max(want.schema.rest(around, want.words) + want.words.pending + 1);
                self.keep(Kept { around: around.to_vec(), closing, most })
            }
        };
        let kept = &self.kept[at];
        let ample = kept.most + want.words.needed(text.owed) <= want.budget;
        if ample || !tight(want, text, around, walk, mask) {
            mask.words().copy_from_slice(&want.words.open[(text.left as usize).min(PLAIN)]);
            let long = want.words.loose.iter().take_while(|l| l.characters > PLAIN as u32);
            long.filter(|l| l.characters <= text.left).for_each(|l| mask.allow(l.token));
            kept.closing.iter().filter(|(_, n)| text.may_end(*n)).for_each(|(t, _)| mask.allow(*t));
        }
        true
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

/// The tokens that end a string in its place and leave no more than the budget to be written, with their characters before the
/// end; and the most that one of them leaves. The mask is void afterwards.
pub(crate) fn closing(want: &Wanted, budget: u32, around: &[Frame], walk: &mut Walk, mask: &mut Mask) -> (Vec<(Token, u32)>, u32) {
    let words = want.words;
    mask.ban_all();
    let seen = search(walk, Wanted { stack: around, budget, ..*want }, &words.after, mask);
    let closed = if want.schema.rest(around, words) <= budget { &words.close[..] } else { &[] };
    let after = words.after.tokens.iter().filter(|t| mask.allowed(**t));
    let characters = |t: &Token| Piece::new(words.vocabulary.piece(*t)).map_or(0, |p| p.characters);
    (closed.iter().chain(after).map(|t| (*t, characters(t))).collect(), seen.most)
}

/// Allows what the budget admits, and tells whether that is anything.
fn tight(want: &Wanted, text: Text, around: &[Frame], walk: &mut Walk, mask: &mut Mask) -> bool {
    let (words, below) = (want.words, want.schema.rest(around, want.words));
    let (closing, _) = closing(want, want.budget, around, walk, mask);
    mask.ban_all();
    let rest = |characters: u32| below + words.needed(text.owed.saturating_sub(characters)) + 1;
    // Of the plain tokens those with enough characters: their masks are cumulative.
    let upper = text.left.min(PLAIN as u32);
    if let Some(least) = (1..=upper).find(|n| rest(*n) <= want.budget) {
        let (upper, lower) = (&words.plain[upper as usize], &words.plain[least as usize - 1]);
        for (word, (u, l)) in mask.words().iter_mut().zip(upper.iter().zip(lower)) {
            *word = u & !l;
        }
    }
    let loose = words.loose.iter().filter(|l| l.characters <= text.left && rest(l.characters) + l.pending <= want.budget);
    loose.for_each(|l| mask.allow(l.token));
    closing.iter().filter(|(_, n)| text.may_end(*n)).for_each(|(t, _)| mask.allow(*t));
    mask.words().iter().any(|word| *word != 0)
}
