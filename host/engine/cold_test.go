// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/host/diskcache"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// A conversation that is read from the disk after a restart goes on as if it had been computed, in
// models of each kind of memory.
func TestEngine_Cold_GoesOnAfterARestart(t *testing.T) {
	for _, kind := range append([]string{"llama-moe"}, uncuttable...) {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			e := openedSmall(t, kind, Options{Slots: 2, ContextSize: 1024})
			prompt, other := letters(220, 3), letters(20, 9)
			for _, tokens := range [][]int32{prompt, other} {
				for i := range tokens {
					tokens[i] %= 128 // the smallest vocabulary
				}
			}
			for _, next := range []struct {
				tokens []int32
				least  int // tokens that are found in the second process
			}{{prompt, 200}, {append(slices.Clone(prompt[:218]), other...), 200}} {
				run := func(cold bool) (answer []int32, computed int) {
					var disk *diskcache.Store
					// On a clock that stands still, checkpoints do not depend on how long passes take.
					start := time.Now()
					c := scheduler.Config{Slots: 2, Clock: func() time.Time { return start }, LeastCold: 32, Checkpoints: kvcache.CheckpointOptions{Most: 8, MinStep: 128, Bytes: 1 << 26}}
					if cold {
						var err error
						if disk, err = diskcache.Open(diskcache.Options{Dir: dir, Bytes: 1 << 30, Log: slog.New(slog.DiscardHandler)}); err != nil {
							t.Fatal(err)
						}
						identity := must.Get(e.StateIdentity())(t)
						tier := disk.Tier(identity, e)
						c.Cold = patientCold{tier}
						<-disk.Known()
					}
					passes := &tokenCounter{backend: e.backend}
					s := must.Get(scheduler.New(passes, c))(t)
					w := ticked{t, e, s, passes}
					answer = w.answer(w.begin(next.tokens, 10), nil, 10)
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					_ = s.Run(ctx) // it frees what it holds
					for seq := range e.backend.limits.Sequences {
						e.backend.Truncate(int32(seq), 0)
					}
					if disk != nil {
						must.Do(t, disk.Close())
					}
					return answer, passes.tokens
				}
				want, _ := run(false)
				run(true)
				got, computed := run(true)
				if found := len(next.tokens) + 9 - computed; !slices.Equal(got, want) || found < next.least {
					t.Errorf("%v with %d tokens found, want %v", got, found, want)
				}
			}
		})
	}
}

// patientCold says of each conversation that it is read at once, and took a long time to compute.
type patientCold struct{ kvcache.Cold }

func (c patientCold) Find(digests []kvcache.Digest, scope kvcache.Scope) (kvcache.Stored, bool) {
	found, ok := c.Cold.Find(digests, scope)
	found.Reading, found.Computing = time.Second, 1000*time.Hour
	return found, ok
}
