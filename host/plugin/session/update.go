// SPDX-License-Identifier: MIT

package session

import "context"

// Update makes the calls of a session of the file, and writes into it what the plugin does now:
// where that differs, and where no outcome is written down yet. It returns how many calls it has
// changed. The error is that of Play.
func (p *Player) Update(ctx context.Context, s *Session) (changed int, _ error) {
	last := len(s.Calls)
	err := p.play(ctx, s, func(i int, d *Difference, got *Call) bool {
		c := &s.Calls[i]
		if d == nil && (got == nil || c.expects()) {
			return true
		}
		if c.runs() && p.file.modelOf(s) == nil { // only a model knows what would come of other deeds
			return false
		}
		if after := c.with(got); d != nil || after.expects() {
			*c = after
			changed++
		}
		if c.over() {
			last = i + 1 // nothing follows
			return false
		}
		return true
	})
	if err == nil {
		s.Calls = s.Calls[:last]
	}
	return changed, err
}

// with is the call with the outcome of another; nil: with none.
func (c *Call) with(outcome *Call) Call {
	after := Call{Call: c.Call, Token: c.Token, Text: c.Text, IDs: c.IDs, Logits: c.Logits, Keep: c.Keep, Tokens: c.Tokens, Count: c.Count, Bytes: c.Bytes, Logprob: c.Logprob, Deeds: c.Deeds}
	if outcome != nil {
		after.Answer, after.Mask, after.Bias, after.Force = outcome.Answer, outcome.Mask, outcome.Bias, outcome.Force
		after.Left, after.Splice, after.Prompt, after.Outputs = outcome.Left, outcome.Splice, outcome.Prompt, outcome.Outputs
		after.Messages, after.Refusal, after.Declined, after.Fault = outcome.Messages, outcome.Refusal, outcome.Declined, outcome.Fault
		after.Written = outcome.Written
	}
	return after
}
