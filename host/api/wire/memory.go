// SPDX-License-Identifier: MIT

package wire

import (
	"io"
	"math"
	"net/http"
	"sync"

	"github.com/penstock/penstock/host/completion"
)

// Memory bounds how many bytes all bodies and frames have together: each may be large, but there may be many. A caller may have half of
// what the others leave it, so that no caller can take all of it, and at least as much as one body may have.
type Memory struct {
	limit, largest int64 // bytes: of all, of a body

	mu   sync.Mutex
	used int64            // bytes that count
	by   map[string]int64 // of them by caller
}

// uncounted is how many bytes of each claim are free.
const uncounted = 64 << 10

// NewMemory makes a memory of limit bytes, 0: any number, for bodies of at most largest bytes.
func NewMemory(limit, largest int64) *Memory {
	if limit == 0 {
		limit = math.MaxInt64
	}
	return &Memory{limit: limit, largest: largest, by: map[string]int64{}}
}

// Claim is what one request, or all frames of one connection, have of a memory. The first bytes do not count, so that small bodies are
// always read.
type Claim struct {
	memory *Memory
	caller func() string

	held, used int64 // bytes; used are those that count
	by         string
}

// Claim begins with nothing. caller, who sends what is read, is asked when the first bytes count: before that it may not be known.
func (m *Memory) Claim(caller func() string) *Claim { return &Claim{memory: m, caller: caller} }

// Reader counts what is read from r, until release is called. When there is no room, reading fails with a *completion.Error.
func (c *Claim) Reader(r io.Reader) (_ io.Reader, release func()) {
	counted := &countedReader{r: r, claim: c}
	return counted, func() { c.give(counted.held) }
}

// take claims n more bytes, or refuses them.
func (c *Claim) take(n int64) error {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	more := max(0, c.held+n-uncounted) - c.used
	if more > 0 {
		if c.by == "" {
			c.by = c.caller()
		}
		own := m.by[c.by] + more
		if m.used+more > m.limit || own > max(m.largest, (m.limit-(m.used+more-own))/2) {
			return &completion.Error{Status: http.StatusServiceUnavailable, Code: "bodies_too_large", Type: completion.TypeUnavailable, Retry: 1,
				Message: "the requests that are being read have too many bytes together, all of them or those of your key or address; try again in a moment"}
		}
		m.count(c, more)
	}
	c.held += n
	return nil
}

// give lets go of n bytes.
func (c *Claim) give(n int64) {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	c.held -= n
	if less := c.used - max(0, c.held-uncounted); less > 0 {
		m.count(c, -less)
	}
}

// count counts n more bytes of a claim. The caller holds the lock.
func (m *Memory) count(c *Claim, n int64) {
	c.used += n
	m.used += n
	if m.by[c.by] += n; m.by[c.by] == 0 {
		delete(m.by, c.by)
	}
}

type countedReader struct {
	r     io.Reader
	claim *Claim
	held  int64 // bytes
}

// Read implements io.Reader.
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if refused := c.claim.take(int64(n)); refused != nil {
		return n, refused
	}
	c.held += int64(n)
	return n, err
}
