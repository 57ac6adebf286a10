// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"unicode"
)

// checkWork refuses a text that llama.cpp would take too long for: some of its tokenizers take the
// square of what they find in a text, and none can be interrupted.
func (m *Model) checkWork(text string) error {
	if len(text) < 1<<12 {
		return nil // no square of this is long
	}
	if err := m.checkUnknownCharacters(text); err != nil {
		return err
	}
	if err := m.checkRuns(text); err != nil {
		return err
	}
	return m.checkSearches(text)
}

// run is a kind of character of which llama.cpp's regular expression looks, from each one in a
// row, at all that follow.
type run struct {
	of   func(rune) bool
	what string
	step float64 // characters that it goes on by, after it has looked
	end  bool    // what ends a text or a line is found at once
}

// runs are by llama.cpp's name of the pre-tokenizer. What ends lines is split off, or taken
// together, before.
var runs = map[string]run{
	"deepseek-llm": {isBlank, "white space", 1, true},      // \s+$
	"jais-2":       {isBlank, "white space", 512, false},   // \s*[\r\n]+, and then \s{512}
	"superbpe":     {unicode.IsNumber, "digits", 1, false}, // (?=(\d{3})+(?!\d))
}

func isBlank(r rune) bool { return unicode.IsSpace(r) && r != '\n' && r != '\r' }

// maxLooks bounds how many characters such an expression looks at. This many take about a second.
const maxLooks = 25_000_000

func (m *Model) checkRuns(text string) error {
	kind, ok := runs[m.meta["tokenizer.ggml.pre"]]
	if !ok {
		return nil
	}
	looks, row, longest := 0.0, 0.0, 0.0
	ends := func() {
		looks += row * row / 2 / kind.step
		longest, row = max(longest, row), 0
	}
	for _, r := range text {
		switch {
		case kind.of(r):
			row++
		case kind.end && (r == '\n' || r == '\r'):
			row = 0
		default:
			ends()
		}
	}
	if !kind.end {
		ends()
	}
	if looks > maxLooks {
		return fmt.Errorf("%w: the text has up to %.0f characters of %s in a row; the model's tokenizer takes too long for so many: send fewer in a row",
			ErrInvalid, longest, kind.what)
	}
	return nil
}

// maxHits bounds how often a special token could begin in a text. This many take a few seconds.
const maxHits = 500_000_000

// checkSearches counts the places where a special token could begin that llama.cpp looks for in
// every text, also after they were split off: it goes through the text once for each.
func (m *Model) checkSearches(text string) error {
	var begin [256]int
	for _, s := range m.vocab.specials.tokens {
		if s.kind&asText == 0 {
			begin[s.text[0]]++
		}
	}
	hits := 0
	for i := range len(text) {
		hits += begin[text[i]]
	}
	if hits > maxHits {
		return fmt.Errorf("%w: the text has %d bytes, with too many characters that one of the model's special tokens begins with: send less at a time",
			ErrInvalid, len(text))
	}
	return nil
}
