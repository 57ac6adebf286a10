// SPDX-License-Identifier: MIT

package stage

import (
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
)

// filter lets a plugin change the text before the client sees it. All counts are bytes.
type filter struct {
	stage *Stage
	held  []byte // the end of text that the plugin keeps back
	text  []byte // what all calls were given
	calls []filterCall
	cut   bool // the instance has seen text that was taken back

	bytes, written int // given to the plugin and written by it since the answer began
}

// filterCall is a call of Filter whose text was not taken back.
type filterCall struct {
	end   int // of its text in filter.text
	held  int // by the plugin after the call
	after int // tokens of the answer at the time
}

// Filter implements answer.Filter. Text longer than the guest's buffer comes in several calls.
// If the request goes on without the plugin, all text is shown unchanged.
func (f *filter) Filter(text string, last bool) (shown string, err error) {
	s := f.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	f.text = append(f.text, text...)
	if text != "" || last {
		shown, err = f.filterParts(text, last)
	}
	if err := s.endOnFault(err); err != nil {
		return "", err
	}
	if s.disabled || s.instance != nil && !s.instance.Has(guest.Filter) {
		shown += string(f.held) // which includes what filterParts could not give the plugin
		f.held = f.held[:0]
	}
	f.calls = append(f.calls, filterCall{len(f.text), len(f.held), len(s.session.History) - s.prompt})
	return shown, nil
}

// filterParts gives the guest a text in parts that fit its buffer beside the text it keeps back.
// After a fault, the rest of the text counts as kept back.
func (f *filter) filterParts(text string, last bool) (shown string, err error) {
	for first := true; (first || text != "") && f.stage.canCall(guest.Filter); first = false {
		i := f.stage.instance
		part := text[:wholeCharacters(text, len(i.Buffers.Text())-len(f.held))]
		if part == "" && text != "" {
			err = i.Fail(guest.Filter, guest.Violationf(plugin.CauseLimit, "%d bytes of text kept back, which leave no room in the text buffer of %d", len(f.held), len(i.Buffers.Text())))
			break
		}
		text = text[len(part):]
		more, violation, failed := f.callGuest(part, last && text == "")
		if shown += more; violation != nil {
			failed = i.Fail(guest.Filter, violation)
		}
		if err = failed; err != nil {
			break
		}
	}
	f.held = append(f.held, text...)
	return shown, err
}

// callGuest gives the guest the text that it kept back, followed by a part of the new text, and
// checks its answer.
func (f *filter) callGuest(part string, last bool) (shown string, _ *guest.Violation, _ error) {
	s, i, limits := f.stage, f.stage.instance, &f.stage.module.Env.Limits
	f.held = append(f.held, part...)
	n, end := copy(i.Buffers.Text(), f.held), int32(0)
	if last {
		end = 1
	}
	keep, err := i.Call(guest.Filter, int32(n), end)
	if err != nil {
		return "", nil, err
	}
	if !s.session.Replaying {
		f.bytes += len(part)
		if i.Emits() {
			f.written += len(i.Emitted())
		}
	}
	switch at := n - int(keep); {
	case keep < 0 || at < 0:
		return "", guest.Violationf(plugin.CauseAnswer, "%d, it must be from 0 to %d: so much text there was", keep, n), nil
	case keep > 0 && last:
		return "", guest.Violationf(plugin.CauseAnswer, "%d bytes kept back of the last text", keep), nil
	case keep > 0 && !utf8.RuneStart(f.held[at]):
		return "", guest.Violationf(plugin.CauseAnswer, "%d bytes kept back, which begin inside a character", keep), nil
	case int(keep) > limits.Held:
		return "", guest.Violationf(plugin.CauseLimit, "%d bytes of text kept back, at most %d may be", keep, limits.Held), nil
	case f.written > limits.Filtered+8*f.bytes:
		return "", guest.Violationf(plugin.CauseLimit, "%d bytes of text written for %d; 8 times as many and %d more are the most", f.written, f.bytes, limits.Filtered), nil
	default:
		if shown = string(f.held[:at]); i.Emits() {
			shown = i.Emitted()
		}
		f.held = f.held[:copy(f.held, f.held[at:])]
		return shown, nil, nil
	}
}

// Unfilter implements answer.Filter: it forgets the last calls, whose text was taken back.
func (f *filter) Unfilter(calls int) {
	f.stage.mu.Lock()
	defer f.stage.mu.Unlock()
	f.cut = f.cut || calls > 0
	f.calls = f.calls[:max(len(f.calls)-calls, 0)]
	f.text = f.text[:f.restoreHeld(len(f.calls))]
}

// restoreHeld sets held to what it was after the first n calls, and returns where their text ends.
func (f *filter) restoreHeld(n int) (end int) {
	f.held = f.held[:0]
	if n > 0 {
		last := f.calls[n-1]
		end = last.end
		f.held = append(f.held, f.text[end-last.held:end]...)
	}
	return end
}

// replay repeats calls on a fresh instance: from index from on, those that came when the answer had
// at most tokens tokens. It returns the index of the next call. What the plugin shows is dropped,
// since the client has it already.
func (f *filter) replay(from, tokens int) (int, error) {
	for ; f.stage.implements(guest.Filter) && from < len(f.calls) && f.calls[from].after <= tokens; from++ {
		begin := f.restoreHeld(from)
		if text := string(f.text[begin:f.calls[from].end]); text != "" {
			if _, err := f.filterParts(text, false); err != nil {
				return from, err
			}
		}
		f.restoreHeld(from + 1)
	}
	return from, nil
}
