// SPDX-License-Identifier: MIT

package wasm

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// offer puts the host functions in; they find their host in the call's context.
func offer(ctx context.Context, r wazero.Runtime) error {
	host := func(ctx context.Context) *plugintest.Host { return ctx.Value(hostKey{}).(*plugintest.Host) }
	b := r.NewHostModuleBuilder("penstock")
	for name, f := range map[string]any{
		"config": func(ctx context.Context, m api.Module, ptr, limit uint32) int32 {
			return host(ctx).Imports().Config(at(m, ptr, limit), int32(limit))
		},
		"messages": func(ctx context.Context, m api.Module, ptr, limit uint32) int32 {
			return host(ctx).Imports().Messages(at(m, ptr, limit), int32(limit))
		},
		"history": func(ctx context.Context, m api.Module, from int32, ptr, limit uint32) int32 {
			return host(ctx).Imports().History(from, at(m, ptr, 4*limit), int32(limit))
		},
		"feature": func(ctx context.Context, m api.Module, name, size uint32) int32 {
			return host(ctx).Imports().Feature(at(m, name, size), int32(size))
		},
		"param":      func(ctx context.Context, kind int32) int64 { return host(ctx).Imports().Param(kind) },
		"random":     func(ctx context.Context) int64 { return host(ctx).Imports().Random() },
		"vocab_size": func(ctx context.Context) int32 { return host(ctx).Imports().VocabSize() },
		"piece": func(ctx context.Context, m api.Module, token int32, ptr, limit uint32) int32 {
			return host(ctx).Imports().Piece(token, at(m, ptr, limit), int32(limit))
		},
		"vocab": func(ctx context.Context, m api.Module, ptr, limit uint32) int32 {
			return host(ctx).Imports().Vocab(at(m, ptr, limit), int32(limit))
		},
		"token_attr": func(ctx context.Context, token int32) int32 { return host(ctx).Imports().TokenAttr(token) },
		"special":    func(ctx context.Context, kind int32) int32 { return host(ctx).Imports().Special(kind) },
		"tokenize": func(ctx context.Context, m api.Module, text, size uint32, flags int32, ptr, limit uint32) int32 {
			return host(ctx).Imports().Tokenize(at(m, text, size), int32(size), flags, at(m, ptr, 4*limit), int32(limit))
		},
		"bind": func(ctx context.Context, m api.Module, kind int32, ptr, size uint32) int32 {
			return host(ctx).Imports().Bind(kind, at(m, ptr, size), int32(size))
		},
		"emit": func(ctx context.Context, m api.Module, ptr, size uint32) {
			host(ctx).Imports().Emit(at(m, ptr, size), int32(size))
		},
		"fail": func(ctx context.Context, m api.Module, ptr, size uint32) {
			host(ctx).Imports().Fail(at(m, ptr, size), int32(size))
		},
		"log": func(ctx context.Context, m api.Module, level int32, ptr, size uint32) {
			host(ctx).Imports().Log(level, at(m, ptr, size), int32(size))
		},
	} {
		b = b.NewFunctionBuilder().WithFunc(f).Export(name)
	}
	_, err := b.Instantiate(ctx)
	return err
}
