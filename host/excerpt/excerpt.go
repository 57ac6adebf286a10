// SPDX-License-Identifier: MIT

// Package excerpt shortens texts that an error message quotes.
package excerpt

import (
	"regexp"
	"strings"
	"sync"
)

// Of returns text as it is if it has at most that many bytes, else its beginning, cut between
// characters, and "…".
func Of(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Tail keeps the end of what is written to it, such as the last words of a process. It is safe for
// concurrent use.
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

// crash is where the Go runtime begins to report the end of the process; what is of interest
// stands before it.
var crash = regexp.MustCompile(`(?m)^(SIG[A-Z]+: |fatal error: |panic: |unexpected fault|goroutine \d+ |\[signal )`)

// sourceFile is a path to llama.cpp's source, which says where it was built.
var sourceFile = regexp.MustCompile(`^\S*/([^/\s]+:\d+: )`)

// LastWords finds what a child process with this standard error said last: the last line before a
// crash, or, if there is none, the crash's own first line.
func (t *Tail) LastWords() string {
	text := t.String()
	report := ""
	if at := crash.FindStringIndex(text); at != nil {
		report, _, _ = strings.Cut(text[at[0]:], "\n")
		text = text[:at[0]]
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return strings.TrimSpace(report)
	}
	return sourceFile.ReplaceAllString(last, "$1")
}
