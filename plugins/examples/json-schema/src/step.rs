// SPDX-License-Identifier: MIT

use crate::exact::Exact;
use crate::parts::Parts;
use alloc::format;
use alloc::string::String;
use penstock::json::Value;

/// What a number must be a multiple of: `size` in units of so many digits after the point.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    size: i64,
    pub places: u32,
}

/// Digits after the point at most.
const PLACES: u32 = 10;

impl Step {
    /// The least common multiple of all that `multipleOf` says; none: it says nothing.
    pub fn of(parts: &Parts) -> Result<Option<Step>, String> {
        let mut all: Option<Step> = None;
        for (value, path) in parts.all("multipleOf") {
            let wrong = || {
                format!(
                    "config.schema: {}.multipleOf: {} must be a number over 0, of up to 15 digits, {} after the point",
                    path, value, PLACES
                )
            };
            let exact = match value {
                Value::Number(text) => Exact::new(text),
                _ => return Err(wrong()),
            };
            if !exact.is_positive() || exact.fraction() > PLACES || exact.whole() + exact.fraction() > 15 {
                return Err(wrong());
            }
            let own = Step { size: exact.scaled(exact.fraction()).0, places: exact.fraction() };
            all = Some(match all {
                None => own,
                Some(all) => all.joined(own).ok_or_else(wrong)?,
            });
        }
        Ok(all)
    }

    fn joined(self, other: Step) -> Option<Step> {
        let places = self.places.max(other.places);
        let scaled = |step: Step| step.size.checked_mul(10i64.checked_pow(places - step.places)?);
        Some(Step { size: common(scaled(self)?, scaled(other)?)?, places })
    }

    /// The same in units of so many digits after the point: a whole number of them.
    pub fn units(self, places: u32) -> Option<i64> {
        if self.places <= places {
            return self.size.checked_mul(10i64.checked_pow(places - self.places)?);
        }
        let unit = 10i64.checked_pow(self.places - places)?;
        Some(self.size / divisor(self.size, unit))
    }
}

/// The least common multiple, if there is room for it.
pub fn common(a: i64, b: i64) -> Option<i64> {
    (a / divisor(a, b)).checked_mul(b)
}

fn divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        let rest = a % b;
        a = b;
        b = rest;
    }
    a
}
