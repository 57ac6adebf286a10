// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// forked is a request that goes on where an answer is.
func forked(t *testing.T, s *scheduler.Scheduler, st *scheduler.Stream, most int) scheduler.Request {
	t.Helper()
	var prompt []scheduler.Token
	var answered answer.Begun
	must.Do(t, control(t, s, func(ctx context.Context) (err error) {
		prompt, answered, err = st.Conversation(ctx)
		return err
	}))
	return scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Begun: answered, Ending: scheduler.Ending{MaxTokens: most}, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true},
		Chain: []chain.Stage{schedulertest.Greedy{}}}
}

// A fork begins with all tokens of the answer and goes on as that would. It computes one token for
// all those.
func TestScheduler_Fork_SharesWhatIsComputed(t *testing.T) {
	for _, kind := range []string{"native", "in the background", "ended meanwhile"} {
		t.Run(kind, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			s := newScheduler(t, b, scheduler.Config{})
			st, source := begin(t, s, request(100, 1, 60), 20)
			r := forked(t, s, st, 60)
			switch n := len(r.Begun.Tokens); {
			case n < 20:
				t.Fatalf("the answer has %d tokens, its reader has seen 20", n)
			case kind == "in the background":
				r.Logprobs = 1
			case kind == "ended meanwhile":
				st.Cancel()
				s.Tick()
			}
			begun := slices.Clone(r.Begun.Tokens)
			before := b.Tokens
			a := finish(t, s, submit(t, s, r))[0]
			for s.Tick() {
				source.read(st)
			}
			if want := alone(t, request(100, 1, 60)); !slices.Equal(a.tokens, want.tokens) || a.text != want.text {
				t.Errorf("the fork says %v, the answer %v", a.tokens, want.tokens)
			}
			if u := a.end.Usage; u.Prompt != 100 || u.Cached != 100 || u.Generated != 60 {
				t.Errorf("its usage is %+v", u)
			}
			if kind == "ended meanwhile" && b.Tokens-before > 60-len(begun) {
				t.Errorf("%d tokens were computed for an answer of 60 that began with %d", b.Tokens-before, len(begun))
			}
		})
	}
}

// Forks of forks, with other stages, go their own ways, and the cells of all are those of their
// tokens.
func TestScheduler_Forks_GoTheirOwnWays(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	st, _ := begin(t, s, request(50, 1, 60), 10)
	var streams []*scheduler.Stream
	for i := range 4 {
		r := forked(t, s, st, 60)
		r.Chain = []chain.Stage{&offset{by: scheduler.Token(i)}}
		st = submit(t, s, r)
		streams = append(streams, st)
		for range 5 {
			s.Tick()
		}
	}
	answers := finish(t, s, streams...)
	for i := range 3 {
		a, next := answers[i].tokens, answers[i+1].tokens
		common := 0
		for common < 60 && a[common] == next[common] {
			common++
		}
		if common < 10 || common > 30 {
			t.Errorf("fork %d and its own fork have %d tokens in common", i, common)
		}
	}
}

// offset chooses the token that is so many after the most likely.
type offset struct {
	schedulertest.Greedy
	by scheduler.Token
}

func (*offset) Native() bool { return false }

func (o *offset) Apply(v *chain.View) error {
	err := o.Greedy.Apply(v)
	v.Chosen = 1 + (v.Chosen+o.by)%250
	return err
}

func TestScheduler_Begun_WrongTokensAreRefused(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{Cells: 64}), scheduler.Config{})
	for name, tokens := range map[string][]scheduler.Token{"negative": {-1}, "beyond the vocabulary": {256}, "too many": make([]scheduler.Token, 60)} {
		r := request(10, 1, 5)
		r.Begun.Tokens = tokens
		if _, err := s.Submit(r); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := request(10, 1, 5)
	r.Begun.Tokens = []scheduler.Token{7, 8, 9, 10, 11, 12}
	a := finish(t, s, submit(t, s, r))[0]
	if a.end.Reason != answer.ReasonLength || len(a.tokens) != 5 {
		t.Errorf("begun with more tokens than it may have, it ends with %v after %v", a.end.Reason, a.tokens)
	}
}

// What is injected while a request is queued is shown when it begins, and seen by its rules.
func TestStream_Inject_QueuedIsSeenByRules(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1})
	first := submit(t, s, request(10, 1, 30))
	s.Tick()
	r := request(10, 2, 30)
	r.Rules = []answer.StopRule{&endsAt{token: 6}}
	second := submit(t, s, r)
	must.Do(t, control(t, s, func(ctx context.Context) error { return second.Inject(ctx, []scheduler.Token{5, 6, 7}) }))
	a := finish(t, s, first, second)[1]
	if a.end.Reason != answer.ReasonStop || !slices.Equal(a.tokens, []scheduler.Token{5, 6}) {
		t.Errorf("it ends with %v after %v", a.end.Reason, a.tokens)
	}
}

// endsAt ends the answer at a token, once its stage has begun.
type endsAt struct{ token scheduler.Token }

func (e *endsAt) Check(t scheduler.Token, _ string) (answer.Verdict, error) {
	return answer.Verdict{End: t == e.token, Show: -1}, nil
}

func (*endsAt) Close() error { return nil }
