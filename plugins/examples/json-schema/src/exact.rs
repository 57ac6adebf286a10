// SPDX-License-Identifier: MIT

use alloc::vec::Vec;
use core::cmp::Ordering;

/// A number as JSON has it, with all its digits: 0.d₁d₂d₃… × 10^point. Neither the first digit nor the last is a 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    negative: bool,
    digits: Vec<u8>,
    point: i32,
}

/// Larger exponents count as this one.
const FAR: i32 = 1 << 20;

impl Exact {
    /// Reads a number of JSON.
    pub fn new(text: &str) -> Exact {
        let (number, power) = text.split_once(|c| c == 'e' || c == 'E').unwrap_or((text, "0"));
        let far = if power.starts_with('-') { -FAR } else { FAR };
        let power = power.parse().unwrap_or(far).clamp(-FAR, FAR);
        let (negative, number) = number.strip_prefix('-').map_or((false, number), |n| (true, n));
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
        let zeros = digits.iter().take_while(|d| **d == 0).count();
        digits.drain(..zeros);
        while digits.last() == Some(&0) {
            digits.pop();
        }
        let point = if digits.is_empty() { 0 } else { whole.len() as i32 - zeros as i32 + power };
        Exact { negative: negative && !digits.is_empty(), digits, point }
    }

    /// Digits before the point.
    pub fn whole(&self) -> u32 {
        self.point.max(1) as u32
    }

    /// Digits after the point.
    pub fn fraction(&self) -> u32 {
        (self.digits.len() as i32 - self.point).max(0) as u32
    }

    /// The next number below in units of so many digits after the point, and whether it is that number. What has more than 18
    /// digits is only larger (smaller) than all that have not.
    pub fn scaled(&self, places: u32) -> (i64, bool) {
        let length = self.point + places as i32;
        if length > 18 {
            return (if self.negative { -i64::MAX } else { i64::MAX }, true);
        }
        let padded = self.digits.iter().copied().chain(core::iter::repeat(0));
        let size = padded.take(length.max(0) as usize).fold(0i64, |n, d| n * 10 + i64::from(d));
        let exact = self.digits.len() as i32 <= length;
        match self.negative {
            true => (-size - i64::from(!exact), exact),
            false => (size, exact),
        }
    }

    pub fn is_positive(&self) -> bool {
        !self.negative && !self.digits.is_empty()
    }

    fn size(&self, other: &Exact) -> Ordering {
        let (a, b) = (self.digits.is_empty(), other.digits.is_empty());
        b.cmp(&a).then(self.point.cmp(&other.point)).then_with(|| self.digits.cmp(&other.digits))
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Exact) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.size(other),
            (true, true) => other.size(self),
            (negative, _) => negative.cmp(&false).reverse(),
        }
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Exact) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_numbers_have_an_order_and_units() {
        let ordered = ["-1e400", "-12", "-1.5", "-0.01", "0", "1e-400", "0.5", "5.0001", "12", "120e-1", "1.2e2", "1e400"];
        for pair in ordered.windows(2) {
            let (a, b) = (Exact::new(pair[0]), Exact::new(pair[1]));
            assert_eq!(a < b, pair != ["12", "120e-1"], "{:?}", pair);
            assert!(a <= b, "{:?}", pair);
        }
        assert_eq!(Exact::new("-0.0"), Exact::new("0e5"));
        for (text, places, want) in [
            ("1.25", 1, (12, false)),
            ("-1.25", 1, (-13, false)),
            ("1.25e1", 1, (125, true)),
            ("0.001", 1, (0, false)),
            ("1e-400", 0, (0, false)),
            ("1e18", 0, (i64::MAX, true)),
        ] {
            assert_eq!(Exact::new(text).scaled(places), want, "{}", text);
        }
        assert_eq!((Exact::new("0.05").fraction(), Exact::new("123.5").whole()), (2, 3));
    }
}
