// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
)

func TestAlternate_TakesTurnsWithTheSamePrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick := &fake{answer: func(Request) script { return even(10*ms, 3, 10*ms, Usage{Prompt: 4, Generated: 3}) }}
		slow := &fake{answer: func(Request) script { return even(20*ms, 3, 40*ms, Usage{Prompt: 4, Generated: 3}) }}
		scenario := Scenario{Name: "s", Load: Load{Classes: []Class{{Name: "c", Clients: 1, Requests: 1, PromptWords: 8, MaxTokens: 3}}}}
		var order []string
		runs := must.Get(Alternate(t.Context(), []Target{{Name: "quick", Streamer: quick}, {Name: "slow", Streamer: slow}}, scenario, 3, func(m Measured) { order = append(order, m.Target) }))(t)
		if got := strings.Join(order, " "); got != "quick slow slow quick quick slow" {
			t.Errorf("order %s", got)
		}
		if diff := cmp.Diff(quick.requests, slow.requests); diff != "" {
			t.Errorf("the targets got different prompts: %s", diff)
		}
		if quick.requests[1].Prompt == quick.requests[2].Prompt { // the first one is before the rounds
			t.Error("two rounds had the same prompt")
		}
		again, same := &fake{answer: quick.answer}, scenario
		same.Same = true
		must.Get(Alternate(t.Context(), []Target{{Name: "again", Streamer: again}}, same, 2, nil))(t)
		if again.requests[1].Prompt != again.requests[2].Prompt {
			t.Error("two rounds with the same prompts had others")
		}
		own := &fake{answer: quick.answer}
		must.Get(Alternate(t.Context(), []Target{{Name: "own", Streamer: own, OwnPrompts: true}}, scenario, 1, nil))(t)
		if own.requests[1].Prompt == quick.requests[1].Prompt {
			t.Error("a target with prompts of its own got those of another")
		}
		report := NewReport(Machine{"cpu", 2, "linux"}, []Scenario{scenario}, runs)
		ratios := map[string]float64{}
		for _, r := range report.Ratios {
			ratios[r.Figure] = r.Ratio
		}
		want := map[string]float64{"tokens/s": 100. / 30, "prompt tokens/s": 100. / 30, "TTFT p50 ms": 0.5, "ITL p50 ms": 0.25, "ITL p99 ms": 0.25}
		if diff := cmp.Diff(want, ratios, about); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1}, 5}, {[]float64{5, 1, 100}, 5}} {
		if got := Median(test.in); got != test.want {
			t.Errorf("median of %v = %v, want %v", test.in, got, test.want)
		}
	}
}

func exampleReport() Report {
	classes := []Summary{
		{Class: "short", Requests: 4, Failed: 1, Error: "no room", Tokens: 40, TokensPerSecond: 20, PromptTokens: 8, PromptTokensPerSecond: 4,
			TTFT: Latency{3, 1, 2, 3, 4}, ITL: Latency{30, 5, 6, 7, 8}},
	}
	run := func(target string) Measured {
		return Measured{"mixed", target, 1, Result{Seconds: 2, Classes: classes, Total: classes[0]}}
	}
	r := NewReport(Machine{"cpu", 2, "linux"}, []Scenario{{Name: "mixed", Load: Load{Classes: []Class{{Name: "short", Clients: 1}}}}}, []Measured{run("a"), run("b")})
	r.Time = time.Unix(0, 0).UTC()
	return r
}

func TestReport_WriteJSON_KeepsItsNames(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, exampleReport().WriteJSON(&b))
	var got struct {
		Time    string
		Machine map[string]any
		Loads   map[string][]map[string]any
		Runs    []map[string]any
		Ratios  []map[string]any
	}
	must.Do(t, json.Unmarshal(b.Bytes(), &got))
	latency := func(count, p50, p95, p99, most float64) map[string]any {
		return map[string]any{"count": count, "p50_ms": p50, "p95_ms": p95, "p99_ms": p99, "max_ms": most}
	}
	class := map[string]any{"class": "short", "requests": 4., "failed": 1., "error": "no room", "tokens": 40., "tokens_per_second": 20.,
		"prompt_tokens": 8., "prompt_tokens_per_second": 4., "cached_tokens": 0., "ttft": latency(3, 1, 2, 3, 4), "itl": latency(30, 5, 6, 7, 8)}
	want := map[string]any{"scenario": "mixed", "target": "a", "round": 1., "seconds": 2., "classes": []any{class}, "total": class}
	if diff := cmp.Diff(want, got.Runs[0]); diff != "" {
		t.Error(diff)
	}
	if len(got.Ratios) != 5 || got.Time != "1970-01-01T00:00:00Z" || got.Machine["cores"] != 2. || got.Loads["mixed"][0]["name"] != "short" {
		t.Errorf("%+v", got)
	}
}

func TestReport_WriteTable_ShowsFiguresErrorsAndRatios(t *testing.T) {
	var b bytes.Buffer
	must.Do(t, exampleReport().WriteTable(&b))
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{
		"cpu, 2 cores, linux",
		"mixed a short 4 1 20.0 4.0 1.0 3.0 5.0 6.0 7.0 8.0",
		"mixed on b, round 1: 1 of 4 requests of class short failed, such as: no room",
		"mixed short ITL p99 ms a 7.0 b 7.0 1.00",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}
