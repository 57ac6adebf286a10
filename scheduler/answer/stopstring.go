// SPDX-License-Identifier: MIT

package answer

import "strings"

// mayStop reports whether s holds a stop string or ends with the beginning of one.
func (t *text) mayStop(s string) bool {
	for _, stop := range t.stops {
		if strings.Contains(s, stop) || Overlap(s, stop) > 0 {
			return true
		}
	}
	return false
}

// findStop finds the stop string that begins first in the held text, and the position of its
// beginning. Text before searched was looked at already, so a match ends after it.
func (t *text) findStop(searched int) (found bool, cut int, stop string) {
	all := string(t.tail) + string(t.held)
	at := len(all)
	for _, s := range t.stops {
		from := max(len(t.tail)+searched-len(s)+1, 0)
		if i := strings.Index(all[from:], s); i >= 0 && (from+i < at || !found) {
			found, at, stop = true, from+i, s
		}
	}
	return found, t.shown + at - len(t.tail), stop
}

// partialStop is how many bytes at the end of the held text may be the beginning of a stop string,
// which may begin in the tail.
func (t *text) partialStop() int {
	n := 0
	all := string(t.tail) + string(t.held)
	for _, s := range t.stops {
		n = max(n, Overlap(all, s))
	}
	if n <= len(t.held) {
		t.tail = t.tail[:0]
	}
	return n
}

// Overlap is the length of the longest end of s that is a proper beginning of stop.
func Overlap(s, stop string) int {
	for n := min(len(s), len(stop)-1); n > 0; n-- {
		if s[len(s)-n:] == stop[:n] {
			return n
		}
	}
	return 0
}
