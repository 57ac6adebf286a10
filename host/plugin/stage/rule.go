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

// rule is the stop rule of a stage.
type rule struct {
	stage *Stage
	// The plugin answers 0 when all text so far may be shown. The scheduler gets one verdict for each token, and a token's text
	// may take several calls.
	released int    // bytes that the plugin released and no verdict has reported yet
	held     []byte // the text since the plugin's last 0
}

// releaseHeld counts the held text as released: the plugin shows it, or a fresh instance, which has not seen it, takes over.
func (r *rule) releaseHeld() { r.released, r.held = r.released+len(r.held), r.held[:0] }

// Check implements answer.StopRule. Text longer than the guest's buffer comes in several calls.
func (r *rule) Check(t scheduler.Token, text string) (answer.Verdict, error) {
	s := r.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.canCall(guest.Stop) {
		return answer.Verdict{}, nil
	}
	buffer := s.instance.Buffers.Text()
	for {
		part := text[:wholeCharacters(text, len(buffer))]
		text = text[len(part):]
		copy(buffer, part)
		r.held = append(r.held, part...)
		returned, err := s.instance.Call(guest.Stop, t, int32(len(part)))
		if err != nil {
			return answer.Verdict{}, s.endOnFault(err)
		}
		verdict, v := r.interpret(returned)
		if v != nil {
			return answer.Verdict{}, s.endOnFault(s.instance.Fail(guest.Stop, v))
		}
		if verdict.End || text == "" {
			if !verdict.End && !verdict.Hold {
				r.released = 0
			}
			return verdict, nil
		}
	}
}

// Rewind implements answer.RewindRule.
func (r *rule) Rewind(n int) {
	r.stage.mu.Lock()
	defer r.stage.mu.Unlock()
	kept := max(len(r.held)-n, 0)
	r.released = max(r.released-(n-(len(r.held)-kept)), 0)
	r.held = r.held[:kept]
}

// interpret turns what the plugin returned into a verdict on all text since the last verdict without Hold.
func (r *rule) interpret(returned int32) (answer.Verdict, *guest.Violation) {
	limit := r.stage.module.Host.Limits.Held
	switch {
	case returned == abi.StopShow:
		r.releaseHeld()
		return answer.Verdict{}, nil
	case returned == abi.StopEnd:
		return answer.Verdict{End: true, Show: r.released + len(r.held)}, nil
	case returned == abi.StopHide:
		return answer.Verdict{End: true, Show: r.released}, nil
	case returned == abi.StopHold && len(r.held) > limit:
		return answer.Verdict{}, guest.Violationf(plugin.CauseLimit, "%d bytes of text held back, at most %d may be", len(r.held), limit)
	case returned == abi.StopHold:
		return answer.Verdict{Hold: true}, nil
	case returned < 0:
		n := -int64(returned) - 1
		if n > int64(len(r.held)) || (n < int64(len(r.held)) && !utf8.RuneStart(r.held[n])) {
			return answer.Verdict{}, guest.Violationf(plugin.CauseAnswer, "%d shows %d bytes of %d, or a part of a character", returned, n, len(r.held))
		}
		return answer.Verdict{End: true, Show: r.released + int(n)}, nil
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
