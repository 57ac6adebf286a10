// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
)

func TestWASI_Functions_GiveNothingAway(t *testing.T) {
	for _, f := range wasi {
		if f.results == "" || slices.Contains([]string{"fd_write", "random_get", "poll_oneoff"}, f.name) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			g := hosttest.Plain()
			code := [][]byte{i32c(hosttest.AtScratch)}
			for _, p := range f.params {
				if p == 'I' {
					code = append(code, i64c(hosttest.AtBuffer))
				} else {
					code = append(code, i32c(hosttest.AtBuffer))
				}
			}
			call := wasiCall(g, f.name)
			s := use(t, g.On(abi.ExportPrepare, append(code, call, store, i32c(0))...), 1)
			// The functions were declared before the import; their calls of emit still name
			// import 0.
			if _, err := s.prepare(); err != nil {
				t.Fatal(err)
			}
			harmless := []string{"args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "clock_time_get", "sched_yield"}
			if errno := peek(s, hosttest.AtScratch); (errno == 0) != slices.Contains(harmless, f.name) {
				t.Errorf("errno %d", errno)
			}
		})
	}
}

func TestWASI_Clock_CountsItsReadings(t *testing.T) {
	g := hosttest.Plain()
	read := wasiCall(g, "clock_time_get")
	s := use(t, g.On(abi.ExportPrepare, i32c(0), i64c(0), i32c(hosttest.AtScratch), read, drop, i32c(0)), 1)
	for _, want := range []uint64{0, 1000, 2000} {
		if _, err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint64(s.Memory()[hosttest.AtScratch:]); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

func TestWASI_Write_GoesToTheLog(t *testing.T) {
	g := hosttest.Plain()
	write := wasiCall(g, "fd_write")
	g.Put(hosttest.AtBuffer, "hello\nwor").Put(hosttest.AtBuffer+16, "ld\n")
	g.On(abi.ExportPrepare, poke(hosttest.AtScratch, hosttest.AtBuffer), poke(hosttest.AtScratch+4, 9), poke(hosttest.AtScratch+8, hosttest.AtBuffer+16), poke(hosttest.AtScratch+12, 3),
		i32c(2), i32c(hosttest.AtScratch), i32c(2), i32c(hosttest.AtScratch+16), write, drop, i32c(3), i32c(hosttest.AtScratch), i32c(2), i32c(hosttest.AtScratch+16), write, drop, i32c(0))
	s := use(t, g, 1)
	if _, err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	if got := s.session.log.lines; !slices.Equal(got, []string{"hello", "world"}) || peek(s, hosttest.AtScratch+16) != 12 {
		t.Errorf("got %q, %d bytes", got, peek(s, hosttest.AtScratch+16))
	}
}

func TestWASI_Exit_IsAFault(t *testing.T) {
	g := hosttest.Plain()
	exit := wasiCall(g, "proc_exit")
	_, err := use(t, g.On(abi.ExportPrepare, i32c(0), exit, i32c(0)), 1).prepare()
	hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseExit, "proc_exit(0)")
}

func TestWASI_Random_IsTheSeeds(t *testing.T) {
	g := hosttest.Plain()
	random := wasiCall(g, "random_get")
	m := mustLoad(t, newTestHost(t), g.On(abi.ExportPrepare, i32c(hosttest.AtBuffer), i32c(11), random, drop, i32c(0)))
	var drawn [3][]byte
	for i, seed := range []uint64{1, 1, 2} {
		s := useOf(t, m, plugin.RequestInfo{Seed: seed}, 1)
		if _, err := s.prepare(); err != nil {
			t.Fatal(err)
		}
		drawn[i] = slices.Clone(s.Memory()[hosttest.AtBuffer : hosttest.AtBuffer+12])
	}
	if !slices.Equal(drawn[0], drawn[1]) || slices.Equal(drawn[0], drawn[2]) || drawn[0][11] != 0 {
		t.Errorf("drew %x", drawn)
	}
}
