// SPDX-License-Identifier: MIT

use crate::classes::{Classes, DEAD};
use crate::pattern::number;
use crate::schema::Node as Value;
use crate::string::{Took, Within};
use crate::trie::LONGEST;
use crate::words::Words;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;

/// What tokens write inside a string, as a trie of classes of characters: of 128,000 tokens most patterns tell apart no more than
/// some thousand, since they ask the same of nearly all letters. A character counts as it is meant, however it is spelled.
#[derive(Debug, Default)]
pub struct Spellings {
    nodes: Vec<Node>, // the first is the root, the last is none
    marks: Vec<Marks>,
    parts: Vec<(Within, u16)>,
    classes: u32,
    looked: usize,
}

/// Tokens that write the same.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    what: u32,    // a class; then the end; then the parts
    first: u32,   // its marks end where those of the next node begin
    child: u32,   // 0: none
    sibling: u32, // 0: none
}

/// Tokens, as bits of a mask.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    pub word: u32,
    pub bits: u32,
}

/// What a node adds to its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A character of this class.
    Class(u32),
    /// The end of the string, whatever comes after it.
    End,
    /// The beginning of a character, and the bits of its number that are known.
    Part(Within, u16),
}

/// Tries of a schema, bytes of them, and nodes of the vocabulary's trie that making them looks at; after them, the classes of all
/// other patterns are joined, so that `open` stays within its memory and its fuel.
const TRIES: usize = 16;
const BYTES: usize = 4 << 20;
const LOOKED: usize = 1 << 20;

/// Gives each pattern of a schema its trie.
pub fn spell(nodes: &mut [Value], words: &Words) {
    let mut known: Vec<(Classes, Rc<Spellings>)> = Vec::new();
    let (mut bytes, mut looked, mut rest, mut joined) = (0, 0, Vec::new(), None::<Classes>);
    for node in nodes {
        let pattern = match node {
            Value::Pattern(pattern) => pattern,
            _ => continue,
        };
        if let Some((classes, spellings)) = known.iter().find(|(classes, _)| *classes == pattern.classes) {
            pattern.spell(classes, spellings.clone());
        } else if known.len() < TRIES && bytes < BYTES && looked < LOOKED {
            let (classes, spellings) = (pattern.classes.clone(), Rc::new(Spellings::new(&pattern.classes, words)));
            bytes += core::mem::size_of_val(&spellings.nodes[..]) + core::mem::size_of_val(&spellings.marks[..]);
            looked += spellings.looked;
            pattern.spell(&classes, spellings.clone());
            known.push((classes, spellings));
        } else {
            joined = Some(joined.map_or_else(|| pattern.classes.clone(), |joined| joined.both(&pattern.classes)));
            rest.push(pattern);
        }
    }
    if let Some(classes) = joined {
        let spellings = Rc::new(Spellings::new(&classes, words));
        rest.into_iter().for_each(|pattern| pattern.spell(&classes, spellings.clone()));
    }
}

/// How far a token is.
#[derive(Clone, Copy)]
struct At {
    node: u32,
    within: Within,
    begun: u16,
}

impl Spellings {
    pub fn new(classes: &Classes, words: &Words) -> Spellings {
        let count = classes.members.len() as u32;
        let mut made = Spellings { nodes: alloc::vec![Node::default()], classes: count, ..Spellings::default() };
        let plain: Vec<u32> = (0..0x80).map(|c| if matches!(c, 0..=0x1f | 0x22 | 0x5c) { DEAD } else { classes.class(c) }).collect();
        let mut parts = BTreeMap::new();
        let mut owners = alloc::vec![0; words.vocabulary.len()]; // the nodes of the tokens; 0: it can write nothing here
        let mut levels = [At { node: 0, within: Within::Content, begun: 0 }; LONGEST + 1];
        let (trie, mut i) = (&words.all, 0);
        while let Some(byte) = trie.nodes.get(i) {
            let mut at = levels[usize::from(byte.depth) - 1];
            let inside = i + 1;
            made.looked += 1;
            i = byte.skip as usize;
            let class = plain.get(usize::from(byte.byte)).copied().filter(|class| *class != DEAD && at.within == Within::Content);
            if let Some(class) = class {
                at.node = made.add(at.node, class); // nearly always
                levels[usize::from(byte.depth)] = at;
                trie.ending(byte).iter().for_each(|t| owners[*t as usize] = at.node);
                i = inside;
                continue;
            }
            let number = number(at.within, at.begun, byte.byte);
            match at.within.take(byte.byte) {
                Took::Nothing => continue,
                Took::End => {
                    let end = made.add(at.node, count);
                    trie.beginning(byte).iter().for_each(|t| owners[*t as usize] = end);
                    continue;
                }
                Took::Part(within) => at = At { within, begun: number as u16, ..at },
                Took::Character => match classes.class(number) {
                    DEAD => continue,
                    class => at = At { node: made.add(at.node, class), within: Within::Content, begun: 0 },
                },
            }
            levels[usize::from(byte.depth)] = at;
            i = inside;
            let owner = match at.within {
                _ if byte.ends == 0 => continue,
                Within::Content => at.node,
                Within::Tail { .. } if !words.bytes => continue, // it could not be completed
                within => {
                    let next = made.parts.len() as u32;
                    let part = *parts.entry((within, at.begun)).or_insert(next);
                    if part == next {
                        made.parts.push((within, at.begun));
                    }
                    made.add(at.node, count + 1 + part)
                }
            };
            trie.ending(byte).iter().for_each(|t| owners[*t as usize] = owner);
        }
        made.mark(&owners);
        made
    }

    /// The child of a node that adds this, made if there is none.
    fn add(&mut self, node: u32, what: u32) -> u32 {
        let mut child = self.nodes[node as usize].child;
        while child != 0 {
            let Node { what: own, sibling, .. } = self.nodes[child as usize];
            if own == what {
                return child;
            }
            child = sibling;
        }
        let made = self.nodes.len() as u32;
        let first = &mut self.nodes[node as usize].child;
        let sibling = core::mem::replace(first, made);
        self.nodes.push(Node { what, sibling, ..Node::default() });
        made
    }

    /// Notes the tokens of each node.
    fn mark(&mut self, owners: &[u32]) {
        let owned = || owners.iter().enumerate().filter(|(_, node)| **node != 0).map(|(token, node)| (token as u32, *node as usize));
        self.nodes.push(Node::default());
        let mut words = alloc::vec![u32::MAX; self.nodes.len()]; // the last in which a token of the node is
        for (token, node) in owned() {
            if core::mem::replace(&mut words[node], token / 32) != token / 32 {
                self.nodes[node].first += 1;
            }
        }
        let (mut count, mut ends) = (0, Vec::with_capacity(self.nodes.len()));
        for node in &mut self.nodes {
            let marks = core::mem::replace(&mut node.first, count);
            ends.push(count as usize);
            count += marks;
        }
        self.marks = alloc::vec![Marks { word: u32::MAX, bits: 0 }; count as usize];
        for (token, node) in owned() {
            let (first, end) = (self.nodes[node].first as usize, &mut ends[node]);
            if *end == first || self.marks[*end - 1].word != token / 32 {
                *end += 1;
            }
            let mark = &mut self.marks[*end - 1];
            *mark = Marks { word: token / 32, bits: mark.bits | 1 << (token % 32) };
        }
    }

    /// The first of the nodes that come after one; 0: there is none.
    #[inline]
    pub fn child(&self, node: u32) -> u32 {
        self.nodes[node as usize].child
    }

    /// What a node adds, and the next one that comes after its parent; 0: there is none.
    #[inline]
    pub fn node(&self, node: u32) -> (What, u32) {
        let Node { what, sibling, .. } = self.nodes[node as usize];
        if what < self.classes {
            return (What::Class(what), sibling);
        }
        match self.parts.get((what - self.classes).wrapping_sub(1) as usize) {
            Some((within, begun)) => (What::Part(*within, *begun), sibling),
            None => (What::End, sibling),
        }
    }

    /// The tokens of a node.
    pub fn marks(&self, node: u32) -> &[Marks] {
        let (from, to) = (self.nodes[node as usize].first, self.nodes[node as usize + 1].first);
        &self.marks[from as usize..to as usize]
    }
}
