// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

//~ write #[penstock::export], or #[penstock::export(no_std)]
#[penstock::export(nostd)]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }
}
