// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler"
)

func TestMain(m *testing.M) {
	CompileMain()
	goleak.VerifyTestMain(m)
}

// words100 is a vocabulary of 100 tokens: token n is "n ", 0 is control and ends an answer.
type words100 struct{}

func (words100) Size() int { return 100 }
func (words100) Piece(t int32) string {
	if t == 0 {
		return ""
	}
	return fmt.Sprintf("%d ", t)
}
func (words100) Attributes(t int32) uint32 {
	if t == 0 {
		return abi.AttrControl | abi.AttrEnd
	}
	return 0
}
func (words100) Special(kind int32) int32 {
	if kind == abi.SpecialEOS {
		return 0
	}
	return -1
}
func (words100) Tokenize(text string, _, _ bool) ([]int32, error) {
	var tokens []int32
	for _, w := range strings.Fields(text) {
		var n int32
		if _, err := fmt.Sscan(w, &n); err != nil {
			return nil, errors.New("not a number: " + w)
		}
		tokens = append(tokens, n)
	}
	return tokens, nil
}

func newTestRuntime(t testing.TB, change ...func(*Options)) *Runtime {
	t.Helper()
	o := Options{Vocabulary: words100{}, Limits: DefaultLimits()}
	o.Limits.Compile, o.Limits.Upload = time.Minute, time.Minute // machines under load
	o.Limits.HookTime, o.Limits.SetupTime, o.Limits.LoadTime = time.Minute, time.Minute, time.Minute
	for _, c := range change {
		c(&o)
	}
	r, err := NewRuntime(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func mustLoad(t testing.TB, r *Runtime, g *guestModule) *Module {
	t.Helper()
	m, err := r.Load(context.Background(), g.Wasm())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Release)
	return m
}

// use opens a stage of a new guest after a prompt.
func use(t testing.TB, g *guestModule, prompt ...scheduler.Token) *Stage {
	t.Helper()
	return useOf(t, mustLoad(t, newTestRuntime(t), g), Request{Seed: 7, MaxTokens: 50, ContextSize: 1000}, prompt...)
}

func useOf(t testing.TB, m *Module, r Request, prompt ...scheduler.Token) *Stage {
	t.Helper()
	s, err := m.NewStage(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Rewind(prompt, len(prompt)); err != nil {
		t.Fatal(err)
	}
	return s
}

// peek reads an i32 of a stage's guest.
func peek(s *Stage, at int) int32 { return slice[int32](s.instance.region.Bytes())[at/4] }

// mustFault checks that err is a fault of an export with a cause, and that its text has a detail.
func mustFault(t *testing.T, err error, export string, cause error, detail string) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a fault", err)
	}
	if f.Export != export || !errors.Is(err, cause) || f.Plugin != "guest" || f.Kind() == "" {
		t.Errorf("got %q in %q (%q, kind %q), want %q in %q", f.Cause, f.Export, f.Plugin, f.Kind(), cause, export)
	}
	if !strings.Contains(err.Error(), detail) {
		t.Errorf("got %q, want it to have %q", err, detail)
	}
}
