// SPDX-License-Identifier: MIT

use crate::keywords::check;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use penstock::json::Value;

/// Schemas that must all hold. A node is made for such a set: one schema with what its `$ref` and `allOf` add, what several say
/// of the same member, or an alternative with what stands beside `anyOf`.
#[derive(Clone, Default)]
pub struct Parts<'a> {
    pub list: Vec<Part<'a>>,
    /// One of them is `false`.
    pub never: bool,
}

/// One of these schemas.
#[derive(Clone)]
pub struct Part<'a> {
    pub schema: &'a Value,
    pub path: String,
    /// The alternative of `anyOf` (`oneOf`) is chosen, and is among the parts.
    pub any: bool,
    pub one: bool,
    under: Option<usize>, // the part that added it
}

/// What tells one set from another.
pub type Key = (bool, Vec<(usize, bool, bool)>);

impl<'a> Parts<'a> {
    /// Adds a schema, with those that it refers to. `whole` is where references lead.
    pub fn add(&mut self, schema: &'a Value, path: &str, whole: &'a Value) -> Result<(), String> {
        self.add_under(None, schema, path, whole)
    }

    /// The same for a schema that is part of another, for the same value.
    pub fn add_under(&mut self, under: Option<usize>, schema: &'a Value, path: &str, whole: &'a Value) -> Result<(), String> {
        match schema {
            Value::Bool(fits) => {
                self.never |= !fits;
                return Ok(());
            }
            Value::Object(_) => {}
            _ => return Err(format!("config.schema: {}: {} is no object; say what fits", path, schema)),
        }
        if let Some(known) = self.list.iter().position(|p| core::ptr::eq(p.schema, schema)) {
            let mut above = under;
            while let Some(at) = above {
                if at == known {
                    return Err(format!("config.schema: {}: no finite value fits it, since it refers to itself at once", path));
                }
                above = self.list[at].under;
            }
            return Ok(());
        }
        check(schema, path)?;
        let own = Some(self.list.len());
        self.list.push(Part { schema, path: path.into(), any: false, one: false, under });
        if let Some(to) = schema.get("$ref").and_then(Value::text) {
            let missing = || format!("config.schema: {}: $ref {:?} leads nowhere; only references inside the schema work", path, to);
            self.add_under(own, target(whole, to).ok_or_else(missing)?, to, whole)?;
        }
        for (i, inner) in schema.get("allOf").and_then(Value::items).unwrap_or(&[]).iter().enumerate() {
            self.add_under(own, inner, &format!("{}/allOf/{}", path, i), whole)?;
        }
        Ok(())
    }

    /// The parts with one alternative of `anyOf` or `oneOf`, which stands in the part with this number.
    pub fn chosen(&self, of: usize, name: &str, i: usize, alternative: &'a Value, whole: &'a Value) -> Result<Parts<'a>, String> {
        let mut chosen = self.clone();
        let part = &mut chosen.list[of];
        part.any |= name == "anyOf";
        part.one |= name == "oneOf";
        let path = format!("{}/{}/{}", part.path, name, i);
        chosen.add_under(Some(of), alternative, &path, whole)?;
        Ok(chosen)
    }

    /// The first alternatives that are not chosen: the number of their part, their keyword and their list.
    pub fn open(&self) -> Option<(usize, &'static str, &'a [Value])> {
        self.list.iter().enumerate().find_map(|(i, part)| {
            let list = |name: &str| part.schema.get(name).and_then(Value::items);
            let any = list("anyOf").filter(|_| !part.any).map(|list| (i, "anyOf", list));
            any.or_else(|| Some((i, "oneOf", list("oneOf").filter(|_| !part.one)?)))
        })
    }

    pub fn key(&self) -> Key {
        let mut key: Vec<_> = self.list.iter().map(|p| (p.schema as *const Value as usize, p.any, p.one)).collect();
        key.sort_unstable();
        (self.never, key)
    }

    /// For errors: where the first one stands.
    pub fn path(&self) -> &str {
        self.list.first().map_or("#", |p| &p.path)
    }

    /// Each value of a keyword, with the path of its schema.
    pub fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = (&'a Value, &'b str)> + 'b {
        self.list.iter().filter_map(move |p| Some((p.schema.get(name)?, p.path.as_str())))
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

/// Where a reference leads: #, #/$defs/NAME or any other pointer, or #ANCHOR.
fn target<'a>(whole: &'a Value, to: &str) -> Option<&'a Value> {
    let own = whole.get("$id").and_then(Value::text).filter(|id| !id.is_empty()).unwrap_or("#");
    let fragment = to.strip_prefix('#').or_else(|| to.strip_prefix(own.trim_end_matches('#'))?.strip_prefix('#'));
    let fragment = if to == own { "" } else { fragment? };
    if !fragment.is_empty() && !fragment.starts_with('/') {
        return anchor(whole, fragment);
    }
    let mut at = whole;
    for step in fragment.split('/').skip(1) {
        let step = decoded(step)?.replace("~1", "/").replace("~0", "~");
        at = at.get(&step).or_else(|| at.items()?.get(step.parse::<usize>().ok()?))?;
        if at.get("$id").and_then(Value::text).is_some() {
            return None; // what is inside refers to places inside
        }
    }
    Some(at)
}

/// The schema with this `$anchor`.
fn anchor<'a>(at: &'a Value, name: &str) -> Option<&'a Value> {
    match at {
        Value::Object(members) => match at.get("$anchor").and_then(Value::text) {
            Some(found) if found == name => Some(at),
            _ => members.iter().filter(|(n, _)| n != "enum" && n != "const").find_map(|(_, v)| anchor(v, name)),
        },
        Value::Array(items) => items.iter().find_map(|v| anchor(v, name)),
        _ => None,
    }
}

/// A text in which %25 and the like stand for bytes.
fn decoded(text: &str) -> Option<String> {
    let (bytes, mut out, mut i) = (text.as_bytes(), Vec::new(), 0);
    while i < bytes.len() {
        if bytes[i] == b'%' {
            out.push(u8::from_str_radix(text.get(i + 1..i + 3)?, 16).ok()?);
            i += 3;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    String::from_utf8(out).ok()
}
