// SPDX-License-Identifier: MIT

package bench

import "time"

// typical is what requests of a class come to on average, for those of which the server did not
// say: answers that were cut off at the end of a run carry no usage. Where none of a class has
// any, a word of a prompt counts as a token.
type typical struct {
	prompt   float64 // prompt tokens that were computed
	perPiece float64 // tokens generated for each piece of text; above 1 where text is held back
}

func typicalUsage(records []*record, promptWords int) typical {
	var told, prompt, generated, pieces int
	for _, rec := range records {
		if rec.usage.Prompt > 0 {
			told++
			prompt += rec.usage.Prompt - rec.usage.Cached
		}
		if rec.usage.Generated > 0 && rec.begun() {
			generated += rec.usage.Generated
			pieces += len(rec.arrived)
		}
	}
	t := typical{prompt: float64(promptWords), perPiece: 1}
	if told > 0 {
		t.prompt = float64(prompt) / float64(told)
	}
	if pieces > 0 {
		t.perPiece = float64(generated) / float64(pieces)
	}
	return t
}

// tally adds up records.
type tally struct {
	window    window
	s         Summary
	ttft, itl []time.Duration
}

func newTally(w window) *tally { return &tally{window: w} }

func (t *tally) add(rec *record, typical typical) {
	if t.window.contains(rec.sent) {
		t.s.Requests++
		t.s.CachedTokens += rec.usage.Cached
		if rec.err != nil {
			t.s.Failed++
			t.s.Error = rec.err.Error()
		}
		if rec.begun() {
			t.ttft = append(t.ttft, rec.arrived[0].Sub(rec.sent))
		}
	}
	if !rec.begun() {
		return
	}
	prompt := typical.prompt
	if rec.usage.Prompt > 0 {
		prompt = float64(rec.usage.Prompt - rec.usage.Cached)
	}
	t.s.PromptTokens += prompt * t.window.overlap(rec.sent, rec.arrived[0])
	t.addTokens(rec, typical)
}

func (t *tally) addTokens(rec *record, typical typical) {
	weight := typical.perPiece
	if rec.usage.Generated > 0 {
		weight = float64(rec.usage.Generated) / float64(len(rec.arrived))
	}
	for i, at := range rec.arrived {
		if t.window.contains(at) {
			t.s.Tokens += weight
		}
		if i > 0 {
			t.gap(rec.arrived[i-1], at)
		}
	}
	if rec.cut {
		t.gap(rec.arrived[len(rec.arrived)-1], rec.ended)
	}
}

func (t *tally) gap(from, to time.Time) {
	if t.window.contains(from) {
		t.itl = append(t.itl, to.Sub(from))
	}
}

func (t *tally) summary(class string) Summary {
	s := t.s
	s.Class = class
	if seconds := t.window.length().Seconds(); seconds > 0 {
		s.TokensPerSecond = s.Tokens / seconds
		s.PromptTokensPerSecond = s.PromptTokens / seconds
	}
	s.TTFT, s.ITL = latencyOf(t.ttft), latencyOf(t.itl)
	return s
}
