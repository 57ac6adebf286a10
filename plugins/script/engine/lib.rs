// SPDX-License-Identifier: MIT
//! Empty: see Cargo.toml.
