// SPDX-License-Identifier: MIT

// Package check tries any plugin under the real runtime: with a made-up model and conversations of
// many kinds, and with its golden cases.
//
// Each conversation runs twice, and once more after a detour that is taken back. It is a finding
// when the plugin traps, answers what it may not, or answers differently the second time. A golden
// case is a file of calls with what is to come of each.
//
// # Why are golden cases session files?
//
// What a plugin did in a live answer and in a case that a person wrote is the same thing: what
// went into each call, and what came out. With one format, one player under the real runtime
// compares both, and a recorded request becomes a case by being copied into the folder.
package check

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/script"
)

// Options say how to try a plugin.
type Options struct {
	Config        []byte        // of every request, JSON; empty: {}
	Conversations int           // 0: 24
	Tokens        int           // of each conversation; 0: 48
	Limits        plugin.Limits // the zero value: those of ABI v1
	CacheDir      string        // compiled code is kept there; empty: it is compiled each time
}

// loading has one module loaded at a time: of a module that is tried with several configurations
// at once, the first compiles it, and the others find the code in the cache.
var loading sync.Mutex

// Module tries a module or a script. The error says why nothing could be tried: it or the
// configuration is refused.
func Module(ctx context.Context, f load.File, o Options) (_ *Report, err error) {
	if o.Conversations == 0 {
		o.Conversations = 24
	}
	if o.Tokens == 0 {
		o.Tokens = 48
	}
	tally := &tally{calls: map[string]*Export{}}
	loader := load.New(plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: words, Grammars: drive.Grammars{Words: words}, Observer: tally}, Limits: o.Limits, CacheDir: o.CacheDir, Interpreter: script.Module})
	defer func() { err = errors.Join(err, loader.Close(context.WithoutCancel(ctx))) }()
	loading.Lock()
	p, err := loader.LoadFile(ctx, f)
	loading.Unlock()
	if err != nil {
		return nil, err
	}
	defer p.Release()
	if o.Config, err = p.CheckConfig(o.Config); err != nil {
		return nil, fmt.Errorf("the configuration: %w; --plugin-config gives one, and so does a golden case", err)
	}
	r := &Report{Plugin: p.Name, Version: p.Manifest.Version, SHA256: p.SHA256, exports: p.Exports, fuel: map[string]int64{}}
	if p, err = p.With(ctx, "", o.Config); err != nil {
		return nil, fmt.Errorf("the configuration: %w", err)
	}
	defer p.Release()
	r.warmed(p, words)
	converse := r.converse
	if p.IsProgram() {
		converse = r.write
	}
	for n := range o.Conversations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if converse(p, o, uint64(n)); len(r.Findings) > 0 {
			break // what follows is likely the same
		}
	}
	if len(r.Findings) == 0 && !p.IsProgram() {
		r.soak(p, o)
	}
	if (p.IsTemplate() || p.Rewrites()) && len(r.Findings) == 0 {
		r.render(ctx, p, o)
	}
	if len(r.Findings) == 0 {
		if err := r.weigh(ctx, loader, p, o); err != nil {
			return nil, err
		}
	}
	r.Exports = tally.list(r.fuel)
	return r, nil
}

// long is the length of the longest conversation, in multiples of the others.
const long = 100

// maxGrowth is how many bytes a token the memory may grow by. 64 MiB then last for a conversation
// of 128k tokens.
const maxGrowth = 512

// soak holds a long conversation, in which a plugin's memory should hardly grow.
func (r *Report) soak(p *load.Plugin, o Options) {
	if p.Renders() {
		return
	}
	c := &conversation{plugin: p, tokens: long * o.Tokens, soak: true, words: words, report: r}
	if err := c.run(o.Config); err != nil {
		r.find("a long conversation: %v", err)
	} else if more := c.end - c.early; !c.ended && more > maxGrowth*c.tokens {
		r.find("memory grows by %d bytes a token: it was %d bytes after %d tokens, and %d after %d", more/c.tokens, c.early, settled, c.end, c.tokens)
	}
}

// real is the size of a real model's vocabulary, that of Llama 3.
const real = 128_256

var manyWords = sync.OnceValue(func() *drive.Words { return drive.NewWords(real) })

// warmed notes what the warm-up took, and the plan.
func (r *Report) warmed(p *load.Plugin, w *drive.Words) {
	r.used(abi.ExportPlan, stage.Usage{Fuel: p.Module.PlanFuel, Limit: abi.LimitPlanFuel}, w)
	r.used(abi.ExportWarm, stage.Usage{Fuel: p.Module.WarmFuel, Limit: abi.LimitSetupFuel}, w)
}

// weigh notes what calls take with a vocabulary of a real model's size.
func (r *Report) weigh(ctx context.Context, l *load.Loader, p *load.Plugin, o Options) (err error) {
	many := manyWords()
	m := l.Model(plugin.ModelOptions{Vocabulary: many, Grammars: drive.Grammars{Words: many}})
	defer func() { err = errors.Join(err, m.Close(context.WithoutCancel(ctx))) }()
	if p, err = p.For(ctx, m); err == nil {
		p, err = p.With(ctx, "", o.Config)
	}
	if err == nil {
		defer p.Release()
		r.warmed(p, many)
		switch few := min(o.Tokens, 8); {
		case p.IsProgram():
			err = (&writing{plugin: p, words: many, tokens: few, waits: 2, report: r}).run(o.Config)
		case !p.Renders():
			err = (&conversation{plugin: p, words: many, tokens: few, soak: true, report: r}).run(o.Config)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.find("with a vocabulary of %d tokens: %v", real, err)
	}
	return ctx.Err()
}
