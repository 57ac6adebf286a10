// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/asm"
)

// FuzzNew checks that no module takes the host down, whatever its bytes: what loads is run as a
// stage.
func FuzzNew(f *testing.F) {
	for _, g := range []*asm.Guest{hosttest.Plain(), hosttest.Warmed(), candidates(), counting(true), echoing(), accepting(splice(1, 2), i32(2))} {
		f.Add(g.Wasm())
	}
	r := hosttest.Open(f, load.New, func(o *plugin.HostOptions) { o.Limits.SetupFuel = 1 << 20 })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := r.Load(context.Background(), wasm)
		if err != nil {
			return
		}
		defer m.Release()
		s, err := New(m, plugin.RequestInfo{})
		if err != nil {
			return
		}
		if s.Reset([]int32{1, 2}, 1) == nil { // errors are the guest's, and fine
			_, _ = s.Prepare()
			_ = s.Apply(raw(ramp()))
			_, _ = s.Accept(3)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
