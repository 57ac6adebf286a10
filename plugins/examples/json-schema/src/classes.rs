// SPDX-License-Identifier: MIT

use crate::automaton::{Automaton, Effort, ANY, NONE};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// Classes of characters that a pattern never tells apart, in any of its states. These are fewer than the kinds of its automaton,
/// each of which is a range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    ranges: Vec<(u32, u32)>, // the first character of each, and its class
    /// A character of each class.
    pub members: Vec<u32>,
}

/// Of characters that fit nowhere.
pub const DEAD: u32 = u32::MAX;

impl Classes {
    pub fn new(automaton: &Automaton, effort: &mut Effort) -> Result<Classes, String> {
        effort.spend(automaton.next.len())?;
        // Where nothing leads to ANY, what goes on from it tells nothing.
        let first = if automaton.next[automaton.kinds.len()..].contains(&ANY) { ANY } else { ANY + 1 };
        let column = |kind| (first..automaton.states() as u16).map(|state| automaton.after(state, kind)).collect::<Vec<u16>>();
        let dead = |column: &Vec<u16>| column.iter().all(|to| *to == NONE);
        Ok(Classes::of((0..automaton.kinds.len()).map(|kind| (automaton.kinds[kind], Some(column(kind)).filter(|c| !dead(c))))))
    }

    /// Those that tell apart what either does.
    pub fn both(&self, other: &Classes) -> Classes {
        let mut firsts: Vec<u32> = self.ranges.iter().chain(&other.ranges).map(|range| range.0).collect();
        firsts.sort_unstable();
        firsts.dedup();
        let classes = |c: u32| Some((self.class(c), other.class(c))).filter(|both| *both != (DEAD, DEAD));
        Classes::of(firsts.into_iter().map(|first| (first, classes(first))))
    }

    /// Those of ranges that are alike in something; none: it is dead.
    fn of<K: Ord>(ranges: impl Iterator<Item = (u32, Option<K>)>) -> Classes {
        let (mut made, mut known) = (Classes::default(), BTreeMap::new());
        for (first, key) in ranges {
            let next = made.members.len() as u32;
            let class = key.map_or(DEAD, |key| *known.entry(key).or_insert(next));
            if class == next {
                made.members.push(first);
            }
            if made.ranges.last().map(|range| range.1) != Some(class) {
                made.ranges.push((first, class));
            }
        }
        made
    }

    /// The class of a character.
    pub fn class(&self, character: u32) -> u32 {
        self.ranges[self.ranges.partition_point(|(first, _)| *first <= character) - 1].1
    }
}
