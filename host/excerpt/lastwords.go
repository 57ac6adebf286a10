// SPDX-License-Identifier: MIT

package excerpt

import (
	"regexp"
	"strings"
)

// crash is where the Go runtime begins to report the end of the process; what is of interest stands before it.
var crash = regexp.MustCompile(`(?m)^(SIG[A-Z]+: |fatal error: |panic: |unexpected fault|goroutine \d+ |\[signal )`)

// sourceFile is a path to llama.cpp's source, which says where it was built.
var sourceFile = regexp.MustCompile(`^\S*/([^/\s]+:\d+: )`)

// LastWords finds what a child process with this standard error said last: the last line before a crash, or, if there is none, the crash's
// own first line.
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
