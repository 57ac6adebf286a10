// SPDX-License-Identifier: MIT

use super::Value;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

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
