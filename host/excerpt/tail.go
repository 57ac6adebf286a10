// SPDX-License-Identifier: MIT

package excerpt

import (
	"strings"
	"sync"
)

// Tail keeps the end of what is written to it, such as the last words of a process. It is safe for concurrent use.
type Tail struct {
	most int
	mu   sync.Mutex
	text []byte
}

// NewTail makes a Tail that keeps at most that many bytes.
func NewTail(most int) *Tail { return &Tail{most: most} }

// Write implements io.Writer.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - t.most; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

// Reset drops all that was kept.
func (t *Tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = t.text[:0]
}

// String is what is kept, in whole characters.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "")
}
