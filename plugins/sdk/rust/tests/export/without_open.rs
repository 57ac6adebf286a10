// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
//~ missing: `open`
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;
}
