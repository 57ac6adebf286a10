// SPDX-License-Identifier: MIT

//! A small JSON reader for configs, schemas and conversations.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

/// Deeper values are refused, so that none can exhaust a guest's stack.
const DEPTH: usize = 128;

/// Why a text is not JSON, and at which byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Byte offset.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

/// Reads one JSON value that is the whole text.
pub fn parse(text: &str) -> Result<Value, Error> {
    let mut p = Parser { text, at: 0 };
    let value = p.value(0)?;
    p.space();
    if p.at < text.len() {
        return p.wrong("nothing may follow the value");
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn wrong<T>(&self, what: &'static str) -> Result<T, Error> {
        Err(Error { at: self.at, what })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The text up to an offset, from where the parser is; no slice, which would bring code for a
    /// panic into each module.
    fn rest(&self, n: usize) -> &'a str {
        self.text.get(self.at..self.at + n).unwrap_or_default()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips space, then takes `byte` if it is next.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Value, Error> {
        if depth > DEPTH {
            return self.wrong("it is nested more than 128 levels deep");
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, Error> {
        for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
            if self.rest(word.len()) == word {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.wrong("a value is expected")
    }

    fn number(&mut self) -> Result<Value, Error> {
        let rest = &self.text.as_bytes()[self.at..];
        let n = rest.iter().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
        if !is_number(&rest[..n]) {
            return self.wrong("this is no number");
        }
        let text = self.rest(n).to_string();
        self.at += n;
        Ok(Value::Number(text))
    }

    fn array(&mut self, depth: usize) -> Result<Value, Error> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            if !self.take(b',') {
                return self.wrong("a comma or ] is expected");
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Error> {
        self.at += 1;
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return self.wrong("a name in quotes is expected");
            }
            let name = self.string()?;
            if !self.take(b':') {
                return self.wrong("a colon is expected");
            }
            members.push((name, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            if !self.take(b',') {
                return self.wrong("a comma or } is expected");
            }
        }
    }

    /// A string, from its opening quote on.
    fn string(&mut self) -> Result<String, Error> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.text.as_bytes()[self.at..].iter().position(|b| *b == b'"' || *b == b'\\' || *b < 0x20);
            let n = match plain {
                Some(n) => n,
                None => return self.wrong("the string does not end"),
            };
            out.push_str(self.rest(n));
            self.at += n + 1;
            match self.text.as_bytes()[self.at - 1] {
                b'"' => return Ok(out),
                b'\\' => out.push(self.escape()?),
                _ => {
                    self.at -= 1;
                    return self.wrong("a control character must be escaped");
                }
            }
        }
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<char, Error> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode();
            }
            _ => return self.wrong("there is no such escape"),
        };
        self.at += 1;
        Ok(c)
    }

    /// The digits of \u, and the second half of a surrogate pair.
    fn unicode(&mut self) -> Result<char, Error> {
        let first = self.hex()?;
        let mut code = first;
        if (0xd800..0xdc00).contains(&first) && self.rest(2) == "\\u" {
            self.at += 2;
            let second = self.hex()?;
            if (0xdc00..0xe000).contains(&second) {
                code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            }
        }
        match char::from_u32(code) {
            Some(c) => Ok(c),
            None => self.wrong("half a surrogate pair is no character"),
        }
    }

    fn hex(&mut self) -> Result<u32, Error> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).unwrap_or(&[]);
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return self.wrong("\\u needs four hexadecimal digits");
        }
        self.at += 4;
        Ok(digits.iter().fold(0, |code, d| code << 4 | (*d as char).to_digit(16).unwrap_or(0)))
    }
}

/// A JSON value. An object keeps the order of its members; a number keeps its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// null
    #[default]
    Null,
    /// true or false
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, with its escapes resolved.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// Members in order.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The member of an object, if there is one; the last if there are several of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.members()?.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[(String, Value)]> {
        match self {
            Value::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items, if it is a list.
    pub fn items(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if it is a string.
    pub fn text(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value, if it is true or false.
    pub fn bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The number, if it is a whole one that an i64 holds exactly: 2, 2.0 and 2e0 all are.
    pub fn integer(&self) -> Option<i64> {
        let text = match self {
            Value::Number(text) => text,
            _ => return None,
        };
        text.parse().ok().or_else(|| {
            let x: f64 = text.parse().ok()?;
            let n = x as i64;
            (n as f64 == x && n.unsigned_abs() < 1 << 53).then_some(n)
        })
    }
}

/// A type that JSON values can be read as.
pub trait Read: Sized {
    /// The name of the type in an error.
    const WHAT: &'static str;

    /// The value, if it is one.
    fn read(value: &Value) -> Option<Self>;

    /// The value of a missing member, if the type has one.
    fn missing() -> Option<Self> {
        None
    }
}

impl Value {
    /// A member of an object, as the type that is asked for: `config.read::<f32>("min_p")?`. The
    /// error says what is missing or wrong. An `Option` is `None` for a member that is missing or
    /// null.
    pub fn read<T: Read>(&self, name: &str) -> Result<T, String> {
        match self.get(name) {
            Some(value) => T::read(value).ok_or_else(|| format!("{} must be {}", name, T::WHAT)),
            None => T::missing().ok_or_else(|| format!("{} is missing", name)),
        }
    }
}

macro_rules! read_as {
    ($($type:ty, $what:literal, $read:expr;)+) => {
        $(impl Read for $type {
            const WHAT: &'static str = $what;

            fn read(value: &Value) -> Option<Self> {
                let read: fn(&Value) -> Option<Self> = $read;
                read(value)
            }
        })+
    };
}

read_as! {
    f64, "a number", Value::number;
    f32, "a number", |v| v.number().map(|n| n as f32);
    i64, "a whole number", Value::integer;
    i32, "a whole number below 2³¹", |v| v.integer()?.try_into().ok();
    u64, "a whole number from 0", |v| v.integer()?.try_into().ok();
    u32, "a whole number from 0 and below 2³²", |v| v.integer()?.try_into().ok();
    usize, "a whole number from 0", |v| v.integer()?.try_into().ok();
    bool, "true or false", Value::bool;
    String, "a string", |v| v.text().map(ToString::to_string);
    Value, "a value", |v| Some(v.clone());
}

impl<T: Read> Read for Vec<T> {
    const WHAT: &'static str = "a list";

    fn read(value: &Value) -> Option<Self> {
        value.items()?.iter().map(T::read).collect()
    }
}

impl<T: Read> Read for Option<T> {
    const WHAT: &'static str = T::WHAT;

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::read(value).map(Some),
        }
    }

    fn missing() -> Option<Self> {
        Some(None)
    }
}

/// A string as a JSON literal. Only what must be escaped is.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                out.push_str("\\u00");
                out.extend([c as u32 / 16, c as u32 % 16].iter().filter_map(|digit| char::from_digit(*digit, 16)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{}", b),
            Value::Number(text) => f.write_str(text),
            Value::String(text) => f.write_str(&quote(text)),
            Value::Array(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { "," } else { "" }, item)?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (i, (name, value)) in members.iter().enumerate() {
                    write!(f, "{}{}:{}", if i > 0 { "," } else { "" }, quote(name), value)?;
                }
                f.write_str("}")
            }
        }
    }
}

/// Whether these bytes are one number of JSON's grammar.
pub fn is_number(text: &[u8]) -> bool {
    let rest = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n = digits(fraction);
        if n == 0 {
            return false;
        }
        rest = &fraction[n..];
    }
    match rest.split_first() {
        None => true,
        Some((b'e' | b'E', power)) => {
            let power = power.strip_prefix(b"-").or_else(|| power.strip_prefix(b"+")).unwrap_or(power);
            !power.is_empty() && digits(power) == power.len()
        }
        Some(_) => false,
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_digit()).count()
}
