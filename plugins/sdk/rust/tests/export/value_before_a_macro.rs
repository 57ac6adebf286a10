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
    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    const MANIFEST: Manifest = Manifest { strict_mask: !true, ..Manifest::DEFAULT };
    //~ the export cannot see the methods that a macro makes
    close!();
}
