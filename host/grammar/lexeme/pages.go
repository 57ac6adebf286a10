// SPDX-License-Identifier: MIT

package lexeme

import (
	"math/bits"
	"sync/atomic"
)

// pages is a list that grows without moving, so what it has can be read while it grows. Each page
// has twice as many as the one before.
type pages[T any] struct {
	page [maxPages]atomic.Pointer[[]T]
	size uint32
}

const (
	firstPageBits = 5
	maxPages      = 16
	maxListed     = 1<<(firstPageBits+maxPages) - 1<<firstPageBits
)

// at returns an element, of those that there are.
func (p *pages[T]) at(i uint32) *T {
	i += 1 << firstPageBits
	n := bits.Len32(i) - 1
	return &(*p.page[(n-firstPageBits)&(maxPages-1)].Load())[i&^(1<<n)]
}

// add returns the number of a new element and its place.
func (p *pages[T]) add() (uint32, *T) {
	i := p.size + 1<<firstPageBits
	if n := bits.Len32(i) - 1; i == 1<<n {
		page := make([]T, 1<<n)
		p.page[n-firstPageBits].Store(&page)
	}
	p.size++
	return p.size - 1, p.at(p.size - 1)
}
