// SPDX-License-Identifier: MIT

use crate::exact::Exact;
use crate::parts::Parts;
use crate::step::{common, Step};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use penstock::json::Value;

/// Digits that a number has at most, so that all arithmetic fits into 64 bits; and of these before and after the point.
const DIGITS: u32 = 18;
const WHOLE: u32 = 15;
const FRACTION: u32 = 10;

/// The keywords that bound a number.
const BOUNDS: [&str; 4] = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];

/// The numbers from `least` to `most`, both in units of the last digit after the point.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    least: i64,
    most: i64,
    whole: u32,    // digits before the point at most
    fraction: u32, // and after it; 0 for whole numbers
    /// What a number is a multiple of that ends so many digits before the last.
    steps: [i64; FRACTION as usize + 1],
}

/// A number as far as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    whole: u8,        // digits before the point
    fraction: u8,     // 0: no point yet, else digits after it and one more
    digits: [u32; 2], // all of them as one number, its upper half first
}

impl Decimal {
    fn value(&self) -> i64 {
        (i64::from(self.digits[0]) << 32) + i64::from(self.digits[1])
    }

    fn with_digit(self, digit: u8) -> Decimal {
        let value = self.value() * 10 + i64::from(digit);
        let (whole, fraction) = if self.fraction == 0 { (self.whole + 1, 0) } else { (self.whole, self.fraction + 1) };
        Decimal { whole, fraction, digits: [(value >> 32) as u32, value as u32], ..self }
    }
}

impl Range {
    /// What schemas say of the size of a number; none: nothing.
    pub fn new(parts: &Parts, integer: bool) -> Result<Option<Range>, String> {
        let (bounds, step) = (bounds(parts)?, Step::of(parts)?);
        if bounds.is_empty() && step.is_none() {
            return Ok(None);
        }
        let both = bounds.iter().any(|(kind, _)| *kind < 2) && bounds.iter().any(|(kind, _)| *kind > 1);
        let mut whole = WHOLE;
        if both {
            whole = bounds.iter().map(|(_, bound)| bound.whole()).max().unwrap_or(WHOLE).min(WHOLE);
        } else if let Some(step) = step.filter(|_| !integer) {
            whole = whole.min(DIGITS - step.places.max(DIGITS - WHOLE));
        }
        let fraction = if integer { 0 } else { FRACTION.min(DIGITS - whole) };
        let (mut least, mut most) = (1 - power(whole + fraction), power(whole + fraction) - 1);
        for (kind, bound) in &bounds {
            let (floor, exact) = bound.scaled(fraction);
            match kind {
                0 => least = least.max(floor.saturating_add(i64::from(!exact))),
                1 => least = least.max(floor.saturating_add(1)),
                2 => most = most.min(floor),
                _ => most = most.min(floor.saturating_sub(i64::from(exact))),
            }
        }
        let unit = step.map_or(Some(1), |s| s.units(fraction)).unwrap_or(i64::MAX);
        let mut steps = [unit; FRACTION as usize + 1];
        for (places, step) in steps.iter_mut().enumerate().take(fraction as usize + 1) {
            *step = common(power(places as u32), unit).unwrap_or(i64::MAX);
        }
        Ok(Some(Range { least, most, whole, fraction, steps }))
    }

    /// Whether a number, as JSON has it, is what schemas say of its size.
    pub fn holds(parts: &Parts, text: &str) -> Result<bool, String> {
        let value = Exact::new(text);
        let within = bounds(parts)?.iter().all(|(kind, bound)| match kind {
            0 => value >= *bound,
            1 => value > *bound,
            2 => value <= *bound,
            _ => value < *bound,
        });
        let multiple = |step: Step| {
            let places = value.fraction().max(step.places);
            let long = value.whole() + places > DIGITS; // no step is that small; none is asked for in practice
            !long && step.units(places).map_or(false, |unit| value.scaled(places).0 % unit == 0)
        };
        Ok(within && Step::of(parts)?.map_or(true, multiple))
    }

    /// Whether a number, as JSON has it, is between the bounds.
    pub fn near(&self, text: &str) -> bool {
        let (floor, exact) = Exact::new(text).scaled(self.fraction);
        floor <= self.most && floor.saturating_add(i64::from(!exact)) >= self.least
    }

    /// Whether no number is in both.
    pub fn misses(&self, other: &Range) -> bool {
        let places = self.fraction.max(other.fraction);
        let scaled = |r: &Range, n: i64| i128::from(n) * i128::from(power(places - r.fraction));
        scaled(self, self.most) < scaled(other, other.least) || scaled(other, other.most) < scaled(self, self.least)
    }

    /// The number with one more byte; none: it cannot stand there.
    pub fn take(&self, number: Decimal, byte: u8) -> Option<Decimal> {
        let Decimal { whole, fraction, .. } = number;
        let next = match byte {
            b'-' if number == Decimal::default() => Decimal { negative: true, ..number },
            b'.' if whole > 0 && fraction == 0 && self.fraction > 0 => Decimal { fraction: 1, ..number },
            b'0'..=b'9' if fraction == 0 && u32::from(whole) < self.whole && (whole == 0 || number.value() > 0) => {
                number.with_digit(byte - b'0')
            }
            b'0'..=b'9' if fraction > 0 && u32::from(fraction) <= self.fraction => number.with_digit(byte - b'0'),
            _ => return None,
        };
        self.needed(next).map(|_| next)
    }

    /// Bytes that a number needs at least to be complete and in the range; none: it cannot get there.
    pub fn needed(&self, number: Decimal) -> Option<u32> {
        let (least, most) = if number.negative { (-self.most, -self.least) } else { (self.least, self.most) };
        let least = least.max(0);
        if number.whole == 0 {
            let positive = (0..10).filter_map(|digit| self.needed(number.with_digit(digit))).min();
            let negative = if number.negative { None } else { self.needed(Decimal { negative: true, ..number }) };
            return positive.into_iter().chain(negative).min().map(|n| n + 1);
        }
        let lacking = |from: i64, to: i64, places: u32| {
            let (from, to) = (from.max(least), to.min(most));
            (0..=places).find(|n| multiple(from, to, self.steps[(places - n) as usize]))
        };
        let value = number.value();
        if number.fraction > 0 {
            let places = self.fraction + 1 - u32::from(number.fraction);
            let unit = power(places);
            return lacking(value * unit, (value + 1) * unit - 1, places).map(|n| n.max(u32::from(number.fraction == 1)));
        }
        let more = if value == 0 { 0 } else { self.whole - u32::from(number.whole) };
        let ways = (0..=more).filter_map(|digits| {
            let unit = power(digits + self.fraction);
            let after = lacking(value * unit, (value + 1) * unit - 1, self.fraction)?;
            Some(digits + after + u32::from(after > 0)) // the point
        });
        ways.min()
    }

    /// Whether the number may end.
    pub fn complete(&self, number: Decimal) -> bool {
        number.whole > 0 && self.needed(number) == Some(0)
    }
}

fn power(n: u32) -> i64 {
    10i64.pow(n)
}

/// Whether a multiple of `of` is among the numbers from `from`, which is not negative, to `to`.
fn multiple(from: i64, to: i64, of: i64) -> bool {
    from <= to && to / of * of >= from
}

/// The bounds that schemas give, with the place of their keyword in the list of them.
fn bounds(parts: &Parts) -> Result<Vec<(usize, Exact)>, String> {
    let mut found = Vec::new();
    for (kind, name) in BOUNDS.iter().enumerate() {
        for (value, path) in parts.all(name) {
            let bound = match value {
                Value::Number(text) => Exact::new(text),
                _ => return Err(format!("config.schema: {}.{}: {} must be a number", path, name, value)),
            };
            let (size, _) = bound.scaled(0);
            if (kind < 2 && size >= power(WHOLE)) || (kind > 1 && size <= -power(WHOLE)) {
                return Err(format!("config.schema: {}.{}: {} leaves no number of up to {} digits", path, name, value, WHOLE));
            }
            found.push((kind, bound));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock::json::parse;

    fn range(schema: &str, integer: bool) -> Range {
        made(schema, integer).unwrap().unwrap()
    }

    fn made(schema: &str, integer: bool) -> Result<Option<Range>, String> {
        let schema = parse(schema).unwrap();
        let mut parts = Parts::default();
        parts.add(&schema, "#", &schema)?;
        Range::new(&parts, integer)
    }

    fn write(range: &Range, text: &str) -> Option<Decimal> {
        text.bytes().try_fold(Decimal::default(), |number, byte| range.take(number, byte))
    }

    /// Each text may be written if and only if it is the beginning of one that is in the range.
    #[test]
    fn range_takes_all_that_is_in_it_and_nothing_else() {
        for (schema, least, most, step) in [
            (r#"{"minimum":17,"maximum":230}"#, 17, 230, 1),
            (r#"{"minimum":-42,"maximum":7.5}"#, -42, 7, 1),
            (r#"{"exclusiveMinimum":-120,"exclusiveMaximum":-9}"#, -119, -10, 1),
            (r#"{"exclusiveMinimum":0.5,"maximum":3}"#, 1, 3, 1),
            (r#"{"minimum":5,"maximum":5}"#, 5, 5, 1),
            (r#"{"minimum":1e0,"maximum":2.1E+2}"#, 1, 210, 1),
            (r#"{"multipleOf":7,"minimum":-50,"maximum":300}"#, -50, 300, 7),
            (r#"{"multipleOf":2.5,"allOf":[{"multipleOf":2}],"minimum":0,"maximum":99}"#, 0, 99, 10),
        ] {
            let range = range(schema, true);
            let all: std::vec::Vec<String> = (least..=most).filter(|n| n % step == 0).map(|n| format!("{}", n)).collect();
            for n in -1000..=1000 {
                let text = format!("{}", n);
                let number = write(&range, &text);
                let begins = all.iter().filter(|t| t.starts_with(&text)).map(|t| t.len() - text.len()).min();
                assert_eq!(number.map(|n| range.needed(n)), begins.map(|n| Some(n as u32)), "{} in {}", text, schema);
                assert_eq!(number.map_or(false, |n| range.complete(n)), all.contains(&text), "{} in {}", text, schema);
            }
        }
    }

    #[test]
    fn range_has_fractions() {
        let probability = range(r#"{"minimum":0,"maximum":1}"#, false);
        for (text, takes, complete) in [
            ("0", true, true),
            ("1", true, true),
            ("1.0", true, true),
            ("1.1", false, false),
            ("0.", true, false),
            ("0.125", true, true),
            ("2", false, false),
            ("-", true, false),
            ("-0.0", true, true),
            ("-0.1", false, false),
            ("0.01234567891", false, false),
            ("01", false, false),
        ] {
            let number = write(&probability, text);
            assert_eq!((number.is_some(), number.map_or(false, |n| probability.complete(n))), (takes, complete), "{}", text);
        }
        let narrow = range(r#"{"exclusiveMinimum":2.25,"exclusiveMaximum":2.27}"#, false);
        assert_eq!(narrow.needed(Decimal::default()), Some(4)); // 2.26
        assert!(write(&narrow, "2.25").is_some() && write(&narrow, "2.250000000").is_some() && write(&narrow, "2.27").is_none());
        let cents = range(r#"{"multipleOf":0.05,"minimum":0}"#, false);
        for (text, complete) in [("0.05", true), ("3.1", true), ("3.12", false), ("3.150", true), ("7", true)] {
            assert_eq!(write(&cents, text).map(|n| cents.complete(n)), if text == "3.12" { None } else { Some(complete) }, "{}", text);
        }
        let above = range(r#"{"minimum":1000}"#, true);
        assert_eq!(above.needed(Decimal::default()), Some(4));
        assert!(write(&above, "-").is_none() && write(&above, "999999999999999").is_some());
    }

    #[test]
    fn range_refuses_what_it_cannot_hold() {
        for schema in [r#"{"minimum":1e30}"#, r#"{"maximum":-1234567890123456}"#, r#"{"minimum":"1"}"#] {
            assert!(made(schema, true).unwrap_err().contains("imum"), "{}", schema);
        }
        for schema in [r#"{"multipleOf":0}"#, r#"{"multipleOf":"1"}"#, r#"{"multipleOf":1e-20}"#] {
            assert!(made(schema, true).unwrap_err().contains("multipleOf"), "{}", schema);
        }
        assert!(range(r#"{"minimum":3,"maximum":2}"#, true).needed(Decimal::default()).is_none());
    }
}
