// SPDX-License-Identifier: MIT

package stage

import (
	"testing"

	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

func TestStage_Usage_OfTheLastCall(t *testing.T) {
	g := hosttest.Plain().On(abi.ExportAccept, asm.Each(1, local(0), i32(1), drop), i32(1), grow, drop, i32(0))
	s := use(t, g, 1)
	var fuel [2]int64
	for i, loops := range []int32{10, 1000} {
		if _, err := s.Accept(loops); err != nil {
			t.Fatal(err)
		}
		u := s.Usage()
		if fuel[i] = u.Fuel; u.Limit != abi.LimitHookFuel || u.Memory != (5+i)<<16 {
			t.Errorf("%+v", u)
		}
	}
	if more := fuel[1] - fuel[0]; more < 990 || more > 990*20 {
		t.Errorf("%d units for 10 loops, %d for 1000", fuel[0], fuel[1])
	}
	if err := s.Close(); err != nil || s.Usage() != (Usage{}) {
		t.Errorf("%+v, %v", s.Usage(), err)
	}
}
