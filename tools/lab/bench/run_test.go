// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/penstock/penstock/tools/must"
)

const ms = time.Millisecond

func mustRun(t *testing.T, s Streamer, l Load) Result {
	t.Helper()
	return must.Get(Run(t.Context(), s, l))(t)
}

var about = cmpopts.EquateApprox(1e-6, 0)

func TestRun_ClosedLoop_MeasuresExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(Request) script {
			return script{first: 100 * ms, gaps: []time.Duration{10 * ms, 30 * ms, 10 * ms}, usage: Usage{Prompt: 25, Cached: 5, Generated: 8}}
		}}
		got := mustRun(t, f, Load{Classes: []Class{{Name: "short", Clients: 2, Requests: 4, Think: 50 * ms, PromptWords: 20, MaxTokens: 8}}})
		// Two clients, two requests each: 150 ms, a pause of 50 ms, 150 ms. The pause after the
		// last is not measured.
		want := Summary{Class: "short", Requests: 4, Tokens: 32, TokensPerSecond: 32 / 0.35,
			PromptTokens: 80, PromptTokensPerSecond: 80 / 0.35, CachedTokens: 20,
			TTFT: Latency{4, 100, 100, 100, 100}, ITL: Latency{12, 10, 30, 30, 30}}
		if diff := cmp.Diff([]Summary{want}, got.Classes, about); diff != "" {
			t.Error(diff)
		}
		want.Class = ""
		if diff := cmp.Diff(want, got.Total, about); diff != "" {
			t.Error(diff)
		}
		if f.most != 2 {
			t.Errorf("%d requests at once, want 2", f.most)
		}
	})
}

func TestRun_Window_CountsWhatLiesInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(r Request) script {
			if r.MaxTokens == 1 {
				return even(800*ms, 1, 0, Usage{Prompt: 80, Generated: 1})
			}
			return even(0, 1000, 10*ms, Usage{Prompt: 5, Generated: 1000})
		}}
		got := mustRun(t, f, Load{Warmup: time.Second, Duration: time.Second, Classes: []Class{
			{Name: "stream", Clients: 1, PromptWords: 5, MaxTokens: 1000},
			{Name: "long", Clients: 1, PromptWords: 80, MaxTokens: 1},
		}})
		if got.Seconds != 1 {
			t.Errorf("a window of %v s, want 1", got.Seconds)
		}
		// The stream was sent before the window, so its TTFT does not count; its answer is cut, so
		// it tells no usage.
		want := Summary{Class: "stream", Tokens: 100, TokensPerSecond: 100, ITL: Latency{100, 10, 10, 10, 10}}
		if diff := cmp.Diff(want, got.Class("stream"), about); diff != "" {
			t.Error(diff)
		}
		// Prompts take 0–0.8, 0.8–1.6 and 1.6–2.4 s: three quarters of the second and half of the
		// third lie in the window.
		want = Summary{Class: "long", Requests: 1, Tokens: 1, TokensPerSecond: 1, PromptTokens: 100, PromptTokensPerSecond: 100,
			TTFT: Latency{1, 800, 800, 800, 800}}
		if diff := cmp.Diff(want, got.Class("long"), about); diff != "" {
			t.Error(diff)
		}
	})
}

// A stall that outlasts the window must not go unseen because the run ended before it did.
func TestRun_Window_SeesAStallThatOutlastsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(r Request) script {
			if r.MaxTokens == 1 {
				return even(3*time.Second, 1, 0, Usage{})
			}
			return script{gaps: []time.Duration{900 * ms, 2500 * ms, 10 * ms}}
		}}
		got := mustRun(t, f, Load{Duration: time.Second, Classes: []Class{
			{Name: "stream", Clients: 1, PromptWords: 1, MaxTokens: 4},
			{Name: "long", Clients: 1, PromptWords: 1, MaxTokens: 1, Requests: 1},
		}})
		// The long one settles at 3 s; the stall that began at 0.9 s counts with the 2.1 s it had
		// lasted.
		if itl := got.Class("stream").ITL; itl.Max != 2100 || itl.Count != 2 {
			t.Errorf("ITL %+v, want two gaps, the longest of 2100 ms", itl)
		}
	})
}

// A prompt that began in the warm-up and ends after the window counts by its part: how long it
// took must be waited for.
func TestRun_Window_WaitsForPromptsThatOutlastIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(Request) script { return script{first: 4 * time.Second, gaps: []time.Duration{time.Hour}} }}
		got := mustRun(t, f, Load{Warmup: time.Second, Duration: 2 * time.Second, Classes: []Class{
			{Name: "long", Clients: 1, PromptWords: 100, MaxTokens: 2},
		}})
		// Nobody said how many tokens it had, so its words count: half of them.
		if long := got.Class("long"); long.PromptTokens != 50 || long.PromptTokensPerSecond != 25 {
			t.Errorf("%v prompt tokens, %v a second; want 50 and 25", long.PromptTokens, long.PromptTokensPerSecond)
		}
	})
}

func TestRun_OpenLoop_ArrivesByItsOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		load := Load{Duration: 100 * time.Second, Seed: 7, Classes: []Class{{Name: "open", Rate: 20, PromptWords: 3, MaxTokens: 2}}}
		f := &fake{answer: func(Request) script { return even(2*time.Second, 2, ms, Usage{}) }}
		got := mustRun(t, f, load)
		// A Poisson count with a mean of 2,000 lies within 4 deviations (of 45).
		if n := got.Class("open").Requests; n < 1820 || n > 2180 {
			t.Errorf("%d requests in 100 s at 20 a second", n)
		}
		if f.most < 20 {
			t.Errorf("%d requests at once: arrivals waited for answers", f.most)
		}
		again := &fake{answer: f.answer}
		mustRun(t, again, load)
		if a, b := f.at[10].Sub(f.at[0]), again.at[10].Sub(again.at[0]); a != b {
			t.Errorf("request 10 came after %v, with the same seed then after %v", a, b)
		}
	})
}

func TestRun_After_BeginsWithTheOthersFirstText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(Request) script { return even(300*ms, 5, 100*ms, Usage{}) }}
		mustRun(t, f, Load{Classes: []Class{
			{Name: "first", Clients: 1, Requests: 1, PromptWords: 9, SharedWords: 8, MaxTokens: 5},
			{Name: "second", Clients: 1, Requests: 1, PromptWords: 9, SharedWords: 8, MaxTokens: 5, After: "first", Delay: 20 * ms},
		}})
		if gap := f.at[1].Sub(f.at[0]); gap != 320*ms {
			t.Errorf("the second class began after %v, want 320ms", gap)
		}
		a, b := strings.Fields(f.requests[0].Prompt), strings.Fields(f.requests[1].Prompt)
		if len(a) != 9 || !cmp.Equal(a[:8], b[:8]) || a[8] == b[8] {
			t.Errorf("prompts %q and %q should share 8 words of 9", a, b)
		}
	})
}

func TestRun_Failures_AreCountedAndDoNotHammer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(Request) script { return script{first: ms, err: errors.New("no room")} }}
		got := mustRun(t, f, Load{Duration: time.Second, Classes: []Class{{Name: "c", Clients: 1, PromptWords: 1, MaxTokens: 1}}})
		s := got.Class("c")
		if s.Requests != 10 || s.Failed != 10 || s.Error != "no room" {
			t.Errorf("%d requests, %d failed with %q; want 10 in a second, all failed", s.Requests, s.Failed, s.Error)
		}
	})
}

func TestRun_Limit_EndsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(Request) script { return script{first: time.Hour} }}
		begin := time.Now()
		_, err := Run(t.Context(), f, Load{Limit: time.Minute, Classes: []Class{{Name: "c", Clients: 1, Requests: 1, PromptWords: 1, MaxTokens: 1}}})
		if err == nil || !strings.Contains(err.Error(), "limit of 1m0s") || time.Since(begin) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		if _, err := Run(ctx, f, Load{Duration: time.Second, Classes: []Class{{Name: "c", Clients: 1, PromptWords: 1, MaxTokens: 1}}}); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}
