// SPDX-License-Identifier: MIT

package cost

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// write measures what a program does from one wait to the next, with what the host finds in the
// rows for it.
func (r *Report) write(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
	rows, shown := newRows(r.words), 0
	figure := Figure{Name: abi.ExportRun, Input: fmt.Sprintf("each wait, %d branches", p.Branches(request.Config))}
	began := time.Now()
	used, err := drive.Writing{
		Vocabulary: r.words, Summarizer: nativeRows{}, Masker: nativeRows{}, Draw: likeliest,
		Row: func(tokens []program.Token) []float32 {
			h := fnv.New32a()
			fmt.Fprint(h, tokens[len(tokens)-1], len(tokens)) // hashes do not fail
			defer func() { began = time.Now() }()
			return rows.all[h.Sum32()%kinds]
		},
		Opened: func(u stage.Usage) {
			r.Memory.Opened = u.Memory
			began = time.Now()
		},
		Waited: func(more []program.Shown) bool {
			figure.times = append(figure.times, time.Since(began))
			shown += len(more)
			began = time.Now()
			return ctx.Err() == nil && shown < r.Tokens && len(figure.times) <= 100*(r.Tokens+1)
		},
	}.Write(p, request, prompt)
	r.Memory.End = max(used.Memory, r.Memory.Opened) // it is gone where the run was ended
	figure.Fuel, figure.Limit = used.Fuel/int64(max(1, len(figure.times))), abi.LimitHookFuel
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
func likeliest(v *chain.View, _ *rand.Rand) error {
	var id [1]int32
	var logit [1]float32
	if native.TopLogits(v.Row, id[:], logit[:]) == 0 {
		return chain.ErrNoToken
	}
	v.Chosen = id[0]
	return nil
}
