// SPDX-License-Identifier: MIT

package archs

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tests/peer"
	"github.com/penstock/penstock/tools/must"
)

const (
	answerLen = 64 // tokens
	slots     = 4
)

// server is Penstock at work on a model, with one layout of cells.
type server struct {
	*testing.T
	*loading.Core
	layout    string
	lacks     model.Lacks
	reference []answer // those to prompts, alone
}

// contextLen is how many cells a conversation may have: what is computed may depend on it. If they
// are shared, there are no more, so that answers preempt one another.
const contextLen = 512

// settings are those of `penstock serve` with one thread, which does not spin beside other tests.
func settings(t *testing.T, path, layout string) config.Config {
	t.Helper()
	cells := map[string]int{"split": contextLen * slots, "shared": contextLen}[layout]
	return must.Get(config.Load(config.Sources{Flags: map[string]any{"model.path": path, "model.threads": 1, "model.kv_layout": layout,
		"model.ctx_size": cells, "scheduler.slots": slots, "plugins.dir": t.TempDir()}}))(t)
}

// serve runs Penstock until the test ends.
func serve(t *testing.T, path, layout string, lacks model.Lacks) (*server, error) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	native.SetLogger(log)
	core, err := loading.Open(t.Context(), settings(t, path, layout), log, loading.Options{})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- core.Scheduler.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := core.Close(); err != nil {
			t.Error(err)
		}
	})
	return &server{T: t, Core: core, layout: layout, lacks: lacks}, nil
}

// manner is how an answer is asked for.
type manner struct {
	fresh bool // nothing of the KV cache is used
	mute  bool // without log-probabilities: llama.cpp's samplers draw, and no worker
	held  bool // it goes on only as it is read
	short bool // a few tokens are enough
}

// ask begins an answer.
func (s *server) ask(prompt []int32, m manner) *stream {
	s.Helper()
	return s.askAll(s.request(prompt, m))[0]
}

// askAll begins answers at the same moment.
func (s *server) askAll(requests ...scheduler.Request) (streams []*stream) {
	s.Helper()
	all, err := s.Scheduler.SubmitAll(requests)
	if err != nil {
		s.Fatal(err)
	}
	for _, st := range all {
		streams = append(streams, &stream{Stream: st, server: s})
	}
	return streams
}

// request asks for a greedy answer.
func (s *server) request(prompt []int32, m manner) scheduler.Request {
	s.Helper()
	p := sampling.Default()
	p.Temperature, p.IgnoreEOS = 0, true
	chain, err := s.Engine.NewChain(p)
	if err != nil {
		s.Fatal(err)
	}
	logprobs, buffer, most := likeliest, 0, answerLen
	if m.mute {
		logprobs = -1
	}
	if m.held {
		buffer, most = 2, answerLen+32 // a tick may add many drafted tokens: it must not end before it is steered
	}
	if m.short {
		most = 4
	}
	return scheduler.Request{Prompt: []scheduler.Segment{{Tokens: prompt}}, Ending: scheduler.Ending{MaxTokens: most, IgnoreEOG: true}, Chain: chain, Reports: scheduler.Reports{Logprobs: logprobs},
		Caching: scheduler.Caching{CachePrompt: !m.fresh}, Delivery: scheduler.Delivery{Buffer: buffer}}
}

// stream is an answer that is being read.
type stream struct {
	*scheduler.Stream
	*server
	answer answer
	slot   int
	cached int // tokens of the prompt that were found
	ended  bool
}

// read reads on until the answer has n tokens or has ended.
func (st *stream) read(n int) {
	st.Helper()
	for len(st.answer) < n && !st.ended {
		e, err := st.Next(st.Context())
		if err != nil {
			st.Fatal(err)
		}
		st.take(e)
	}
}

func (st *stream) take(e scheduler.Event) {
	st.Helper()
	switch e.Kind {
	case scheduler.KindStarted:
		st.slot, st.cached = e.Started.Slot, e.Started.CachedTokens
	case scheduler.KindToken:
		s := step{token: e.Token}
		if e.Logprobs != nil {
			s.top = map[int32]float64{e.Token: float64(e.Logprobs.Token)}
			for _, c := range e.Logprobs.Top {
				s.top[c.Token] = float64(c.Logprob)
			}
		}
		st.answer = append(st.answer, s)
	case scheduler.KindRewound:
		st.answer = st.answer[:len(st.answer)-e.Rewound.Tokens]
	case scheduler.KindEnd:
		st.ended = true
		if e.End.Err != nil {
			st.Error(e.End.Err)
		}
	}
}

// whole is the answer when it has ended.
func (st *stream) whole() answer {
	st.Helper()
	st.read(1 << 20)
	return st.answer[:min(len(st.answer), answerLen)]
}

// tokens are those of an answer.
func (a answer) tokens() []int32 {
	var all []int32
	for _, s := range a {
		all = append(all, s.token)
	}
	return all
}

// ofLlamaServer has llama-server answer prompts, each alone and without flash attention, whose
// sums of values have 11 bits on a CPU: with it, its own answers depend on how a prompt is cut
// into passes.
func ofLlamaServer(t *testing.T, path string, prompts [][]int32, flags ...string) []answer {
	t.Helper()
	s := peer.LlamaServer(t, path, append([]string{"--parallel", "1", "--ctx-size", strconv.Itoa(contextLen), "--cache-type-k", "f16", "--cache-type-v", "f16"}, flags...)...)
	body := must.Get(json.Marshal(map[string]any{"prompt": prompts, "n_predict": answerLen, "temperature": 0, "ignore_eos": true, "n_probs": likeliest, "cache_prompt": false}))(t)
	a := s.Call(t, "POST", "/completion", string(body))
	type token struct {
		ID      int32   `json:"id"`
		Logprob float64 `json:"logprob"`
	}
	var results []struct {
		Index  int `json:"index"`
		Tokens []struct {
			token
			Top []token `json:"top_logprobs"`
		} `json:"completion_probabilities"`
	}
	if err := json.Unmarshal([]byte(a.Body), &results); err != nil || len(results) != len(prompts) {
		t.Fatalf("llama-server: %d, %v: %.500s", a.Status, err, a.Body)
	}
	all := make([]answer, len(prompts))
	for _, r := range results {
		for _, c := range r.Tokens {
			s := step{token: c.ID, top: map[int32]float64{c.ID: c.Logprob}}
			for _, o := range c.Top {
				s.top[o.ID] = o.Logprob
			}
			all[r.Index] = append(all[r.Index], s)
		}
	}
	return all
}
