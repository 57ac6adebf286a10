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

	"github.com/penstock/penstock/tools/lab/bench"
)

// actor is something that clients or operators do.
type actor struct {
	name   string
	weight int
	act    func(ctx context.Context, s *soak, rng *rand.Rand) error
}

var actors = []actor{
	{"greedy", 300, greedy},
	{"drawn", 40, drawn},
	{"several choices", 15, severalChoices},
	{"leaves", 60, leaves},
	{"slow reader", 4, slowReader},
	{"timeout", 15, timeout},
	{"wrong body", 90, wrongBody},
	{"small route", 450, smallRoute},
	{"words", 120, words},
	{"embedding", 30, embedding},
	{"rerank", 15, rerank},
	{"socket", 40, socketGreedy},
	{"socket paused", 20, socketPaused},
	{"socket rewound", 20, socketRewound},
	{"socket forked", 12, socketForked},
	{"socket attached", 15, socketAttached},
	{"socket steered", 25, socketSteered},
	{"socket left", 15, socketLeft},
	{"socket slow", 4, socketSlow},
	{"socket watch", 10, socketWatch},
	{"hostile plugin", 15, hostilePlugin},
	{"wrong module", 6, wrongModule},
	{"upload", 6, upload},
	{"plugin file", 2, pluginFile},
	{"key file", 2, keyFile},
	{"adapters", 5, adapters},
	{"model", 2, reloadModel},
	{"slot file", 6, slotFile},
	{"for others", 6, forOthers},
	{"attack", 6, attacking},
	{"attack unread", 2, notReading},
}

// chosen are the actors whose names begin so.
func chosen(only string) (some []actor) {
	for _, a := range actors {
		if strings.HasPrefix(a.name, only) {
			some = append(some, a)
		}
	}
	return some
}

func actorNames() (names []string) {
	for _, a := range actors {
		names = append(names, a.name)
	}
	return names
}

// draw picks an actor by weight.
func draw(from []actor, rng *rand.Rand) actor {
	sum := 0
	for _, a := range from {
		sum += a.weight
	}
	n := rng.IntN(sum)
	for _, a := range from {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	return from[0]
}

// pick is one of a list.
func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// greedy asks a question in any dialect; the answer must be that of an idle server.
func greedy(ctx context.Context, s *soak, rng *rand.Rand) error {
	q, stream := pick(rng, s.questions), rng.IntN(2) == 0
	d := pick(rng, slices.DeleteFunc(slices.Clone(dialects), func(d dialect) bool { return d.chat != q.chat }))
	b := d.body(q, stream)
	b["cache_prompt"] = rng.IntN(4) > 0
	b["priority"] = -rng.IntN(2)
	ok, err := s.compare(ctx, post(d.path, pick(rng, goodKeys), b), d, q, stream)
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
	if q.hasPlugin() {
		kind += ", with a plugin"
	}
	return kind
}

// compare sends a question, whose answer must be known. ok is false where there was no room for it.
func (s *soak) compare(ctx context.Context, c bench.Call, d dialect, q question, stream bool) (ok bool, _ error) {
	a, err := s.send(ctx, c)
	if err != nil {
		return false, err
	}
	return s.judge(c, a, d, q, stream)
}

// judge compares an answer with the one that is known.
func (s *soak) judge(c bench.Call, a bench.Answer, d dialect, q question, stream bool) (ok bool, _ error) {
	if end, full := busy(a); full && (a.Status != http.StatusServiceUnavailable || q.hasPlugin()) {
		s.tally.add(kindOf(d, q, stream), end)
		return false, nil
	}
	want := fmt.Sprintf("the text %q, ended by %s", q.answer.text, q.answer.reason)
	if a.Status != http.StatusOK {
		return false, &wrong{c.String(), a.String(), want}
	}
	got, err := d.read(a.Body, stream)
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
	if end, full := busy(a); full {
		s.tally.add(kind, end)
		return nil
	}
	got, err := dialects[0].read(a.Body, stream)
	if err != nil || a.Status != http.StatusOK || got.reason != "stop" && got.reason != "length" {
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
	text := string(a.Body)
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
	response, err := s.http.Begin(ctx, post("/v1/completions", pick(rng, goodKeys), b))
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
	response, err := s.slow.Begin(ctx, c)
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
	a := bench.Answer{Status: response.StatusCode, Body: []byte(text.String())}
	const kind = "POST /v1/completions, read slowly"
	if end, full := busy(a); full {
		s.tally.add(kind, end)
		return nil
	}
	got, wrongForm := dialects[0].read(a.Body, true)
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
