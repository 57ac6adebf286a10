// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

pub struct Of<T>(T);

#[penstock::export]
//~ leave out the parameters of the impl
impl<T: 'static> Plugin for Of<T> {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Err(String::new())
    }
}
