// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
)

// echoing emits the messages and then the config.
func echoing() *guestModule {
	g := plain()
	copyOut := func(name string) [][]byte {
		return [][]byte{i32(atBuffer), i32(atBuffer), i32(4096), g.call(name), g.call("emit")}
	}
	return g.on(abi.ExportTemplate, append(append(copyOut("messages"), copyOut("config")...), i32(0))...)
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
	big.on(abi.ExportTemplate, []byte{0x03, 0x40}, i32(0), i32(4<<16), big.call("emit"), []byte{0x0c, 0}, end, unreachable)
	opening := plain().on(abi.ExportTemplate, i32(0))
	opening.on(abi.ExportOpen, i32(0), i32(1), opening.call("emit"), i32(0))
	for name, tc := range map[string]struct {
		guest  *guestModule
		export string
		cause  error
	}{
		"nothing":  {plain().on(abi.ExportTemplate, i32(0)), abi.ExportTemplate, CauseAnswer},
		"a flood":  {big, abi.ExportTemplate, CauseLimit},
		"in open":  {opening, abi.ExportOpen, CauseCall},
		"trapping": {plain().on(abi.ExportTemplate, unreachable), abi.ExportTemplate, CauseTrap},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := mustLoad(t, newTestRuntime(t), tc.guest).Render(context.Background(), nil, Request{})
			mustFault(t, err, tc.export, tc.cause, "")
		})
	}
	refusing := mustLoad(t, newTestRuntime(t), plain().on(abi.ExportTemplate, i32(1)))
	var refusal *Refusal
	if _, err := refusing.Render(context.Background(), nil, Request{}); !errors.As(err, &refusal) {
		t.Errorf("got %v", err)
	}
}
