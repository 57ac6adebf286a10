// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
//~ stands on `impl Plugin for
impl Clone for P {
    fn clone(&self) -> P {
        P
    }
}
