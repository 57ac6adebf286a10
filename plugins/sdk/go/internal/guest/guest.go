// SPDX-License-Identifier: MIT

// Package guest connects the exports of a plugin with its type. Package penstock fills it in when
// the plugin registers and exports it to the host; package plugintest calls it in native tests.
package guest

// Plugin is a registered plugin.
type Plugin struct {
	Name string
	New  func() any // a fresh value of its type

	// Begin makes a new value the active plugin: the functions below are then its methods, nil
	// where it has none.
	Begin func()

	Before *Plugin // that was registered before this one
	// Manifest is the plugin's manifest, or an error about its methods.
	Manifest func() (text []byte, wrong string)
}

// Registered is the plugin that was registered last: the only one in a module, perhaps one of
// several in a test program.
var Registered *Plugin

// What the exports call; nil where the plugin has no such method: then the host does not call it.
var (
	Open    func() int32
	Warm    func() int32
	Plan    func() int32
	Render  func() int32
	Prepare func() int32
	Sample  func(n int32) int32
	Accept  func(token int32) int32
	Stop    func(token, size int32) int32
	Filter  func(size, last int32) int32
	Rewind  func(size int32) int32
	Rewrite func() int32
	Draft   func(n int32) int32
	Close   func()
	Run     func() int32
)
