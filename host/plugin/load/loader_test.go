// SPDX-License-Identifier: MIT

package load_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/stage"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// A stage that nobody closes does not hold up a shutdown for longer than that may take.
func TestLoader_Close_GivesUpWithItsContext(t *testing.T) {
	l := hosttest.Open(t, load.New)
	m := hosttest.Load(t, l, asm.New(`{"name":"left"}`).On(abi.ExportAccept, asm.I32(0)))
	s, err := stage.New(m, plugin.RequestInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reset([]int32{1}, 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Close(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 requests") {
		t.Errorf("closed with a stage open: %v", err)
	}
	if _, err := stage.New(m, plugin.RequestInfo{}); !errors.Is(err, plugin.ErrClosed) {
		t.Errorf("a stage of a closed loader: %v", err)
	}
	if _, err := s.Accept(2); err != nil { // the guest is as it was
		t.Error(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- l.Close(context.Background()) }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}
