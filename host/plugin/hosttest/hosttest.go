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

// FewWords are the first 60 of Words: a plugin may want more.
type FewWords struct{ Words }

// Size implements plugin.Vocabulary.
func (FewWords) Size() int { return 60 }
