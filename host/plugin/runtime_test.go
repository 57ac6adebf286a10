// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// A stage that nobody closes does not hold up a shutdown for longer than that may take.
func TestRuntime_Close_GivesUpWithItsContext(t *testing.T) {
	r := newTestRuntime(t)
	m := mustLoad(t, r, newGuest(`{"name":"left"}`).On(abi.ExportAccept, asm.I32(0)))
	defer m.Release()
	s, err := m.NewStage(Request{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Rewind([]int32{1}, 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Close(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 requests") {
		t.Errorf("closed with a stage open: %v", err)
	}
	if _, err := m.NewStage(Request{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a stage of a closed runtime: %v", err)
	}
	if _, err := s.Accept(2); err != nil { // the guest is as it was
		t.Error(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- r.Close(context.Background()) }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}
