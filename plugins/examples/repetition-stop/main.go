// SPDX-License-Identifier: MIT

// Command repetition-stop is a plugin: it ends an answer that goes round in circles.
package main

import (
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[repetition](penstock.Manifest{
	Name:    "repetition-stop",
	Version: "1.0.0",
	Summary: "ends an answer in which the same run of tokens comes several times",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"tokens": {"type": "integer", "minimum": 1, "maximum": 256, "default": 12, "description": "length of the run"},
			"times": {"type": "integer", "minimum": 2, "maximum": 100, "default": 3, "description": "the answer ends when the run comes so often"}
		}
	}`,
})

func main() {}

// repetition is the plugin in one request. It asks for the history each time instead of keeping its own, so it is right whatever
// was taken back.
type repetition struct {
	size, times int
	prompt      int
	history     []penstock.Token
}

// Open implements penstock.Opener.
func (r *repetition) Open(q *penstock.Request) error {
	r.size, r.times = q.Config.Get("tokens").Int(), q.Config.Get("times").Int()
	r.prompt = q.PromptTokens
	return nil
}

// Stop implements penstock.Stopper.
func (r *repetition) Stop(penstock.Token, []byte) penstock.Verdict {
	r.history = penstock.HistoryFrom(r.prompt, r.history)
	if count(r.history, r.size) >= r.times {
		return penstock.End
	}
	return penstock.Show
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
