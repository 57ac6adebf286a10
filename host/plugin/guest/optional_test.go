// SPDX-License-Identifier: MIT

package guest

import (
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
)

func TestInstance_Call_OptionalImports(t *testing.T) {
	missing := abi.Signature{Name: abi.Optional + ".telepathy", Params: []abi.Type{"i64", "f32"}, Results: []abi.Type{"i32"}}
	g := hosttest.Plain()
	call := g.CallOf(missing)
	g.On(abi.ExportOpen, i32c(0)).On(abi.ExportAccept, i64c(1), []byte{0x43, 0, 0, 0, 0}, call)
	s := use(t, g, 1)
	_, err := s.accept(2)
	hosttest.MustFault(t, err, abi.ExportAccept, plugin.CauseCall, "telepathy")
}
