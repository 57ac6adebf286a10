// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/native"
)

// Alone is the model of a program that has it for itself, with its plugins. It is what a service
// knows as its models.
type Alone struct {
	serving.Models
	Core    *Core
	Plugins *Plugins
	Hold    func() (release func(), _ error) // keeps the model in memory; its owner sets it
}

// OpenAlone opens the configured model and has it answer. One that generates nothing, such as a
// BERT, makes embeddings or scores only, and no other model chats beside it.
func OpenAlone(ctx context.Context, c config.Config, log *slog.Logger, progress func(done float32)) (*Alone, error) {
	if _, err := native.Level(); err != nil {
		return nil, err
	}
	about, err := library.Open(c.Models.Dir).Model(c.Model.Path)
	encoder := err == nil && about.Encoder
	c.Embedding.Enabled = c.Embedding.Enabled || encoder && !c.Rerank.Enabled
	native.SetLogger(log.With(slog.String("from", "llama.cpp")))
	plugins, err := OpenPlugins(ctx, c, log)
	if err != nil {
		return nil, err
	}
	core, err := Open(ctx, c, log, Options{Progress: progress, Plugins: plugins})
	if err != nil {
		return nil, errors.Join(err, plugins.Close())
	}
	core.Model.EmbedsOnly = encoder
	core.Start()
	return &Alone{Core: core, Plugins: plugins}, nil
}

// Close ends what runs and frees the model.
func (a *Alone) Close() error { return errors.Join(a.Core.Close(), a.Plugins.Close()) }

// Use implements serving.Models.
func (a *Alone) Use(context.Context, string) (*serving.Model, func(), error) {
	release, err := a.Hold()
	return a.Core.Model, release, err
}

// Seeing implements serving.Models.
func (*Alone) Seeing(name string) string { return name }

// Configured is the configuration for the model of a name: one that the program has loaded, in
// which an empty name leaves its model; or if that is nil, one with some keys set and all others as
// they are by default. Neither a file nor the environment is read.
func Configured(own *config.Config, name string, values map[string]any) (config.Config, error) {
	if own != nil {
		own.Model.Path = cmp.Or(name, own.Model.Path)
		return *own, nil
	}
	for key := range values {
		if !slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Name == key }) {
			return config.Config{}, fmt.Errorf("%q is no key of the configuration; docs/configuration.md has them all", key)
		}
	}
	values["model.path"] = name
	return config.Load(config.Sources{File: os.DevNull, Flags: values})
}

// CheckedLogits is a function that changes logits, which is refused where it leaves such as
// samplers do not expect.
func CheckedLogits(change func(tokens []int32, logits []float32)) func(tokens []int32, logits []float32) error {
	return func(tokens []int32, logits []float32) error {
		change(tokens, logits)
		if i := native.FirstInvalid(logits); i >= 0 {
			return refusal.Invalid("logits", "the logit of token %d has become %v; it must be finite or -Inf", i, logits[i])
		}
		return nil
	}
}
