// SPDX-License-Identifier: MIT

use crate::automaton::{Automaton, Effort};
use crate::compile::{bounds, Compiler};
use crate::formats::{self, Format};
use crate::parts::Parts;
use crate::pattern::Pattern;
use crate::program::Program;
use crate::regex::Regex;
use crate::schema::Node;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What `open` may spend on all patterns and formats, in steps of some dozens of its fuel.
const EFFORT: u32 = 8 << 20;

/// Characters of a pattern that an error shows.
const SHOWN: usize = 80;

/// The patterns and formats of a schema, by keyword and text. Many stand in it again and again.
pub(crate) struct Strings {
    known: BTreeMap<(&'static str, String), Rc<Known>>,
    effort: Effort,
}

struct Known {
    automaton: Automaton,
    most: u32, // characters
}

impl Default for Strings {
    fn default() -> Strings {
        Strings { known: BTreeMap::new(), effort: Effort(EFFORT) }
    }
}

impl<'a> Compiler<'a> {
    pub(crate) fn string(&mut self, parts: &Parts<'a>) -> Result<Node, String> {
        let (min, max) = bounds(parts, "minLength", "maxLength")?;
        if min > max {
            return Ok(Node::Any(Vec::new()));
        }
        let all = self.strings.all(parts)?;
        if all.is_empty() {
            return Ok(Node::Text { min, max });
        }
        let effort = &mut self.strings.effort;
        let max = all.iter().map(|known| known.most).fold(max, u32::min);
        let made = joined(&all, min, effort).and_then(|made| Pattern::new(made, max, !parts.has("format"), self.words, effort));
        let pattern = made.map_err(|reason| format!("config.schema: {}: {}", place(parts), reason))?;
        Ok(Node::Pattern(Box::new(pattern)))
    }

    /// Whether a text of the schema itself matches all that it must.
    pub(crate) fn matches(&mut self, parts: &Parts<'a>, text: &str) -> Result<bool, String> {
        let all = self.strings.all(parts)?;
        Ok(all.iter().all(|known| known.automaton.takes(text) && text.chars().count() as u64 <= u64::from(known.most)))
    }
}

impl Strings {
    /// All that the parts demand, each once.
    fn all(&mut self, parts: &Parts) -> Result<Vec<Rc<Known>>, String> {
        let mut all: Vec<Rc<Known>> = Vec::new();
        for name in ["pattern", "format"] {
            for (value, path) in parts.all(name) {
                let text = value.text().unwrap_or_default();
                let shown: String = text.chars().take(SHOWN).collect();
                let known = self.one(name, text).map_err(|reason| format!("config.schema: {}.{}: {:?}: {}", path, name, shown, reason))?;
                if !all.iter().any(|k| Rc::ptr_eq(k, &known)) {
                    all.push(known);
                }
            }
        }
        Ok(all)
    }

    fn one(&mut self, name: &'static str, text: &str) -> Result<Rc<Known>, String> {
        let key = (name, text.to_string());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let (patterns, most) = match name {
            "pattern" => (alloc::vec![Regex::new(text)?], u32::MAX),
            _ => match formats::named(text) {
                Some(Format { patterns, most }) => (patterns, most),
                None => return Err(format!("it is not followed here; take it out, or use {}", formats::NAMES)),
            },
        };
        let mut whole: Option<Automaton> = None;
        for regex in &patterns {
            let own = Automaton::new(&Program::new(regex)?, &mut self.effort)?;
            whole = Some(match whole {
                Some(whole) => whole.both(&own, &mut self.effort)?,
                None => own,
            });
        }
        let known = Rc::new(Known { automaton: whole.ok_or("it says nothing")?, most });
        self.known.insert(key, known.clone());
        Ok(known)
    }
}

/// Strings that fit all, of so many characters at least.
fn joined(all: &[Rc<Known>], min: u32, effort: &mut Effort) -> Result<Automaton, String> {
    let mut whole = match min {
        0 => None,
        min => Some(Automaton::at_least(min, effort)?),
    };
    for known in all {
        whole = Some(match whole {
            Some(whole) => known.automaton.both(&whole, effort)?,
            None => known.automaton.clone(),
        });
    }
    whole.ok_or_else(|| "it says nothing".to_string())
}

/// For errors: where patterns and formats stand.
fn place(parts: &Parts) -> String {
    let places = |name: &str| parts.all(name).map(|(_, path)| format!("{}.{}", path, name)).collect::<Vec<_>>();
    [places("pattern"), places("format")].concat().join(" and ")
}
