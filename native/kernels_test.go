// SPDX-License-Identifier: MIT

package native

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// synthetic loads a random model of a shape, with the built-in model's vocabulary.
func synthetic(t testing.TB, s synth.Shape, weights synth.Quant) *Model {
	t.Helper()
	return load(t, syntheticFile(t, s, weights), ModelOptions{})
}

// syntheticFile writes such a model.
func syntheticFile(t testing.TB, s synth.Shape, weights synth.Quant) string {
	t.Helper()
	var file bytes.Buffer
	must.Do(t, synth.Write(&file, s, builtIn, weights, 1))
	path := filepath.Join(t.TempDir(), "model.gguf")
	must.Do(t, os.WriteFile(path, file.Bytes(), 0o600))
	return path
}

// needKernels skips a test of Penstock's kernels in a build without them.
func needKernels(t *testing.T) {
	t.Helper()
	if !HasOwnKernels() {
		t.Skip("SKIPPED: this build was made with PENSTOCK_KERNELS=OFF")
	}
}

// logitsOf decodes a random schedule, the same for the same seed: every pass some sequences get
// from one to 80 tokens.
func logitsOf(t *testing.T, m *Model, o ContextOptions) []float32 {
	t.Helper()
	c := newContext(t, m, o)
	random := rand.New(rand.NewPCG(7, 7))
	next := make([]int32, o.Sequences)
	var all []float32
	for range 12 {
		var batch Batch
		for s := range next {
			n := []int{0, 1, 1, 3, 16, 30, 80}[random.IntN(7)]
			for range min(n, 300-int(next[s])) {
				batch.Add(int32(10+random.IntN(500)), next[s], int32(s), true)
				next[s]++
			}
		}
		if len(batch.Tokens) == 0 {
			continue
		}
		must.Do(t, c.Decode(&batch))
		for i := range c.Rows() {
			all = append(all, c.Row(i)...)
		}
	}
	return all
}

// chosenLogitsOf does so with the kernels of Penstock's order, or of ggml's; the model was loaded
// with the same.
func chosenLogitsOf(t *testing.T, m *Model, o ContextOptions, own bool) []float32 {
	t.Helper()
	useOwnKernels(own)
	defer useOwnKernels(true)
	return logitsOf(t, m, o)
}

// relative is the length of a-b by the length of b.
func relative(a, b []float32) float64 {
	var difference, length float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		difference += d * d
		length += float64(b[i]) * float64(b[i])
	}
	return math.Sqrt(difference / length)
}

// Penstock's kernels and ggml's are compared with attention in plain steps and 32 bits. The error
// of either is mostly that of the matrices' inputs, which are rounded to 8 bits.
func TestOwnKernels_AsExactAsGGML(t *testing.T) {
	needKernels(t)
	type kind struct {
		synth.Shape
		weights synth.Quant
		name    string
	}
	var kinds []kind
	for _, shape := range []synth.Shape{
		{Name: "three heads a key", Dim: 192, Layers: 3, Heads: 3, KVHeads: 1, FFN: 256, Context: 2048},
		{Name: "wide heads of their own", Dim: 512, Layers: 2, Heads: 4, KVHeads: 4, FFN: 256, Context: 2048},
		{Name: "odd widths", Dim: 288, Layers: 2, Heads: 6, KVHeads: 2, FFN: 416, Context: 2048},
	} {
		kinds = append(kinds, kind{shape, synth.Q80, "Q8_0"}, kind{shape, synth.Q40, "Q4_0"})
	}
	for _, k := range steadytest.Some(t, kinds, 2) {
		models := map[bool]*Model{true: synthetic(t, k.Shape, k.weights)}
		useOwnKernels(false)
		models[false] = synthetic(t, k.Shape, k.weights)
		o := ContextOptions{Cells: 1536, Batch: 512, Sequences: 3, Rows: 512, TypeK: "f32", TypeV: "f32", FlashAttention: "off"}
		exact := chosenLogitsOf(t, models[false], o, false)
		for _, kv := range []string{"f16", "f32", "q8_0"} {
			if kv == "q8_0" && k.Dim/k.Heads%32 != 0 {
				continue // llama.cpp has no such cache
			}
			for threads, unified := range map[int]bool{1: false, 3: true} {
				if threads == 1 && k.Heads != 3 && !steadytest.Long() {
					continue // one shape shows cells of their own, for each type
				}
				t.Run(fmt.Sprintf("%s/%s/%s/unified=%t", k.Name, k.name, kv, unified), func(t *testing.T) {
					o.TypeK, o.TypeV, o.FlashAttention, o.Threads, o.Unified = kv, kv, "on", threads, unified
					ggml, got := chosenLogitsOf(t, models[false], o, false), chosenLogitsOf(t, models[true], o, true)
					if slices.Equal(got, ggml) {
						t.Fatal("every bit is the same: the kernels were not used")
					}
					if ours, theirs := relative(got, exact), relative(ggml, exact); !(ours < 1.2*theirs) || theirs > 0.1 {
						t.Errorf("logits are off by %.2g of their length, those of ggml's kernels by %.2g", ours, theirs)
					}
				})
			}
		}
	}
}

// Whether each sequence has cells of its own, or shares a buffer with others between its cells: a
// token's sums have the same order, and cells that it does not see are not read. Products have to
// be ours, too: others depend on how many rows a pass has.
func TestOwnKernels_Layout_SameBits(t *testing.T) {
	ownProducts(t)
	useOnly(t, PenstockKernels)
	m := synthetic(t, synth.Shape{Name: "two heads a key", Dim: 256, Layers: 2, Heads: 4, KVHeads: 2, FFN: 256, Context: 2048}, synth.Q40)
	o := ContextOptions{Cells: 1536, Batch: 512, Sequences: 4, Rows: 512, FlashAttention: "on", Threads: 2}
	split := logitsOf(t, m, o)
	o.Unified = true
	if !slices.Equal(split, logitsOf(t, m, o)) {
		t.Error("shared cells give other logits")
	}
}

func TestModel_TokensAtOnce(t *testing.T) {
	m := load(t, builtIn, ModelOptions{})
	if n := m.TokensAtOnce(); n != 1 && n != 4 {
		t.Errorf("%d with our kernels", n)
	}
	UseKernels(KernelSet{}) // without AMX, too
	defer useOwnKernels(true)
	if n := load(t, builtIn, ModelOptions{}).TokensAtOnce(); n != 4 {
		t.Errorf("%d with ggml's kernels", n)
	}
}

// Sequences with a common prefix differ by one cell in their first pass, and none may be computed
// as if it were the next token of another. A different rounding seldom shows after inputs of 8
// bits, so there are many rounds.
func TestOwnKernels_CommonBeginning_SameBits(t *testing.T) {
	ownProducts(t)
	useOnly(t, PenstockKernels)
	const sequences, begin = 3, 63
	m := synthetic(t, synth.Shape{Name: "two heads a key", Dim: 256, Layers: 2, Heads: 4, KVHeads: 2, FFN: 256, Context: 2048}, synth.Q80)
	var want [][]float32
	for _, unified := range []bool{false, true} {
		c := newContext(t, m, ContextOptions{Cells: 768, Sequences: sequences, FlashAttention: "on", Threads: 2, Unified: unified})
		decode := func(batch *Batch) {
			must.Do(t, c.Decode(batch))
		}
		var first Batch
		for i := range begin {
			first.Add(int32(10+i), int32(i), 0, i == begin-1)
		}
		decode(&first)
		for s := int32(1); s < sequences; s++ {
			must.Do(t, c.Share(0, s, begin))
		}
		for round := range 300 {
			var batch Batch
			for s := range int32(sequences) {
				batch.Add(100+int32(round)+s, begin, s, true)
			}
			decode(&batch)
			var got []float32
			for s := range sequences {
				got = append(got, c.Row(s)...)
				must.Do(t, c.Remove(int32(s), begin, -1))
			}
			if !unified {
				want = append(want, got)
			} else if !slices.Equal(got, want[round]) {
				t.Fatalf("round %d: shared cells give other logits", round)
			}
		}
	}
}

// A chunk of a prompt after a number of cells, as the scheduler computes prompts together with
// other streams.
func BenchmarkContext_Chunk(b *testing.B) {
	for _, own := range []bool{false, true} {
		useOwnKernels(own)
		m := benchModel(b)
		for _, depth := range []int{0, 768, 1536} {
			for _, n := range []int{4, 8, 16, 32, 64, 128, 512} {
				b.Run(map[bool]string{false: "ggml", true: "own"}[own]+"/"+strconv.Itoa(depth)+"/"+strconv.Itoa(n), func(b *testing.B) {
					useOwnKernels(own)
					defer useOwnKernels(true)
					c := newContext(b, m, ContextOptions{Cells: 2304, Sequences: 1, Threads: benchNumber("THREADS"), Poll: benchNumber("POLL")})
					chunk := func(from, n int) {
						var batch Batch
						for i := range n {
							batch.Add(int32(100+i), int32(from+i), 0, i == n-1)
						}
						must.Do(b, c.Decode(&batch))
					}
					if depth > 0 {
						chunk(0, depth)
					}
					for b.Loop() {
						chunk(depth, n)
						must.Do(b, c.Remove(0, depth, -1))
					}
					b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N*n), "ms/token")
				})
			}
		}
	}
}

// operation finds an operation by its name.
func operation(t testing.TB, name string) Operation {
	t.Helper()
	for o := range Attention + 1 {
		if strings.EqualFold(o.String(), name) {
			return o
		}
	}
	t.Fatalf("there is no operation %q", name)
	return 0
}

// Who would compute what on an imaginary CPU with AMX.
func TestKernelChoice_OrderWithAMX(t *testing.T) {
	has := map[Family][]string{
		PenstockKernels: {"q4_0", "q8_0", "q4_K", "q5_0", "attention"},
		AMXKernels:      {"q4_0", "q4_1", "q8_0", "q4_K", "q5_K", "q6_K", "iq4_xs"},
		RepackKernels:   {"q4_0", "q4_K"},
	}
	known := func(k Kernel) bool {
		return k.Family == PlainKernels || slices.Contains(has[k.Family], k.Operation.String())
	}
	for _, c := range []struct {
		choice    KernelChoice
		operation string
		broken    []Family
		want      []Family // allowed
	}{
		{ChoosePenstock, "q4_0", nil, []Family{PenstockKernels, RepackKernels}},
		{ChoosePenstock, "q8_0", nil, []Family{PenstockKernels}},
		{ChoosePenstock, "q4_K", nil, []Family{AMXKernels, RepackKernels}},
		{ChoosePenstock, "q6_K", nil, []Family{AMXKernels}},
		{ChoosePenstock, "q4_K", []Family{AMXKernels}, []Family{PenstockKernels, RepackKernels}},
		{ChoosePenstock, "q5_0", nil, []Family{PenstockKernels}},
		{ChoosePenstock, "q5_1", nil, nil},
		{ChoosePenstock, "attention", nil, []Family{PenstockKernels}},
		{ChoosePenstock, "q8_0", []Family{PenstockKernels}, []Family{AMXKernels}},
		{ChoosePenstock, "q8_0", []Family{PenstockKernels, AMXKernels}, nil},
		{ChoosePenstock, "q4_0", []Family{RepackKernels}, []Family{PenstockKernels}},
		{ChooseAMX, "q8_0", nil, []Family{AMXKernels}},
		{ChooseAMX, "attention", nil, []Family{PenstockKernels}},
		{ChooseGGML, "q4_0", nil, []Family{AMXKernels, RepackKernels}},
		{ChooseGGML, "attention", nil, nil},
		{ChoosePlain, "q4_0", nil, nil},
	} {
		o := operation(t, c.operation)
		var broken []Kernel
		for _, f := range c.broken {
			broken = append(broken, Kernel{f, o})
		}
		set := allowed(c.choice, "AVX-512 VNNI", known, broken)
		var got []Family
		for f := range Family(choices) {
			if set.Allows(Kernel{f, o}) {
				got = append(got, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s, broken %v: allowed are %v, want %v", c.choice, c.operation, c.broken, got, c.want)
		}
	}
}

// With instructions that Penstock's products were not measured with, ggml's compute them.
func TestKernelChoice_NotMeasured(t *testing.T) {
	all := func(k Kernel) bool { return k.Family == PenstockKernels || k.Operation != Attention }
	for _, choice := range []KernelChoice{ChoosePenstock, ChooseAMX} {
		set := allowed(choice, "NEON", all, nil)
		if q := operation(t, "q4_K"); set.Allows(Kernel{PenstockKernels, q}) || !set.Allows(Kernel{AMXKernels, q}) {
			t.Errorf("%s: allowed for q4_K are %v", choice, set)
		}
		if !set.Allows(Kernel{PenstockKernels, Attention}) {
			t.Errorf("%s: attention is not Penstock's", choice)
		}
	}
}

// Every kernel of this CPU passes the check, and none with an injected fault.
func TestCheckKernel(t *testing.T) {
	t.Cleanup(func() { UseKernels(ChoosePenstock.Without()) })
	var tried int
	for f := range Family(choices) {
		for o := range Attention + 1 {
			k := Kernel{f, o}
			if !k.Known() {
				continue
			}
			tried++
			if err := CheckKernel(k); err != nil {
				t.Errorf("%v: %v", k, err)
			}
			InjectFault(InjectedFault{k, WrongResult})
			err := CheckKernel(k)
			InjectFault(InjectedFault{k, NoFault})
			if err == nil || !strings.Contains(err.Error(), "with 1 rows") {
				t.Errorf("%v with a wrong result: %v", k, err)
			}
		}
	}
	if tried == 0 {
		t.Error("there is no kernel but the plain ones; attention should be one everywhere")
	}
	if err := CheckKernel(Kernel{PenstockKernels, operation(t, "q3_K")}); err == nil {
		t.Error("a kernel that is not there passed")
	}
}

// The choice of kernels does not change during a load or a pass: changing it waits. Threads of one
// pass that disagree would wait for each other for ever, or read what was not written.
func TestUseKernels_WhilePassesRun(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{})
	c := newContext(t, m, ContextOptions{Cells: 512, Sequences: 1, Threads: 2, FlashAttention: "on"})
	done := make(chan error, 1)
	go func() {
		var failed error
		for round := 0; round < 200 && failed == nil; round++ {
			var b Batch
			for i := range 24 {
				b.Add(int32(10+i), int32(i), 0, i == 23)
			}
			if failed = c.Decode(&b); failed == nil {
				failed = c.Remove(0, 0, -1)
			}
		}
		done <- failed
	}()
	defer useOwnKernels(true)
	for on := false; ; on = !on {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			useOwnKernels(on)
		}
	}
}

func TestModel_Weights(t *testing.T) {
	for _, c := range []struct {
		choice KernelChoice
		want   string
	}{{ChoosePenstock, ChoosePenstock.Order(operation(t, "q8_0"))[0].Family.String()}, {ChoosePlain, "ggml"}} {
		UseKernels(c.choice.Without())
		m := loadBuiltIn(t, ModelOptions{})
		got, err := m.Weights()
		if err != nil || len(got) != 1 || got[0].Type.String() != "q8_0" || got[0].Kernels != c.want || got[0].Bytes < 1<<20 {
			t.Errorf("%s: %+v, %v; want all in q8_0 by %s", c.choice, got, err, c.want)
		}
	}
	UseKernels(ChoosePenstock.Without())
	if AttentionKernels() != "" {
		t.Errorf("%s before any pass", AttentionKernels())
	}
	c := newContext(t, loadBuiltIn(t, ModelOptions{}), ContextOptions{Cells: 64, FlashAttention: "on"})
	var b Batch
	b.Add(1, 0, 0, true)
	want := ChoosePenstock.Order(Attention)[0].Family.String() // ggml's in a build with PENSTOCK_KERNELS=OFF
	if err := c.Decode(&b); err != nil || AttentionKernels() != want {
		t.Errorf("attention by %q, want %q: %v", AttentionKernels(), want, err)
	}
}

// On a CPU where ggml prefers AMX to all others, weights are laid out for AMX only where AMX is
// allowed, and the report of who computes says so. The CPU is imaginary: a process with a buffer
// type of that name.
func TestKernels_WhereAMXIsFirst(t *testing.T) {
	ggml := filepath.Join(llamaSource(t), "ggml")
	binary := filepath.Join(t.TempDir(), "amx")
	flags := []string{"-std=c++17", "-O1", "-Illama.cpp/shim", "-I" + ggml + "/include", "-I" + ggml + "/src", "-I" + ggml + "/src/ggml-cpu",
		"testdata/amx.cpp", "-o", binary, "-L../build/llama.cpp/out/lib", "-lpenstock_llama", "-lpthread"}
	compile := exec.CommandContext(t.Context(), cmp.Or(os.Getenv("CXX"), "c++"), append(flags, linkedWith(t)...)...)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.CommandContext(t.Context(), binary, builtIn).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "1 ") {
		t.Fatalf("%s", out)
	}
	first, together := PlainKernels, 4 // who computes Q8_0 if AMX may not
	if lines[0] == "1 1" {
		first, together = PenstockKernels, 1
	}
	var token int
	if _, err := fmt.Sscanf(lines[1], "1 %d 0 %d", new(int), &token); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for i, want := range []string{
		fmt.Sprintf("1 %d 0 %d %d", first, token, together),
		fmt.Sprintf("1 %d 1 %d 1", AMXKernels, token),
		fmt.Sprintf("1 %d 0 %d 4", PlainKernels, token),
	} {
		if lines[i+1] != want {
			t.Errorf("choice %d: %q, want %q", i, lines[i+1], want)
		}
	}
}

// linkedWith are the flags that the build of llama.cpp wrote for Go.
func linkedWith(t *testing.T) []string {
	t.Helper()
	written := must.Get(os.ReadFile("zz_stamp.go"))(t)
	found := regexp.MustCompile(`(?m)^// #cgo LDFLAGS: (.*)$`).FindSubmatch(written)
	if found == nil {
		t.Fatalf("no flags in\n%s", written)
	}
	return strings.Fields(string(found[1]))
}
