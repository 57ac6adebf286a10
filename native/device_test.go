// SPDX-License-Identifier: MIT

package native

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// A device computes what the CPU computes, but for rounding: after each token of the CPU's greedy
// text, in four sequences at once, it chooses the CPU's next token, or one that is about as likely.
func TestDevice_Decode_AsTheCPU(t *testing.T) {
	if os.Getenv("PENSTOCK_TEST_GPU_LAYERS") == "" {
		t.Skip("scripts/gpu.sh runs this")
	}
	const sequences, tie = 4, 0.25 // of a log-probability
	device := loadBuiltIn(t, ModelOptions{})
	t.Setenv("PENSTOCK_TEST_GPU_LAYERS", "")
	cpu := loadBuiltIn(t, ModelOptions{})
	tokens := must.Get(cpu.Tokenize(t.Context(), greedyPrompt, TokenizeOptions{AddSpecial: true, ParseSpecial: true}))(t)
	tokens = append(tokens, generate(t, newContext(t, cpu, ContextOptions{Threads: 1}), newSampler(t, cpu, greedy()), tokens, 100)...)
	alone := newContext(t, cpu, ContextOptions{Cells: 1024, Threads: 1})
	for name, o := range map[string]ContextOptions{
		"split": {}, "shared": {Unified: true}, "split, plain attention": {FlashAttention: "off"},
	} {
		t.Run(name, func(t *testing.T) {
			o.Cells, o.Sequences, o.Threads = sequences*1024, sequences, 1
			c := newContext(t, device, o)
			must.Do(t, alone.Remove(0, -1, -1))
			near, furthest := 0, 0.0
			for i, token := range tokens {
				var one, all Batch
				one.Add(token, int32(i), 0, true)
				decode(t, alone, &one)
				for seq := range int32(sequences) {
					all.Add(token, int32(i), seq, true)
				}
				decode(t, c, &all)
				want := alone.Row(0)
				best := slices.Max(want)
				for seq := range sequences {
					row := c.Row(seq)
					for j, x := range row {
						furthest = math.Max(furthest, math.Abs(float64(x-want[j])))
					}
					if gap := best - want[greedyOf(row)]; gap > tie {
						t.Fatalf("token %d, sequence %d: the device chooses %d, which the CPU finds %.3f less likely than %d", i, seq, greedyOf(row), gap, greedyOf(want))
					} else if gap > 0 {
						near++
					}
				}
			}
			t.Logf("%d of %d choices are others, near ties; logits differ by %.3f at most", near, sequences*len(tokens), furthest)
		})
	}
}
