// SPDX-License-Identifier: MIT

package stage

import (
	"math"

	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/scheduler"
)

// This file tells a fresh instance the text again that the one before it was shown. A plugin that
// has penstock_rewind keeps its instance, so nothing is remembered for it.

// retells reports whether a fresh instance takes the place of one that was told what does not
// stand any more.
func (s *Stage) retells() bool {
	return !s.has(guest.Rewind) && (s.has(guest.Accept) || s.has(guest.Stop) || s.has(guest.Filter))
}

// remember keeps what the rule is given.
func (r *rule) remember(t scheduler.Token, text string) {
	if r.stage.retells() {
		r.text = append(r.text, text...)
		r.told = append(r.told, told{t, len(r.text), len(r.stage.session.History) - r.stage.prompt})
	}
}

// forget drops the last tokens of what is remembered, and all that the last bytes belong to.
func (r *rule) forget(tokens, bytes int) {
	r.cut = r.cut || tokens > 0 || bytes > 0
	end := len(r.text) - bytes
	for n := len(r.told); n > 0 && (tokens > 0 || r.told[n-1].end > end); n-- {
		r.told = r.told[:n-1]
		tokens--
	}
	r.text = r.text[:min(len(r.text), max(end, 0))]
}

// begin is for an instance that has been told nothing.
func (r *rule) begin() { r.total, r.held, r.cut = 0, r.held[:0], false }

// retell shows a fresh instance, from the told one of index from on, the text of those that came
// when the answer had at most so many tokens. What it answers changes the answer no more, but it
// may hold the text again that it held. The result is the next index.
func (r *rule) retell(from, tokens int) (int, error) {
	for ; r.stage.has(guest.Stop) && from < len(r.told) && r.told[from].after <= tokens; from++ {
		begin := 0
		if from > 0 {
			begin = r.told[from-1].end
		}
		text := string(r.text[begin:r.told[from].end])
		for first := true; first || text != ""; first = false {
			part := text[:wholeCharacters(text, len(r.stage.instance.Buffers.Text()))]
			text = text[len(part):]
			verdict, err := r.call(r.told[from].token, part)
			if err != nil {
				return from, err
			}
			if verdict.End {
				r.held = r.held[:0]
			}
		}
	}
	return from, nil
}

// retellRest is retell of all that is left.
func (r *rule) retellRest(from int) error {
	_, err := r.retell(from, math.MaxInt)
	return err
}
