// SPDX-License-Identifier: MIT

//! Takes the host's place in native tests: a [`Session`] opens a plugin in one request and calls
//! its methods.
//!
//! It ends the test where the host would end the request. A panic of the plugin is the test's own,
//! with its file and line.
//!
//! It has no model and no grammar engine, and says so when a test needs one. What a program writes,
//! and what a plugin does with a grammar, is tested on the built plugin: `penstock plugin test`
//! plays the cases in `cases/`, under the real runtime and with its fuel and memory.
//! `docs/plugins/debugging.md` says which test is for what.
//!
//! ```
//! # use penstock::{Candidates, Choice, Manifest, Plugin};
//! use penstock::testing::{Request, Session};
//! # struct Greedy;
//! # #[penstock::export]
//! # impl Plugin for Greedy {
//! #     const MANIFEST: Manifest = Manifest { name: "greedy", ..Manifest::DEFAULT };
//! #     fn open(_: &penstock::Request) -> Result<Self, String> {
//! #         Ok(Greedy)
//! #     }
//! #     fn sample(&mut self, candidates: &mut Candidates) -> Choice {
//! #         Choice::Take(candidates.ids()[0])
//! #     }
//! # }
//!
//! let mut session = Session::<Greedy>::open(Request::new().pieces(&["the", "a", "tree"]));
//! let (mut ids, mut logits) = ([1, 2, 0], [3.0, 1.0, 0.5]);
//! assert_eq!(session.sample(&mut ids, &mut logits), Choice::Take(1));
//! ```

mod host;
mod request;
mod session;

pub use request::Request;
pub use session::{Prepared, Session};
