// SPDX-License-Identifier: MIT

package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
)

// conversation measures the calls of one answer.
type conversation struct {
	stage   *stage.Stage
	rule    answer.StopRule // nil: the plugin is none
	words   words
	rows    *rows
	exports []string
	figures map[[2]string]*Figure // by name and input
	order   [][2]string
}

// prompt is what the conversations begin with.
var prompt = []chain.Token{1, 2, 3}

// converse measures the calls of an answer on rows as they are, and, where a sampler may stand
// behind others, on narrowed ones.
func (r *Report) converse(ctx context.Context, p *load.Plugin, request plugin.RequestInfo) error {
	inputs := []string{wholeRow}
	if slices.Contains(p.Exports, abi.ExportSample) && p.Manifest.View == load.ViewCandidates {
		inputs = append(inputs, narrowed)
	}
	c := &conversation{words: newWords(r.Vocabulary), rows: newRows(r.Vocabulary), exports: p.Exports, figures: map[[2]string]*Figure{}}
	for _, input := range inputs {
		if err := r.answer(ctx, p, request, c, input); err != nil {
			return err
		}
	}
	for _, key := range c.order {
		r.Hooks = append(r.Hooks, c.figures[key].done())
	}
	return nil
}

// answer runs one answer.
func (r *Report) answer(ctx context.Context, p *load.Plugin, request plugin.RequestInfo, c *conversation, input string) (err error) {
	if c.stage, err = stage.New(p, request); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stage.Close()) }()
	c.rule = c.stage.Rule()
	if err := c.stage.Reset(prompt, len(prompt)); err != nil {
		return err
	}
	r.Memory.Opened = c.stage.Usage().Memory
	for n := range r.Tokens {
		if err := ctx.Err(); err != nil {
			return err
		}
		over, err := c.token(n, input)
		if err != nil {
			return fmt.Errorf("token %d: %w", n+1, err)
		}
		if over { // the answer has ended; another one goes on with the count
			if err := c.stage.Reset(prompt, len(prompt)); err != nil {
				return err
			}
		}
	}
	r.Memory.End = c.stage.Usage().Memory
	return nil
}

// token measures all calls for a token.
func (c *conversation) token(n int, input string) (over bool, _ error) {
	var prepared chain.Prepared
	if err := c.time(abi.ExportPrepare, "", func() (err error) {
		prepared, err = c.stage.Prepare()
		return err
	}); err != nil {
		return false, err
	}
	tokens := prepared.Forced
	if len(tokens) == 0 {
		v := c.rows.view(n, input, prepared)
		if err := c.time(abi.ExportSample, input, func() error { return c.stage.Apply(v) }); err != nil {
			return false, err
		}
		tokens = []chain.Token{v.Likeliest()}
	}
	for _, t := range tokens {
		if over, err := c.accept(t); over || err != nil {
			return over, err
		}
	}
	return false, nil
}

// accept measures what a plugin does when it is told a token and its text.
func (c *conversation) accept(token chain.Token) (over bool, _ error) {
	var effect chain.Effect
	var verdict answer.Verdict
	if err := c.time(abi.ExportAccept, "", func() (err error) {
		effect, err = c.stage.Accept(token)
		return err
	}); err != nil {
		return false, err
	}
	if c.rule != nil {
		if err := c.time(abi.ExportStop, "", func() (err error) {
			verdict, err = c.rule.Check(token, strings.ToValidUTF8(c.words.Piece(token), "\uFFFD"))
			return err
		}); err != nil {
			return false, err
		}
	}
	return effect.Stop || effect.Splice || verdict.End, nil
}

// time measures one call, of an export that the plugin has.
func (c *conversation) time(export, input string, call func() error) error {
	if !slices.Contains(c.exports, export) {
		return call()
	}
	key := [2]string{export, input}
	figure := c.figures[key]
	if figure == nil {
		figure = &Figure{Name: export, Input: input}
		c.figures[key], c.order = figure, append(c.order, key)
	}
	begin := time.Now()
	err := call()
	figure.times = append(figure.times, time.Since(begin))
	used := c.stage.Usage()
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
	rows := newRows(r.Vocabulary)
	for _, b := range builtIn {
		o := settings
		o.Chain, o.Select = []native.SamplerKind{b.chain}, b.selector
		sampler, err := native.NewSampler(model, o)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		for _, input := range []string{wholeRow, narrowed} {
			figure := Figure{Name: b.name, Input: input}
			for n, until := 0, time.Now().Add(enough); n < r.Tokens && (n < kinds || time.Now().Before(until)); n++ {
				v := rows.view(n, input, chain.Prepared{})
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
