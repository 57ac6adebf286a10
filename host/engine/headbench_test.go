// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"os"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
)

// BenchmarkHead compares answers with the head in a model's own file and without, in turns, and the
// passes over their prompts. PENSTOCK_BENCH_HEAD names a file with one: a loop of synthgguf, whose
// head is right as often as its name says.
func BenchmarkHead(b *testing.B) {
	const most, prompt = 128, 512
	path := os.Getenv("PENSTOCK_BENCH_HEAD")
	if path == "" {
		b.Skip("PENSTOCK_BENCH_HEAD names no model")
	}
	for _, slots := range []int{1, 8} {
		var engines [2]*Engine
		for i, load := range []bool{false, true} {
			e, err := Open(b.Context(), Options{Path: path, Slots: slots, DraftRows: 32, ContextSize: slots * 1024, Model: native.ModelOptions{LoadMTP: load}})
			if err != nil {
				b.Fatal(err)
			}
			engines[i] = e
		}
		b.Run(fmt.Sprintf("streams=%d", slots), func(b *testing.B) {
			greedy := sampling.Default()
			greedy.Temperature = 0
			var decode, prefill [2]float64 // seconds
			var drafted, accepted int
			for range b.N {
				for i, e := range engines {
					var d draft.Drafter
					if h := e.HeadDrafter(nil); h != nil {
						d = h
					}
					prompts := make([][]int32, slots)
					for k := range prompts {
						for n := range prompt {
							prompts[k] = append(prompts[k], int32(64*(k+1)+n%32))
						}
					}
					took, n, right := answered(b, e.Backend(), d, prompts, most, func() []chain.Stage {
						stages, err := e.NewChain(greedy)
						if err != nil {
							b.Fatal(err)
						}
						return stages
					})
					decode[i] += took.Seconds()
					drafted, accepted = drafted+n, accepted+right
					began := b.Elapsed()
					for k := range slots {
						feed(b, e.Backend(), int32(k), 0, prompts[k]...)
					}
					prefill[i] += (b.Elapsed() - began).Seconds()
					for k := range slots {
						e.Backend().Truncate(int32(k), 0)
					}
				}
			}
			b.ReportMetric(float64(b.N*slots*(most-1))/decode[0], "tokens/s")
			b.ReportMetric(decode[0]/decode[1], "times-as-fast")
			b.ReportMetric(prefill[0]/prefill[1], "times-as-fast-prefill")
			b.ReportMetric(float64(drafted)/float64(b.N*slots), "drafted")
			b.ReportMetric(float64(accepted)/float64(b.N*slots), "accepted")
		})
		for _, e := range engines {
			if err := e.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
