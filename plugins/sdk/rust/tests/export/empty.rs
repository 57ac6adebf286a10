// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
//~ missing: `MANIFEST`, `open`
impl Plugin for P {}
