// SPDX-License-Identifier: MIT

// Package loadtest loads guests of tests as plugins.
package loadtest

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/asm"
)

// New is a loader of a host of package hosttest. It is closed when the test ends, and then nobody
// may use a plugin any more.
func New(t testing.TB, change ...func(*plugin.HostOptions)) *load.Loader {
	t.Helper()
	l := load.New(hosttest.Options(change...))
	t.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Load loads a guest, and releases it when the test ends.
func Load(t testing.TB, l *load.Loader, g *asm.Guest) *load.Plugin {
	t.Helper()
	p, err := l.Load(context.Background(), g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}
