// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
)

// BenchmarkHead compares answers with the head in a model's own file and without, in turns, and the
// passes over their prompts, by one thread's processor time. It tells what a guessed token and a
// second row take, of a pass with one row. PENSTOCK_BENCH_HEAD names a file with a head: a loop of
// synthgguf, whose head is right as often as it was told. If PENSTOCK_BENCH_HEAD_FILE names one, it
// is in that.
func BenchmarkHead(b *testing.B) {
	path := os.Getenv("PENSTOCK_BENCH_HEAD")
	if path == "" {
		b.Skip("PENSTOCK_BENCH_HEAD names no model")
	}
	for _, slots := range []int{1, 8} {
		b.Run(fmt.Sprintf("streams=%d", slots), func(b *testing.B) {
			var engines [2]*Engine
			for i, load := range []bool{false, true} {
				e, err := Open(b.Context(), Options{
					Path: path, Slots: slots, Threads: 1, DraftRows: 32, ContextSize: slots * 512, Model: native.ModelOptions{LoadMTP: load, Head: os.Getenv("PENSTOCK_BENCH_HEAD_FILE")},
				})
				if err != nil {
					b.Fatal(err)
				}
				defer e.Close() //nolint:errcheck // nothing depends on it
				engines[i] = e
			}
			compareHeads(b, engines, slots)
			reportSteps(b, engines[1])
		})
	}
}

// compareHeads has engines without and with a head answer in turns.
func compareHeads(b *testing.B, engines [2]*Engine, slots int) {
	const most, prompt = 320, 64
	greedy := sampling.Default()
	greedy.Temperature = 0
	prompts := make([][]int32, slots)
	for k := range prompts {
		for n := range prompt {
			prompts[k] = append(prompts[k], int32(64*(k+1)+n%32))
		}
	}
	var decode, prefill [2]time.Duration
	var drafted, accepted int
	for range b.N {
		for i, e := range engines {
			var d draft.Drafter
			if h := e.HeadDrafter(nil); h != nil {
				d = h
			}
			took, n, right := answered(b, e.Backend(), d, prompts, most, func() []chain.Stage {
				stages, err := e.NewChain(greedy)
				if err != nil {
					b.Fatal(err)
				}
				return stages
			})
			decode[i], drafted, accepted = decode[i]+took, drafted+n, accepted+right
			began := processorTime()
			for k := range slots {
				feed(b, e.Backend(), int32(k), 0, prompts[k]...)
			}
			prefill[i] += processorTime().Sub(began)
			for k := range slots {
				e.Backend().Truncate(int32(k), 0)
			}
		}
	}
	b.ReportMetric(decode[0].Seconds()/decode[1].Seconds(), "times-as-fast")
	b.ReportMetric(prefill[0].Seconds()/prefill[1].Seconds(), "times-as-fast-prefill")
	b.ReportMetric(float64(drafted)/float64(b.N*slots), "drafted")
	b.ReportMetric(float64(accepted)/float64(b.N*slots), "accepted")
}

// reportSteps tells what a step takes at least: of several runs, since something else may disturb
// one.
func reportSteps(b *testing.B, e *Engine) {
	d, at := e.HeadDrafter(nil), 1
	feed(b, e.Backend(), 0, 0, 64)
	least := [3]time.Duration{time.Hour, time.Hour, time.Hour}
	for range 12 {
		ask := &draft.Ask{Position: at, Context: []int32{64 + int32(at)%32}, Most: 1, Within: time.Hour}
		for i, step := range []func(){
			func() { feed(b, e.Backend(), 0, at, ask.Context...); at++ },
			func() {
				var batch scheduler.Batch
				for k := range 2 {
					batch.Add(64+int32(at+k)%32, int32(at+k), 0, true)
				}
				pass(b, e.Backend(), &batch)
				at += 2
			},
			func() { ask.Position = at; d.Draft([]*draft.Ask{ask}) },
		} {
			began := processorTime()
			step()
			least[i] = min(least[i], processorTime().Sub(began))
		}
	}
	b.ReportMetric(least[1].Seconds()/least[0].Seconds()-1, "row")
	b.ReportMetric(least[2].Seconds()/least[0].Seconds(), "guess")
}
