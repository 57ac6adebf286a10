// SPDX-License-Identifier: MIT

use penstock::*;

pub struct P;

#[penstock::export]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest { name: "x", branches: 2, ..Manifest::DEFAULT };

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    fn run(&mut self, run: &Run) -> Result<(), String> {
        let first = run.prompt()?;
        let mut second = first.fork()?;
        run.wait(1, [&first, &second])?;
        second.append(&[first.best(1)[0].0])?;
        drop(first);
        run.show(&second.tokens(0));
        Ok(())
    }

    fn close(&mut self) {}
}
