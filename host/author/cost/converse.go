// SPDX-License-Identifier: MIT

package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/chain"
)

// conversation measures the calls of one answer.
type conversation struct {
	input   string
	exports []string
	figures map[[2]string]*Figure // by name and input
	order   [][2]string
}

// prompt is what the conversations begin with.
var prompt = []chain.Token{3, 4, 5}

// converse measures the calls of an answer on rows as they are, and, where a sampler may stand
// behind others, on narrowed ones.
func (r *Report) converse(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
	inputs := []string{wholeRow}
	if slices.Contains(p.Exports, abi.ExportSample) && p.Manifest.View == load.ViewCandidates {
		inputs = append(inputs, narrowed)
	}
	c := &conversation{exports: p.Exports, figures: map[[2]string]*Figure{}}
	rows := newRows(r.words)
	for _, c.input = range inputs {
		rows.narrow = c.input == narrowed
		if err := r.answer(ctx, p, request, c, rows); err != nil {
			return err
		}
	}
	for _, key := range c.order {
		r.Hooks = append(r.Hooks, c.figures[key].done())
	}
	return nil
}

// answer runs one answer. Where it ends, another one goes on with the count.
func (r *Report) answer(ctx context.Context, p *load.Plugin, request plugin.RequestInfo, c *conversation, rows *rows) error {
	a, err := drive.Begin(p, request, slices.Clone(prompt), r.words, rows, c.time)
	if err != nil {
		return err
	}
	defer a.Close()
	begin := a.Mark()
	r.Memory.Opened = a.Stage.Usage().Memory
	for n := range r.Tokens {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.Step(uint64(n)); err != nil {
			return fmt.Errorf("token %d: %w", n+1, err)
		}
		if a.Ended {
			if err := a.Return(begin); err != nil {
				return err
			}
		}
	}
	r.Memory.End = a.Stage.Usage().Memory
	return nil
}

// time is a drive.Caller that measures the calls for a token, of exports that the plugin has.
func (c *conversation) time(s *stage.Stage, export string, call func() error, _ func() []any) error {
	key := [2]string{export, ""}
	drafts := export == abi.ExportAccept && s.Traits().Foresees // with the same call
	switch {
	case export == abi.ExportOpen, export == abi.ExportRewind, !slices.Contains(c.exports, export) && !drafts, slices.Contains(s.Declined(), export):
		return call()
	case export == abi.ExportSample:
		key[1] = c.input
	case drafts:
		key[1] = "with a draft"
	}
	figure := c.figures[key]
	if figure == nil {
		figure = &Figure{Name: key[0], Input: key[1]}
		c.figures[key], c.order = figure, append(c.order, key)
	}
	begin := time.Now()
	err := call()
	figure.times = append(figure.times, time.Since(begin))
	used := s.Usage()
	figure.Fuel, figure.Limit = max(figure.Fuel, used.Fuel), used.Limit
	return err
}

// enough is how long a built-in sampler is measured. Some take milliseconds for a whole row.
const enough = 300 * time.Millisecond

// compare measures the built-in samplers on the same rows.
func (r *Report) compare(ctx context.Context) (err error) {
	model, err := loadTokens(ctx, r.Vocabulary)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	rows := newRows(r.words)
	for _, b := range builtIn {
		o := settings
		o.Chain, o.Select = []native.SamplerKind{b.chain}, b.selector
		sampler, err := native.NewSampler(model, o)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		for _, input := range []string{wholeRow, narrowed} {
			rows.narrow = input == narrowed
			figure := Figure{Name: b.name, Input: input}
			for n, until := 0, time.Now().Add(enough); n < r.Tokens && (n < kinds || time.Now().Before(until)); n++ {
				v := rows.View(uint64(n), chain.Prepared{})
				begin := time.Now()
				if err := applyNative(sampler, v); err != nil {
					return errors.Join(fmt.Errorf("%s: %w", b.name, err), sampler.Close())
				}
				figure.times = append(figure.times, time.Since(begin))
			}
			r.BuiltIn = append(r.BuiltIn, figure.done())
		}
		if err := sampler.Close(); err != nil {
			return err
		}
	}
	return nil
}
