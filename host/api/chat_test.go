// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

func TestAPI_Chat_Whole(t *testing.T) {
	r := newRig(t, nil)
	var a chatAnswer
	r.post("/v1/chat/completions", `{"model":"toy",`+hello+`,"max_tokens":5}`, &a)
	if a.Object != "chat.completion" || a.Model != "toy" || !strings.HasPrefix(a.ID, "chatcmpl-") || a.Created == 0 {
		t.Errorf("head %+v", a.answerHead)
	}
	c := a.Choices[0]
	if c.Message.Role != "assistant" || len(strings.Fields(c.Message.Content)) != 5 || c.FinishReason != "length" || c.Logprobs != nil {
		t.Errorf("choice %+v", c)
	}
	prompt := len("user:hi\n")
	if a.Usage.Prompt != prompt || a.Usage.Completion != 5 || a.Usage.Total != prompt+5 || a.Usage.Details.Cached != 0 {
		t.Errorf("usage %+v", a.Usage)
	}
	if a.Timings.PredictedN != 5 || a.Timings.PromptN != prompt {
		t.Errorf("timings %+v", a.Timings)
	}
	var again chatAnswer
	r.post("/v1/chat/completions", `{`+hello+`,"max_tokens":5}`, &again)
	if again.Usage.Details.Cached == 0 || again.Choices[0].Message.Content != c.Message.Content {
		t.Errorf("the second answer %+v", again)
	}
	var uncached chatAnswer
	if r.post("/v1/chat/completions", `{`+hello+`,"max_tokens":5,"cache_prompt":false}`, &uncached); uncached.Usage.Details.Cached != 0 {
		t.Errorf("usage without the cache: %+v", uncached.Usage)
	}
}

func TestAPI_Chat_EndOfGenerationAndStop(t *testing.T) {
	r := newRig(t, func(s *setup) { s.end = 20 })
	var a chatAnswer
	if r.post("/v1/chat/completions", `{`+hello+`}`, &a); a.Choices[0].FinishReason != "stop" {
		t.Errorf("choice %+v", a.Choices[0])
	}
	words := strings.Fields(a.Choices[0].Message.Content)
	var cut chatAnswer
	r.post("/v1/chat/completions", `{`+hello+`,"stop":" `+words[3]+`"}`, &cut)
	if got := strings.Fields(cut.Choices[0].Message.Content); len(got) != 3 || cut.Choices[0].FinishReason != "stop" {
		t.Errorf("cut at %q: %+v", words[3], cut.Choices[0])
	}
	var on chatAnswer
	if r.post("/v1/chat/completions", `{`+hello+`,"ignore_eos":true,"max_tokens":40}`, &on); on.Usage.Completion != 40 {
		t.Errorf("ignore_eos: %+v", on.Usage)
	}
}

func TestAPI_Chat_Stream(t *testing.T) {
	r := newRig(t, nil)
	var whole chatAnswer
	r.post("/v1/chat/completions", `{`+hello+`,"max_tokens":5}`, &whole)
	status, header, text := r.call(http.MethodPost, "/v1/chat/completions", `{`+hello+`,"max_tokens":5,"stream":true,"stream_options":{"include_usage":true}}`)
	if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%d %s %s", status, header, text)
	}
	events := frames(t, text)
	if last := events[len(events)-1]; last != "[DONE]" {
		t.Fatalf("the last event is %q", last)
	}
	var content strings.Builder
	var reasons []string
	chunks := make([]chatChunk, len(events)-1)
	for i, e := range events[:len(events)-1] {
		must.Do(t, json.Unmarshal([]byte(e), &chunks[i]))
		c := chunks[i]
		if c.ID != chunks[0].ID || c.Object != "chat.completion.chunk" {
			t.Errorf("chunk %d: %s", i, e)
		}
		if strings.Contains(e, `"usage":null`) != (i < len(chunks)-1) {
			t.Errorf("chunk %d: %s; the usage must be null up to the last", i, e)
		}
		for _, choice := range c.Choices {
			if choice.Delta.Content != nil {
				content.WriteString(*choice.Delta.Content)
			}
			if choice.FinishReason != nil {
				reasons = append(reasons, *choice.FinishReason)
			}
		}
	}
	if chunks[0].Choices[0].Delta.Role != "assistant" || chunks[1].Choices[0].Delta.Role != "" {
		t.Error("the role must come once, first")
	}
	if content.String() != whole.Choices[0].Message.Content {
		t.Errorf("streamed %q, whole %q", content.String(), whole.Choices[0].Message.Content)
	}
	if len(reasons) != 1 || reasons[0] != "length" {
		t.Errorf("finish reasons %v", reasons)
	}
	if u := chunks[len(chunks)-1]; u.Usage == nil || u.Usage.Completion != 5 || len(u.Choices) != 0 {
		t.Errorf("the wire.Usage chunk is %+v", u)
	}
}

// A stream whose client has not asked for the usage says nothing of it.
func TestAPI_Stream_WithoutUsage(t *testing.T) {
	r := newRig(t, nil)
	for path, prompt := range map[string]string{"/v1/chat/completions": hello, "/v1/completions": `"prompt":"a"`} {
		if _, _, text := r.call(http.MethodPost, path, `{`+prompt+`,"max_tokens":2,"stream":true}`); strings.Contains(text, "usage") {
			t.Errorf("%s: %s", path, text)
		}
	}
}

func TestAPI_Chat_ChoicesAreAllAnswered(t *testing.T) {
	r := newRig(t, func(s *setup) { s.slots = 2 })
	var a chatAnswer
	r.post("/v1/chat/completions", `{`+hello+`,"max_tokens":4,"n":3}`, &a)
	if len(a.Choices) != 3 || a.Usage.Completion != 12 || a.Usage.Prompt != len("user:hi\n") {
		t.Fatalf("got %+v", a)
	}
	_, _, text := r.call(http.MethodPost, "/v1/chat/completions", `{`+hello+`,"max_tokens":4,"n":3,"stream":true}`)
	content, ends := map[int]string{}, 0
	for _, e := range frames(t, text) {
		var c chatChunk
		if e == "[DONE]" {
			continue
		}
		must.Do(t, json.Unmarshal([]byte(e), &c))
		if d := c.Choices[0]; d.FinishReason != nil {
			ends++
		} else {
			content[d.Index] += *d.Delta.Content
		}
	}
	for i, choice := range a.Choices {
		if choice.Index != i || content[i] != choice.Message.Content {
			t.Errorf("choice %d: streamed %q, whole %q", i, content[i], choice.Message.Content)
		}
	}
	if ends != 3 {
		t.Errorf("%d ends", ends)
	}
}

func TestAPI_Chat_Logprobs(t *testing.T) {
	r := newRig(t, nil)
	var a chatAnswer
	r.post("/v1/chat/completions", `{`+hello+`,"max_tokens":3,"logprobs":true,"top_logprobs":2}`, &a)
	probs := a.Choices[0].Logprobs.Content
	if len(probs) != 3 {
		t.Fatalf("got %+v", probs)
	}
	for _, p := range probs {
		// The toy's best token has logit 10, all others 0.
		if p.Logprob > 0 || p.Logprob < -1 || len(p.Top) != 2 || p.Top[0].ID != p.ID || p.Top[1].Logprob >= p.Logprob || len(p.Bytes) != 1 {
			t.Errorf("got %+v", p)
		}
	}
	_, _, text := r.call(http.MethodPost, "/v1/chat/completions", `{`+hello+`,"max_tokens":3,"logprobs":true,"stream":true}`)
	if n := strings.Count(text, `"logprobs":{"content":[{`); n != 3 {
		t.Errorf("%d probabilities in the stream", n)
	}
}
