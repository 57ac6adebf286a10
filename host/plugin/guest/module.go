// SPDX-License-Identifier: MIT

// Package guest runs instances of a plugin's module: their memory, the host functions and WASI
// that they may call, and one call with its fuel and its time.
//
//	Environment  what all guests of one model share: limits, memory budget, time slices, vocabulary
//	Module       a compiled module whose types are checked, with the image its instances begin as
//	Session      what the host functions tell a guest of the request it serves
//	Instance     one guest; Call runs one of its exports
//
// An instance serves one session and no other. A call is followed through these files:
//
//	instance.go        fills the meter with the call's fuel, runs the export, and reads the meter afterwards
//	pause.go           what happens between two slices of a call's fuel: the deadline is checked, and others may
//	                   run; which guests compute when several want to
//	hostcall.go        a call of a host function: its checks and what it costs
//	memory.go          how a host function reaches guest memory
//	hostfunction*.go   the ABI's imports; wasi*.go those of WASI
//	fault.go           why a call trapped
//
// # Why do plugins get time slices in open and in long calls?
//
// Two clients whose plugins compute in open would occupy both processors of a small machine, and
// the tick would have to ask for one again and again. So plugins never get more than half of what
// Go runs at once. Slices last 5 ms, so that a plugin that needs one millisecond gets it soon.
// After 100 ms a plugin is limited to a quarter of a processor, which is also the share of a
// request in sampling.
//
// A call of another kind needs slices from its fifth millisecond on. Two guests that missed the
// cache in sample all the time had taken memory bandwidth from the forward pass (gaps of 30 ms,
// now 17).
package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Module is a plugin's compiled module for one model, which instances are made from. It is safe for
// concurrent use once Warm is done.
type Module struct {
	Name    string   // of the plugin; "unnamed" until its manifest is read
	Exports []string // the ABI's exports that it has and that the host calls
	Env     *Environment
	Did     []plugin.Deed // what it did when it was warmed for its image, up to 1 MiB
	Hold    int           // how many tokens an instance may take back at most
	// WarmFuel is the fuel that its penstock_warm used when the module was warmed; 0: it has none.
	WarmFuel int64
	Planned  []plugin.Deed // what it did in its penstock_plan, up to 1 MiB
	PlanFuel int64         // what its penstock_plan used; 0: it is no plan
	PlanLog  []string      // the last lines that its penstock_plan logged, the beginning of each

	// Shares is whether the memory of instances counts by client, each of which may have half of what
	// others leave: who brings scripts or modules chooses what they take.
	Shares bool

	// Faulted hears of each fault in a request but that of a cancelled call. Nil: nobody does.
	Faulted func(*plugin.Fault, *plugin.RequestInfo)

	code    *compile.Code
	has     [exports]bool
	answers [exports]bool // the export has a result
	image   *image        // nil: every instance is initialised and warmed on its own
	borrows bool          // the code is another Module's to close
	// configure turns a request's configuration into what an instance is given; nil: unchanged.
	configure    func(config []byte) []byte
	borrowsImage bool  // the image, too
	kept         *Kept // for the client whose module it is; nil: it is the operator's
}

// New checks a module's exports and imports against the ABI, before any of its code runs, and
// gives it the host functions. The error wraps plugin.ErrExport or ErrImport; the code is the
// caller's to close then, and the module's from then on.
func New(ctx context.Context, h *Environment, code *compile.Code) (*Module, error) {
	m := &Module{Name: "unnamed", Env: h, code: code}
	if err := m.checkExports(); err != nil {
		return nil, err
	}
	if err := checkImports(code.Compiled.ImportedFunctions()); err != nil {
		return nil, err
	}
	if err := offer(ctx, code); err != nil {
		return nil, err
	}
	return m, nil
}

// CallOnly restricts the host to the exports in a list, and to those that a module cannot do
// without.
func (m *Module) CallOnly(list []string) {
	m.Exports = slices.DeleteFunc(m.Exports, func(name string) bool { return !slices.Contains(always, name) && !slices.Contains(list, name) })
	for e := Warm; e < exports; e++ {
		m.has[e] = m.has[e] && slices.Contains(m.Exports, exportNames[e])
	}
}

// always lists the exports that no list can leave out.
var always = []string{abi.ExportABIV1, abi.ExportDescribe, abi.ExportInitialize}

// Has reports whether the module has an export that the host calls.
func (m *Module) Has(e Export) bool { return m.has[e] }

// Imports reports whether the module imports a function of the ABI.
func (m *Module) Imports(name string) bool { return m.imports(name, abi.Module, abi.Optional) }

func (m *Module) imports(name string, from ...string) bool {
	return slices.ContainsFunc(m.code.Compiled.ImportedFunctions(), func(f api.FunctionDefinition) bool {
		module, imported, _ := f.Import()
		return imported == name && slices.Contains(from, module)
	})
}

// For returns the module for another model, with the same code, to be warmed for it. It is unusable
// once m is closed.
func (m *Module) For(h *Environment) *Module {
	other := *m
	other.Env, other.Did, other.WarmFuel, other.image, other.borrows = h, nil, 0, nil, true
	return &other
}

// As returns the module of a plugin that is m with a part of its configuration fixed: configure
// turns a request's configuration into an instance's. Instances begin as m's. It is unusable once
// m is closed.
func (m *Module) As(name string, configure func(config []byte) []byte, faulted func(*plugin.Fault, *plugin.RequestInfo)) *Module {
	other := *m
	other.Name, other.Exports, other.configure, other.Faulted = name, slices.Clone(m.Exports), configure, faulted
	other.borrows, other.borrowsImage = true, true
	return &other
}

// label is the plugin's name in metrics.
func (m *Module) label() string {
	if m.kept != nil {
		return m.kept.label
	}
	return m.Name
}

// Close frees the code, if it is its own, and the image. No instance may be left.
func (m *Module) Close() {
	// Neither has anything to report: wazero forgets the code, and the image's file is private to
	// it.
	if !m.borrows {
		_ = m.code.Close()
		m.kept.Give()
	}
	if m.image != nil && !m.borrowsImage {
		_ = m.image.close()
	}
}

// notInitialized adds a likely cause to the fault of the first call: Go builds a command, which
// begins with _start, unless it is told not to.
func (m *Module) notInitialized(err error) error {
	var fault *plugin.Fault
	if _, command := m.code.Compiled.ExportedFunctions()["_start"]; !command || m.Has(Initialize) || !errors.As(err, &fault) {
		return err
	}
	fault.Detail += "; it exports _start and not _initialize: build a plugin in Go with -buildmode=c-shared"
	return fault
}

// Describe asks for the manifest, in an instance of its own.
func (m *Module) Describe(ctx context.Context) ([]byte, error) {
	i, err := m.instantiate(ctx, m.newLoadingSession(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.Close(false) }() // its manifest has been read
	if err := i.initialize(); err != nil {
		return nil, err
	}
	if _, err := i.Call(Describe, 0, 0); err != nil {
		return nil, m.notInitialized(err)
	}
	if len(i.emitted) == 0 && len(i.refusal) > 0 {
		return nil, fmt.Errorf("%w: %s", plugin.ErrManifest, cleanText(i.refusal))
	}
	if len(i.emitted) == 0 {
		return nil, fmt.Errorf("%w: %s emitted nothing; hand the manifest to emit", plugin.ErrManifest, abi.ExportDescribe)
	}
	return bytes.Clone(i.emitted), nil
}

// Export is a function of a guest that the host calls.
type Export uint8

// The exports. Up to Template their calls are set-up, with limits of their own.
const (
	none Export = iota // instantiation
	Start
	Initialize
	Describe
	Warm
	Plan
	Open
	Messages
	Template
	Close
	Prepare
	Sample
	Accept
	Stop
	Rewind
	Filter
	Draft
	Run
	exports
)

var exportNames = [exports]string{
	none: "instantiation", Start: fuel.StartExport, Initialize: abi.ExportInitialize,
	Describe: abi.ExportDescribe, Warm: abi.ExportWarm, Plan: abi.ExportPlan, Open: abi.ExportOpen, Messages: abi.ExportMessages, Template: abi.ExportTemplate,
	Close: abi.ExportClose, Prepare: abi.ExportPrepare, Sample: abi.ExportSample, Accept: abi.ExportAccept,
	Stop: abi.ExportStop, Rewind: abi.ExportRewind, Filter: abi.ExportFilter, Draft: abi.ExportDraft, Run: abi.ExportRun,
}

// String is the export's name, as errors show it.
func (e Export) String() string {
	if e == Start {
		return "start function"
	}
	return exportNames[e]
}

// setup reports whether a call of e is set-up, with its larger limits.
func (e Export) setup() bool { return e <= Template }

// checkExports checks the exports' types, and notes which there are.
func (m *Module) checkExports() error {
	found := m.code.Compiled.ExportedFunctions()
	if _, ok := m.code.Compiled.ExportedMemories()["memory"]; !ok {
		return fmt.Errorf("%w: it exports no memory named \"memory\"", plugin.ErrExport)
	}
	for _, want := range abi.Exports {
		got, ok := found[want.Name]
		if !ok {
			continue
		}
		if have, need := typeOf(got), typeName(want.Params, want.Results); have != need {
			return fmt.Errorf("%w: %s has type %s, it must have %s", plugin.ErrExport, want.Name, have, need)
		}
		m.Exports = append(m.Exports, want.Name)
	}
	if !slices.Contains(m.Exports, abi.ExportDescribe) {
		return fmt.Errorf("%w: it does not export %s, which gives the manifest", plugin.ErrExport, abi.ExportDescribe)
	}
	for e := Start; e < exports; e++ {
		if f, ok := found[exportNames[e]]; ok {
			m.has[e], m.answers[e] = true, len(f.ResultTypes()) > 0
		}
	}
	return nil
}

// offered returns the types of all host functions, by module and name.
var offered = sync.OnceValue(func() map[string]map[string]string {
	types := map[string]map[string]string{abi.Module: {}, wasiModule: {}}
	for _, s := range abi.Imports {
		types[abi.Module][s.Name] = typeName(s.Params, s.Results)
	}
	for _, f := range wasi {
		types[wasiModule][f.name] = typeName(typeNames(wasiTypes(f.params)), typeNames(wasiTypes(f.results)))
	}
	return types
})

// checkImports looks for functions that are unknown or have another type.
func checkImports(imports []api.FunctionDefinition) error {
	offered := offered()
	for _, f := range imports {
		module, name, _ := f.Import()
		if module == fuel.ImportModule {
			continue // the rewriter's own
		}
		if module == abi.Optional {
			if err := checkOptional(f, offered[abi.Module]); err != nil {
				return err
			}
			continue
		}
		functions, ok := offered[module]
		if !ok {
			return fmt.Errorf("%w: module %q; offered are %s", plugin.ErrImport, module, strings.Join(slices.Sorted(maps.Keys(offered)), " and "))
		}
		need, ok := functions[name]
		if !ok {
			return fmt.Errorf("%w: %s.%s; see docs/abi/v1.md for what there is", plugin.ErrImport, module, name)
		}
		if have := typeOf(f); have != need {
			return fmt.Errorf("%w: %s.%s with type %s, it has %s", plugin.ErrImport, module, name, have, need)
		}
	}
	return nil
}

func typeOf(f api.FunctionDefinition) string {
	return typeName(typeNames(f.ParamTypes()), typeNames(f.ResultTypes()))
}

func typeNames(types []api.ValueType) []string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = api.ValueTypeName(t)
	}
	return list
}

func typeName(params, results []string) string {
	return "(" + strings.Join(params, " ") + ") → (" + strings.Join(results, " ") + ")"
}

// missing stands for an optional function that the host does not have. The plugin should have asked
// with feature first.
func missing(name string) rawFunction {
	return func(*Instance, []uint64) {
		panic(Violationf(plugin.CauseCall, "this host has no %s; ask feature before calling what is optional", name))
	}
}

// checkOptional checks the type of an optional import that the host has. One that it does not have
// may have any type.
func checkOptional(f api.FunctionDefinition, need map[string]string) error {
	_, name, _ := f.Import()
	if want, ok := need[name]; ok && typeOf(f) != want {
		return fmt.Errorf("%w: %s.%s with type %s, it has %s", plugin.ErrImport, abi.Optional, name, typeOf(f), want)
	}
	return nil
}
