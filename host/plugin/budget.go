// SPDX-License-Identifier: MIT

package plugin

import "sync/atomic"

// budget is the memory that all instances may have together. It is a memory.Account.
type budget struct {
	limit int64
	used  atomic.Int64
}

// Take implements memory.Account.
func (b *budget) Take(bytes uint64) bool {
	if b.used.Add(int64(bytes)) <= b.limit {
		return true
	}
	b.Give(bytes)
	return false
}

// Give implements memory.Account.
func (b *budget) Give(bytes uint64) { b.used.Add(-int64(bytes)) }

// exceeded is what ends a call or a request that needs more.
func (b *budget) exceeded() *violation {
	return wrong(CauseBudget, "all plugins together have %d of at most %d MiB (plugins.memory); try again in a moment", b.used.Load()>>20, b.limit>>20)
}

// Memory tells how many bytes all instances have together, and how many they may have.
func (r *Runtime) Memory() (used, limit int64) { return r.budget.used.Load(), r.budget.limit }
