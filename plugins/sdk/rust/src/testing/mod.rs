// SPDX-License-Identifier: MIT

//! Takes the host's place in native tests: a [`Session`] runs a plugin in one request, call by
//! call.
//!
//! It gives the same answers as the host, and ends the test where the host would end the request. A
//! panic of the plugin is the test's own, with its file and line. Fuel, memory limits and the build
//! for WebAssembly are not covered: `penstock plugin check` tries a built plugin. With
//! `PENSTOCK_RECORD=FOLDER` in the environment each session is written to a file in that folder,
//! and `penstock plugin test --replay FILE` repeats its calls under the host.
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

//!
//! [`Session::run`] runs a program. Its model is a function of the test, which returns the logits
//! after some tokens.
//!
//! ```
//! # use penstock::{Manifest, Plugin, Run};
//! use penstock::testing::{Request, Session};
//! # struct First;
//! # #[penstock::export]
//! # impl Plugin for First {
//! #     const MANIFEST: Manifest = Manifest { name: "first", ..Manifest::DEFAULT };
//! #     fn open(_: &penstock::Request) -> Result<Self, String> {
//! #         Ok(First)
//! #     }
//! #     fn run(&mut self, run: &Run) -> Result<(), String> {
//! #         let branch = run.prompt()?;
//! #         run.wait(1, [&branch])?;
//! #         run.show(&[branch.best(1)[0].0]);
//! #         Ok(())
//! #     }
//! # }
//!
//! let request = Request::new().pieces(&["the", "a", "tree"]).prompt(&[0]);
//! let request = request.says(|tokens| match tokens {
//!     [.., 0] => vec![0.0, 1.0, 3.0],
//!     _ => vec![1.0, 0.0, 0.0],
//! });
//! let shown = Session::<First>::open(request).run().unwrap();
//! assert_eq!(shown[0].token, 2);
//! ```

mod accept;
mod deed;
mod draw;
mod host;
mod program;
mod record;
mod request;
mod rows;
mod sample;
mod session;
mod sha256;

pub use accept::Prepared;
pub use program::{Adopted, Shown};
pub use request::Request;
pub use session::Session;
