// SPDX-License-Identifier: MIT

// Package sdk holds the sources of the Rust SDK, so that the binary can put them beside a new plugin without a network.
package sdk

import (
	"embed"
	"io/fs"
)

//go:embed rust/Cargo.toml rust/src rust/export
var sources embed.FS

// Rust is the folder of the crate penstock, and within it of its macros: what cargo needs of them, without their tests.
func Rust() fs.FS {
	crate, err := fs.Sub(sources, "rust")
	if err != nil {
		panic(err) // the name above is a valid one
	}
	return crate
}
