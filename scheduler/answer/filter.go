// SPDX-License-Identifier: MIT

package answer

import (
	"slices"
	"strings"
)

// Filter rewrites the text of an answer before anybody sees it, and after stop strings and rules.
type Filter interface {
	// Filter is given the text that follows, in whole characters, and returns what is shown now in
	// the place of it and of what it kept back before. Last: nothing follows, so it keeps nothing.
	Filter(text string, last bool) (string, error)
	// Unfilter tells that the last calls do not stand any more: their tokens were taken back.
	Unfilter(calls int)
}

// filters are those of an answer, each of which gets what the one before it shows. Without any, all
// is shown as it is, and nothing is kept.
type filters struct {
	list    []Filter
	steps   []filtered // for when tokens are taken back
	waiting string     // text that a rewind has left, which goes with the next step
	rest    string     // what is shown at the end
	over    bool
}

// filtered is a text that was given to the first filter, and what the last one made of it.
type filtered struct{ text, shown string }

// show gives the filters the text that follows.
func (f *filters) show(text string, last bool) (shown string, err error) {
	if len(f.list) == 0 {
		return text, nil
	}
	if text = f.waiting + text; text == "" && !last {
		return "", nil
	}
	f.waiting = ""
	shown = text
	for _, filter := range f.list {
		if shown, err = filter.Filter(shown, last); err != nil {
			return "", err
		}
	}
	f.steps = append(f.steps, filtered{text, shown})
	return shown, nil
}

// rewind takes the end of the text that the filters were given back, and returns what was shown of
// it. Of a step that is cut, what is left of the text is given to them again.
func (f *filters) rewind(end string) (removed string) {
	if len(f.list) == 0 {
		return end
	}
	bytes, n, gone := len(end), len(f.steps), []string(nil)
	for ; bytes > len(f.waiting) && n > 0; n-- {
		gone = append(gone, f.steps[n-1].shown)
		f.waiting = f.steps[n-1].text + f.waiting
	}
	f.waiting = f.waiting[:len(f.waiting)-bytes]
	if calls := len(f.steps) - n; calls > 0 {
		for _, filter := range f.list {
			filter.Unfilter(calls)
		}
	}
	f.steps = f.steps[:n]
	slices.Reverse(gone)
	return strings.Join(gone, "")
}
