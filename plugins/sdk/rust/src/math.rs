// SPDX-License-Identifier: MIT

//! exp and log with the same bits from every toolchain.
//!
//! Both compute in float64, with the operations in the order written here and none of them fused,
//! and round to float32 once at the end. The Go SDK's math32 takes the same steps, and the tests
//! of both pin the same sum over a million results.

use core::f64::consts::{LN_2, LOG2_E};

const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1; // the first 33 bits, so that k · LN_2_HIGH is exact
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// e to the power of `x`: 2^k times the series of exp(r) to the eighth power, with x = k·ln 2 + r
/// and |r| ≤ 0.35.
pub fn exp(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    if x > 89.0 {
        return f32::INFINITY;
    }
    if x < -104.0 {
        return 0.0; // less than half the smallest number above 0
    }
    let x = f64::from(x);
    let t = x * LOG2_E;
    let k = (if t < 0.0 { t - 0.5 } else { t + 0.5 }) as i64;
    let r = (x - k as f64 * LN_2_HIGH) - k as f64 * LN_2_LOW;
    let mut p = 1.0 / 40320.0;
    for factorial in [5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0] {
        p = 1.0 / factorial + r * p;
    }
    (p * f64::from_bits(((k + 1023) as u64) << 52)) as f32
}

/// The natural logarithm of `x`: k·ln 2 + 2(s + s³/3 + … + s¹⁵/15), with x = 2^k·m, √½ < m ≤ √2
/// and s = (m − 1)/(m + 1).
pub fn log(x: f32) -> f32 {
    if x.is_nan() || x < 0.0 {
        return f32::NAN;
    }
    if x == 0.0 {
        return f32::NEG_INFINITY;
    }
    if x == f32::INFINITY {
        return x;
    }
    let bits = f64::from(x).to_bits(); // a normal number, also where x is subnormal
    let mut k = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    if m > core::f64::consts::SQRT_2 {
        m *= 0.5;
        k += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 15.0;
    for n in [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        p = 1.0 / n + z * p;
    }
    (k as f64 * LN_2 + 2.0 * (s * p)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many float32 lie between two positive ones.
    fn apart(a: f32, b: f32) -> i32 {
        (a.to_bits() as i32 - b.to_bits() as i32).abs()
    }

    #[test]
    fn exp_is_right_to_the_last_place() {
        let mut x = -103.0f32;
        while x < 88.7 {
            let want = f64::from(x).exp() as f32;
            assert!(apart(exp(x), want) <= 1, "exp({}) = {}, want {}", x, exp(x), want);
            x += 0.013_7;
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!((exp(f32::NEG_INFINITY), exp(f32::INFINITY)), (0.0, f32::INFINITY));
        assert!(exp(f32::NAN).is_nan());
    }

    #[test]
    fn log_is_right_to_the_last_place() {
        let mut x = 1e-44f32;
        while x < 3e38 {
            let want = f64::from(x).ln() as f32;
            assert!(apart(log(x).abs(), want.abs()) <= 1, "log({}) = {}, want {}", x, log(x), want);
            x *= 1.003_1 + f32::EPSILON;
            x += 1.5e-45;
        }
        assert_eq!((log(1.0), log(0.0), log(f32::INFINITY)), (0.0, f32::NEG_INFINITY, f32::INFINITY));
        assert!(log(-1.0).is_nan() && log(f32::NAN).is_nan());
    }

    /// The Go SDK's TestBits has the same number.
    #[test]
    fn bits_are_those_of_the_go_sdk() {
        let mut sum = 14_695_981_039_346_656_037u64;
        for i in 0..1u32 << 20 {
            let x = i as f32 / 8192.0 - 104.0;
            for y in [exp(x), log(x + 105.0)] {
                sum = (sum ^ u64::from(y.to_bits())).wrapping_mul(1_099_511_628_211);
            }
        }
        assert_eq!(sum, 0x2fa4_3d5e_75c2_941f);
    }
}
