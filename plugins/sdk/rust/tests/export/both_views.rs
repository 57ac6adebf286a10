// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    fn sample(&mut self, _: &mut Candidates) -> Choice {
        Choice::Edited
    }

    //~ `sample` for candidates or `sample_row` for the whole row, not both
    fn sample_row(&mut self, _: &mut Row) -> Choice {
        Choice::Edited
    }
}
