// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

macro_rules! close {
    () => {
        fn close(&mut self) {}
    };
}

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    //~ the export cannot see the methods that a macro makes
    close!();
}
