// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

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
	s := must.Get(scheduler.New(backend, scheduler.Config{Slots: len(prompts), Drafter: d, Clock: processorTime, ITLTarget: time.Second}))(b)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	var streams []*scheduler.Stream
	for _, prompt := range prompts {
		st := must.Get(s.Submit(scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true}, Reports: scheduler.Reports{Logprobs: -1},
			Chain: stages(), Delivery: scheduler.Delivery{Buffer: 2 * most}}))(b)
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
