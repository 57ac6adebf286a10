// SPDX-License-Identifier: MIT

use crate::schema::{Bytes, Spelled};
use alloc::vec::Vec;

/// Texts of which one is to be written: the values of an enum, the names of an object. A trie, so that neither a byte nor what
/// is still to be written costs more where there are thousands of them.
#[derive(Debug, Default)]
pub struct Texts {
    nodes: Vec<Node>, // each before those that begin with it, as in the vocabulary's trie
    longer: Vec<Way>,
}

/// Where a text is after one of its bytes; a root, before the first.
#[derive(Debug)]
struct Node {
    byte: u8,
    ends: bool, // a text does
    skip: u32,  // the next node that does not begin with this one
    shortest: Way,
    longer: u32, // the first of its own, for when the shortest is not open any more; the next node's come after them
}

/// How the texts that go on from a node can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// The number of one of them.
    pub number: u32,
    /// Tokens that it needs from here on, with what comes after it.
    pub least: u32,
}

/// A text with its number.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    pub spelled: &'a Spelled,
    pub number: u32,
    /// Tokens that come after the text.
    pub after: u32,
}

impl Texts {
    /// Adds texts, of which there are some and no two are the same, and returns their root.
    pub fn add(&mut self, mut texts: Vec<Text>) -> u32 {
        texts.sort_unstable_by(|a, b| a.spelled.bytes.cmp(&b.spelled.bytes));
        let begun: Vec<usize> = (0..texts.len()).map(|i| if i == 0 { 0 } else { shared(texts[i - 1], texts[i]) }).collect();
        let bytes: usize = texts.iter().zip(&begun).map(|(t, b)| t.spelled.bytes.len() - b).sum();
        self.nodes.reserve(bytes + 1);
        let root = self.nodes.len();
        self.node(0, 0, &texts);
        let mut path = alloc::vec![root];
        for (i, text) in texts.iter().enumerate() {
            for closed in path.drain(begun[i] + 1..) {
                self.nodes[closed].skip = self.nodes.len() as u32;
            }
            for (at, byte) in text.spelled.bytes.iter().enumerate().skip(begun[i]) {
                let alike = begun[i + 1..].iter().take_while(|b| **b > at).count();
                path.push(self.nodes.len());
                self.node(*byte, at + 1, &texts[i..=i + alike]);
            }
        }
        for closed in path {
            self.nodes[closed].skip = self.nodes.len() as u32;
        }
        root as u32
    }

    /// Adds a node for texts that begin alike. Of their ways those are kept that need less than all with greater numbers.
    fn node(&mut self, byte: u8, at: usize, alike: &[Text]) {
        let mut ways: Vec<Way> = alike.iter().map(|t| Way { number: t.number, least: t.spelled.tokens[at] + t.after }).collect();
        ways.sort_unstable_by_key(|w| (core::cmp::Reverse(w.number), w.least));
        let (mut shortest, longer) = (ways[0], self.longer.len() as u32);
        for way in ways {
            if way.least < shortest.least {
                self.longer.push(shortest);
                shortest = way;
            }
        }
        let ends = alike[0].spelled.bytes.len() == at; // they are in order
        self.nodes.push(Node { byte, ends, skip: 0, shortest, longer });
    }

    /// The shortest way from a node to the end of a text whose number is `from` or greater.
    pub fn way(&self, node: u32, from: u32) -> Option<Way> {
        let at = &self.nodes[node as usize];
        if at.shortest.number >= from {
            return Some(at.shortest);
        }
        let end = self.nodes.get(node as usize + 1).map_or(self.longer.len(), |n| n.longer as usize);
        let longer = &self.longer[at.longer as usize..end];
        longer[..longer.partition_point(|w| w.number >= from)].last().copied()
    }

    /// The node after a byte.
    pub fn next(&self, node: u32, byte: u8) -> Option<u32> {
        self.next_from(node, byte, &mut 0)
    }

    /// The same for one byte after another, each greater than the one before: `child`, 0 at first, is where the search goes on.
    pub fn next_from(&self, node: u32, byte: u8, child: &mut u32) -> Option<u32> {
        let end = self.nodes.get(node as usize)?.skip;
        *child = (*child).max(node + 1);
        while *child < end {
            let found = &self.nodes[*child as usize];
            if found.byte >= byte {
                return (found.byte == byte).then(|| *child);
            }
            *child = found.skip;
        }
        None
    }

    /// All texts under the first root.
    pub fn all(&self) -> Vec<Vec<u8>> {
        let (mut found, mut path) = (Vec::new(), Vec::<(u32, u8)>::new());
        let end = self.nodes.first().map_or(0, |root| root.skip);
        for at in 1..end {
            while path.last().map_or(false, |(skip, _)| *skip <= at) {
                path.pop();
            }
            let node = &self.nodes[at as usize];
            path.push((node.skip, node.byte));
            if node.ends {
                found.push(path.iter().map(|(_, byte)| *byte).collect());
            }
        }
        found
    }

    /// Whether a text ends at a node, though others may go on.
    pub fn ends(&self, node: u32) -> bool {
        self.nodes[node as usize].ends
    }

    /// Whether nothing goes on from a node.
    pub fn is_last(&self, node: u32) -> bool {
        self.nodes[node as usize].skip == node + 1
    }

    /// The bytes with which something goes on.
    pub fn bytes(&self, node: u32) -> Bytes {
        let mut bytes = Bytes::default();
        let end = self.nodes[node as usize].skip;
        let mut child = node + 1;
        while child < end {
            let found = &self.nodes[child as usize];
            bytes.add(found.byte);
            child = found.skip;
        }
        bytes
    }
}

/// With how many bytes both begin.
fn shared(a: Text, b: Text) -> usize {
    a.spelled.bytes.iter().zip(&b.spelled.bytes).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text whose bytes are tokens.
    fn spelled(text: &str) -> Spelled {
        Spelled { bytes: text.as_bytes().to_vec(), tokens: (0..=text.len() as u32).rev().collect() }
    }

    #[test]
    fn ways_are_the_shortest_of_those_that_are_open() {
        let spelled: Vec<Spelled> = ["red", "green", "grey", "gr"].iter().map(|t| spelled(t)).collect();
        let after = [0, 0, 9, 0];
        let text = |i: usize| Text { spelled: &spelled[i], number: i as u32, after: after[i] };
        let mut texts = Texts::default();
        assert_eq!(texts.add(alloc::vec![text(0)]), 0);
        let root = texts.add((0..4).map(text).collect());
        let go = |text: &str| text.bytes().try_fold(root, |node, byte| texts.next(node, byte));
        let way = |number, least| Some(Way { number, least });
        assert_eq!(texts.way(root, 0), way(3, 2));
        assert_eq!(texts.way(go("r").unwrap(), 0), way(0, 2));
        assert_eq!(texts.way(go("r").unwrap(), 1), None);
        assert_eq!(texts.way(go("gr").unwrap(), 0), way(3, 0));
        assert_eq!(texts.way(go("gre").unwrap(), 0), way(1, 2));
        assert_eq!(texts.way(go("gre").unwrap(), 2), way(2, 10));
        assert_eq!((go("gx"), go("greys")), (None, None));
        assert!(texts.is_last(go("grey").unwrap()) && !texts.is_last(go("gr").unwrap()));
        assert!(texts.ends(go("gr").unwrap()) && !texts.ends(go("gre").unwrap()));
        let bytes = texts.bytes(go("gre").unwrap());
        assert_eq!((0..=255).filter(|b| bytes.has(*b)).collect::<Vec<u8>>(), b"ey");
    }
}
