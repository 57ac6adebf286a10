// SPDX-License-Identifier: MIT

package plugin

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
)

func TestWASI_Functions_GiveNothingAway(t *testing.T) {
	for _, f := range wasi {
		if f.results == "" || slices.Contains([]string{"fd_write", "random_get", "poll_oneoff"}, f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			g := plain()
			code := [][]byte{i32(atScratch)}
			for _, p := range f.params {
				if p == 'I' {
					code = append(code, i64c(atBuffer))
				} else {
					code = append(code, i32(atBuffer))
				}
			}
			call := wasiCall(g, f.name)
			s := use(t, g.On(abi.ExportPrepare, append(code, call, store, i32(0))...), 1)
			// The functions were declared before the import; their calls of emit still name import 0.
			if _, err := s.Prepare(); err != nil {
				t.Fatal(err)
			}
			harmless := []string{"args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "clock_time_get", "sched_yield"}
			if errno := peek(s, atScratch); (errno == 0) != slices.Contains(harmless, f.name) {
				t.Errorf("errno %d", errno)
			}
		})
	}
}

func TestWASI_Clock_CountsItsReadings(t *testing.T) {
	g := plain()
	read := wasiCall(g, "clock_time_get")
	s := use(t, g.On(abi.ExportPrepare, i32(0), i64c(0), i32(atScratch), read, drop, i32(0)), 1)
	for _, want := range []uint64{0, 1000, 2000} {
		if _, err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint64(s.instance.region.Bytes()[atScratch:]); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

func TestWASI_Write_GoesToTheLog(t *testing.T) {
	g := plain()
	write := wasiCall(g, "fd_write")
	g.Put(atBuffer, "hello\nwor").Put(atBuffer+16, "ld\n")
	g.On(abi.ExportPrepare, poke(atScratch, atBuffer), poke(atScratch+4, 9), poke(atScratch+8, atBuffer+16), poke(atScratch+12, 3),
		i32(2), i32(atScratch), i32(2), i32(atScratch+16), write, drop, i32(3), i32(atScratch), i32(2), i32(atScratch+16), write, drop, i32(0))
	s := use(t, g, 1)
	if _, err := s.Prepare(); err != nil {
		t.Fatal(err)
	}
	if got := s.session.capture.lines; !slices.Equal(got, []string{"hello", "world"}) || peek(s, atScratch+16) != 12 {
		t.Errorf("got %q, %d bytes", got, peek(s, atScratch+16))
	}
}

func TestWASI_Exit_IsAFault(t *testing.T) {
	g := plain()
	exit := wasiCall(g, "proc_exit")
	_, err := use(t, g.On(abi.ExportPrepare, i32(0), exit, i32(0)), 1).Prepare()
	mustFault(t, err, abi.ExportPrepare, CauseExit, "proc_exit(0)")
}

func TestWASI_Random_IsTheSeeds(t *testing.T) {
	g := plain()
	random := wasiCall(g, "random_get")
	m := mustLoad(t, newTestRuntime(t), g.On(abi.ExportPrepare, i32(atBuffer), i32(11), random, drop, i32(0)))
	var drawn [3][]byte
	for i, seed := range []uint64{1, 1, 2} {
		s := useOf(t, m, Request{Seed: seed}, 1)
		if _, err := s.Prepare(); err != nil {
			t.Fatal(err)
		}
		drawn[i] = slices.Clone(s.instance.region.Bytes()[atBuffer : atBuffer+12])
	}
	if !slices.Equal(drawn[0], drawn[1]) || slices.Equal(drawn[0], drawn[2]) || drawn[0][11] != 0 {
		t.Errorf("drew %x", drawn)
	}
}
