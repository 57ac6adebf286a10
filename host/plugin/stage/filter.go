// SPDX-License-Identifier: MIT

package stage

import (
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
)

// filter is the filter of a stage.
type filter struct {
	stage *Stage
	held  []byte // what the plugin kept back: the end of text
	text  []byte // all that Filter was given and still stands
	given []given
	cut   bool // some of what the instance was given does not stand any more

	bytes, written int // that the plugin was given, and that it wrote, in all
}

// given is a call of Filter that still stands.
type given struct {
	end   int // of its text, in all of it
	held  int // bytes that the plugin kept back then
	after int // tokens that the answer had
}

// Filter implements answer.Filter. Text longer than the guest's buffer comes in several calls.
// Where the request goes on without the plugin, all is shown as it is.
func (f *filter) Filter(text string, last bool) (shown string, err error) {
	s := f.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	f.text = append(f.text, text...)
	if text != "" || last {
		shown, err = f.calls(text, last)
	}
	if err := s.endOnFault(err); err != nil {
		return "", err
	}
	if s.disabled || s.instance != nil && !s.instance.Has(guest.Filter) {
		shown += string(f.held) // with the rest of the text, which calls has left there
		f.held = f.held[:0]
	}
	f.given = append(f.given, given{len(f.text), len(f.held), len(s.session.History) - s.prompt})
	return shown, nil
}

// calls gives the guest a text, as much at a time as fits its buffer. What was not shown is held.
func (f *filter) calls(text string, last bool) (shown string, err error) {
	for first := true; (first || text != "") && f.stage.canCall(guest.Filter); first = false {
		i := f.stage.instance
		part := text[:wholeCharacters(text, len(i.Buffers.Text())-len(f.held))]
		if part == "" && text != "" {
			err = i.Fail(guest.Filter, guest.Violationf(plugin.CauseLimit, "%d bytes of text kept back, which leave no room in the text buffer of %d", len(f.held), len(i.Buffers.Text())))
			break
		}
		text = text[len(part):]
		more, violation, failed := f.call(part, last && text == "")
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

// call gives the guest what it kept back and a part of the text that fits beside it.
func (f *filter) call(part string, last bool) (shown string, _ *guest.Violation, _ error) {
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

// Unfilter implements answer.Filter.
func (f *filter) Unfilter(calls int) {
	f.stage.mu.Lock()
	defer f.stage.mu.Unlock()
	f.cut = f.cut || calls > 0
	f.given = f.given[:max(len(f.given)-calls, 0)]
	f.text = f.text[:f.restore(len(f.given))]
}

// restore has the text be held that was after the first n calls, and returns where theirs ends.
func (f *filter) restore(n int) (end int) {
	f.held = f.held[:0]
	if n > 0 {
		last := f.given[n-1]
		end = last.end
		f.held = append(f.held, f.text[end-last.held:end]...)
	}
	return end
}

// retell makes calls again on a fresh instance, from that of index from on, which came when the
// answer had at most so many tokens. What the plugin makes of the text is dropped. The result is
// the next index.
func (f *filter) retell(from, tokens int) (int, error) {
	for ; f.stage.has(guest.Filter) && from < len(f.given) && f.given[from].after <= tokens; from++ {
		begin := f.restore(from)
		if text := string(f.text[begin:f.given[from].end]); text != "" {
			if _, err := f.calls(text, false); err != nil {
				return from, err
			}
		}
		f.restore(from + 1)
	}
	return from, nil
}
