// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native/gguf/synth"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/steadytest"
)

// prophet is a drafter that knows some answers, and errs in every seventh token.
type prophet struct {
	answers map[string][]int32 // by prompt
	prompts [][]int32
}

func (p *prophet) Draft(asks []*draft.Ask) {
	for _, a := range asks {
		for _, prompt := range p.prompts {
			if len(a.Context) < len(prompt) || !slices.Equal(a.Context[:len(prompt)], prompt) {
				continue
			}
			said := p.answers[fmt.Sprint(prompt)]
			for i := len(a.Context) - len(prompt); i < min(len(said), len(a.Context)-len(prompt)+a.Most); i++ {
				t := said[i]
				if i%7 == 6 {
					t = (t + 1) % 200
				}
				a.Draft = append(a.Draft, t)
			}
			a.Grade = draft.Grades - 1
			break
		}
	}
}

// confident is a drafter that says of each draft that it is of the highest grade, so that even
// answers which hardly repeat have some.
type confident struct{ draft.Drafter }

func (c confident) Draft(asks []*draft.Ask) {
	c.Drafter.Draft(asks)
	for _, a := range asks {
		a.Grade = draft.Grades - 1
	}
}

func smallModel(t *testing.T, kind string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), kind+".gguf")
	if err := synth.SmallFile(path, kind, 3); err != nil {
		t.Fatal(err)
	}
	return path
}

// paced is a backend with a clock of its own, by which a pass takes as long as it has sequences,
// whatever it computes of them. So drafts pay.
type paced struct {
	scheduler.Backend
	now   atomic.Int64
	takes int
}

func (p *paced) clock() time.Time { return time.UnixMilli(p.now.Load()) }

func (p *paced) Start(b *scheduler.Batch) error {
	sequences := map[int32]bool{}
	for _, s := range b.Sequences {
		sequences[s] = true
	}
	p.takes = len(sequences)
	return p.Backend.Start(b)
}

func (p *paced) Wait() error {
	p.now.Add(int64(p.takes))
	return p.Backend.Wait()
}

// answersOf has a scheduler answer some prompts, as many at once as it has slots.
func answersOf(t *testing.T, e *Engine, d draft.Drafter, slots int, prompts [][]int32, p sampling.Params, most int) (said [][]int32, drafted, accepted int) {
	t.Helper()
	b := &paced{Backend: e.Backend()}
	s, err := scheduler.New(b, scheduler.Config{Slots: slots, Drafter: d, QueueLimit: len(prompts), Clock: b.clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	defer func() {
		cancel()
		<-done
		for seq := range e.Backend().Limits().Sequences { // the next scheduler begins with an empty cache
			e.Backend().Truncate(int32(seq), 0)
		}
	}()
	for wave := range slices.Chunk(prompts, slots) { // prompts that wait would have the ticks for themselves
		streams := make([]*scheduler.Stream, len(wave))
		for i, prompt := range wave {
			p.Seed++
			stages, err := e.NewChain(p)
			if err != nil {
				t.Fatal(err)
			}
			if streams[i], err = s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true}, Chain: stages, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true}}); err != nil {
				t.Fatal(err)
			}
		}
		for _, st := range streams {
			var tokens []int32
			for e := range schedulertest.Events(t.Context(), st) {
				switch e.Kind {
				case scheduler.KindToken:
					tokens = append(tokens, e.Token)
				case scheduler.KindEnd:
					drafted, accepted = drafted+e.End.Usage.Drafted, accepted+e.End.Usage.Accepted
					if e.End.Err != nil {
						t.Error(e.End.Err)
					}
				}
			}
			said = append(said, tokens)
		}
	}
	return said, drafted, accepted
}

// randomPrompts are prompts of which parts repeat.
func randomPrompts(n, vocabulary int) (prompts [][]int32) {
	for i := range n {
		rng := rand.New(rand.NewPCG(uint64(i), 5))
		prompt := make([]int32, 4+rng.IntN(20))
		for k := range prompt {
			prompt[k] = int32(4 + rng.IntN(vocabulary-4))
		}
		prompts = append(prompts, slices.Concat(prompt, prompt[:len(prompt)/2]))
	}
	return prompts
}

// gapAfter is how much likelier the best token after some others is than the next best (in logits).
func gapAfter(t *testing.T, e *Engine, context []int32) float32 {
	t.Helper()
	row := feed(t, e.Backend(), 0, 0, context...)
	e.Backend().Truncate(0, 0)
	slices.Sort(row)
	return row[len(row)-1] - row[len(row)-2]
}

// Greedy text is the same with any drafter as without, on several architectures, for one slot and
// for several, in both layouts. Where cells are shared, two tokens that are as good as equal may
// change places, as beside other answers.
func TestScheduler_Speculate_SameGreedyText(t *testing.T) {
	most, n := steadytest.InLongTest(100, 60), steadytest.InLongTest(200, 8)
	for name, path := range map[string]string{"built-in": builtIn, "window": smallModel(t, "cohere2"), "qwen3": smallModel(t, "embedder")} {
		for _, layout := range []string{"split", "shared"} {
			t.Run(name+" "+layout, func(t *testing.T) {
				e := openedFile(t, Options{Path: path, Slots: 4, DraftRows: 16, ContextSize: 4 * 256, KVLayout: layout})
				if !e.Backend().Limits().Drafts {
					t.Fatal("it takes no drafts")
				}
				checkDrafts(t, e, layout, n, most)
			})
		}
	}
}

// checkDrafts compares greedy answers of so many tokens with those without drafts.
func checkDrafts(t *testing.T, e *Engine, layout string, n, most int) {
	t.Helper()
	greedy := sampling.Default()
	greedy.Temperature = 0
	prompts := randomPrompts(n, e.Info().Vocabulary)
	want, _, _ := answersOf(t, e, nil, 4, prompts, greedy, most)
	known := &prophet{answers: map[string][]int32{}, prompts: prompts}
	for i, p := range prompts {
		known.answers[fmt.Sprint(p)] = want[i]
	}
	for slots, d := range map[int]draft.Drafter{1: known, 4: known, 3: confident{draft.NewLookup(1)}} {
		got, drafted, accepted := answersOf(t, e, d, slots, prompts, greedy, most)
		if drafted == 0 || d == known && (accepted == 0 || accepted == drafted) {
			t.Errorf("%d slots, %T: %d of %d drafted tokens are accepted", slots, d, accepted, drafted)
		}
		for i := range prompts {
			same := kvcache.CommonPrefix(got[i], want[i])
			if same < most && gapAfter(t, e, slices.Concat(prompts[i], want[i][:same])) >= near[layout] {
				t.Errorf("%d slots, %T, prompt %d: %v, without %v", slots, d, i, got[i], want[i])
			}
		}
	}
}

// A model whose memory cannot drop tokens takes no drafts.
func TestBackend_Limits_RecurrentTakesNoDrafts(t *testing.T) {
	if e := openedFile(t, Options{Path: smallModel(t, "mamba"), Slots: 2}); e.Backend().Limits().Drafts {
		t.Error("it takes drafts")
	}
}

// Sampled text is distributed as the model says, also where it was drafted: a chi-square test of
// thousands of draws. With their seeds the texts are the very ones that are drawn without drafts.
func TestScheduler_Speculate_SampledTextIsTheModels(t *testing.T) {
	n := steadytest.InLongTest(3000, 1000)
	e := openedFile(t, Options{Path: builtIn, Slots: 8, DraftRows: 16, ContextSize: 8 * 128, KVLayout: "split"})
	p := sampling.Default()
	p.Seed, p.Temperature, p.Chain = 1, 0.5, []string{"temperature"}
	prompt := tokens(t, e, "<|im_start|>user\nTell me a story about a frog.<|im_end|>\n<|im_start|>assistant\nThe frog saw a")
	likely := slices.Clone(prompt)
	for range 4 {
		likely = append(likely, int32(best(feed(t, e.Backend(), 0, 0, likely...))))
		e.Backend().Truncate(0, 0)
	}
	prompts := slices.Repeat([][]int32{prompt}, n)
	drafter := &prophet{answers: map[string][]int32{fmt.Sprint(prompt): likely[len(prompt):]}, prompts: [][]int32{prompt}}
	without, _, _ := answersOf(t, e, nil, 8, prompts, p, 4)
	with, drafted, accepted := answersOf(t, e, drafter, 8, prompts, p, 4)
	if accepted < n/10 || drafted-accepted < n/10 { // how many it drafts depends on which requests meet in a tick
		t.Errorf("%d of %d drafted tokens are accepted", accepted, drafted)
	}
	for i := range with {
		if !slices.Equal(with[i], without[i]) {
			t.Fatalf("answer %d is %v, without drafts %v", i, with[i], without[i])
		}
	}
	for k := range 4 { // the tokens that follow the first k of the draft
		counts := map[int32]int{}
		for _, said := range with {
			if slices.Equal(said[:k], likely[len(prompt):len(prompt)+k]) {
				counts[said[k]]++
			}
		}
		row := feed(t, e.Backend(), 0, 0, likely[:len(prompt)+k]...)
		e.Backend().Truncate(0, 0)
		for i := range row {
			row[i] /= float32(p.Temperature)
		}
		if x, freedom := chiSquare(counts, row); x > float64(freedom)+4*math.Sqrt(2*float64(freedom)) {
			t.Errorf("after %d tokens: chi-square is %.1f with %d degrees of freedom", k, x, freedom)
		}
	}
}

// chiSquare compares draws with the probabilities that a row gives. Tokens that are expected fewer
// than five times count together.
func chiSquare(counts map[int32]int, row []float32) (x float64, freedom int) {
	n, sum, highest := 0, 0.0, float64(slices.Max(row))
	for _, c := range counts {
		n += c
	}
	for _, l := range row {
		sum += math.Exp(float64(l) - highest)
	}
	seen, expected := 0.0, 0.0 // of the rare ones
	add := func(seen, expected float64) {
		if expected > 0 {
			x += (seen - expected) * (seen - expected) / expected
			freedom++
		}
	}
	for t, l := range row {
		want, got := float64(n)*math.Exp(float64(l)-highest)/sum, float64(counts[int32(t)])
		if want < 5 {
			seen, expected = seen+got, expected+want
			continue
		}
		add(got, want)
	}
	add(seen, expected)
	return x, freedom - 1
}
