// SPDX-License-Identifier: MIT

package model

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/penstock/penstock/native"
)

// errOptions: it is the options that a model cannot be loaded with, not the file.
var errOptions = errors.New("the options of loading do not fit")

// options are those of serving that a trial has too: what a file cannot do with them is to be
// found there.
type options struct {
	Loading   native.ModelOptions   `json:"loading,omitzero"`
	Computing native.ContextOptions `json:"computing,omitzero"`
}

// onCPU are the options of a trial on the CPU, without what is of account on GPUs only, and what
// changes nothing but speed.
func (o CheckOptions) onCPU() options {
	return options{
		native.ModelOptions{KVOverrides: o.Loading.KVOverrides, NoRepack: o.Loading.NoRepack, LoadMTP: o.Loading.LoadMTP, Head: o.Loading.Head},
		native.ContextOptions{Rope: o.Computing.Rope, FlashAttention: o.Computing.FlashAttention, TypeK: o.Computing.TypeK, TypeV: o.Computing.TypeV,
			FullWindowCache: o.Computing.FullWindowCache},
	}
}

// onGPU are those of a trial with a GPU.
func (o CheckOptions) onGPU() options {
	all := options{o.Loading, o.Computing}
	all.Loading.GPULayers, all.Loading.Progress = o.GPULayers, nil
	return all
}

// key tells options apart.
func (o options) key() string {
	text, err := json.Marshal(o)
	if err != nil {
		return err.Error() // a value that is no number, which loading refuses
	}
	return string(text)
}

// usesGPU reports whether a GPU is to compute, if there is one.
func (o CheckOptions) usesGPU() bool {
	named := o.Loading.Devices
	return !slices.Equal(named, []string{"none"}) && (o.GPULayers != 0 || len(named) > 0)
}

// context makes the options of a trial's context.
func (o options) context(sizes native.ContextOptions) native.ContextOptions {
	c := o.Computing
	c.Cells, c.Batch, c.UBatch, c.Sequences, c.Rows = sizes.Cells, sizes.Batch, sizes.UBatch, sizes.Sequences, sizes.Rows
	c.Unified, c.Threads, c.Output, c.FeedsHead = sizes.Unified, sizes.Threads, sizes.Output, sizes.FeedsHead
	return c
}
