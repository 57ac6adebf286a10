// SPDX-License-Identifier: MIT

use crate::paths::{thin, Path, Paths};
use crate::schema::{Bytes, Schema, NEVER};
use crate::state::Frame;
use crate::trie::{Node, Trie, LONGEST};
use crate::words::Words;
use alloc::vec::Vec;

/// The ways to read what has been written, along a path of the trie: some for each depth.
#[derive(Default)]
pub struct Walk {
    around: Paths,
    paths: Vec<Path>, // those of a depth stand after those of the depth before
    levels: Vec<Level>,
    next: Vec<Bytes>, // by depth: what may follow
}

/// The paths of one depth.
#[derive(Clone, Copy, Default)]
struct Level {
    from: usize,
    to: usize,
    links: usize, // that these and the depths before have made
    child: u32,   // how far the texts are looked through, where a path is in one; see `Texts::next_from`
}

impl Walk {
    /// Starts from a stack.
    pub fn begin(&mut self, schema: &Schema, words: &Words, stack: &[Frame]) {
        self.levels.resize(LONGEST + 1, Level::default());
        self.next.resize(LONGEST + 1, Bytes::default());
        self.around.clear();
        self.paths.clear();
        self.paths.push(self.around.load(schema, words, stack));
        self.levels[0] = Level { from: 0, to: 1, links: self.around.len(), child: 0 };
        self.look(schema, 0);
    }

    /// Notes what may follow the byte of this depth.
    pub fn look(&mut self, schema: &Schema, depth: u8) {
        let Level { from, to, .. } = self.levels[depth as usize];
        let next = &mut self.next[depth as usize];
        if to == from + 1 {
            *next = self.paths[from].top.as_ref().map_or(Bytes::default(), |top| schema.may_follow(top));
            return; // nearly always
        }
        *next = Bytes::default();
        for top in self.paths[from..to].iter().filter_map(|path| path.top.as_ref()) {
            next.join(&schema.may_follow(top));
        }
    }

    /// The paths of a depth.
    pub fn at(&self, depth: u8) -> &[Path] {
        let level = &self.levels[depth as usize];
        &self.paths[level.from..level.to]
    }

    /// The first node from `i` on that may follow its parent, which was looked at. This is quicker than steps that fail, and of
    /// many siblings few can be taken where texts are to be written.
    pub fn seek(&self, trie: &Trie, mut i: usize) -> Option<usize> {
        let mut node = trie.nodes.get(i)?;
        loop {
            let (depth, next) = (node.depth, &self.next[node.depth as usize - 1]);
            while node.depth == depth {
                if next.has(node.byte) {
                    return Some(i);
                }
                i = node.skip as usize;
                node = trie.nodes.get(i)?;
            }
        }
    }

    /// Takes the byte of a node, whose parent was taken before; false where it cannot stand there.
    pub fn step(&mut self, schema: &Schema, words: &Words, node: &Node) -> bool {
        let before = &mut self.levels[node.depth as usize - 1];
        self.paths.truncate(before.to);
        if before.to == before.from + 1 {
            let (path, to) = (&self.paths[before.from], before.to);
            if let Some(place) = path.top.as_ref().and_then(|top| schema.inside_text(top, node.byte, &mut before.child)) {
                let (path, links) = (path.at(place), before.links);
                self.paths.push(path);
                self.levels[node.depth as usize] = Level { from: to, to: to + 1, links, child: 0 };
                return true;
            }
        }
        let before = *before;
        self.around.truncate(before.links);
        for i in before.from..before.to {
            let path = self.paths[i];
            self.around.step(schema, words, path, node.byte, &mut self.paths);
        }
        if self.paths.len() > before.to + 1 {
            thin(schema, words, &mut self.paths, before.to);
        }
        self.levels[node.depth as usize] = Level { from: before.to, to: self.paths.len(), links: self.around.len(), child: 0 };
        self.paths.len() > before.to
    }

    /// Tokens that complete what is written at a node at most.
    pub fn rest(&self, schema: &Schema, words: &Words, node: &Node) -> u32 {
        let level = &self.levels[node.depth as usize];
        let mut least = NEVER;
        for path in &self.paths[level.from..level.to] {
            least = least.min(path.rest(schema, words));
        }
        least
    }
}
