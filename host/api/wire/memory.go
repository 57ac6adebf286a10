// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler/portion"
)

// Memory bounds what all bodies and frames take together: each may be large, but there may be
// many. A body takes its bytes and, while a request is made of it, what its JSON values become. A
// caller may have half of what the others leave it, so that no caller can take all of it, and at
// least as many bytes as one body may have.
type Memory struct {
	mu    sync.Mutex
	bytes portion.Pool // that count; each caller may have as many as one body
}

// uncounted is how many bytes of each claim are free.
const uncounted = 64 << 10

// NewMemory makes a memory of limit bytes, 0: any number, for bodies of at most largest bytes.
func NewMemory(limit, largest int64) *Memory {
	if limit == 0 {
		limit = math.MaxInt64
	}
	return &Memory{bytes: portion.Pool{Limit: limit, Least: largest}}
}

// Claim is what one request, or all frames of one connection, have of a memory. The first bytes do
// not count, so that small bodies are always read.
type Claim struct {
	memory *Memory
	caller func() string

	held, used int64 // bytes; used are those that count
	by         string
}

// Claim begins with nothing. caller, who sends what is read, is asked when the first bytes count:
// before that it may not be known.
func (m *Memory) Claim(caller func() string) *Claim { return &Claim{memory: m, caller: caller} }

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
		if m.bytes.Take(c.by, more) != portion.Taken {
			return &refusal.Error{Kind: refusal.KindUnavailable, Code: "bodies_too_large", Retry: 1,
				Message: "the requests that are being read have too many bytes and values together, all of them or those of your key or address; try again in a moment"}
		}
		c.used += more
	}
	c.held += n
	return nil
}

// giveBack returns n bytes.
func (c *Claim) giveBack(n int64) {
	m := c.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	c.held -= n
	if less := c.used - max(0, c.held-uncounted); less > 0 {
		c.used -= less
		m.bytes.Give(c.by, less)
	}
}

// Body is a body, or a frame, while it counts.
type Body struct {
	io.Reader
	claim         *Claim
	bytes, values int64 // what was read, and the bytes that its values take besides
}

// Body counts what is read from r, until the body is released. When there is no room, reading
// fails with a *refusal.Error.
func (c *Claim) Body(r io.Reader) *Body { return &Body{Reader: r, claim: c} }

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if refused := b.claim.take(int64(n)); refused != nil {
		return n, refused
	}
	b.bytes += int64(n)
	return n, err
}

// Decode counts what the values of text, which is the body, take until a request is made of them,
// or refuses them with a *refusal.Error. It comes before anything else is done with the text.
func (b *Body) Decode(text []byte) error {
	n, m := countValues(text), b.claim.memory
	if b.bytes+n*valueBytes-uncounted > m.bytes.Most() { // whatever the others leave
		return &refusal.Error{Kind: refusal.KindTooLarge, Code: "body_too_large",
			Message: fmt.Sprintf("the request body has %d JSON values, which with %d bytes each take more than a client may have of "+
				"server.body_memory; send fewer in a request, such as a text instead of its tokens", n, valueBytes)}
	}
	if err := b.claim.take(n * valueBytes); err != nil {
		return err
	}
	b.values += n * valueBytes
	return nil
}

// Decoded returns what the values have taken: what is needed of them is a request by now, and the
// rest is garbage.
func (b *Body) Decoded() {
	b.claim.giveBack(b.values)
	b.values = 0
}

// Release frees the body. It may be called more than once.
func (b *Body) Release() {
	b.claim.giveBack(b.bytes + b.values)
	b.bytes, b.values = 0, 0
}

const bodyKey = "body"

// SetBody notes what a request's body counts in.
func SetBody(c echo.Context, b *Body) { c.Set(bodyKey, b) }

// bodyOf is what a request's body counts in. Where nothing bounds it, it counts in a memory of its
// own.
func bodyOf(c echo.Context) *Body {
	if b, ok := c.Get(bodyKey).(*Body); ok {
		return b
	}
	return NewMemory(0, 0).Claim(func() string { return "" }).Body(nil)
}

// valueBytes is what a value of a JSON text takes while it is decoded, besides its text:
// json.RawMessage, its copy, a place in a list that grows, and what is made of it.
// TestAPI_Values_TakeWhatIsCounted measures that.
const valueBytes = 128

// countValues counts the values of a JSON text and the keys of its objects, without decoding it:
// each follows a bracket, a comma or a colon. It ends where the text is nested too deep, as
// reading it does (see checkText), and counts at most too many where it is no JSON.
func countValues(text []byte) int64 {
	n, depth := int64(1), 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			if i = endOfText(text, i+1); i < 0 {
				return n
			}
		case '[', '{':
			n++
			if depth++; depth > maxDepth {
				return n
			}
		case ']', '}':
			depth--
		case ',', ':':
			n++
		}
	}
	return n
}

// endOfText is where a JSON text ends whose characters begin at i; -1 where it does not end.
func endOfText(text []byte, i int) int {
	for {
		n := bytes.IndexAny(text[i:], `"\`)
		if n < 0 {
			return -1
		}
		if i += n; text[i] == '"' {
			return i
		}
		if i += 2; i > len(text) { // what follows a backslash is a character
			return -1
		}
	}
}
