// SPDX-License-Identifier: MIT

package completion

import "time"

// Resident is a model in memory, or on its way there.
type Resident struct {
	Name    string
	Model   *Model // nil: it is being loaded. It may be unloaded at any time: only Info, Scheduler.Inspect and Load, Adapters.List and Named, and Measures may be used
	Waiting int    // requests that wait until it is loaded
}

// Measures tell what a model has done since it was loaded. They may be asked from any goroutine, also after the model was unloaded.
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
