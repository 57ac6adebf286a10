// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"
)

// greedy asks a question in any dialect; the answer must be that of an idle server.
func greedy(ctx context.Context, s *soak, rng *rand.Rand) error {
	q, stream := pick(rng, s.questions), rng.IntN(2) == 0
	d := pick(rng, slices.DeleteFunc(slices.Clone(dialects), func(d dialect) bool { return d.chat != q.chat }))
	b := d.body(q, stream)
	b["cache_prompt"] = rng.IntN(4) > 0
	b["priority"] = -rng.IntN(2)
	ok, err := s.compare(ctx, s.http, post(d.path, pick(rng, goodKeys), b), d, q, stream)
	if ok {
		s.tally.add(kindOf(d, q, stream), q.answer.reason)
	}
	return err
}

// kindOf names a request for the report.
func kindOf(d dialect, q question, stream bool) string {
	kind := "POST " + d.path
	if stream {
		kind += ", streamed"
	}
	if q.uses("plugins") {
		kind += ", with a plugin"
	}
	return kind
}

// compare sends a question, whose answer must be known. ok is false where there was no room for it.
func (s *soak) compare(ctx context.Context, client *http.Client, c call, d dialect, q question, stream bool) (ok bool, _ error) {
	response, err := s.begin(ctx, client, c)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return false, fmt.Errorf("%s: the answer broke off after %q: %w", c, body, err)
	}
	return s.judge(c, answer{response.StatusCode, body}, d, q, stream)
}

// judge compares an answer with the one that is known.
func (s *soak) judge(c call, a answer, d dialect, q question, stream bool) (ok bool, _ error) {
	if end, busy := a.busy(); busy && (a.status != http.StatusServiceUnavailable || q.uses("plugins")) {
		s.tally.add(kindOf(d, q, stream), end)
		return false, nil
	}
	want := fmt.Sprintf("the text %q, ended by %s", q.answer.text, q.answer.reason)
	if a.status != http.StatusOK {
		return false, &wrong{c.String(), a.String(), want}
	}
	got, err := d.read(a.body, stream)
	if err != nil {
		return false, &wrong{c.String(), fmt.Sprintf("%v: %s", err, a), want}
	}
	if got != q.answer {
		return false, &wrong{c.String(), fmt.Sprintf("the text %q, ended by %s %s", got.text, got.reason, got.fault), want}
	}
	return true, nil
}

// drawnBody is a request for an answer that nobody knows: a prompt of any length, and parameters
// that are often left alone.
func drawnBody(rng *rand.Rand, most int) map[string]any {
	b := map[string]any{"model": tiny, "prompt": strings.Repeat("The frog sat by the pond. ", rng.IntN(40)) + fmt.Sprintf("Story %d", rng.IntN(1000)),
		"max_tokens": 1 + rng.IntN(most), "seed": rng.IntN(1 << 30)}
	more := map[string]any{"temperature": 2 * rng.Float64(), "top_k": rng.IntN(50), "min_p": rng.Float64() / 2, "repeat_penalty": 1.1, "mirostat": 2,
		"xtc_probability": 0.5, "dry_multiplier": 0.8, "logprobs": 3, "trace": true, "ignore_eos": true, "top_n_sigma": 1.5,
		"logit_bias": map[string]any{"300": 2}, "stop": []string{".", "!"}}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		if rng.IntN(8) == 0 {
			b[name] = more[name]
		}
	}
	return b
}

// drawn asks for an answer that has no known text; it must have its form, and one end.
func drawn(ctx context.Context, s *soak, rng *rand.Rand) error {
	b, stream := drawnBody(rng, 60), rng.IntN(2) == 0
	b["stream"] = stream
	c := post("/v1/completions", pick(rng, goodKeys), b)
	a, err := s.send(ctx, c)
	if err != nil {
		return err
	}
	kind := kindOf(dialects[0], question{}, stream)
	if end, busy := a.busy(); busy {
		s.tally.add(kind, end)
		return nil
	}
	got, err := dialects[0].read(a.body, stream)
	if err != nil || a.status != http.StatusOK || got.reason != "stop" && got.reason != "length" {
		return &wrong{c.String(), fmt.Sprintf("%s (%v)", a, err), "an answer with one end, which is stop or length"}
	}
	s.tally.add(kind, got.reason)
	return nil
}

// severalChoices asks for several answers at once, each of which must end once.
func severalChoices(ctx context.Context, s *soak, rng *rand.Rand) error {
	b := drawnBody(rng, 20)
	n := 2 + rng.IntN(4)
	b["n"], b["stream"], b["logprobs"], b["trace"] = n, true, nil, nil
	c := post("/v1/completions", pick(rng, goodKeys), b)
	a, ok, err := s.expect(ctx, "POST /v1/completions, several choices", c, http.StatusOK)
	if !ok {
		return err
	}
	text := string(a.body)
	ends := strings.Count(text, `"finish_reason":"stop"`) + strings.Count(text, `"finish_reason":"length"`)
	if ends != n || strings.Count(text, "data: [DONE]") != 1 || !strings.HasSuffix(text, "data: [DONE]\n\n") {
		return &wrong{c.String(), a.String(), fmt.Sprintf("%d ends, then [DONE]", n)}
	}
	return nil
}

// leaves reads the beginning of a stream, or not even that, and closes the connection.
func leaves(ctx context.Context, s *soak, rng *rand.Rand) error {
	b := drawnBody(rng, 400)
	b["stream"] = true
	after, bytes := time.Duration(rng.IntN(30))*time.Millisecond, rng.IntN(2000)
	early := rng.IntN(3) == 0
	if early {
		short, cancel := context.WithTimeout(ctx, after)
		defer cancel()
		ctx = short
	}
	response, err := s.begin(ctx, s.http, post("/v1/completions", pick(rng, goodKeys), b))
	if err == nil {
		_, err = io.CopyN(io.Discard, response.Body, int64(bytes))
		_ = response.Body.Close()
	}
	if err != nil && !early && !errors.Is(err, io.EOF) {
		return err
	}
	s.tally.add("POST /v1/completions, streamed", "the client left")
	return nil
}

// slowReader reads a stream of traces so slowly that the server has to wait for it.
func slowReader(ctx context.Context, s *soak, rng *rand.Rand) error {
	b := drawnBody(rng, 60)
	b["stream"], b["trace"], b["ignore_eos"] = true, true, true
	c := post("/v1/completions", pick(rng, goodKeys), b)
	response, err := s.begin(ctx, s.slow, c)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var text strings.Builder
	for buffer := make([]byte, 8<<10); err == nil; {
		var n int
		n, err = response.Body.Read(buffer)
		text.Write(buffer[:n])
		time.Sleep(2 * time.Millisecond) // slow by design
	}
	a := answer{response.StatusCode, []byte(text.String())}
	const kind = "POST /v1/completions, read slowly"
	if end, busy := a.busy(); busy {
		s.tally.add(kind, end)
		return nil
	}
	got, wrongForm := dialects[0].read(a.body, true)
	if !errors.Is(err, io.EOF) || wrongForm != nil || got.fault != "" {
		return &wrong{c.String(), fmt.Sprintf("%v %v %s", err, wrongForm, a), "an answer with one end"}
	}
	s.tally.add(kind, got.reason)
	return nil
}

// timeout gives an answer so little time that it often does not end.
func timeout(ctx context.Context, s *soak, rng *rand.Rand) error {
	b := drawnBody(rng, 100)
	b["timeout_ms"], b["trace"], b["logprobs"] = 1+rng.IntN(200), nil, nil
	_, _, err := s.expect(ctx, "POST /v1/completions, little time", post("/v1/completions", pick(rng, goodKeys), b), http.StatusOK, http.StatusUnprocessableEntity)
	return err
}
