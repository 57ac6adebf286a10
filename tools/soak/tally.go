// SPDX-License-Identifier: MIT

package main

import (
	"maps"
	"slices"
	"sync"
)

// tally counts requests by their kind and by how they ended.
type tally struct {
	mu   sync.Mutex
	ends map[string]map[string]int
	n    int
}

func newTally() *tally { return &tally{ends: map[string]map[string]int{}} }

func (t *tally) add(kind, end string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ends[kind] == nil {
		t.ends[kind] = map[string]int{}
	}
	t.ends[kind][end]++
	t.n++
}

func (t *tally) sum() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

// row is how many requests of a kind ended so.
type row struct {
	kind, end string
	n         int
}

func (t *tally) rows() (all []row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(t.ends)) {
		for _, end := range slices.Sorted(maps.Keys(t.ends[kind])) {
			all = append(all, row{kind, end, t.ends[kind][end]})
		}
	}
	return all
}
