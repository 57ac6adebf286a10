// SPDX-License-Identifier: MIT

// Package guest keeps what the plugin registered, one function for each export. The packages of the extension points fill
// it in and export it to WebAssembly; package plugintest calls it if there is no WebAssembly.
package guest

// What the exports call; nil where the plugin has no such extension point.
var (
	Describe func()
	Open     func() int32
	Warm     func() int32
	Template func() int32
	Prepare  func() int32
	Sample   func(n int32) int32
	Accept   func(token int32) int32
	Stop     func(token, size int32) int32
	Rewind   func(size int32) int32
)

// Bind is what an extension point does at the start of open: it makes its buffers and hands them to the host.
var Bind []func() error
