// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/tools/lab/bench"
)

// socket is a WebSocket, with all that was heard of its answers.
type socket struct {
	*soak
	conn  *bench.Conn
	key   string   // that opened it
	sent  []string // frames
	heard map[string]*heard
	live  int // live frames
}

// heard is what a client knows of one answer.
type heard struct {
	said
	begun, ended bool
	paused       int // how often the server said so
	stream       string
	seq          int64
	tokens       int
	refusals     []string // codes of frames that were refused
}

func (s *soak) dial(ctx context.Context, client *bench.HTTP, key string) (*socket, error) {
	conn, err := client.Dial(ctx, key)
	if err != nil {
		return nil, err
	}
	return &socket{soak: s, conn: conn, key: key, heard: map[string]*heard{}}, nil
}

// send sends a frame for the answer id.
func (k *socket) send(ctx context.Context, kind, id string, more map[string]any) error {
	f := map[string]any{"type": kind, "id": id}
	for name, value := range more {
		f[name] = value
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	k.sent = append(k.sent, string(data))
	return k.conn.Send(ctx, json.RawMessage(data))
}

// generate asks for an answer.
func (k *socket) generate(ctx context.Context, id string, request, more map[string]any) error {
	f := map[string]any{"request": request}
	for name, value := range more {
		f[name] = value
	}
	k.heard[id] = &heard{seq: -1}
	return k.send(ctx, "generate", id, f)
}

// fork asks for a copy of an answer.
func (k *socket) fork(ctx context.Context, id, as string) error {
	k.heard[as] = &heard{seq: -1}
	return k.send(ctx, "fork", id, map[string]any{"as": as})
}

// wrong is what is wrong about the conversation so far.
func (k *socket) wrong(got, want string) error {
	return &wrong{"WebSocket\n    " + strings.Join(k.sent, "\n    "), got, want}
}

// read reads one frame and notes what it says.
func (k *socket) read(ctx context.Context) (bench.Frame, error) {
	f, err := k.conn.Read(ctx)
	if err != nil {
		return f, fmt.Errorf("%w: %w", k.wrong("no frame came", "a frame"), err)
	}
	if f.Type == "live" {
		k.live++
		return f, nil
	}
	id := f.ID
	if f.Type == "error" && f.As != "" {
		id = f.As
	}
	h := k.heard[id]
	if h == nil && f.Type == "error" {
		return f, nil
	}
	if h == nil || h.ended && f.Type != "error" || f.Type == "error" && f.Error == nil {
		return f, k.wrong(string(f.Data), "no frame of an answer that is over or was not asked for")
	}
	if !h.note(f) {
		return f, k.wrong(string(f.Data), fmt.Sprintf("a frame that fits %+v", *h))
	}
	return f, nil
}

// note takes a frame in; false where it does not fit what came before.
func (h *heard) note(f bench.Frame) (fits bool) {
	switch f.Type {
	case "started":
		fits, h.begun, h.stream, h.seq = !h.begun, true, f.Stream, f.Seq
		return fits
	case "token":
		fits = f.Seq > h.seq
		h.text, h.seq, h.tokens = h.text+f.Text, f.Seq, h.tokens+1
		return fits
	case "rewound":
		fits = f.Seq > h.seq && strings.HasSuffix(h.text, f.Removed)
		h.text, h.seq = strings.TrimSuffix(h.text, f.Removed), f.Seq
		return fits
	case "paused":
		h.paused++
	case "end":
		h.ended, h.reason = true, f.Reason
		if f.Error != nil {
			h.fault = f.Error.Code
		}
	case "error":
		h.refusals = append(h.refusals, f.Error.Code)
		if f.Frame == "generate" || f.As != "" || f.Frame == "attach" {
			h.ended, h.reason, h.fault = true, "refused", f.Error.Code
		}
	}
	return true
}

// until reads until something is so.
func (k *socket) until(ctx context.Context, so func() bool) error {
	for !so() {
		if _, err := k.read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sentinel is the name of no answer.
const sentinel = "nobody"

// finish waits until all answers have ended, and then for the refusal of one more frame: up to it
// no answer may end again.
func (k *socket) finish(ctx context.Context, kind string) error {
	err := k.until(ctx, func() bool {
		for _, h := range k.heard {
			if !h.ended {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	if err := k.send(ctx, "cancel", sentinel, nil); err != nil {
		return err
	}
	for {
		if f, err := k.read(ctx); err != nil || f.ID == sentinel {
			k.count(kind)
			return err
		}
	}
}

// count counts the answers of a connection.
func (k *socket) count(kind string) {
	for _, h := range k.heard {
		end := h.reason
		switch {
		case h.fault == "queue_full":
			end = "429 queue full"
		case h.fault == "plugins_busy":
			end = "503 plugins busy"
		case h.fault != "":
			end += " " + h.fault
		case !h.ended:
			end = "the client left"
		}
		k.tally.add("WebSocket, "+kind, end)
	}
}

// crowded reports whether there was no room for an answer.
func (h *heard) crowded(q question) bool {
	return h.fault == "queue_full" || h.fault == "plugins_busy" && q.hasPlugin()
}

// judge checks that an answer is the one that is known.
func (k *socket) judge(id string, q question) error {
	h := k.heard[id]
	if h.crowded(q) || h.said == q.answer {
		return nil
	}
	return k.wrong(fmt.Sprintf("of %s the text %q, ended by %s %s", id, h.text, h.reason, h.fault), fmt.Sprintf("the text %q, ended by %s", q.answer.text, q.answer.reason))
}

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
	defer k.conn.Close()
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
		k.conn.Close()
		return nil, q, err
	}
	h, n := k.heard["a"], rng.IntN(12)
	if err := k.until(ctx, func() bool { return h.ended || h.tokens > n }); err != nil {
		k.conn.Close()
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
	defer k.conn.Close()
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
	defer k.conn.Close()
	if err := k.send(ctx, "rewind", "a", map[string]any{"tokens": 1 + rng.IntN(3)}); err != nil {
		return err
	}
	if err := k.finish(ctx, "rewound"); err != nil || q.hasPlugin() {
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
	defer k.conn.Close()
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
	k.conn.Close()
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
	defer next.conn.Close()
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
	defer k.conn.Close()
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
	defer k.conn.Close()
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
	defer k.conn.Close()
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
	defer k.conn.Close()
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
