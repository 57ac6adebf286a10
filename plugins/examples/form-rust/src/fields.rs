// SPDX-License-Identifier: MIT

use penstock::json::Value;

/// A field stands in the template after a text, and ends where the next one begins.
#[derive(Default)]
pub(crate) struct Field {
    pub name: String,
    pub before: String,
    pub after: Vec<usize>, // fields that it depends on
    pub begun: bool,
    pub filled: bool,
    end: String,
    value: Vec<u8>,
    tokens: usize,
}

/// Finds the fields of a template, and gives the text after the last.
pub(crate) fn parse(template: &str, after: Option<&Value>) -> Result<(Vec<Field>, String), String> {
    let (mut fields, mut rest) = (Vec::<Field>::new(), template);
    while let Some((before, from)) = rest.split_once('{') {
        let (name, behind) = from.split_once('}').unwrap_or((from, ""));
        if !from.contains('}') || fields.iter().any(|f| f.name == name) {
            return Err(format!("template: a field does not end, or is there twice: {}", name));
        }
        let mut field = Field { name: name.to_string(), before: before.to_string(), ..Field::default() };
        field.end = behind.chars().next().filter(|c| *c != '{').unwrap_or('\n').to_string();
        for other in after.and_then(|a| a.get(name)?.items()).unwrap_or_default().iter().filter_map(Value::text) {
            let found = fields.iter().position(|f| f.name == other);
            field.after.push(found.ok_or_else(|| format!("after: {} depends on what is no field before it: {}", name, other))?);
        }
        fields.push(field);
        rest = behind;
    }
    if fields.is_empty() {
        return Err("template: it has no field, such as {name}".to_string());
    }
    Ok((fields, rest.to_string()))
}

impl Field {
    /// Adds the piece of a token, up to where the field ends.
    pub fn add(&mut self, piece: &[u8], ends: bool, most: usize) {
        self.value.extend_from_slice(piece);
        self.tokens += 1;
        let end = self.value.windows(self.end.len()).position(|part| part == self.end.as_bytes());
        self.value.truncate(end.unwrap_or(self.value.len()));
        self.filled = end.is_some() || ends || self.tokens == most;
    }

    /// What it is filled with.
    pub fn value(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }

    /// It and the text before it.
    pub fn text(&self) -> String {
        self.before.clone() + &self.value()
    }
}
