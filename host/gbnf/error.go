// SPDX-License-Identifier: MIT

package gbnf

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/excerpt"
)

// Error is why a regular expression cannot become a grammar.
type Error struct {
	Offset int // in characters, where the reason stands; negative where it is all of it
	Why    string
}

// Error says where the reason stands and what it is.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return e.Why
	}
	return fmt.Sprintf("at character %d: %s", e.Offset, e.Why)
}

// tries bounds the search for the place of an error among equal fragments.
const tries = 100

// misparsed finds where the parser stopped. It names the fragment only, which may occur before in another role: the place is where the
// pattern, cut behind the fragment, fails in the same way.
func misparsed(pattern string, err error) error {
	var failed *syntax.Error
	if !errors.As(err, &failed) {
		return &Error{Offset: -1, Why: err.Error()}
	}
	why := fmt.Sprintf("%s: %q", failed.Code, excerpt.Of(failed.Expr, 80))
	if failed.Expr == "" || failed.Expr == pattern {
		return &Error{Offset: -1, Why: why}
	}
	place := strings.Index(pattern, failed.Expr)
	for from, n := place, 0; from >= 0 && n < tries; n++ {
		var again *syntax.Error
		if _, err := syntax.Parse(pattern[:from+len(failed.Expr)], syntax.Perl); errors.As(err, &again) && again.Code == failed.Code {
			place = from
			break
		}
		next := strings.Index(pattern[from+1:], failed.Expr)
		if next < 0 {
			break
		}
		from += 1 + next
	}
	if place < 0 {
		return &Error{Offset: -1, Why: why}
	}
	return &Error{Offset: utf8.RuneCountInString(pattern[:place]), Why: why}
}

// unsupported is the error of what a grammar cannot express.
func (w *writer) unsupported(op syntax.Op) error {
	const anchors = "an anchor can only stand where the text begins or ends"
	switch op {
	case syntax.OpNoMatch:
		return &Error{Offset: -1, Why: "it has a part that matches no text"}
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return &Error{Offset: w.find(`\b`, `\B`), Why: "a grammar knows no word boundaries"}
	case syntax.OpBeginLine, syntax.OpEndLine:
		return &Error{Offset: w.find("^", "$"), Why: "a grammar knows no anchors of lines, (?m)"}
	case syntax.OpBeginText:
		return &Error{Offset: w.find("^", `\A`), Why: anchors}
	}
	return &Error{Offset: w.find("$", `\z`), Why: anchors}
}

// find is where one of some elements stands first, outside classes, other than as the first or last of the pattern; -1 if nowhere.
func (w *writer) find(elements ...string) int {
	inClass := false
	for i := 0; i < len(w.pattern); {
		size := 1
		if w.pattern[i] == '\\' && i+1 < len(w.pattern) {
			size = 2
		}
		element := w.pattern[i : i+size]
		switch {
		case element == "[":
			inClass = true
		case element == "]":
			inClass = false
		case !inClass && slices.Contains(elements, element) && i > 0 && (i+size < len(w.pattern) || element != "$"):
			return utf8.RuneCountInString(w.pattern[:i])
		}
		i += size
	}
	return -1
}
