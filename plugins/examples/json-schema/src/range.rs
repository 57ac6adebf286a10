// SPDX-License-Identifier: MIT

use alloc::format;
use alloc::string::String;
use penstock::json::Value;

/// Digits that a number has at most, so that all arithmetic fits into 64 bits; and of these before and after the point.
const DIGITS: u32 = 18;
const WHOLE: u32 = 15;
const FRACTION: u32 = 10;

/// The numbers from `least` to `most`, both in units of the last digit after the point.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    least: i64,
    most: i64,
    whole: u32,    // digits before the point at most
    fraction: u32, // and after it; 0 for whole numbers
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
    /// What a schema says of the size of a number; none: nothing.
    pub fn new(schema: &Value, integer: bool, path: &str) -> Result<Option<Range>, String> {
        let names = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
        let mut bounds = [None; 4];
        for (bound, name) in bounds.iter_mut().zip(names) {
            if let Some(value) = schema.get(name) {
                let wrong =
                    || format!("config.schema: {}.{}: {} must be a number of up to {} digits, without exponent", path, name, value, WHOLE);
                *bound = Some(Bound::new(value).ok_or_else(wrong)?);
            }
        }
        if bounds.iter().all(Option::is_none) {
            return Ok(None);
        }
        let both = (bounds[0].is_some() || bounds[1].is_some()) && (bounds[2].is_some() || bounds[3].is_some());
        let whole = if both { bounds.iter().flatten().map(|b| b.whole_digits()).max().unwrap_or(WHOLE) } else { WHOLE };
        let fraction = if integer { 0 } else { FRACTION.min(DIGITS - whole) };
        let (mut least, mut most) = (1 - power(whole + fraction), power(whole + fraction) - 1);
        for (i, bound) in bounds.iter().enumerate() {
            if let Some((floor, exact)) = bound.map(|b| b.scaled(fraction)) {
                match i {
                    0 => least = least.max(floor + i64::from(!exact)),
                    1 => least = least.max(floor + 1),
                    2 => most = most.min(floor),
                    _ => most = most.min(floor - i64::from(exact)),
                }
            }
        }
        Ok(Some(Range { least, most, whole, fraction }))
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
            (0..=places).find(|n| multiple(from, to, power(places - n)))
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
    from <= to && (from + of - 1) / of * of <= to
}

/// A number as a schema has it.
#[derive(Clone, Copy)]
struct Bound<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> Bound<'a> {
    fn new(value: &'a Value) -> Option<Bound<'a>> {
        let text = match value {
            Value::Number(text) => text.as_str(),
            _ => return None,
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let (negative, whole) = whole.strip_prefix('-').map_or((false, whole), |whole| (true, whole));
        let digits = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
        (digits && whole.len() <= WHOLE as usize).then(|| Bound { negative, whole, fraction })
    }

    fn whole_digits(&self) -> u32 {
        self.whole.len() as u32
    }

    /// The next number below, in units of so many digits after the point, and whether it is that number.
    fn scaled(&self, places: u32) -> (i64, bool) {
        let digits = self.whole.bytes().chain(self.fraction.bytes().chain(core::iter::repeat(b'0')).take(places as usize));
        let size = digits.fold(0i64, |n, b| n * 10 + i64::from(b - b'0'));
        let exact = self.fraction.bytes().skip(places as usize).all(|b| b == b'0');
        match self.negative {
            true => (-size - i64::from(!exact), exact),
            false => (size, exact),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use penstock::json::parse;

    fn range(schema: &str, integer: bool) -> Range {
        Range::new(&parse(schema).unwrap(), integer, "#").unwrap().unwrap()
    }

    fn write(range: &Range, text: &str) -> Option<Decimal> {
        text.bytes().try_fold(Decimal::default(), |number, byte| range.take(number, byte))
    }

    /// Each text may be written if and only if it is the beginning of one that is in the range.
    #[test]
    fn range_takes_all_that_is_in_it_and_nothing_else() {
        for (schema, least, most) in [
            (r#"{"minimum":17,"maximum":230}"#, 17, 230),
            (r#"{"minimum":-42,"maximum":7.5}"#, -42, 7),
            (r#"{"exclusiveMinimum":-120,"exclusiveMaximum":-9}"#, -119, -10),
            (r#"{"exclusiveMinimum":0.5,"maximum":3}"#, 1, 3),
            (r#"{"minimum":5,"maximum":5}"#, 5, 5),
        ] {
            let range = range(schema, true);
            let all: std::vec::Vec<String> = (least..=most).map(|n| format!("{}", n)).collect();
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
        let above = range(r#"{"minimum":1000}"#, true);
        assert_eq!(above.needed(Decimal::default()), Some(4));
        assert!(write(&above, "-").is_none() && write(&above, "999999999999999").is_some());
    }

    #[test]
    fn range_refuses_what_it_cannot_hold() {
        for schema in [r#"{"minimum":1e3}"#, r#"{"maximum":1234567890123456}"#, r#"{"minimum":"1"}"#] {
            assert!(Range::new(&parse(schema).unwrap(), true, "#").unwrap_err().contains("imum"), "{}", schema);
        }
        assert!(range(r#"{"minimum":3,"maximum":2}"#, true).needed(Decimal::default()).is_none());
    }
}
