// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    //~ an exported method has no condition
    #[cfg(test)]
    fn close(&mut self) {}
}
