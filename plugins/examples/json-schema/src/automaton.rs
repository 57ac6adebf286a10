// SPDX-License-Identifier: MIT

use crate::characters::{Characters, LAST};
use crate::program::{After, Before, Program};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A deterministic automaton over characters. Characters that it never tells apart are one kind.
#[derive(Clone, Debug)]
pub struct Automaton {
    /// The first character of each kind; a kind's last is the one before the next.
    pub kinds: Vec<u32>,
    /// By state and kind: the next state.
    pub next: Vec<u16>,
    /// By state: whether the text may end.
    pub ends: Vec<bool>,
}

/// The first state: any text fits from here on.
pub const ANY: u16 = 0;

/// Where it begins.
pub const START: u16 = 1;

/// No text fits any more.
pub const NONE: u16 = u16::MAX;

/// No text has these.
const SURROGATES: (u32, u32) = (0xd800, 0xdfff);

/// What making automata may cost: all that `open` makes must fit into its fuel.
pub struct Effort(pub u32);

impl Effort {
    /// States of one automaton at most.
    pub const STATES: usize = 4096;

    pub fn spend(&mut self, steps: usize) -> Result<(), String> {
        match self.0.checked_sub(steps as u32) {
            Some(left) => self.0 = left,
            None => return Err(String::from("patterns and formats are too much to work through; simplify them, or leave some out")),
        }
        Ok(())
    }
}

/// States that are being made, by what they stand for.
struct Made<K> {
    known: BTreeMap<K, u16>,
    keys: Vec<K>,
}

impl<K: Ord + Clone> Made<K> {
    fn new(any: K, start: K) -> Made<K> {
        let known = core::iter::once((start.clone(), START)).collect();
        Made { known, keys: alloc::vec![any, start] }
    }

    fn state(&mut self, key: K) -> Result<u16, String> {
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let state = self.keys.len();
        if state >= Effort::STATES {
            return Err(format!("it takes more than {} states; make what is repeated or counted shorter", Effort::STATES));
        }
        self.known.insert(key.clone(), state as u16);
        self.keys.push(key);
        Ok(state as u16)
    }
}

impl Automaton {
    /// The automaton of a program: each state is a set of places in it.
    pub fn new(program: &Program, effort: &mut Effort) -> Result<Automaton, String> {
        let kinds = kinds(&program.sets);
        effort.spend(kinds.len() * program.sets.len())?;
        let member: Vec<Vec<bool>> = program.sets.iter().map(|set| kinds.iter().map(|c| set.has(*c)).collect()).collect();
        let word = Characters::named('w').unwrap_or_default();
        let mut walk = program.walk();
        let start = (walk.after(&[0], None), Before::Start);
        let mut made = Made::new((Vec::new(), Before::Start), start);
        let (mut next, mut ends) = (alloc::vec![ANY; kinds.len()], alloc::vec![true]);
        let mut at = usize::from(START);
        while let Some((set, before)) = made.keys.get(at).cloned() {
            ends.push(walk.after(&set, Some((before, After::End))).contains(&program.last()));
            let open = [After::Other, After::Word].map(|after| walk.after(&set, Some((before, after))));
            effort.spend(walk.taken())?;
            for (kind, first) in kinds.iter().enumerate() {
                let is_word = word.has(*first);
                let open = &open[usize::from(is_word)];
                if open.contains(&program.last()) {
                    next.push(ANY); // it has matched, whatever follows
                    continue;
                }
                let from = open.iter().filter_map(|at| program.taking(*at)).filter(|(set, _)| member[*set][kind]).map(|(_, to)| to);
                let set = walk.after(&from.collect::<Vec<u32>>(), None);
                effort.spend(16 + open.len() + walk.taken())?;
                next.push(if set.is_empty() { NONE } else { made.state((set, program.behind(is_word)))? });
            }
            at += 1;
        }
        Ok(Automaton { kinds, next, ends }.trimmed())
    }

    /// The texts of so many characters or more.
    pub fn at_least(count: u32, effort: &mut Effort) -> Result<Automaton, String> {
        let count = count as usize;
        if count + 1 >= Effort::STATES {
            return Err(format!("with pattern or format, minLength must be less than {}", Effort::STATES - 1));
        }
        effort.spend(count)?;
        let kinds = kinds(&[]);
        let mut next = alloc::vec![ANY; kinds.len()];
        for state in 1..=count {
            let to = if state == count { ANY } else { state as u16 + 1 };
            next.resize(next.len() + kinds.len(), to);
        }
        let ends = (0..=count).map(|state| state == 0).collect();
        Ok(Automaton { kinds, next, ends }.trimmed())
    }

    /// The texts that both take.
    pub fn both(&self, other: &Automaton, effort: &mut Effort) -> Result<Automaton, String> {
        let mut kinds: Vec<u32> = self.kinds.iter().chain(&other.kinds).copied().collect();
        kinds.sort_unstable();
        kinds.dedup();
        let of = |a: &Automaton| kinds.iter().map(|c| a.kind(*c)).collect::<Vec<usize>>();
        let (own, others) = (of(self), of(other));
        let mut made = Made::new((ANY, ANY), (self.start(), other.start()));
        made.known.insert((ANY, ANY), ANY);
        let (mut next, mut ends) = (alloc::vec![ANY; kinds.len()], alloc::vec![true]);
        let mut at = usize::from(START);
        while let Some((a, b)) = made.keys.get(at).copied() {
            effort.spend(kinds.len())?;
            ends.push(self.ends[usize::from(a)] && other.ends[usize::from(b)]);
            for kind in 0..kinds.len() {
                let to = (self.after(a, own[kind]), other.after(b, others[kind]));
                next.push(if to.0 == NONE || to.1 == NONE { NONE } else { made.state(to)? });
            }
            at += 1;
        }
        Ok(Automaton { kinds, next, ends }.trimmed())
    }

    /// The state before the first character.
    pub fn start(&self) -> u16 {
        if self.ends.len() > 1 {
            START
        } else {
            ANY
        }
    }

    pub fn states(&self) -> usize {
        self.ends.len()
    }

    /// The kind of a character.
    pub fn kind(&self, character: u32) -> usize {
        self.kinds.partition_point(|first| *first <= character) - 1
    }

    /// The state after a character of a kind.
    pub fn after(&self, state: u16, kind: usize) -> u16 {
        self.next[usize::from(state) * self.kinds.len() + kind]
    }

    /// The last character of a kind.
    pub fn last(&self, kind: usize) -> u32 {
        self.kinds.get(kind + 1).map_or(LAST, |next| next - 1)
    }

    /// Whether it takes a text.
    pub fn takes(&self, text: &str) -> bool {
        let mut state = self.start();
        for c in text.chars() {
            state = self.after(state, self.kind(c as u32));
            if state == NONE {
                return false;
            }
        }
        self.ends[usize::from(state)]
    }

    /// Whether it takes no text at all.
    pub fn is_empty(&self) -> bool {
        self.start() == START && !self.ends[usize::from(START)] && self.row(START).iter().all(|to| *to == NONE)
    }

    pub fn row(&self, state: u16) -> &[u16] {
        let from = usize::from(state) * self.kinds.len();
        &self.next[from..from + self.kinds.len()]
    }

    /// The states that lead to each, some twice.
    pub fn sources(&self) -> Vec<Vec<u16>> {
        let mut sources = alloc::vec![Vec::new(); self.states()];
        for state in 0..self.states() as u16 {
            for to in self.row(state).iter().filter(|to| **to != NONE) {
                if sources[usize::from(*to)].last() != Some(&state) {
                    sources[usize::from(*to)].push(state);
                }
            }
        }
        sources
    }

    /// The same without ways that lead to no end.
    fn trimmed(mut self) -> Automaton {
        for (kind, first) in self.kinds.clone().into_iter().enumerate() {
            if (SURROGATES.0..=SURROGATES.1).contains(&first) {
                (0..self.states()).for_each(|state| self.next[state * self.kinds.len() + kind] = NONE);
            }
        }
        let sources = self.sources();
        let mut lives = self.ends.clone();
        let mut open: Vec<u16> = (0..self.states() as u16).filter(|s| lives[usize::from(*s)]).collect();
        while let Some(state) = open.pop() {
            for from in &sources[usize::from(state)] {
                if !lives[usize::from(*from)] {
                    lives[usize::from(*from)] = true;
                    open.push(*from);
                }
            }
        }
        for to in &mut self.next {
            if *to != NONE && !lives[usize::from(*to)] {
                *to = NONE;
            }
        }
        self
    }
}

/// The first character of each kind, where these sets are what is told apart.
fn kinds(sets: &[Characters]) -> Vec<u32> {
    let mut kinds = alloc::vec![0, SURROGATES.0, SURROGATES.1 + 1];
    for (from, to) in sets.iter().flat_map(|set| set.ranges()) {
        kinds.push(*from);
        kinds.push(to + 1);
    }
    kinds.retain(|first| *first <= LAST);
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}
