// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// script is a stage that chooses the tokens of a text, whatever the model says: a model with
// random weights writes as a good one would.
type script struct{ tokens, rest []int32 }

func (s *script) Traits() chain.Traits        { return chain.Traits{TakesRow: true} }
func (s *script) Native() bool                { return false }
func (s *script) TakeRow(chain.WholeRow) bool { return true }
func (s *script) Close() error                { return nil }

func (s *script) Apply(v *chain.View) error {
	v.Chosen = s.rest[0]
	return nil
}

func (s *script) Accept(int32) (chain.Effect, error) {
	s.rest = s.rest[1:]
	return chain.Effect{}, nil
}

func (s *script) Reset(history []int32, prompt int) error {
	s.rest = s.tokens[len(history)-prompt:]
	return nil
}

// prose is a text of this repository.
func prose(b *testing.B, e *Engine, file string, n int) []int32 {
	text, err := os.ReadFile("../../docs/" + file)
	if err != nil {
		b.Fatal(err)
	}
	all := tokens(b, e, string(text))
	return all[len(all)/4:][:n]
}

// withChanges is a text in which a token in every 40 is another.
func withChanges(text []int32) []int32 {
	text = slices.Clone(text)
	for i := 20; i < len(text); i += 40 {
		text[i] = text[i-7] + 1
	}
	return text
}

// BenchmarkSpeculate is the time a token of answers that repeat their prompt with changes, and of
// answers that do not, without drafts and with lookup. PENSTOCK_BENCH_MODEL names a model of real
// size; the built-in one has passes of half a millisecond.
func BenchmarkSpeculate(b *testing.B) {
	const most = 300
	path := cmp.Or(os.Getenv("PENSTOCK_BENCH_MODEL"), builtIn)
	for _, slots := range []int{1, 8, 16} {
		e, err := Open(b.Context(), Options{Path: path, Slots: slots, DraftRows: 32, ContextSize: slots * 1024})
		if err != nil {
			b.Fatal(err)
		}
		long := prose(b, e, "rationale.md", slots*most)
		for _, kind := range []string{"repeats", "other"} {
			for _, how := range []string{"without", "lookup"} {
				b.Run(fmt.Sprintf("streams=%d/%s/%s", slots, kind, how), func(b *testing.B) {
					var d draft.Drafter
					if how == "lookup" {
						d = draft.NewLookup(3)
					}
					var drafted, accepted int
					var took time.Duration
					for range b.N {
						var prompts, answers [][]int32
						for i := range slots {
							text := long[i*most:][:most]
							answers = append(answers, withChanges(text))
							if kind == "other" {
								text = prose(b, e, "performance.md", most)
							}
							prompts = append(prompts, text)
						}
						t, n, right := scripted(b, e, d, prompts, answers)
						took, drafted, accepted = took+t, drafted+n, accepted+right
					}
					b.ReportMetric(float64(b.N*slots*(most-1))/took.Seconds(), "tokens/s")
					b.ReportMetric(float64(accepted)/float64(b.N*slots), "accepted")
					b.ReportMetric(float64(drafted)/float64(b.N*slots), "drafted")
				})
			}
		}
		if err := e.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// scripted has all answers written at once, and tells how long that took after the first tokens of
// all.
func scripted(b *testing.B, e *Engine, d draft.Drafter, prompts, answers [][]int32) (took time.Duration, drafted, accepted int) {
	i := -1
	return answered(b, e.Backend(), d, prompts, len(answers[0]), func() []chain.Stage {
		i++
		return []chain.Stage{&script{tokens: answers[i]}}
	})
}

// processorTime is the time that this process has computed for: other programs do not count, nor do
// threads that wait for a processor.
func processorTime() time.Time {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Unix(0, u.Utime.Nano()+u.Stime.Nano())
}

// answered has an answer to each prompt written at once, and tells how long that took after the
// first tokens of all.
func answered(b *testing.B, backend scheduler.Backend, d draft.Drafter, prompts [][]int32, most int, stages func() []chain.Stage) (took time.Duration, drafted, accepted int) {
	s, err := scheduler.New(backend, scheduler.Config{Slots: len(prompts), Drafter: d, Clock: processorTime, ITLTarget: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	var streams []*scheduler.Stream
	for _, prompt := range prompts {
		st, err := s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1},
			Chain: stages(), Delivery: scheduler.Delivery{Buffer: 2 * most}})
		if err != nil {
			b.Fatal(err)
		}
		streams = append(streams, st)
	}
	for _, st := range streams {
		for event := range schedulertest.Events(b.Context(), st) {
			if end := event.End; end != nil {
				if end.Err != nil || end.Usage.Generated != most {
					b.Fatalf("%+v", end)
				}
				took, drafted, accepted = max(took, end.Timing.Decode), drafted+end.Usage.Drafted, accepted+end.Usage.Accepted
			}
		}
	}
	cancel()
	<-done
	for seq := range backend.Limits().Sequences {
		backend.Truncate(int32(seq), 0)
	}
	return took, drafted, accepted
}
