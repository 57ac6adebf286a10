// SPDX-License-Identifier: MIT

// Command repetition-stop is a plugin: it ends an answer that goes round in circles.
package main

import (
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/stop"
)

func init() {
	r := &repetition{}
	penstock.Register(penstock.Manifest{
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
	}, r.open)
	stop.Register(r)
}

func main() {}

// repetition is the plugin in one request. It asks for the history each time instead of keeping its own, so it is right whatever
// was taken back.
type repetition struct {
	size, times int
	prompt      int
	history     []penstock.Token
}

func (r *repetition) open() error {
	config, err := penstock.Config()
	if err != nil {
		return err
	}
	r.size = int(config.Get("tokens").Number(12))
	r.times = int(config.Get("times").Number(3))
	r.prompt = penstock.PromptTokens()
	return nil
}

// Stop implements stop.Rule.
func (r *repetition) Stop(penstock.Token, []byte) stop.Answer {
	r.history = penstock.HistoryFrom(r.prompt, r.history)
	if count(r.history, r.size) >= r.times {
		return stop.End
	}
	return stop.Show
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
