// SPDX-License-Identifier: MIT

use crate::{abi, bias, buffers::Buffers, Mask, Token};

/// The constraints for the next token; those that are not set do not apply.
pub struct Next<'a> {
    pub(crate) mask: &'a mut [u32],
    pub(crate) bias: &'a mut [u32],
    pub(crate) splice: &'a mut [u32],
    pub(crate) filled: i32,
}

impl<'a> Next<'a> {
    /// Only these tokens may come. The mask is as the last call left it, at first all zero;
    /// leaving it all zero is a fault.
    pub fn mask(&mut self) -> Mask<'_> {
        self.filled |= abi::PREPARE_MASK;
        Mask::new(self.mask)
    }

    /// Adds an amount to the logit of a token; −∞ bans it. False if there is no room for another:
    /// the manifest's `biases` sets how many there are.
    #[inline] // a plugin may call it for a large part of the vocabulary
    pub fn bias(&mut self, token: Token, amount: f32) -> bool {
        if self.filled & abi::PREPARE_BIAS == 0 {
            self.bias[0] = 0;
        }
        let added = bias::add(self.bias, token, amount);
        if added {
            self.filled |= abi::PREPARE_BIAS;
        }
        added
    }

    /// These tokens come next, one after another, whatever the logits are;
    /// [`crate::Plugin::prepare`] is not called between them. Panics if there is no room for so
    /// many: the manifest's `splice` sets how many there may be.
    pub fn force(&mut self, tokens: &[Token]) {
        if !tokens.is_empty() {
            self.filled |= abi::PREPARE_FORCE;
            Buffers::set_splice(self.splice, 0, tokens);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_fills_what_is_used() {
        let (mut mask, mut bias, mut splice) = ([0; 2], [9; 5], [9; 4]);
        let mut next = Next { mask: &mut mask, bias: &mut bias, splice: &mut splice, filled: 0 };
        next.mask().allow(33);
        assert!(next.bias(7, 1.5) && next.bias(8, f32::NEG_INFINITY));
        assert!(!next.bias(9, 1.0), "there is room for two");
        assert_eq!(next.filled, abi::PREPARE_MASK | abi::PREPARE_BIAS);
        next.force(&[5, 6]);
        assert_eq!(next.filled & abi::PREPARE_FORCE, abi::PREPARE_FORCE);
        assert_eq!(mask, [0, 2]);
        assert_eq!(bias, [2, 7, 1.5f32.to_bits(), 8, f32::NEG_INFINITY.to_bits()]);
        assert_eq!(splice, [0, 2, 5, 6]);
    }
}
