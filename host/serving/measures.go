// SPDX-License-Identifier: MIT

package serving

import "time"

// Measures tell what a model has done since it was loaded. They may be asked from any goroutine,
// also after the model was unloaded.
type Measures interface {
	// InterTokenLatency is the time between two tokens of one answer.
	InterTokenLatency() Histogram
	// Plugins is what the plugins of the folder have done, by name.
	Plugins() []PluginMeasures
}

// Histogram counts durations.
type Histogram struct {
	Bounds []time.Duration // upper bounds of the buckets, ascending
	Counts []uint64        // one a bucket, and one for what is above the last bound
	Sum    time.Duration   // of all
}

// PluginMeasures is what one plugin has done.
type PluginMeasures struct {
	Name   string
	State  string // ready; quarantined: for a client at least; failed: the file of this name cannot be loaded
	Calls  uint64
	Time   time.Duration // in calls
	Faults uint64
}
