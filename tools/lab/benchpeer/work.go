// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
)

// Seeds differ between parts, so that no prompt occurs twice.
const (
	seedSingle = iota + 1
	seedBurst
	seedMixed
	seedTarget
	seedLate
	seedPrefix
	seedPlugins
	seedSchemas
	seedQuants
	seedDeep
	seedGuesses
	seedBefore
	seedContention
	seedMemory
	seedQuota
	seedIK
	seedReady
)

// single measures one stream alone.
func (l *lab) single() error {
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(40*time.Second, func(round int) error {
		if err := l.round(targets, bench.Single(seedSingle, 3), round); err != nil {
			return err
		}
		speed, err := l.generation(128)
		if err != nil {
			return err
		}
		l.note("llama-bench", "tg128", round, speed)
		return nil
	})
	if err != nil {
		return err
	}
	l.faster("1 stream, tokens/s", "single", tokensPerSecond, 1.05)
	l.atLeast("1 stream, tokens/s", "llama-bench tg128", l.median("single", penstock, tokensPerSecond), l.toolMedian("llama-bench", "tg128"), 0.97)
	return nil
}

// burst measures 8 and 16 streams that begin at once.
func (l *lab) burst() error {
	sequences := []int{8, 16}
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	name := func(n int) string { return fmt.Sprintf("%d streams", n) }
	prompt := 0
	err = l.repeat(60*time.Second, func(round int) error {
		for _, n := range sequences {
			if err := l.round(targets, bench.Batch(uint64(seedBurst+100*n), name(n), n), round); err != nil {
				return err
			}
			last := l.report.Runs[len(l.report.Runs)-1].Total
			prompt = int(math.Round((last.PromptTokens + float64(last.CachedTokens)) / float64(n)))
		}
		speeds, err := l.batches(prompt, 64, sequences)
		if err != nil {
			return err
		}
		for _, n := range sequences {
			l.note("llama-batched-bench", name(n), round, speeds[n])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range sequences {
		work := fmt.Sprintf("%d streams of %d prompt words and 64 tokens, tokens/s overall", n, bench.ShortWords)
		l.faster(work, name(n), tokensPerSecond, 1.3)
		l.atLeast(work, fmt.Sprintf("llama-batched-bench -npp %d -ntg 64", prompt), l.median(name(n), penstock, tokensPerSecond),
			l.toolMedian("llama-batched-bench", name(n)), 0.95)
		l.notHigher(name(n), streamGaps)
	}
	return nil
}

// late measures a short prompt that arrives while a long one is computed.
func (l *lab) late() error {
	targets, err := l.targets(l.few(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(30*time.Second, func(round int) error {
		return l.round(targets, lateLoad(round), round)
	})
	if err != nil {
		return err
	}
	l.lower("TTFT p50 of a 20-word prompt arriving during a long prefill", llama, l.median("late", penstock, shortTTFT), l.median("late", llama, shortTTFT), 10)
	return nil
}

func lateLoad(round int) bench.Scenario {
	return bench.Scenario{Name: "late", Load: bench.Load{Seed: seedLate, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "long", Clients: 1, Requests: 1, PromptWords: bench.LongWords, MaxTokens: 4},
		{Name: "short", Clients: 1, Requests: 1, PromptWords: 20, MaxTokens: 4, Delay: time.Duration(1+round) * 200 * time.Millisecond},
	}}}
}

func shortTTFT(r bench.Result) float64 { return r.Class("short").TTFT.P50 }

// prefix measures a request whose prompt begins like that of a request that is still being
// answered.
func (l *lab) prefix() error {
	targets, err := l.targets(l.few(), penstock, llama)
	if err != nil {
		return err
	}
	err = l.repeat(40*time.Second, func(round int) error {
		return l.round(targets, prefixLoad(), round)
	})
	if err != nil {
		return err
	}
	first := func(r bench.Result) float64 { return r.Class("first").TTFT.P50 }
	work := "second request with the same 2,000-token prefix, other slot: TTFT"
	l.lower(work, "the first", l.median("prefix", penstock, secondTTFT), l.median("prefix", penstock, first), 20)
	l.inform(work+", llama-server", "its first", l.median("prefix", llama, secondTTFT), l.median("prefix", llama, first))
	return nil
}

func prefixLoad() bench.Scenario {
	return bench.Scenario{Name: "prefix", Load: bench.Load{Seed: seedPrefix, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "first", Clients: 1, Requests: 1, PromptWords: 2008, SharedWords: 2000, MaxTokens: 200},
		{Name: "second", Clients: 1, Requests: 1, PromptWords: 2008, SharedWords: 2000, MaxTokens: 8, After: "first"},
	}}}
}

func secondTTFT(r bench.Result) float64 { return r.Class("second").TTFT.P50 }

// tick measures the scheduler's own time in a tick.
func (l *lab) tick() error {
	l.stopServers()
	out, err := l.output("go", "test", "-run", "^$", "-bench", "Tick/slots=(64|256)$", "-benchmem", "-benchtime", "20000x", "-count", "3", "./scheduler")
	if err != nil {
		return err
	}
	for _, c := range []struct {
		slots int
		limit float64 // microseconds
	}{{64, 20}, {256, 60}} {
		us, allocations, err := parseTick(out, c.slots)
		if err != nil {
			return err
		}
		l.report.Rows = append(l.report.Rows, row{
			Work: fmt.Sprintf("scheduler's own time a tick, %d slots", c.slots), Measured: fmt.Sprintf("%.1f µs, %.0f allocations", us, allocations),
			Required: fmt.Sprintf("under %.0f µs, no allocation per token", c.limit), Reached: yesNo(us < c.limit && allocations < 1)})
	}
	return nil
}

// deepWords is about how many tokens of context one stream has in the part deep.
const deepWords = 16_000

// shallow is a model of a third of the layers, so that the prompt of the part deep takes a third
// of the time.
const shallow = "shallow-q4_0"

// deep measures one stream after a long prompt, where reading the KV cache takes longer than
// reading the weights, with cells of 16 bits and of eight.
func (l *lab) deep() error {
	whole := l.model
	defer func() { l.model, l.cells = whole, "" }()
	l.model = filepath.Join(l.models, shallow+".gguf")
	work := func(cells string) string {
		return fmt.Sprintf("1 stream after %d words, cells in %s", deepWords, cells)
	}
	perSecond := func(r bench.Result) float64 { return ratio(1000, r.Class("stream").ITL.P50) }
	for _, c := range []struct {
		cells string
		least float64
	}{{"f16", 1.2}, {"q8_0", 3}} {
		l.cells = c.cells
		if err := l.deepWith(work(c.cells)); err != nil {
			return err
		}
		l.faster(work(c.cells)+", tokens/s by the median ITL", work(c.cells), perSecond, c.least)
	}
	l.atLeast(work("q8_0")+", against f16", penstock, l.median(work("q8_0"), penstock, perSecond), l.median(work("f16"), penstock, perSecond), 1.4)
	return nil
}

// deepWith computes the prompt once; then the servers take turns with short answers to it.
func (l *lab) deepWith(scenario string) error {
	size := bench.Size{Slots: 1, Context: 20 << 10, Threads: l.threads}
	targets, err := l.targets(size, penstock, llama)
	if err != nil {
		return err
	}
	load := func(answer int) bench.Load {
		return bench.Load{Seed: seedDeep, Temperature: bench.Temperature, Classes: []bench.Class{
			{Name: "stream", Clients: 1, Requests: 1, PromptWords: deepWords + 8, SharedWords: deepWords, MaxTokens: answer}}}
	}
	for _, t := range targets {
		if _, err := bench.Run(l.ctx, t, load(1)); err != nil {
			return err
		}
	}
	s := bench.Scenario{Name: scenario, Load: load(128), Same: true}
	return l.repeat(30*time.Second, func(round int) error { return l.round(targets, s, round) })
}

// repeating is the model whose greedy text begins again after 32 tokens. Another's may end up in
// such a loop, or not, as kernels round.
const repeating = "loop-q4_0"

// guesses measures one stream with and without speculation, on repetitive text and on text without
// repetition.
func (l *lab) guesses() error {
	random := l.model
	defer func() { l.model = random }()
	for _, text := range []struct {
		name, model string
		temperature float64
		least       float64
	}{
		{"repetitive text", filepath.Join(l.models, repeating+".gguf"), 0, 2},
		{"text without repetition", random, bench.Temperature, 0.98},
	} {
		l.model = text.model
		targets, err := l.targets(l.many(), penstock, unguessed)
		if err != nil {
			return err
		}
		s := bench.Single(seedGuesses, 2)
		s.Name, s.Load.Temperature = text.name, text.temperature
		if err := l.repeat(20*time.Second, func(round int) error { return l.round(targets, s, round) }); err != nil {
			return err
		}
		l.fasterThan(unguessed, "1 stream, "+text.name+", tokens/s", text.name, tokensPerSecond, text.least)
	}
	return nil
}

// The numbers of streams and of clients with long prompts in mixed work.
const (
	streams = 4
	long    = 2
)

var mixedWork = fmt.Sprintf("%d streams + %d clients with %d-word prompts", streams, long, bench.LongWords)

func (l *lab) mixedLoad(name string, seed uint64) bench.Scenario {
	return bench.Mixed(seed, name, streams, long, bench.LongWords, l.window)
}

// mixed measures streams beside long prompts, and each of the two alone.
func (l *lab) mixed() error {
	targets, err := l.targets(l.few(), penstock, llama, llama128)
	if err != nil {
		return err
	}
	generate := bench.Mixed(seedMixed+100, "generation only", streams, 0, 0, l.window/2)
	prefill := bench.Mixed(seedMixed+200, "prefill only", 0, long, bench.LongWords, l.window/2)
	prefill.Load.Classes[0].MaxTokens = 1
	mixed := l.mixedLoad("mixed", seedMixed)
	deadline, _ := l.ctx.Deadline()
	err = l.repeat(time.Until(deadline)*9/10, func(round int) error {
		for _, s := range []bench.Scenario{generate, prefill} {
			if err := l.round(targets[:2], s, round); err != nil {
				return err
			}
		}
		return l.round(targets, mixed, round)
	})
	if err != nil {
		return err
	}
	work := mixedWork + fmt.Sprintf(": p99 ITL of the %d", streams)
	ours := l.median("mixed", penstock, streamITL)
	l.lower(work, llama, ours, l.median("mixed", llama, streamITL), 40)
	l.lower(work, llama128, ours, l.median("mixed", llama128, streamITL), 10)
	l.utilisation()
	return nil
}

// utilisation is the part of the machine's best rates that mixed work reaches. It is 1 if mixing
// prefill and generation costs nothing.
func (l *lab) utilisation() {
	best := func(scenario string, figure func(bench.Result) float64) float64 {
		return max(l.median(scenario, penstock, figure), l.median(scenario, llama, figure))
	}
	bestPrefill, bestGeneration := best("prefill only", promptTokensPerSecond), best("generation only", tokensPerSecond)
	for _, target := range []string{penstock, llama, llama128} {
		prefill, generation := l.median("mixed", target, promptTokensPerSecond), l.median("mixed", target, tokensPerSecond)
		used := ratio(prefill, bestPrefill) + ratio(generation, bestGeneration)
		r := row{Work: "the same: utilisation", Against: fmt.Sprintf("best rates: %.0f prompt and %.0f generated tokens/s", bestPrefill, bestGeneration),
			Measured: fmt.Sprintf("%.2f (%.0f prompt and %.0f generated tokens/s)", used, prefill, generation)}
		if target == penstock {
			r.Required, r.Reached = "0.90", yesNo(used >= 0.90)
		} else {
			r.Work += ", " + target
		}
		l.report.Rows = append(l.report.Rows, r)
	}
}

// target measures mixed work with a target for the time between two tokens.
func (l *lab) target() error {
	for _, ms := range []int{80, 150, 400} {
		name := fmt.Sprintf("mixed, itl_target %d ms", ms)
		l.stopServers()
		s := &server{name: penstock, key: name}
		if err := l.start(s, l.command(penstock, l.few(), "--itl-target", fmt.Sprint(ms)+"ms")); err != nil {
			return err
		}
		if err := l.round([]bench.Target{{Name: penstock, Streamer: s.client}}, l.mixedLoad(name, seedTarget+uint64(100*ms)), 0); err != nil {
			return err
		}
		p99 := l.median(name, penstock, streamITL)
		prefill, generation := l.median(name, penstock, promptTokensPerSecond), l.median(name, penstock, tokensPerSecond)
		times := ratio(p99, float64(ms))
		l.report.Rows = append(l.report.Rows, row{Work: mixedWork + fmt.Sprintf(", `itl_target` %d ms: p99 ITL", ms),
			Measured: fmt.Sprintf("%.0f ms (%.0f prompt and %.0f generated tokens/s)", p99, prefill, generation),
			Against:  fmt.Sprintf("target %d ms", ms), Ratio: fmt.Sprintf("%.2f ×", times), Required: "at most 1.3 ×", Reached: yesNo(times <= 1.3)})
	}
	return nil
}

type quantisedModel struct {
	name   string
	tokens int // of an answer
}

// quantised are models as llama-quantize writes them, with the answers' length that makes a run
// last some seconds.
var quantised = []quantisedModel{
	{"135m-q4_k_m", 64}, {"135m-q5_k_m", 64}, {"135m-q6_k", 64}, {"135m-iq4_xs", 64}, {"moe-mxfp4_moe", 64},
	{"1b-q4_k_m", 16}, {"1b-q5_k_m", 16}, {"1b-q6_k", 16}, {"1b-iq4_xs", 16},
}

// quantTime is about how long one of them is measured; each has one round at least.
const quantTime = 20 * time.Second

// quants measures one stream, and bursts of 8 and 16, on the types of weights that people download.
func (l *lab) quants() error {
	whole := l.model
	defer func() { l.model = whole }()
	for _, name := range l.chosen {
		if !slices.ContainsFunc(quantised, func(q quantisedModel) bool { return q.name == name }) {
			return fmt.Errorf("-quants: %q is not known", name)
		}
	}
	for _, q := range quantised {
		if len(l.chosen) > 0 && !slices.Contains(l.chosen, q.name) {
			continue
		}
		l.model = filepath.Join(l.models, q.name+".gguf")
		if err := l.quant(q.name, q.tokens); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
	}
	return nil
}

func (l *lab) quant(name string, tokens int) error {
	targets, err := l.targets(l.many(), penstock, llama)
	if err != nil {
		return err
	}
	sizes := []int{1, 8, 16}
	scenario := func(n int) string { return fmt.Sprintf("%s, %s", name, streamsOf(n)) }
	err = l.repeat(quantTime, func(round int) error {
		for _, n := range sizes {
			s := bench.Batch(uint64(seedQuants+100*n), scenario(n), n)
			s.Load.Classes[0].MaxTokens = tokens
			if err := l.round(targets, s, round); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range sizes {
		least := 1.3
		if n == 1 {
			least = 1.05
		}
		l.faster(scenario(n)+", tokens/s", scenario(n), tokensPerSecond, least)
	}
	for _, n := range sizes[1:] {
		l.notHigher(scenario(n), streamGaps)
	}
	return nil
}

func streamsOf(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return fmt.Sprintf("burst of %d", n)
}

// streamGaps is what the streams of a run waited between two pieces of text.
func streamGaps(r bench.Result) bench.Latency { return r.Class("stream").ITL }

// ik is the server of ik_llama.cpp, whose kernels for CPUs are others than llama.cpp's.
const ik = "ik_llama.cpp"

// ikPart is the part of a run that compares with it.
const ikPart = "ik"

// ikModels are of the types of weights that people run on CPUs.
var ikModels = []quantisedModel{
	{"135m-q4_0", 64}, {"135m-q4_k_m", 64}, {"135m-iq4_xs", 64}, {"135m-q8_0", 64}, {"moe-q4_0", 64},
	{"1b-q4_0", 16}, {"1b-q4_k_m", 16}, {"1b-iq4_xs", 16}, {"1b-q8_0", 16},
}

// compareIK measures streams and prompts on both servers, in turns.
func (l *lab) compareIK() error {
	if l.ik == "" {
		return errors.New("-ik is not given: a llama-server of ik_llama.cpp")
	}
	whole := l.model
	defer func() { l.model = whole }()
	models := ikModels
	if len(l.chosen) > 0 {
		models = nil
		for _, name := range l.chosen {
			q := quantisedModel{name, 64}
			if i := slices.IndexFunc(ikModels, func(m quantisedModel) bool { return m.name == name }); i >= 0 {
				q = ikModels[i]
			}
			models = append(models, q)
		}
	}
	for _, m := range models {
		l.model = filepath.Join(l.models, m.name+".gguf")
		if err := l.besideIK(m); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) besideIK(m quantisedModel) error {
	targets, err := l.targets(l.one(), penstock, ik)
	if err != nil {
		return err
	}
	prompt := m.name + ", prompt of 600 words"
	scenarios := []bench.Scenario{{Name: prompt, Load: bench.Load{Seed: seedIK, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: 1, Requests: 2, PromptWords: mixedWords, MaxTokens: 1}}}}}
	for _, n := range []int{1, 8, 16} {
		s := bench.Batch(uint64(seedIK+100*n), m.name+", "+streamsOf(n), n)
		s.Load.Classes[0].MaxTokens = m.tokens
		scenarios = append(scenarios, s)
	}
	err = l.repeat(2*time.Minute, func(round int) error {
		for _, s := range scenarios {
			if err := l.round(targets, s, round); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, s := range scenarios {
		what, figure := ", tokens/s", tokensPerSecond
		if s.Name == prompt {
			what, figure = ", prompt tokens/s", promptTokensPerSecond
		}
		l.fasterThan(ik, s.Name+what, s.Name, figure, 1)
	}
	return nil
}

// Servers that keep no conversations beside their slots: how many they keep is a setting, and no
// matter of how they serve.
const (
	penstockUncached = "penstock --cache-ram 0"
	llamaUncached    = "llama-server --cache-ram 0"
)

// memorySlots are the sizes of servers whose memory is compared.
var memorySlots = []int{1, 8, 64}

// memoryRest is how long a server has nothing to do before its memory is read: Penstock gives back
// after a second what is free.
const memoryRest = 3 * time.Second

// memory measures how much memory the servers take: just loaded, and after some hundred requests.
func (l *lab) memory() error {
	for _, slots := range memorySlots {
		size := bench.Size{Slots: slots, Context: max(2048, slots<<10), Threads: l.threads}
		var loaded, used [2]float64
		for i, name := range []string{penstockUncached, llamaUncached} {
			targets, err := l.targets(size, name) // the other one has ended
			if err != nil {
				return err
			}
			if loaded[i], err = l.resident(); err != nil {
				return err
			}
			if err := l.round(targets, memoryLoad(slots), 0); err != nil {
				return err
			}
			if used[i], err = l.resident(); err != nil {
				return err
			}
		}
		l.noMoreMemory(fmt.Sprintf("memory with %s, loaded", plural(slots, "slot")), loaded)
		l.noMoreMemory(fmt.Sprintf("memory with %s, after %d requests", plural(slots, "slot"), memoryLoad(slots).Load.Classes[0].Requests), used)
	}
	return nil
}

func memoryLoad(slots int) bench.Scenario {
	return bench.Scenario{Name: fmt.Sprintf("memory, %d slots", slots), Load: bench.Load{Seed: seedMemory, Temperature: bench.Temperature, Classes: []bench.Class{
		{Name: "stream", Clients: min(slots, 16), Requests: 200, PromptWords: bench.ShortWords, MaxTokens: 8}}}}
}

// resident is how much memory the server has, in MiB, once it has rested.
func (l *lab) resident() (float64, error) {
	select {
	case <-time.After(memoryRest):
	case <-l.ctx.Done():
		return 0, l.ctx.Err()
	}
	bytes, err := residentOf(l.servers[0].process.PID())
	return float64(bytes) / (1 << 20), err
}

// noMoreMemory adds a row for memory of Penstock and of llama-server.
func (l *lab) noMoreMemory(work string, mebibytes [2]float64) {
	const most = 1.02
	times := ratio(mebibytes[0], mebibytes[1])
	l.report.Rows = append(l.report.Rows, row{Work: work, Measured: fmt.Sprintf("%.0f MiB", mebibytes[0]), Against: fmt.Sprintf("%s: %.0f MiB", llama, mebibytes[1]),
		Ratio: fmt.Sprintf("%.2f ×", times), Required: fmt.Sprintf("at most %.2f ×", most), Reached: yesNo(times > 0 && times <= most)})
}
