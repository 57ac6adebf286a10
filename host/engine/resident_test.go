// SPDX-License-Identifier: MIT

//go:build linux

package engine

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler"
)

// resident is how much memory the process has, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * int64(os.Getpagesize())
}

// TestScheduler_Archive_TakesWhatItMay: many short requests pass through a full archive, and the process has not grown by more than
// its bound and a little.
func TestScheduler_Archive_TakesWhatItMay(t *testing.T) {
	const budget = 12 << 20
	e := opened(t, Options{Slots: 2, ContextSize: 1024})
	grown := map[int64]int64{}
	for _, bytes := range []int64{0, budget} {
		s, err := scheduler.New(e.Backend(), scheduler.Config{Slots: 2, ArchiveBytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = s.Run(ctx) }()
		debug.FreeOSMemory()
		before := resident(t)
		for i := range 160 {
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
	t.Logf("160 requests of 300 tokens: %.1f MiB more without, %.1f MiB with an archive of %d MiB", float64(grown[0])/(1<<20), float64(grown[budget])/(1<<20), budget>>20)
	if grown[budget] < budget/2 {
		t.Error("the archive was not full")
	}
	if grown[budget] > budget*3/2 { // the first run has touched what does not depend on it
		t.Errorf("it has grown by %d bytes", grown[budget])
	}
}
