// SPDX-License-Identifier: MIT

// What stands in the value of a constant is no method and no macro's.
use penstock::*;

pub struct P;

macro_rules! manifest {
    () => {
        Manifest::DEFAULT
    };
}

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = manifest!();

    fn open(_: &Request) -> Result<Self, String> {
        assert!(core::any::type_name::<fn()>() != "");
        Ok(P)
    }

    #[cfg_attr(all(), inline)]
    fn close(&mut self) {}
}
