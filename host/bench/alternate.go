// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"
	"slices"
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
		before := server.tickSums(ctx)
		result, err := Run(ctx, t, load)
		result.Ticks = server.tickSums(ctx).ticks(before)
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
