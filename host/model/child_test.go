// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/spawn"
	"github.com/penstock/penstock/tools/must"
)

// misbehaving starts a child that misbehaves.
func misbehaving(t *testing.T, how string) (*child, error) {
	t.Helper()
	t.Setenv(misbehaviourEnv, how)
	p, err := startChild(t.Context(), 0)
	if err == nil {
		t.Cleanup(func() {
			if err := p.close(); err != nil && !p.waited {
				t.Error(err)
			}
		})
	}
	return p, err
}

func TestChild_TryModel_ChildDies_IsAnErrorWithItsLastWords(t *testing.T) {
	for how, says := range map[string]string{
		"assert":     "llama-vocab.cpp:2539: GGML_ASSERT(a == b) failed",
		"segfault":   "invalid memory address",
		"quiet exit": "exit status 4",
	} {
		t.Run(how, func(t *testing.T) {
			p, err := misbehaving(t, how)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.tryModel(t.Context(), request{Path: "x", Timeout: time.Minute})
			if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "/where") {
				t.Errorf("got %v, want ErrCrashed that says %q", err, says)
			}
			if p.alive() {
				t.Error("it takes its dead child for alive")
			}
		})
	}
}

func TestChild_TryModel_ChildHangs_IsATimeout(t *testing.T) {
	p := must.Get(misbehaving(t, "hang"))(t)
	if _, err := p.tryModel(t.Context(), request{Path: "x", Timeout: 50 * time.Millisecond}); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestChild_TryModel_ContextEnds_IsItsCause(t *testing.T) {
	p := must.Get(misbehaving(t, "hang"))(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := p.tryModel(ctx, request{Path: "x", Timeout: time.Minute}); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestChild_TryModel_NonsenseAnswer_IsAnError(t *testing.T) {
	p := must.Get(misbehaving(t, "nonsense"))(t)
	if _, err := p.tryModel(t.Context(), request{Path: "x", Timeout: time.Minute}); err == nil {
		t.Error("a broken answer passed")
	}
}

func TestStartChild_ProgramWithoutTheCommand_IsErrNoChild(t *testing.T) {
	if _, err := misbehaving(t, "silent"); !errors.Is(err, ErrNoChild) {
		t.Errorf("got %v", err)
	}
}

func TestStartChild_InsideAChild_IsErrNoChild(t *testing.T) {
	name, value, _ := strings.Cut(spawn.Mark(childCommand), "=")
	t.Setenv(name, value)
	if _, err := startChild(t.Context(), 0); !errors.Is(err, ErrNoChild) {
		t.Errorf("got %v", err)
	}
}
