// SPDX-License-Identifier: MIT

use crate::{abi, Mask, Token};

/// What is to hold for the next token; what is not touched does not apply.
pub struct Next<'a> {
    pub(crate) mask: &'a mut [u32],
    pub(crate) bias: &'a mut [u32],
    pub(crate) splice: &'a mut [u32],
    pub(crate) filled: i32,
}

impl<'a> Next<'a> {
    /// Only these tokens may come. The mask is as the last call left it, at first all zero; leaving it all zero is a
    /// fault.
    pub fn mask(&mut self) -> Mask<'_> {
        self.filled |= abi::PREPARE_MASK;
        Mask::new(self.mask)
    }

    /// Adds to the logit of a token; −∞ bans it. False where there is no room for more ([`crate::Prepare::BIASES`]).
    pub fn bias(&mut self, token: Token, bias: f32) -> bool {
        if self.filled & abi::PREPARE_BIAS == 0 && !self.bias.is_empty() {
            self.bias[0] = 0;
        }
        let at = self.bias.first().map_or(usize::MAX, |n| 1 + 2 * *n as usize);
        if at >= self.bias.len() {
            return false;
        }
        self.filled |= abi::PREPARE_BIAS;
        self.bias[at] = token;
        self.bias[at + 1] = bias.to_bits();
        self.bias[0] += 1;
        true
    }

    /// This token comes next, whatever the logits are. Panics unless [`crate::Prepare::FORCE`] is set.
    pub fn force(&mut self, token: Token) {
        self.filled |= abi::PREPARE_FORCE;
        self.splice[..3].copy_from_slice(&[0, 1, token]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_fills_what_is_used() {
        let (mut mask, mut bias, mut splice) = ([0; 2], [9; 5], [9; 3]);
        let mut next = Next { mask: &mut mask, bias: &mut bias, splice: &mut splice, filled: 0 };
        next.mask().allow(33);
        assert!(next.bias(7, 1.5) && next.bias(8, f32::NEG_INFINITY));
        assert!(!next.bias(9, 1.0), "there is room for two");
        assert_eq!(next.filled, abi::PREPARE_MASK | abi::PREPARE_BIAS);
        next.force(5);
        assert_eq!(next.filled & abi::PREPARE_FORCE, abi::PREPARE_FORCE);
        assert_eq!(mask, [0, 2]);
        assert_eq!(bias, [2, 7, 1.5f32.to_bits(), 8, f32::NEG_INFINITY.to_bits()]);
        assert_eq!(splice, [0, 1, 5]);
    }
}
