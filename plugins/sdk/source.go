// SPDX-License-Identifier: MIT

package sdk

import (
	"embed"
	"io/fs"
)

//go:embed rust/Cargo.toml rust/src rust/export
var sources embed.FS

// Rust is the folder of the crate penstock with the crate of its macros: the files that cargo
// needs, without their tests.
func Rust() fs.FS {
	crate, err := fs.Sub(sources, "rust")
	if err != nil {
		panic(err) // the name above is a valid one
	}
	return crate
}
