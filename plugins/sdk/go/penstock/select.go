// SPDX-License-Identifier: MIT

package penstock

import (
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/json"
)

// Select keeps the branches that indices name, in that order. A branch that is named several times
// is forked. Branches that are not named are closed first, so that forks take over their places and
// their cells. This is what a search does between two steps.
func (r *Run) Select(branches []*Branch, indices ...int) (selected []*Branch) {
	left := make([]int, len(branches))
	for _, i := range indices {
		left[i]++
	}
	for i, b := range branches {
		if left[i] == 0 {
			b.Close()
		}
	}
	for _, i := range indices {
		b := branches[i]
		if left[i]--; left[i] > 0 {
			b = b.Fork()
		}
		selected = append(selected, b)
	}
	return selected
}

// Config is the request's configuration for the plugin, like Request.Config.
func (r *Run) Config() json.Value {
	config, _ := json.Parse(read(func(p unsafe.Pointer, limit int32) int32 { return abi.Config(p, limit) })) // the host has checked it
	return config
}
