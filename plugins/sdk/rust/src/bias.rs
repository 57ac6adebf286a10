// SPDX-License-Identifier: MIT

//! The bias buffer: the number of entries, then the token and the amount of each.

use crate::Token;

/// Adds an entry; false if there is no room.
#[inline]
pub(crate) fn add(buffer: &mut [u32], token: Token, amount: f32) -> bool {
    let at = 1 + 2 * buffer.first().copied().unwrap_or(0) as usize;
    if at >= buffer.len() {
        return false;
    }
    buffer[at] = token;
    buffer[at + 1] = amount.to_bits();
    buffer[0] += 1;
    true
}

/// The entries.
pub(crate) fn entries(buffer: &[u32]) -> impl Iterator<Item = (Token, f32)> + '_ {
    buffer[1..].chunks(2).take(buffer[0] as usize).map(|e| (e[0], f32::from_bits(e[1])))
}
