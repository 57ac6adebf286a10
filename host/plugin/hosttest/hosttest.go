// SPDX-License-Identifier: MIT

// Package hosttest has what tests need to run guests: a vocabulary, limits that hold on a busy
// machine too, guests, and the loading of them.
package hosttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// Options are those of a host with Words and with time for machines under load, changed as a test
// wants them.
func Options(change ...func(*plugin.HostOptions)) plugin.HostOptions {
	o := plugin.HostOptions{ModelOptions: plugin.ModelOptions{Vocabulary: Words{}}, Limits: plugin.DefaultLimits()}
	o.Limits.Compile, o.Limits.Upload = time.Hour, time.Hour
	o.Limits.HookTime, o.Limits.SetupTime, o.Limits.LoadTime, o.Limits.PlanTime = time.Hour, time.Hour, time.Hour, time.Hour
	for _, c := range change {
		c(&o)
	}
	return o
}

// Tireless gives guests fuel for hours.
func Tireless(o *plugin.HostOptions) {
	o.Limits.SetupFuel, o.Limits.HookFuel, o.Limits.PlanFuel = 1<<45, 1<<45, 1<<45
}

// Open opens a loader with Options; open is load.New. It is closed when the test ends, and then
// nobody may use a plugin any more. Package load is not imported here, since it imports package
// guest, whose tests use this package, too.
func Open[Loader interface{ Close(context.Context) error }](
	t testing.TB, open func(plugin.HostOptions) Loader, change ...func(*plugin.HostOptions),
) Loader {
	t.Helper()
	l := open(Options(change...))
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Words is a vocabulary of 100 tokens: token n is "n ", 0 is control and ends an answer.
type Words struct{}

// Size implements plugin.Vocabulary.
func (Words) Size() int { return 100 }

// Piece implements plugin.Vocabulary.
func (Words) Piece(t int32) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf("%d ", t)
}

// Attributes implements plugin.Vocabulary.
func (Words) Attributes(t int32) uint32 {
	if t == 0 {
		return abi.AttrControl | abi.AttrEnd
	}
	return 0
}

// Special implements plugin.Vocabulary.
func (Words) Special(kind int32) int32 {
	if kind == abi.SpecialEOS {
		return 0
	}
	return -1
}

// Tokenize implements plugin.Vocabulary.
func (Words) Tokenize(text string, _, _ bool) ([]int32, error) {
	var tokens []int32
	for _, w := range strings.Fields(text) {
		var n int32
		if _, err := fmt.Sscan(w, &n); err != nil {
			return nil, errors.New("not a number: " + w)
		}
		tokens = append(tokens, n)
	}
	return tokens, nil
}

// MustFault checks that err is a fault of an export with a cause, and that its text has a detail.
func MustFault(t *testing.T, err error, export string, cause error, detail string) {
	t.Helper()
	var f *plugin.Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a fault", err)
	}
	if f.Export != export || !errors.Is(err, cause) || f.Plugin != "guest" || f.Kind() == "" {
		t.Errorf("got %q in %q (%q, kind %q), want %q in %q", f.Cause, f.Export, f.Plugin, f.Kind(), cause, export)
	}
	if !strings.Contains(plugin.Told(err), detail) {
		t.Errorf("got %q, want it to have %q", plugin.Told(err), detail)
	}
}

// FewWords are the first 60 of Words, for plugins that want more.
type FewWords struct{ Words }

// Size implements plugin.Vocabulary.
func (FewWords) Size() int { return 60 }

// Where the guests of tests keep things.
const (
	AtManifest = 8
	AtScratch  = 4096
	AtBuffer   = 8192
)

// Plain is a guest with a name and nothing else in its manifest.
func Plain() *asm.Guest { return asm.New(`{"name":"guest"}`) }

// Warmed counts its initialisations and warm-ups in a global and in memory, and shows them at
// AtScratch in open.
func Warmed() *asm.Guest {
	g := Plain()
	g.Globals = 1
	g.On(abi.ExportInitialize, asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0))
	g.On(abi.ExportWarm, asm.Global(0), asm.I32(10), asm.Add, asm.SetGlobal(0), asm.Poke(3<<16, 77), asm.I32(1), asm.GrowMemory, asm.Drop,
		asm.Poke(4<<16+8, 78), asm.I32(0))
	return g.On(abi.ExportOpen, asm.I32(AtScratch), asm.Global(0), asm.Store, asm.I32(0))
}

// Built is a module that was built from source.
type Built []byte

// Wasm returns the module, as that of an asm.Guest does.
func (b Built) Wasm() []byte { return b }

// Load loads a guest as a plugin, and releases it when the test ends.
func Load[Plugin interface{ Release() }](t testing.TB, l interface {
	Load(ctx context.Context, wasm []byte) (Plugin, error)
}, g interface{ Wasm() []byte }) Plugin {
	t.Helper()
	p, err := l.Load(context.Background(), g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}
