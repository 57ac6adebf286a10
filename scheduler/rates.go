// SPDX-License-Identifier: MIT

package scheduler

import "time"

// TokenCounts are tokens computed.
type TokenCounts struct {
	Prompt    uint64 // of prompts, without those found in the cache
	Generated uint64 // of answers
}

// TokenRates are tokens a second.
type TokenRates struct{ Prompt, Generated float64 }

// rateSeconds is over how many seconds rates are taken, the present one included, of which only a
// part has passed.
const rateSeconds = 5

// rates counts tokens, all and by the second. It belongs to the tick.
type rates struct {
	total   TokenCounts
	shown   int // tokens of answers since the last count
	seconds [rateSeconds]struct {
		at int64 // since 1970
		TokenCounts
	}
}

// count notes tokens of prompts that were computed, and those of answers that were shown since the
// last time.
func (r *rates) count(now time.Time, prompt int) {
	second := &r.seconds[uint64(now.Unix())%rateSeconds]
	if second.at != now.Unix() {
		second.at, second.TokenCounts = now.Unix(), TokenCounts{}
	}
	for _, c := range []*TokenCounts{&r.total, &second.TokenCounts} {
		c.Prompt += uint64(prompt)
		c.Generated += uint64(r.shown)
	}
	r.shown = 0
}

// over is the tokens a second over the last rateSeconds.
func (r *rates) over(now time.Time) (rate TokenRates) {
	first := now.Unix() - rateSeconds + 1
	for _, second := range r.seconds {
		if second.at >= first {
			rate.Prompt += float64(second.Prompt)
			rate.Generated += float64(second.Generated)
		}
	}
	passed := now.Sub(time.Unix(first, 0)).Seconds()
	return TokenRates{rate.Prompt / passed, rate.Generated / passed}
}
