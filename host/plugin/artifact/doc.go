// SPDX-License-Identifier: MIT

// Package artifact puts plugins and indexes of them into OCI registries and gets them from there.
//
// Those are the registries that containers are kept in. A plugin is an artifact of one layer, laid
// out as other tools for WebAssembly lay theirs out (CNCF, "Wasm OCI Artifact layout"). The layer
// of a script has a type of its own, and the name of its file, which is the plugin's. The digest
// depends on nothing but the plugin and what its manifest says.
package artifact
