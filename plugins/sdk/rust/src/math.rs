// SPDX-License-Identifier: MIT

//! exp and log that give the same bits from every toolchain.
//!
//! Both compute in float64 with additions, multiplications and divisions in the order written here, none of them fused,
//! and round to float32 once at the end. The Go SDK's math32 does the same steps. The error is below one unit in the last
//! place of a float32.

const LN_2: f64 = 0.693_147_180_559_945_3;
const LOG2_E: f64 = 1.442_695_040_888_963_4;

/// 1/0!, 1/1!, … 1/11!: exp(r) for |r| ≤ ln 2 / 2 is off by less than 1e-14.
const EXP: [f64; 12] = [
    1.0,
    1.0,
    0.5,
    0.166_666_666_666_666_66,
    0.041_666_666_666_666_664,
    0.008_333_333_333_333_333,
    0.001_388_888_888_888_889,
    0.000_198_412_698_412_698_4,
    0.000_024_801_587_301_587_302,
    0.000_002_755_731_922_398_589_3,
    0.000_000_275_573_192_239_858_9,
    0.000_000_025_052_108_385_441_72,
];

/// e to the power of `x`.
///
/// With k = ⌊x·log₂e + ½⌋ and r = x − k·ln 2 it is 2^k times the Taylor polynomial of degree 11 in r, by Horner's rule.
pub fn exp(x: f32) -> f32 {
    if x.is_nan() {
        return x;
    }
    if x > 89.0 {
        return f32::INFINITY;
    }
    if x < -104.0 {
        return 0.0;
    }
    let x = f64::from(x);
    let t = x * LOG2_E + 0.5;
    let mut k = t as i64;
    if k as f64 > t {
        k -= 1;
    }
    let r = x - k as f64 * LN_2;
    let mut p = EXP[11];
    for c in EXP[..11].iter().rev() {
        p = p * r + c;
    }
    (p * f64::from_bits(((k + 1023) as u64) << 52)) as f32
}

/// The natural logarithm of `x`.
///
/// With x = 2^e·m, √½ < m ≤ √2 and s = (m − 1)/(m + 1) it is e·ln 2 + 2s(1 + s²/3 + s⁴/5 + … + s¹⁶/17), by Horner's rule.
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
    let mut e = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    if m > core::f64::consts::SQRT_2 {
        m *= 0.5;
        e += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut p = 1.0 / 17.0;
    for n in [15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        p = p * z + 1.0 / n;
    }
    (e as f64 * LN_2 + 2.0 * s * p) as f32
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

    /// The same numbers are in the Go SDK's test: a change of one shows.
    #[test]
    fn bits_are_what_they_always_were() {
        let mut sum = 0u64;
        for i in 0..20_000u64 {
            let x = (i as f32 - 10_000.0) / 117.0;
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(exp(x).to_bits()));
            sum = sum.wrapping_mul(31).wrapping_add(u64::from(log(x * x + 0.001).to_bits()));
        }
        assert_eq!(sum, 15_291_580_968_883_509_585);
    }
}
