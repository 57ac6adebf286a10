// SPDX-License-Identifier: MIT

package guest

import (
	"sync/atomic"

	"github.com/penstock/penstock/host/plugin"
)

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
func (b *budget) exceeded() *Violation {
	return Violationf(plugin.CauseBudget, "all plugins together have %d of at most %d MiB (plugins.memory); try again in a moment", b.used.Load()>>20, b.limit>>20)
}
