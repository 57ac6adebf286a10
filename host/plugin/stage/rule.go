// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// rule is the stop rule of a stage. Positions count the bytes of text that it was given.
type rule struct {
	stage *Stage
	told  []told // what Check was given and still stands, where a fresh instance may have to be told again
	text  []byte // of told

	// The plugin answers 0 when all text so far may be shown. The scheduler gets one verdict for
	// each token, and a token's text may take several calls.
	total    int    // all text
	released int    // that the last verdict without Hold let be shown
	held     []byte // the text since the plugin's last 0
	cut      bool   // some of what the instance was told does not stand any more
}

// told is a token that Check was given.
type told struct {
	token scheduler.Token
	end   int // of its text, in all of it
	after int // tokens that the answer had then
}

// Check implements answer.StopRule. Text longer than the guest's buffer comes in several calls.
func (r *rule) Check(t scheduler.Token, text string) (answer.Verdict, error) {
	s := r.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Stop) {
		return answer.Verdict{}, nil
	}
	r.remember(t, text)
	buffer := s.instance.Buffers.Text()
	for {
		part := text[:wholeCharacters(text, len(buffer))]
		text = text[len(part):]
		verdict, err := r.call(t, part)
		if err != nil {
			return answer.Verdict{}, s.endOnFault(err)
		}
		if verdict.End || text == "" {
			if !verdict.End && !verdict.Hold {
				r.released = r.total
			}
			return verdict, nil
		}
	}
}

// call shows the guest a part of the text that fits its buffer.
func (r *rule) call(t scheduler.Token, part string) (answer.Verdict, error) {
	i := r.stage.instance
	copy(i.Buffers.Text(), part)
	r.held = append(r.held, part...)
	r.total += len(part)
	returned, err := i.Call(guest.Stop, t, int32(len(part)))
	if err != nil {
		return answer.Verdict{}, err
	}
	verdict, v := r.interpret(returned)
	if v != nil {
		return answer.Verdict{}, i.Fail(guest.Stop, v)
	}
	return verdict, nil
}

// Name implements answer.NamedRule.
func (r *rule) Name() string { return r.stage.name() }

// Rewind implements answer.RewindRule.
func (r *rule) Rewind(tokens, bytes int) {
	r.stage.mu.Lock()
	defer r.stage.mu.Unlock()
	bytes = min(bytes, r.total)
	r.forget(tokens, bytes)
	r.total -= bytes
	r.released = min(r.released, r.total)
	r.held = r.held[:max(len(r.held)-bytes, 0)]
}

// interpret turns what the plugin returned into a verdict on all text since the last verdict
// without Hold. What that released cannot be hidden any more.
func (r *rule) interpret(returned int32) (answer.Verdict, *guest.Violation) {
	limit := r.stage.module.Env.Limits.Held
	endAt := func(position int) (answer.Verdict, *guest.Violation) {
		return answer.Verdict{End: true, Show: max(position-r.released, 0)}, nil
	}
	zero := r.total - len(r.held) // where the plugin's last 0 was
	switch {
	case returned == abi.StopShow:
		r.held = r.held[:0]
		return answer.Verdict{}, nil
	case returned == abi.StopEnd:
		return endAt(r.total)
	case returned == abi.StopHide:
		return endAt(zero)
	case returned == abi.StopHold && len(r.held) > limit:
		return answer.Verdict{}, guest.Violationf(plugin.CauseLimit, "%d bytes of text held back, at most %d may be", len(r.held), limit)
	case returned == abi.StopHold:
		return answer.Verdict{Hold: true}, nil
	case returned < 0:
		n := -int64(returned) - 1
		if n > int64(len(r.held)) || (n < int64(len(r.held)) && !utf8.RuneStart(r.held[n])) {
			return answer.Verdict{}, guest.Violationf(plugin.CauseAnswer, "%d shows %d bytes of %d, or a part of a character", returned, n, len(r.held))
		}
		return endAt(zero + int(n))
	}
	return answer.Verdict{}, guest.Violationf(plugin.CauseAnswer, "%d, it must be at most 3", returned)
}

// wholeCharacters is how many bytes of text fit, without cutting a character.
func wholeCharacters(text string, room int) int {
	if len(text) <= room {
		return len(text)
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return room
}

// Close implements answer.StopRule. The stage closes the instance.
func (r *rule) Close() error { return nil }

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
