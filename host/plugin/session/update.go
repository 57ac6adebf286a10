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
	var after Call
	if outcome != nil {
		after = *outcome
	}
	after.Call, after.Token, after.Text, after.IDs, after.Logits, after.Keep = c.Call, c.Token, c.Text, c.IDs, c.Logits, c.Keep
	after.Tokens, after.Count, after.Bytes, after.Logprob, after.Deeds = c.Tokens, c.Count, c.Bytes, c.Logprob, c.Deeds
	return after
}
