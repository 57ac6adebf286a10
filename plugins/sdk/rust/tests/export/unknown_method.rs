// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    //~ method `sampel` is not a member of trait `Plugin`
    fn sampel(&mut self, _: &mut Candidates) -> Choice {
        Choice::Edited
    }
}
