// SPDX-License-Identifier: MIT

// Package web holds the browser UI, embedded in the binary.
package web

import (
	"embed"
	"io/fs"
)

// dist is what Vite builds from src; only its .gitkeep is committed, so that a bare clone compiles.
//
//go:embed all:dist
var dist embed.FS

//go:embed unbuilt
var unbuilt embed.FS

// FS returns the files of the UI, index.html at the root. If the UI was not built before the
// binary, index.html is a page that says how to build it. Files below assets/ carry a content hash
// in their names and may be cached forever; index.html may not.
func FS() fs.FS {
	if built := below(dist, "dist"); hasIndex(built) {
		return built
	}
	return below(unbuilt, "unbuilt")
}

func hasIndex(files fs.FS) bool {
	_, err := fs.Stat(files, "index.html")
	return err == nil
}

func below(files embed.FS, folder string) fs.FS {
	sub, err := fs.Sub(files, folder)
	if err != nil { // only for a malformed folder name, and ours are the two constants above
		panic(err)
	}
	return sub
}
