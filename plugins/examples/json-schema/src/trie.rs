// SPDX-License-Identifier: MIT

use crate::schema::Bytes;
use alloc::vec::Vec;
use penstock::Token;

/// Pieces of tokens by their bytes, as a list in which each node stands before what begins with it.
#[derive(Debug, Default)]
pub struct Trie {
    pub nodes: Vec<Node>,
    pub tokens: Vec<Token>,
    singles: Bytes,  // that are pieces
    pairs: Vec<u32>, // the nodes of all two bytes; 0: there is none
}

/// One byte of a piece.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub byte: u8,
    /// Bytes up to and including this one.
    pub depth: u8,
    /// How many tokens end here: tokens[first..first + ends].
    pub ends: u16,
    pub first: u32,
    /// The next node that does not begin with this one.
    pub skip: u32,
}

/// Longer pieces are left out: they are never allowed.
pub const LONGEST: usize = 255;

impl Trie {
    /// A trie of these tokens; `piece` gives their bytes, none of which are empty.
    pub fn new<'a>(mut tokens: Vec<Token>, piece: impl Fn(Token) -> &'a [u8]) -> Trie {
        tokens.retain(|t| piece(*t).len() <= LONGEST);
        tokens.sort_unstable_by(|a, b| piece(*a).cmp(piece(*b)).then(a.cmp(b)));
        let mut nodes: Vec<Node> = Vec::new();
        let mut path: Vec<usize> = Vec::new();
        let mut before: &[u8] = &[];
        for (i, token) in tokens.iter().enumerate() {
            let bytes = piece(*token);
            let shared = before.iter().zip(bytes).take_while(|(a, b)| a == b).count();
            for closed in path.drain(shared..) {
                nodes[closed].skip = nodes.len() as u32;
            }
            for (depth, byte) in bytes.iter().enumerate().skip(shared) {
                path.push(nodes.len());
                nodes.push(Node { byte: *byte, depth: depth as u8 + 1, ends: 0, first: i as u32, skip: 0 });
            }
            nodes[path[path.len() - 1]].ends += 1;
            before = bytes;
        }
        for closed in path {
            nodes[closed].skip = nodes.len() as u32;
        }
        // What is shorter comes first, so the first token that ends at a node is the one that made it.
        Trie { nodes, tokens, ..Trie::default() }
    }

    /// Readies the trie for `prefixes`: near its root a byte has so many siblings that looking for it takes long.
    pub fn indexed(mut self) -> Trie {
        self.pairs = alloc::vec![0; 1 << 16];
        let mut first = 0;
        for (i, node) in self.nodes.iter().enumerate() {
            match node.depth {
                1 => {
                    first = node.byte;
                    if node.ends > 0 {
                        self.singles.add(first);
                    }
                }
                2 => self.pairs[pair(first, node.byte)] = i as u32,
                _ => {}
            }
        }
        self
    }

    /// Calls `found` with the length of each piece that `bytes` begins with. The trie must be indexed.
    pub fn prefixes(&self, bytes: &[u8], mut found: impl FnMut(usize)) {
        if bytes.first().map_or(false, |b| self.singles.has(*b)) {
            found(1);
        }
        let mut i = match bytes {
            [a, b, ..] => self.pairs[pair(*a, *b)] as usize,
            _ => 0,
        };
        // A pair's node is not the first: the byte before stands there.
        let mut end = if i == 0 { 0 } else { self.nodes[i].skip as usize };
        for (depth, byte) in bytes.iter().enumerate().skip(1) {
            while i < end && self.nodes[i].byte != *byte {
                i = self.nodes[i].skip as usize;
            }
            if i >= end {
                return;
            }
            if self.nodes[i].ends > 0 {
                found(depth + 1);
            }
            end = self.nodes[i].skip as usize;
            i += 1;
        }
    }

    /// Whether a byte alone is a piece. The trie must be indexed.
    pub fn has_single(&self, byte: u8) -> bool {
        self.singles.has(byte)
    }

    /// Tokens that begin with a node.
    pub fn beginning(&self, node: &Node) -> &[Token] {
        let end = self.nodes.get(node.skip as usize).map_or(self.tokens.len(), |next| next.first as usize);
        &self.tokens[node.first as usize..end]
    }

    /// Tokens that end at a node.
    pub fn ending(&self, node: &Node) -> &[Token] {
        &self.tokens[node.first as usize..][..node.ends as usize]
    }
}

fn pair(a: u8, b: u8) -> usize {
    usize::from(a) << 8 | usize::from(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn trie_has_each_piece_once() {
        let words: [&[u8]; 7] = [b"b", b"abc", b"a", b"ab", b"a", b"bd", b"\xff"];
        let trie = Trie::new((0..7).collect(), |t| words[t as usize]).indexed();
        let mut seen = vec![];
        let mut text = vec![];
        for node in &trie.nodes {
            text.truncate(node.depth as usize - 1);
            text.push(node.byte);
            for token in trie.ending(node) {
                assert_eq!(text, words[*token as usize]);
                seen.push(*token);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2, 3, 4, 5, 6]);
        let mut lengths = vec![];
        trie.prefixes(b"abd", |n| lengths.push(n));
        assert_eq!(lengths, [1, 2]);
        lengths.clear();
        trie.prefixes(b"c", |n| lengths.push(n));
        assert_eq!(lengths, []);
    }
}
