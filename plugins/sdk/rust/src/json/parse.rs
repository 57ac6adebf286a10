// SPDX-License-Identifier: MIT

use super::{is_number, Value};
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
