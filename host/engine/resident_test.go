// SPDX-License-Identifier: MIT

//go:build linux

package engine

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// resident is how much memory the process has written to and not freed, in bytes, be it in RAM or
// swapped out.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	native.ReturnMemory()
	status := must.Get(os.ReadFile("/proc/self/status"))(t)
	var sum int64
	for _, name := range []string{"RssAnon", "VmSwap"} {
		_, line, _ := strings.Cut(string(status), name+":")
		var kib int64
		if _, err := fmt.Sscanf(line, "%d kB", &kib); err != nil {
			t.Fatalf("%s: %v in %s", name, err, status)
		}
		sum += kib << 10
	}
	return sum
}

// TestScheduler_Archive_TakesWhatItMay: many short requests pass through a full archive, and the
// process has not grown by more than its bound and a little.
func TestScheduler_Archive_TakesWhatItMay(t *testing.T) {
	const budget = 8 << 20
	e := opened(t, Options{Slots: 2, ContextSize: 1024})
	grown := map[int64]int64{}
	requests := map[int64]int{0: 20, budget: 80} // the former for what a first run touches
	for _, bytes := range []int64{0, budget} {
		s := must.Get(scheduler.New(e.Backend(), scheduler.Config{Slots: 2, ArchiveBytes: bytes}))(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Run(ctx) }()
		before := resident(t)
		for i := range requests[bytes] {
			collect(t, submitTokens(t, e, s, story(300, int32(i)), 1))
		}
		grown[bytes] = resident(t) - before
		stop()
		<-done
		for i := range int32(2) {
			e.Backend().Truncate(i, 0)
		}
	}
	runtime.KeepAlive(e)
	t.Logf("requests of 300 tokens: %.1f MiB more without, %.1f MiB with an archive of %d MiB", float64(grown[0])/(1<<20), float64(grown[budget])/(1<<20), budget>>20)
	if grown[budget] < budget/2 {
		t.Error("the archive was not full")
	}
	if grown[budget] > budget*3/2 { // the first run has touched what does not depend on it
		t.Errorf("it has grown by %d bytes", grown[budget])
	}
}
