// SPDX-License-Identifier: MIT

package model

import (
	"regexp"
	"strings"
	"sync"
)

// tail keeps the end of what is written to it. The zero value is empty.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	const most = 64 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if extra := len(t.text) - most; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(b), nil
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = t.text[:0]
}

// crash is where the Go runtime begins to report the end of the process; what is of interest stands before it.
var crash = regexp.MustCompile(`(?m)^(SIG[A-Z]+: |fatal error: |panic: |unexpected fault|goroutine \d+ |\[signal )`)

// sourceFile is a path to llama.cpp's source, which says where it was built.
var sourceFile = regexp.MustCompile(`^\S*/([^/\s]+:\d+: )`)

// lastWords is the last line before a crash; where that is empty, the crash's own first line.
func (t *tail) lastWords() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(t.text), "") // it may begin within a character
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
