// SPDX-License-Identifier: MIT

package plugintest

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/penstock/penstock/plugins/sdk/go/accept"
	"github.com/penstock/penstock/plugins/sdk/go/internal/abi"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/prepare"
	"github.com/penstock/penstock/plugins/sdk/go/stop"
)

// Session is a plugin at work in one request. Its methods end the test where the plugin breaks the ABI.
type Session struct {
	*Host
	t     testing.TB
	guest Guest
}

// ErrRefused wraps the reason why a plugin refused something.
var ErrRefused = errors.New("refused")

// Open begins a request and fails the test if the plugin refuses it.
func Open(t testing.TB, start Start, r Request) *Session {
	t.Helper()
	s, err := TryOpen(t, start, r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TryOpen begins a request; the error wraps ErrRefused where the plugin refuses it.
func TryOpen(t testing.TB, start Start, r Request) (*Session, error) {
	t.Helper()
	s := &Session{Host: &Host{Request: r, Unbound: true}, t: t}
	s.History = append(s.History, r.Prompt...)
	var err error
	if s.guest, err = start(s.Host); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.guest.Close(); err != nil {
			t.Error(err)
		}
	})
	if s.guest.Has("penstock_warm") && s.call("penstock_warm") != 0 {
		return nil, fmt.Errorf("%w: %s", ErrRefused, s.Refusal)
	}
	s.Unbound = false
	answer := s.call("penstock_open")
	s.Unbound = true
	if answer != 0 {
		return nil, fmt.Errorf("%w: %s", ErrRefused, s.Refusal)
	}
	return s, nil
}

func (s *Session) call(export string, args ...int32) int32 {
	s.t.Helper()
	s.nth = 0
	answer, err := s.guest.Call(export, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", export, err)
	}
	return answer
}

// Manifest is the JSON that the plugin describes itself with.
func (s *Session) Manifest() string {
	s.t.Helper()
	s.Emitted = nil
	s.call("penstock_describe")
	return string(s.Emitted)
}

// Render gives the prompt's text.
func (s *Session) Render() (string, error) {
	s.t.Helper()
	s.Emitted = nil
	if s.call("penstock_template") != 0 {
		return "", fmt.Errorf("%w: %s", ErrRefused, s.Refusal)
	}
	return string(s.Emitted), nil
}

// Sample shows the plugin candidates, best first, or the whole row where ids is nil. It returns the token the plugin chose, or
// sampler.Edited, and writes back what became of ids and logits.
func (s *Session) Sample(ids []penstock.Token, logits []float32) penstock.Token {
	s.t.Helper()
	toIDs, toLogits := []penstock.Token(nil), numbers[float32](s.buffers[abi.BufferLogits])
	if ids != nil {
		view := s.buffers[abi.BufferCandidates]
		half := len(view) / 8 * 4
		toIDs, toLogits = numbers[penstock.Token](view[:half]), numbers[float32](view[half:2*half])
	}
	if len(logits) > len(toLogits) {
		s.t.Fatalf("%d candidates for a view of %d", len(logits), len(toLogits))
	}
	copy(toIDs, ids)
	copy(toLogits, logits)
	chosen := s.call("penstock_sample", int32(len(logits)))
	copy(ids, toIDs)
	copy(logits, toLogits)
	return chosen
}

// numbers reads bytes of the guest's memory, aligned to 4.
func numbers[T int32 | uint32 | float32](b []byte) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// Stop shows the plugin new text.
func (s *Session) Stop(t penstock.Token, text string) stop.Answer {
	s.t.Helper()
	if len(text) > len(s.buffers[abi.BufferText]) {
		s.t.Fatalf("%d bytes of text for a buffer of %d", len(text), len(s.buffers[abi.BufferText]))
	}
	copy(s.buffers[abi.BufferText], text)
	return stop.Answer(s.call("penstock_stop", t, int32(len(text))))
}

// Prepared is what the plugin filled for the next token.
type Prepared struct {
	Filled prepare.Filled
	Mask   []uint32 // nil: none
	Bias   map[penstock.Token]float32
	Forced penstock.Token
}

// Prepare lets the plugin look ahead.
func (s *Session) Prepare() Prepared {
	s.t.Helper()
	p := Prepared{Filled: prepare.Filled(s.call("penstock_prepare")), Forced: penstock.NoToken}
	if p.Filled&prepare.Mask != 0 {
		p.Mask = numbers[uint32](s.buffers[abi.BufferMask])
	}
	if p.Filled&prepare.Bias != 0 {
		p.Bias = map[penstock.Token]float32{}
		ids, amounts := numbers[uint32](s.buffers[abi.BufferBias]), numbers[float32](s.buffers[abi.BufferBias])
		for i := range int(ids[0]) {
			p.Bias[penstock.Token(ids[1+2*i])] += amounts[2+2*i]
		}
	}
	if p.Filled&prepare.Forced != 0 {
		w := numbers[uint32](s.buffers[abi.BufferSplice])
		if w[0] != 0 || w[1] != 1 {
			s.t.Fatalf("a forced token with backtrack %d and n %d, want 0 and 1", w[0], w[1])
		}
		p.Forced = penstock.Token(w[2])
	}
	return p
}

// Accept tells the plugin a token. Where the answer is accept.Splice, it takes back and inserts what the plugin asks for; the
// inserted tokens are accepted as well. History is what came of it.
func (s *Session) Accept(t penstock.Token) accept.Answer {
	s.t.Helper()
	s.History = append(s.History, t)
	answer := accept.Answer(s.call("penstock_accept", t))
	if answer != accept.Splice {
		return answer
	}
	w := numbers[uint32](s.buffers[abi.BufferSplice])
	if w == nil || int(w[1]) > len(w)-2 || int(w[0]) > len(s.History)-len(s.Prompt) {
		s.t.Fatalf("a splice that is unbound, too long or reaches into the prompt: %v", w)
	}
	tokens := append([]uint32(nil), w[2:2+w[1]]...)
	s.History = s.History[:len(s.History)-int(w[0])]
	for _, t := range tokens {
		s.History = append(s.History, penstock.Token(t))
		if a := accept.Answer(s.call("penstock_accept", int32(t))); a == accept.Splice {
			s.t.Fatal("a splice in answer to a token that was spliced itself")
		}
	}
	return answer
}

// Rewind takes tokens back, as another plugin or a user would: n are left, prompt included.
func (s *Session) Rewind(n int) {
	s.t.Helper()
	s.History = s.History[:n]
	if s.guest.Has("penstock_rewind") && s.call("penstock_rewind", int32(n)) != 0 {
		s.t.Fatalf("rewind to %d tokens: %s", n, s.Refusal)
	}
}
