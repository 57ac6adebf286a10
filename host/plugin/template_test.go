// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// echoing emits the messages and then the config.
func echoing() *guestModule {
	g := plain()
	copyOut := func(name string) [][]byte {
		return [][]byte{i32(atBuffer), i32(atBuffer), i32(4096), g.Call(name), g.Call("emit")}
	}
	return g.On(abi.ExportTemplate, append(append(copyOut("messages"), copyOut("config")...), i32(0))...)
}

func TestModule_Render_EmitsThePrompt(t *testing.T) {
	m := mustLoad(t, newTestRuntime(t), echoing())
	got, err := m.Render(context.Background(), []byte(`[{"role":"user"}]`), Request{Config: []byte(`{"a":1}`)})
	if err != nil || got != `[{"role":"user"}]{"a":1}` {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestModule_Render_Fails(t *testing.T) {
	big := plain()
	big.On(abi.ExportTemplate, asm.Loop(i32(0), i32(4<<16), big.Call("emit")))
	opening := plain().On(abi.ExportTemplate, i32(0))
	opening.On(abi.ExportOpen, i32(0), i32(1), opening.Call("emit"), i32(0))
	for name, tc := range map[string]struct {
		guest  *guestModule
		export string
		cause  error
	}{
		"nothing":  {plain().On(abi.ExportTemplate, i32(0)), abi.ExportTemplate, CauseAnswer},
		"a flood":  {big, abi.ExportTemplate, CauseLimit},
		"in open":  {opening, abi.ExportOpen, CauseCall},
		"trapping": {plain().On(abi.ExportTemplate, unreachable), abi.ExportTemplate, CauseTrap},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mustLoad(t, newTestRuntime(t), tc.guest).Render(context.Background(), nil, Request{})
			mustFault(t, err, tc.export, tc.cause, "")
		})
	}
	refusing := mustLoad(t, newTestRuntime(t), plain().On(abi.ExportTemplate, i32(1)))
	var refusal *Refusal
	if _, err := refusing.Render(context.Background(), nil, Request{}); !errors.As(err, &refusal) {
		t.Errorf("got %v", err)
	}
}
