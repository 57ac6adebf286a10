// SPDX-License-Identifier: MIT

// Command repetition-stop is a plugin: it ends an answer that goes round in circles, or takes the
// loop back and goes on another way; of reasoning it ends the reasoning, so that the model answers.
package main

import (
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// hold is how many tokens can be taken back; the stream runs as many behind.
const hold = 32

var _ = penstock.Register[repetition](penstock.Manifest{
	Name:     "repetition-stop",
	Version:  "2.0.0",
	Summary:  "ends an answer, or its reasoning, in which the same run of tokens comes several times, or takes the last run back",
	Hold:     hold,
	TakeBack: 64 * hold,
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"tokens": {"type": "integer", "minimum": 1, "maximum": 256, "default": 12, "description": "length of the run"},
			"times": {"type": "integer", "minimum": 2, "maximum": 100, "default": 3, "description": "how often the run comes"},
			"then": {"enum": ["stop", "go_back"], "default": "stop", "description": "end the answer, or take the last run back"},
			"max_pattern_size": {"type": "integer", "minimum": 0, "maximum": 512, "default": 0, "description": "instead of tokens and times: any run of up to so many tokens that comes min_count times, one right after the other; 0: none"},
			"min_pattern_size": {"type": "integer", "minimum": 1, "maximum": 512, "default": 1, "description": "the shortest run of that kind"},
			"min_count": {"type": "integer", "minimum": 2, "maximum": 2048, "default": 3, "description": "how often it comes"},
			"reasoning": {"enum": ["close", "same"], "default": "close", "description": "a loop in the reasoning ends the reasoning, and the model answers; or the same as elsewhere"},
			"end": {"type": "string", "minLength": 1, "maxLength": 200, "default": "</think>\n\n", "description": "what ends the model's reasoning"},
			"tries": {"type": "integer", "minimum": 1, "maximum": 64, "default": 16, "description": "how often runs are taken back before the answer ends"}
		}
	}`,
})

func main() {}

// repetition is the plugin in one request. It asks for the history each time instead of keeping
// its own, so it is right whatever was taken back.
type repetition struct {
	size, times int
	shortest    int              // of runs that come one after the other; 0: a run of size that comes anywhere
	left        int              // runs that may still be taken back
	end         []penstock.Token // of reasoning; empty: it is not ended by itself
	closing     bool             // it comes next
	closed      bool             // it came; if the model reasons on nevertheless, it is not tried again
	thought     int              // tokens of the answer up to the end of its reasoning, in which runs of the content do not count
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

// longest is how many tokens are looked at for runs that come one after the other.
const longest = 4096

// Open implements penstock.Opener.
func (r *repetition) Open(q *penstock.Request) error {
	r.size, r.times = q.Config.Get("tokens").Int(), q.Config.Get("times").Int()
	r.prompt = q.PromptTokens
	if most := q.Config.Get("max_pattern_size").Int(); most > 0 {
		r.size, r.shortest, r.times = most, q.Config.Get("min_pattern_size").Int(), q.Config.Get("min_count").Int()
		if r.shortest > most || most*r.times > longest {
			return errors.New("config.min_pattern_size is " + strconv.Itoa(r.shortest) + ", config.max_pattern_size " + strconv.Itoa(most) + " and config.min_count " + strconv.Itoa(r.times) +
				"; the first must not be more than the second, and that times the third at most " + strconv.Itoa(longest))
		}
	}
	if q.Config.Get("reasoning").Text() == "close" {
		r.end = penstock.Tokenize(q.Config.Get("end").Text(), penstock.ParseSpecial)
	}
	if q.Config.Get("then").Text() == "go_back" {
		r.left = q.Config.Get("tries").Int()
		return nil
	}
	return q.Hold(0) // nothing is taken back
}

// Prepare implements penstock.Preparer.
func (r *repetition) Prepare(next *penstock.Next) {
	if r.closing {
		r.closing, r.closed = false, true
		next.Force(r.end...)
		return
	}
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
	counted, reasons := r.history, penstock.AnswerPart() == penstock.Reasoning
	if reasons {
		r.thought = len(r.history)
	} else {
		counted, r.closed = r.history[min(r.thought, len(r.history)):], false
	}
	size := r.size
	if r.shortest > 0 {
		size = loop(counted, r.shortest, r.size, r.times)
	} else if count(counted, size) < r.times {
		size = 0
	}
	switch {
	case size == 0:
		return penstock.Continue
	case reasons && len(r.end) > 0 && !r.closed:
		r.closing = true
		return penstock.Continue
	case r.left == 0:
		return penstock.Stop
	}
	r.left--
	back := min(size, hold)
	at := len(r.history) - back
	r.forget(r.prompt + at)
	r.bans = append(r.bans, ban{r.prompt + at, r.history[at]})
	return penstock.Splice(back)
}

// Rewind implements penstock.Rewinder.
func (r *repetition) Rewind(n int) error {
	r.closing, r.closed = false, false
	r.thought = min(r.thought, max(0, n-r.prompt))
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

// loop is the length of the shortest run with which the answer ends so many times, one right after
// the other; 0: there is none of a length from shortest to most.
func loop(answer []penstock.Token, shortest, most, times int) int {
	for size := shortest; size <= most && size*times <= len(answer); size++ {
		same := 0 // tokens that are the same a run earlier
		for at := len(answer) - 1; same < size*(times-1) && answer[at] == answer[at-size]; at-- {
			same++
		}
		if same == size*(times-1) {
			return size
		}
	}
	return 0
}
