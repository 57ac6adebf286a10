// SPDX-License-Identifier: MIT

// Command repetition-stop is a plugin: it ends an answer that goes round in circles, or takes the
// loop back and goes on another way.
package main

import (
	"math"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hold is how many tokens can be taken back; the stream runs as many behind.
const hold = 32

var _ = penstock.Register[repetition](penstock.Manifest{
	Name:     "repetition-stop",
	Version:  "1.1.0",
	Summary:  "ends an answer in which the same run of tokens comes several times, or takes the last run back",
	Hold:     hold,
	TakeBack: 64 * hold,
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"tokens": {"type": "integer", "minimum": 1, "maximum": 256, "default": 12, "description": "length of the run"},
			"times": {"type": "integer", "minimum": 2, "maximum": 100, "default": 3, "description": "how often the run comes"},
			"then": {"enum": ["stop", "go_back"], "default": "stop", "description": "end the answer, or take the last run back"},
			"tries": {"type": "integer", "minimum": 1, "maximum": 64, "default": 16, "description": "how often runs are taken back before the answer ends"}
		}
	}`,
})

func main() {}

// repetition is the plugin in one request. It asks for the history each time instead of keeping
// its own, so it is right whatever was taken back.
type repetition struct {
	size, times int
	left        int // runs that may still be taken back
	prompt      int
	history     []penstock.Token
	bans        []ban
}

// ban is a token that began a run which was taken back. It is not allowed at its place, as long as
// what is before that stays.
type ban struct {
	at    int // index in the history
	token penstock.Token
}

// Open implements penstock.Opener.
func (r *repetition) Open(q *penstock.Request) error {
	r.size, r.times = q.Config.Get("tokens").Int(), q.Config.Get("times").Int()
	r.prompt = q.PromptTokens
	if q.Config.Get("then").Text() == "go_back" {
		r.left = q.Config.Get("tries").Int()
	}
	return nil
}

// Prepare implements penstock.Preparer.
func (r *repetition) Prepare(next *penstock.Next) {
	if len(r.bans) == 0 {
		return
	}
	at := penstock.HistoryLen()
	for _, b := range r.bans {
		if b.at == at {
			next.Bias(b.token, float32(math.Inf(-1)))
		}
	}
}

// Accept implements penstock.Accepter. A run is taken back up to its first token, which is banned
// there.
func (r *repetition) Accept(penstock.Token) penstock.Accepted {
	r.history = penstock.HistoryFrom(r.prompt, r.history)
	if count(r.history, r.size) < r.times {
		return penstock.Continue
	}
	if r.left == 0 {
		return penstock.Stop
	}
	r.left--
	back := min(r.size, hold)
	at := len(r.history) - back
	r.forget(r.prompt + at)
	r.bans = append(r.bans, ban{r.prompt + at, r.history[at]})
	return penstock.Splice(back)
}

// Rewind implements penstock.Rewinder.
func (r *repetition) Rewind(n int) error {
	r.forget(n)
	return nil
}

// forget drops the bans behind a place: what was before them has changed.
func (r *repetition) forget(at int) {
	r.bans = slices.DeleteFunc(r.bans, func(b ban) bool { return b.at > at })
}

// count is how often the last size tokens come in the answer, without overlaps.
func count(answer []penstock.Token, size int) int {
	if len(answer) < size {
		return 0
	}
	run, n := answer[len(answer)-size:], 0
	last := run[size-1]
	for at := len(answer); at >= size; {
		if answer[at-1] == last && slices.Equal(answer[at-size:at], run) {
			n++
			at -= size
		} else {
			at--
		}
	}
	return n
}
