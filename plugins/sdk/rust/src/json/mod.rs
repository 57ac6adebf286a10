// SPDX-License-Identifier: MIT

//! A small JSON reader for configs, schemas and conversations.

mod number;
mod parse;
mod read;
mod value;
mod write;

pub use number::is_number;
pub use parse::{parse, Error};
pub use read::Read;
pub use value::Value;
pub use write::quote;
