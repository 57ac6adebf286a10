// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    fn run(&mut self, _: &Run) -> Result<(), String> {
        Ok(())
    }

    //~ a plugin with `run` writes the answer itself; take `accept` or `run` out
    fn accept(&mut self, _: Token) -> Accepted {
        Accepted::Continue
    }
}
