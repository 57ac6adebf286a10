// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// frameBody is a question as the request of a generate frame.
func frameBody(q question) map[string]any {
	d := dialects[0]
	if q.chat {
		d = dialects[3]
	}
	return d.body(q, true)
}

// socketGreedy asks some questions at once over one connection.
func socketGreedy(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, err := s.dial(ctx, s.http, pick(rng, goodKeys))
	if err != nil {
		return err
	}
	defer k.hang()
	asked := map[string]question{}
	for i := range 1 + rng.IntN(4) {
		id := fmt.Sprint("a", i)
		asked[id] = pick(rng, s.questions)
		if err := k.generate(ctx, id, frameBody(asked[id]), map[string]any{"parts": false, "overflow": "park"}); err != nil {
			return err
		}
	}
	if err := k.finish(ctx, "greedy"); err != nil {
		return err
	}
	for id, q := range asked {
		if err := k.judge(id, q); err != nil {
			return err
		}
	}
	return nil
}

// one asks one question over a connection of its own and reads its first tokens.
func (s *soak) one(ctx context.Context, rng *rand.Rand, more map[string]any) (*socket, question, error) {
	k, err := s.dial(ctx, s.http, pick(rng, goodKeys))
	q := pick(rng, s.questions)
	if err != nil {
		return nil, q, err
	}
	if err := k.generate(ctx, "a", frameBody(q), more); err != nil {
		k.hang()
		return nil, q, err
	}
	h, n := k.heard["a"], rng.IntN(12)
	if err := k.until(ctx, func() bool { return h.ended || h.tokens > n }); err != nil {
		k.hang()
		return nil, q, err
	}
	return k, q, nil
}

// socketPaused pauses an answer and goes on with it: it is the same.
func socketPaused(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, q, err := s.one(ctx, rng, nil)
	if err != nil {
		return err
	}
	defer k.hang()
	if err := k.send(ctx, "pause", "a", nil); err != nil {
		return err
	}
	h := k.heard["a"]
	if err := k.until(ctx, func() bool { return h.paused > 0 || len(h.refusals) > 0 || h.ended }); err != nil {
		return err
	}
	time.Sleep(time.Duration(rng.IntN(40)) * time.Millisecond) // others take the slot meanwhile
	if err := k.send(ctx, "resume", "a", nil); err != nil {
		return err
	}
	if err := k.finish(ctx, "paused and resumed"); err != nil {
		return err
	}
	return k.judge("a", q)
}

// socketRewound takes tokens back, which are drawn again: greedily they are the same. A plugin may
// know better the second time, so there is none.
func socketRewound(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, q, err := s.one(ctx, rng, nil)
	if err != nil {
		return err
	}
	defer k.hang()
	if err := k.send(ctx, "rewind", "a", map[string]any{"tokens": 1 + rng.IntN(3)}); err != nil {
		return err
	}
	if err := k.finish(ctx, "rewound"); err != nil || q.uses("plugins") {
		return err
	}
	return k.judge("a", q)
}

// socketForked has an answer go on in two ways, which are greedily the same.
func socketForked(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, q, err := s.one(ctx, rng, nil)
	if err != nil {
		return err
	}
	defer k.hang()
	if err := k.fork(ctx, "a", "b"); err != nil {
		return err
	}
	if err := k.finish(ctx, "forked"); err != nil {
		return err
	}
	if err := k.judge("a", q); err != nil || k.heard["b"].reason == "refused" { // the answer had ended
		return err
	}
	return k.judge("b", q)
}

// socketAttached loses the connection and goes on with the answer over another.
func socketAttached(ctx context.Context, s *soak, rng *rand.Rand) error {
	const detach = 3000 // milliseconds
	k, q, err := s.one(ctx, rng, map[string]any{"detach_ms": detach})
	if err != nil {
		return err
	}
	k.hang()
	lost := k.heard["a"]
	if lost.ended {
		k.count("attached")
		return k.judge("a", q)
	}
	left := time.Now()
	next, err := s.dial(ctx, s.http, k.key) // to another key there is no such stream
	if err != nil {
		return err
	}
	defer next.hang()
	next.sent, next.heard["a"] = k.sent, lost
	if err := next.send(ctx, "attach", "a", map[string]any{"stream": lost.stream, "after": lost.seq}); err != nil {
		return err
	}
	if err := next.finish(ctx, "attached"); err != nil {
		return err
	}
	if lost.fault == "unknown_stream" && time.Since(left) > detach*time.Millisecond { // it came too late
		return nil
	}
	return next.judge("a", q)
}

// verbs are frames that steer an answer.
var verbs = []struct {
	name string
	more map[string]any
}{
	{"pause", nil}, {"resume", nil}, {"set", map[string]any{"sampling": map[string]any{"temperature": 1.2}}}, {"set", map[string]any{"sampling": map[string]any{"top_k": 3}}},
	{"inject", map[string]any{"text": " and then"}}, {"rewind", map[string]any{"tokens": 2}}, {"rewind", map[string]any{"tokens": 400}}, {"set", map[string]any{"sampling": map[string]any{"temperature": -1}}},
}

// socketSteered steers an answer at random, also in ways that are refused, and ends it.
func socketSteered(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, err := s.dial(ctx, s.http, pick(rng, goodKeys))
	if err != nil {
		return err
	}
	defer k.hang()
	if err := k.generate(ctx, "a", drawnBody(rng, 200), map[string]any{"parts": rng.IntN(4) == 0}); err != nil {
		return err
	}
	for i := range 2 + rng.IntN(8) {
		v := pick(rng, verbs)
		if rng.IntN(8) == 0 {
			err = k.fork(ctx, "a", fmt.Sprint("b", i))
		} else {
			err = k.send(ctx, v.name, "a", v.more)
		}
		if err != nil {
			return err
		}
		if rng.IntN(2) == 0 {
			time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(k.heard)) {
		if err := k.send(ctx, "resume", id, nil); err != nil {
			return err
		}
		if rng.IntN(2) == 0 {
			if err := k.send(ctx, "cancel", id, nil); err != nil {
				return err
			}
		}
	}
	if err := k.finish(ctx, "steered"); err != nil {
		return err
	}
	for id, h := range k.heard {
		if h.reason != "stop" && h.reason != "length" && h.reason != "cancelled" && h.reason != "refused" {
			return k.wrong(fmt.Sprintf("%s ended by %s %s", id, h.reason, h.fault), "the reason stop, length or cancelled")
		}
	}
	return nil
}

// socketLeft leaves in the middle of some answers.
func socketLeft(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, err := s.dial(ctx, s.http, pick(rng, goodKeys))
	if err != nil {
		return err
	}
	defer k.hang()
	for i := range 1 + rng.IntN(5) {
		if err := k.generate(ctx, fmt.Sprint("a", i), drawnBody(rng, 400), map[string]any{"detach_ms": rng.IntN(2) * 500}); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
	k.count("left")
	return nil
}

// socketSlow does not read for a while, with each way of what happens then.
func socketSlow(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, err := s.dial(ctx, s.slow, pick(rng, goodKeys))
	if err != nil {
		return err
	}
	defer k.hang()
	for _, overflow := range []string{"park", "drop", "cancel"} {
		b := drawnBody(rng, 60)
		b["trace"], b["ignore_eos"] = true, true
		if err := k.generate(ctx, overflow, b, map[string]any{"overflow": overflow}); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(200+rng.IntN(400)) * time.Millisecond) // slow by design
	return k.finish(ctx, "read slowly")
}

// socketWatch watches the server while it asks something.
func socketWatch(ctx context.Context, s *soak, rng *rand.Rand) error {
	k, err := s.dial(ctx, s.http, pick(rng, goodKeys))
	if err != nil {
		return err
	}
	defer k.hang()
	if err := k.send(ctx, "watch", "", map[string]any{"every_ms": 100}); err != nil {
		return err
	}
	q := pick(rng, s.questions)
	if err := k.generate(ctx, "a", frameBody(q), nil); err != nil {
		return err
	}
	if err := k.until(ctx, func() bool { return k.live > 1 }); err != nil {
		return err
	}
	if err := k.finish(ctx, "watched"); err != nil {
		return err
	}
	return k.judge("a", q)
}
