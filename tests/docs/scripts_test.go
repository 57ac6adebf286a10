// SPDX-License-Identifier: MIT

package docs

import (
	"fmt"
	"strings"
	"testing"
)

// Each step of the introduction to scripts answers as the document shows.
func TestScripts_EachStep_AnswersAsShown(t *testing.T) {
	const doc = "docs/plugins/scripts.md"
	follow(t, newPlace(t), doc)
	text, steps := read(t, doc), 0
	for strings.Contains(text, fmt.Sprintf("\n## %d. ", steps+1)) {
		steps++
	}
	if steps != 10 {
		t.Errorf("%s has %d steps", doc, steps)
	}
}

// follow does what a document has its reader do, and returns what the commands printed, by their
// first lines. A block of text shows what the command before it prints.
func follow(t *testing.T, place place, doc string) map[string]string {
	t.Helper()
	said, last := map[string]string{}, ""
	for _, b := range blocks(t, doc) {
		switch {
		case b.file != "":
			place.write(t, b.file, b.text)
		case b.language == "sh" && notRun[b.first()] == "":
			last = place.run(t, b)
			said[b.first()] = last
		case b.language == "text":
			if missing := notShown(last, b.text); missing != "" {
				t.Errorf("%s:%d: the command before it does not print %q, but\n%s", doc, b.line, missing, last)
			}
		}
	}
	return said
}

// notShown is what an answer does not have of what a document shows of it, whose parts are between
// ellipses and in this order. Lines of the document end anywhere.
func notShown(answer, shown string) string {
	answer = strings.ReplaceAll(answer, `\"`, `"`)
	for part := range strings.SplitSeq(strings.ReplaceAll(shown, "\n", " "), "…") {
		_, after, found := strings.Cut(answer, strings.TrimSpace(part))
		if !found {
			return strings.TrimSpace(part)
		}
		answer = after
	}
	return ""
}

func TestNotShown(t *testing.T) {
	const answer = `{"content":"He said \"yes\" and went home."}`
	for shown, missing := range map[string]string{
		"He said \"yes\"\nand …\n":      "",
		"He … went … home.\n":           "",
		"\"He said … home.\"\n":         "",
		"went … said\n":                 "said",
		"He said \"yes\" and went away": `He said "yes" and went away`,
	} {
		if got := notShown(answer, shown); got != missing {
			t.Errorf("of %q it misses %q, want %q", shown, got, missing)
		}
	}
}
