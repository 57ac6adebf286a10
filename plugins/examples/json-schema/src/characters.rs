// SPDX-License-Identifier: MIT

use alloc::vec::Vec;

/// The last character there is.
pub const LAST: u32 = 0x10ffff;

/// A set of characters: ranges with both ends, in order, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Characters(Vec<(u32, u32)>);

impl Characters {
    pub fn new(ranges: &[(u32, u32)]) -> Characters {
        let mut sorted = ranges.to_vec();
        sorted.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (from, to) in sorted {
            match joined.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        Characters(joined)
    }

    pub fn all() -> Characters {
        Characters::new(&[(0, LAST)])
    }

    /// What `.` stands for: all but the ends of lines.
    pub fn in_line() -> Characters {
        Characters::new(&[(0x0a, 0x0a), (0x0d, 0x0d), (0x2028, 0x2029)]).others()
    }

    /// What `\d`, `\s` or `\w` stands for, or in capitals all others.
    pub fn named(name: char) -> Option<Characters> {
        let set = match name.to_ascii_lowercase() {
            'd' => Characters::new(&[(0x30, 0x39)]),
            'w' => Characters::new(&[(0x30, 0x39), (0x41, 0x5a), (0x5f, 0x5f), (0x61, 0x7a)]),
            's' => Characters::new(&[
                (0x09, 0x0d),
                (0x20, 0x20),
                (0xa0, 0xa0),
                (0x1680, 0x1680),
                (0x2000, 0x200a),
                (0x2028, 0x2029),
                (0x202f, 0x202f),
                (0x205f, 0x205f),
                (0x3000, 0x3000),
                (0xfeff, 0xfeff),
            ]),
            _ => return None,
        };
        Some(if name.is_ascii_uppercase() { set.others() } else { set })
    }

    /// All that are not in the set.
    pub fn others(&self) -> Characters {
        let (mut others, mut next) = (Vec::new(), 0);
        for (from, to) in &self.0 {
            if *from > next {
                others.push((next, from - 1));
            }
            next = to + 1;
        }
        if next <= LAST {
            others.push((next, LAST));
        }
        Characters(others)
    }

    pub fn has(&self, character: u32) -> bool {
        let at = self.0.partition_point(|(_, to)| *to < character);
        self.0.get(at).map_or(false, |(from, _)| *from <= character)
    }

    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_and_turned_around() {
        let set = Characters::new(&[(0x61, 0x63), (0x41, 0x41), (0x64, 0x66), (0x62, 0x62)]);
        assert_eq!(set.ranges(), [(0x41, 0x41), (0x61, 0x66)]);
        assert_eq!(set.others().ranges(), [(0, 0x40), (0x42, 0x60), (0x67, LAST)]);
        assert_eq!((Characters::all().others(), Characters::new(&[]).others()), (Characters::new(&[]), Characters::all()));
        assert!(set.has(0x41) && set.has(0x66) && !set.has(0x42) && !set.has(0x67));
        assert!(Characters::named('W').unwrap().has(0x2d) && !Characters::in_line().has(0x0a));
        assert_eq!(Characters::named('b'), None);
    }
}
