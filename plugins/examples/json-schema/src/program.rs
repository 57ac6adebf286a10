// SPDX-License-Identifier: MIT

use crate::characters::Characters;
use crate::regex::{Part, Place, Regex};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Instructions at most.
const LONGEST: usize = 20_000;

/// A regular expression as instructions, which are followed in all ways at once. It may match anywhere in a text.
pub struct Program {
    list: Vec<Instruction>,
    pub sets: Vec<Characters>,
    words: bool, // whether it looks for the ends of words
}

#[derive(Clone, Copy)]
enum Instruction {
    /// A character of this set.
    Take(usize),
    /// Goes on at both.
    Fork(u32, u32),
    Check(Place),
    Matched,
}

/// What is before a place of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Before {
    Start,
    Word,
    Other,
}

/// And what comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    End,
    Word,
    Other,
}

impl Program {
    pub fn new(regex: &Regex) -> Result<Program, String> {
        let mut p = Program { list: Vec::new(), sets: regex.sets.clone(), words: false };
        p.sets.push(Characters::all());
        // What is before the match.
        p.add(Instruction::Fork(1, 3))?;
        p.add(Instruction::Take(p.sets.len() - 1))?;
        p.add(Instruction::Fork(0, 0))?;
        p.append(&regex.root)?;
        p.add(Instruction::Matched)?;
        if p.words {
            p.sets.push(Characters::named('w').unwrap_or_default());
        }
        Ok(p)
    }

    fn add(&mut self, instruction: Instruction) -> Result<usize, String> {
        if self.list.len() >= LONGEST {
            return Err(format!("written out it has more than {} parts; make what is repeated or counted shorter", LONGEST));
        }
        self.list.push(instruction);
        Ok(self.list.len() - 1)
    }

    fn here(&self) -> u32 {
        self.list.len() as u32
    }

    fn append(&mut self, regex: &Part) -> Result<(), String> {
        match regex {
            Part::One(set) => self.add(Instruction::Take(*set)).map(|_| ()),
            Part::At(place) => {
                self.words |= matches!(place, Place::Boundary(_));
                self.add(Instruction::Check(*place)).map(|_| ())
            }
            Part::Sequence(all) => all.iter().try_for_each(|one| self.append(one)),
            Part::Alternatives(all) => self.alternatives(all),
            Part::Repeated(one, least, most) => self.repeat(one, *least, *most),
        }
    }

    fn alternatives(&mut self, all: &[Part]) -> Result<(), String> {
        let mut ends = Vec::new();
        for (i, one) in all.iter().enumerate() {
            let fork = self.add(Instruction::Fork(self.here() + 1, self.here() + 1))?;
            self.append(one)?;
            if i + 1 < all.len() {
                ends.push(self.add(Instruction::Fork(0, 0))?);
                self.list[fork] = Instruction::Fork(fork as u32 + 1, self.here());
            }
        }
        for end in ends {
            self.list[end] = Instruction::Fork(self.here(), self.here());
        }
        Ok(())
    }

    fn repeat(&mut self, one: &Part, least: u32, most: Option<u32>) -> Result<(), String> {
        let begun = self.list.len();
        for _ in 0..least {
            self.append(one)?;
            if self.list.len() == begun {
                return Ok(()); // the empty text, however often
            }
        }
        let most = match most {
            Some(most) => most,
            None => {
                let fork = self.add(Instruction::Fork(0, 0))?;
                self.append(one)?;
                self.add(Instruction::Fork(fork as u32, fork as u32))?;
                self.list[fork] = Instruction::Fork(fork as u32 + 1, self.here());
                return Ok(());
            }
        };
        let mut forks = Vec::new();
        for _ in least..most {
            forks.push(self.add(Instruction::Fork(0, 0))?);
            self.append(one)?;
        }
        for fork in forks {
            self.list[fork] = Instruction::Fork(fork as u32 + 1, self.here());
        }
        Ok(())
    }

    /// The instruction that is reached when it has matched.
    pub fn last(&self) -> u32 {
        self.here() - 1
    }

    /// The set of which an instruction takes a character, and the instruction after it.
    pub fn taking(&self, at: u32) -> Option<(usize, u32)> {
        match self.list[at as usize] {
            Instruction::Take(set) => Some((set, at + 1)),
            _ => None,
        }
    }

    /// What is to be known later of a character that was taken.
    pub fn behind(&self, word: bool) -> Before {
        if word && self.words {
            Before::Word
        } else {
            Before::Other
        }
    }

    pub fn walk(&self) -> Walk {
        Walk { program: self, seen: alloc::vec![0; self.list.len()], round: 0, open: Vec::new(), taken: 0 }
    }
}

/// Finds what can be reached without a character.
pub struct Walk<'a> {
    program: &'a Program,
    seen: Vec<u32>, // by instruction: the round in which it was
    round: u32,
    open: Vec<u32>,
    taken: usize,
}

impl Walk<'_> {
    /// The instructions that are reached from these, in order: up to the next character, and, where it is not known what stands
    /// around the place, up to what asks for it.
    pub fn after(&mut self, from: &[u32], around: Option<(Before, After)>) -> Vec<u32> {
        self.round += 1;
        self.open.extend(from);
        let mut found = Vec::new();
        while let Some(at) = self.open.pop() {
            if core::mem::replace(&mut self.seen[at as usize], self.round) == self.round {
                continue;
            }
            self.taken += 1;
            match (self.program.list[at as usize], around) {
                (Instruction::Fork(a, b), _) => self.open.extend([b, a]),
                (Instruction::Check(place), Some((before, after))) if holds(place, before, after) => self.open.push(at + 1),
                (Instruction::Check(_), Some(_)) => {}
                _ => found.push(at),
            }
        }
        found.sort_unstable();
        found
    }

    /// Instructions that were reached since it was asked last.
    pub fn taken(&mut self) -> usize {
        core::mem::take(&mut self.taken)
    }
}

fn holds(place: Place, before: Before, after: After) -> bool {
    match place {
        Place::Start => before == Before::Start,
        Place::End => after == After::End,
        Place::Boundary(is) => ((before == Before::Word) != (after == After::Word)) == is,
    }
}
