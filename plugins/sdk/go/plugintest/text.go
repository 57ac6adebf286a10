// SPDX-License-Identifier: MIT

package plugintest

import (
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/internal/guest"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// Text implements abi.Host.
func (h host) Text(from int32, p unsafe.Pointer, limit int32) int32 {
	var all strings.Builder
	for _, t := range h.s.History[min(len(h.s.Prompt), len(h.s.History)):] {
		if h.known(int32(t)) {
			all.WriteString(h.s.Pieces[t])
		}
	}
	text := wholeCharacters(all.String())
	return give(text[beginning(from, len(text)):], p, limit)
}

// wholeCharacters is a text without the beginning of a character at its end. What can be no
// character is U+FFFD.
func wholeCharacters(text string) string {
	for n := 1; n <= min(3, len(text)); n++ {
		if rest := text[len(text)-n:]; utf8.RuneStart(rest[0]) {
			if !utf8.FullRuneInString(rest) {
				text = text[:len(text)-n]
			}
			break
		}
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// beginning is an index of a list of n: a negative one counts back from the end.
func beginning(from int32, n int) int {
	at := int(from)
	if at < 0 {
		at = max(0, n+at)
	}
	return min(at, n)
}

// shown is text that the plugin's stop rule was shown.
type shown struct {
	token penstock.Token
	text  string
	after int // tokens of the history then
}

// takeTextBack forgets the text of tokens that were taken back, and reports whether there was any.
func (s *Session) takeTextBack(n int) bool {
	left := len(s.stopTexts)
	for left > 0 && s.stopTexts[left-1].after > n {
		left--
	}
	taken := left < len(s.stopTexts)
	s.stopTexts = s.stopTexts[:left]
	return taken
}

// beginAnew replaces a plugin that cannot go back by a new one, and replays the remaining tokens
// and text to it.
func (s *Session) beginAnew() {
	s.t.Helper()
	generated := append([]penstock.Token(nil), s.History[len(s.Prompt):]...)
	s.History = s.History[:len(s.Prompt)]
	s.replaying = true
	defer func() { s.replaying = false }()
	if err := s.begin(); err != nil {
		s.t.Fatal(err)
	}
	next := 0
	again := func(tokens int) {
		for ; guest.Stop != nil && next < len(s.stopTexts) && s.stopTexts[next].after <= tokens; next++ {
			s.show(s.stopTexts[next].token, s.stopTexts[next].text)
		}
	}
	for _, t := range generated {
		s.accept(t, false)
		again(len(s.History))
	}
	again(int(^uint(0) >> 1))
}
