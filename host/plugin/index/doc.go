// SPDX-License-Identifier: MIT

// Package index reads and writes indexes: static files that list plugins, with what each asks for
// and where its file is.
//
// # Why does an entry have the plugin's manifest?
//
// Who searches sees what a plugin asks for before its file is fetched. And a server lists the
// plugins that it comes with by their index, without compiling one of them.
//
// # What does a signature say?
//
// That whoever has the key has written these bytes. It does not say that they are the newest. So a
// signed index says when it was made, and package source refuses one that is older than the last
// that it has seen. Whoever serves the index can still keep a newer one back.
package index
