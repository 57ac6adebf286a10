// SPDX-License-Identifier: MIT

//! What candidates and rows have in common. The Go SDK does the same operations in the same order,
//! so that the same logits and the same random number give the same token;
//! plugins/abi/testdata/draws.json has cases for both.

use crate::{host, math};
use alloc::vec::Vec;

pub(crate) fn highest(logits: &[f32]) -> f32 {
    logits.iter().copied().fold(f32::NEG_INFINITY, |highest, x| if x > highest { x } else { highest })
}

pub(crate) fn softmax<'b>(logits: &[f32], buffer: &'b mut Vec<f32>) -> (&'b mut [f32], f32) {
    let highest = highest(logits);
    let mut sum = 0.0;
    buffer.clear();
    buffer.extend(logits.iter().map(|x| {
        let weight = math::exp(x - highest);
        sum += weight;
        weight
    }));
    (buffer, sum)
}

/// The index that is drawn; 0 where no weight is above 0.
pub(crate) fn draw(weights: &[f32], sum: f32) -> usize {
    let mut left = host::uniform() * sum;
    let mut last = 0;
    for (i, w) in weights.iter().enumerate().filter(|(_, w)| **w != 0.0) {
        last = i;
        if left < *w {
            break;
        }
        left -= w;
    }
    last
}
