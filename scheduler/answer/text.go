// SPDX-License-Identifier: MIT

package answer

import (
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/scheduler/chain"
)

// text turns the bytes of tokens into text that may be shown: whole UTF-8 characters only, and nothing that may still
// turn out to belong to a stop string or that a stop rule holds back. Positions count bytes from the start of the answer.
type text struct {
	stops []string
	gates []gate

	partial []byte // an incomplete character, at most 3 bytes
	held    []byte // whole characters not shown yet
	shown   int    // position of held[0]
	begins  []int  // of the last tokens, where the text of each begins; those before had all of what they began with shown
	before  []byte // after a rewind, what was shown of the tokens that stay and may be the beginning of a stop string
}

// gate is a stop rule with the position up to which it lets text through.
type gate struct {
	rule    StopRule
	release int
}

// shown is what became visible with a token.
type visible struct {
	text string
	end  bool   // the answer ends here
	stop string // the stop string that ended it
}

func newText(stops []string, rules []StopRule) text {
	t := text{stops: stops}
	for _, r := range rules {
		t.gates = append(t.gates, gate{rule: r})
	}
	return t
}

// add takes the bytes of one token. The common case, a whole piece that nothing holds back, allocates nothing.
func (t *text) add(token chain.Token, piece string) (visible, error) {
	whole := t.join(piece)
	if len(t.held)+len(t.before)+len(t.gates) == 0 && !t.suspect(whole) {
		t.shown += len(whole)
		return visible{text: whole}, nil
	}
	searched := len(t.held)
	t.begins = append(t.begins, t.shown+searched)
	t.held = append(t.held, whole...)
	total := t.shown + len(t.held)

	end, cut, stop := t.matchStop(searched)
	release := total - t.partialStop()
	for i := range t.gates {
		g := &t.gates[i]
		v, err := g.rule.Check(token, whole)
		if err != nil {
			return visible{}, err
		}
		if v.End {
			at := total
			if v.Show >= 0 {
				at = min(g.release+v.Show, total)
			}
			if !end || at < cut {
				end, cut, stop = true, at, ""
			}
		} else if !v.Hold {
			g.release = total
		}
		release = min(release, g.release)
	}
	if end {
		return visible{text: t.show(cut), end: true, stop: stop}, nil
	}
	return visible{text: t.show(release)}, nil
}

// flush gives what is still held when the answer ends for another reason; an incomplete character is lost.
func (t *text) flush() string {
	t.partial = t.partial[:0]
	return t.show(t.shown + len(t.held))
}

// drop forgets what is held: the answer ended before it.
func (t *text) drop() { t.partial, t.held = t.partial[:0], t.held[:0] }

// show releases held text up to a position.
func (t *text) show(position int) string {
	n := min(max(position-t.shown, 0), len(t.held))
	s := string(t.held[:n])
	t.held = t.held[:copy(t.held, t.held[n:])]
	t.shown += n
	past := 0
	for past < len(t.begins) && t.begins[past] <= t.shown {
		past++
	}
	t.begins = t.begins[:copy(t.begins, t.begins[past:])]
	return s
}

// join adds a piece to the incomplete character before it and returns the whole characters. Bytes that can never become
// a character come out as U+FFFD.
func (t *text) join(piece string) string {
	if len(t.partial) == 0 {
		if tail := incomplete(piece); tail == 0 && utf8.ValidString(piece) {
			return piece
		}
	}
	all := string(t.partial) + piece
	n := len(all) - incomplete(all)
	t.partial = append(t.partial[:0], all[n:]...)
	return strings.ToValidUTF8(all[:n], "\uFFFD")
}

// incomplete is the length of an unfinished but so far valid character at the end of s.
func incomplete(s string) int {
	for n := 1; n <= min(3, len(s)); n++ {
		c := s[len(s)-n]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRuneInString(s[len(s)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// suspect tells whether s holds a stop string or ends with the beginning of one.
func (t *text) suspect(s string) bool {
	for _, stop := range t.stops {
		if strings.Contains(s, stop) || overlap(s, stop) > 0 {
			return true
		}
	}
	return false
}

// matchStop finds the stop string that begins first in the held text. Text before searched was looked at already, so a
// match ends behind it.
func (t *text) matchStop(searched int) (end bool, cut int, stop string) {
	all := string(t.before) + string(t.held)
	at := len(all)
	for _, s := range t.stops {
		from := max(len(t.before)+searched-len(s)+1, 0)
		if i := strings.Index(all[from:], s); i >= 0 && (from+i < at || !end) {
			end, at, stop = true, from+i, s
		}
	}
	return end, t.shown + at - len(t.before), stop
}

// partialStop is how many bytes at the end of the held text, and of what was shown before it, may be the beginning of a stop string.
func (t *text) partialStop() int {
	n := 0
	all := string(t.before) + string(t.held)
	for _, s := range t.stops {
		n = max(n, overlap(all, s))
	}
	if n <= len(t.held) {
		t.before = t.before[:0]
	}
	return n
}

// overlap is the length of the longest end of s that is a proper beginning of stop.
func overlap(s, stop string) int {
	for n := min(len(s), len(stop)-1); n > 0; n-- {
		if s[len(s)-n:] == stop[:n] {
			return n
		}
	}
	return 0
}
