// SPDX-License-Identifier: MIT

use crate::characters::{Characters, LAST};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A regular expression of ECMA-262, as JSON Schema's `pattern` is one: of what it allows, all that is regular.
#[derive(Clone, Debug)]
pub struct Regex {
    pub root: Part,
    /// The sets of characters that are in it, each once.
    pub sets: Vec<Characters>,
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub enum Part {
    /// A character of the set with this number.
    One(usize),
    /// A place: `^`, `$`, `\b`, `\B`.
    At(Place),
    /// One after another; none: the empty text.
    Sequence(Vec<Part>),
    Alternatives(Vec<Part>),
    /// So many times at least, and at most.
    Repeated(Box<Part>, u32, Option<u32>),
}

/// Something that holds between two characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Start,
    End,
    /// Between a character of a word and another one, or not.
    Boundary(bool),
}

/// Groups inside groups.
const DEPTH: usize = 64;

/// A count in braces at most.
const COUNT: u32 = 10_000;

impl Regex {
    /// Reads an expression. An error says what is wrong, or not regular.
    pub fn new(text: &str) -> Result<Regex, String> {
        let mut parser = Parser { text: text.chars().collect(), at: 0, depth: 0, sets: Vec::new(), known: BTreeMap::new() };
        let root = parser.alternatives()?;
        match parser.peek() {
            None => Ok(Regex { root, sets: parser.sets }),
            Some(c) => Err(format!("{} at {} closes nothing; write \\{}", c, parser.at, c)),
        }
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
    sets: Vec<Characters>,
    known: BTreeMap<Characters, usize>,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, expected: &str) -> bool {
        let found = expected.chars().enumerate().all(|(i, c)| self.text.get(self.at + i) == Some(&c));
        if found {
            self.at += expected.chars().count();
        }
        found
    }

    fn next(&mut self) -> Result<char, String> {
        let c = self.peek().ok_or("it ends too early; close what is open")?;
        self.at += 1;
        Ok(c)
    }

    fn alternatives(&mut self) -> Result<Part, String> {
        let mut all = alloc::vec![self.sequence()?];
        while self.eat("|") {
            all.push(self.sequence()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Part::Alternatives(all) })
    }

    fn sequence(&mut self) -> Result<Part, String> {
        let mut all = Vec::new();
        while let Some(c) = self.peek() {
            if c == '|' || c == ')' {
                break;
            }
            let begun = self.at;
            let one = self.one()?;
            all.push(self.repeated(one, begun)?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Part::Sequence(all) })
    }

    fn one(&mut self) -> Result<Part, String> {
        let at = self.at;
        Ok(match self.next()? {
            '^' => Part::At(Place::Start),
            '$' => Part::At(Place::End),
            '.' => self.of(Characters::in_line()),
            '(' => self.group(at)?,
            '[' => {
                let class = self.class()?;
                self.of(class)
            }
            '\\' => self.escape(at)?,
            c @ ('*' | '+' | '?') => return Err(format!("{} at {} repeats nothing; write \\{}", c, at, c)),
            c => self.single(c as u32),
        })
    }

    fn of(&mut self, set: Characters) -> Part {
        let sets = &mut self.sets;
        Part::One(*self.known.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            sets.len() - 1
        }))
    }

    fn single(&mut self, c: u32) -> Part {
        self.of(Characters::new(&[(c, c)]))
    }

    fn group(&mut self, at: usize) -> Result<Part, String> {
        for (head, what) in [("?=", "look-ahead"), ("?!", "look-ahead"), ("?<=", "look-behind"), ("?<!", "look-behind")] {
            if self.eat(head) {
                return Err(format!("({} at {} is {}, which is not followed here; say it another way, or with allOf", head, at, what));
            }
        }
        if self.eat("?<") {
            while self.next()? != '>' {}
        } else if !self.eat("?:") && self.peek() == Some('?') {
            return Err(format!("(? at {} begins an unknown kind of group; write (?: or (", at));
        }
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("groups are more than {} levels deep", DEPTH));
        }
        let inner = self.alternatives()?;
        self.depth -= 1;
        if !self.eat(")") {
            return Err(format!("the group at {} is not closed", at));
        }
        Ok(inner)
    }

    fn repeated(&mut self, one: Part, begun: usize) -> Result<Part, String> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => match self.counts()? {
                Some(counts) => counts,
                None => return Ok(one),
            },
            _ => return Ok(one),
        };
        if matches!(one, Part::At(_)) {
            return Err(format!("a place cannot be repeated, as at {}", begun));
        }
        self.at += 1;
        self.eat("?"); // what is tried first makes no difference
        Ok(Part::Repeated(Box::new(one), least, most))
    }

    /// {n}, {n,} or {n,m}, up to the brace that closes it; none: it is only a brace.
    fn counts(&mut self) -> Result<Option<(u32, Option<u32>)>, String> {
        let rest: String = self.text[self.at + 1..].iter().take_while(|c| **c != '}').collect();
        let (least, most) = rest.split_once(',').unwrap_or((&rest, &rest));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if least.is_empty() || !digits(least) || !digits(most) || self.text.get(self.at + 1 + rest.chars().count()) != Some(&'}') {
            return Ok(None);
        }
        let count = |text: &str| match text.parse() {
            Ok(n) if n <= COUNT => Ok(n),
            _ => Err(format!("{{{}}} at {} counts further than {}", rest, self.at, COUNT)),
        };
        let counts = (count(least)?, if most.is_empty() { None } else { Some(count(most)?) });
        if counts.1.map_or(false, |most| most < counts.0) {
            return Err(format!("{{{}}} at {} counts down", rest, self.at));
        }
        self.at += rest.len() + 1;
        Ok(Some(counts))
    }

    /// What follows a backslash outside of a class.
    fn escape(&mut self, at: usize) -> Result<Part, String> {
        let c = self.peek().ok_or("it ends with a backslash; write \\\\")?;
        match c {
            'b' | 'B' => {
                self.at += 1;
                Ok(Part::At(Place::Boundary(c == 'b')))
            }
            '1'..='9' | 'k' => {
                Err(format!("\\{} at {} refers back to a group, which is not regular; spell out what may be repeated", c, at))
            }
            _ => Ok(match self.set()? {
                Some(set) => self.of(set),
                None => {
                    let c = self.character(at)?;
                    self.single(c)
                }
            }),
        }
    }

    /// A set that is written as \d, \s or \w.
    fn set(&mut self) -> Result<Option<Characters>, String> {
        let set = self.peek().and_then(Characters::named);
        self.at += usize::from(set.is_some());
        Ok(set)
    }

    /// The character that is written as an escape, after the backslash.
    fn character(&mut self, at: usize) -> Result<u32, String> {
        let c = self.next()?;
        Ok(match c {
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            '0' if !self.peek().map_or(false, |c| c.is_ascii_digit()) => 0,
            'c' => match self.next()? {
                letter if letter.is_ascii_alphabetic() => letter as u32 % 32,
                other => return Err(format!("\\c{} at {} is no control character", other, at)),
            },
            'x' => self.digits(2, at)?,
            'u' => self.unicode(at)?,
            'p' | 'P' => {
                return Err(format!("\\{} at {} is a property of Unicode, which is not known here; list ranges, as in [a-zà-ÿ]", c, at))
            }
            c if c.is_ascii_alphanumeric() => return Err(format!("\\{} at {} is no escape; write {}", c, at, c)),
            c => c as u32,
        })
    }

    /// \uXXXX, a pair of these, or \u{X…}, after the u.
    fn unicode(&mut self, at: usize) -> Result<u32, String> {
        if self.eat("{") {
            let (mut value, mut any) = (0, false);
            while !self.eat("}") {
                value = value * 16 + self.digits(1, at)?;
                any = true;
                if value > LAST {
                    break;
                }
            }
            return if any && value <= LAST { Ok(value) } else { Err(format!("\\u{{ at {} is no character", at)) };
        }
        let high = self.digits(4, at)?;
        let after = self.at;
        if (0xd800..0xdc00).contains(&high) && self.eat("\\u") {
            let low = self.digits(4, at)?;
            if (0xdc00..0xe000).contains(&low) {
                return Ok(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            }
            self.at = after;
        }
        Ok(high)
    }

    fn digits(&mut self, count: usize, at: usize) -> Result<u32, String> {
        let mut value = 0;
        for _ in 0..count {
            let c = self.next()?;
            value = value * 16 + c.to_digit(16).ok_or_else(|| format!("{} in the escape at {} is no hexadecimal digit", c, at))?;
        }
        Ok(value)
    }

    /// What stands in brackets, after the first.
    fn class(&mut self) -> Result<Characters, String> {
        let (negated, mut ranges) = (self.eat("^"), Vec::new());
        while !self.eat("]") {
            let at = self.at;
            let from = self.member(&mut ranges)?;
            let (dash, closed) = (self.peek() == Some('-'), self.text.get(self.at + 1) == Some(&']'));
            let from = match from {
                Some(from) if dash && !closed => from,
                Some(one) => {
                    ranges.push((one, one));
                    continue;
                }
                None => continue,
            };
            self.at += 1;
            match self.member(&mut ranges)? {
                Some(to) if to >= from => ranges.push((from, to)),
                Some(_) => return Err(format!("the range at {} goes down", at)),
                None => return Err(format!("the range at {} ends with a set of characters", at)),
            }
        }
        let set = Characters::new(&ranges);
        Ok(if negated { set.others() } else { set })
    }

    /// One character of a class, or none where it is a set of them, which is added.
    fn member(&mut self, ranges: &mut Vec<(u32, u32)>) -> Result<Option<u32>, String> {
        let at = self.at;
        match self.next()? {
            '\\' if self.eat("b") => Ok(Some(8)),
            '\\' => match self.set()? {
                Some(set) => {
                    ranges.extend(set.ranges());
                    Ok(None)
                }
                None => self.character(at).map(Some),
            },
            c => Ok(Some(c as u32)),
        }
    }
}
