// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"sync"
)

// tail keeps the last of what a server prints.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 2 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-tailLength):]
	return len(p), nil
}

// after is the text behind a separator, or nothing.
func (t *tail) after(separator string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.text) == 0 {
		return ""
	}
	return separator + strings.TrimSpace(string(t.text))
}
