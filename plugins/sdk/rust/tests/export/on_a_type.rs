// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
//~ stands on `impl Plugin for
pub struct Other;
