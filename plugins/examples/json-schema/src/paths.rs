// SPDX-License-Identifier: MIT

use crate::schema::{Schema, NEVER};
use crate::state::{Frame, Place, Stack, State, Step};
use crate::words::Words;
use alloc::vec::Vec;

/// One way to read what has been written: the innermost value, and what is around it.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// None: the whole value is complete.
    pub top: Option<Frame>,
    around: u32, // a link
    below: u32,  // tokens that complete what is around
}

/// What is around the innermost values, as lists that begin with the innermost and share their ends. So a value that begins or
/// ends costs the same however deep it stands.
#[derive(Default)]
pub struct Paths {
    links: Vec<Link>,
}

struct Link {
    frame: Frame,
    around: u32,
    below: u32,
}

/// Nothing is around.
const OUTERMOST: u32 = u32::MAX;

/// More ways to read the same text than this are not followed; those that are longest to complete are given up.
const MOST: usize = 64;

impl Path {
    /// Tokens that complete the path at most.
    #[inline]
    pub fn rest(&self, schema: &Schema, words: &Words) -> u32 {
        (self.below + self.top.as_ref().map_or(0, |f| schema.rest_of(f, words))).min(NEVER)
    }

    /// The same path with its innermost value elsewhere.
    #[inline]
    pub fn at(&self, place: Place) -> Path {
        Path { top: self.top.as_ref().map(|top| Frame { place, node: top.node }), ..*self }
    }
}

impl Paths {
    pub fn clear(&mut self) {
        self.links.clear();
    }

    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Forgets links that were made later.
    pub fn truncate(&mut self, len: usize) {
        self.links.truncate(len);
    }

    /// The path of a stack.
    pub fn load(&mut self, schema: &Schema, words: &Words, stack: &[Frame]) -> Path {
        let mut path = Path { top: None, around: OUTERMOST, below: 0 };
        for frame in stack {
            path = match path.top {
                Some(outer) => self.enter(schema, words, path, outer, *frame),
                None => Path { top: Some(*frame), ..path },
            };
        }
        path
    }

    /// The stack of a path.
    fn stack(&self, path: &Path) -> Stack {
        let mut stack: Stack = path.top.into_iter().collect();
        let mut at = path.around;
        while let Some(link) = self.links.get(at as usize) {
            stack.push(link.frame);
            at = link.around;
        }
        stack.reverse();
        stack
    }

    /// Adds the paths that go on from one with a byte. What is complete is left, and what begins is entered, on the way.
    pub fn step(&mut self, schema: &Schema, words: &Words, mut path: Path, byte: u8, next: &mut Vec<Path>) {
        while let Some(top) = path.top {
            if let Place::Before { space } = top.place {
                if space && byte == b' ' {
                    next.push(path.at(Place::Before { space: false }));
                } else {
                    self.begin(schema, path, top, byte, next);
                }
                return;
            }
            match schema.advance(&top, byte) {
                Step::Stay(place) => return next.push(path.at(place)),
                Step::Either(a, b) => return next.extend([path.at(a), path.at(b)]),
                Step::Done => return next.push(self.leave(path)),
                Step::Over => path = self.leave(path),
                Step::Into(place, inner, taken) => {
                    path = self.enter(schema, words, path, Frame { place, ..top }, inner);
                    if taken {
                        return next.push(path);
                    }
                }
                Step::Wrong => return,
            }
        }
    }

    /// The first byte of a value: of all its alternatives that can begin with it.
    fn begin(&self, schema: &Schema, path: Path, top: Frame, byte: u8, next: &mut Vec<Path>) {
        for node in &schema.choices[top.node as usize] {
            if schema.firsts[*node as usize].has(byte) {
                match schema.begin(*node, byte) {
                    Step::Stay(place) => next.push(Path { top: Some(Frame { node: *node, place }), ..path }),
                    Step::Done => next.push(self.leave(path)),
                    _ => {}
                }
            }
        }
    }

    fn enter(&mut self, schema: &Schema, words: &Words, path: Path, outer: Frame, inner: Frame) -> Path {
        let around = self.links.len() as u32;
        self.links.push(Link { frame: outer, around: path.around, below: path.below });
        let below = (path.below + schema.rest_of(&outer, words)).min(NEVER);
        Path { top: Some(inner), around, below }
    }

    fn leave(&self, path: Path) -> Path {
        match self.links.get(path.around as usize) {
            Some(link) => Path { top: Some(link.frame), around: link.around, below: link.below },
            None => Path { top: None, ..path },
        }
    }
}

/// Leaves one of those that are the same, from a place in the list on.
pub fn thin(schema: &Schema, words: &Words, paths: &mut Vec<Path>, from: usize) {
    let mut kept = from;
    for i in from..paths.len() {
        let path = paths[i];
        if !paths[from..kept].iter().any(|p| p.top == path.top && p.around == path.around) {
            paths[kept] = path;
            kept += 1;
        }
    }
    paths.truncate(kept);
    if kept - from > MOST {
        paths[from..].sort_by_key(|p| p.rest(schema, words));
        paths.truncate(from + MOST);
    }
}

impl Schema {
    /// The state before the first byte.
    pub fn start(&self) -> State {
        alloc::vec![alloc::vec![Frame { node: 0, place: Place::Before { space: false } }]]
    }

    /// The state after some more bytes; it has no stack where they cannot stand there.
    pub fn take(&self, words: &Words, state: &State, bytes: &[u8]) -> State {
        let (mut paths, mut next) = (Paths::default(), Vec::new());
        let mut now: Vec<Path> = state.iter().map(|stack| paths.load(self, words, stack)).collect();
        for byte in bytes {
            now.drain(..).for_each(|path| paths.step(self, words, path, *byte, &mut next));
            thin(self, words, &mut next, 0);
            core::mem::swap(&mut now, &mut next);
        }
        let mut state: State = Vec::new();
        for stack in now.iter().map(|path| paths.stack(path)) {
            if !state.contains(&stack) {
                state.push(stack);
            }
        }
        state
    }

    /// Tokens that complete a state at most.
    pub fn least(&self, state: &State, words: &Words) -> u32 {
        state.iter().map(|stack| self.rest(stack, words)).min().unwrap_or(NEVER)
    }
}
