// SPDX-License-Identifier: MIT

package load_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// reasons are why a module may be refused.
var reasons = []error{plugin.ErrNotWasm, plugin.ErrTooLarge, plugin.ErrUnsupported, plugin.ErrVersion, plugin.ErrImport, plugin.ErrExport, plugin.ErrManifest, plugin.ErrLimit}

func isReason(err error) bool {
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	for _, r := range reasons {
		if errors.Is(err, r) {
			return true
		}
	}
	return errors.As(err, &fault) && fault.Kind() != "" || errors.As(err, &refusal)
}

// A module of any bytes is refused for one of the reasons, or it is a plugin whose manifest is in
// bounds. It takes neither long nor memory that stays, and comes to the same end when its code is
// taken from the cache.
func FuzzLoader_Load(f *testing.F) {
	sample := hosttest.Plain().On(abi.ExportSample, asm.I32(-1)).On(abi.ExportStop, asm.I32(0))
	for _, g := range []*asm.Guest{hosttest.Plain(), hosttest.Warmed(), sample, asm.New(`{"name":"a","config_schema":{"type":"object","properties":{"x":{"$ref":"#"}}}}`)} {
		f.Add(g.Wasm())
	}
	little := func(o *plugin.HostOptions) { o.Limits.SetupFuel, o.Limits.Memory = 1<<20, 64<<20 }
	plain := hosttest.Open(f, load.New, little)
	f.Fuzz(func(t *testing.T, wasm []byte) {
		caching := hosttest.Open(t, load.New, little, func(o *plugin.HostOptions) { o.CacheDir = t.TempDir() })
		want := loaded(t, plain, wasm)
		for _, way := range []string{"into the cache", "from the cache"} {
			if got := loaded(t, caching, wasm); got != want {
				t.Errorf("%s: %s; without a cache: %s", way, got, want)
			}
		}
	})
}

// loaded is what comes of a module: the plugin's manifest, or why there is none.
func loaded(t *testing.T, l *load.Loader, wasm []byte) string {
	t.Helper()
	begin := time.Now()
	p, err := l.Load(context.Background(), wasm)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if err != nil {
		if p != nil || !isReason(err) {
			t.Errorf("%v and %v", p, err)
		}
		return err.Error()
	}
	if m := p.Manifest; m.Candidates < 1 || m.Candidates > abi.LimitCandidates || m.Hold < 0 || m.Hold > abi.LimitHold || p.Name != m.Name {
		t.Errorf("%s has manifest %+v", p.Name, m)
	}
	manifest, err := json.Marshal(p.Manifest)
	if err != nil {
		t.Error(err)
	}
	p.Release()
	if used, _ := l.MemoryUse(); used != 0 {
		t.Errorf("%d bytes of memory are left in use", used)
	}
	return string(manifest)
}
