// SPDX-License-Identifier: MIT

// Package load turns a module's bytes into a plugin.
//
// A Loader has the module checked, metered and compiled (package compile), gives it the host
// functions (package guest), asks it for its manifest and compiles the schema of its
// configuration. That is done once, whatever the number of models. For each Model an instance is
// warmed that all others of this model begin as a copy of. The result is a Plugin, which package
// stage puts to work in requests.
//
// # Why does the host fill in a configuration's defaults?
//
// The schema says them already, for people and for forms. If each plugin said them again in its
// code, the two would differ one day. What the plugin sees is also what quarantine tells
// configurations apart by, and what a recording has, so a replay is the same after a default has
// changed. What the schema requires must still be given: a request that was refused before is
// refused still. A default that does not fit its own schema is the author's mistake, and the
// module is refused when it is loaded. This is stricter than the first hosts of v1 were, which
// took such a module; it is better found there than in an answer.
//
// # Why is the model's digest not a hash of its whole file?
//
// Hashing 40 GB takes a minute and more, and loading a model reads no more than is used. The
// digest is what saved slots are told apart by already (host/engine/identity.go): the length, the
// first and the last MiB of the file, and the control vectors. The first MiB has the metadata,
// the last one weights, which training changes. It tells a plugin or a recording that the model
// is another one. It does not prove that the model is the same: of a model in several files only
// the first is read, and somebody who wants to can make two files with one digest.
//
// # Why is the work of checking a configuration counted before it is done?
//
// The library applies a part of a schema as often as others refer to it, and cannot be
// interrupted. A manifest of 1.5 KB whose 22 parts each refer twice to the next held up a load
// for 154 s, and each further part doubles that. host/plugin/load/work.go counts how often each
// part is applied to each value, which looks at each pair once, and refuses what costs more than
// two million steps: at most about a second. A match costs the instructions of the regular
// expression, not its length, since the ten bytes of `(a?){1000}` are two thousand of them.
// Numbers that no double can hold are refused as well, since `1e-999999` as a bound is a fraction
// of a million digits, and so are numbers of more than 400 digits. The size of a schema is
// bounded when the module is loaded: the library takes time in proportion to the square of the
// subschemas, and 20 KB of such regular expressions took 132 MB. `$dynamicRef` is refused where a
// value comes to it, because which schema it means is known only while checking.
//
// # Why is a plan kept for each client?
//
// What a plugin leaves in memory after penstock_plan is the same for everybody who sends the same
// configuration. If it were shared, however, a request with a configuration that somebody else uses
// would begin sooner than one with a new configuration. A configuration may be a script, and nobody
// is to find out by the time whether another client has sent it. What this costs is one more plan,
// some milliseconds, for each client.
//
// # Why is a misspelt export an error, but an unknown manifest field not?
//
// An export with the ABI's prefix that the host never calls makes a plugin that loads and does
// nothing. A manifest field that a later host reads, however, must not keep the module from
// loading on an older one, and what a field changes is visible in `GET /v1/plugins`.
package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/quarantine"
)

// Loader loads each plugin once for all models. It is safe for concurrent use.
type Loader struct {
	host           *guest.Environment
	compiler       *compile.Compiler
	loading        sync.Mutex // one module is loaded at a time: compiling takes memory in proportion to the module
	interpreter    builtIn
	interpreterSum func() string // the SHA-256 of the interpreter, in hex, computed when it is first asked for
	own            *Model        // the model of its options; it has no vocabulary if they have no model

	mu     sync.Mutex // guards models
	models []*Model   // open models that Model returned
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

// Limits returns the limits of its plugins.
func (l *Loader) Limits() plugin.Limits { return l.host.Limits }

// MemoryUse tells how many bytes all instances have together, and how many they may have.
func (l *Loader) MemoryUse() (used, limit int64) { return l.host.MemoryUse() }

// Model returns a model that plugins are used with, until its Close; see Plugin.For.
func (l *Loader) Model(o plugin.ModelOptions) *Model {
	m := newModel(l, l.host.For(o))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.models = append(l.models, m)
	return m
}

// Models returns the open models that Model returned, in their order.
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

// Close waits until no request uses a plugin any more, or the context is done. Then the error tells
// how many requests still do. A plugin is freed with its last Release. Models must be closed
// before. Close may be called again.
func (l *Loader) Close(ctx context.Context) error {
	l.interpreter.close()
	return l.own.Close(ctx)
}

// Check refuses at once a module that is no plugin of this version. Load begins with it.
func (l *Loader) Check(wasm []byte) error { return compile.Check(wasm, l.host.Limits.Module) }

// Load turns a module into a plugin: it checks, meters and compiles it, asks for its manifest and,
// if the loader's options have a model, warms it for that model. Plugin.For does so for other
// models. The error wraps one of package plugin's errors, or is a *plugin.Fault or *plugin.Refusal
// of describe, warm or the module's initialisation. The caller must Release the plugin.
func (l *Loader) Load(ctx context.Context, wasm []byte) (*Plugin, error) {
	return l.load(ctx, wasm, l.compiler)
}

// Bounds of compiling a module that is a part of this program, whose price is known. One function
// of the interpreter takes most of them.
const (
	embeddedFunctionWork = 1 << 28
	embeddedWork         = 1 << 29
)

// LoadEmbedded is Load for a module that is a part of this program. Compiling it may take more
// work. While it runs, it is trusted no more than other modules.
func (l *Loader) LoadEmbedded(ctx context.Context, wasm []byte) (*Plugin, error) {
	limits := l.host.Limits.Module
	limits.FunctionWork, limits.Work = max(limits.FunctionWork, embeddedFunctionWork), max(limits.Work, embeddedWork)
	return l.load(ctx, wasm, l.compiler.With(limits))
}

func (l *Loader) load(ctx context.Context, wasm []byte, compiler *compile.Compiler) (*Plugin, error) {
	if err := l.Check(wasm); err != nil {
		return nil, err
	}
	l.loading.Lock()
	defer l.loading.Unlock()
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	code, err := compiler.Compile(ctx, wasm, sum)
	if err != nil {
		return nil, err
	}
	return l.plugin(ctx, code, sum, nil)
}

// The memory that a client's module counts for as long as it is loaded, in addition to its code and
// the images of its memory: a fixed part for each module, and a multiple of its size for tables.
const (
	moduleBytes = 256 << 10
	tableFactor = 2
)

// ClientModule is the name that all clients' modules share in metrics and logs.
const ClientModule = "module"

// LoadOwned is Load for a module that a client brings for its own requests. Only one is to be
// loaded at a time.
//
// # Notes
//
//   - What it computes meanwhile counts as the client's. The memory that it takes as long as it is
//     loaded is a part of what the client may have of plugins.memory.
//   - Its code is compiled anew, so that the time tells nothing about modules that others brought.
//   - Metrics know it as ClientModule, like all of them: its name is the client's word.
//
// # Errors
//
//   - Those of Load, and ErrBusy of package plugin.
//   - A *plugin.Fault of CauseBudget if the client has no room for it.
func (l *Loader) LoadOwned(ctx context.Context, client string, wasm []byte) (*Plugin, error) {
	if err := l.Check(wasm); err != nil {
		return nil, err
	}
	var kept *guest.Kept
	code, err := l.compiler.CompileAnew(ctx, wasm, func(bytes int64) (err error) {
		kept, err = l.host.Keep(client, ClientModule, bytes+moduleBytes+tableFactor*int64(len(wasm)))
		return err
	})
	if err != nil {
		kept.Give()
		return nil, err
	}
	return l.plugin(ctx, code, sha256.Sum256(wasm), kept)
}

// plugin makes a plugin of compiled code, which it owns from then on, as it does the memory kept
// for its client; nil: it is the operator's.
func (l *Loader) plugin(ctx context.Context, code *compile.Code, sum [sha256.Size]byte, kept *guest.Kept) (*Plugin, error) {
	module, err := guest.New(ctx, l.host, code)
	if err != nil {
		_ = code.Close() // the reason is in err
		kept.Give()
		return nil, err
	}
	module.Own(kept)
	p := &Plugin{loaded: &loaded{loader: l, base: module, SHA256: hex.EncodeToString(sum[:])}, Module: module, model: l.own}
	p.users.Store(1)
	if err := p.prepare(ctx, code); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// prepare runs the module for its manifest and its image.
func (p *Plugin) prepare(ctx context.Context, code *compile.Code) error {
	text, err := p.Module.Describe(ctx)
	if err != nil {
		return err
	}
	if p.Manifest, err = ParseManifest(text, p.Module.Exports); err != nil {
		return err
	}
	if p.Manifest.Implements != nil {
		p.Module.CallOnly(p.Manifest.Implements)
	}
	p.Exports = p.Module.Exports
	if err := p.checkExports(); err != nil {
		return err
	}
	p.Name, p.Module.Name, p.Module.Hold = p.Manifest.Name, p.Manifest.Name, p.Manifest.Hold
	p.quarantine = quarantine.New(p.Name, p.loader.host.Limits.Faults, p.loader.host.Log)
	p.Module.Faulted = p.quarantine.Faulted
	if err := checkSpelling(slices.Collect(maps.Keys(code.Compiled.ExportedFunctions())), &p.Manifest); err != nil {
		return err
	}
	if p.schema, err = NewSchema(p.Manifest.ConfigSchema); err != nil {
		return err
	}
	if !p.loader.host.HasModel() {
		return nil
	}
	return p.Module.Warm(ctx)
}
