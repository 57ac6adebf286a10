// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/plugins/abi"
)

// Module is a plugin's compiled module for one model, which instances are made from. It is safe for
// concurrent use once Warm is done.
type Module struct {
	Name    string   // of the plugin; "unnamed" until its manifest is read
	Exports []string // those of the ABI that it has and that the host calls
	Env     *Environment
	Did     []plugin.Deed // what it did when it was warmed for its image, up to 1 MiB
	Hold    int           // how many tokens an instance may take back at most
	// WarmFuel is what its penstock_warm used of its fuel when the module was warmed; 0: it has none.
	WarmFuel int64
	Planned  []plugin.Deed // what it did in its penstock_plan, up to 1 MiB
	PlanFuel int64         // what its penstock_plan used; 0: it is no plan
	PlanLog  []string      // the last lines that its penstock_plan logged, the beginning of each

	// Shares is whether the memory of instances counts by client, who may have half of what others
	// leave. Who brings scripts or modules chooses what they take.
	Shares bool

	// Faulted hears of each fault in a request but that of a cancelled call. Nil: nobody does.
	Faulted func(*plugin.Fault, *plugin.RequestInfo)

	code    *compile.Code
	has     [exports]bool
	answers [exports]bool // the export has a result
	image   *image        // nil: every instance is initialised and warmed on its own
	borrows bool          // the code is another Module's to close
	// configure makes what an instance is told as its configuration of a request's; nil: it is that.
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

// CallOnly has the host call, of the module's exports, only those of a list, and those that a
// module cannot do without.
func (m *Module) CallOnly(list []string) {
	m.Exports = slices.DeleteFunc(m.Exports, func(name string) bool { return !slices.Contains(always, name) && !slices.Contains(list, name) })
	for e := Warm; e < exports; e++ {
		m.has[e] = m.has[e] && slices.Contains(m.Exports, exportNames[e])
	}
}

// always are the exports that no list takes out.
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

// For is the module for the model of another host, with the same code, to be warmed for it. It is
// of no use once m is closed.
func (m *Module) For(h *Environment) *Module {
	other := *m
	other.Env, other.Did, other.WarmFuel, other.image, other.borrows = h, nil, 0, nil, true
	return &other
}

// As is the module of a plugin that is m with a part of its configuration fixed: configure makes an
// instance's configuration of a request's. Instances begin as m's. It is of no use once m is
// closed.
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

// notInitialized adds to the fault of the first call what it may come from: Go builds a command,
// which begins with _start, unless it is told not to.
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
	i, err := m.instantiate(ctx, m.loading(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.Close(false) }() // nothing of it is needed any more
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
