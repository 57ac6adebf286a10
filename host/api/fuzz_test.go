// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"testing"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// toyService plans requests and starts none.
func toyService() *service {
	return &service{textPool: newTextPool(), Options: Options{Engine: toy{}, Model: Model{Name: "toy", Vocabulary: vocabularySize, Context: contextSize}}}
}

// checkPlan is what must hold of every body: a refusal that says so with a 4xx, or a request in range.
func checkPlan(t *testing.T, g generation, err error) {
	t.Helper()
	if err != nil {
		e := asError(err, "prompt")
		if e.Status < 400 || e.Status > 499 {
			t.Errorf("status %d: %v", e.Status, err)
		}
		if _, err := json.Marshal(envelope{e.body()}); err != nil {
			t.Error(err)
		}
		return
	}
	if err := g.params.Validate(); err != nil {
		t.Error(err)
	}
	if g.choices < 1 || g.choices > maxChoices || len(g.prompts) < 1 || len(g.prompts) > maxPrompts || g.maxTokens < 0 || g.logprobs > maxLogprobs {
		t.Errorf("out of range: %+v", g)
	}
	for _, p := range g.prompts {
		for _, token := range p {
			if token < 0 || token >= vocabularySize {
				t.Errorf("token %d", token)
			}
		}
	}
}

func FuzzBodies(f *testing.F) {
	for _, tc := range badChats {
		if len(tc.body) < 1000 {
			f.Add([]byte(tc.body))
		}
	}
	f.Add([]byte(`{"prompt":[1,"a"],"n":2,"stop":["x"],"logit_bias":[[1,false],["b",2]],"samplers":["top_k"]}`))
	f.Add([]byte(`{"messages":[{"role":"assistant","content":null,"tool_calls":[{}]}],"logprobs":true,"top_logprobs":3}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := toyService()
		g, err := s.parseChat(t.Context(), caller{}, body)
		checkPlan(t, g, err)
		g, err = s.parseText(t.Context(), caller{}, body)
		checkPlan(t, g, err)
		g, _, err = s.parseNative(t.Context(), caller{}, body)
		checkPlan(t, g, err)
	})
}

// still is a stream without events.
type still struct{ Stream }

func (still) Cancel() {}

func FuzzFrames(f *testing.F) {
	for _, frame := range []string{
		`{"type":"generate","id":"a","request":{"prompt":"x"},"detach_ms":5}`, `{"type":"generate","id":"b","request":{` + hello + `}}`,
		`{"type":"set","id":"live","sampling":{"temperature":1}}`, `{"type":"inject","id":"live","text":"x"}`,
		`{"type":"rewind","id":"live","tokens":3}`, `{"type":"attach","id":"c","stream":"s","after":-1}`, `{"type":"cancel","id":"live"}`, `[]`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var frame clientFrame
		if err := decode(data, &frame); err != nil {
			checkPlan(t, generation{}, err)
			return
		}
		s := toyService()
		s.Scheduler = refusing{}
		k := &socket{service: s, ctx: t.Context(), answers: map[string]*socketAnswer{}}
		k.answers["live"] = &socketAnswer{socket: k, id: "live", stream: still{}, params: sampling.Default()}
		if err := k.dispatch(frame); err != nil {
			checkPlan(t, generation{}, err)
		}
	})
}

// refusing is a scheduler that takes nothing.
type refusing struct{ Scheduler }

func (refusing) SubmitAll([]scheduler.Request) ([]Stream, error) { return nil, scheduler.ErrQueueFull }
