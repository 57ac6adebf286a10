// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/completion"
)

// Memory bounds what all bodies and frames take together: each may be large, but there may be many. A body takes its bytes and, while it
// is decoded, what its JSON values become. The first of each do not count, so that small ones are always read.
type Memory struct {
	limit int64
	mu    sync.Mutex
	used  int64
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

// Body is a body or frame while it counts.
type Body struct {
	io.Reader
	memory        *Memory
	bytes, values int64 // what was read, and the bytes that its values take besides
	used          int64 // of the memory
}

// Body counts what is read from r until the body is released. When there is no room, reading fails with a *completion.Error.
func (m *Memory) Body(r io.Reader) *Body { return &Body{Reader: r, memory: m} }

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.bytes += int64(n)
	if refused := b.settle(); refused != nil {
		return n, refused
	}
	return n, err
}

// Decode counts what the values of text, which is the body, take while it is decoded and used, or refuses them with a *completion.Error.
// It comes before anything else is done with the text.
func (b *Body) Decode(text []byte) error {
	n := countValues(text)
	b.values = n * valueBytes
	if b.bytes+b.values-uncounted > b.memory.limit {
		b.values = 0
		return &completion.Error{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Type: completion.TypeInvalid,
			Message: fmt.Sprintf("the request body has %d JSON values, which with %d bytes each take more than all of server.body_memory; "+
				"send fewer in a request, such as a text instead of its tokens", n, valueBytes)}
	}
	return b.settle()
}

// Decoded lets go of what the values have taken: what is needed of them is a request by now, and the rest is garbage.
func (b *Body) Decoded() {
	b.values = 0
	_ = b.settle() // it takes less
}

// Release lets go of the body.
func (b *Body) Release() {
	b.bytes, b.values = 0, 0
	_ = b.settle() // it takes nothing
}

// settle counts what the body takes now.
func (b *Body) settle() error {
	m := b.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	more := max(0, b.bytes+b.values-uncounted) - b.used
	if more > 0 && m.used+more > m.limit {
		return &completion.Error{Status: http.StatusServiceUnavailable, Code: "bodies_too_large", Type: completion.TypeUnavailable, Retry: 1,
			Message: "the requests that are being read have too many bytes and values together; try again in a moment"}
	}
	m.used += more
	b.used += more
	return nil
}

const bodyKey = "body"

// SetBody notes what a request's body counts in.
func SetBody(c echo.Context, b *Body) { c.Set(bodyKey, b) }

// bodyOf is what a request's body counts in. Where nothing bounds it, it counts in a memory of its own.
func bodyOf(c echo.Context) *Body {
	if b, ok := c.Get(bodyKey).(*Body); ok {
		return b
	}
	return NewMemory(0).Body(nil)
}
