// SPDX-License-Identifier: MIT

use crate::schema::{Spelled, NEVER};
use crate::string::{Piece, Within};
use crate::trie::{Trie, LONGEST};
use alloc::string::String;
use alloc::vec::Vec;
use penstock::{Token, Vocabulary};

/// What is built once for a model's vocabulary.
#[derive(Debug)]
pub struct Words {
    pub vocabulary: Vocabulary,
    /// All tokens that are text.
    pub all: Trie,
    /// Masks: open[c] are all tokens that leave a string open and write 1 to c of its characters, one that is only begun included.
    pub open: Vec<Vec<u32>>,
    /// Those of them that are not plain, the longest first.
    pub loose: Vec<Loose>,
    /// Bytes that one of them lacks at most of its last character.
    pub pending: u32,
    /// Those that are the end of a string and nothing more, and what comes after the end in those that go on.
    pub close: Vec<Token>,
    pub after: Trie,
    /// Masks: plain[c] are the tokens of 1 to c characters that may stand inside any string as they are.
    pub plain: Vec<Vec<u32>>,
    /// There are plain tokens of 1, 2, … up to this many characters.
    pub run: u32,
    /// There is a token for each byte that a character can go on with.
    pub bytes: bool,
    /// Tokens that end generation.
    pub ends: Vec<Token>,
}

/// A token that leaves a string open and is not plain.
#[derive(Clone, Copy, Debug)]
pub struct Loose {
    pub token: Token,
    /// Characters of the string, one that is only begun included.
    pub characters: u32,
    /// Bytes that it lacks of its last character.
    pub pending: u32,
}

/// Plain tokens have so many characters at most.
pub const PLAIN: usize = 16;

/// What the automaton counts on being able to write as one token each.
const NEEDED: &[u8] = b"{}[],:\"\\-.0123456789abcdefntru";

impl Words {
    /// An error names what the vocabulary lacks.
    pub fn new(vocabulary: Vocabulary) -> Result<Words, String> {
        let tokens: Vec<Token> = (0..vocabulary.len() as Token).filter(|t| vocabulary.is_text(*t)).collect();
        let mut plain = alloc::vec![alloc::vec![0u32; (vocabulary.len() + 31) / 32]; PLAIN + 1];
        let mut rare = Vec::new();
        for token in &tokens {
            match characters(vocabulary.piece(*token)) {
                Some(n) if n <= PLAIN => {
                    plain[n..].iter_mut().for_each(|mask| mask[*token as usize / 32] |= 1 << (token % 32));
                }
                _ => rare.push(*token),
            }
        }
        let run = (1..=PLAIN).take_while(|c| plain[*c] != plain[c - 1]).count() as u32;
        let ends = (0..vocabulary.len() as Token).filter(|t| vocabulary.ends(*t)).collect();
        let all = Trie::new(tokens, |t| vocabulary.piece(t)).indexed();
        let single = |byte: u8| {
            let mut found = false;
            all.prefixes(&[byte], |_| found = true);
            found
        };
        if let Some(lacking) = NEEDED.iter().find(|b| !single(**b)) {
            return Err(alloc::format!("the model's vocabulary has no token for the character {:?}", *lacking as char));
        }
        let bytes = (0x80..=0xbf).all(single);
        let (open, loose, close) = (plain.clone(), Vec::new(), Vec::new());
        let mut words = Words { vocabulary, all, plain, run, bytes, ends, open, loose, pending: 0, close, after: Trie::default() };
        words.sort(rare);
        Ok(words)
    }

    /// Finds out what tokens that are not plain do inside a string.
    fn sort(&mut self, rare: Vec<Token>) {
        let mut longer = Vec::new();
        for token in rare {
            let piece = self.vocabulary.piece(token);
            match Piece::new(piece) {
                _ if piece.len() > LONGEST => {}
                Some(Piece { within: Some(Within::Tail { .. }), .. }) if !self.bytes => {} // it could not be completed
                Some(Piece { within: Some(within), characters, .. }) => {
                    let masks = self.open.iter_mut().skip(characters as usize);
                    masks.for_each(|mask| mask[token as usize / 32] |= 1 << (token % 32));
                    self.loose.push(Loose { token, characters, pending: within.pending() });
                    self.pending = self.pending.max(within.pending());
                }
                Some(Piece { bytes, .. }) if bytes == piece.len() => self.close.push(token),
                Some(_) => longer.push(token),
                None => {}
            }
        }
        self.loose.sort_unstable_by_key(|l| core::cmp::Reverse(l.characters));
        let vocabulary = &self.vocabulary;
        self.after = Trie::new(longer, |t| {
            let piece = vocabulary.piece(t);
            &piece[Piece::new(piece).map_or(0, |p| p.bytes)..]
        });
    }

    /// Tokens that write at most so many characters inside a string.
    pub fn needed(&self, characters: u32) -> u32 {
        match (characters, self.run) {
            (0, _) => 0,
            (_, 0) => NEVER,
            (n, run) => (n + run - 1) / run,
        }
    }

    /// A text with the fewest tokens that each of its ends can be spelled with.
    pub fn spell(&self, text: String) -> Spelled {
        let bytes = text.into_bytes();
        let mut tokens = alloc::vec![NEVER; bytes.len() + 1];
        tokens[bytes.len()] = 0;
        for at in (0..bytes.len()).rev() {
            let mut least = NEVER;
            self.all.prefixes(&bytes[at..], |n| least = least.min(tokens[at + n] + 1));
            tokens[at] = least.min(NEVER);
        }
        Spelled { bytes, tokens }
    }
}

/// How many characters a piece has, if it may stand inside a string as it is.
fn characters(piece: &[u8]) -> Option<usize> {
    let text = core::str::from_utf8(piece).ok()?;
    if text.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\') {
        return None;
    }
    Some(text.chars().count())
}
