// SPDX-License-Identifier: MIT

package wire

import (
	"io"
	"math"
	"net/http"
	"sync/atomic"

	"github.com/penstock/penstock/host/completion"
)

// Memory bounds how many bytes all bodies and frames have together: each may be large, but there may be many. The first of each do not
// count, so that small ones are always read.
type Memory struct {
	limit int64
	used  atomic.Int64
}

// uncounted is how many bytes of each body are free.
const uncounted = 64 << 10

// NewMemory makes a memory of limit bytes; 0: any number.
func NewMemory(limit int64) *Memory {
	if limit == 0 {
		limit = math.MaxInt64
	}
	return &Memory{limit: limit}
}

// Reader counts what is read from r, until release is called. When there is no room, reading fails with a *completion.Error.
func (m *Memory) Reader(r io.Reader) (_ io.Reader, release func()) {
	counted := &countedReader{r: r, memory: m}
	return counted, func() { m.used.Add(-counted.used) }
}

type countedReader struct {
	r          io.Reader
	memory     *Memory
	read, used int64 // bytes; used are those that count
}

// Read implements io.Reader.
func (c *countedReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	if more := c.read - uncounted - c.used; more > 0 {
		c.used += more
		if c.memory.used.Add(more) > c.memory.limit {
			return n, &completion.Error{Status: http.StatusServiceUnavailable, Code: "bodies_too_large", Type: completion.TypeUnavailable, Retry: 1,
				Message: "the requests that are being read have too many bytes together; try again in a moment"}
		}
	}
	return n, err
}
