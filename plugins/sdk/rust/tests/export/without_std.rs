// SPDX-License-Identifier: MIT

#![no_std]

extern crate alloc;

use alloc::string::String;
use penstock::*;

pub struct P;

#[penstock::export(no_std)]
impl Plugin for P {
    const MANIFEST: Manifest = Manifest::DEFAULT;

    fn open(_: &Request) -> Result<Self, String> {
        Ok(P)
    }

    fn sample(&mut self, candidates: &mut Candidates) -> Choice {
        Choice::Take(candidates.ids()[0])
    }
}
