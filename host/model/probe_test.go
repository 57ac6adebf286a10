// SPDX-License-Identifier: MIT

package model

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// misbehaving starts a child that misbehaves.
func misbehaving(t *testing.T, how string) (*prober, error) {
	t.Helper()
	t.Setenv(childEnv, how)
	p, err := startProber(t.Context(), 0)
	if err == nil {
		t.Cleanup(func() {
			if err := p.close(); err != nil && !p.waited {
				t.Error(err)
			}
		})
	}
	return p, err
}

func TestProber_Try_ChildDies_IsAnErrorWithItsLastWords(t *testing.T) {
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
			_, err = p.try(t.Context(), "x", nil, time.Minute)
			if !errors.Is(err, ErrCrashed) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "/where") {
				t.Errorf("got %v, want ErrCrashed that says %q", err, says)
			}
			if p.alive() {
				t.Error("the prober takes its dead child for alive")
			}
		})
	}
}

func TestProber_Try_ChildHangs_IsATimeout(t *testing.T) {
	p, err := misbehaving(t, "hang")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.try(t.Context(), "x", nil, 50*time.Millisecond); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestProber_Try_ContextEnds_IsItsCause(t *testing.T) {
	p, err := misbehaving(t, "hang")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if _, err := p.try(ctx, "x", nil, time.Minute); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestProber_Try_NonsenseAnswer_IsAnError(t *testing.T) {
	p, err := misbehaving(t, "nonsense")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.try(t.Context(), "x", nil, time.Minute); err == nil {
		t.Error("a broken answer passed for a verdict")
	}
}

func TestStartProber_ProgramWithoutProbeMain_IsErrNoProbe(t *testing.T) {
	if _, err := misbehaving(t, "silent"); !errors.Is(err, ErrNoProbe) {
		t.Errorf("got %v", err)
	}
}

func TestStartProber_InsideAChild_IsErrNoProbe(t *testing.T) {
	t.Setenv(probeEnv, "0")
	if _, err := startProber(t.Context(), 0); !errors.Is(err, ErrNoProbe) {
		t.Errorf("got %v", err)
	}
}
