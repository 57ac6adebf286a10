// SPDX-License-Identifier: MIT

package cost

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// write measures what a program does from one wait to the next, with what the host finds in the
// rows for it.
func (r *Report) write(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) (err error) {
	request.Chain = func([]byte) (func(uint32) ([]chain.Stage, error), error) {
		return func(uint32) ([]chain.Stage, error) { return []chain.Stage{likeliest{}}, nil }, nil
	}
	request.Prompt = func(_ context.Context, messages []byte) ([]int32, error) {
		return newWords(r.Vocabulary).Tokenize(string(messages), false, false)
	}
	s, err := stage.New(p, request)
	if err != nil {
		return err
	}
	of := stage.Program{Stage: s}
	defer func() { err = errors.Join(err, of.Close()) }()
	if err := of.Reset(prompt, len(prompt)); err != nil {
		return err
	}
	r.Memory.Opened = s.Usage().Memory
	branches := p.Branches(request.Config)
	run := program.New(&program.Program{Main: of.Main, Branches: branches}, program.Options{Prompt: prompt, Vocabulary: r.Vocabulary,
		Longest: request.ContextSize, Tokens: program.DefaultTokens(len(prompt), r.Tokens, branches), Summarizer: nativeRows{}, Masker: nativeRows{},
		Ends: func(program.Token) bool { return false }})
	rows, shown := newRows(r.Vocabulary), 0
	figure := Figure{Name: abi.ExportRun, Input: fmt.Sprintf("each wait, %d branches", branches)}
	began := time.Now()
	row := func(tokens []program.Token) []float32 {
		h := fnv.New32a()
		fmt.Fprint(h, tokens[len(tokens)-1], len(tokens)) // hashes do not fail
		defer func() { began = time.Now() }()
		return rows.all[h.Sum32()%kinds]
	}
	err = run.Drive(row, func(more []program.Shown) bool {
		figure.times = append(figure.times, time.Since(began))
		shown += len(more)
		began = time.Now()
		return ctx.Err() == nil && shown < r.Tokens && len(figure.times) <= 100*(r.Tokens+1)
	})
	used := s.Usage()
	r.Memory.End = max(used.Memory, r.Memory.Opened) // it is gone where the run was ended
	figure.Fuel, figure.Limit = used.Fuel/int64(len(figure.times)), abi.LimitHookFuel
	r.Hooks = append(r.Hooks, figure.done())
	return errors.Join(err, ctx.Err())
}

// nativeRows is the host's own search of rows, and masks.
type nativeRows struct{}

// Summarize implements program.Summarizer.
func (nativeRows) Summarize(row []float32, ids []int32, logits []float32) program.Summary {
	n := native.TopLogits(row, ids, logits)
	s := program.Summary{IDs: ids[:n], Logits: logits[:n]}
	s.LogSum, s.Entropy = native.Distribution(row)
	return s
}

// MaskRow implements chain.Masker.
func (nativeRows) MaskRow(to, row []float32, allowed []uint32) { native.MaskRow(to, row, allowed) }

// likeliest draws the most likely token.
type likeliest struct{}

// Traits implements chain.Stage.
func (likeliest) Traits() chain.Traits { return chain.Traits{Name: "greedy"} }

// Native implements chain.Stage.
func (likeliest) Native() bool { return false }

// Apply implements chain.Stage.
func (likeliest) Apply(v *chain.View) error {
	var id [1]int32
	var logit [1]float32
	if native.TopLogits(v.Row, id[:], logit[:]) == 0 {
		return chain.ErrNoToken
	}
	v.Chosen = id[0]
	return nil
}

// Accept implements chain.Stage.
func (likeliest) Accept(chain.Token) (chain.Effect, error) { return chain.Effect{}, nil }

// Reset implements chain.Stage.
func (likeliest) Reset([]chain.Token, int) error { return nil }

// Close implements chain.Stage.
func (likeliest) Close() error { return nil }
