// SPDX-License-Identifier: MIT

package stage

import (
	"unicode/utf8"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// rule lets a plugin end the answer by its text. It counts in bytes of the text that it was given.
type rule struct {
	stage  *Stage
	chunks []chunk // the calls of Check to replay to a fresh instance
	text   []byte  // the text of all chunks

	// The plugin answers 0 (abi.StopShow) when all text so far may be shown. The scheduler gets one
	// verdict for each token, though a token's text may take several calls.
	total    int    // bytes of all text
	released int    // of them, bytes that the scheduler was told to show
	held     []byte // the text since the plugin's last 0
	cut      bool   // the instance has seen text that was taken back
}

// chunk is a call of Check whose text was not taken back.
type chunk struct {
	token scheduler.Token
	end   int // of its text in rule.text
	after int // tokens of the answer at the time
}

// Check implements answer.StopRule. Text longer than the guest's buffer comes in several calls.
func (r *rule) Check(t scheduler.Token, text string) (answer.Verdict, error) {
	s := r.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Stop) {
		return answer.Verdict{}, nil
	}
	r.rememberChunk(t, text)
	buffer := s.instance.Buffers.Text()
	for {
		part := text[:wholeCharacters(text, len(buffer))]
		text = text[len(part):]
		verdict, err := r.callGuest(t, part)
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

// callGuest shows the guest a part of the text that fits its buffer.
func (r *rule) callGuest(t scheduler.Token, part string) (answer.Verdict, error) {
	i := r.stage.instance
	copy(i.Buffers.Text(), part)
	r.held = append(r.held, part...)
	r.total += len(part)
	returned, err := i.Call(guest.Stop, t, int32(len(part)))
	if err != nil {
		return answer.Verdict{}, err
	}
	verdict, v := r.readVerdict(returned)
	if v != nil {
		return answer.Verdict{}, i.Fail(guest.Stop, v)
	}
	return verdict, nil
}

// Name implements answer.NamedRule.
func (r *rule) Name() string { return r.stage.name() }

// Rewind implements answer.RewindRule: the last tokens and bytes were taken back.
func (r *rule) Rewind(tokens, bytes int) {
	r.stage.mu.Lock()
	defer r.stage.mu.Unlock()
	bytes = min(bytes, r.total)
	r.forgetChunks(tokens, bytes)
	r.total -= bytes
	r.released = min(r.released, r.total)
	r.held = r.held[:max(len(r.held)-bytes, 0)]
}

// readVerdict turns the plugin's answer into a verdict on the text that was not released yet. Text
// that was released can no longer be hidden.
func (r *rule) readVerdict(returned int32) (answer.Verdict, *guest.Violation) {
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

// wholeCharacters returns how many bytes of text fit into room bytes without cutting a character.
func wholeCharacters(text string, room int) int {
	if len(text) <= room {
		return len(text)
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return room
}

// Close implements answer.StopRule. It does nothing, since the stage closes the instance.
func (r *rule) Close() error { return nil }

// needsReplay reports whether Reset may replace the instance by a fresh one, so that the text of
// the answer must be kept to replay it.
func (s *Stage) needsReplay() bool {
	return !s.implements(guest.Rewind) && (s.implements(guest.Accept) || s.implements(guest.Stop) || s.implements(guest.Filter))
}

// rememberChunk keeps what a call of Check was given, to replay it.
func (r *rule) rememberChunk(t scheduler.Token, text string) {
	if r.stage.needsReplay() {
		r.text = append(r.text, text...)
		r.chunks = append(r.chunks, chunk{t, len(r.text), len(r.stage.session.History) - r.stage.prompt})
	}
}

// forgetChunks drops the last chunks: as many as tokens were taken back, and those whose text
// reaches into the last bytes.
func (r *rule) forgetChunks(tokens, bytes int) {
	r.cut = r.cut || tokens > 0 || bytes > 0
	end := len(r.text) - bytes
	for n := len(r.chunks); n > 0 && (tokens > 0 || r.chunks[n-1].end > end); n-- {
		r.chunks = r.chunks[:n-1]
		tokens--
	}
	r.text = r.text[:min(len(r.text), max(end, 0))]
}

// reset prepares for an instance that has seen no text.
func (r *rule) reset() { r.total, r.held, r.cut = 0, r.held[:0], false }

// replay repeats calls on a fresh instance: from index from on, the chunks that came when the
// answer had at most tokens tokens. It returns the index of the next chunk. The plugin's verdicts
// no longer end the answer, but it may hold text back again.
func (r *rule) replay(from, tokens int) (int, error) {
	for ; r.stage.implements(guest.Stop) && from < len(r.chunks) && r.chunks[from].after <= tokens; from++ {
		begin := 0
		if from > 0 {
			begin = r.chunks[from-1].end
		}
		text := string(r.text[begin:r.chunks[from].end])
		for first := true; first || text != ""; first = false {
			part := text[:wholeCharacters(text, len(r.stage.instance.Buffers.Text()))]
			text = text[len(part):]
			verdict, err := r.callGuest(r.chunks[from].token, part)
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
