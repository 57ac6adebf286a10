// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    //~ incompatible type for trait
    fn sample(&mut self, _: &mut Row) -> Choice {
        Choice::Edited
    }
}
