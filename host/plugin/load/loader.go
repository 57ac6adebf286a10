// SPDX-License-Identifier: MIT

package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/guest"
)

// Loader loads plugins, each of them once for all models. It is safe for concurrent use.
type Loader struct {
	host           *guest.Environment
	compiler       *compile.Compiler
	loading        sync.Mutex // one module is loaded at a time: compiling takes memory in proportion to the module
	interpreter    builtIn
	interpreterSum func() string // the SHA-256 of the interpreter, in hex, computed when it is first asked for
	own            *Model        // that of its options; one without a vocabulary, where they have none

	mu     sync.Mutex // guards models
	models []*Model   // those of Model that are not closed
}

// New makes a loader for plugins that are offered o.
func New(o plugin.HostOptions) *Loader {
	h := guest.NewEnvironment(o)
	l := &Loader{host: h, compiler: compile.New(h.CacheDir, h.Limits.Module, h.Limits.Compile, h.Log)}
	l.interpreterSum = sync.OnceValue(func() string {
		sum := sha256.Sum256(h.Interpreter())
		return hex.EncodeToString(sum[:])
	})
	l.own = newModel(l, h)
	return l
}

// Limits are what its plugins may use.
func (l *Loader) Limits() plugin.Limits { return l.host.Limits }

// MemoryUse tells how many bytes all instances have together, and how many they may have.
func (l *Loader) MemoryUse() (used, limit int64) { return l.host.MemoryUse() }

// Model is a model that plugins are used with, until its Close; see Plugin.For.
func (l *Loader) Model(o plugin.ModelOptions) *Model {
	m := newModel(l, l.host.For(o))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.models = append(l.models, m)
	return m
}

// Models are those of Model that are not closed, in the order they came.
func (l *Loader) Models() []*Model {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.models)
}

func (l *Loader) remove(m *Model) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.models = slices.DeleteFunc(l.models, func(other *Model) bool { return other == m })
}

// Close waits until no request uses a plugin any more, or the context is done: then the error
// tells how many still do. What a plugin holds is freed with its last Release. Models are to be
// closed before. Close may be called again.
func (l *Loader) Close(ctx context.Context) error {
	l.interpreter.close()
	return l.own.Close(ctx)
}
