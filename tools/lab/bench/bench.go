// SPDX-License-Identifier: MIT

// Package bench puts load on servers that speak OpenAI's API and measures what their clients see.
//
// That is tokens a second, the time to the first token (TTFT) and the gaps between tokens (ITL). A
// Load says who sends what and for how long. Run puts it on one server, Alternate on several in
// turn, so that a change in the machine's speed affects all of them alike.
//
// All programs below tools/lab and `penstock bench` share its clients: HTTP calls any route of a
// server and streams texts, Dial opens a WebSocket, Socket streams over it. Start runs a server.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// Main is main of commands below tools/lab: it runs one until an interrupt, and exits 1 after an
// error.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	if stop(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Request is one request for a text.
type Request struct {
	Prompt      string
	Picture     []byte // a file that stands before the prompt of a chat completion; empty: none
	MaxTokens   int    // of the answer, exactly: the end-of-text token is ignored
	MayEnd      bool   // the end-of-text token ends the answer
	Temperature float64
	Seed        uint32
	Plugins     json.RawMessage // the field plugins, which Penstock knows; empty: none
	Schema      json.RawMessage // that the answer must fit; empty: it may be any text
}

// Usage is what a server says a request came to, in tokens. Zero if it does not say.
type Usage struct {
	Prompt    int // of the prompt, cached ones included
	Cached    int // of the prompt, not computed again
	Generated int
}

// Streamer sends requests to one server. Its method may be called from several goroutines at once.
type Streamer interface {
	// Stream sends r and calls arrived for each piece of text, with the time at which its bytes
	// came in. It returns when the answer has ended. What is known of the usage comes with an
	// error, too.
	Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error)
}

// With changes each request before it is sent. Several goroutines may call change at once.
func With(s Streamer, change func(*Request)) Streamer { return changing{s, change} }

type changing struct {
	Streamer
	change func(*Request)
}

func (c changing) Stream(ctx context.Context, r Request, arrived func(at time.Time)) (Usage, error) {
	c.change(&r)
	return c.Streamer.Stream(ctx, r, arrived)
}

// Target is a server with the name it has in reports.
type Target struct {
	Name string
	Streamer
	// OwnPrompts is for a server that is another target, too: with the prompts of that one it would
	// find them in its cache, or leave them there.
	OwnPrompts bool
}

var (
	// ErrLoad means that a Load makes no sense.
	ErrLoad = errors.New("bad load")
	// ErrServer means that a server answered with an error, or against the protocol.
	ErrServer = errors.New("server error")
	// ErrStart means that a server process did not become ready.
	ErrStart = errors.New("the server did not start")
)

// Measured is one run of a scenario on a server.
type Measured struct {
	Scenario string `json:"scenario"`
	Target   string `json:"target"`
	Round    int    `json:"round"`
	Result
}

// Alternate runs the scenario on each target in turn, and that rounds times: A B B A. done, if not
// nil, is told of each run. Each target has answered a request before, which takes longer where
// plugins are loaded for it.
func Alternate(ctx context.Context, targets []Target, scenario Scenario, rounds int, done func(Measured)) ([]Measured, error) {
	var all []Measured
	for _, t := range targets {
		if err := quiet(ctx, t); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	for round := range rounds {
		runs, err := Round(ctx, targets, scenario, round+1, done)
		all = append(all, runs...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// Round runs the scenario once on each target; in every second round the last one goes first, so
// that no target always does. The prompts of a round are the same for all targets but those with
// prompts of their own. They differ between rounds, unless the scenario has the same in all, so
// that no prefix cache helps one round after the other.
func Round(ctx context.Context, targets []Target, scenario Scenario, round int, done func(Measured)) ([]Measured, error) {
	if round%2 == 0 {
		targets = slices.Clone(targets)
		slices.Reverse(targets)
	}
	var runs []Measured
	for _, t := range targets {
		load := scenario.Load
		if !scenario.Same {
			load.Seed += uint64(round) << 32
		}
		if t.OwnPrompts {
			load.Seed += 1 << 62
		}
		server, _ := t.Streamer.(*HTTP) // others have no metrics
		before := server.allTicks(ctx)
		result, err := Run(ctx, t, load)
		result.Ticks = server.allTicks(ctx).since(before)
		if err == nil && load.Duration > 0 {
			err = quiet(ctx, t)
		}
		if err != nil {
			return runs, fmt.Errorf("%s on %s: %w", scenario.Name, t.Name, err)
		}
		m := Measured{scenario.Name, t.Name, round, result}
		runs = append(runs, m)
		if done != nil {
			done(m)
		}
	}
	return runs, nil
}

// quiet waits until a server has done with what the end of a run cancelled: one that computes a
// prompt to its end, though nobody waits for it any more, would take the processors from the next
// server. An answer of one token comes when it is at leisure.
func quiet(ctx context.Context, s Streamer) error {
	_, err := Run(ctx, s, Load{Classes: []Class{{Name: "quiet", Clients: 1, Requests: 1, PromptWords: 1, MaxTokens: 1}}})
	return err
}

// MedianOf is the median of a figure over the runs of a scenario on a target; 0 if there are none.
func MedianOf(runs []Measured, scenario, target string, figure func(Result) float64) float64 {
	var values []float64
	for _, m := range runs {
		if m.Scenario == scenario && m.Target == target {
			values = append(values, figure(m.Result))
		}
	}
	return Median(values)
}

// Median sorts its argument; the median of an even number of values is the mean of the middle two,
// of none 0.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
