// SPDX-License-Identifier: MIT

package media

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/penstock/penstock/host/media/mediatest"
	"github.com/penstock/penstock/tools/must"
)

// A picture that takes long to decode lets another caller's small one go first.
func TestLoader_Load_RestsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLoader(bounds)
		l.workers = newGate(1, 1)
		l.workers.turn = 0 // no time passes here while something computes
		busy := must.Get(l.workers.enter(t.Context(), "zero", 1))(t)
		var mu sync.Mutex
		var order []string
		for _, f := range []struct {
			caller string
			data   []byte
		}{{"one", mediatest.Scans(800, 800, 20)}, {"one", mediatest.Scans(800, 800, 20)}, {"two", pngOf(t, 64, 64)}} {
			go func() {
				_, release, err := l.Load(t.Context(), f.caller, []Part{{Field: "f", Kind: Image, Source: FrameScheme + "1"}}, all, "m", func(string) []byte { return f.data })
				if err != nil {
					t.Error(err)
					return
				}
				release()
				mu.Lock()
				defer mu.Unlock()
				order = append(order, f.caller)
			}()
			synctest.Wait()
		}
		busy.leave()
		synctest.Wait()
		if want := []string{"two", "one", "one"}; !slices.Equal(order, want) {
			t.Errorf("%v are done; want %v", order, want)
		}
	})
}
