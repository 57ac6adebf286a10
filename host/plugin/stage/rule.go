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
