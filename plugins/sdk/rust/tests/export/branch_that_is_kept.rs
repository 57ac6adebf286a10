// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P {
    kept: Option<Branch<'static>>,
}

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P { kept: None })
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        //~ error
        self.kept = Some(run.prompt()?);
        Ok(())
    }
}
