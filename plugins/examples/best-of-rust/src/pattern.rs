// SPDX-License-Identifier: MIT

//! Regular expressions, as far as votes need them: characters, `.`, `[classes]`, `\d \w \s` and
//! their opposites, `^`, `$`, `\b`, groups, `|`, and `* + ? {m,n}`, which may be lazy. They match
//! what those of RE2 and Go match. Each character of a text takes at most as long as all steps of
//! the expression.

/// An expression as a program.
pub struct Pattern {
    steps: Vec<Step>,
    groups: usize, // with the whole
}

#[derive(Clone)]
enum Step {
    Class(bool, Vec<(char, char)>), // whether it must be in one of the ranges
    Either(usize, usize),           // the first is tried first
    Save(usize),
    At(char), // ^, $ or b
    End,
}

struct Reader<'a> {
    left: std::iter::Peekable<std::str::Chars<'a>>,
    steps: Vec<Step>,
    groups: usize,
    depth: usize,
}

/// Where the whole and the groups begin and end.
type Places = Vec<Option<usize>>;

const MOST_STEPS: usize = 1_000;
const DEEPEST: usize = 50;

impl Pattern {
    /// Reads an expression. The error says what it has that is not known here.
    pub fn read(text: &str) -> Result<Pattern, String> {
        let mut reader = Reader { left: text.chars().peekable(), steps: vec![Step::Save(0)], groups: 1, depth: 0 };
        reader.either()?;
        if reader.left.next().is_some() {
            return Err("a ) closes nothing".to_string());
        }
        reader.steps.extend([Step::Save(1), Step::End]);
        Ok(Pattern { steps: reader.steps, groups: reader.groups })
    }

    /// What the first group, or all where there is no group, matches last.
    pub fn last(&self, text: &str) -> Option<String> {
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut end, mut last) = (0, None, None);
        while let Some(places) = self.matched(&text, at) {
            let (from, to) = (places[0]?, places[1]?);
            if from < to || end != Some(from) {
                let group = if self.groups > 1 { 2 } else { 0 };
                last = Some(places[group].zip(places[group + 1]).map_or(String::new(), |(a, b)| text[a..b].iter().collect()));
            }
            end = Some(to);
            at = if from < to { to } else { to + 1 };
        }
        last
    }

    /// Where the whole and the groups begin and end in the first match from a place on. All ways
    /// to match go on side by side, those that are preferred first, and of two that have come to
    /// the same step only the first does.
    fn matched(&self, text: &[char], from: usize) -> Option<Places> {
        let (mut ways, mut found) = (Vec::<(usize, Places)>::new(), None);
        for at in from..=text.len() {
            let (mut next, mut seen) = (Vec::new(), vec![false; self.steps.len()]);
            if found.is_none() {
                ways.push((0, vec![None; 2 * self.groups])); // the match may begin here
            }
            for (step, places) in std::mem::take(&mut ways) {
                self.follow(step, at, text, places, &mut seen, &mut next);
            }
            for (step, places) in next {
                match &self.steps[step] {
                    Step::Class(within, ranges) => {
                        if text.get(at).map_or(false, |c| *within == ranges.iter().any(|(a, b)| (a..=b).contains(&c))) {
                            ways.push((step + 1, places));
                        }
                    }
                    _ => {
                        found = Some(places); // what is preferred to it may still match more
                        break;
                    }
                }
            }
            if found.is_some() && ways.is_empty() {
                break;
            }
        }
        found
    }

    /// Goes on from a step to those that take a character, and to the end.
    fn follow(&self, step: usize, at: usize, text: &[char], places: Places, seen: &mut [bool], next: &mut Vec<(usize, Places)>) {
        let word = |i: Option<usize>| i.and_then(|i| text.get(i)).map_or(false, |c| c.is_ascii_alphanumeric() || *c == '_');
        let mut open = vec![(step, places)];
        while let Some((step, mut places)) = open.pop() {
            if std::mem::replace(&mut seen[step], true) {
                continue;
            }
            match &self.steps[step] {
                Step::Either(first, second) => {
                    open.push((*second, places.clone()));
                    open.push((*first, places));
                }
                Step::Save(place) => {
                    places[*place] = Some(at);
                    open.push((step + 1, places));
                }
                Step::At('^') if at > 0 => {}
                Step::At('$') if at < text.len() => {}
                Step::At('b') if word(at.checked_sub(1)) == word(Some(at)) => {}
                Step::At(_) => open.push((step + 1, places)),
                Step::Class(..) | Step::End => next.push((step, places)),
            }
        }
    }
}

impl Reader<'_> {
    /// Alternatives, up to a ) or the end.
    fn either(&mut self) -> Result<(), String> {
        let begin = self.steps.len();
        while !matches!(self.left.peek(), None | Some(')' | '|')) {
            self.repeated()?;
        }
        if self.left.next_if_eq(&'|').is_some() {
            let first = self.steps.split_off(begin);
            let (second, end) = (begin + first.len() + 2, self.steps.len() + first.len() + 2);
            self.steps.push(Step::Either(begin + 1, second));
            self.steps.extend(moved(&first, begin, 1));
            self.steps.push(Step::Either(end, end)); // it is put right when the end is known
            let jump = self.steps.len() - 1;
            self.either()?;
            self.steps[jump] = Step::Either(self.steps.len(), self.steps.len());
        }
        Ok(())
    }

    /// A part and how often it comes.
    fn repeated(&mut self) -> Result<(), String> {
        let begin = self.steps.len();
        self.part()?;
        let (least, most) = match self.left.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let inside: String = self.left.clone().skip(1).take_while(|c| *c != '}').collect();
                let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
                let most = if most.is_empty() && inside.contains(',') { Ok(None) } else { most.parse().map(Some) };
                match (least.parse(), most) {
                    (Ok(least), Ok(most)) if most.map_or(true, |m| m >= least) => {
                        self.left.nth(inside.chars().count());
                        (least, most)
                    }
                    _ => return Err(format!("{{{}}} is no number of times; write \\{{ for the character", inside)),
                }
            }
            _ => return Ok(()),
        };
        self.left.next();
        let lazy = self.left.next_if_eq(&'?').is_some();
        let part = self.steps.split_off(begin);
        let size = (part.len() + 1).saturating_mul(most.unwrap_or(least + 1).max(1));
        if begin.saturating_add(size) > MOST_STEPS {
            return Err(format!("it has more than {} steps", MOST_STEPS));
        }
        self.copies(&part, begin, least, most, lazy);
        Ok(())
    }

    /// Writes a part as often as it comes.
    fn copies(&mut self, part: &[Step], begin: usize, least: usize, most: Option<usize>, lazy: bool) {
        let choice = |go: usize, skip: usize| if lazy { Step::Either(skip, go) } else { Step::Either(go, skip) };
        let add = |steps: &mut Vec<Step>| {
            let by = steps.len() - begin;
            steps.extend(moved(part, begin, by));
        };
        (0..least).for_each(|_| add(&mut self.steps));
        match most {
            None => {
                let at = self.steps.len();
                self.steps.push(choice(at + 1, at + part.len() + 2));
                add(&mut self.steps);
                self.steps.push(Step::Either(at, at));
            }
            Some(most) => {
                let end = self.steps.len() + (most - least) * (part.len() + 1);
                for _ in least..most {
                    self.steps.push(choice(self.steps.len() + 1, end));
                    add(&mut self.steps);
                }
            }
        }
    }

    /// A character, a class, a group or a place.
    fn part(&mut self) -> Result<(), String> {
        let step = match self.left.next() {
            Some('(') => return self.group(),
            Some('.') => Step::Class(false, vec![('\n', '\n')]),
            Some('[') => self.class()?,
            Some(c @ ('^' | '$')) => Step::At(c),
            Some('\\') => match self.left.next() {
                Some('b') => Step::At('b'),
                Some(c) => escaped(c)?,
                None => return Err("a \\ escapes nothing".to_string()),
            },
            Some(c @ ('*' | '+' | '?' | '{')) => return Err(format!("{} repeats nothing; write \\{} for the character", c, c)),
            Some(c) => Step::Class(true, vec![(c, c)]),
            None => return Ok(()),
        };
        self.steps.push(step);
        Ok(())
    }

    fn group(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it has groups in more than {} others", DEEPEST));
        }
        let mut number = None;
        if self.left.next_if_eq(&'?').is_none() {
            number = Some(self.groups);
            self.groups += 1;
        } else if self.left.next() != Some(':') {
            return Err("(? is not known here but as (?:".to_string());
        }
        self.steps.extend(number.map(|n| Step::Save(2 * n)));
        self.either()?;
        self.steps.extend(number.map(|n| Step::Save(2 * n + 1)));
        self.depth -= 1;
        self.left.next_if_eq(&')').map(|_| ()).ok_or_else(|| "a ( is not closed".to_string())
    }

    fn class(&mut self) -> Result<Step, String> {
        let (within, mut ranges, mut first) = (self.left.next_if_eq(&'^').is_none(), Vec::new(), true);
        loop {
            let c = match self.left.next().ok_or("a [ is not closed")? {
                ']' if !first => return Ok(Step::Class(within, ranges)),
                '[' if self.left.peek() == Some(&':') => return Err("[: is not known here; write the ranges".to_string()),
                '\\' => match escaped(self.left.next().ok_or("a [ is not closed")?)? {
                    Step::Class(true, more) if more.len() == 1 && more[0].0 == more[0].1 => more[0].0,
                    Step::Class(true, more) => {
                        ranges.extend(more);
                        first = false;
                        continue;
                    }
                    _ => return Err("\\D, \\S and \\W are not known here in [ ]".to_string()),
                },
                c => c,
            };
            first = false;
            let mut ahead = self.left.clone();
            let to = match (ahead.next(), ahead.next()) {
                (Some('-'), Some(to)) if to != ']' && to != '\\' => {
                    self.left = ahead;
                    to
                }
                _ => c,
            };
            if to < c {
                return Err(format!("the range {}-{} goes backwards", c, to));
            }
            ranges.push((c, to));
        }
    }
}

/// What a \ makes of a character.
fn escaped(c: char) -> Result<Step, String> {
    let ranges = match c.to_ascii_lowercase() {
        'd' => vec![('0', '9')],
        'w' => vec![('0', '9'), ('A', 'Z'), ('a', 'z'), ('_', '_')],
        's' => vec![('\t', '\n'), ('\x0c', '\r'), (' ', ' ')],
        'n' if c == 'n' => vec![('\n', '\n')],
        't' if c == 't' => vec![('\t', '\t')],
        _ if c.is_ascii_alphanumeric() => return Err(format!("\\{} is not known here", c)),
        _ => return Ok(Step::Class(true, vec![(c, c)])),
    };
    Ok(Step::Class(c.is_ascii_lowercase(), ranges))
}

/// Steps that are `by` further on.
fn moved(steps: &[Step], begin: usize, by: usize) -> Vec<Step> {
    let to = |at: &usize| if *at >= begin { at + by } else { *at };
    let step = |step: &Step| match step {
        Step::Either(a, b) => Step::Either(to(a), to(b)),
        other => other.clone(),
    };
    steps.iter().map(step).collect()
}
