// SPDX-License-Identifier: MIT

//! The pseudorandom numbers of a watermark: ChaCha with 8 rounds (Bernstein, 2008; for 8 rounds
//! Aumasson, "Too Much Crypto", 2019) as a keyed function of a context and a token. Without the key
//! nobody can tell them from chance, however much marked text he has. The package host/watermark
//! computes the same numbers; both tests read testdata/words.json.

use penstock::Token;

/// A secret, from which those of contexts are derived.
#[derive(Clone, Copy)]
pub struct Key([u32; 8]);

/// Numbers in a block.
const BLOCK: u32 = 16;

impl Key {
    /// Reads a key of 64 hexadecimal digits.
    pub fn parse(hex: &str) -> Result<Key, String> {
        let mut key = [0; 8];
        if hex.len() != 64 || !hex.bytes().all(|c| c.is_ascii_hexdigit()) {
            return Err("key: it must have 64 hexadecimal digits, as `openssl rand -hex 32` prints".into());
        }
        for (i, word) in key.iter_mut().enumerate() {
            // The digits are bytes of little-endian words.
            *word = u32::from_str_radix(&hex[8 * i..8 * i + 8], 16).map_err(|e| e.to_string())?.swap_bytes();
        }
        Ok(Key(key))
    }

    /// The key for what follows after some words. All lists of words that a key is used with must
    /// have the same length.
    pub fn after(&self, words: &[u32]) -> Key {
        let mut key = *self;
        for part in words.chunks(4) {
            let mut input = [u32::MAX; 4]; // which is no token
            input[..part.len()].copy_from_slice(part);
            let block = key.block(input);
            key.0.copy_from_slice(&block[..8]);
        }
        key
    }

    /// The number of a token: 32 bits of which each is as likely as the other.
    pub fn number(&self, token: Token) -> u32 {
        self.block([token / BLOCK, 0, 0, 0])[(token % BLOCK) as usize]
    }

    /// A number of a token of 16 bits, of which a block has twice as many: for all of a vocabulary.
    pub fn half(&self, token: Token) -> u16 {
        let word = self.block([token / (2 * BLOCK), 0, 0, 0])[(token / 2 % BLOCK) as usize];
        (word >> (16 * (token % 2))) as u16
    }

    /// The tokens of a vocabulary whose half is below a threshold, in no order.
    pub fn below(&self, threshold: u16, vocabulary: usize, mut each: impl FnMut(Token)) {
        for first in (0..vocabulary as u32).step_by(8 * BLOCK as usize) {
            let block = first / (2 * BLOCK);
            let counters = Lanes::from([block, block + 1, block + 2, block + 3]);
            let four = self.block([counters, Lanes::of(0), Lanes::of(0), Lanes::of(0)]);
            for (first, numbers) in (first..).step_by(2).zip(&four) {
                let mut bits = numbers.halves_below(threshold);
                while bits != 0 {
                    let i = bits.trailing_zeros(); // of the halves of four words, one of each block
                    let token = first + i / 2 * 2 * BLOCK + i % 2;
                    bits &= bits - 1;
                    if token < vocabulary as u32 {
                        each(token);
                    }
                }
            }
        }
    }

    /// ChaCha's block function, for one input or for four.
    #[inline(never)] // it is large
    fn block<W: Word>(&self, input: [W; 4]) -> [W; 16] {
        let [k0, k1, k2, k3, k4, k5, k6, k7] = self.0.map(W::of);
        let [c0, c1, c2, c3] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574].map(W::of);
        let begin = [c0, c1, c2, c3, k0, k1, k2, k3, k4, k5, k6, k7, input[0], input[1], input[2], input[3]];
        let mut x = begin;
        // A macro, since the compiler keeps the array in registers only if its indices are known.
        macro_rules! quarter_rounds {
            ($($a:literal $b:literal $c:literal $d:literal)*) => {$(
                x[$a] = x[$a].plus(x[$b]);
                x[$d] = x[$d].mixed::<16>(x[$a]);
                x[$c] = x[$c].plus(x[$d]);
                x[$b] = x[$b].mixed::<12>(x[$c]);
                x[$a] = x[$a].plus(x[$b]);
                x[$d] = x[$d].mixed::<8>(x[$a]);
                x[$c] = x[$c].plus(x[$d]);
                x[$b] = x[$b].mixed::<7>(x[$c]);
            )*};
        }
        for _ in 0..4 {
            quarter_rounds!(0 4 8 12  1 5 9 13  2 6 10 14  3 7 11 15  0 5 10 15  1 6 11 12  2 7 8 13  3 4 9 14);
        }
        for (word, begin) in x.iter_mut().zip(begin) {
            *word = word.plus(begin);
        }
        x
    }
}

/// A word of a block, or one of each of four blocks.
trait Word: Copy {
    fn of(word: u32) -> Self;
    fn plus(self, other: Self) -> Self;
    /// Both XORed, and rotated to the left by BITS.
    fn mixed<const BITS: u32>(self, other: Self) -> Self;
}

impl Word for u32 {
    fn of(word: u32) -> u32 {
        word
    }

    fn plus(self, other: u32) -> u32 {
        self.wrapping_add(other)
    }

    fn mixed<const BITS: u32>(self, other: u32) -> u32 {
        (self ^ other).rotate_left(BITS)
    }
}

#[cfg(target_arch = "wasm32")]
use simd::Lanes;

#[cfg(target_arch = "wasm32")]
mod simd {
    use core::arch::wasm32::*;

    #[derive(Clone, Copy)]
    pub struct Lanes(v128);

    impl super::Word for Lanes {
        fn of(word: u32) -> Lanes {
            Lanes(u32x4_splat(word))
        }

        fn plus(self, other: Lanes) -> Lanes {
            Lanes(u32x4_add(self.0, other.0))
        }

        fn mixed<const BITS: u32>(self, other: Lanes) -> Lanes {
            let x = v128_xor(self.0, other.0);
            Lanes(v128_or(u32x4_shl(x, BITS), u32x4_shr(x, 32 - BITS)))
        }
    }

    impl From<[u32; 4]> for Lanes {
        fn from([a, b, c, d]: [u32; 4]) -> Lanes {
            Lanes(u32x4(a, b, c, d))
        }
    }

    impl Lanes {
        /// A bit for each half of a word, the lower first, that is below a threshold.
        pub fn halves_below(self, threshold: u16) -> u32 {
            u32::from(u16x8_bitmask(u16x8_lt(self.0, u16x8_splat(threshold))))
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
use portable::Lanes;

/// The same without SIMD, for native tests.
#[cfg(not(target_arch = "wasm32"))]
mod portable {
    #[derive(Clone, Copy)]
    pub struct Lanes([u32; 4]);

    impl super::Word for Lanes {
        fn of(word: u32) -> Lanes {
            Lanes([word; 4])
        }

        fn plus(self, other: Lanes) -> Lanes {
            Lanes([0, 1, 2, 3].map(|i| self.0[i].plus(other.0[i])))
        }

        fn mixed<const BITS: u32>(self, other: Lanes) -> Lanes {
            Lanes([0, 1, 2, 3].map(|i| self.0[i].mixed::<BITS>(other.0[i])))
        }
    }

    impl From<[u32; 4]> for Lanes {
        fn from(words: [u32; 4]) -> Lanes {
            Lanes(words)
        }
    }

    impl Lanes {
        /// A bit for each half of a word, the lower first, that is below a threshold.
        pub fn halves_below(self, threshold: u16) -> u32 {
            (0..8).map(|i| u32::from(((self.0[i / 2] >> (16 * (i % 2))) as u16) < threshold) << i).sum()
        }
    }
}
