// SPDX-License-Identifier: MIT

package stage

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// echoing emits the messages and then the config.
func echoing() *asm.Guest {
	g := hosttest.Plain()
	copyOut := func(name string) [][]byte {
		return [][]byte{i32(hosttest.AtBuffer), i32(hosttest.AtBuffer), i32(4096), g.Call(name), g.Call("emit")}
	}
	return g.On(abi.ExportTemplate, append(append(copyOut("messages"), copyOut("config")...), i32(0))...)
}

func TestRender_EmitsThePrompt(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New), echoing())
	got, err := Render(context.Background(), m, []byte(`[{"role":"user"}]`), plugin.RequestInfo{Config: []byte(`{"a":1}`)})
	if err != nil || got != `[{"role":"user"}]{"a":1}` {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRender_Fails(t *testing.T) {
	big := hosttest.Plain()
	big.On(abi.ExportTemplate, asm.Loop(i32(0), i32(4<<16), big.Call("emit")))
	opening := hosttest.Plain().On(abi.ExportTemplate, i32(0))
	opening.On(abi.ExportOpen, i32(0), i32(1), opening.Call("emit"), i32(0))
	for name, tc := range map[string]struct {
		guest  *asm.Guest
		export string
		cause  error
	}{
		"nothing":  {hosttest.Plain().On(abi.ExportTemplate, i32(0)), abi.ExportTemplate, plugin.CauseAnswer},
		"a flood":  {big, abi.ExportTemplate, plugin.CauseLimit},
		"in open":  {opening, abi.ExportOpen, plugin.CauseCall},
		"trapping": {hosttest.Plain().On(abi.ExportTemplate, unreachable), abi.ExportTemplate, plugin.CauseTrap},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Render(context.Background(), hosttest.Load(t, hosttest.Open(t, load.New), tc.guest), nil, plugin.RequestInfo{})
			hosttest.MustFault(t, err, tc.export, tc.cause, "")
		})
	}
	refusing := hosttest.Load(t, hosttest.Open(t, load.New), hosttest.Plain().On(abi.ExportTemplate, i32(1)))
	var refusal *plugin.Refusal
	if _, err := Render(context.Background(), refusing, nil, plugin.RequestInfo{}); !errors.As(err, &refusal) {
		t.Errorf("got %v", err)
	}
}

func TestRender_EndsWithItsContext(t *testing.T) {
	m := hosttest.Load(t, hosttest.Open(t, load.New, hosttest.Tireless), hosttest.Plain().On(abi.ExportTemplate, forever))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := Render(ctx, m, nil, plugin.RequestInfo{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}
