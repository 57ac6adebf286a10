// SPDX-License-Identifier: MIT

package guest

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/hosttest"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
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
			must.Get(s.prepare())(t)
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
		must.Get(s.prepare())(t)
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
	must.Get(s.prepare())(t)
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
		must.Get(s.prepare())(t)
		drawn[i] = slices.Clone(s.Memory()[hosttest.AtBuffer : hosttest.AtBuffer+12])
	}
	if !slices.Equal(drawn[0], drawn[1]) || slices.Equal(drawn[0], drawn[2]) || drawn[0][11] != 0 {
		t.Errorf("drew %x", drawn)
	}
}

// subscription is one of poll_oneoff, as a guest lays it into memory.
func subscription(user uint64, tag byte, time uint64, absolute bool) string {
	b := make([]byte, subscriptionBytes)
	binary.LittleEndian.PutUint64(b, user)
	b[subscriptionTag] = tag
	binary.LittleEndian.PutUint64(b[subscriptionTime:], time)
	if absolute {
		b[subscriptionFlags] = absoluteTime
	}
	return string(b)
}

func TestWASI_Poll_PassesTheTimeAtOnce(t *testing.T) {
	const second = 1_000_000_000
	for name, c := range map[string]struct {
		list   []string
		clock  uint64
		events []uint64 // by userdata
	}{
		"asleep":            {[]string{subscription(7, tagClock, 3600*second, false)}, 3600*second + clockTick, []uint64{7}},
		"until":             {[]string{subscription(7, tagClock, second, true)}, second, []uint64{7}},
		"until long ago":    {[]string{subscription(7, tagClock, 0, true)}, clockTick, []uint64{7}},
		"the earlier":       {[]string{subscription(1, tagClock, 2*second, false), subscription(2, tagClock, second, false)}, second + clockTick, []uint64{2}},
		"both":              {[]string{subscription(1, tagClock, second, false), subscription(2, tagClock, second, false)}, second + clockTick, []uint64{1, 2}},
		"a descriptor":      {[]string{subscription(1, tagClock, second, false), subscription(2, 1, 0, false)}, clockTick, []uint64{2}},
		"to the end of all": {[]string{subscription(1, tagClock, 1<<64-1, false)}, endOfTime, []uint64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := hosttest.Plain()
			read, poll := wasiCall(g, "clock_time_get"), wasiCall(g, "poll_oneoff")
			for i, s := range c.list {
				g.Put(hosttest.AtBuffer+i*subscriptionBytes, s)
			}
			clock := [][]byte{i32c(0), i64c(0), i32c(hosttest.AtScratch), read, drop}
			g.On(abi.ExportPrepare, append(append(clock, i32c(hosttest.AtScratch+8), i32c(hosttest.AtBuffer), i32c(hosttest.AtBuffer+512), i32c(len(c.list)), i32c(hosttest.AtScratch+12), poll, store),
				append(clock, i32c(0))...)...)
			s := use(t, g, 1)
			must.Get(s.prepare())(t)
			bytes := s.Memory()
			if got := binary.LittleEndian.Uint64(bytes[hosttest.AtScratch:]); got != c.clock {
				t.Errorf("the clock shows %d, want %d", got, c.clock)
			}
			if errno, n := peek(s, hosttest.AtScratch+8), peek(s, hosttest.AtScratch+12); errno != wasiOK || int(n) != len(c.events) {
				t.Fatalf("errno %d, %d events, want %v", errno, n, c.events)
			}
			for i, user := range c.events {
				event := bytes[hosttest.AtBuffer+512+i*eventBytes:]
				wantErr := uint16(0)
				if event[eventTag] != tagClock {
					wantErr = wasiBadF
				}
				if got := binary.LittleEndian.Uint64(event); got != user || binary.LittleEndian.Uint16(event[eventError:]) != wantErr {
					t.Errorf("event %d is of %d with error %d", i, got, binary.LittleEndian.Uint16(event[eventError:]))
				}
			}
		})
	}
}

func TestWASI_Poll_OutOfBoundsIsAFault(t *testing.T) {
	for name, args := range map[string][3]int{"list": {1 << 20, hosttest.AtBuffer, 1}, "events": {hosttest.AtBuffer, -32, 1}, "number": {0, 0, -1},
		"wrapping": {0, 0, 0x10000000}} { // 48 bytes each are 3·2^32
		g := hosttest.Plain()
		poll := wasiCall(g, "poll_oneoff")
		_, err := use(t, g.On(abi.ExportPrepare, i32c(args[0]), i32c(args[1]), i32c(args[2]), i32c(hosttest.AtScratch), poll, drop, i32c(0)), 1).prepare()
		hosttest.MustFault(t, err, abi.ExportPrepare, plugin.CauseMemory, name[:0])
	}
}
